// The browser's side of tfnb/notebook/traces/view.py. The model itself is never displayed: it replaces the picture in
// the cell's output, which it identifies by its key, by the live view, and does so again wherever the output is redrawn.
import type { AnyModel, Initialize } from "@anywidget/types";
import type { Bytes } from "../protocol/bytes";
import type { EventCard, FromKernel, ToKernel } from "../protocol/timeline";
import { download } from "../views/dom";
import { drawTimeline, type TimelineView } from "../views/timeline/timeline";
import { columnsOf, Trace } from "../views/timeline/trace";
import { ask } from "./channel/ask";
import { Lifetime } from "./channel/lifetime";
import { listen } from "./channel/listen";

interface State {
  key: string;
}

class Channel {
  private trace: Trace | null = null;
  private readonly places: HTMLElement[] = [];
  private readonly shown: TimelineView[] = [];
  private readonly cards = new Map<number, (card: EventCard) => void>();
  private answered = (): void => {};
  readonly lifetime: Lifetime;

  constructor(model: AnyModel<State>) {
    this.lifetime = new Lifetime(model, model.get("key"), () => this.answered());
    model.on("msg:custom", (message: FromKernel, buffers: Bytes[]) =>
      this.receive(message, buffers),
    );
  }

  private send(message: ToKernel): void {
    this.lifetime.send(message);
  }

  mount(place: HTMLElement): void {
    if (place.dataset.tfnbMounted) return;
    place.dataset.tfnbMounted = "true";
    if (this.trace) this.draw(this.trace, place);
    else if (this.places.push(place) === 1) this.answered = ask(() => this.send({ type: "ready" }));
  }

  private draw(trace: Trace, place: HTMLElement): void {
    const card = (event: number) => this.card(event);
    const save = () => this.send({ type: "chrome" });
    this.shown.push(drawTimeline(place, trace, { card, save }));
  }

  dispose(): void {
    this.answered();
    this.lifetime.close();
    for (const view of this.shown.splice(0)) view.dispose();
  }

  private card(event: number): Promise<EventCard> {
    return new Promise((resolve) => {
      this.cards.set(event, resolve);
      this.send({ type: "card", event });
    });
  }

  private receive(message: FromKernel, buffers: Bytes[]): void {
    if (message.type === "data") {
      const trace = new Trace(message.trace, columnsOf(buffers));
      this.trace = trace;
      this.answered();
      for (const place of this.places.splice(0)) this.draw(trace, place);
    } else if (message.type === "card") {
      this.cards.get(message.event)?.(message.card);
      this.cards.delete(message.event);
    } else if (message.type === "chrome") {
      save(message.text);
    }
  }
}

function save(text: string): void {
  download(new Blob([text], { type: "application/json" }), "trace.json");
}

const initialize: Initialize<State> = async ({ model }) => {
  const channel = new Channel(model);
  const isClosed = await listen(model, model.get("key"));
  channel.lifetime.show((place) => channel.mount(place), isClosed);
  return () => channel.dispose();
};

export default { initialize };

// The browser's side of tfnb/notebook/graph/widget.py: replaces the picture that the cell shows by the live view. The
// model itself is never displayed. It requests the graph when a place for it is in the page.

import type { AnyModel } from "@anywidget/types";
import type { FromKernel, GraphCard, GraphOptions, ToKernel } from "../protocol/graph";
import { type KeptGraph, restored, written } from "../views/graph/kept_graph";
import { drawStages } from "../views/graph/stages";
import { GraphModel } from "../views/graph/view";
import { ask } from "./channel/ask";
import { Lifetime } from "./channel/lifetime";
import { listen } from "./channel/listen";

interface Traits {
  key: string;
  /** What the user has opened and selected, as the page writes it. */
  shown: string;
}

class Live {
  private readonly graphs = new Map<number, GraphModel>();
  private readonly wanted = new Map<number, ((model: GraphModel) => void)[]>();
  private readonly cards = new Map<string, (card: GraphCard) => void>();
  private readonly waiting: HTMLElement[] = [];
  private readonly shown: { dispose(): void }[] = [];
  private overview: { stages: readonly string[]; first: number; options: GraphOptions } | null =
    null;
  private answered = (): void => {};
  readonly lifetime: Lifetime;

  constructor(private readonly channel: AnyModel<Traits>) {
    this.lifetime = new Lifetime(channel, channel.get("key"), () => this.answered());
  }

  receive = async (message: FromKernel, buffers: readonly DataView[]): Promise<void> => {
    if (message.type === "card") {
      const key = `${message.stage} ${message.card.box}`;
      this.cards.get(key)?.(message.card);
      this.cards.delete(key);
    } else if (message.type === "graph" && buffers[0]) {
      const { buffer, byteOffset, byteLength } = buffers[0];
      const model = await GraphModel.read(
        new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength),
      );
      const { stage, stages, options } = message;
      this.graphs.set(stage, model);
      this.overview ??= { stages, first: stage, options };
      this.answered();
      for (const done of this.wanted.get(stage) ?? []) done(model);
      this.wanted.delete(stage);
      for (const place of this.waiting.splice(0)) this.show(place);
    }
  };

  mount = (place: HTMLElement): void => {
    if (place.dataset.tfnbMounted) return;
    place.dataset.tfnbMounted = "true";
    if (this.overview) this.show(place);
    else if (this.waiting.push(place) === 1)
      this.answered = ask(() => this.send({ type: "graph" }));
  };

  private send(request: ToKernel): void {
    this.lifetime.send(request);
  }

  private load = (stage: number): Promise<GraphModel> => {
    const known = this.graphs.get(stage);
    if (known) return Promise.resolve(known);
    return new Promise((done) => {
      this.wanted.set(stage, [...(this.wanted.get(stage) ?? []), done]);
      this.send({ type: "graph", stage });
    });
  };

  private details = (stage: number, box: number): Promise<GraphCard> =>
    new Promise((done) => {
      this.cards.set(`${stage} ${box}`, done);
      this.send({ type: "card", stage, box });
    });

  private show(place: HTMLElement): void {
    if (!this.overview) return;
    const { stages, first, options } = this.overview;
    const { load, details, keep } = this;
    const kept = restored(this.channel.get("shown"));
    this.shown.push(
      drawStages(place, { names: stages, first, load, details, kept, keep }, options),
    );
  }

  private keep = (kept: KeptGraph): void => {
    this.channel.set("shown", written(kept));
    this.channel.save_changes();
  };

  dispose(): void {
    this.answered();
    this.lifetime.close();
    for (const view of this.shown) view.dispose();
  }
}

export default {
  async initialize({ model }: { model: AnyModel<Traits> }): Promise<() => void> {
    const live = new Live(model);
    model.on("msg:custom", live.receive);
    const isClosed = await listen(model, model.get("key"));
    live.lifetime.show(live.mount, isClosed);
    return () => live.dispose();
  },
};

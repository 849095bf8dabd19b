// The browser's side of tfnb/notebook/graph_widget.py: puts the live view in the place of the picture that the cell
// shows. The channel is never displayed itself; what it needs it asks for when its place is there.

import type { AnyModel } from "@anywidget/types";
import type { GraphCard, GraphMessage, GraphOptions, GraphRequest } from "../protocol/graph";
import { drawGraph, GraphModel, type GraphView } from "../views/graph/view";

interface Traits {
  key: string;
}

type Places = Record<string, (place: HTMLElement) => void>;

class Live {
  private readonly asked = new Map<number, (card: GraphCard) => void>();
  private readonly waiting: HTMLElement[] = [];
  private readonly shown: GraphView[] = [];
  private graph: { model: GraphModel; options: GraphOptions } | null = null;

  constructor(private readonly channel: AnyModel<Traits>) {}

  receive = async (message: GraphMessage, buffers: readonly DataView[]): Promise<void> => {
    if (message.type === "card") {
      this.asked.get(message.card.box)?.(message.card);
      this.asked.delete(message.card.box);
    } else if (message.type === "graph" && buffers[0] && !this.graph) {
      const packed = buffers[0];
      const bytes = new Uint8Array(
        packed.buffer as ArrayBuffer,
        packed.byteOffset,
        packed.byteLength,
      );
      this.graph = { model: await GraphModel.read(bytes), options: message.options };
      for (const place of this.waiting.splice(0)) this.show(place);
    }
  };

  mount = (place: HTMLElement): void => {
    if (place.dataset.tfnbMounted) return;
    place.dataset.tfnbMounted = "true";
    if (this.graph) this.show(place);
    else if (this.waiting.push(place) === 1) this.send({ type: "ready" });
  };

  private send(request: GraphRequest): void {
    this.channel.send(request);
  }

  private show(place: HTMLElement): void {
    if (!this.graph) return;
    const details = (box: number): Promise<GraphCard> =>
      new Promise((done) => {
        this.asked.set(box, done);
        this.send({ type: "card", box });
      });
    this.shown.push(drawGraph(place, this.graph.model, { ...this.graph.options, details }));
  }

  dispose(): void {
    for (const view of this.shown) view.dispose();
  }
}

export default {
  initialize({ model }: { model: AnyModel<Traits> }): () => void {
    const page = globalThis as { tfnbViews?: Places };
    page.tfnbViews ??= {};
    const live = new Live(model);
    const key = model.get("key");
    model.on("msg:custom", live.receive);
    page.tfnbViews[key] = live.mount;
    for (const place of document.querySelectorAll<HTMLElement>(
      `[data-tfnb-view="${CSS.escape(key)}"]`,
    ))
      live.mount(place);
    return () => live.dispose();
  },
};

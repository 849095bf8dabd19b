// The browser's side of tfnb/notebook/cluster_view.py. The model itself is never displayed: it draws a page in each place
// of the notebook that has its key, and informs the kernel whether one of them is visible.
import type { AnyModel } from "@anywidget/types";
import type { ClusterState, FromKernel, ToKernel } from "../protocol/cluster";
import { type ClusterPage, drawCluster } from "../views/cluster/cluster";
import { Lifetime } from "./channel/lifetime";
import { listen } from "./channel/listen";

interface Traits {
  key: string;
}
type Model = AnyModel<Traits>;
interface Place {
  readonly page: ClusterPage;
  seen: boolean;
}

const GONE = "the kernel has ended: this is the last state; run the cell again for a live view";

class Live {
  private readonly places = new Map<Element, Place>();
  readonly lifetime: Lifetime;
  private state: ClusterState | null = null;
  private readonly watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) this.see(target, isIntersecting);
  });

  constructor(model: Model) {
    model.on("msg:custom", (message: FromKernel) => this.receive(message));
    const gone = () => this.each((page) => page.note(GONE));
    this.lifetime = new Lifetime(model, model.get("key"), gone);
  }

  private receive(message: FromKernel): void {
    if (message.type === "note") this.each((page) => page.note(message.text));
    else if (message.type === "state") {
      this.state = message.state;
      this.each((page) => page.show(message.state));
    }
  }

  private each(act: (page: ClusterPage) => void): void {
    for (const { page } of this.places.values()) act(page);
  }

  private send(type: ToKernel["type"]): void {
    const message: ToKernel = { type };
    this.lifetime.send(message);
  }

  mount(host: HTMLElement): void {
    if (this.places.has(host)) return;
    for (const [old, place] of this.places) if (!old.isConnected) this.giveUp(old, place);
    const page = drawCluster(host);
    if (this.state) page.show(this.state);
    this.places.set(host, { page, seen: false });
    this.watcher.observe(host);
  }

  private see(host: Element, seen: boolean): void {
    const place = this.places.get(host);
    if (!place || place.seen === seen) return;
    place.seen = seen;
    this.send(seen ? "hello" : "bye");
  }

  private giveUp(host: Element, place: Place): void {
    this.watcher.unobserve(host);
    if (place.seen) this.send("bye");
    place.page.dispose();
    this.places.delete(host);
  }

  close(): void {
    this.watcher.disconnect();
    for (const place of this.places.values()) place.page.dispose();
    this.places.clear();
    this.lifetime.close();
  }
}

export default {
  async initialize({ model }: { model: Model }): Promise<() => void> {
    const key = model.get("key");
    const live = new Live(model);
    const isClosed = await listen(model, key);
    live.lifetime.show((place) => live.mount(place), isClosed);
    return () => live.close();
  },
};

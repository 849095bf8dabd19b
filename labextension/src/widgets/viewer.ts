// The browser's side of tfnb/notebook/viewer/view.py. The model itself is never displayed: it stores the content that the
// kernel sends and draws a page in each place of the notebook that has its key, also in places that are created later.
import type { AnyModel } from "@anywidget/types";
import type { Bytes } from "../protocol/bytes";
import type { AppendPoints, Content, FromKernel, Kind, ViewerState } from "../protocol/viewer";
import { withAppended } from "../views/viewer/appended_points";
import type { Contents } from "../views/viewer/contents";
import { restored, written } from "../views/viewer/kept_options";
import { floats } from "../views/viewer/numbers";
import type { Options } from "../views/viewer/options";
import { drawViewer, type ViewerPage, type ViewerSource } from "../views/viewer/viewer";
import "../views/viewer/viewer.css";
import { Lifetime } from "./channel/lifetime";
import { listen } from "./channel/listen";

type Model = AnyModel<ViewerState>;

const named = (kind: string, tag: string) => `${kind}\n${tag}`;
const GONE = "the kernel has ended: this is the last state; run the cell again for a live view";

async function library(model: Model): Promise<BlobPart> {
  const id = model.get("library").slice("IPY_MODEL_".length);
  const carrier = (await model.widget_manager.get_model(id)) as AnyModel<{ source: Bytes }>;
  return carrier.get("source");
}

function chart(model: Model, name: string): Promise<object> {
  const template = () => model.get("templates").charts[name];
  const known = template();
  if (known) return Promise.resolve(known);
  model.send({ op: "chart", name });
  return new Promise((resolve) => {
    const check = () => {
      const arrived = template();
      if (!arrived) return;
      model.off("change:templates", check);
      resolve(arrived);
    };
    model.on("change:templates", check);
  });
}

function sourceOf(model: Model, contents: Map<string, Content>): ViewerSource {
  return {
    templates: model.get("templates"),
    chart: (name) => chart(model, name),
    hasKernel: model.get("has_kernel") !== false,
    catalogue: () => model.get("catalogue"),
    content: <K extends Kind>(kind: K, tag: string) =>
      contents.get(named(kind, tag)) as Contents[K] | undefined,
    library: () => library(model),
    want: (wanted) => {
      model.set("wanted", wanted);
      model.save_changes();
    },
    keep: (options) => {
      if (model.get("has_kernel") === false) return;
      model.set("options", written(options));
      model.save_changes();
    },
    ask: (message) => model.send(message),
  };
}

/** A place in the page. It is drawn when it first becomes visible; the kernel is informed while it is visible. */
interface Place {
  page: ViewerPage | null;
  inView: boolean;
  seen: boolean; // whether it is in view and the page is not hidden
}

class Live {
  private readonly contents = new Map<string, Content>();
  private readonly places = new Map<Element, Place>();
  /** The choices of the user apply to all places, also to those that are redrawn. */
  private readonly options: Options;
  private readonly source: ViewerSource;
  readonly lifetime: Lifetime;
  private readonly watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const place = this.places.get(target);
      if (place) place.inView = isIntersecting;
      this.see(target);
    }
  });
  private readonly hidden = () => {
    for (const host of this.places.keys()) this.see(host);
  };
  private asked = false; // whether the whole content was requested, because some points were missing

  constructor(private readonly model: Model) {
    this.source = sourceOf(model, this.contents);
    this.options = restored(model.get("options"));
    this.keep();
    model.on("change:catalogue", () => this.each((page) => page.catalogueChanged()));
    model.on("change:changes", () => {
      this.keep();
      this.each((page) => page.contentsChanged());
    });
    model.on("msg:custom", (message: FromKernel, buffers: Bytes[]) => {
      if (message.op === "append") this.grow(message, buffers);
      else this.each((page) => page.answer(message, buffers));
    });
    document.addEventListener("visibilitychange", this.hidden);
    const gone = () => this.each((page) => page.note(GONE));
    this.lifetime = new Lifetime(model, model.get("key"), gone);
  }

  private keep(): void {
    for (const content of this.model.get("changes")) {
      this.contents.set(named(content.kind, content.tag), content);
    }
    this.asked = false;
  }

  private grow(message: AppendPoints, [numbers, values]: readonly Bytes[]): void {
    const changed = withAppended(message, floats(numbers), floats(values), (tag) =>
      this.source.content("scalar", tag),
    );
    if (changed) {
      for (const content of changed) this.contents.set(named("scalar", content.tag), content);
      this.each((page) => page.contentsChanged(true));
      this.each((page) => page.paced(message.pause));
    } else if (!this.asked) {
      this.asked = true;
      this.lifetime.send({ op: "whole" });
    }
  }

  private each(act: (page: ViewerPage) => void): void {
    for (const { page } of this.places.values()) if (page) act(page);
  }

  mount(host: HTMLElement): void {
    if (this.places.has(host)) return;
    // Places that have left the page are released when a new one is mounted.
    for (const [old, place] of this.places) if (!old.isConnected) this.giveUp(old, place);
    const page = drawViewer(host, this.source, this.options);
    this.places.set(host, { page, inView: false, seen: false });
    this.watcher.observe(host);
  }

  private see(host: Element): void {
    const place = this.places.get(host);
    const seen = Boolean(place?.inView) && !document.hidden;
    if (!place || place.seen === seen) return;
    place.seen = seen;
    if (seen && !place.page)
      place.page = drawViewer(host as HTMLElement, this.source, this.options);
    this.lifetime.send({ op: seen ? "hello" : "bye" });
  }

  private giveUp(host: Element, place: Place): void {
    place.page?.close();
    place.page = null;
    host.replaceChildren();
  }

  close(): void {
    this.watcher.disconnect();
    document.removeEventListener("visibilitychange", this.hidden);
    for (const [host, place] of this.places) this.giveUp(host, place);
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

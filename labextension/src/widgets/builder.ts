// The browser's side of tf.builder(). The model itself is never displayed: it draws a view in each place of the notebook
// that has its key, instead of the saved picture.

import type { AnyModel } from "@anywidget/types";
import type { BuilderState, Gesture } from "../protocol/builder";
import {
  type BuilderView,
  type Channel,
  drawBuilder,
  type FromBuilder,
} from "../views/builder/view";
import { type CellLink, linkCell } from "../views/cell_link";
import { ask } from "./channel/ask";
import { Lifetime } from "./channel/lifetime";
import { listen } from "./channel/listen";

const GONE = "the kernel has ended: this is the last state; run the cell again to go on";

class Live {
  private readonly views = new Map<HTMLElement, BuilderView>();
  private readonly handlers = new Set<(message: FromBuilder) => void>();
  private answered = (): void => {};
  private hasAnswer = false;
  private hadPlaces = false;
  private link: CellLink | null = null;
  /** The source with which the kernel began; until it changes, no cell is inserted. */
  private first: string | null = null;
  readonly lifetime: Lifetime;

  constructor(private readonly model: AnyModel<BuilderState>) {
    const gone = (): void => {
      this.answered();
      for (const view of this.views.values()) view.note(GONE);
    };
    this.lifetime = new Lifetime(model, model.get("key"), gone);
  }

  receive = (message: FromBuilder): void => {
    this.hasAnswer = true;
    this.answered();
    for (const handle of this.handlers) handle(message);
    if (message.type === "source") this.keepSource(message.source);
    else if (message.type === "drawing") this.keepPlaces(message.positions);
  };

  /** A kernel that has no places yet leaves those that the cell keeps; one that has had some may have none again. */
  private keepPlaces(places: Readonly<Record<string, readonly number[]>>): void {
    const hasPlaces = Object.keys(places).length > 0;
    if (hasPlaces || this.hadPlaces) this.link?.keep(JSON.stringify(places));
    this.hadPlaces ||= hasPlaces;
  }

  private keepSource(source: string): void {
    const { link } = this;
    if (this.first !== null) {
      if (link?.read() != null || source !== this.first) link?.write(source);
      return;
    }
    this.first = source;
    // A cell that was changed while no view was open is newer than what the kernel has.
    const text = link?.read();
    // IPython ends the code with a line break, whether the cell does or not.
    if (text?.trim() && text !== source && `${text}\n` !== source) this.sendSource(text);
  }

  private sendSource = (source: string): void => {
    const gesture: Gesture = { type: "gesture", gesture: 0, edits: [{ edit: "source", source }] };
    this.lifetime.send(gesture);
  };

  /** The places that the cell keeps; anybody may have written them. */
  private kept(): {
    places: Record<string, [number, number]>;
    routes: Record<string, number[]>;
  } {
    try {
      const kept = Object.entries(JSON.parse(this.link?.kept() || "{}") as object);
      const sound = kept.filter(
        ([, at]) => Array.isArray(at) && at.every((n) => Number.isFinite(n)),
      );
      const isRoute = (key: string): boolean => key.includes(">");
      return {
        places: Object.fromEntries(sound.filter(([key, at]) => !isRoute(key) && at.length === 2)),
        routes: Object.fromEntries(
          sound.filter(([key, at]) => isRoute(key) && at.length % 2 === 0),
        ),
      };
    } catch {
      return { places: {}, routes: {} };
    }
  }

  mount = (place: HTMLElement): void => {
    if (this.views.has(place)) return;
    for (const [old, view] of this.views) if (!old.isConnected) this.close(old, view);
    if (!this.views.size) {
      this.link?.dispose();
      this.link = linkCell(place, this.sendSource);
    }
    const channel: Channel = {
      send: (message) => {
        if (message.type !== "open" || this.hasAnswer) this.lifetime.send(message);
        else this.answered = ask(() => this.lifetime.send(message));
      },
      receive: (handle) => {
        this.handlers.add(handle);
        return () => this.handlers.delete(handle);
      },
    };
    this.views.set(
      place,
      drawBuilder(place, channel, { ...this.kept(), lesson: this.model.get("lesson") }),
    );
  };

  private close(place: HTMLElement, view: BuilderView): void {
    view.dispose();
    this.views.delete(place);
  }

  dispose(): void {
    this.answered();
    this.link?.dispose();
    this.lifetime.close();
    for (const [place, view] of this.views) this.close(place, view);
  }
}

export default {
  async initialize({ model }: { model: AnyModel<BuilderState> }): Promise<() => void> {
    const live = new Live(model);
    const key = model.get("key");
    model.on("msg:custom", live.receive);
    const isClosed = await listen(model, key);
    live.lifetime.show(live.mount, isClosed);
    return () => live.dispose();
  },
};

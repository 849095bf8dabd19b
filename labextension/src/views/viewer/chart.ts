// One Bokeh chart created from a template: its sources by name, its ranges, and the conversion of pixels to values.
import type { Bokeh, BokehDocument, BokehModel, BokehView, BokehViews } from "../bokeh";

/** The frame of a chart on the page, and the ranges that it shows. */
export interface Box {
  /** Left, top, width, height. */
  frame: readonly [number, number, number, number];
  /** First and last x, first and last y. */
  ranges: readonly [number, number, number, number];
  /** Whether the ranges of x and y are those that the program set, and not changed by a zoom of the user. */
  own: readonly [boolean, boolean];
}

/** Converts values to pixels. */
export interface Pen {
  x(value: number): number;
  y(value: number): number;
}

export class Chart {
  private readonly filled = new Set<string>();
  private pointed = false;
  private readonly set = new Map<string, [number, number]>();
  private readonly place: HTMLElement;
  private readonly view: BokehView;
  private readonly document: BokehDocument;
  private readonly models = new Map<string, BokehModel | null>();

  static async make(bokeh: Bokeh, template: object, place: HTMLElement): Promise<Chart> {
    // A copy, because embedding changes the item.
    return new Chart(await bokeh.embed.embed_item(structuredClone(template), place), place);
  }

  private constructor(
    private readonly views: BokehViews,
    place: HTMLElement,
  ) {
    this.place = place;
    const [root] = views.roots;
    if (!root?.model.document) throw new Error("the chart has no document");
    this.view = root;
    this.document = root.model.document;
  }

  // Cached, because Bokeh searches all models of the document, and those of a chart never change.
  private model(name: string): BokehModel | null {
    let model = this.models.get(name);
    if (model === undefined) {
      model = this.document.get_model_by_name(name);
      this.models.set(name, model);
    }
    return model;
  }

  // A source that was empty and stays empty is not set, because each change redraws the chart.
  fill(name: string, columns: Record<string, ArrayLike<unknown>>): void {
    const empty = Object.values(columns).every((column) => !column.length);
    if (empty && !this.filled.has(name)) return;
    if (empty) this.filled.delete(name);
    else this.filled.add(name);
    const source = this.model(name);
    if (source) source.data = columns;
  }

  // A range that the user has zoomed is kept; "reset" then shows the new range.
  range(name: string, [start, end]: [number, number]): void {
    const range = this.model(name);
    if (!range) return;
    const last = this.set.get(name);
    const untouched = !last || (range.start === last[0] && range.end === last[1]);
    if (untouched && last?.[0] === start && last[1] === end) return;
    const reset = { reset_start: start, reset_end: end };
    range.setv(untouched ? { start, end, ...reset } : reset);
    if (untouched) this.set.set(name, [start, end]);
  }

  /** The position of the frame in its place, its ranges, and which of them were not changed by the user. */
  get box(): Box {
    const { left, top, right, bottom } = this.view.frame.bbox;
    const [x, y] = ["x", "y"].map((name) => this.model(name));
    const own = (name: string, range: typeof x) => {
      const last = this.set.get(name);
      return last?.[0] === range?.start && last?.[1] === range?.end;
    };
    const ranges = [x?.start ?? 0, x?.end ?? 1, y?.start ?? 0, y?.end ?? 1] as const;
    return {
      frame: [left, top, right - left, bottom - top],
      ranges,
      own: [own("x", x), own("y", y)],
    };
  }

  /** Converts values to pixels; valid as long as the ranges and the frame do not change. */
  get pen(): Pen {
    const { x_scale, y_scale } = this.view.frame;
    return { x: x_scale.s_compute, y: y_scale.s_compute };
  }

  /** Puts an element over the chart; returns the offset of the chart below it. */
  cover(element: HTMLElement): [number, number] {
    this.place.append(element);
    const here = this.place.getBoundingClientRect();
    const there = this.view.el.getBoundingClientRect();
    return [there.x - here.x, there.y - here.y];
  }

  /** Whether a part of the chart is visible: the user may hide it. */
  visible(name: string): boolean {
    return this.model(name)?.visible !== false;
  }

  cursor(x: number | null): void {
    if (x === null && !this.pointed) return;
    this.pointed = x !== null;
    const line = this.model("cursor");
    line?.setv(x === null ? { visible: false } : { location: x, visible: true });
  }

  // The x value at a position on the screen, or null outside of the frame.
  xAt(clientX: number, clientY: number): number | null {
    const box = this.view.el.getBoundingClientRect();
    const { frame } = this.view;
    const x = clientX - box.left;
    const y = clientY - box.top;
    const { left, right, top, bottom } = frame.bbox;
    if (x < left || x > right || y < top || y > bottom) return null;
    return frame.x_scale.invert(x);
  }

  /** The vertical position on the screen, in pixels of `pen`. */
  yAt(clientY: number): number {
    return clientY - this.view.el.getBoundingClientRect().top;
  }

  blob(kind: "png" | "svg"): Promise<Blob> {
    return this.view.export(kind).to_blob();
  }

  close(): void {
    this.views.clear();
  }
}

// Updates a chart whose curves grow: new points are drawn over it where that suffices. Now and then the chart is drawn as
// a whole, with a range that leaves room for the points of the next seconds.
import type { Chart } from "./chart";
import type { Drawn } from "./curves";
import { Overlay } from "./overlay";

const WHOLE = 700; // milliseconds between whole drawings because of new points
const AHEAD = 20; // seconds that a growing curve has room for
const ROOM = 0.15; // of its length, which it has at least
const MOST_ROOM = 2; // and at most

export interface Ways {
  smoothing: boolean; // there are raw lines as well
  outliers: boolean; // all values are to be seen
}

export class LiveUpdate {
  private due = 0;
  private first: { x: number; time: number } | null = null; // where it was when it began to grow
  private readonly overlay: Overlay;

  constructor(chart: Chart) {
    this.overlay = new Overlay(chart);
  }

  /** Draws the new points of the lines; false if the chart is to be drawn whole. */
  extend(shown: readonly Drawn[], { smoothing, outliers }: Ways): boolean {
    const added = this.overlay.add(shown, smoothing, outliers);
    return added === "in" || (added === "out" && performance.now() < this.due);
  }

  /** The chart is being drawn whole, because of new points or not. */
  drawn(shown: readonly Drawn[], appended: boolean): void {
    if (!appended) this.first = null;
    this.overlay.begin(shown);
    this.due = performance.now() + WHOLE;
  }

  /** The range of a growing curve: with room ahead, so that the chart need not be drawn whole for every point. */
  ahead([start, end]: [number, number], log: boolean): [number, number] {
    if (log) return [start, end * (end / start) ** ROOM];
    const time = performance.now();
    this.first ??= { x: end, time };
    const past = (time - this.first.time) / 1000;
    const rate = past > 0 ? (end - this.first.x) / past : 0;
    const long = end - start;
    return [start, end + Math.min(Math.max(ROOM * long, AHEAD * rate), MOST_ROOM * long)];
  }

  close(): void {
    this.overlay.close();
  }
}

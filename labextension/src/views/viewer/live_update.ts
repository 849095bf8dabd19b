// Updates a chart whose curves grow: new points are drawn over it where that is sufficient. From time to time the whole
// chart is drawn, with a range that leaves room for the points of the next seconds.
import type { Chart } from "./chart";
import type { Drawn } from "./curves";
import { breakOf } from "./numbers";
import { Overlay } from "./overlay";

const WHOLE = 700; // least milliseconds between drawings of the whole chart because of new points
const AHEAD = 20; // the room for a growing curve, in seconds
const ROOM = 0.15; // the least room, relative to its length
const MOST_ROOM = 2; // the largest room, relative to its length

export interface Ways {
  smoothing: boolean; // whether raw lines are drawn too
  outliers: boolean; // whether all values must be visible
}

export class LiveUpdate {
  private due = 0;
  private broken = 0; // how many lines had a value that is not finite
  private first: { x: number; time: number } | null = null; // its end at the time when it began to grow
  private readonly overlay: Overlay;

  constructor(chart: Chart) {
    this.overlay = new Overlay(chart);
  }

  /** Draws the new points of the lines; returns false if the whole chart must be drawn. */
  extend(shown: readonly Drawn[], { smoothing, outliers }: Ways): boolean {
    if (broken(shown) !== this.broken) return false;
    const added = this.overlay.add(shown, smoothing, outliers);
    return added === "in" || (added === "out" && performance.now() < this.due);
  }

  /** Must be called when the whole chart is drawn, because of new points or not. */
  drawn(shown: readonly Drawn[], appended: boolean): void {
    if (!appended) this.first = null;
    this.overlay.begin(shown);
    this.broken = broken(shown);
    this.due = performance.now() + WHOLE;
  }

  /** The range of a growing curve, with room ahead, so that not every point needs a drawing of the whole chart. */
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

function broken(shown: readonly Drawn[]): number {
  return shown.filter(({ step, value }) => breakOf(step, value)).length;
}

// The visible part of a trace: its time range, scroll position and selection, and the position of every row. It requests
// a drawing when something has changed; painting.ts draws.
import { at, type Row } from "./row";
import type { Trace } from "./trace";

export const ROW = 18;
export const AXIS = 24;
export const GUTTER = 150;
const LANE_GAP = 7;
const MOST_HEIGHT = 420;
const MOST_OF_TASKS = 600; // the height if the lanes belong to several tasks
const LEAST_SPAN_US = 0.02;

export class Chart {
  from = 0;
  to = 1;
  width = 0;
  scrolled = 0;
  selected = -1;
  /** The highlighted events, by row: those of one label; null if there are none. */
  marks: readonly Row[] | null = null;
  arrows = true;
  path = true;
  /** The top of each row, relative to the top of all rows. */
  readonly tops: Float64Array;
  /** The titles of groups of lanes and their positions, relative to the top of all rows. */
  readonly groups: [string, number][] = [];
  /** The height of all lanes, and of the part that is visible at a time. */
  readonly fullHeight: number;
  readonly height: number;

  constructor(
    readonly trace: Trace,
    private readonly changed: () => void,
    private readonly onSelect: (event: number) => void,
    private readonly scrollTo: (y: number) => void,
  ) {
    this.tops = new Float64Array(trace.meta.n_rows);
    let y = AXIS;
    let group = "";
    for (const lane of trace.meta.lanes) {
      if (lane.group !== group) {
        group = lane.group;
        this.groups.push([group, y]);
        y += ROW;
      }
      for (let k = 0; k < lane.rows; k++, y += ROW) this.tops[lane.row + k] = y;
      y += LANE_GAP;
    }
    this.fullHeight = y + 4;
    const most = this.groups.length > 1 ? MOST_OF_TASKS : MOST_HEIGHT;
    this.height = Math.min(this.fullHeight, most);
    this.fit();
  }

  /** Microseconds per pixel. */
  get pixel(): number {
    return (this.to - this.from) / (this.width - GUTTER);
  }

  x(t: number): number {
    return GUTTER + (t - this.from) / this.pixel;
  }

  time(x: number): number {
    return this.from + (x - GUTTER) * this.pixel;
  }

  top(row: number): number {
    return at(this.tops, row) - this.scrolled;
  }

  /** The rows that are at least partly visible. */
  *seen(): Generator<number> {
    for (let r = 0; r < this.tops.length; r++) {
      const y = this.top(r);
      if (y + ROW > AXIS && y < this.height) yield r;
    }
  }

  /** The positions of the visible events of a row. */
  window(row: Row): [number, number] {
    let first = row.first(this.from);
    if (first > 0 && row.end(first - 1) >= this.from) first--;
    return [first, row.first(this.to, first)];
  }

  fit(from = 0, to = this.trace.meta.span_us): void {
    const margin = (to - from) * 0.02 || 1;
    this.from = from - margin;
    this.to = to + margin;
    this.changed();
  }

  zoom(factor: number, x = (GUTTER + this.width) / 2): void {
    const t = this.time(x);
    const span = this.to - this.from;
    const most = this.trace.meta.span_us * 2 + 10;
    const by = Math.min(Math.max(factor, LEAST_SPAN_US / span), most / span);
    this.from = t - (t - this.from) * by;
    this.to = t + (this.to - t) * by;
    this.changed();
  }

  /** Moves by a number of pixels, but never so far that no event is visible. */
  pan(pixels: number): void {
    const span = this.to - this.from;
    const by = pixels * this.pixel;
    const from = Math.min(
      Math.max(this.from + by, -0.9 * span),
      this.trace.meta.span_us - 0.1 * span,
    );
    this.from = from;
    this.to = from + span;
    this.changed();
  }

  scroll(y: number): void {
    this.scrolled = Math.min(Math.max(y, 0), this.fullHeight - this.height);
    this.changed();
  }

  /** Selects an event, and moves to it if it is not visible or too small to see. */
  show(i: number): void {
    const { trace } = this;
    const took = Math.max(trace.length(i), 0.2);
    if (
      took < (this.to - this.from) / 300 ||
      trace.start(i) < this.from ||
      trace.end(i) > this.to
    ) {
      const middle = (trace.start(i) + trace.end(i)) / 2;
      this.from = middle - took * 4;
      this.to = middle + took * 4;
    }
    const y = at(this.tops, trace.row(i));
    if (y - this.scrolled < AXIS || y + ROW - this.scrolled > this.height)
      this.scrollTo(y - this.height / 2);
    this.select(i);
  }

  select(i: number): void {
    this.selected = i;
    this.onSelect(i);
    this.changed();
  }

  /** Highlights the events of a label, or none (-1). */
  mark(label: number): void {
    this.marks = label < 0 ? null : this.trace.byRow((i) => this.trace.label(i) === label);
  }

  /** Clears the selection and shows the whole recording. */
  reset(): void {
    this.mark(-1);
    this.select(-1);
    this.fit();
  }

  /** Shows the step of the selected event, or the step after the visible one. */
  nextStep(): void {
    const { steps } = this.trace.meta;
    const chosen = this.selected >= 0 ? this.trace.step(this.selected) : -1;
    const next =
      chosen >= 0 && chosen !== this.stepShown ? chosen : (this.stepShown + 1) % steps.length;
    const step = steps[next];
    if (!step) return;
    this.stepShown = next;
    this.fit(step[0], step[0] + step[1]);
  }
  private stepShown = -1;

  /** The event at a point of the canvas, or -1. */
  find(x: number, y: number): number {
    if (x < GUTTER || y < AXIS) return -1;
    for (const r of this.seen()) {
      const top = this.top(r);
      if (y >= top && y < top + ROW)
        return this.trace.rows[r]?.near(this.time(x), 2 * this.pixel) ?? -1;
    }
    return -1;
  }
}

// A canvas over a chart, for the points that were added to its curves since Bokeh drew it. Drawing the whole chart takes
// some ten milliseconds and a stroke almost none, so that the view takes little processor time from the training.

import { h } from "../dom";
import type { Box, Chart, Pen } from "./chart";
import type { Drawn } from "./curves";
import { before } from "./numbers";

/** `no`: the whole chart must be drawn. `out`: some of the new points are outside of its ranges. */
export type Added = "no" | "out" | "in";

interface End {
  run: number;
  x: number;
  length: number; // length of the stroked path, for the phase of dashes
}

const DASHES: Record<string, number[]> = {
  solid: [],
  dashed: [6],
  dotted: [2, 4],
  dotdash: [2, 4, 6, 4],
};
const RAW = 0.3; // opacity, as in the templates
const HALF = 0.5; // offset of half a pixel, with which BokehJS draws
const EDGE = 3; // pixels that a line may cover before its first point

export class Overlay {
  private draw: CanvasRenderingContext2D | null = null; // of the canvas over the chart; null while there are no strokes
  private ends: End[] = [];
  private box: Box | null = null;
  private left = 0; // the left side of the canvas: it covers only the growing part, since the browser composes a whole canvas again
  private stale = 0; // the number of the frame after which the canvas is cleared

  constructor(private readonly chart: Chart) {}

  /** Must be called when the whole chart is drawn, with these lines. */
  begin(shown: readonly Drawn[]): void {
    this.ends = shown.map(({ run, x }) => ({ run, x: x[x.length - 1] ?? Number.NaN, length: 0 }));
    this.box = this.chart.box;
    if (!this.draw) return;
    // Bokeh draws in the next frame; the strokes stay until then.
    cancelAnimationFrame(this.stale);
    this.stale = requestAnimationFrame(() => {
      this.stale = requestAnimationFrame(() => this.empty());
    });
  }

  /** Draws the points that were added to the lines. */
  add(shown: readonly Drawn[], smoothing: boolean, outliers: boolean): Added {
    const { box } = this;
    const now = this.chart.box;
    if (!box || `${box.frame} ${box.ranges}` !== `${now.frame} ${now.ranges}`) return "no";
    const from: number[] = [];
    for (const [k, line] of shown.entries()) {
      const end = this.ends[k];
      const index = end ? before(line.x, end.x) : -1;
      if (end?.run !== line.run || line.x[index] !== end.x) return "no";
      from.push(index);
    }
    if (shown.length !== this.ends.length) return "no";
    const draw = this.pencil(box);
    if (!draw) return "no";
    const { pen } = this.chart;
    let out = false;
    for (const [k, line] of shown.entries()) {
      const first = from[k] as number;
      if (first === line.x.length - 1) continue;
      const end = this.ends[k] as End;
      if (smoothing) stroke(draw, pen, line, line.raw, first, end, RAW);
      end.length += stroke(draw, pen, line, line.y, first, end, 1);
      end.x = line.x[line.x.length - 1] as number;
      out ||= outside(line, first, now, smoothing, outliers);
    }
    draw.restore();
    return out ? "out" : "in";
  }

  private pencil(box: Box): CanvasRenderingContext2D | null {
    if (this.stale || !this.draw) {
      this.empty();
      this.draw = this.cover(box);
    }
    const { draw } = this;
    draw?.save();
    draw?.scale(devicePixelRatio, devicePixelRatio);
    draw?.translate(HALF - this.left, HALF - box.frame[1]);
    return draw;
  }

  // A desynchronized canvas is shown without a frame of the whole page. After a change of its width it would show its
  // old content for a moment, so a new canvas is created instead.
  private cover({ frame }: Box): CanvasRenderingContext2D | null {
    const canvas = h("canvas", { className: "tfnb-overlay" });
    const [left, top, whole, height] = frame;
    const [x, y] = this.chart.cover(canvas);
    const { pen } = this.chart;
    const first = Math.floor(Math.min(...this.ends.map((end) => pen.x(end.x))) - EDGE);
    this.left = Math.min(Math.max(first || left, left), left + whole - 1);
    const width = left + whole - this.left;
    canvas.width = Math.ceil(width * devicePixelRatio);
    canvas.height = Math.ceil(height * devicePixelRatio);
    const { style } = canvas;
    style.left = `${x + this.left}px`;
    style.top = `${y + top}px`;
    style.width = `${width}px`;
    style.height = `${height}px`;
    return canvas.getContext("2d", { desynchronized: true });
  }

  private empty(): void {
    cancelAnimationFrame(this.stale);
    this.stale = 0;
    this.draw?.canvas.remove();
    this.draw = null;
  }

  close(): void {
    this.empty();
  }
}

function outside(
  line: Drawn,
  first: number,
  box: Box,
  smoothing: boolean,
  outliers: boolean,
): boolean {
  const [left, right, low, high] = box.ranges;
  const [ownX, ownY] = box.own;
  const above = (v: number) => v < low || v > high;
  for (let k = first; k < line.x.length; k++) {
    const x = line.x[k] as number;
    if (ownX && (x < left || x > right)) return true;
    if (!ownY || !outliers) continue;
    if (above(line.y[k] as number) || (smoothing && above(line.raw[k] as number))) return true;
  }
  return false;
}

/** The length of a stroked path. */
function stroke(
  draw: CanvasRenderingContext2D,
  pen: Pen,
  line: Drawn,
  ys: Float64Array,
  first: number,
  end: End,
  alpha: number,
): number {
  const bold = alpha === 1;
  draw.globalAlpha = alpha;
  draw.strokeStyle = line.colour;
  draw.lineWidth = bold ? 2 : 1;
  draw.lineJoin = "round";
  draw.setLineDash(bold ? (DASHES[line.dash] ?? []) : []);
  draw.lineDashOffset = end.length;
  draw.beginPath();
  let length = 0;
  let x0 = Number.NaN;
  let y0 = Number.NaN;
  for (let k = first; k < line.x.length; k++) {
    const x = pen.x(line.x[k] as number);
    const y = pen.y(ys[k] as number);
    const step = Math.hypot(x - x0, y - y0);
    if (Number.isFinite(step)) {
      draw.lineTo(x, y);
      length += step;
    } else if (Number.isFinite(x + y)) draw.moveTo(x, y);
    x0 = x;
    y0 = y;
  }
  draw.stroke();
  return length;
}

// Draws a chart on a canvas. A row needs at most one search for each of its pixels, however many events it has: events that
// are narrower than a pixel become one bar whose opacity is the busy share of the pixel, in the colour of the longest.
import { AXIS, type Chart, GUTTER, ROW } from "./chart";
import { colourOf, inkOn } from "./palette";
import type { Row } from "./row";
import { timeText } from "./texts";

const MOST_ARROWS = 400;
const LONGEST_CHAIN = 12;
const MOST_STEP_LINES = 2000;

interface Colours {
  readonly ink: string;
  readonly faint: string;
  readonly strong: string;
}

/** Draws the whole chart, if the canvas is not empty. */
export function paint(chart: Chart, canvas: HTMLCanvasElement): void {
  const scale = window.devicePixelRatio || 1;
  chart.width = canvas.clientWidth;
  const g = canvas.getContext("2d");
  if (!g || chart.width < GUTTER + 20) return;
  const size = [Math.round(chart.width * scale), Math.round(chart.height * scale)] as const;
  if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
  const style = getComputedStyle(canvas);
  const of = (name: string, other: string) => style.getPropertyValue(name).trim() || other;
  const colours = {
    ink: of("--jp-ui-font-color1", "#222"),
    faint: of("--jp-border-color2", "#ddd"),
    strong: of("--jp-error-color1", "#d32f2f"),
  };
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, chart.width, chart.height);
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  new Painter(chart, g, colours).all();
}

class Painter {
  constructor(
    private readonly chart: Chart,
    private readonly g: CanvasRenderingContext2D,
    private readonly colours: Colours,
  ) {}

  all(): void {
    const { chart } = this;
    this.axis();
    this.inside(0, AXIS - 6, () => {
      this.groupNames();
      this.laneNames();
    });
    this.inside(GUTTER, AXIS - 6, () => {
      for (const r of chart.seen()) this.bars(r);
      if (chart.path) for (const r of chart.seen()) this.path(r);
      if (chart.arrows) this.arrows();
      if (chart.selected >= 0) this.frame(chart.selected);
    });
  }

  private inside(x: number, y: number, draw: () => void): void {
    const { g, chart } = this;
    g.save();
    g.beginPath();
    g.rect(x, y, chart.width - x, chart.height - y);
    g.clip();
    draw();
    g.restore();
  }

  private axis(): void {
    const { g, chart, colours } = this;
    const least = chart.pixel * 110;
    const power = 10 ** Math.floor(Math.log10(least));
    const unit = [1, 2, 5, 10].map((k) => k * power).find((u) => u >= least) ?? 10 * power;
    g.lineWidth = 1;
    for (let k = Math.ceil(chart.time(GUTTER) / unit); k * unit <= chart.to; k++) {
      const x = this.line(k * unit, colours.faint);
      g.fillStyle = colours.ink;
      g.fillText(timeText(+(k * unit).toPrecision(12)), x + 3, AXIS / 2 - 2);
    }
    if (chart.trace.meta.steps.length > MOST_STEP_LINES) return;
    g.globalAlpha = 0.6;
    g.setLineDash([2, 3]);
    for (const [begin] of chart.trace.meta.steps) {
      if (begin >= chart.from && begin <= chart.to) this.line(begin, colours.ink);
    }
    g.setLineDash([]);
    g.globalAlpha = 1;
  }

  private line(t: number, colour: string): number {
    const { g, chart } = this;
    const x = Math.round(chart.x(t)) + 0.5;
    g.strokeStyle = colour;
    g.beginPath();
    g.moveTo(x, AXIS - 6);
    g.lineTo(x, chart.height);
    g.stroke();
    return x;
  }

  private laneNames(): void {
    const { g, chart } = this;
    g.fillStyle = this.colours.ink;
    for (const lane of chart.trace.meta.lanes) {
      // The name of a lane with many rows stays visible while scrolling.
      const last = chart.top(lane.row + lane.rows - 1);
      const y = Math.min(Math.max(chart.top(lane.row), AXIS - 4), last);
      if (y + ROW > AXIS && y < chart.height) {
        g.fillText(cut(g, lane.name, GUTTER - 12), 4, y + ROW / 2);
      }
    }
  }

  /** Draws a line above the lanes of each task, with the name of the task. */
  private groupNames(): void {
    const { g, chart, colours } = this;
    const font = g.font;
    for (const [name, top] of chart.groups) {
      const y = top - chart.scrolled;
      if (y + ROW < 0 || y > chart.height) continue;
      g.fillStyle = colours.faint;
      g.fillRect(0, y - 1, chart.width, 1);
      g.fillStyle = colours.ink;
      g.font = `600 ${font}`;
      g.fillText(name, 4, y + ROW / 2);
      g.font = font;
    }
  }

  /** Draws the events of a row; highlighted events are drawn over the others, which are then faint. */
  private bars(r: number): void {
    const { rows } = this.chart.trace;
    const { marks } = this.chart;
    this.barsOf(rows[r] as Row, r, marks ? 0.22 : 1);
    if (marks) this.barsOf(marks[r] as Row, r, 1);
  }

  private barsOf(row: Row, r: number, strength: number): void {
    const { chart } = this;
    const pixel = chart.pixel;
    const y = chart.top(r) + 1;
    const [first, last] = chart.window(row);
    for (let k = first; k < last; ) {
      if (row.length(k) >= pixel) {
        this.bar(row.event(k), y, strength);
        k++;
      } else {
        const next = row.crowd(k, pixel);
        this.crowd(row, k, next, y, strength);
        k = next;
      }
    }
  }

  /** Draws several events in a pixel. */
  private crowd(row: Row, from: number, to: number, y: number, strength: number): void {
    const { g, chart } = this;
    const busy = Math.min(row.busy(from, to) / chart.pixel, 1);
    g.globalAlpha = strength * (0.3 + 0.7 * busy);
    g.fillStyle = colourOf(chart.trace.kind(row.event(row.longest(from, to))));
    g.fillRect(chart.x(row.start(from)), y, 1, ROW - 3);
    g.globalAlpha = 1;
  }

  private bar(i: number, y: number, strength: number): void {
    const { g, chart } = this;
    const { trace } = chart;
    const kind = trace.kind(i);
    const x = Math.max(chart.x(trace.start(i)), GUTTER - 5);
    const width = Math.min(chart.x(trace.end(i)), chart.width + 5) - x;
    g.globalAlpha = strength * (kind === "wait" ? 0.5 : 1);
    g.fillStyle = colourOf(kind);
    g.fillRect(x, y, Math.max(width - (width > 4 ? 1 : 0), 1), ROW - 3);
    g.globalAlpha = 1;
    if (width > 34 && strength === 1) {
      g.fillStyle = inkOn(kind) || this.colours.ink;
      const room = width - 8 - (Math.max(x, GUTTER) - x);
      g.fillText(cut(g, trace.name(i), room), Math.max(x, GUTTER) + 4, y + (ROW - 2) / 2);
    }
  }

  private frame(i: number): void {
    const { g, chart } = this;
    const { trace } = chart;
    const x = chart.x(trace.start(i));
    g.strokeStyle = this.colours.ink;
    g.lineWidth = 2;
    g.strokeRect(
      x,
      chart.top(trace.row(i)) + 0.5,
      Math.max(chart.x(trace.end(i)) - x - 1, 2),
      ROW - 2,
    );
  }

  /** Draws a line under the events of the critical path. */
  private path(r: number): void {
    const { g, chart } = this;
    const row = chart.trace.critical[r] as Row;
    const y = chart.top(r) + ROW - 3;
    g.fillStyle = this.colours.strong;
    const [first, last] = chart.window(row);
    for (let k = first; k < last; ) {
      const x = chart.x(row.start(k));
      g.fillRect(x, y, Math.max(chart.x(row.end(k)) - x - 1, 1), 2.5);
      k = row.crowd(k, chart.pixel);
    }
  }

  /** Draws arrows to operations from the events that they waited for; for the selected event also the chain before it. */
  private arrows(): void {
    const { chart, colours } = this;
    const { trace, selected } = chart;
    let drawn = 0;
    for (const r of chart.seen()) {
      const waits = trace.waits[r] as Row;
      for (const k of waits.atLeast(6 * chart.pixel, ...chart.window(waits))) {
        if (drawn++ >= MOST_ARROWS) break;
        const i = waits.event(k);
        if (i !== selected) this.arrow(trace.cause(i), i, colours.ink, 0.55);
      }
    }
    for (let i = selected, k = 0; i >= 0 && trace.cause(i) >= 0 && k < LONGEST_CHAIN; k++) {
      this.arrow(trace.cause(i), i, colours.strong, k ? 0.5 : 1);
      i = trace.cause(i);
    }
  }

  private arrow(from: number, to: number, colour: string, alpha: number): void {
    const { g, chart } = this;
    const { trace } = chart;
    const wait = trace.isWait(to);
    const x0 = chart.x(trace.end(from));
    const x1 = chart.x(wait ? trace.end(to) : trace.start(to));
    const y0 = chart.top(trace.row(from)) + ROW / 2;
    const y1 = chart.top(trace.row(to)) + ROW / 2;
    const bend = Math.min(40, 12 + Math.abs(x1 - x0) / 3) * (wait ? 0.4 : 1);
    g.globalAlpha = alpha;
    g.strokeStyle = g.fillStyle = colour;
    g.lineWidth = 1.4;
    g.beginPath();
    g.moveTo(x0, y0);
    g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 1, y1);
    g.stroke();
    g.beginPath();
    g.moveTo(x1, y1);
    g.lineTo(x1 - 6, y1 - 3.5);
    g.lineTo(x1 - 6, y1 + 3.5);
    g.fill();
    g.globalAlpha = 1;
  }
}

/** The part of a text for which there is room. */
function cut(g: CanvasRenderingContext2D, text: string, room: number): string {
  // Names from files may be very long; measuring them would be slow.
  if (text.length < 200 && g.measureText(text).width <= room) return text;
  const fits = Math.max(Math.floor(room / 6.2) - 1, 0);
  return fits < 2 ? "" : `${text.slice(0, fits)}…`;
}

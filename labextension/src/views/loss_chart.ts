// The chart of a loss plot: a Bokeh document that the kernel sends, filled with curves, and updated while they grow.
import type { AppendLossPoints, LossCurve } from "../protocol/loss";
import type { Bokeh } from "./bokeh";
import { h } from "./dom";
import { cut, lengthened } from "./viewer/appended_points";
import { Chart } from "./viewer/chart";
import { breakMarks, type Drawn } from "./viewer/curves";
import { LiveUpdate } from "./viewer/live_update";
import { floats, span } from "./viewer/numbers";

interface Curve {
  total: number;
  colour: string;
  step: Float64Array<ArrayBuffer>;
  value: Float64Array<ArrayBuffer>;
  smooth: Float64Array<ArrayBuffer>;
}

const RAW_OF = 60; // a shorter curve is drawn as points, and as a whole each time

export class LossChart {
  private curves: Curve[] = [];
  private chart: Chart | null = null;
  private live: LiveUpdate | null = null;
  private log = false;

  /** Shows another document instead of the current one. */
  async show(bokeh: Bokeh, document: object, log: boolean, host: HTMLElement): Promise<void> {
    const place = h("div");
    place.style.position = "relative";
    host.replaceChildren(place);
    this.close();
    this.log = log;
    try {
      this.chart = await Chart.make(bokeh, document, place);
    } catch (error) {
      // The cell's output was replaced while BokehJS began to draw; then nobody sees this chart.
      if (!place.isConnected) return;
      throw error;
    }
    this.live = new LiveUpdate(this.chart);
    this.draw(false);
  }

  /** Replaces all curves. */
  set(curves: readonly LossCurve[]): void {
    this.curves = curves.map(({ total, colour, step, value, smooth }) => ({
      total,
      colour,
      step: floats(step),
      value: floats(value),
      smooth: floats(smooth),
    }));
    this.draw(false);
  }

  /** Appends points; returns false if the points before them are missing. */
  grow(message: AppendLossPoints, numbers: Float64Array): boolean {
    const parts = cut(
      numbers,
      3,
      message.curves.map((row) => row[3]),
    );
    for (const [place, before, total] of message.curves) {
      const curve = this.curves[place];
      if (curve?.total !== before) return false;
      const held = [curve.step, curve.value, curve.smooth];
      const [step, value, smooth] = lengthened(held, parts.next().value ?? []);
      if (step && value && smooth) this.curves[place] = { ...curve, total, step, value, smooth };
    }
    this.draw(true);
    return true;
  }

  private draw(appended: boolean): void {
    const { chart, live, curves } = this;
    if (!chart || !live) return;
    const shown = curves.map((curve, run) => line(curve, run, chart.visible(`bold-${run}`)));
    const long = curves.every((curve) => curve.total >= RAW_OF);
    if (appended && long && live.extend(shown, { smoothing: true, outliers: true })) return;
    for (const [k, { step, value, smooth }] of curves.entries())
      chart.fill(`curve-${k}`, { step, value, smooth });
    const x = span(
      curves.map((curve) => curve.step),
      { margin: 0.01, exact: 0.5 },
    );
    const values = curves.flatMap((curve) => [curve.value, curve.smooth]);
    chart.range("x", appended ? live.ahead(x, false) : x);
    const y = span(values, { log: this.log, margin: appended ? 0.1 : 0.05 });
    chart.range("y", y);
    chart.fill("breaks", breakMarks(shown, y[1], true));
    live.drawn(shown, appended);
  }

  close(): void {
    this.live?.close();
    this.chart?.close();
    this.chart = null;
    this.live = null;
  }
}

function line(curve: Curve, run: number, visible: boolean): Drawn {
  const { step, value, smooth, total, colour } = curve;
  const y = visible ? smooth : new Float64Array(smooth.length).fill(Number.NaN);
  return { run, total, step, wall: step, value, x: step, y, raw: value, colour, dash: "solid" };
}

// The card of a histogram tag: percentile bands over steps, ridges offset by step, or overlaid outlines.
import type { ChartTheme, HistogramRun } from "../../protocol/viewer";
import { h } from "../dom";
import { Chart } from "./chart";
import { ItemCard } from "./item_card";
import { floats, span } from "./numbers";
import type { PageContext } from "./options";

const LEVELS = 9;

interface Part {
  part: HTMLElement;
  chart: Chart;
}

const DRAW = { bands, ridges, overlay };

export class HistogramCard extends ItemCard<"histogram"> {
  private readonly charts = new Map<string, Part>();

  constructor(context: PageContext, tag: string) {
    super(context, "histogram", tag);
  }

  protected override sent(run: HistogramRun): number {
    return run.steps.byteLength / 8;
  }

  protected override async draw(runs: HistogramRun[]): Promise<void> {
    const { form } = this.context.options;
    const wanted = new Set(runs.map((r) => `${form} ${r.run}`));
    for (const [key, old] of this.charts) {
      if (wanted.has(key)) continue;
      old.chart.close();
      old.part.remove();
      this.charts.delete(key);
    }
    for (const run of runs) {
      const { chart, part } = await this.part(`${form} ${run.run}`, form, this.name(run.run));
      if (this.closed) return this.close();
      part.ariaLabel = `histograms of ${this.tag} in ${this.name(run.run)}`;
      DRAW[form](chart, run, this.context.templates);
      if (run.notes.length) this.status.textContent = run.notes.join("; ");
    }
  }

  private async part(key: string, form: string, textContent: string): Promise<Part> {
    const there = this.charts.get(key);
    if (there) return there;
    const item = await this.context.chart(form);
    const place = h("div");
    const part = h("figure", {}, h("figcaption", { textContent }), place);
    this.body.append(part);
    const entry = { part, chart: await Chart.make(await this.context.bokeh(), item, place) };
    this.charts.set(key, entry);
    return entry;
  }

  override close(): void {
    super.close();
    for (const { chart } of this.charts.values()) chart.close();
    this.charts.clear();
  }
}

function bands(chart: Chart, run: HistogramRun): void {
  const x = floats(run.steps);
  const all = floats(run.levels);
  const columns: Record<string, Float64Array> = { x };
  for (let k = 0; k < LEVELS; k++)
    columns[`l${k}`] = x.map((_, row) => all[row * LEVELS + k] as number);
  chart.fill("bands", columns);
  chart.range("x", span([x], { margin: 0.01 }));
  chart.range("y", span([all]));
}

// The steps, the middles of the buckets, and the counts of each step.
function hills(run: HistogramRun) {
  const steps = floats(run.steps);
  const counts = floats(run.ridges);
  const bins = steps.length ? counts.length / steps.length : 0;
  const width = run.high - run.low;
  const places = Float64Array.from(
    { length: bins },
    (_, k) => run.low + ((k + 0.5) / bins) * width,
  );
  const most = counts.reduce((a, b) => Math.max(a, b), 1e-300);
  return { steps, places, most, row: (k: number) => counts.subarray(k * bins, (k + 1) * bins) };
}

function ridges(chart: Chart, run: HistogramRun, templates: ChartTheme): void {
  const { steps, places, most, row } = hills(run);
  const first = steps[0] ?? 0;
  const last = steps[steps.length - 1] ?? 1;
  const range = steps.length > 1 ? last - first : 1;
  const gap = range / Math.max(steps.length - 1, 1);
  const scale = (Math.max(gap * 3, range / 6) || 1) / most;
  const out = {
    xs: [] as number[][],
    ys: [] as number[][],
    fill: [] as string[],
    alpha: [] as number[],
  };
  // The newest is last and in front, at the bottom: a ridge rises from its step towards the older ones behind it.
  steps.forEach((step, k) => {
    out.xs.push([run.low, ...places, run.high]);
    out.ys.push([step, ...Array.from(row(k), (n) => step - scale * n), step]);
    out.fill.push(templates.colours[0] ?? "#808080");
    out.alpha.push(0.25 + (0.65 * (k + 1)) / steps.length);
  });
  chart.fill("ridges", out);
  chart.range("x", span([[run.low, run.high]], { margin: 0.01 }));
  // The axis points down, so that later steps are in front.
  chart.range("y", [last + gap * 0.5, out.ys.length ? Math.min(...out.ys.flat()) : 0]);
}

function overlay(chart: Chart, run: HistogramRun, templates: ChartTheme): void {
  const { steps, places, most, row } = hills(run);
  const shown = Array.from(steps, (_, k) => k);
  chart.fill("overlay", {
    xs: shown.map(() => Array.from(places)),
    ys: shown.map((k) => Array.from(row(k))),
    colour: shown.map(() => templates.colours[0] ?? "#808080"),
    alpha: shown.map((k) => 0.15 + (0.85 * (k + 1)) / shown.length),
  });
  chart.range("x", span([[run.low, run.high]], { margin: 0.01 }));
  chart.range("y", [0, most * 1.05]);
}

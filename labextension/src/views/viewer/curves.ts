// Computes the columns that are drawn from the points of a tag and the user's options.
import type { ChartTheme, CurveData, ScalarContent } from "../../protocol/viewer";
import {
  at,
  breakOf,
  compactFloats,
  floats,
  type Line,
  meanAndBand,
  smoothed,
  span,
} from "./numbers";
import type { Axis, Options } from "./options";

export interface Look {
  colour: string;
  dash: string;
}

export interface Curve {
  run: number;
  total: number;
  step: Float64Array;
  wall: Float64Array;
  value: Float64Array;
  /** Where the points stand among all values. */
  kept: Float64Array;
  /** All values: a smoothed curve does not depend on which points are drawn. */
  every: Float64Array;
}

/** A curve as it is drawn: x, raw and smoothed values. */
export interface Drawn extends Omit<Curve, "kept" | "every">, Line, Look {
  raw: Float64Array;
}

export function look(templates: ChartTheme, run: number): Look {
  const { colours, dashes } = templates;
  const dash = Math.floor(run / colours.length) % dashes.length;
  return { colour: colours[run % colours.length] ?? "#808080", dash: dashes[dash] ?? "solid" };
}

export function decoded(content: ScalarContent): Curve[] {
  return content.curves.map((c) => {
    const value = floats(c.value);
    return {
      run: c.run,
      total: c.total,
      step: floats(c.step),
      wall: floats(c.wall),
      value,
      ...everyValue(c, value),
    };
  });
}

/** All values of a curve and the places of its points among them. */
export function everyValue(
  curve: CurveData,
  value: Float64Array<ArrayBuffer>,
): { kept: Float64Array<ArrayBuffer>; every: Float64Array<ArrayBuffer> } {
  const kept = floats(curve.kept);
  if (!kept.length) return { kept: value.map((_, k) => k), every: value };
  return { kept, every: compactFloats(curve.every, (kept[kept.length - 1] as number) + 1) };
}

/** The smoothed values at the points of a curve: the average is one of all values. */
export function smoothedAt({ kept, every, value }: Curve, weight: number): Float64Array {
  if (!weight) return value;
  const all = smoothed(every, weight);
  return kept.length === all.length ? all : kept.map((place) => all[place] as number);
}

function axis(curve: Curve, kind: Axis): Float64Array {
  if (kind === "wall") return curve.wall.map((t) => t * 1000);
  const start = curve.wall[0] ?? 0;
  if (kind === "relative") return curve.wall.map((t) => t - start);
  return curve.step;
}

// The shown curves with x, raw and smoothed values, as differences to the baseline if there is one.
export function lines(curves: Curve[], options: Options, templates: ChartTheme): Drawn[] {
  const shown = curves
    .filter((c) => options.runs.has(c.run))
    .map((c) => ({
      ...c,
      ...look(templates, c.run),
      x: axis(c, options.axis),
      raw: c.value,
      y: smoothedAt(c, options.smoothing),
    }));
  const base = curves.find((c) => c.run === options.baseline);
  if (!base) return shown;
  const x = axis(base, options.axis);
  const y = smoothedAt(base, options.smoothing);
  const less = (c: Drawn, values: Float64Array, from: Float64Array) =>
    values.map((v, k) => v - at(x, from, c.x[k] as number));
  return shown.map((c) => ({ ...c, raw: less(c, c.raw, base.value), y: less(c, c.y, y) }));
}

type Place = Float64Array | number[];

type Lines = {
  xs: Place[];
  ys: Place[];
  colour: string[];
  dash: string[];
};

export interface Drawing {
  sources: Record<string, Record<string, ArrayLike<unknown>>>;
  x: [number, number];
  y: [number, number];
}

export const FEW = 12; // curves of at most this many points are drawn as points
const WORD = 0.12; // the room for a word at a mark, relative to the width of the chart
const MARGIN = 0.05; // the margin above and below the values, which is doubled while they grow

// Columns for the sources of a "lines" template, and its ranges.
export function drawing(
  shown: Drawn[],
  options: Options,
  templates: ChartTheme,
  appended = false,
): Drawing {
  const none = (): Lines => ({ xs: [], ys: [], colour: [], dash: [] });
  const [band, raw, smooth] = [none(), none(), none()];
  const dots = { x: [] as number[], y: [] as number[], colour: [] as string[] };
  const add = (to: Lines, x: Place, y: Place, how: Look) => {
    to.xs.push(x);
    to.ys.push(y);
    to.colour.push(how.colour);
    to.dash.push(how.dash);
  };
  if (options.band && shown.length > 1) {
    const mean = meanAndBand(shown);
    const how = { colour: templates.colours[0] ?? "#808080", dash: "solid" };
    for (const line of shown) add(raw, line.x, line.y, line);
    const back = [...mean.high].reverse();
    add(band, [...mean.x, ...[...mean.x].reverse()], [...mean.low, ...back], how);
    add(smooth, mean.x, mean.mean, how);
  } else {
    for (const line of shown) {
      if (options.smoothing) add(raw, line.x, line.raw, line);
      add(smooth, line.x, line.y, line);
      if (line.x.length > FEW) continue;
      dots.x.push(...line.x);
      dots.y.push(...line.y);
      for (const _ of line.x) dots.colour.push(line.colour);
    }
  }
  const log = options.log && options.baseline === null;
  const y = span([...smooth.ys, ...raw.ys, ...band.ys], {
    outliers: options.outliers,
    margin: appended ? 2 * MARGIN : MARGIN,
    log,
  });
  return {
    sources: { band, raw, smooth, dots, breaks: breakMarks(shown, y[1]) },
    x: span(smooth.xs, {
      margin: 0.01,
      log: options.axis === "logstep",
      exact: options.axis === "wall" ? 500 : 0.5,
    }),
    y,
  };
}

/** Marks at the first values that are not finite, with a word where it is the first at its place. */
export function breakMarks(
  shown: readonly Drawn[],
  top: number,
  whole = false,
): Record<string, ArrayLike<unknown>> {
  const out = {
    x: [] as number[],
    y: [] as number[],
    text: [] as string[],
    colour: [] as string[],
    align: [] as string[],
  };
  const told: number[] = [];
  const [first, last] = span(
    shown.map(({ x }) => x),
    { margin: 0, exact: 0.5 },
  );
  const near = WORD * (last - first);
  for (const { step, value, x, colour } of shown) {
    const found = breakOf(step, value);
    const here = found ? x[found.place] : undefined;
    if (!found || here === undefined) continue;
    const left = here - (x[0] as number) <= (x[x.length - 1] as number) - here;
    out.x.push(here);
    out.y.push(top);
    out.text.push(
      told.some((x) => Math.abs(x - here) < near) ? "" : ` ${whole ? found.words : found.word} `,
    );
    out.colour.push(colour);
    out.align.push(left ? "left" : "right");
    told.push(here);
  }
  return out;
}

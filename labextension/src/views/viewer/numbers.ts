// Numbers of curves: decoding, TensorBoard's debiased average, interpolation, mean and band, what fits in a range.
import type { Bytes } from "../../protocol/bytes";

export type Numbers = ArrayLike<number>;

export interface Line {
  x: Float64Array;
  y: Float64Array;
}

export interface SpanOptions {
  outliers?: boolean;
  log?: boolean;
  margin?: number;
  /** The numbers are steps or times, which differ by no rounding errors. Half the range around a single one. */
  exact?: number | undefined;
}

export function floats(view: Bytes | undefined): Float64Array<ArrayBuffer> {
  // A copy, since the buffer of a message may begin at an address that is not a multiple of eight.
  if (!view?.byteLength) return new Float64Array(0);
  if (view instanceof Float64Array) return view as Float64Array<ArrayBuffer>;
  return new Float64Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

/** The values of a curve in the form in which the kernel sends them: float32 or float64, which their number tells. */
export function compactFloats(view: Bytes, length: number): Float64Array<ArrayBuffer> {
  if (view instanceof Float64Array || view.byteLength === 8 * length) return floats(view);
  const { buffer, byteOffset, byteLength } = view;
  return Float64Array.from(
    new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer),
  );
}

// The exponential average divided by the sum of its weights, which removes the bias of the first values.
// Values that are not finite are kept and do not change the average; a constant curve is returned unchanged.
export function smoothed(values: Float64Array, weight: number): Float64Array {
  const out = new Float64Array(values);
  if (constant(values)) return out;
  let mean = 0;
  let total = 0;
  for (let k = 0; k < out.length; k++) {
    const value = out[k] as number;
    if (!Number.isFinite(value)) continue;
    mean = weight * mean + (1 - weight) * value;
    total = weight * total + (1 - weight);
    out[k] = mean / total;
  }
  return out;
}

function constant(values: Float64Array): boolean {
  for (const value of values) if (value !== values[0]) return false;
  return true;
}

// The index of the last x that is not above the wanted one, or -1; xs must be increasing.
export function before(xs: Numbers, x: number): number {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] as number) <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export function nearest(xs: Numbers, x: number): number {
  const k = before(xs, x);
  if (k < 0) return xs.length ? 0 : -1;
  const next = xs[k + 1];
  return next !== undefined && next - x < x - (xs[k] as number) ? k + 1 : k;
}

// The value of a curve between its points; NaN outside of it.
export function at(xs: Numbers, ys: Numbers, x: number): number {
  const k = before(xs, x);
  const here = xs[k];
  const y = ys[k];
  if (here === undefined || y === undefined) return Number.NaN;
  if (here === x) return y;
  const next = xs[k + 1];
  const then = ys[k + 1];
  if (next === undefined || then === undefined) return Number.NaN;
  return y + ((x - here) / (next - here)) * (then - y);
}

export interface Band {
  x: number[];
  mean: number[];
  low: number[];
  high: number[];
}

// Mean and standard deviation of curves on a common grid, where at least one of them has a value.
export function meanAndBand(curves: readonly Line[], places = 200): Band {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const { x } of curves) {
    low = Math.min(low, x[0] ?? low);
    high = Math.max(high, x[x.length - 1] ?? high);
  }
  const out: Band = { x: [], mean: [], low: [], high: [] };
  if (!(low <= high)) return out;
  const count = low === high ? 1 : places;
  for (let k = 0; k < count; k++) {
    const x = count === 1 ? low : low + ((high - low) * k) / (count - 1);
    const values = curves.map((c) => at(c.x, c.y, x)).filter(Number.isFinite);
    if (!values.length) continue;
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    const spread = Math.sqrt(values.reduce((a, v) => a + (v - mean) ** 2, 0) / values.length);
    out.x.push(x);
    out.mean.push(mean);
    out.low.push(mean - spread);
    out.high.push(mean + spread);
  }
  return out;
}

// [low, high] of the finite values of some arrays with a margin; without outliers: the 5th to the 95th percentile.
export function span(arrays: readonly Numbers[], options: SpanOptions = {}): [number, number] {
  const { outliers = true, log = false, margin = 0.05, exact } = options;
  const seen: number[] = [];
  for (const values of arrays) {
    for (let k = 0; k < values.length; k++) {
      const v = values[k] as number;
      if (Number.isFinite(v) && (!log || v > 0)) seen.push(log ? Math.log10(v) : v);
    }
  }
  if (!seen.length) return log ? [0.1, 1] : [0, 1];
  const [low, high] = outliers ? extremes(seen) : middle(seen);
  let pad = margin * (high - low);
  const least = exact === undefined ? 1e-9 : 1e-15;
  if (high - low <= least * Math.max(Math.abs(low), Math.abs(high), 1e-100)) {
    const size = Math.abs(low);
    if (exact !== undefined && !log) pad = exact;
    else pad = log || !size ? 0.5 : Math.min(size / 2, Math.max(0.5, size / 10));
  }
  return log ? [10 ** (low - pad), 10 ** (high + pad)] : [low - pad, high + pad];
}

/** The first value of a curve that is not finite. */
export interface Break {
  place: number;
  /** "NaN" or "inf" or "-inf". */
  word: string;
  /** As "NaN since step 212", or "inf at step 7" if finite values follow. */
  words: string;
}

export function breakOf(steps: Numbers, values: Numbers): Break | null {
  let place = 0;
  while (place < values.length && Number.isFinite(values[place])) place++;
  if (place === values.length) return null;
  let lasts = true;
  for (let k = place; k < values.length; k++) lasts &&= !Number.isFinite(values[k]);
  const word = String(values[place]).replace("Infinity", "inf");
  const since = lasts ? "since" : "at";
  return { place, word, words: `${word} ${since} step ${count(steps[place] as number)}` };
}

function extremes(values: number[]): [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const v of values) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  return [low, high];
}

function middle(values: number[]): [number, number] {
  values.sort((a, b) => a - b);
  const last = values.length - 1;
  return [values[Math.floor(0.05 * last)] as number, values[Math.ceil(0.95 * last)] as number];
}

export function short(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return String(value ?? "");
  const size = Math.abs(value);
  if (size && (size < 1e-3 || size >= 1e6)) return value.toExponential(3);
  return String(Number(value.toPrecision(5)));
}

export function count(value: number): string {
  return value.toLocaleString("en-US");
}

export function duration(seconds: number): string {
  const whole = Math.floor(seconds);
  const two = (n: number) => String(n).padStart(2, "0");
  if (whole < 60) return `${seconds.toFixed(1)} s`;
  const minutesAndSeconds = `${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  return whole < 3600 ? minutesAndSeconds : `${Math.floor(whole / 3600)}:${minutesAndSeconds}`;
}

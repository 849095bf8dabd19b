// Numbers of curves: decoding, TensorBoard's debiased average, interpolation, mean and band, what fits in a range.

export function floats(view) {
  // A copy: a buffer of a message need not begin at a multiple of eight bytes.
  if (!view || !view.byteLength) return new Float64Array(0);
  return new Float64Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

// The exponential average divided by the sum of its weights, so that the first values count as they should.
// Values that are not finite stay as they are and leave the average alone; so does a constant curve.
export function smoothed(values, weight) {
  const out = new Float64Array(values.length);
  const constant = values.every((v) => v === values[0]);
  let mean = 0;
  let total = 0;
  for (let k = 0; k < values.length; k++) {
    const value = values[k];
    if (constant || !Number.isFinite(value)) {
      out[k] = value;
      continue;
    }
    mean = weight * mean + (1 - weight) * value;
    total = weight * total + (1 - weight);
    out[k] = mean / total;
  }
  return out;
}

// The place of the last x that is not above the wanted one, -1 if there is none; xs rises.
export function before(xs, x) {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export function nearest(xs, x) {
  const k = before(xs, x);
  if (k < 0) return xs.length ? 0 : -1;
  return k + 1 < xs.length && xs[k + 1] - x < x - xs[k] ? k + 1 : k;
}

// The value of a curve between its points; NaN outside of it.
export function at(xs, ys, x) {
  const k = before(xs, x);
  if (k < 0 || (k === xs.length - 1 && xs[k] !== x)) return NaN;
  if (xs[k] === x) return ys[k];
  const part = (x - xs[k]) / (xs[k + 1] - xs[k]);
  return ys[k] + part * (ys[k + 1] - ys[k]);
}

// Mean and standard deviation of curves on a common grid, where at least one of them has a value.
export function meanAndBand(curves, places = 200) {
  let low = Infinity;
  let high = -Infinity;
  for (const { x } of curves) {
    if (!x.length) continue;
    low = Math.min(low, x[0]);
    high = Math.max(high, x[x.length - 1]);
  }
  const out = { x: [], mean: [], low: [], high: [] };
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
export function span(arrays, { outliers = true, log = false, margin = 0.05 } = {}) {
  const seen = [];
  for (const values of arrays) {
    for (const v of values) if (Number.isFinite(v) && (!log || v > 0)) seen.push(log ? Math.log10(v) : v);
  }
  if (!seen.length) return log ? [0.1, 1] : [0, 1];
  let low = Infinity;
  let high = -Infinity;
  if (outliers) {
    for (const v of seen) {
      if (v < low) low = v;
      if (v > high) high = v;
    }
  } else {
    seen.sort((a, b) => a - b);
    low = seen[Math.floor(0.05 * (seen.length - 1))];
    high = seen[Math.ceil(0.95 * (seen.length - 1))];
  }
  let pad = margin * (high - low);
  if (high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high), 1e-100)) {
    pad = log ? 0.5 : Math.min(Math.max(Math.abs(low) / 2, 1e-100), Math.max(0.5, Math.abs(low) / 10));
  }
  return log ? [10 ** (low - pad), 10 ** (high + pad)] : [low - pad, high + pad];
}

export function short(value) {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size && (size < 1e-3 || size >= 1e6)) return value.toExponential(3);
  return String(Number(value.toPrecision(5)));
}

export function count(value) {
  return value.toLocaleString("en-US");
}

export function duration(seconds) {
  const whole = Math.floor(seconds);
  const two = (n) => String(n).padStart(2, "0");
  if (whole < 60) return `${seconds.toFixed(1)} s`;
  const tail = `${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  return whole < 3600 ? tail : `${Math.floor(whole / 3600)}:${tail}`;
}

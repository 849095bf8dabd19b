// From what the kernel sent of a tag, and the reader's choices, to what is drawn.
import { at, floats, meanAndBand, smoothed, span } from "./numbers.js";

export function look(templates, run) {
  const { colours, dashes } = templates;
  const dash = Math.floor(run / colours.length) % dashes.length;
  return { colour: colours[run % colours.length], dash: dashes[dash] };
}

export function decoded(content) {
  return content.curves.map((c) => ({
    run: c.run,
    total: c.total,
    step: floats(c.step),
    wall: floats(c.wall),
    value: floats(c.value),
  }));
}

function axis(curve, kind) {
  if (kind === "wall") return curve.wall.map((t) => t * 1000);
  if (kind === "relative") return curve.wall.map((t) => t - curve.wall[0]);
  return curve.step;
}

// The shown curves with x, raw and smoothed values, as differences to the baseline if there is one.
export function lines(curves, options, templates) {
  const shown = curves
    .filter((c) => options.runs.has(c.run))
    .map((c) => ({
      ...c,
      ...look(templates, c.run),
      x: axis(c, options.axis),
      raw: c.value,
      y: options.smoothing ? smoothed(c.value, options.smoothing) : c.value,
    }));
  const base = options.baseline === null ? null : curves.find((c) => c.run === options.baseline);
  if (!base) return shown;
  const x = axis(base, options.axis);
  const y = options.smoothing ? smoothed(base.value, options.smoothing) : base.value;
  return shown.map((c) => ({
    ...c,
    raw: c.raw.map((v, k) => v - at(x, base.value, c.x[k])),
    y: c.y.map((v, k) => v - at(x, y, c.x[k])),
  }));
}

// Columns for the sources of a "lines" template, and its ranges.
export function drawing(shown, options, templates) {
  const band = { xs: [], ys: [], colour: [] };
  const raw = { xs: [], ys: [], colour: [], dash: [] };
  const smooth = { xs: [], ys: [], colour: [], dash: [] };
  const dots = { x: [], y: [], colour: [] };
  const add = (to, x, y, how) => {
    to.xs.push(x);
    to.ys.push(y);
    to.colour.push(how.colour);
    to.dash?.push(how.dash);
  };
  if (options.band && shown.length > 1) {
    const mean = meanAndBand(shown);
    const how = { colour: templates.colours[0], dash: "solid" };
    for (const line of shown) add(raw, line.x, line.y, line);
    add(band, [...mean.x, ...mean.x.toReversed()], [...mean.low, ...mean.high.toReversed()], how);
    add(smooth, mean.x, mean.mean, how);
  } else {
    for (const line of shown) {
      if (options.smoothing) add(raw, line.x, line.raw, line);
      add(smooth, line.x, line.y, line);
      if (line.x.length <= 12) {
        for (let k = 0; k < line.x.length; k++) {
          dots.x.push(line.x[k]);
          dots.y.push(line.y[k]);
          dots.colour.push(line.colour);
        }
      }
    }
  }
  const log = options.log && options.baseline === null;
  const seen = options.outliers ? [...raw.ys, ...smooth.ys, ...band.ys] : [...smooth.ys, ...raw.ys];
  return {
    sources: { band, raw, smooth, dots },
    x: span(smooth.xs, { margin: 0.01 }),
    y: span(seen, { outliers: options.outliers, log }),
  };
}

// Smoothing is that of Python's loss plots: tests/notebook/charts/test_series.py reads the same file.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { AppendPoints, ScalarContent } from "../src/protocol/viewer";
import { withAppended } from "../src/views/viewer/appended_points";
import { decoded, smoothedAt } from "../src/views/viewer/curves";
import { smoothed } from "../src/views/viewer/numbers";

type Row = { weight: number; values: (number | string)[]; smoothed: (number | string)[] };
const FILE = join(process.cwd(), "../tests/notebook/charts/smoothing.json");
const rows = JSON.parse(readFileSync(FILE, "utf8")) as Row[];

for (const [k, { weight, values, smoothed: wanted }] of rows.entries()) {
  test(`smoothing, row ${k}`, () => {
    const found = smoothed(Float64Array.from(values, Number), weight);
    assert.equal(found.length, wanted.length);
    for (const [i, value] of Array.from(wanted, Number).entries()) {
      const there = found[i] as number;
      if (!Number.isFinite(value)) assert.ok(Object.is(there, value), `${i}: ${there}`);
      else assert.ok(Math.abs(there - value) <= 1e-12 * Math.abs(value), `${i}: ${there}`);
    }
  });
}

/** The curve of `values` of which the points at `kept` are drawn, as the kernel sends it. */
function sent(values: Float64Array, kept: number[], single: boolean): ScalarContent {
  const part = Float64Array.from(kept, (k) => values[k] as number);
  const every = single ? new Float32Array(values) : values;
  const curve = {
    run: 0,
    total: values.length,
    step: Float64Array.from(kept),
    wall: Float64Array.from(kept),
    value: part,
    kept: Float64Array.from(kept),
    every: new DataView(every.buffer as ArrayBuffer, every.byteOffset, every.byteLength),
  };
  return { kind: "scalar", tag: "loss", curves: [curve] };
}

const noise = Float64Array.from({ length: 500 }, (_, k) =>
  Math.fround(Math.exp(-k / 60) + 0.3 * Math.abs(Math.sin(k * k))),
);

for (const single of [false, true]) {
  test(`smoothed values are those of all points, however few are drawn (float32: ${single})`, () => {
    const wanted = smoothed(noise, 0.9);
    for (const stride of [2, 7, 100]) {
      const kept = [...noise.keys()].filter((k) => k % stride === 0 || k === 499);
      const [curve] = decoded(sent(noise, kept, single));
      assert.ok(curve);
      const found = smoothedAt(curve, 0.9);
      assert.deepEqual(
        [...found],
        kept.map((k) => wanted[k]),
      );
      assert.equal(smoothedAt(curve, 0), curve.value);
    }
  });
}

test("smoothed values are those of all points while the curve grows", () => {
  const wanted = smoothed(noise, 0.8);
  const first = [0, 50, 99];
  let held = sent(noise.slice(0, 100), first, true);
  const kept = [...first];
  for (let total = 100; total < 500; total += 40) {
    const places = [0, 13, 39];
    const steps = places.map((place) => place + total);
    kept.push(...steps);
    const message: AppendPoints = {
      op: "append",
      tags: ["loss"],
      curves: [[0, 0, total, total + 40, places.length]],
      pause: 0,
    };
    const values = steps.map((k) => noise[k] as number);
    const made = withAppended(
      message,
      Float64Array.from([...steps, ...steps, ...values]),
      Float64Array.from([...noise.slice(total, total + 40), ...places]),
      () => held,
    );
    held = made?.[0] as ScalarContent;
  }
  const [curve] = decoded(held);
  assert.ok(curve);
  assert.deepEqual(
    [...smoothedAt(curve, 0.8)],
    kept.map((k) => wanted[k]),
  );
});

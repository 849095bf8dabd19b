// Smoothing is that of Python's loss plots: tests/notebook/charts/test_series.py reads the same file.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
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

import assert from "node:assert/strict";
import { test } from "node:test";
import { restored, written } from "../src/views/viewer/kept_options";
import { firstOptions, type Options } from "../src/views/viewer/options";

test("options come back from their text", () => {
  const chosen: Options = {
    runs: new Set([0, 3]),
    known: 5,
    smoothing: 0.9,
    axis: "relative",
    log: true,
    outliers: false,
    band: true,
    baseline: 3,
    form: "ridges",
    tab: "histogram",
    page: 2,
    tags: "^loss",
    names: "run.*7",
  };
  assert.deepEqual(restored(written(chosen)), chosen);
  assert.deepEqual(restored(written(firstOptions())), firstOptions());
});

test("a text of another kind gives the first options", () => {
  for (const text of [undefined, "", "{", "null", "[]", "3", '"runs"', '{"runs": {"0": 1}}'])
    assert.deepEqual(restored(text), firstOptions());
});

test("what does not fit is as at first", () => {
  const strange = {
    runs: [1, -1, "2", 1.5, null],
    known: -1,
    smoothing: 1,
    axis: "up",
    log: "yes",
    baseline: "3",
    form: 3,
    tab: "__proto__",
    page: -0.5,
    tags: ["a"],
    names: null,
  };
  const expected = { ...firstOptions(), runs: new Set([1]) };
  assert.deepEqual(restored(JSON.stringify(strange)), expected);
});

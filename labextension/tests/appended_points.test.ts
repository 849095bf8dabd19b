// New points of growing curves are joined to those held, and what does not fit is noticed.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AppendPoints, ScalarContent } from "../src/protocol/viewer";
import { withAppended } from "../src/views/viewer/appended_points";
import { floats } from "../src/views/viewer/numbers";

function content(tag: string, totals: Record<number, number>): ScalarContent {
  const curves = Object.entries(totals).map(([run, total]) => {
    const column = Float64Array.from({ length: total }, (_, k) => k);
    const none = new Float64Array(0);
    return {
      run: Number(run),
      total,
      step: column,
      wall: column,
      value: column,
      kept: none,
      every: none,
    };
  });
  return { kind: "scalar", tag, curves };
}

test("points are added to the curves they belong to", () => {
  const held = new Map([
    ["a", content("a", { 0: 2, 3: 1 })],
    ["b", content("b", { 3: 4 })],
  ]);
  const message: AppendPoints = {
    op: "append",
    tags: ["b", "a"],
    curves: [
      [1, 3, 1, 3, 2],
      [0, 3, 4, 5, 1],
    ],
    pause: 0,
  };
  const numbers = Float64Array.from([1, 2, 11, 12, 21, 22, 4, 14, 24]);
  // Of the two new values of the first curve both are drawn; of the second curve one.
  const values = Float64Array.from([21, 22, 0, 1, 24, 0]);
  const made = withAppended(message, numbers, values, (tag) => held.get(tag));
  assert.deepEqual(
    made?.map((c) => c.tag),
    ["a", "b"],
  );
  const [a, b] = made ?? [];
  assert.deepEqual([...floats(a?.curves[1]?.value)], [0, 21, 22]);
  assert.deepEqual([...floats(a?.curves[1]?.step)], [0, 1, 2]);
  assert.equal(a?.curves[1]?.total, 3);
  assert.equal(a?.curves[0], held.get("a")?.curves[0]);
  assert.deepEqual([...floats(b?.curves[0]?.wall)], [0, 1, 2, 3, 14]);
  assert.deepEqual([...floats(b?.curves[0]?.every)], [0, 1, 2, 3, 24]);
});

test("points of a curve that is not held, or that lacks some, are refused", () => {
  const message = (before: number, run: number): AppendPoints => {
    return { op: "append", tags: ["a"], curves: [[0, run, before, before + 1, 1]], pause: 0 };
  };
  const one = content("a", { 0: 2 });
  const numbers = new Float64Array(3);
  assert.equal(withAppended(message(2, 0), numbers, numbers.subarray(1), () => one)?.length, 1);
  assert.equal(
    withAppended(message(1, 0), numbers, numbers, () => one),
    null,
  );
  assert.equal(
    withAppended(message(2, 1), numbers, numbers, () => one),
    null,
  );
  assert.equal(
    withAppended(message(2, 0), numbers, numbers.subarray(1), () => undefined),
    null,
  );
});

test("a growing curve stays in its memory, and what was given of it before stays as it is", () => {
  let held = content("a", { 0: 0 });
  const places = new Set<ArrayBufferLike>();
  const given: Float64Array[] = [];
  for (let total = 0; total < 1_500; total++) {
    const message: AppendPoints = {
      op: "append",
      tags: ["a"],
      curves: [[0, 0, total, total + 1, 1]],
      pause: 0,
    };
    held = withAppended(
      message,
      Float64Array.of(total, total, 2 * total),
      Float64Array.of(2 * total, 0),
      () => held,
    )?.[0] as ScalarContent;
    const value = floats(held.curves[0]?.value);
    places.add(value.buffer);
    given.push(value);
  }
  assert.ok(places.size <= 12, `${places.size} arrays were made`);
  for (const [k, value] of given.entries())
    assert.deepEqual([value.length, value[k]], [k + 1, 2 * k]);
});

// Ranges of axes, where curves break off, and names of runs that stay apart when they are shortened.
import assert from "node:assert/strict";
import { test } from "node:test";
import { breakOf, span } from "../src/views/viewer/numbers";
import { shortNames } from "../src/views/viewer/short_names";

test("an axis of times spans a second and a half of today", () => {
  const now = 1.79e12;
  for (const spread of [1, 100, 1_800, 60_000]) {
    const [low, high] = span([[now, now + spread]], { margin: 0.01, exact: 500 });
    assert.ok(
      low < now && high > now + spread && high - low < 1.1 * spread,
      `${spread}: ${low} ${high}`,
    );
  }
  assert.deepEqual(span([[now]], { exact: 500 }), [now - 500, now + 500]);
});

test("an axis of steps spans two steps among billions", () => {
  const [low, high] = span([[4e9, 4e9 + 1]], { margin: 0.01, exact: 0.5 });
  assert.ok(low > 4e9 - 1 && high < 4e9 + 2);
});

test("values that differ by rounding are a flat curve", () => {
  const [low, high] = span([[1, 1 + 1e-12]]);
  assert.ok(low <= 0.5 && high >= 1.5);
});

test("where a curve breaks off", () => {
  const steps = [10, 1_200, 30];
  assert.equal(breakOf(steps, [1, 2, 3]), null);
  assert.equal(breakOf(steps, [])?.words, undefined);
  assert.equal(breakOf(steps, [Number.NaN, Number.NaN, Number.NaN])?.words, "NaN since step 10");
  assert.equal(breakOf(steps, [1, Number.NaN, 3])?.words, "NaN at step 1,200");
  assert.equal(
    breakOf(steps, [1, Number.POSITIVE_INFINITY, Number.NaN])?.words,
    "inf since step 1,200",
  );
  assert.deepEqual(breakOf(steps, [1, 2, Number.NEGATIVE_INFINITY]), {
    place: 2,
    word: "-inf",
    words: "-inf since step 30",
  });
});

const GRID = ["0.001", "0.01", "0.1"].flatMap((rate) =>
  [0, 1].flatMap((norm) => [0, 1, 2].map((seed) => `lr${rate}_bn${norm}_seed${seed}`)),
);

test("names of runs lose what all have in common, in whole parts", () => {
  assert.deepEqual(shortNames(["exp/2026-01/lr0.1/train", "exp/2026-01/lr0.15/train"], 20), [
    "lr0.1",
    "lr0.15",
  ]);
  assert.deepEqual(shortNames(["train", "eval"], 20), ["train", "eval"]);
  assert.deepEqual(shortNames(["only/one"], 20), ["only/one"]);
  assert.deepEqual(shortNames(["a", "a/b"], 20), ["a", "a/b"]);
  assert.deepEqual(shortNames([], 20), []);
});

for (const names of [
  GRID,
  GRID.map((name) => `${"prefix".repeat(20)}${name}`),
  GRID.map((name) => `${name}${"suffix".repeat(20)}`),
  GRID.map((name) => `start-${"middle".repeat(20)}${name}${"middle".repeat(20)}-end`),
  ["x".repeat(50), "x".repeat(51), `${"x".repeat(25)}y${"x".repeat(25)}`, "y"],
  ["run", "run (2)", "run (3)"],
]) {
  for (const most of [12, 20, 40]) {
    test(`${names.length} names like ${names[0]?.slice(0, 30)} stay apart in ${most} letters`, () => {
      const short = shortNames(names, most);
      assert.equal(new Set(short).size, names.length);
      if (names === GRID) assert.ok(short.every((name) => name.length <= Math.max(most, 17)));
    });
  }
}

test("equal names stay equal", () => {
  assert.deepEqual(shortNames(["long".repeat(20), "long".repeat(20)], 12).length, 2);
});

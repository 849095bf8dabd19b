// Rows of events: searches, sums and the longest of a stretch, against what one finds by looking at every event.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Row } from "../src/views/timeline/row";

/** Events one after the other, with gaps; lengths and gaps repeat after a while. */
function sample(n: number): { row: Row; start: Float64Array; end: Float64Array } {
  const start = new Float64Array(n);
  const end = new Float64Array(n);
  let t = 0;
  for (let k = 0; k < n; k++) {
    t += (k * 7919) % 13;
    start[k] = t;
    t += ((k * 104729) % 101) / 10;
    end[k] = t;
  }
  const index = Int32Array.from({ length: n }, (_, k) => k);
  return { row: new Row({ start, end }, index), start, end };
}

for (const n of [0, 1, 2, 3, 64, 517]) {
  test(`${n} events`, () => {
    const { row, start, end } = sample(n);
    const every = Array.from(start, (_, k) => k);
    const last = end[n - 1] ?? 0;
    for (let t = -3; t < last + 3; t += last / 40 + 0.7) {
      assert.equal(row.first(t), every.filter((k) => (start[k] ?? 0) < t).length);
      const found = row.near(t, 0);
      if (found >= 0) assert.ok((start[found] ?? 0) <= t && t <= (end[found] ?? 0));
      else assert.ok(!every.some((k) => (start[k] ?? 0) < t && t < (end[k] ?? 0)));
    }
    for (let from = 0; from <= n; from += 1 + n / 9) {
      for (let to = Math.floor(from); to <= n; to += 1 + Math.floor(n / 7)) {
        const f = Math.floor(from);
        const lengths = every.slice(f, to).map((k) => row.length(k));
        const sum = lengths.reduce((a, b) => a + b, 0);
        assert.ok(Math.abs(row.busy(f, to) - sum) < 1e-9);
        const longest = row.longest(f, to);
        assert.equal(
          longest < 0 ? -1 : row.length(longest),
          lengths.length ? Math.max(...lengths) : -1,
        );
        const wanted = every.slice(f, to).filter((k) => row.length(k) >= 5);
        assert.deepEqual(
          [...row.atLeast(5, f, to)].sort((a, b) => a - b),
          wanted,
        );
      }
    }
  });
}

test("bars and crowds together show every event once, and no crowd hides a wide one", () => {
  const { row } = sample(517);
  for (const pixel of [0.05, 1, 8, 60, 1e6]) {
    for (let k = 0; k < row.n; ) {
      if (row.length(k) >= pixel) {
        k++;
        continue;
      }
      const next = row.crowd(k, pixel);
      assert.ok(next > k);
      for (let i = k; i < next; i++) {
        assert.ok(row.length(i) < pixel && row.start(i) - row.start(k) < pixel);
      }
      k = next;
    }
  }
});

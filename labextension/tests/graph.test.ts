// The graph view without a page: layouts keep their order, traces are what brute force finds, columns are read back.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Job, type Layout, layoutAll, type Part } from "../src/views/graph/layout";
import { Tracer } from "../src/views/graph/marks";
import { brief, bytesText, GraphModel, shapeOf, timeText } from "../src/views/graph/model";
import { packed } from "./graph_samples";

const part = (width: number, height: number, inner = -1): Part => ({
  width,
  height,
  inlet: -1,
  outlet: -1,
  inner,
  inset: 0,
});

/** The same numbers in every run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
}

function job(parts: Part[], edges: [number, number][], inlet = -1, outlet = -1): Job {
  return {
    parts,
    edges: edges.map(([a, b]) => [a, b, 30, 13, 1]),
    inlet,
    outlet,
    frame: [14, 25, 14, 14, 0],
    beside: [],
  };
}

function boxes(layout: Layout): [number, number, number, number][] {
  return layout.corners.map(([x, y], i) => {
    const [w, h] = layout.sizes[i] ?? [0, 0];
    return [x, y, x + w, y + h];
  });
}

test("boxes stand apart, inside their frame, and edges begin and end at them", () => {
  const next = random(7);
  for (let round = 0; round < 8; round++) {
    const n = 2 + Math.floor(next() * 25);
    const parts = Array.from({ length: n }, () => part(30 + next() * 150, 24 + next() * 100));
    const edges = new Map<string, [number, number]>();
    for (let k = 0; k < 2 * n; k++) {
      const [a, b] = [Math.floor(next() * n), Math.floor(next() * n)];
      if (a !== b) edges.set(`${a} ${b}`, [a, b]); // some of them close cycles
    }
    const [layout] = layoutAll([job(parts, [...edges.values()])]);
    assert.ok(layout);
    const found = boxes(layout);
    for (const [i, [x0, y0, x1, y1]] of found.entries()) {
      assert.ok(
        x0 >= 13.9 && y0 >= 24.9 && x1 <= layout.width - 13.9 && y1 <= layout.height - 13.9,
      );
      for (const [u0, v0, u1, v1] of found.slice(i + 1)) {
        assert.ok(x1 <= u0 + 0.1 || u1 <= x0 + 0.1 || y1 <= v0 + 0.1 || v1 <= y0 + 0.1);
      }
    }
    [...edges.values()].forEach(([a, b], k) => {
      const points = layout.routes[k]?.points ?? [];
      for (const [box, point] of [
        [found[a], points[0]],
        [found[b], points[points.length - 1]],
      ] as const) {
        assert.ok(box && point && point[0] >= box[0] - 0.1 && point[0] <= box[2] + 0.1);
        assert.ok(Math.min(Math.abs(point[1] - box[1]), Math.abs(point[1] - box[3])) < 0.1);
      }
    });
  }
});

test("an opened box is as large as what is inside, and edges meet its ports", () => {
  const inner = job(
    [part(80, 30), part(60, 30), part(1, 1)],
    [
      [0, 1],
      [2, 0],
    ],
    2,
  );
  const outer = job([part(50, 30), part(0, 0, 0)], [[0, 1]]);
  const [small, large] = layoutAll([inner, outer]);
  assert.ok(small && large);
  assert.deepEqual(large.sizes[1], [small.width, small.height]);
  const end = large.routes[0]?.points.at(-1);
  assert.ok(end && Math.abs(end[0] - (large.corners[1]?.[0] ?? 0) - small.inlet) < 0.01);
});

test("a message is read back, and names are what they are", async () => {
  const model = await GraphModel.read(new Uint8Array(packed([2, 3], [5, 6])));
  assert.deepEqual([...model.end], [8, 4, 3, 4, 7, 6, 7, 8]);
  assert.deepEqual(model.parts(0), [1, 4, 7]);
  assert.equal(model.path(6), "b/<b>");
  assert.equal(model.find("a/y"), 3);
  assert.equal(model.find("nowhere"), -1);
  assert.deepEqual(model.around(6), [4]);
  assert.equal(shapeOf(model.spec(0)), "?×8");
  assert.equal(model.bundle(1, 4), 0);
  await assert.rejects(GraphModel.read(new Uint8Array([1, 2, 3])));
});

test("traces follow data and control edges, and mark the borders that they cross", async () => {
  const model = await GraphModel.read(new Uint8Array(packed([2, 3, 5], [3, 5, 6])));
  const tracer = new Tracer(model);
  const back = tracer.all(6, "inputs");
  assert.deepEqual(
    [1, 2, 3, 4, 5, 7].map((b) => back.box(b)),
    [true, true, true, true, true, true],
  );
  assert.equal(back.traced, true);
  const on = tracer.all(3, "outputs");
  assert.deepEqual(
    [2, 5, 6, 7].map((b) => on.box(b)),
    [false, true, true, false],
  );
  const edge = {
    scope: 0,
    points: [],
    bounds: [0, 0, 0, 0] as [number, number, number, number],
    label: "",
    labelAt: null,
    labelWidth: 0,
    tensors: 1,
    arrow: true,
  };
  assert.equal(on.edge({ ...edge, bundle: 0, start: 1, stop: 4 }), true);
  assert.equal(on.edge({ ...edge, bundle: -1, scope: 4, start: -1, stop: 5 }), true);
  assert.equal(on.edge({ ...edge, bundle: -1, scope: 4, start: -1, stop: 6 }), false);
  assert.deepEqual(tracer.neighbours(4, "inputs"), [
    { leaf: 3, control: false },
    { leaf: 7, control: true },
  ]);
  assert.equal(tracer.around(2).traced, false);
});

test("amounts are short", () => {
  assert.deepEqual([999, 1234, 3.21e6, 5e9].map(brief), ["999", "1.23k", "3.21M", "5G"]);
  assert.deepEqual([5, 1500, 2e6].map(timeText), ["5 µs", "1.5 ms", "2 s"]);
  assert.deepEqual([5, 2048, 5 << 20].map(bytesText), ["5 bytes", "2 KiB", "5 MiB"]);
});

// The builder without a page: sizes, curves, free places, guides, alignment, layouts and wires.

import assert from "node:assert/strict";
import { test } from "node:test";
import { portStyleOf, shapeText } from "../../src/views/builder/dtypes";
import { withParameters } from "../../src/views/builder/palette";
import { layoutOf, placesBeside } from "../../src/views/builder/places/arrange";
import {
  curveOf,
  distanceTo,
  faceOf,
  middleOf,
  nearest,
  overlap,
  type Point,
  pointOn,
  type Rect,
} from "../../src/views/builder/places/geometry";
import {
  aligned,
  distributed,
  freePlace,
  snap,
  straightened,
} from "../../src/views/builder/places/placing";
import { spacingFor } from "../../src/views/builder/places/spacing";
import type { BuilderModel } from "../../src/views/builder/state/model";
import type { BuilderEvent, BuilderState } from "../../src/views/builder/state/state";
import { update } from "../../src/views/builder/state/update";
import { curvesOf, insertedAt, routeOf } from "../../src/views/builder/wires/route";
import { layoutAll } from "../../src/views/graph/layout";
import { drawing, modelOf, node, stateAfter } from "./samples";

/** The same numbers in every run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
}

/** The state of nodes that each read some earlier ones. */
function randomState(count: number, seed: number): BuilderState {
  const next = random(seed);
  const nodes = Array.from({ length: count }, (_, k) => {
    const reads = new Set<string>();
    while (k && reads.size < Math.min(k, Math.floor(next() * 3)))
      reads.add(`n${Math.floor(next() * k)}`);
    return node(`n${k}`, [...reads], k + 1);
  });
  const order = nodes.map(({ id }) => id);
  return stateAfter({ type: "drawing", drawing: drawing(nodes, order) });
}

const sizes = (model: BuilderModel) => (id: string) =>
  faceOf(model.nodes.get(id) ?? node(id), null);

test("twelve dtypes have twelve forms, without their colours", () => {
  const names =
    "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 bool string complex64 complex128";
  const forms = names
    .split(" ")
    .map((name) => `${portStyleOf(name).form} ${portStyleOf(name).filling}`);
  assert.equal(new Set(forms).size, forms.length);
  assert.deepEqual(portStyleOf("float32_ref"), portStyleOf("float32"));
});

test("shapes as text", () => {
  assert.equal(shapeText(null), "any shape");
  assert.equal(shapeText([]), "scalar");
  assert.equal(shapeText([null, 784]), "?×784");
});

test("a curve's points are at distance zero from it, and others at theirs", () => {
  const next = random(3);
  for (let k = 0; k < 100; k++) {
    const curve = curveOf([next() * 400, next() * 400], [next() * 400, next() * 400]);
    assert.ok(distanceTo(curve, pointOn(curve, next())) < 1.5);
  }
  const straight = curveOf([0, 0], [100, 0]);
  assert.ok(Math.abs(distanceTo(straight, [50, 9]) - 9) < 0.01);
});

test("the middle of a wire has as much of it on either side, through its bends", () => {
  const straight = middleOf([curveOf([0, 0], [100, 0])]);
  assert.ok(straight && Math.abs(straight[0] - 50) < 0.1 && straight[1] === 0);
  const bent = middleOf(
    curvesOf(
      [0, 0],
      [10, 300],
      [
        [400, 0],
        [400, 300],
      ],
    ),
  );
  assert.ok(bent && bent[0] > 395 && Math.abs(bent[1] - 150) < 25);
  assert.deepEqual(middleOf(curvesOf([0, 0], [900, 0], [])), [13, 0]); // a stub of 26 at either end
  assert.equal(middleOf([]), undefined);
});

test("the nearest port within the radius, or none", () => {
  const ports = [
    ["a", [0, 0]],
    ["b", [10, 0]],
  ] as const;
  assert.equal(nearest(ports, [7, 1], 20), "b");
  assert.equal(nearest(ports, [5, 50], 20), null);
});

test("a free place is free, and at the wanted place if that is free", () => {
  const next = random(11);
  const rects: Rect[] = [];
  for (let k = 0; k < 200; k++) {
    const [width, height] = [60 + next() * 200, 40 + next() * 80];
    const wanted = { x: next() * 900, y: next() * 500, width, height };
    const isFree = !rects.some((r) => overlap(wanted, r, 20));
    const [x, y] = freePlace(wanted, rects, 20);
    if (isFree) assert.deepEqual([x, y], [wanted.x, wanted.y]);
    const placed = { x, y, width, height };
    assert.ok(!rects.some((r) => overlap(placed, r, 19.99)));
    rects.push(placed);
  }
});

test("snapping aligns sides and middles within the radius, and not beyond", () => {
  const other = { x: 100, y: 100, width: 80, height: 40 };
  const near = snap({ x: 103, y: 200, width: 60, height: 40 }, [other], 6);
  assert.deepEqual([near.dx, near.dy], [-3, 0]);
  assert.deepEqual(
    near.guides.map(({ vertical, at }) => [vertical, at]),
    [[true, 100]],
  );
  const far = snap({ x: 112, y: 230, width: 30, height: 33 }, [other], 6);
  assert.deepEqual([far.dx, far.dy, far.guides.length], [0, 0, 0]);
});

test("aligned nodes share a side, distributed ones have equal gaps", () => {
  const rects = new Map<string, Rect>([
    ["a", { x: 0, y: 0, width: 50, height: 20 }],
    ["b", { x: 70, y: 33, width: 30, height: 40 }],
    ["c", { x: 300, y: 9, width: 100, height: 60 }],
  ]);
  for (const [id, [x]] of aligned(rects, "right"))
    assert.equal(x + (rects.get(id)?.width ?? 0), 400);
  for (const [id, [, y]] of aligned(rects, "middle"))
    assert.ok(Math.abs(y + (rects.get(id)?.height ?? 0) / 2 - 36.5) <= 0.5);
  assert.deepEqual(
    [...distributed(rects, "x").values()].map(([x]) => x),
    [0, 160, 300],
  );
});

test("layouts have no overlaps, go from left to right, and later nodes move no others", async () => {
  let state = randomState(60, 5);
  let model = modelOf(state);
  const put = (event: BuilderEvent): void => {
    state = update(state, event);
    model = modelOf(state);
  };
  const faceOf = (id: string) => sizes(model)(id);
  put({
    type: "laid out",
    places: await layoutOf(model, model.order, faceOf, async (jobs) => layoutAll(jobs)),
  });
  const rect = (id: string): Rect => {
    const [x, y] = model.position(id) ?? [Number.NaN, Number.NaN];
    return { x, y, width: faceOf(id).width, height: faceOf(id).height };
  };
  const isApart = (): boolean =>
    model.order.every((a, i) => model.order.slice(i + 1).every((b) => !overlap(rect(a), rect(b))));
  assert.ok(isApart());
  for (const { from, to } of model.connections)
    assert.ok(rect(from).x + rect(from).width < rect(to).x);
  const before = state.places.automatic;
  const added = ["z0", "z1", "z2", "z3"];
  const fresh = added.map((id, k) => node(id, [`n${k * 7}`]));
  put({ type: "drawing", drawing: drawing(fresh, [...model.order, ...added]) });
  put({ type: "laid out", places: placesBeside(model, added, faceOf) });
  assert.ok(isApart());
  for (const [id, at] of before) assert.deepEqual(state.places.automatic.get(id), at);
});

test("a value covers no node: those below and beside it move aside, and no others", () => {
  const rect = (x: number, y: number) => ({ x, y, width: 120, height: 60 });
  const grown = (id: string, x: number, y: number, grows: Point = [0, 0]) => ({
    id,
    rect: rect(x, y),
    grows,
  });
  const nodes = [
    grown("value", 0, 0, [50, 100]),
    grown("below", 20, 80),
    grown("lower", 20, 170),
    grown("beside", 140, 0),
    grown("far below", 0, 600),
    grown("elsewhere", 400, 80),
  ];
  const aside = spacingFor(nodes);
  assert.deepEqual([...aside.keys()].sort(), ["below", "beside", "lower"]);
  const after = nodes.map(({ id, rect: r, grows }) => ({
    x: r.x + (aside.get(id)?.[0] ?? 0),
    y: r.y + (aside.get(id)?.[1] ?? 0),
    width: r.width + grows[0],
    height: r.height + grows[1],
  }));
  for (const [k, a] of after.entries())
    for (const b of after.slice(k + 1)) assert.ok(!overlap(a, b, 19));
  assert.equal(spacingFor(nodes.map((one) => ({ ...one, grows: [0, 0] }))).size, 0);
});

test("nodes that touched before a value came keep their distance", () => {
  const at = (id: string, y: number, more: Point) => ({
    id,
    rect: { x: 0, y, width: 100, height: 40 },
    grows: more,
  });
  assert.deepEqual(
    [...spacingFor([at("a", 0, [0, 30]), at("b", 45, [0, 0]), at("c", 20, [0, 0])])],
    [["b", [0, 30]]],
  );
});

test("a large drawing is laid out in columns", { timeout: 60_000 }, async () => {
  const model = modelOf(randomState(5000, 9));
  const places = await layoutOf(model, model.order, sizes(model), () => assert.fail("dagre"));
  assert.equal(places.size, 5000);
});

test("a word of the palette such as units=120 is a parameter", () => {
  assert.deepEqual(withParameters("dense units=120 activation=tf.nn.relu"), [
    "dense",
    { units: "120", activation: "tf.nn.relu" },
  ]);
  assert.deepEqual(withParameters("shape=[None,28] placeholder"), [
    "placeholder",
    { shape: "[None,28]" },
  ]);
  assert.deepEqual(withParameters("a == b"), ["a == b", {}]);
});

test("straight wires: the ports at both ends have one height", () => {
  const at = (y: number): Rect => ({ x: 0, y, width: 100, height: 60 });
  const rects = new Map([
    ["a", at(10)],
    ["b", at(90)],
    ["c", at(300)],
    ["alone", at(500)],
  ]);
  const links = [
    { from: "a", to: "b", out: 42, in: 62 },
    { from: "b", to: "c", out: 42, in: 42 },
  ];
  const corners = straightened(rects, links);
  assert.deepEqual(
    [...corners.values()].map(([, y]) => y),
    [10, -10, -10, 500],
  );
});

test("twelve dtypes differ by their marks, without any colour", () => {
  const names =
    "float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 bool string complex64 complex128".split(
      " ",
    );
  const marks = names.map((name) => `${portStyleOf(name).form} ${portStyleOf(name).filling}`);
  assert.equal(new Set(marks).size, names.length);
});

test("a wire goes through its bends without a corner, or is two stubs", () => {
  const [a, b] = [[0, 0] as const, [300, 100] as const];
  assert.equal(curvesOf(a, b, null).length, 1);
  const bends = routeOf([100, 200, 220, -50]) ?? [];
  const curves = curvesOf(a, b, bends);
  assert.deepEqual(
    curves.map(([start]) => start),
    [a, ...bends],
  );
  assert.deepEqual(
    curves.map((curve) => curve[3]),
    [...bends, b],
  );
  for (const [k, bend] of bends.entries()) {
    const [before, after] = [curves[k]?.[2] ?? [0, 0], curves[k + 1]?.[1] ?? [0, 0]];
    const [ux, uy] = [bend[0] - before[0], bend[1] - before[1]];
    const [vx, vy] = [after[0] - bend[0], after[1] - bend[1]];
    assert.ok(Math.abs(ux * vy - uy * vx) < 1e-6 && ux * vx + uy * vy > 0);
  }
  const stubs = curvesOf(a, b, routeOf([]));
  assert.equal(stubs.length, 2);
  assert.deepEqual([stubs[0]?.[0], stubs[1]?.[3]], [a, b]);
  assert.ok((stubs[0]?.[3][0] ?? 0) < 40 && (stubs[1]?.[0][0] ?? 0) > 260);
});

test("a new bend belongs to the nearest part of a wire", () => {
  const bends = [[100, 0] as const, [200, 0] as const];
  for (const [x, place] of [
    [50, 0],
    [150, 1],
    [250, 2],
  ] as const)
    assert.equal(insertedAt([0, 0], [300, 0], bends, [x, 5]), place);
});

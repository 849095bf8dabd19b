// The layout of the builder: chains are wrapped into the window, wires that go back turn between the nodes, and a view
// opens on nodes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sightOf } from "../../src/views/builder/places/fitting";
import { overlap, type Point, pointOn, type Rect } from "../../src/views/builder/places/geometry";
import { wrapped } from "../../src/views/builder/places/wrapping";
import { detour } from "../../src/views/builder/wires/detour";
import { curvesOf } from "../../src/views/builder/wires/route";

/** A chain of nodes in a row, every third layer of two nodes. */
function chain(count: number): Map<string, Rect> {
  const rects = new Map<string, Rect>();
  let x = 0;
  for (let k = 0; k < count; k++) {
    const width = 120 + 10 * (k % 9);
    rects.set(`n${k}`, { x, y: 40 * (k % 4), width, height: 60 + 20 * (k % 3) });
    if (k % 3 === 0) rects.set(`twin${k}`, { x, y: 260, width: 120, height: 60 });
    x += width + 70;
  }
  return rects;
}

const placed = (rects: ReadonlyMap<string, Rect>, window: Point): Map<string, Rect> =>
  new Map(
    [...wrapped(rects, window)].map(([id, [x, y]]) => [id, { ...(rects.get(id) as Rect), x, y }]),
  );

const boundsOf = (rects: Iterable<Rect>): Rect => {
  const all = [...rects];
  const [x, y] = [Math.min(...all.map((r) => r.x)), Math.min(...all.map((r) => r.y))];
  return {
    x,
    y,
    width: Math.max(...all.map((r) => r.x + r.width)) - x,
    height: Math.max(...all.map((r) => r.y + r.height)) - y,
  };
};

for (const [count, window, least] of [
  [3, [900, 500], 0.9],
  [12, [1000, 540], 0.5],
  [12, [560, 540], 0.35],
  [291, [1000, 540], 0.1],
] as const) {
  test(`${count} layers in a window of ${window}`, () => {
    const rects = chain(count);
    const places = placed(rects, window);
    const nodes = [...places.values()];
    assert.equal(nodes.length, rects.size);
    for (const [k, a] of nodes.entries())
      for (const b of nodes.slice(k + 1)) assert.ok(!overlap(a, b));
    const { scale, whole } = sightOf(boundsOf(nodes), null, 0, window);
    assert.equal(scale, whole);
    assert.ok(whole >= least, `${whole}`);
    // In the order of reading: a layer is at the right of the one before it, or in a band below.
    for (let k = 1; k < count; k++) {
      const [a, b] = [places.get(`n${k - 1}`) as Rect, places.get(`n${k}`) as Rect];
      assert.ok(b.x >= a.x + a.width + 70 || b.y >= a.y + a.height - 120);
    }
  });
}

test("what fits in one row stays in one row", () => {
  const rects = chain(3);
  for (const [id, [x, y]] of wrapped(rects, [2000, 900]))
    assert.deepEqual([x, y], [rects.get(id)?.x, rects.get(id)?.y]);
  assert.equal(wrapped(new Map(), [900, 500]).size, 0);
});

test("four thousand nodes are wrapped", { timeout: 60_000 }, () => {
  const rects = chain(4000);
  const places = placed(rects, [900, 500]);
  const { width, height } = boundsOf(places.values());
  assert.ok(width / height > 0.2 && width / height < 20, `${width} x ${height}`);
});

test("a wire to the next band goes through no node", () => {
  const places = placed(chain(12), [700, 600]);
  const nodes = [...places.values()];
  let turned = 0;
  for (let k = 1; k < 12; k++) {
    const [from, to] = [places.get(`n${k - 1}`) as Rect, places.get(`n${k}`) as Rect];
    const [a, b]: [Point, Point] = [
      [from.x + from.width, from.y + 42],
      [to.x, to.y + 42],
    ];
    const bends = detour(a, b, nodes, k);
    if (b[0] > a[0]) {
      assert.equal(bends, null);
      continue;
    }
    turned += 1;
    assert.ok(bends);
    // Between its turns, where a simple curve would cross the whole band.
    const curves = curvesOf(a, b, bends).slice(1, -1);
    for (const curve of curves)
      for (let t = 0.2; t <= 0.8; t += 0.1) {
        const [x, y] = pointOn(curve, t);
        const spot = { x, y, width: 0, height: 0 };
        assert.ok(!nodes.some((node) => node !== from && node !== to && overlap(node, spot)));
      }
  }
  assert.ok(turned >= 2);
});

test("a wire turns nowhere if there is no room, or no need", () => {
  const rect = (x: number, y: number): Rect => ({ x, y, width: 100, height: 60 });
  assert.equal(detour([100, 30], [200, 30], [rect(0, 0), rect(200, 0)], 0), null);
  assert.equal(detour([100, 30], [0, 90], [rect(0, 0), rect(0, 60)], 0), null);
  const up = detour([100, 230], [0, 30], [rect(0, 0), rect(0, 200)], 3);
  assert.ok(up?.every(([, y]) => y > 30 && y < 230));
});

test("a drawing that does not fit is shown where it begins, with the first node in sight", () => {
  const area = { x: 40, y: 40, width: 9000, height: 4000 };
  for (const first of [
    { x: 40, y: 3000, width: 150, height: 80 },
    { x: 5000, y: 40, width: 150, height: 80 },
    { x: 40, y: 40, width: 150, height: 80 },
    { x: 8890, y: 3960, width: 150, height: 80 },
  ]) {
    const { x, y, scale } = sightOf(area, first, 0.62, [900, 500]);
    assert.equal(scale, 0.62);
    const [left, top] = [x + first.x * scale, y + first.y * scale];
    assert.ok(left >= 29 && top >= 29, `${left} ${top}`);
    assert.ok(left + first.width * scale <= 871 && top + first.height * scale <= 471);
  }
});

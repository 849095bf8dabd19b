// What lies where, and the window onto it: without a page.
import "../page";
import assert from "node:assert/strict";
import { test } from "node:test";
import { contains, type Point, pointOn } from "../../src/views/builder/places/geometry";
import { rememberedScene, Scene } from "../../src/views/builder/state/scene";
import type { BuilderEvent } from "../../src/views/builder/state/state";
import { update } from "../../src/views/builder/state/update";
import { ELEMENT_SCALE, Viewport } from "../../src/views/builder/state/viewport";
import { drawing, modelOf, node, stateAfter } from "./samples";

const nodes = [node("a", [], 1), node("b", ["a"], 2), node("c", ["b", "a"], 4)];
const places: readonly (readonly [string, Point])[] = [
  ["a", [0, 0]],
  ["b", [300, 0]],
  ["c", [600, 40]],
];
const shown = (more: Partial<ReturnType<typeof drawing>> = {}) =>
  stateAfter(
    { type: "drawing", drawing: { ...drawing(nodes, ["a", "b", "c"]), ...more } },
    { type: "laid out", places },
  );
const sceneOf = (state = shown()) => new Scene(modelOf(state), state.panels);
const middle = (scene: Scene, id: string): Point => {
  const { x, y, width, height } = scene.rect(id) ?? assert.fail(id);
  return [x + width / 2, y + height / 2];
};

test("a node without a place lies nowhere, and nothing asks for it", () => {
  const state = update(stateAfter(), { type: "drawing", drawing: drawing([node("a")], ["a"]) });
  const scene = sceneOf(state);
  assert.deepEqual([scene.rect("a"), scene.rect("nobody"), scene.bounds()], [null, null, null]);
  assert.deepEqual(scene.nodesIn({ x: -1e6, y: -1e6, width: 2e6, height: 2e6 }), []);
  assert.equal(scene.portPoint({ node: "a", side: "in", row: 0 }), null);
  assert.equal(scene.face("nobody").width, 0);
});

test("selected nodes are on top of later ones", () => {
  const state = update(shown(), {
    type: "moved",
    places: new Map([["b", [20, 10]]]),
    routes: new Map(),
  });
  const scene = sceneOf(state);
  const both: Point = [40, 20];
  assert.equal(scene.nodeAt(both, new Set()), "b");
  assert.equal(scene.nodeAt(both, new Set(["a"])), "a");
  assert.equal(scene.nodeAt([-5, -5], new Set(["a"])), null);
});

test("the nearest port is found on the side that is asked for, and not of one's own node", () => {
  const scene = sceneOf();
  const out = scene.portPoint({ node: "a", side: "out", row: 0 }) ?? assert.fail("a");
  assert.deepEqual(scene.portAt(out, 10), { node: "a", side: "out", row: 0 });
  assert.equal(scene.portAt(out, 10, "in"), null);
  assert.equal(scene.portAt(out, 10, "out", "a"), null);
  assert.equal(scene.portAt([out[0] + 11, out[1]], 10), null);
  const second = scene.portPoint({ node: "c", side: "in", row: 1 }) ?? assert.fail("c");
  assert.deepEqual(scene.portAt([second[0], second[1] + 3], 8)?.row, 1);
});

test("a wire is found along its curve, and a bend at its point", () => {
  const scene = sceneOf();
  const [wire] = scene.model.connections;
  const [start, end] = (wire && scene.ends(wire)) ?? assert.fail("no wire");
  const at: Point = [(start[0] + end[0]) / 2, (start[1] + end[1]) / 2];
  assert.equal(scene.wireAt(at, 5), wire);
  assert.equal(scene.wireAt([at[0], at[1] - 200], 5), null);
  assert.equal(scene.bendAt(at, 5), null);
  const bent = update(shown(), { type: "routed", routes: new Map([["b>inputs[0]", [150, 400]]]) });
  const found = sceneOf(bent).bendAt([152, 401], 5);
  assert.deepEqual([found?.connection.to, found?.index], ["b", 0]);
  assert.equal(sceneOf(bent).wireAt([150, 400], 5)?.to, "b");
  assert.equal(sceneOf(bent).wireAt(at, 5), null);
});

test("only wires that may meet an area are drawn there", () => {
  const scene = sceneOf();
  const there = (x: number): string[] =>
    [...scene.linksIn({ x, y: 0, width: 10, height: 10 })].map(({ from, to }) => `${from}${to}`);
  assert.deepEqual(there(5000), []);
  assert.deepEqual(there(290), ["ab", "bc", "ac"]); // a curve may reach back by 210
  assert.deepEqual([...scene.linksIn({ x: 200, y: 900, width: 10, height: 10 })], []);
});

test("a wire that goes back makes a detour around the nodes", () => {
  const back = update(shown(), {
    type: "moved",
    places: new Map([
      ["b", [-500, 300]],
      ["c", [-200, 0]],
    ]),
    routes: new Map(),
  });
  const scene = sceneOf(back);
  const [wire] = scene.model.connections;
  const curves = wire ? scene.curves(wire) : [];
  const c = scene.rect("c") ?? assert.fail("c");
  assert.ok(wire && curves.length > 1);
  for (const curve of curves)
    for (let t = 0; t <= 1; t += 0.05) assert.equal(contains(c, pointOn(curve, t)), false);
  assert.equal(scene.curves({ ...wire, from: "nobody" }).length, 0);
});

test("frames lie around their nodes, and a note above the node that follows it", () => {
  const note = { id: "note:2", text: "what follows\nadds", line: 3 };
  const frames = [{ id: "f", title: "part", colour: "blue", nodes: ["a", "b", "gone"] }];
  const scene = sceneOf(shown({ frames, notes: [note] }));
  const [frame, a, b] = [scene.frameRect(["a", "b", "gone"]), scene.rect("a"), scene.rect("b")];
  assert.ok(frame && a && b);
  assert.ok(frame.x < a.x && frame.x + frame.width > b.x + b.width && frame.y < a.y - 20);
  assert.equal(scene.frameAt([frame.x + 5, frame.y + 5]), "f");
  assert.equal(scene.frameAt([frame.x + 5, frame.y + frame.height - 5]), null);
  assert.equal(scene.frameRect(["gone"]), null);
  const [above, c] = [scene.noteRect(note), scene.rect("c")];
  assert.ok(c && above.x === c.x && above.y + above.height < c.y);
  const last = scene.noteRect({ ...note, line: 99 });
  assert.ok(last.y > Math.max(...[...scene.rects().values()].map((r) => r.y + r.height)));
  const bounds = scene.bounds();
  assert.ok(bounds && bounds.y <= Math.min(above.y, frame.y));
  assert.deepEqual(sceneOf(stateAfter()).noteRect(note).x, 40);
});

test("a problem moves the nodes at its right aside, and the document knows nothing of it", () => {
  const scene = rememberedScene();
  const before = shown();
  const problem = { text: "wrong shape", port: "", fixes: [] };
  const wrong: BuilderEvent = {
    type: "drawing",
    drawing: {
      ...drawing([{ ...node("a", [], 1), problem }], ["a", "b", "c"]),
      totals: { parameters: 0, flops: 0, nodes: 3, problems: 1 },
    },
  };
  const close = update(before, {
    type: "moved",
    places: new Map([["b", [140, 0]]]),
    routes: new Map(),
  });
  const after = update(update(close, wrong), {
    type: "moved",
    places: new Map([["b", [140, 0]]]),
    routes: new Map(),
  });
  const [a, b] = [scene(after).rect("a"), scene(after).rect("b")];
  assert.ok(a && b && a.x + a.width <= b.x);
  assert.deepEqual(scene(after).model.home("b"), [140, 0]);
});

test("a scene is the same one until something of it changes", () => {
  const scene = rememberedScene();
  const state = shown();
  const first = scene(state);
  assert.equal(scene(update(state, { type: "selected", nodes: ["a"] })), first);
  assert.equal(scene(update(state, { type: "hovered", wire: null })), first);
  const drag = { nodes: new Map([["a", [9, 9] as const]]), bends: new Map() };
  const dragged = scene(update(state, { type: "dragged", drag, hovered: null }));
  assert.notEqual(dragged, first);
  assert.deepEqual([dragged.rect("a")?.x, first.rect("a")?.x], [9, 0]);
});

test("a viewport shows a rectangle, a part of it that is readable, or nothing while it is hidden", () => {
  let changes = 0;
  const viewport = new Viewport(() => changes++);
  const wide = { x: -500, y: 0, width: 8000, height: 100 };
  viewport.fit(wide, null, 0, true);
  assert.equal(changes, 0);
  Object.assign(viewport, { width: 1000, height: 500 });
  viewport.fit(null, null);
  assert.equal(changes, 0);
  viewport.fit(wide, null, 0, true);
  const window = viewport.window();
  assert.ok(window.x <= wide.x && window.x + window.width >= wide.x + wide.width);
  viewport.fit(wide, { x: 0, y: 0, width: 100, height: 50 }, 0.5, true);
  assert.equal(viewport.camera.scale, 0.5);
  const [x] = viewport.toScreen([0, 0]);
  assert.ok(x >= 0 && x <= 1000);
  assert.equal(viewport.toWorldLength(10), 20);
  assert.deepEqual(viewport.toScreen(viewport.middle()), [500, 250]);
});

test("what is revealed moves the window no more than is needed", (t) => {
  t.mock.method(globalThis, "matchMedia", () => ({ matches: true })); // no flight
  const viewport = new Viewport(() => {});
  Object.assign(viewport, { width: 1000, height: 500 });
  viewport.camera.set(0, 0, 1);
  viewport.reveal({ x: 100, y: 100, width: 120, height: 60 });
  assert.deepEqual([viewport.camera.x, viewport.camera.y], [0, 0]);
  viewport.reveal({ x: 950, y: -40, width: 120, height: 60 });
  assert.deepEqual([viewport.camera.x, viewport.camera.y], [-94, 64]);
  viewport.reveal({ x: 94, y: -40, width: 5000, height: 60 }); // its beginning, if it is too long
  assert.equal(viewport.toScreen([94, 0])[0], 24);
  viewport.camera.set(0, 0, 0.1);
  viewport.reveal({ x: 5000, y: 5000, width: 120, height: 60 });
  assert.equal(viewport.camera.scale, ELEMENT_SCALE);
  assert.deepEqual(viewport.middle().map(Math.round), [5060, 5030]);
});

test("a smaller canvas keeps in sight what it would cut off, and only that", (t) => {
  t.mock.method(globalThis, "matchMedia", () => ({ matches: true }));
  const viewport = new Viewport(() => {});
  viewport.resize(1000, 500, null);
  viewport.camera.set(0, 0, 1);
  const near = { x: 800, y: 100, width: 120, height: 60 };
  viewport.resize(900, 500, near);
  assert.deepEqual([viewport.width, viewport.toScreen([920, 0])[0]], [900, 876]);
  viewport.resize(600, 500, { ...near, x: 5000 });
  assert.equal(viewport.camera.x, -44);
});

test("a point in the middle of a node is in its node", () => {
  const scene = sceneOf();
  for (const id of scene.model.order) assert.equal(scene.nodeAt(middle(scene, id), new Set()), id);
});

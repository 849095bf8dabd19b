// The state of a canvas without a page: what each event makes of it, and that it makes a new one.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BuilderNode } from "../../src/protocol/builder";
import type { Point } from "../../src/views/builder/places/geometry";
import {
  type BuilderEvent,
  type BuilderState,
  EMPTY,
  type Panel,
} from "../../src/views/builder/state/state";
import { remembered, Store } from "../../src/views/builder/state/store";
import { update } from "../../src/views/builder/state/update";
import { drawing, modelOf, node, stateAfter } from "./samples";

const drawn = (...given: Parameters<typeof drawing>): BuilderEvent => ({
  type: "drawing",
  drawing: drawing(...given),
});
const laidOut = (places: Record<string, Point>): BuilderEvent => ({
  type: "laid out",
  places: Object.entries(places),
});
const three = drawn([node("a"), node("b", ["a"]), node("c", ["b"])], ["a", "b", "c"]);
const panel = (isRunning: boolean, more: Partial<Panel> = {}): Panel => ({
  kind: "text",
  result: null,
  losses: [],
  isRunning,
  ...more,
});

/** Changes to the state are errors, also those deep inside of it. */
function frozen<T>(value: T): T {
  if (value instanceof Map || value instanceof Set) {
    const refuse = (): never => assert.fail("a state was changed");
    Object.assign(value, { set: refuse, add: refuse, delete: refuse, clear: refuse });
    for (const one of value.values()) frozen(one);
  } else if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const one of Object.values(value)) frozen(one);
  }
  return value;
}

test("a store tells watchers of another state, and not of the same one", () => {
  const store = new Store(1, (state: number, event: number) => Math.max(state, event));
  const heard: number[] = [];
  const end = store.watch(() => heard.push(store.state));
  store.watch(() => heard.push(-store.state));
  store.dispatch(5);
  store.dispatch(3);
  end();
  end();
  store.dispatch(8);
  assert.deepEqual([heard, store.state], [[5, -5, -8], 8]);
});

test("a fault in an update leaves the state as it was", () => {
  const store = new Store({ n: 1 }, () => assert.fail("no"));
  const { state } = store;
  assert.throws(() => store.dispatch(0), /no/);
  assert.equal(store.state, state);
});

test("a remembered result is made anew for another argument only", () => {
  let made = 0;
  const pair = remembered((a: object | null, b: number) => {
    made += 1;
    return { a, b };
  });
  const one = {};
  const first = pair(one, Number.NaN);
  assert.notEqual(pair(one, Number.NaN), first); // NaN is no object that stays the same
  const second = pair(one, 2);
  assert.equal(pair(one, 2), second);
  assert.notEqual(pair({}, 2), second);
  assert.notEqual(pair(one, 2), second); // only the last one is kept
  assert.equal(made, 5);
});

test("no event changes the state that it gets", () => {
  const wire = { from: "a", output: 0, to: "b", row: 0, port: "inputs[0]" };
  const at: ReadonlyMap<string, Point> = new Map([["a", [1, 2]]]);
  const events: BuilderEvent[] = [
    three,
    { type: "source", source: "x" },
    laidOut({ a: [0, 0], b: [200, 0], c: [400, 0] }),
    { type: "kept routes", routes: { "b>inputs[0]": [1, 2], "gone>x": [] } },
    { type: "routes told" },
    { type: "routed", routes: new Map([["c>inputs[0]", [3, 4]]]) },
    { type: "selected", nodes: ["a", "b"] },
    { type: "wire selected", wire },
    { type: "hovered", wire },
    { type: "dragged", drag: { nodes: at, bends: new Map() }, hovered: null },
    { type: "drag cancelled" },
    { type: "moved", places: at, routes: new Map([["b>inputs[0]", [9, 9]]]) },
    { type: "bending", bending: { key: "b>inputs[0]", bends: [[5, 5]] } },
    {
      type: "wire dragged",
      wire: { from: { node: "a", side: "out", row: 0 }, to: [0, 0], target: null, refusals: null },
    },
    { type: "overlay", overlay: { marquee: { x: 0, y: 0, width: 1, height: 1 } } },
    { type: "panel", node: "a", panel: panel(true) },
    { type: "panel", node: "a", panel: null },
    { type: "marks", marks: new Map([["a", { text: "1", share: 1, tone: "time" }]]) },
    { type: "hand", hand: true },
    { type: "theme", theme: { ...EMPTY.theme, dark: true } },
    drawn([node("c", ["a"])], ["a", "c"], { a: [7, 7], "c>inputs[0]": [1, 1] }),
  ];
  let state = frozen(EMPTY);
  for (const event of events) {
    const next = frozen(update(state, frozen(event)));
    assert.notEqual(next, state, event.type);
    state = next;
  }
  assert.deepEqual(
    [state.source, state.hand, [...state.graph.nodes.keys()]],
    ["x", true, ["a", "c"]],
  );
});

test("a renamed node keeps the place of the layout; a removed one leaves none", () => {
  const before = stateAfter(three, laidOut({ a: [0, 7], b: [100, 7], c: [200, 7] }));
  assert.deepEqual([...modelOf(before).reached("c", "up")], ["b", "a"]);
  const state = update(before, drawn([node("h", ["a"]), node("c", ["h"])], ["a", "h", "c"]));
  assert.deepEqual(modelOf(state).position("h"), [100, 7]);
  assert.equal(state.places.automatic.has("b"), false);
  assert.deepEqual(
    modelOf(state)
      .outgoing("h")
      .map(({ to }) => to),
    ["c"],
  );
  assert.deepEqual(state.graph.order, ["a", "h", "c"]);
});

test("a node with other inputs is no renamed one, and one place is given once", () => {
  const before = stateAfter(three, laidOut({ a: [0, 7], b: [100, 7], c: [200, 7] }));
  const other = update(before, drawn([node("h", ["a", "a"])], ["a", "h", "c"]));
  assert.equal(modelOf(other).position("h"), undefined);
  const two = update(before, drawn([node("h", ["a"]), node("i", ["a"])], ["a", "h", "i", "c"]));
  assert.deepEqual(
    ["h", "i"].map((id) => modelOf(two).position(id)),
    [[100, 7], undefined],
  );
});

test("a node that was never sent is missing, and the others are there", () => {
  const state = stateAfter(three, drawn([], ["a", "new", "c"]));
  assert.deepEqual([...state.graph.nodes.keys()], ["a", "c"]);
  assert.deepEqual(state.graph.order, ["a", "c"]);
});

test("a node of which only the line is new keeps everything else of it", () => {
  const before = stateAfter(drawn([node("a", [], 2), node("b", ["a"], 3)], ["a", "b"]));
  const moved: BuilderEvent = {
    type: "drawing",
    drawing: { ...drawing([], ["a", "b"]), lines: [2, 9] },
  };
  const { nodes } = update(before, moved).graph;
  assert.equal(nodes.get("a"), before.graph.nodes.get("a"));
  const [old, now] = [before.graph.nodes.get("b"), nodes.get("b")] as [BuilderNode, BuilderNode];
  assert.deepEqual([old.line, now.line], [3, 9]);
  assert.equal(now.inputs, old.inputs);
});

test("positions of the kernel go before those of the layout, and end with an undo", () => {
  const one = drawn([node("a")], ["a"]);
  const placed = stateAfter(one, laidOut({ a: [40, 40] }), drawn([], ["a"], { a: [200, 90] }));
  assert.deepEqual(modelOf(placed).position("a"), [200, 90]);
  assert.deepEqual(modelOf(update(placed, drawn([], ["a"]))).position("a"), [40, 40]);
});

test("the layout moves no node that it has placed before", () => {
  const state = stateAfter(three, laidOut({ a: [1, 1] }), laidOut({ a: [9, 9], b: [2, 2] }));
  assert.deepEqual([...state.places.automatic].sort(), [
    ["a", [1, 1]],
    ["b", [2, 2]],
  ]);
});

test("routes are kept apart from places, and those of the notebook hold until the kernel has others", () => {
  const state = stateAfter(
    { type: "kept routes", routes: { "b>inputs[0]": [5, 6], "gone>inputs[0]": [1, 1] } },
    drawn([node("a"), node("b", ["a"]), node("c", ["a"])], ["a", "b", "c"], {
      a: [1, 2],
      "c>inputs[0]": [],
    }),
  );
  const [toB, toC] = modelOf(state).connections;
  assert.ok(toB && toC);
  assert.deepEqual(modelOf(state).route(toB), [[5, 6]]);
  assert.deepEqual(modelOf(state).route(toC), []);
  assert.deepEqual([...state.places.placed.keys()], ["a"]);
  const told = update(state, { type: "routes told" });
  assert.deepEqual([...told.places.routes.keys()].sort(), ["b>inputs[0]", "c>inputs[0]"]);
  assert.equal(told.places.keptRoutes.size, 0);
  const straight = update(state, { type: "routed", routes: new Map([["b>inputs[0]", null]]) });
  assert.equal(modelOf(straight).route(toB), null);
});

test("a wire goes as it is bent or dragged now, and its settled route is another", () => {
  const key = "b>inputs[0]";
  const state = stateAfter(three, { type: "routed", routes: new Map([[key, [1, 1]]]) });
  const [wire] = modelOf(state).connections;
  assert.ok(wire);
  const drag = { nodes: new Map(), bends: new Map([[key, [[2, 2]] as const]]) };
  const dragged = update(state, { type: "dragged", drag, hovered: null });
  assert.deepEqual(modelOf(dragged).route(wire), [[2, 2]]);
  assert.deepEqual(modelOf(dragged).settledRoute(wire), [[1, 1]]);
  const bent = update(dragged, { type: "bending", bending: { key, bends: [[3, 3]] } });
  assert.deepEqual(modelOf(bent).route(wire), [[3, 3]]);
  const ended = update(update(bent, { type: "bending", bending: null }), {
    type: "drag cancelled",
  });
  assert.deepEqual(modelOf(ended).route(wire), [[1, 1]]);
});

test("what is dropped stays there and the drag is over; what is cancelled is back", () => {
  const before = stateAfter(three, laidOut({ a: [0, 0], b: [100, 0], c: [200, 0] }));
  const nodes: ReadonlyMap<string, Point> = new Map([["b", [130, 20]]]);
  const [hovered] = modelOf(before).connections;
  const dragged = update(before, {
    type: "dragged",
    drag: { nodes, bends: new Map() },
    hovered: hovered ?? null,
  });
  assert.deepEqual(modelOf(dragged).position("b"), [130, 20]);
  assert.deepEqual(modelOf(dragged).home("b"), [100, 0]);
  const cancelled = update(dragged, { type: "drag cancelled" });
  assert.deepEqual([modelOf(cancelled).position("b"), cancelled.hovered], [[100, 0], null]);
  const dropped = update(dragged, { type: "moved", places: nodes, routes: new Map() });
  assert.deepEqual([modelOf(dropped).position("b"), dropped.drag], [[130, 20], null]);
});

test("only nodes that there are can be selected; the keyboard is at the last of them", () => {
  const select = (state: BuilderState, nodes: string[], current?: string): BuilderState =>
    update(state, { type: "selected", nodes, ...(current === undefined ? {} : { current }) });
  const state = select(stateAfter(three), ["b", "nobody", "a"]);
  assert.deepEqual([[...state.selection.nodes], state.selection.current], [["b", "a"], "a"]);
  assert.equal(select(state, ["a", "b"], "a").selection.current, "a");
  const none = select(state, ["nobody"]);
  assert.deepEqual([none.selection.nodes.size, none.selection.current], [0, ""]);
});

test("a drawing keeps the selection of what is left, or brings its own", () => {
  const before = stateAfter(three, { type: "selected", nodes: ["a", "c"] });
  assert.deepEqual([...update(before, drawn([], ["a", "b"])).selection.nodes], ["a"]);
  const own: BuilderEvent = {
    type: "drawing",
    drawing: { ...drawing([], ["a", "b", "c"]), selected: ["b"] },
  };
  const after = update(before, own);
  assert.deepEqual([[...after.selection.nodes], after.selection.current], [["b"], "b"]);
});

test("a selected wire is the same one in the next drawing, and none once it is cut", () => {
  const before = stateAfter(three);
  const [first] = modelOf(before).connections;
  const state = update(before, { type: "wire selected", wire: first ?? null });
  assert.deepEqual(state.selection.nodes.size, 0);
  const again = update(state, drawn([node("b", ["a"])], ["a", "b", "c"]));
  const { wire } = again.selection;
  assert.ok(wire && modelOf(again).connections.includes(wire));
  assert.equal(update(again, drawn([node("b")], ["a", "b", "c"])).selection.wire, null);
  const other: BuilderEvent = {
    type: "drawing",
    drawing: { ...drawing([], ["a", "b", "c"]), selected: ["c"] },
  };
  assert.equal(update(again, other).selection.wire, null);
});

test("a value goes with its node, and when the node comes to be of another kind", () => {
  const value = { name: "a", dtype: "float32", shape: [4, 10] } as never;
  const base = { type: "result", node: "a", milliseconds: 1, error: "", needs: [] } as const;
  const result = { ...base, values: [value] };
  const state = stateAfter(
    three,
    { type: "panel", node: "a", panel: panel(false, { result }) },
    { type: "panel", node: "b", panel: panel(true) },
    { type: "panel", node: "nobody", panel: panel(true) },
  );
  assert.deepEqual([...state.panels.keys()], ["a", "b"]);
  assert.deepEqual([...update(state, drawn([], ["a", "b", "c"])).panels.keys()], ["a", "b"]);
  assert.deepEqual([...update(state, drawn([], ["a", "c"])).panels.keys()], ["a"]);
  const int = { ...node("a"), outputs: [{ name: "a", dtype: "int32", shape: [null, 10] }] };
  assert.deepEqual([...update(state, drawn([int], ["a", "b", "c"])).panels.keys()], ["b"]);
});

test("marks that are taken away where there are none make no new state", () => {
  const state = stateAfter(three);
  assert.equal(update(state, { type: "marks", marks: new Map() }), state);
  const marked = update(state, {
    type: "marks",
    marks: new Map([["a", { text: "", share: 0, tone: "same" }]]),
  });
  assert.equal(update(marked, { type: "marks", marks: new Map() }).marks.size, 0);
});

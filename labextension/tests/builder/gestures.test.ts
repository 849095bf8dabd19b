// What the pointer does on the canvas: which gestures it makes, and what they send when they end.
import "../page";
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Host, Move } from "../../src/views/builder/dragging";
import { Pointer } from "../../src/views/builder/gestures";
import type { Workspace } from "../../src/views/builder/state/workspace";
import { Bend } from "../../src/views/builder/wires/bends";
import { point } from "../page";
import { node, workspaceOf } from "./samples";

type At = readonly [number, number];

function canvas(nodes = [node("a"), node("b", ["a"]), node("c", ["b"])]) {
  const all = workspaceOf(nodes);
  const stage = document.createElement("div");
  Object.assign(stage, { setPointerCapture: () => {} });
  document.body.append(stage);
  const asked: string[] = [];
  const host: Host = {
    palette: (compatibility) => asked.push(`palette ${JSON.stringify(compatibility)}`),
    menu: () => asked.push("menu"),
    openForm: () => asked.push("form"),
    editFrame: (id) => asked.push(`frame ${id}`),
    over: () => false,
    dropOn: () => false,
  };
  const pointer = new Pointer(all.workspace, host, stage);
  const drag = (from: At, to: At, more: object = {}): void => {
    point(stage, "pointerdown", from, { button: 0, ...more });
    point(stage, "pointermove", [from[0] + 3, from[1] + 6], more);
    point(stage, "pointermove", to, more);
    point(stage, "pointerup", to, more);
  };
  const click = (at: At, more: object = {}): void => {
    point(stage, "pointerdown", at, { button: 0, ...more });
    point(stage, "pointerup", at, more);
  };
  return { ...all, stage, asked, host, pointer, drag, click };
}

const inside = (workspace: Workspace, id: string): At => {
  const { x, y } = workspace.scene.rect(id) ?? assert.fail(id);
  return [x + 30, y + 10];
};
const portOf = (workspace: Workspace, node: string, side: "in" | "out", row = 0): At =>
  workspace.scene.portPoint({ node, side, row }) ?? assert.fail(node);

test("a click selects a node, with Shift more of them, and beside them none", () => {
  const { workspace, click, edits } = canvas();
  click(inside(workspace, "a"));
  assert.deepEqual([...workspace.selected], ["a"]);
  click(inside(workspace, "b"), { shiftKey: true });
  assert.deepEqual([...workspace.selected], ["a", "b"]);
  click(inside(workspace, "a"), { shiftKey: true });
  assert.deepEqual([...workspace.selected], ["b"]);
  click([200, 700]);
  assert.equal(workspace.selected.size, 0);
  assert.deepEqual([workspace.state.overlay.marquee, edits()], [null, []]);
});

test("nodes are dragged on the screen, and sent once at the end", () => {
  const { workspace, stage, edits } = canvas();
  const from = inside(workspace, "b");
  point(stage, "pointerdown", from, { button: 0 });
  point(stage, "pointermove", [from[0] + 40, from[1] + 101], { altKey: true });
  assert.deepEqual(workspace.state.drag?.nodes.get("b"), [340, 141]);
  assert.deepEqual([workspace.model.home("b"), edits()], [[300, 40], []]);
  point(stage, "pointerup", [from[0] + 40, from[1] + 101]);
  assert.equal(workspace.state.drag, null);
  assert.deepEqual(workspace.model.home("b"), [340, 141]);
  const [move] = edits();
  assert.ok(move?.edit === "move" && edits().length === 1);
  assert.deepEqual(move.positions, { a: [0, 40], b: [340, 141], c: [600, 40] });
});

test("a hand that trembles moves nothing", () => {
  const { workspace, stage, edits } = canvas();
  const from = inside(workspace, "b");
  point(stage, "pointerdown", from, { button: 0 });
  point(stage, "pointermove", [from[0] + 2, from[1] - 3]);
  assert.equal(workspace.state.drag, null);
  point(stage, "pointerup", [from[0] + 2, from[1] - 3]);
  assert.deepEqual([edits(), [...workspace.selected]], [[], ["b"]]);
});

test("a drag snaps to the sides of other nodes, and to none with Alt", () => {
  const { workspace } = canvas();
  workspace.select(["b"]);
  const move = new Move(workspace);
  move.to([0, 4], false, [0, 0]);
  assert.deepEqual(workspace.model.position("b"), [300, 40]);
  assert.ok(workspace.state.overlay.guides.length > 0);
  move.to([0, 4], true, [0, 0]);
  assert.deepEqual(workspace.model.position("b"), [300, 44]);
  assert.deepEqual(workspace.state.overlay.guides, []);
  move.undo();
  assert.deepEqual(workspace.model.position("b"), [300, 40]);
});

test("a gesture that is cancelled changes nothing", () => {
  const { workspace, stage, pointer, edits } = canvas();
  const from = inside(workspace, "a");
  point(stage, "pointerdown", from, { button: 0 });
  point(stage, "pointermove", [from[0] + 50, from[1] + 50]);
  assert.ok(pointer.isActive && workspace.state.drag);
  point(stage, "pointercancel", from);
  assert.deepEqual([pointer.isActive, workspace.state.drag, edits()], [false, null, []]);
  point(stage, "pointerup", from);
  assert.deepEqual(edits(), []);
});

test("bends move with their two nodes, as far as these and no farther", () => {
  const { workspace, drag } = canvas();
  workspace.dispatch({ type: "routed", routes: new Map([["b>inputs[0]", [200, 300]]]) });
  workspace.select(["a", "b"]);
  const [wire] = workspace.model.connections;
  assert.ok(wire);
  const move = new Move(workspace);
  for (const d of [10, 20, 30]) move.to([d, d], true, [0, 0]);
  assert.deepEqual(workspace.model.route(wire), [[230, 330]]);
  move.undo();
  assert.deepEqual(workspace.model.route(wire), [[200, 300]]);
  const from = inside(workspace, "a");
  drag(from, [from[0] + 30, from[1] + 30], { altKey: true });
  assert.deepEqual(workspace.model.route(wire), [[230, 330]]);
});

test("the marquee selects what it meets, and with Shift keeps what was selected", () => {
  const { workspace, stage, drag, said } = canvas();
  drag([-10, 0], [150, 200]);
  assert.deepEqual([...workspace.selected], ["a"]);
  drag([290, 0], [430, 200], { shiftKey: true });
  assert.deepEqual([...workspace.selected], ["a", "b"]);
  assert.deepEqual(said, ["1 node selected", "2 nodes selected"]);
  point(stage, "pointerdown", [0, 600], { button: 0 });
  point(stage, "pointermove", [100, 700]);
  assert.deepEqual(workspace.state.overlay.marquee, { x: 0, y: 600, width: 100, height: 100 });
  point(stage, "pointerup", [100, 700]);
  assert.equal(workspace.state.overlay.marquee, null);
});

test("the hand, the middle button and the space bar move the window", () => {
  const { workspace, drag, stage } = canvas();
  const { camera } = workspace.viewport;
  workspace.dispatch({ type: "hand", hand: true });
  drag([100, 600], [140, 620]);
  assert.deepEqual([camera.x, camera.y], [40, 20]);
  workspace.dispatch({ type: "hand", hand: false });
  drag([300, 300], [310, 300], { button: 1 });
  assert.deepEqual([camera.x, camera.y], [50, 20]);
  stage.dispatchEvent(new KeyboardEvent("keydown", { key: " " }));
  drag([300, 300], [300, 310]);
  assert.deepEqual([camera.x, camera.y, workspace.selected.size], [50, 30, 0]);
});

test("a wire from an output to an input connects them; what the kernel refuses is said", async () => {
  const nodes = [node("a"), node("b"), node("c", ["b"])];
  const { workspace, stage, drag, edits, sent, said } = canvas(nodes);
  drag(portOf(workspace, "a", "out"), portOf(workspace, "c", "in"));
  assert.deepEqual(edits(), [
    { edit: "connect", wire: { node: "a", output: 0 }, node: "c", port: "inputs[0]" },
  ]);
  const [from, to] = [portOf(workspace, "a", "out"), portOf(workspace, "c", "in")];
  point(stage, "pointerdown", from, { button: 0 });
  point(stage, "pointermove", [from[0] + 20, from[1] + 20]);
  const asked = sent.filter(({ type }) => type === "targets").at(-1);
  assert.ok(asked && "request" in asked);
  workspace.session.receive({
    type: "targets",
    request: asked.request,
    accepted: [],
    refused: [["c", "inputs[0]", "needs int32"]],
  } as never);
  await new Promise((done) => setImmediate(done));
  assert.equal(workspace.state.draggedWire?.refusals?.get("c\ninputs[0]"), "needs int32");
  point(stage, "pointermove", to);
  point(stage, "pointerup", to);
  assert.deepEqual([edits().length, said.at(-1)], [1, "needs int32"]);
  assert.equal(workspace.state.draggedWire, null);
});

test("a wire that is dragged off its input is cut, or moved to another one", () => {
  const { workspace, drag, edits } = canvas();
  drag(portOf(workspace, "c", "in"), [700, 700]);
  assert.deepEqual(edits(), [{ edit: "disconnect", node: "c", port: "inputs[0]" }]);
  drag(portOf(workspace, "c", "in"), portOf(workspace, "c", "in"));
  assert.equal(edits().length, 1); // back to where it was
  drag(portOf(workspace, "c", "in"), portOf(workspace, "b", "in"));
  assert.deepEqual(
    edits().map(({ edit }) => edit),
    ["disconnect"],
  ); // no node is connected to itself
});

test("a wire that ends nowhere asks for what fits", () => {
  const { workspace, drag, asked } = canvas();
  drag(portOf(workspace, "c", "out"), [900, 600]);
  assert.deepEqual(asked, ['palette {"wire":{"node":"c","output":0}}']);
});

test("a wire is selected by a click, cut with Alt, and bent by a drag", () => {
  const { workspace, drag, click, edits } = canvas();
  const [out, into] = [portOf(workspace, "a", "out"), portOf(workspace, "b", "in")];
  const middle: At = [(out[0] + into[0]) / 2, (out[1] + into[1]) / 2];
  click(middle);
  assert.deepEqual([workspace.selectedWire?.to, edits()], ["b", []]);
  workspace.select([]);
  drag(middle, [middle[0], middle[1] + 80]);
  const wire = workspace.selectedWire;
  assert.equal(wire?.to, "b");
  const [bend] = (wire && workspace.model.route(wire)) ?? [];
  assert.ok(bend && Math.abs(bend[1] - middle[1] - 80) < 8);
  assert.equal(workspace.state.bending, null);
  assert.deepEqual(
    edits().map(({ edit }) => edit),
    ["route"],
  );
  const [start, end] = [portOf(workspace, "b", "out"), portOf(workspace, "c", "in")];
  click([(start[0] + end[0]) / 2, (start[1] + end[1]) / 2], { altKey: true });
  assert.deepEqual(edits().at(-1), { edit: "disconnect", node: "c", port: "inputs[0]" });
});

test("a named link cannot be bent", () => {
  const { workspace } = canvas();
  const [wire] = workspace.model.connections;
  assert.ok(wire);
  workspace.dispatch({ type: "routed", routes: new Map([["b>inputs[0]", []]]) });
  assert.equal(Bend.at(workspace, wire, [200, 60]), null);
  assert.equal(workspace.state.bending, null);
});

test("double clicks open the form or the palette, the right button the menu of what is there", () => {
  const { workspace, stage, asked } = canvas();
  point(stage, "dblclick", inside(workspace, "b"));
  point(stage, "dblclick", [900, 700]);
  const [out, into] = [portOf(workspace, "a", "out"), portOf(workspace, "b", "in")];
  point(stage, "dblclick", [(out[0] + into[0]) / 2, (out[1] + into[1]) / 2]);
  assert.deepEqual(
    asked.map((text) => text.slice(0, 20)),
    ["form", "palette {}", 'palette {"between":{'],
  );
  point(stage, "contextmenu", inside(workspace, "c"));
  assert.deepEqual([asked.at(-1), [...workspace.selected]], ["menu", ["c"]]);
});

test("a node without wires that is dropped on a wire goes into it", () => {
  const { workspace, stage, edits } = canvas([
    node("a"),
    node("b", ["a"]),
    { ...node("z", ["a"]), inputs: [{ ...lone() }] },
  ]);
  workspace.dispatch({
    type: "moved",
    places: new Map([["z", [100, 500]]]),
    routes: new Map(),
  });
  const from = inside(workspace, "z");
  const [out, into] = [portOf(workspace, "a", "out"), portOf(workspace, "b", "in")];
  const middle: At = [(out[0] + into[0]) / 2, (out[1] + into[1]) / 2];
  point(stage, "pointerdown", from, { button: 0 });
  point(stage, "pointermove", middle, { altKey: true });
  assert.equal(workspace.state.hovered?.to, "b");
  point(stage, "pointerup", middle);
  assert.deepEqual(edits().slice(1), [
    { edit: "connect", wire: { node: "a", output: 0 }, node: "z", port: "" },
    { edit: "connect", wire: { node: "z", output: 0 }, node: "b", port: "inputs[0]" },
  ]);
  assert.equal(workspace.state.hovered, null);
});

test("the pointer says what it would do, and the wire under it is lit", () => {
  const { workspace, stage } = canvas();
  const cursorAt = (at: At): string => {
    point(stage, "pointermove", at);
    return stage.style.cursor;
  };
  assert.equal(cursorAt(portOf(workspace, "a", "out")), "crosshair");
  assert.equal(cursorAt(inside(workspace, "a")), "move");
  assert.equal(cursorAt([900, 700]), "default");
  const [out, into] = [portOf(workspace, "a", "out"), portOf(workspace, "b", "in")];
  assert.equal(cursorAt([(out[0] + into[0]) / 2, (out[1] + into[1]) / 2]), "pointer");
  assert.equal(workspace.state.hovered?.to, "b");
});

function lone() {
  const [input] = node("z", ["a"]).inputs;
  return { ...(input ?? assert.fail("no input")), wire: null };
}

// What people do in the builder by keys and lists: presets, the menu, walks, connections, bends and moves.
import "../page";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Chooser } from "../../src/views/builder/chooser";
import { NodeClipboard } from "../../src/views/builder/clipboard";
import type { Command } from "../../src/views/builder/commands";
import { described, stageOf } from "../../src/views/builder/described";
import { movesOf, targetAt, withAutomatic } from "../../src/views/builder/dragging";
import { short } from "../../src/views/builder/form";
import { cut } from "../../src/views/builder/gestures";
import { handleKeys } from "../../src/views/builder/keys";
import { menuOf } from "../../src/views/builder/menu";
import { presetValues, valueQuestion } from "../../src/views/builder/presets";
import {
  nudgeBends,
  removeBend,
  routed,
  routesMoved,
  wireText,
} from "../../src/views/builder/wires/bends";
import { connectFromList, connectInput, placeOf } from "../../src/views/builder/wires/connecting";
import { press } from "../page";
import { node, workspaceOf } from "./samples";

const chain = () => workspaceOf([node("a"), node("b", ["a"]), node("c", ["b", "a"])]);
const labels = (rows: readonly { label: string }[]): string[] => rows.map(({ label }) => label);

test("presets fit the kind and the name of a parameter", () => {
  assert.ok(presetValues("int", "axis", "").includes("-1"));
  assert.ok(presetValues("int", "units", "").includes("128"));
  assert.ok(presetValues("float", "rate", "").includes("0.001"));
  assert.ok(presetValues("shape", "kernel_size", "3").includes("[1, 2]"));
  assert.ok(presetValues("shape", "shape", "[None]").includes("[None, 784]"));
  assert.deepEqual(presetValues("string", "name", ""), []);
});

test("a value is one of the presets, or what is typed", async () => {
  const taken: string[] = [];
  const question = valueQuestion(node("a"), "units", ["10", "100"], "10", (text) =>
    taken.push(text),
  );
  const [first, ...others] = await question.choices("10");
  assert.deepEqual([first?.hint, labels(others)], ["now", ["100"]]);
  const typed = await question.choices(" 17 ");
  assert.deepEqual(labels(typed), ["17"]);
  typed[0]?.act();
  assert.deepEqual(taken, ["17"]);
});

test("counts are short", () => {
  assert.deepEqual([7, 1234567, 2e15].map(short), ["7 ", "1.23 M", "2 P"]);
});

function command(id: string, keys: string[], done: string[], can = true): Command {
  return { id, label: `do ${id}`, keys, can: () => can, run: () => done.push(id) };
}

test("the menu has what can be done now, the help everything", async () => {
  const done: string[] = [];
  const commands = [command("run", ["r"], done), command("undo", ["u"], done, false)];
  const menu = await menuOf(commands).choices("");
  assert.deepEqual(labels(menu), ["do run"]);
  const help = await menuOf(commands, true).choices("");
  assert.ok(labels(help).includes("do undo") && labels(help).includes("Zoom"));
  for (const choice of help) choice.act();
  assert.deepEqual(done, ["run"]);
});

test("arrows walk along wires and say where they are; letters are commands or a name", () => {
  const { workspace, said } = chain();
  const stage = stageOf();
  const [done, typed]: [string[], string[]] = [[], []];
  const commands = [command("delete", ["d"], done)];
  const type = (text: string): number => typed.push(text);
  handleKeys(workspace, stage, { commands, type, escape: () => false });
  press(stage, "d");
  assert.deepEqual([done, typed], [[], ["d"]]);
  for (const key of ["Home", "ArrowRight", "ArrowRight"]) assert.ok(press(stage, key));
  assert.equal(workspace.current, "c");
  assert.match(said[said.length - 1] ?? "", /^c, tf\.add_n, line 1; inputs: .* from b, .* from a/);
  press(stage, "ArrowRight");
  assert.equal(said[said.length - 1], "no node reads this output");
  press(stage, "ArrowUp", { shiftKey: true });
  assert.deepEqual([...workspace.selected].sort(), ["b", "c"]);
  assert.match(described(workspace, "b"), /selected$/);
  press(stage, "d");
  assert.deepEqual(done, ["delete"]);
  press(stage, "Escape");
  assert.equal(workspace.selected.size, 0);
  assert.equal(press(stage, "Tab"), false);
  assert.equal(described(workspace, "nobody"), "");
});

test("a chooser lists, walks around its ends, and takes what Enter was pressed for", async () => {
  const taken: string[] = [];
  const said: string[] = [];
  let left = 0;
  const chooser = new Chooser(
    () => left++,
    (text) => said.push(text),
  );
  document.body.append(chooser.root);
  const all = ["relu", "elu", "add"].map((label) => ({
    label,
    hint: "",
    detail: "",
    act: () => taken.push(label),
  }));
  const choices = async (query: string) => all.filter(({ label }) => label.includes(query));
  chooser.open({ title: "Add", text: "", none: "nothing", choices }, [0, 0], [900, 600]);
  const input = chooser.root.querySelector("input") as HTMLInputElement;
  const settle = () => new Promise((done) => setImmediate(done));
  await settle();
  press(input, "ArrowUp");
  await chooser.renew(); // the drawing has changed: the chosen row stays
  press(input, "Enter");
  assert.deepEqual([taken, chooser.isOpen, left], [["add"], false, 1]);
  chooser.open({ title: "Add", text: "elu", none: "nothing", choices }, [0, 0], [900, 600]);
  press(input, "Enter"); // before the list has come
  await settle();
  assert.deepEqual(taken, ["add", "relu"]);
  chooser.open({ title: "Add", text: "zzz", none: "nothing", choices }, [0, 0], [900, 600]);
  await settle();
  assert.deepEqual(said, ["nothing"]);
  press(input, "Escape");
  assert.equal(chooser.isOpen, false);
  chooser.root.remove();
});

test("what is copied is the Python of the selected nodes, in their order", () => {
  const { workspace, sent, said, edits } = chain();
  const clipboard = new NodeClipboard(workspace, document.createElement("div"));
  workspace.select(["c", "a"]);
  clipboard.copy(true);
  assert.ok(sent.some((one) => one.type === "copy" && `${one.nodes}` === "a,c"));
  assert.deepEqual(edits(), [{ edit: "delete", nodes: ["a", "c"], heal: false }]);
  assert.deepEqual(said, ["2 nodes cut as Python"]);
});

test("lists for connections: free inputs first, and a refusal where there is none", async () => {
  const { workspace, said } = chain();
  const asked: { title: string; at: unknown }[] = [];
  const choose = ({ title }: { title: string }, at: unknown): number => asked.push({ title, at });
  workspace.select(["a"]);
  connectInput(workspace, choose);
  assert.deepEqual([asked, said], [[], ["a has no input"]]);
  workspace.select(["c"]);
  connectInput(workspace, choose);
  connectFromList(workspace, choose);
  assert.equal(asked[0]?.title, "Which input of c");
  assert.deepEqual(asked[0]?.at, placeOf(workspace, "c"));
  assert.equal(asked.length, 2);
  assert.equal(placeOf(workspace, "nobody"), null);
});

test("a wire is bent, its bend is taken out, and it is cut", () => {
  const { workspace, edits } = chain();
  const wire = workspace.model.connections.find(({ to }) => to === "b");
  assert.ok(wire);
  assert.equal(wireText(wire), "a to inputs[0] of b");
  assert.deepEqual(routed(wire, [[1.4, 2.6]]).points, [[1, 3]]);
  nudgeBends(workspace, wire, 0, 50);
  const [bend, ...more] = workspace.model.route(wire) ?? [];
  assert.ok(bend && !more.length);
  nudgeBends(workspace, wire, 5, 0);
  assert.deepEqual(workspace.model.route(wire), [[bend[0] + 5, bend[1]]]);
  removeBend(workspace, wire, 0);
  assert.equal(workspace.model.route(wire) ?? null, null);
  cut(workspace, wire);
  const sent = edits();
  assert.deepEqual(
    sent.map(({ edit }) => edit),
    ["route", "route", "route", "disconnect"],
  );
});

test("bends move with both ends of their wire, not with one; places of the layout are sent along", () => {
  const { workspace } = chain();
  const wire = workspace.model.connections.find(({ to }) => to === "b");
  assert.ok(wire);
  nudgeBends(workspace, wire, 0, 50);
  const [bend] = workspace.model.route(wire) ?? [];
  assert.ok(bend);
  const before = workspace.scene.rects(["a", "b"]);
  const moved = (...ids: string[]) =>
    new Map(
      [...before]
        .filter(([id]) => ids.includes(id))
        .map(([id, { x, y }]) => [id, [x + 10, y + 20] as const]),
    );
  assert.deepEqual(routesMoved(workspace.model, before, moved("a")), []);
  const [route] = routesMoved(workspace.model, before, moved("a", "b"));
  assert.deepEqual(route?.bends, [[bend[0] + 10, bend[1] + 20]]);
  const edits = movesOf(workspace, before, moved("a", "b"));
  assert.deepEqual(
    edits.map(({ edit }) => edit),
    ["move", "route"],
  );
  assert.deepEqual(Object.keys(withAutomatic(workspace.model, moved("a"))), ["a", "c"]);
});

test("a dragged wire ends at the nearest port, or at the first free one of a node", () => {
  const { workspace } = workspaceOf([
    node("a"),
    {
      ...node("b", ["a", "a"]),
      inputs: node("b", ["a", "a"]).inputs.map((one, k) => (k ? { ...one, wire: null } : one)),
    },
  ]);
  const from = { node: "a", side: "out", row: 0 } as const;
  const rect = workspace.scene.rect("b");
  const port = workspace.scene.portPoint({ node: "b", side: "in", row: 0 });
  assert.ok(rect && port);
  assert.deepEqual(targetAt(workspace, from, port), { node: "b", side: "in", row: 0 });
  const inside = [rect.x + rect.width - 5, rect.y + 5] as const;
  assert.deepEqual(targetAt(workspace, from, inside), { node: "b", side: "in", row: 1 });
  assert.equal(targetAt(workspace, from, [5000, 5000]), null);
});

// What the chooser's list offers: calls that fit, targets of a wire with reasons, and nodes to go to.
import "../page";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PaletteEntry } from "../../src/protocol/builder";
import { calls, search, sources, targets } from "../../src/views/builder/palette";
import { drawing, node, workspaceOf } from "./samples";

const entry = (call: string, port = ""): PaletteEntry =>
  ({ call, port, group: "math", doc: `what ${call} does`, parameters: {} }) as PaletteEntry;
const chain = () => workspaceOf([node("a"), node("b", ["a"]), node("c")]);

type Chain = ReturnType<typeof chain>;

/** Answers the palette's requests: what fits, and all. */
function answer({ workspace, sent }: Chain, fitting: PaletteEntry[], all: PaletteEntry[]): void {
  for (const one of sent.splice(0))
    if (one.type === "palette") {
      const entries = one.wire || one.port ? fitting : all;
      workspace.session.receive({ type: "palette", request: one.request, entries } as never);
    }
}

test("a call is added at the point, connected to the wire, with the parameters of the query", async () => {
  const all = chain();
  const wire = { node: "a", output: 0 };
  const asked = calls(all.workspace, { wire }, [50, 900]).choices("dense units=3");
  const [request] = all.sent;
  assert.ok(request?.type === "palette" && request.query === "dense");
  answer(all, [entry("tf.layers.dense", "inputs")], []);
  const [choice] = await asked;
  assert.deepEqual([choice?.hint, choice?.detail], ["to inputs", "units=3"]);
  choice?.act();
  const [edit] = all.edits();
  assert.ok(edit?.edit === "add");
  assert.deepEqual(edit.wires, [["inputs", wire]]);
  assert.deepEqual([edit.call, edit.parameters], ["tf.layers.dense", { units: "3" }]);
  assert.ok(edit.position && edit.position[0] === 50);
});

test("with a word all calls are ranked by it, and only those that fit are connected", async () => {
  const all = chain();
  const wire = { node: "a", output: 0 };
  const question = calls(all.workspace, { wire, isLoose: true }, null);
  const fitting = [entry("tf.exp", "x")];
  const every = [entry("tf.range"), entry("tf.exp", "x")];
  const labels = async (query: string): Promise<string[]> => {
    const asked = question.choices(query);
    answer(all, fitting, every);
    return (await asked).map(({ label, hint }) => `${label} ${hint}`);
  };
  assert.deepEqual(await labels("e"), ["tf.range math", "tf.exp to x"]);
  assert.deepEqual(await labels("  "), ["tf.exp to x", "tf.range math"]);
});

test("a new node covers none that is there, and goes left of the input that it feeds", async () => {
  const all = chain();
  const { workspace } = all;
  const asked = calls(workspace, { port: ["b", "inputs[0]"] }, null).choices("");
  answer(all, [entry("tf.zeros", "")], []);
  (await asked)[0]?.act();
  const [edit] = all.edits();
  const [b, a] = [workspace.scene.rect("b"), workspace.scene.rect("a")];
  assert.ok(edit?.edit === "add" && edit.position && a && b);
  assert.deepEqual(edit.to, [["b", "inputs[0]"]]);
  const [x, y] = edit.position as readonly [number, number];
  assert.ok(x < b.x);
  assert.ok(x > a.x + a.width || y > a.y + a.height || y + 92 < a.y || x + 180 < a.x);
});

test("inputs that refuse the wire come last, and say why instead of being connected", async () => {
  const all = chain();
  const { workspace, sent, said } = all;
  const question = targets(workspace, { node: "a", output: 0 });
  const [request] = sent;
  assert.ok(request?.type === "targets");
  workspace.session.receive({
    ...{ type: "targets", request: request.request, accepted: [["c", "x"]] },
    refused: [["b", "inputs[0]", "needs int32"]],
  } as never);
  const choices = await question.choices("");
  assert.deepEqual(
    choices.map(({ label, hint }) => `${label}: ${hint}`),
    ["c · x: add_n", "b · inputs[0]: refused"],
  );
  choices[1]?.act();
  assert.deepEqual([all.edits(), said.at(-1)], [[], "needs int32"]);
  choices[0]?.act();
  assert.deepEqual(all.edits(), [
    { edit: "connect", wire: { node: "a", output: 0 }, node: "c", port: "x" },
  ]);
  assert.deepEqual(await question.choices("nowhere"), []);
});

test("nodes are found by their names and calls", async () => {
  const went: string[] = [];
  const question = search(chain().workspace, (id) => went.push(id));
  const labels = async (query: string) => (await question.choices(query)).map((one) => one.label);
  assert.deepEqual(await labels("ADD b"), ["b"]);
  assert.deepEqual(await labels("nobody"), []);
  (await question.choices("c"))[0]?.act();
  assert.deepEqual(went, ["c"]);
});

test("a list that stays open names nodes as they are now", async () => {
  const { workspace, sent } = chain();
  const question = sources(workspace, "b", "inputs[0]");
  const int = { ...node("c"), outputs: [{ name: "total", dtype: "int32", shape: [2] }] };
  workspace.dispatch({ type: "drawing", drawing: drawing([int], ["a", "b", "c"]) });
  const asked = question.choices("");
  const [request] = sent;
  assert.ok(request?.type === "palette");
  const outputs = [{ node: "c", output: 0 }];
  workspace.session.receive({
    type: "palette",
    request: request.request,
    entries: [],
    outputs,
  } as never);
  assert.deepEqual(
    (await asked).map(({ label, hint }) => `${label}: ${hint}`),
    ["total: int32 2"],
  );
});

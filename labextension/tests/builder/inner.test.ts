// The body of a function as a canvas of its own: its edits become edits inside of the function on the outer canvas.
import "../page";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Drawing } from "../../src/protocol/builder";
import type { Compiled, Inside } from "../../src/protocol/builder_details";
import { CompiledView } from "../../src/views/builder/details/compiled";
import { Dock } from "../../src/views/builder/details/dock";
import { InnerChannel } from "../../src/views/builder/details/inner";
import { type FromBuilder, Session, type ToKernel } from "../../src/views/builder/state/session";
import { click, textsOf } from "../page";
import { drawing, node } from "./samples";

const insideOf = (ids: readonly string[], more: Partial<Inside> = {}) =>
  ({
    ...{ type: "inside", request: 0, node: "call", code: "def f(x): ...", calls: ["call"] },
    ...{ parameters: ["x", "y"], nodes: ids.map((id) => node(id)), count: 0, columns: "" },
    ...{ gradients: [], ...more },
  }) as unknown as Inside;

function opened() {
  const sent: ToKernel[] = [];
  const session = new Session((message) => sent.push(message));
  const channel = new InnerChannel(session, insideOf(["p", "q"]), () => ({
    canUndo: true,
    canRedo: false,
  }));
  const got: FromBuilder[] = [];
  const end = channel.receive((message) => got.push(message));
  const last = (): Drawing => {
    const message = got.at(-1);
    return message?.type === "drawing" ? message : assert.fail(message?.type);
  };
  /** Answers the last request or gesture of the outer session. */
  const answer = async (more: object): Promise<void> => {
    session.receive(more as never);
    await new Promise((done) => setImmediate(done));
  };
  return { sent, session, channel, got, end, last, answer };
}

test("the inner canvas gets the statements, the parameters as the first, and the undo of the outer one", () => {
  const { channel, got } = opened();
  channel.send({ type: "open" });
  const [shown, source] = got;
  assert.ok(shown?.type === "drawing" && source?.type === "source");
  assert.deepEqual([shown.order, shown.can_undo, shown.can_redo], [["p", "q"], true, false]);
  assert.deepEqual([shown.changed[0]?.title, shown.changed[0]?.source], ["parameters", "x\ny"]);
  assert.equal(source.source, "def f(x): ...");
});

test("a move stays here, and any other edit goes to the function, without the moves", async () => {
  const { channel, sent, last, answer } = opened();
  channel.send({ type: "open" });
  const move = { edit: "move", positions: { p: [5, 6], gone: [1, 1] } } as const;
  channel.send({ type: "gesture", gesture: 1, edits: [move] });
  assert.deepEqual([sent, last().positions, last().gesture], [[], { p: [5, 6] }, 1]);
  const rename = { edit: "rename", node: "q", name: "r" } as const;
  channel.send({ type: "gesture", gesture: 2, edits: [move, rename] });
  const [outer] = sent;
  assert.ok(outer?.type === "gesture");
  assert.deepEqual(outer.edits, [{ edit: "inside", node: "call", edits: [rename] }]);
  await answer({ ...drawing([], []), gesture: outer.gesture, message: "renamed" });
  const request = sent.at(-1);
  assert.ok(request?.type === "inside" && request.node === "call");
  await answer(insideOf(["p", "r"], { request: request.request }));
  assert.deepEqual([last().order, last().gesture, last().message], [["p", "r"], 2, "renamed"]);
  assert.deepEqual(last().selected, ["r"]); // the one node that is new
});

test("what is refused is said, and the statements are not asked for again", async () => {
  const { channel, sent, last, answer } = opened();
  channel.send({ type: "open" });
  channel.send({ type: "gesture", gesture: 7, edits: [{ edit: "bypass", nodes: ["q"] }] });
  const gesture = (sent[0] as { gesture: number }).gesture;
  await answer({ ...drawing([], []), gesture, message: "no", is_refused: true });
  assert.deepEqual([sent.length, last().is_refused, last().message], [1, true, "no"]);
});

test("runs are for the outer canvas; texts of statements and what fits a wire are not", async () => {
  const { channel, sent, got, last, answer } = opened();
  channel.send({ type: "run", node: "p", feeds: {} });
  assert.ok(last().is_refused && last().message.includes("outer canvas"));
  channel.send({ type: "copy", request: 9, nodes: ["q", "nobody"] });
  assert.deepEqual(got.at(-1), { type: "clipboard", request: 9, text: "q = tf.add_n([])\n" });
  const wire = { node: "p", output: 0 };
  channel.send({ type: "targets", request: 3, wire, inside: "" });
  const asked = sent.at(-1);
  assert.ok(asked?.type === "targets" && asked.inside === "call");
  await answer({ type: "targets", request: asked.request, accepted: [], refused: [] });
  assert.equal((got.at(-1) as { request: number }).request, 3);
});

test("a canvas that was closed hears nothing any more", () => {
  const { channel, got, end } = opened();
  end();
  channel.send({ type: "open" });
  assert.deepEqual(got, []);
});

test("what was compiled is listed by clusters, and stages that cannot be drawn say why", async () => {
  const went: string[] = [];
  const context = { go: (id: string) => went.push(id) };
  const dock = new Dock(
    () => {},
    () => {},
  );
  const clusters = [
    {
      ...{ name: "fused_0", device: "GPU:0", nodes: ["h", "y"], operations: ["Relu", "Exp"] },
      ...{ sources: ["__kernel <b>"], launches: ["4 × 64"], not_fused: [] },
    },
    {
      ...{ name: "copy", device: "CPU:0", nodes: [], operations: ["Send"] },
      ...{ sources: [], launches: [], not_fused: ["it is read twice"] },
    },
  ];
  const stages = [
    { name: "placed", count: 90_000, columns: "" },
    { name: "pruned", count: 0, columns: "" },
  ];
  const answer = { node: "y", stages, clusters } as unknown as Compiled;
  new CompiledView(context as never, dock).show(answer);
  assert.match(dock.root.textContent ?? "", /2 stages, 2 clusters/);
  assert.deepEqual(textsOf(dock.root, "pre"), ["__kernel <b>"]);
  assert.deepEqual(textsOf(dock.root, "li"), ["4 × 64", "it is read twice"]);
  assert.deepEqual(textsOf(dock.root, ".cluster .none"), ["It has no OpenCL of its own."]);
  const choice = dock.root.querySelector("select") ?? assert.fail("no choice");
  for (const [value, text] of [
    ["0", "placed: 90,000 nodes are too many to be drawn here"],
    ["1", "pruned: no node is left"],
  ] as const) {
    choice.value = value;
    choice.dispatchEvent(new Event("change"));
    await new Promise((done) => setImmediate(done));
    assert.equal(dock.root.querySelector(".graph-host")?.textContent, text);
    assert.equal(dock.root.querySelector<HTMLElement>(".sources")?.hidden, true);
  }
  click(dock.root, "h");
  assert.deepEqual([went, dock.kind], [["h"], ""]);
});

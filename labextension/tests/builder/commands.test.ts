// The commands of the builder: when each can be done, what it sends, and what it shows at once.
import "../page";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Choice, Question } from "../../src/views/builder/chooser";
import {
  type Actions,
  commandsOf,
  keysOf,
  keysText,
  prompt,
} from "../../src/views/builder/commands";
import { Details } from "../../src/views/builder/details/details";
import type { PanelContext } from "../../src/views/builder/details/panel_context";
import { feedsFor, runner, withLoss } from "../../src/views/builder/running";
import { layoutAll } from "../../src/views/graph/layout";
import { drawing, node, workspaceOf } from "./samples";

function builder(nodes = [node("a"), node("b", ["a"]), node("c", ["b"])]) {
  const all = workspaceOf(nodes);
  const questions: Question[] = [];
  const did: string[] = [];
  const done = (word: string) => (): void => void did.push(word);
  const actions: Actions = {
    layOut: async (jobs) => layoutAll(jobs),
    choose: (question) => questions.push(question),
    palette: done("palette"),
    openForm: done("form"),
    showSide: (side) => did.push(side),
    go: (id) => did.push(`go ${id}`),
    copy: (isCut) => did.push(isCut ? "cut" : "copy"),
    paste: done("paste"),
    run: (id) => did.push(`run ${id}`),
    train: (id) => did.push(`train ${id}`),
    fullScreen: done("full"),
    help: done("help"),
  };
  const commands = commandsOf(all.workspace, actions);
  const of = (id: string) => commands.find((one) => one.id === id) ?? assert.fail(id);
  /** Does a command, which has to be possible. */
  const run = (id: string): void => {
    assert.equal(of(id).can(), true, id);
    of(id).run();
  };
  const answer = async (text: string): Promise<void> => {
    const question = questions.at(-1) ?? assert.fail("nothing was asked");
    const [first] = await question.choices(text);
    (first ?? assert.fail(`no choice for ${text}`)).act();
  };
  return { ...all, questions, did, commands, of, run, answer };
}

test("each command has its own name; keys are shared only where one of two can be done", () => {
  const { commands, workspace } = builder();
  assert.equal(new Set(commands.map(({ id }) => id)).size, commands.length);
  for (const nodes of [[], ["a"], ["a", "b"]]) {
    workspace.select(nodes);
    const keys = commands.filter((one) => one.can()).flatMap((one) => one.keys);
    assert.equal(new Set(keys).size, keys.length, `with ${nodes.length} nodes`);
  }
});

test("commands follow the selection of the moment, not that of the beginning", () => {
  const { workspace, of, run, edits } = builder();
  assert.equal(of("delete").can(), false);
  workspace.select(["c", "a"]);
  run("delete");
  workspace.select(["b"]);
  run("dissolve");
  run("bypass");
  workspace.select([]);
  assert.equal(of("duplicate").can(), false);
  assert.deepEqual(edits(), [
    { edit: "delete", nodes: ["a", "c"], heal: false },
    { edit: "delete", nodes: ["b"], heal: true },
    { edit: "bypass", nodes: ["b"] },
  ]);
});

test("undo and redo can be done when the kernel says so", () => {
  const { workspace, of } = builder();
  assert.deepEqual([of("undo").can(), of("redo").can()], [false, false]);
  const after = { ...drawing([], ["a", "b", "c"]), can_undo: true };
  workspace.dispatch({ type: "drawing", drawing: after });
  assert.deepEqual([of("undo").can(), of("redo").can()], [true, false]);
});

test("a selected wire is what Delete cuts", () => {
  const { workspace, run, edits } = builder();
  workspace.selectWire(workspace.model.connections[1] ?? null);
  run("delete");
  assert.deepEqual(edits(), [{ edit: "disconnect", node: "c", port: "inputs[0]" }]);
});

test("a name is asked for; an empty one and the same one rename nothing", async () => {
  const { workspace, run, answer, edits } = builder();
  workspace.select(["b"]);
  run("rename");
  await answer("b");
  await answer("  ");
  assert.deepEqual(edits(), []);
  await answer(" hidden ");
  assert.deepEqual(edits(), [{ edit: "rename", node: "b", name: "hidden" }]);
});

test("groups, frames and notes are of the selected nodes, frames in one colour after another", async () => {
  const { workspace, run, answer, edits } = builder();
  workspace.select(["b", "a"]);
  run("group");
  await answer("block");
  run("frame");
  await answer("part");
  run("note");
  await answer("");
  const frames = [{ id: "f", title: "", colour: "blue", nodes: ["a"] }];
  workspace.dispatch({ type: "drawing", drawing: { ...drawing([], ["a", "b", "c"]), frames } });
  run("frame");
  await answer("other");
  assert.deepEqual(edits(), [
    { edit: "group", nodes: ["a", "b"], name: "block" },
    { edit: "frame", id: "", title: "part", colour: "blue", nodes: ["a", "b"] },
    { edit: "frame", id: "", title: "other", colour: "orange", nodes: ["a", "b"] },
  ]);
});

test("everything above or below a node is selected with it", () => {
  const { workspace, run } = builder();
  workspace.select(["b"]);
  run("inputs");
  assert.deepEqual([...workspace.selected].sort(), ["a", "b"]);
  assert.equal(workspace.current, "b");
  run("outputs");
  assert.deepEqual([...workspace.selected].sort(), ["a", "b", "c"]);
});

test("nodes are aligned, spread and nudged at once, each as one move", () => {
  const { workspace, of, run, edits } = builder();
  workspace.dispatch({ type: "moved", places: new Map([["b", [350, 90]]]), routes: new Map() });
  workspace.select(["a", "b"]);
  assert.equal(of("distribute-x").can(), false);
  run("align-top");
  assert.deepEqual(workspace.model.home("b"), [350, 40]);
  run("move-ArrowDown");
  assert.deepEqual(
    [workspace.model.home("a"), workspace.model.home("b")],
    [
      [0, 50],
      [350, 50],
    ],
  );
  workspace.select(["a", "b", "c"]);
  run("distribute-x");
  const rects = [...workspace.scene.rects().values()];
  const gaps = rects.slice(1).map((r, k) => r.x - (rects[k]?.x ?? 0) - (rects[k]?.width ?? 0));
  assert.ok(Math.abs((gaps[0] ?? 0) - (gaps[1] ?? 99)) <= 1);
  assert.deepEqual(
    edits().map(({ edit }) => edit),
    ["move", "move", "move"],
  );
});

test("straightened wires lose their bends in the same step of undo", () => {
  const { workspace, run, sent } = builder();
  const places = new Map([["b", [300, 200] as const]]);
  workspace.dispatch({ type: "moved", places, routes: new Map([["b>inputs[0]", [200, 300]]]) });
  workspace.select(["a", "b"]);
  run("straighten");
  const [wire] = workspace.model.connections;
  const [from, to] = (wire && workspace.scene.ends(wire)) ?? assert.fail("no wire");
  assert.equal(from[1], to[1]);
  assert.equal(wire && workspace.model.route(wire), null);
  const gestures = sent.flatMap((one) => (one.type === "gesture" ? [one.edits] : []));
  assert.deepEqual(
    gestures.map((edits) => edits.map(({ edit }) => edit)),
    [["move", "route"]],
  );
});

test("routes that the notebook has kept are told with the first change of a place, and once", () => {
  const { workspace, run, edits } = builder();
  workspace.dispatch({ type: "kept routes", routes: { "c>inputs[0]": [500, 9], "x>y": [1, 2] } });
  workspace.select(["a"]);
  run("move-ArrowUp");
  run("move-ArrowUp");
  assert.deepEqual(
    edits().map((edit) => (edit.edit === "route" ? edit.points : edit.edit)),
    ["move", [[500, 9]], "move"],
  );
  assert.equal(workspace.state.places.keptRoutes.size, 0);
});

test("the bends of a selected wire are aligned instead of nodes", () => {
  const { workspace, run } = builder();
  const [wire] = workspace.model.connections;
  assert.ok(wire);
  const routes = new Map([["b>inputs[0]", [150, 300, 200, 340]]]);
  workspace.dispatch({ type: "routed", routes });
  workspace.selectWire(wire);
  run("align-top");
  assert.deepEqual(workspace.model.route(wire), [
    [150, 300],
    [200, 300],
  ]);
});

test("a tidied graph keeps its upper left corner and its order", async () => {
  const { workspace, run, edits } = builder();
  workspace.dispatch({
    type: "moved",
    places: new Map([
      ["a", [900, 500]],
      ["b", [700, 100]],
    ]),
    routes: new Map(),
  });
  const before = workspace.scene.bounds();
  run("tidy");
  await new Promise((done) => setTimeout(done, 20));
  const after = workspace.scene.bounds();
  assert.deepEqual([after?.x, after?.y], [before?.x, before?.y]);
  const [a, b, c] = ["a", "b", "c"].map((id) => workspace.scene.rect(id)?.x ?? Number.NaN);
  assert.ok(a !== undefined && b !== undefined && c !== undefined && a < b && b < c);
  assert.equal(edits().length, 1);
});

test("an optimizer is offered for floats only", async () => {
  const int = { ...node("n"), outputs: [{ name: "n", dtype: "int32", shape: [] }] };
  const { workspace, of, run, answer, edits } = builder([node("a"), int]);
  workspace.select(["n"]);
  assert.equal(of("minimize").can(), false);
  workspace.select(["a"]);
  run("minimize");
  await answer("momentum");
  assert.deepEqual(edits(), [
    {
      edit: "minimize",
      node: "a",
      optimizer: "tf.train.MomentumOptimizer",
      parameters: { momentum: "0.9" },
    },
  ]);
});

test("keys are named as commands name them, and shown as people read them", () => {
  const keys = (key: string, more: KeyboardEventInit = {}): string =>
    keysOf(new KeyboardEvent("keydown", { key, ...more }));
  assert.equal(keys("Z", { ctrlKey: true, shiftKey: true }), "shift+mod+z");
  assert.equal(keys("?", { shiftKey: true }), "?"); // Shift is needed to type it
  assert.equal(keys("ArrowUp", { altKey: true }), "alt+ArrowUp");
  assert.equal(keys("x", { metaKey: true }), "mod+x");
  const text = (key: string): string => keysText({ keys: [key] } as never);
  assert.deepEqual(["+", "mod+z", "Delete"].map(text), ["+", "Ctrl+Z", "Delete"]);
  assert.equal(keysText({ keys: [] } as never), "");
});

test("a prompt gives the text without the spaces around it", async () => {
  const got: string[] = [];
  const question = prompt("Title", "part", (text) => got.push(text));
  const [choice] = (await question.choices("  new ")) as Choice[];
  choice?.act();
  assert.deepEqual([got, (await question.choices(""))[0]?.label], [["new"], "(empty)"]);
});

// ---- runs and details ------------------------------------------------------------------------------

const point = (step: number, state: "running" | "done" | "failed" = "running") =>
  ({ type: "training", node: "c", step, value: 1, is_finite: true, state, needs: [] }) as never;

test("a curve of losses grows without changing the one before, and keeps the last points", () => {
  const first = withLoss(undefined, point(1));
  const second = withLoss(first, point(2, "done"));
  assert.deepEqual([first.losses.length, second.losses.length], [1, 2]);
  assert.deepEqual([first.isRunning, second.isRunning], [true, false]);
  let panel = first;
  for (let step = 2; step <= 5003; step++) panel = withLoss(panel, point(step));
  assert.deepEqual([panel.losses.length, panel.losses[0]?.step], [5000, 4]);
});

test("examples of feeds fit the placeholder; of none there is a number", () => {
  const labels = (dtype: string, shape: (number | null)[] | null): string[] =>
    feedsFor({ name: "x", dtype, shape }).map(([label]) => label);
  assert.ok(labels("float32", [null, 784]).includes("digits.rows(step)"));
  assert.ok(!labels("int32", [null, 784]).includes("digits.rows(step)"));
  assert.deepEqual(labels("int64", [null])[0], "digits.labels(step)");
  assert.deepEqual(labels("float32", [2, null]), ["np.zeros([2, 1])", "np.random.rand(2, 1)"]);
  assert.deepEqual([labels("bool", []), labels("int32", null)], [["True"], ["1"]]);
});

test("a training asks for steps, is stopped by the same command, and drops what failed", async () => {
  const loss = { ...node("c", ["b"]), outputs: [{ name: "c", dtype: "float32", shape: [] }] };
  const { workspace, sent } = workspaceOf([node("a"), node("b", ["a"]), loss, node("t", ["c"])]);
  const asked: Question[] = [];
  const running = runner(workspace, (question) => asked.push(question));
  running.train("t");
  assert.deepEqual(await asked[0]?.choices("no number"), []);
  (await asked[0]?.choices("50"))?.[0]?.act();
  assert.deepEqual(sent.at(-1), { type: "train", node: "t", loss: "c", steps: 50, feeds: {} });
  running.loss({ ...(point(1) as object), progress: "1 of 50", message: "" } as never);
  running.train("t");
  assert.deepEqual((sent.at(-1) as { type: string }).type, "stop");
  running.loss({ ...(point(0, "failed") as object), needs: ["a"], message: "feed a" } as never);
  assert.equal(workspace.state.panels.has("c"), false);
  assert.match(asked.at(-1)?.title ?? "", /Value of a/);
});

test("details ask the kernel about the selected node, or the last one, and say what it refuses", async () => {
  const { workspace, sent, said } = workspaceOf([node("a"), node("b", ["a"])]);
  const fed: (readonly string[])[] = [];
  const context: PanelContext = {
    ...{ choose: () => {}, go: () => {}, leave: () => {}, feeds: () => ({ x: "1" }) },
    askFeeds: (needs) => fed.push(needs),
    inner: () => assert.fail("no canvas is opened"),
  };
  const details = new Details(workspace, context);
  const run = (id: string): void =>
    (details.commands().find((one) => one.id === id) ?? assert.fail(id)).run();
  const reply = async (more: object): Promise<void> => {
    const { request } = sent.at(-1) as { request: number };
    workspace.session.receive({ request, needs: [], error: "", ...more } as never);
    await new Promise((done) => setImmediate(done));
  };
  run("profile");
  assert.deepEqual({ ...sent.at(-1), request: 0 }, {
    ...{ type: "profile", request: 0, node: "b", feeds: { x: "1" } },
  } as never);
  await reply({ type: "profile", error: "no device" });
  assert.equal(said.at(-1), "no device");
  workspace.select(["a"]);
  run("compiled");
  assert.equal((sent.at(-1) as { node: string }).node, "a");
  await reply({ type: "compiled", needs: ["x"] });
  assert.deepEqual(fed, [["x"]]);
  workspace.select([]);
  run("route");
  assert.equal(said.at(-1), "no wire comes in here");
  run("probe");
  assert.equal(said.at(-1), "it has no output");
  workspace.select(["b"]);
  run("probe");
  assert.deepEqual(sent.at(-1), { type: "probes", wires: [["b", 0]] });
});

// What the builder shows around its canvas, from answers of a kernel: elements, their texts, and what their buttons do.
import "../page";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunValue } from "../../src/protocol/builder";
import type { Compared, Devices, Lessons, Profile } from "../../src/protocol/builder_details";
import { Bar } from "../../src/views/builder/bar";
import type { Command } from "../../src/views/builder/commands";
import { showCompared } from "../../src/views/builder/details/compare";
import { Dock } from "../../src/views/builder/details/dock";
import { bytesOf, isImport } from "../../src/views/builder/details/inside";
import { Lanes } from "../../src/views/builder/details/lanes";
import { LessonPane } from "../../src/views/builder/details/lesson";
import { Marks } from "../../src/views/builder/details/marks";
import type { PanelContext } from "../../src/views/builder/details/panel_context";
import { Probes } from "../../src/views/builder/details/probes";
import { showProfile, timeText } from "../../src/views/builder/details/profile";
import { Inspector } from "../../src/views/builder/inspector";
import { LiveRegion } from "../../src/views/builder/live_region";
import { runner } from "../../src/views/builder/running";
import { click, press, textsOf } from "../page";
import { node, workspaceOf } from "./samples";

const answer = { request: 1, node: "c", error: "", needs: [] } as const;
const chain = () => workspaceOf([node("a"), node("b", ["a"]), node("c", ["b"])]);

/** The panels' surroundings, with where they went. */
function surroundings() {
  const went: string[] = [];
  const context: PanelContext = {
    choose: () => {},
    go: (id) => went.push(id),
    leave: () => went.push("canvas"),
    feeds: () => ({}),
    askFeeds: (_, done) => done(),
    inner: () => assert.fail("no canvas is opened"),
  };
  const said: string[] = [];
  const dock = new Dock(context.leave, (text) => said.push(text));
  return { went, context, dock, said };
}

test("a refusal stays in sight, and progress does not replace it", () => {
  const live = new LiveRegion();
  live.say("b takes no string", true, [10, 20]);
  live.progress("step 3");
  assert.equal(live.status.textContent, "b takes no string");
  assert.deepEqual([live.toast.hidden, live.toast.style.top], [false, "34px"]);
  live.say("done");
  assert.deepEqual([live.toast.hidden, live.status.className], [true, "status"]);
  live.wait("waiting");
  live.status.textContent = "";
  live.wait("waiting");
  assert.equal(live.status.textContent, "");
  live.keep("the kernel has ended");
  assert.equal(live.notice.textContent, "the kernel has ended");
  live.dispose();
});

test("the dock shows one thing, says so, and is closed by Escape outside of a filled field", () => {
  const { dock, said } = surroundings();
  const closed: string[] = [];
  const field = document.createElement("input");
  dock.open({
    kind: "x",
    title: "First",
    note: "Of two.",
    content: [],
    closed: () => closed.push("x"),
  });
  dock.open({ kind: "y", title: "Second", content: [field], closed: () => closed.push("y") });
  assert.deepEqual([closed, said, dock.kind], [["x"], ["First. Of two.", "Second"], "y"]);
  dock.rename("Renamed", "", []);
  assert.deepEqual(textsOf(dock.root, "h3"), ["Renamed"]);
  field.value = "text";
  press(field, "Escape");
  assert.equal(dock.kind, "y");
  field.value = "";
  press(field, "Escape");
  assert.deepEqual([closed, dock.kind, dock.root.hidden], [["x", "y"], "", true]);
});

test("variants are compared: where they differ first is the cause", () => {
  const { workspace } = chain();
  const { dock, context, went } = surroundings();
  const marks = new Marks(workspace);
  const differences = [
    { a: "b", b: "c", problem: "by 0.5", absolute: 0.5, relative: 1 },
  ] as unknown as Compared["differences"];
  showCompared({ ...answer, type: "compare", differences, equal: ["a"] }, dock, marks, context);
  assert.match(dock.root.textContent ?? "", /1 of 2 nodes differ, first b\. The same in both: a\./);
  marks.draw();
  const marked = [...marks.root.children].map((one) => one.textContent);
  assert.deepEqual(marked, ["= the same in B", "≠ first here, by 0.5", "≠ first here, by 0.5"]);
  assert.equal(workspace.state.marks.size, 3);
  click(dock.root, "c");
  assert.deepEqual(went, ["c"]);
  dock.close();
  assert.equal(workspace.state.marks.size, 0);
});

test("times of a step are listed and marked at the nodes", () => {
  const { workspace } = chain();
  const { dock, context, went } = surroundings();
  const marks = new Marks(workspace);
  const times = [
    { node: "a", microseconds: 300, start: 0, end: 300, kernels: 1, device: "CPU:0" },
    { node: "b", microseconds: 1500, start: 300, end: 1800, kernels: 2, device: "CPU:0" },
  ] as unknown as Profile["times"];
  showProfile(
    { ...answer, type: "profile", times, microseconds: 2000, other: 200 },
    dock,
    marks,
    context,
  );
  assert.equal(workspace.state.marks.size, 2);
  assert.ok((dock.root.textContent ?? "").includes(timeText(1500)));
  click(dock.root, "b");
  assert.deepEqual(went, ["b"]);
});

test("devices are lanes: a constraint may name a part, and the selection is placed", () => {
  const { workspace, edits, said } = chain();
  const { dock, context } = surroundings();
  const lanes = new Lanes(workspace, context, dock);
  const gpu = "/job:worker/replica:0/task:1/device:GPU:0";
  const devices = [{ name: gpu, kind: "GPU", bytes: 2 ** 31 }];
  const shown: Devices = {
    ...answer,
    type: "devices",
    devices,
    constraints: { b: "/device:GPU:0", c: "/device:TPU:9" },
  };
  lanes.show(shown);
  const found = [...dock.root.querySelectorAll(".lane")].map((lane) => [
    textsOf(lane, "b")[0],
    textsOf(lane, ".chip"),
  ]);
  assert.deepEqual(found, [
    ["any device", ["a"]],
    ["worker 1, GPU:0", ["b"]],
    ["TPU:9", ["c"]],
  ]);
  assert.match(dock.root.textContent ?? "", /GPU, 2 GiB/);
  click(dock.root, "Place the selection here");
  assert.deepEqual([edits(), said], [[], ["select the nodes first"]]);
  workspace.select(["a"]);
  click(dock.root, "Place the selection here");
  assert.deepEqual(edits(), [{ edit: "device", nodes: ["a"], device: gpu }]);
});

test("a lesson is begun, checked, and followed by the next", async () => {
  const { workspace, sent, edits } = chain();
  const { context, went } = surroundings();
  const pane = new LessonPane(workspace, context);
  const reply = (more: Partial<Lessons>): Promise<void> => {
    const last = sent[sent.length - 1];
    assert.ok(last && "request" in last);
    workspace.session.receive({
      ...answer,
      type: "lesson",
      request: last.request,
      lessons: [],
      lesson: "",
      is_done: false,
      hint: "",
      kind: "",
      ...more,
    } as never);
    return new Promise((done) => setImmediate(done));
  };
  const lessons = ["one", "two"].map((id) => ({
    id,
    title: `Lesson ${id}`,
    text: "Build.",
    start: id,
  }));
  void pane.show();
  await reply({ lessons });
  assert.deepEqual(textsOf(pane.root, "b"), ["1. Lesson one", "2. Lesson two"]);
  pane.root.querySelector("button")?.click();
  assert.deepEqual(edits(), [{ edit: "source", source: "one" }]);
  click(pane.root, "Check");
  await reply({ hint: "b is missing", node: "b" });
  click(pane.root, "Go to b");
  assert.deepEqual(went, ["b"]);
  click(pane.root, "Check");
  await reply({ is_done: true, hint: "right" });
  assert.match(textsOf(pane.root, ".hint.done")[0] ?? "", /^✓ right/);
  click(pane.root, "Next: Lesson two");
  click(pane.root, "All lessons");
  assert.deepEqual(textsOf(pane.root, "b"), ["1. Lesson one ✓", "2. Lesson two"]);
});

const value = (text: string, mean: number | null): RunValue => ({
  name: "a",
  dtype: "float32",
  shape: [],
  text,
  image: "",
  histogram: [],
  nan_count: 0,
  inf_count: 0,
  least: mean,
  largest: mean,
  mean,
});

test("a probe shows each step, begins again with another training, and ends with its node", () => {
  const { workspace, sent } = chain();
  const probes = new Probes(workspace);
  probes.toggle({ node: "a", output: 0 });
  assert.deepEqual(sent[sent.length - 1], { type: "probes", wires: [["a", 0]] });
  const receive = (step: number, shown: RunValue | null, error = ""): void =>
    probes.receive({ type: "probed", node: "a", output: 0, step, value: shown, error } as never);
  receive(1, value("0.5", 0.5));
  receive(2, value("0.25", 0.25));
  const element = probes.root.firstElementChild as HTMLElement;
  assert.match(element.textContent ?? "", /step 2: 0\.25/);
  assert.equal(element.dataset.mean, "0.25");
  receive(3, null, "it failed");
  assert.match(element.textContent ?? "", /it failed/);
  probes.keep((id) => id !== "a");
  assert.deepEqual([probes.size, probes.root.childElementCount], [0, 0]);
  assert.deepEqual(sent[sent.length - 1], { type: "probes", wires: [] });
});

test("buttons of the bar are off while their command cannot be done; counts are below", () => {
  const { workspace } = chain();
  let can = false;
  const ran: string[] = [];
  const undo: Command = {
    id: "undo",
    label: "Undo",
    keys: ["mod+z"],
    can: () => can,
    run: () => {},
  };
  const bar = new Bar(workspace, [undo], (id) => ran.push(id));
  const control = bar.root.querySelector<HTMLButtonElement>("[data-command=undo]");
  assert.equal(control?.disabled, true);
  can = true;
  bar.draw();
  control?.click();
  assert.deepEqual([control?.disabled, ran], [false, ["undo"]]);
  assert.equal(bar.totals.textContent, "3 nodes · 0 parameters");
  click(bar.root, "✥ Pan");
  assert.equal(workspace.state.hand, true);
});

test("the inspector keeps what is typed, and its tabs are walked by arrows", () => {
  const { workspace, edits } = chain();
  const host = {
    run: () => {},
    go: () => {},
    choose: () => {},
    leave: () => {},
    command: () => null,
  };
  const lesson = { root: document.createElement("div"), show: async () => {} };
  const inspector = new Inspector(workspace, host, "t", lesson);
  inspector.setSource("y = x\n");
  const code = inspector.root.querySelector("textarea") as HTMLTextAreaElement;
  assert.equal(code.value, "y = x\n");
  inspector.show("node");
  const [first] = inspector.root.querySelectorAll<HTMLElement>("[role=tab]");
  assert.ok(first && press(first, "ArrowLeft"));
  assert.deepEqual(
    [...inspector.root.children].filter((pane) => !(pane as HTMLElement).hidden).slice(1),
    [lesson.root],
  );
  inspector.addLog("y = tf.add(a, b)");
  assert.deepEqual(textsOf(inspector.root, ".log pre"), ["y = tf.add(a, b)"]);
  inspector.setWaiting("line 3 does not parse");
  assert.equal(inspector.root.querySelector<HTMLElement>(".waits")?.hidden, false);
  workspace.select(["b"]);
  inspector.show("node");
  inspector.drawNode();
  const name = inspector.root.querySelector<HTMLInputElement>("input.rename");
  assert.ok(name);
  name.value = " sum ";
  name.dispatchEvent(new Event("change"));
  assert.deepEqual(edits(), [{ edit: "rename", node: "b", name: "sum" }]);
  inspector.dispose();
});

test("a placeholder that has been fed is asked for again; a result is shown at its node", () => {
  const { workspace, sent, said } = chain();
  const asked: string[] = [];
  const running = runner(workspace, ({ title }) => asked.push(title));
  running.run("b");
  assert.deepEqual(sent[sent.length - 1], { type: "run", node: "b", feeds: {} });
  assert.equal(workspace.state.panels.get("b")?.isRunning, true);
  const result = { type: "result", node: "b", milliseconds: 2, needs: [] as string[] } as const;
  running.result({ ...result, error: "", values: [value("7", 7)] });
  assert.equal(workspace.state.panels.get("b")?.isRunning, false);
  running.result({ ...result, error: "x has no value", values: [], needs: ["a"] });
  assert.equal(asked.length, 1);
  assert.ok(said.includes("running b"));
});

test("columns of a block are base64, and imports are known by their call", () => {
  assert.deepEqual([...bytesOf("AP8q")], [0, 255, 42]);
  assert.ok(isImport("tf.import_graph_def") && !isImport("tf.my_import_graph_def"));
});

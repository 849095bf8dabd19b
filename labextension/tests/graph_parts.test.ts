// The parts of the graph view around its drawing: search, selection, ports, colours, the bar, and the layout's worker.
import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ColourBy } from "../src/protocol/graph";
import { Camera } from "../src/views/graph/camera";
import { Layouter } from "../src/views/graph/layouter";
import { Tracer } from "../src/views/graph/marks";
import { Minimap } from "../src/views/graph/minimap";
import { PAPER, Palette } from "../src/views/graph/palette";
import { portsOf } from "../src/views/graph/ports";
import { toSvg } from "../src/views/graph/save";
import type { Scene } from "../src/views/graph/scene";
import { Search } from "../src/views/graph/search";
import { Selection } from "../src/views/graph/selection";
import { Toolbar } from "../src/views/graph/toolbar";
import { graphOf } from "./graph_samples";
import { click, press, textsOf } from "./page";

const never = (): never => assert.fail("nothing is done");
const chain = () => graphOf([2, 3, 5], [3, 5, 6]);

test("all words have to be in the path or the type; short names come first", async () => {
  const search = new Search(await chain(), never, never, never);
  assert.deepEqual(search.matches("x"), [2, 5]);
  assert.deepEqual(search.matches("B/ x"), [5]);
  assert.deepEqual(search.matches("add").length, 7);
  for (const text of ["", "   ", "nowhere", "x y"]) assert.deepEqual(search.matches(text), []);
  assert.deepEqual(search.matches("<B>"), [6]);
  const main = [-1, -1, -1, -1, 6, -1, -1, -1]; // box 6 is called as its scope, which is found already
  const other = new Search(await graphOf([2], [3], { main }), never, never, never);
  assert.deepEqual(other.matches("b"), [4, 5]);
});

test("a match is gone to by Enter, by the arrows, or not at all", async () => {
  const went: number[] = [];
  const said: string[] = [];
  let left = 0;
  const search = new Search(
    await chain(),
    (box) => went.push(box),
    (text) => said.push(text),
    () => left++,
  );
  document.body.append(search.input, search.list);
  const type = (text: string): void => {
    search.input.value = text;
    search.input.dispatchEvent(new Event("input"));
  };
  type("x");
  assert.deepEqual(textsOf(search.list, "span"), ["a/x", "b/x"]);
  search.focus();
  press(search.input, "Enter");
  assert.deepEqual([went, search.list.hidden], [[2], true]);
  type("x");
  press(search.input, "ArrowDown");
  press(document.activeElement as Element, "ArrowDown");
  press(document.activeElement as Element, "ArrowDown"); // there is no further one
  press(document.activeElement as Element, "Enter");
  assert.deepEqual(went, [2, 5]);
  type("nowhere");
  assert.deepEqual(
    [textsOf(search.list, ".rest"), said.at(-1)],
    [["no node matches"], "0 matches"],
  );
  assert.ok(press(search.input, "Escape"));
  assert.deepEqual([left, search.input.value, search.list.hidden], [1, "", true]);
  assert.equal(press(search.input, "a"), false);
});

test("the selection lights the neighbours, or all inputs until they are asked for again", async () => {
  let changes = 0;
  const selection = new Selection(new Tracer(await chain()), () => changes++);
  assert.equal(selection.select(5), true);
  assert.equal(selection.select(5), false);
  assert.deepEqual([selection.marks?.box(2), selection.marks?.box(3)], [false, true]);
  selection.trace("inputs");
  assert.deepEqual([selection.traced, selection.marks?.box(2)], ["inputs", true]);
  selection.trace("inputs");
  assert.deepEqual([selection.traced, selection.marks?.box(2)], [null, false]);
  selection.trace("outputs");
  selection.select(-1);
  assert.deepEqual([selection.traced, selection.marks], [null, null]);
  const before = changes;
  assert.deepEqual([selection.hover(3), selection.hover(3)], [true, false]);
  assert.equal(changes, before + 1);
});

test("parts at the border of a scope have stubs; of many only those where the flow begins and ends", async () => {
  const few = await graphOf([2], [3], { inlet: [0, 0, 1, 1, 0, 0, 0, 0] });
  assert.deepEqual([...portsOf(few, 1, [2, 3]).inlet], [2, 3]);
  assert.deepEqual([...portsOf(few, 1, [2, 3]).outlet], []);
  assert.deepEqual([...portsOf(few, 0, [1, 4, 7]).inlet], []); // nothing is outside of everything
  const parent = [-1, 0, 1, 1, 1, 1, 1, 1];
  const many = await graphOf([2], [3], {
    parent,
    inlet: parent.map(() => 1),
    start: [2],
    stop: [3],
  });
  assert.deepEqual([...portsOf(many, 1, [2, 3, 4, 5, 6, 7]).inlet], [2, 4, 5, 6, 7]);
});

test("colours are offered for what the graph knows", async () => {
  assert.deepEqual(Palette.choices(await chain()), ["structure"]);
  const time = [0, 0, 0, 0, 0, 0, 0, 0];
  const none = await graphOf([2], [3], { devices: [""], floats: { time } });
  assert.deepEqual(Palette.choices(none), ["structure"]);
  const all = await graphOf([2], [3], {
    devices: ["GPU:0"],
    floats: { time: [9, 5, 5, 0, 4, 4, 0, 0], bytes: [8, 8, 8, 0, 0, 0, 0, 0] },
  });
  assert.deepEqual(Palette.choices(all), ["structure", "device", "time", "memory"]);
});

test("a box is as strong as its share of the most expensive part; a box without time is empty", async () => {
  const time = [100, 80, 60, 20, 20, 20, 0, 0];
  const palette = new Palette(await graphOf([2], [3], { floats: { time } }), "time");
  const [most, less, none] = [1, 4, 7].map((box) => palette.fill(box));
  assert.ok(most && less && none && most.strength > less.strength && less.strength > 0);
  assert.deepEqual([none.strength, none.bands], [0, []]);
  assert.deepEqual(palette.legend([]).rows.at(-1)?.text, "80 µs");
});

test("a scope has bands of the devices of its nodes", async () => {
  const graph = await graphOf([2], [3], {
    devices: ["GPU:0", "CPU:0"],
    device: [-1, -1, 0, 1, -1, 0, 0, -1],
  });
  const palette = new Palette(graph, "device");
  assert.deepEqual(
    palette.fill(1).bands.map(([, share]) => share),
    [0.5, 0.5],
  );
  assert.deepEqual(
    palette.fill(4).bands.map(([, share]) => share),
    [1],
  );
  const rows = palette.legend([]).rows;
  assert.deepEqual(
    rows.map(({ text }) => text),
    ["GPU:0", "CPU:0", "no device requested"],
  );
  assert.equal(palette.fill(4).bands[0]?.[0], rows[0]?.colour);
});

test("equal structures have one colour, and keep it when others come into view", async () => {
  const graph = await graphOf([2], [3], {
    group: [-1, 3, -1, -1, 3, -1, -1, -1],
    kind: [0, 0, 2, 1, 0, 3, 1, 1],
  });
  const hues = new Map<number, number>();
  const first = new Palette(graph, "structure", hues).fill(4).bands;
  assert.deepEqual(new Palette(graph, "structure", hues).fill(1).bands, first);
  const { rows } = new Palette(graph, "structure", hues).legend([1, 2, 4, 5]);
  assert.deepEqual(
    rows.map(({ text }) => text),
    ["input", "variable", "same structure: a × 2"],
  );
  assert.deepEqual(new Palette(graph, "structure").fill(7), { bands: [], strength: 0 });
});

test("the bar asks for what its buttons say; a trace is off while nothing is selected", () => {
  const did: unknown[] = [];
  const note =
    (name: string) =>
    (...given: unknown[]): void =>
      void did.push(name, ...given);
  const bar = new Toolbar(document.createElement("i"), ["structure", "time"], "time", {
    ...{ trace: note("trace"), colour: note("colour"), zoom: note("zoom"), fit: note("fit") },
    ...{ saveSvg: note("svg"), savePng: note("png"), fullScreen: note("full") },
  });
  const choice = bar.root.querySelector("select") ?? assert.fail("no choice");
  assert.equal(choice.value, "time");
  choice.value = "structure";
  choice.dispatchEvent(new Event("change"));
  click(bar.root, "⇧ Inputs");
  click(bar.root, "Fit");
  click(bar.root, "SVG");
  assert.deepEqual(did, [
    "colour",
    "structure" satisfies ColourBy,
    "trace",
    "inputs",
    "fit",
    "svg",
  ]);
  bar.showTraced("outputs", true);
  const pressed = (): (string | null)[] =>
    [...bar.root.querySelectorAll("[aria-pressed]")].map((one) => one.getAttribute("aria-pressed"));
  assert.deepEqual(pressed(), ["false", "true"]);
  bar.showTraced(null, false);
  assert.deepEqual(pressed(), ["false", "false"]);
  assert.ok(
    [...bar.root.querySelectorAll("[aria-pressed]")].every((one) => one.matches(":disabled")),
  );
});

const scene: Scene = {
  boxes: [
    {
      ...{ box: 7, scope: 0, x: 20, y: 30, width: 120, height: 40, opened: false, beside: false },
      ...{ depth: 0, name: "<alone>", detail: "float32", stubs: [] },
    },
  ],
  ...{ edges: [], notes: [], place: new Map(), width: 400, height: 300 },
};

test("a saved drawing has the whole scene on white paper, and its names are no markup", async () => {
  const model = await chain();
  const palette = new Palette(model, "structure");
  const svg = toSvg({
    ...{ model, scene, palette, theme: { ...PAPER, ground: "#000000" }, marks: null },
    ...{ selected: 7, hovered: 7 },
  });
  assert.match(svg, /^<svg [^>]*width="400"[^>]*height="330"/);
  assert.ok(svg.includes("&lt;alone&gt;") && !svg.includes("<alone>"));
  assert.ok(svg.includes("#ffffff") && !svg.includes("#000000"));
});

test("the small picture is as large as the drawing's shape allows", async () => {
  const map = new Minimap(new Camera(() => {}), () => [800, 600]);
  map.show(scene, new Palette(await chain(), "structure"), PAPER);
  assert.deepEqual([map.root.style.width, map.root.style.height], ["139px", "104px"]);
});

test("layouts are given to who asked, in whatever order the worker answers", async (t) => {
  const workers: FakeWorker[] = [];
  class FakeWorker {
    onmessage = (_: { data: object }): void => {};
    onerror = (_: { preventDefault(): void }): void => {};
    posted: { number: number }[] = [];
    isEnded = false;
    constructor() {
      workers.push(this);
    }
    postMessage(message: { number: number }): void {
      this.posted.push(message);
    }
    terminate(): void {
      this.isEnded = true;
    }
  }
  const revoked: string[] = [];
  t.mock.method(URL, "createObjectURL", () => "blob:layout");
  t.mock.method(URL, "revokeObjectURL", (url: string) => revoked.push(url));
  Object.assign(globalThis, { Worker: FakeWorker });
  t.after(() => Object.assign(globalThis, { Worker: undefined }));
  const layouter = new Layouter();
  const [worker] = workers;
  assert.ok(worker);
  assert.deepEqual(await layouter.layouts([]), []);
  assert.equal(worker.posted.length, 0);
  const [first, second] = [layouter.layouts([{} as never]), layouter.layouts([{} as never])];
  const [one, two] = worker.posted;
  assert.ok(one && two && one.number !== two.number);
  worker.onmessage({ data: { number: two.number, layouts: ["second"] } });
  worker.onmessage({ data: { number: 999, layouts: ["nobody's"] } });
  worker.onmessage({ data: { number: one.number, layouts: ["first"] } });
  assert.deepEqual([await first, await second], [["first"], ["second"]] as never);
  layouter.dispose();
  assert.deepEqual([worker.isEnded, revoked], [true, ["blob:layout"]]);
});

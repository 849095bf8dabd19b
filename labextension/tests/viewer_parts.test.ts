// The cards of the viewer without BokehJS: values under the cursor, cards by step, the side bar, and growing curves.
import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Chart } from "../src/views/viewer/chart";
import type { Drawn } from "../src/views/viewer/curves";
import { LiveUpdate } from "../src/views/viewer/live_update";
import { firstOptions, type PageContext } from "../src/views/viewer/options";
import { Overlay } from "../src/views/viewer/overlay";
import { Side } from "../src/views/viewer/side";
import { TextCard } from "../src/views/viewer/step_cards";
import { ValueTable } from "../src/views/viewer/value_table";
import { click, textsOf } from "./page";

const templates = { colours: ["#111111", "#222222"], dashes: ["solid", "dashed"] };

function page(more: Partial<PageContext> = {}, runs = ["first", "second", "third"]) {
  const options = { ...firstOptions(), runs: new Set([0, 1]) };
  return { options, templates, runs, cursor: null, hasKernel: true, ...more } as PageContext;
}

function line(run: number, values: readonly number[], more: Partial<Drawn> = {}): Drawn {
  const step = Float64Array.from(values, (_, k) => 10 * k);
  const y = Float64Array.from(values);
  const wall = step.map((s) => 1000 + s);
  const same = { run, total: values.length, step, wall, value: y, x: step, y, raw: y };
  return { ...same, colour: `#${run}`, dash: "solid", ...more };
}

test("without a cursor the newest values are listed; a curve without a point has none", () => {
  const table = new ValueTable(page());
  const marked = table.show([line(0, [3, 2, 1]), line(2, []), line(1, [9, 8, 7])], null, null);
  assert.deepEqual(marked, { x: [], y: [], colour: [] });
  assert.deepEqual(textsOf(table.el, "td:nth-child(2)"), ["1", "7"]);
  assert.match(textsOf(table.el, "th")[0] ?? "", /^newest, step 20/);
});

test("under the cursor stand the largest, or those nearest to the pointer; what has no value comes last", () => {
  const table = new ValueTable(page());
  const lines = [line(0, [3, 2, 1]), line(1, [9, Number.NaN, 7]), line(2, [4, 5, 6])];
  const marked = table.show(lines, 12, null);
  assert.deepEqual(
    [marked.x, marked.y.slice(0, 2)],
    [
      [10, 10, 10],
      [5, 2],
    ],
  );
  assert.ok(Number.isNaN(marked.y[2]));
  const near = table.show(lines, 12, (one) => Math.abs(one.run - 0));
  assert.deepEqual(near.colour, ["#0", "#1", "#2"]);
});

test("rows at different steps each say their step, and more than five say how many are left out", () => {
  const names = Array.from({ length: 9 }, (_, k) => `run ${k}`);
  const table = new ValueTable(page({}, names));
  const lines = names.map((_, k) => line(k, k ? [1, 2] : [1, 2, 3]));
  table.show(lines, null, null);
  assert.ok(textsOf(table.el, "th").some((text) => text.trim() === "step"));
  assert.equal(table.el.querySelectorAll("td:first-child").length, 5);
  assert.deepEqual(textsOf(table.el, "small"), ["+4 runs"]);
  table.show(lines, 5, () => 0);
  assert.equal(table.el.querySelectorAll("td:first-child").length, 9);
});

const texts = (run: number, steps: readonly number[]) => ({
  run,
  total: 40,
  items: steps.map((step) => ({ step, wall: step, text: `<i>${step}</i>`, cut: step > 5 ? 3 : 0 })),
});

test("a card waits until it is seen, shows the newest step, and leaves a slider where it was put", async () => {
  let runs = [texts(0, [1, 2]), texts(1, [1]), texts(2, [1])];
  let asked = 0;
  const content = (): never => {
    asked += 1;
    return { kind: "text", runs, left_out: 2 } as never;
  };
  const card = new TextCard(page({ content }), "notes");
  await card.update();
  assert.equal(asked, 0);
  card.see(true);
  await card.update();
  assert.deepEqual(textsOf(card.el, "figcaption span"), ["first", "second"]); // the third is not selected
  assert.deepEqual(textsOf(card.el, "pre"), ["<i>2</i>", "<i>1</i>"]);
  assert.match(textsOf(card.el, ".tfnb-note")[0] ?? "", /^2 of 40 steps shown.*2 more runs/);
  const [slider] = card.el.querySelectorAll("input");
  assert.ok(slider);
  runs = [texts(0, [1, 2, 9])];
  await card.update();
  assert.deepEqual(textsOf(card.el, "pre"), ["<i>9</i>"]);
  assert.deepEqual(textsOf(card.el, "em"), ["and 3 more characters"]);
  slider.value = "0";
  slider.dispatchEvent(new Event("input"));
  runs = [texts(0, [1, 2, 9, 12])];
  await card.update();
  assert.deepEqual(textsOf(card.el, "pre"), ["<i>1</i>"]);
  card.close();
});

test("a card without content waits, and a fault is shown in it", async () => {
  const waiting = new TextCard(page({ content: () => undefined }), "a");
  waiting.see(true);
  await waiting.update();
  assert.deepEqual(textsOf(waiting.el, ".tfnb-note"), ["waiting for the kernel …"]);
  const broken = new TextCard(page({ content: () => assert.fail("no bytes") }), "a");
  broken.see(true);
  await broken.update();
  assert.deepEqual(textsOf(broken.el, ".tfnb-note"), ["cannot be drawn: no bytes"]);
});

function side(runs = ["cnn/1", "cnn/2", "mlp"]) {
  const did: string[] = [];
  const note = (word: string) => (): void => void did.push(word);
  const context = page({}, runs);
  const made = new Side({
    ...context,
    ...{ redraw: note("redraw"), keep: note("keep"), want: note("want") },
  });
  made.list();
  return { side: made, options: context.options, did };
}

test("runs are chosen one by one, or all that pass the filter", () => {
  const { side: bar, options, did } = side();
  const boxes = [...bar.el.querySelectorAll<HTMLInputElement>(".tfnb-runs input")];
  assert.deepEqual(
    boxes.map((box) => box.checked),
    [true, true, false],
  );
  const [first] = boxes;
  assert.ok(first);
  first.checked = false;
  first.dispatchEvent(new Event("change"));
  assert.deepEqual([[...options.runs], did], [[1], ["keep", "want"]]);
  const filter = bar.el.querySelector<HTMLInputElement>("input[type=search]");
  assert.ok(filter);
  filter.value = "^cnn";
  click(bar.el, "none");
  assert.deepEqual([...options.runs], []);
  filter.value = "mlp";
  click(bar.el, "all");
  assert.deepEqual([...options.runs], [2]);
  assert.match(bar.el.textContent ?? "", /1 of 3 runs shown/);
});

test("a long list ends, and says how many are not in it", () => {
  const { side: bar } = side(Array.from({ length: 1234 }, (_, k) => `run ${k}`));
  assert.equal(bar.el.querySelectorAll(".tfnb-runs input").length, 300);
  assert.match(bar.el.textContent ?? "", /the first 300 of 1,234 listed/);
});

test("options are kept and the page is drawn anew; controls that mean nothing are hidden", () => {
  const { side: bar, options, did } = side();
  const set = (selector: string, change: (input: HTMLInputElement) => void, type = "change") => {
    const input = bar.el.querySelector<HTMLInputElement>(selector) ?? assert.fail(selector);
    change(input);
    input.dispatchEvent(new Event(type));
  };
  set("input[type=range]", (input) => (input.value = "0.9"), "input");
  assert.equal(options.smoothing, 0.9);
  const [log, outliers] = bar.el.querySelectorAll<HTMLInputElement>(
    ".tfnb-controls [type=checkbox]",
  );
  assert.deepEqual([log?.checked, outliers?.checked], [false, false]); // "ignore outliers" is the inverse
  if (outliers) outliers.checked = true;
  outliers?.dispatchEvent(new Event("change"));
  assert.equal(options.outliers, false);
  const baseline = [...bar.el.querySelectorAll("select")].find((one) =>
    [...one.options].some(({ textContent }) => textContent === "mlp"),
  );
  assert.ok(baseline);
  baseline.value = "2";
  baseline.dispatchEvent(new Event("change"));
  assert.equal(options.baseline, 2);
  baseline.value = "";
  baseline.dispatchEvent(new Event("change"));
  assert.equal(options.baseline, null);
  assert.equal(did.filter((word) => word === "redraw").length, 4);
  bar.kind("histogram");
  const controls = [...bar.el.querySelectorAll<HTMLElement>(".tfnb-controls")];
  assert.deepEqual(
    controls.map(({ hidden }) => hidden),
    [true, false],
  );
  bar.kind("parameters");
  assert.equal(bar.el.hidden, true);
});

/** A chart of 100 by 100 pixels that shows x from 0 to 100 and y from 0 to 10, and notes the strokes over it. */
function paper() {
  const strokes: number[] = [];
  let length = 0;
  const pen = {
    ...{ save: () => {}, restore: () => {}, scale: () => {}, translate: () => {} },
    ...{ setLineDash: () => {}, beginPath: () => (length = 0), moveTo: () => {} },
    ...{ lineTo: () => length++, stroke: () => strokes.push(length) },
    canvas: { remove: () => strokes.push(-1) },
  };
  const box = {
    frame: [0, 0, 100, 100],
    ranges: [0, 100, 0, 10],
    own: [true, true],
  } as { frame: number[]; ranges: number[]; own: boolean[] };
  const chart = {
    box,
    pen: { x: (v: number) => v, y: (v: number) => 100 - 10 * v },
    cover: (canvas: HTMLCanvasElement) => {
      Object.assign(canvas, { getContext: () => pen });
      return [0, 0];
    },
  };
  return { chart: chart as unknown as Chart, strokes, box };
}

test("new points are stroked over the chart while they are within its ranges", () => {
  const { chart, strokes } = paper();
  const overlay = new Overlay(chart);
  assert.equal(overlay.add([line(0, [1, 2])], false, true), "no"); // nothing was drawn yet
  overlay.begin([line(0, [1, 2])]);
  assert.equal(overlay.add([line(0, [1, 2, 3, 4])], false, true), "in");
  assert.deepEqual(strokes, [2]);
  assert.equal(overlay.add([line(0, [1, 2, 3, 4])], false, true), "in");
  assert.deepEqual(strokes, [2]); // none is new
  assert.equal(overlay.add([line(0, [1, 2, 3, 4, 50])], true, true), "out");
  assert.equal(overlay.add([line(0, [1, 2, 3, 4, 50, 60])], true, false), "in"); // outliers may be outside
  overlay.close();
  assert.equal(strokes.at(-1), -1);
});

test("the whole chart is drawn for other curves, another range, or points that are gone", () => {
  const { chart, box } = paper();
  const overlay = new Overlay(chart);
  const begun = (): void => overlay.begin([line(0, [1, 2]), line(1, [1, 2])]);
  begun();
  assert.equal(overlay.add([line(0, [1, 2, 3])], false, true), "no");
  assert.equal(overlay.add([line(0, [1, 2]), line(2, [1, 2])], false, true), "no");
  const gone = { x: Float64Array.of(0, 7) };
  assert.equal(overlay.add([line(0, [1, 2]), line(1, [1, 2], gone)], false, true), "no");
  begun();
  // The user zooms.
  Object.assign(chart, { box: { ...box, ranges: [0, 50, 0, 10] } });
  assert.equal(overlay.add([line(0, [1, 2, 3]), line(1, [1, 2, 3])], false, true), "no");
});

test("points outside of the range wait for the next whole drawing, and values that are not finite do not", (t) => {
  let now = 1000;
  t.mock.method(performance, "now", () => now);
  const live = new LiveUpdate(paper().chart);
  const ways = { smoothing: false, outliers: true };
  live.drawn([line(0, [1, 2])], false);
  assert.equal(live.extend([line(0, [1, 2, 99])], ways), true);
  now += 701;
  assert.equal(live.extend([line(0, [1, 2, 99, 99])], ways), false);
  live.drawn([line(0, [1, 2, 3])], true);
  assert.equal(live.extend([line(0, [1, 2, 3, Number.NaN])], ways), false);
});

test("a growing curve has room ahead for what comes in the next seconds, within limits", (t) => {
  let now = 1000;
  t.mock.method(performance, "now", () => now);
  const live = new LiveUpdate(paper().chart);
  assert.deepEqual(live.ahead([0, 100], false), [0, 115]);
  now += 10_000;
  assert.deepEqual(live.ahead([0, 110], false), [0, 130]); // 1 a second, for 20 seconds
  assert.deepEqual(live.ahead([0, 10_000], false), [0, 29_800]);
  const fast = new LiveUpdate(paper().chart);
  fast.ahead([0, 100], false);
  now += 1000;
  assert.deepEqual(fast.ahead([0, 10_000], false), [0, 30_000]); // at most twice its length
  assert.deepEqual(live.ahead([1, 100], true), [1, 100 * 100 ** 0.15]);
  live.drawn([], false); // another curve: how fast the one before grew says nothing of it
  assert.deepEqual(live.ahead([0, 200], false), [0, 230]);
});

// The lanes of a timeline and its table, without painting: what is visible, found, selected, and sorted.
import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { COLUMNS, CostRow, TraceMeta } from "../src/protocol/timeline";
import { AXIS, Chart, GUTTER, ROW } from "../src/views/timeline/chart";
import { Costs } from "../src/views/timeline/costs";
import { steer } from "../src/views/timeline/steering";
import { Trace } from "../src/views/timeline/trace";
import { point, press, textsOf } from "./page";

const events = {
  start: Float64Array.of(0, 5, 100),
  end: Float64Array.of(4, 20, 1000),
  row: Int32Array.of(0, 1, 0),
  label: Int32Array.of(0, 1, 0),
  kind: Uint8Array.of(0, 6, 0),
  step: Int32Array.of(0, 0, 1),
  cause: Int32Array.of(-1, 0, -1),
  critical: Uint8Array.of(1, 0, 1),
} as const satisfies Record<keyof typeof COLUMNS, object>;

function chart(more: object = {}) {
  const selected: number[] = [];
  const scrolls: number[] = [];
  const lanes = [
    { device: "CPU:0", name: "queue", row: 0, rows: 1, group: "" },
    { device: "CPU:0", name: "wait", row: 1, rows: 1, group: "" },
  ];
  const steps = [
    [0, 20],
    [100, 900],
  ];
  const meta = { kinds: ["kernel"], labels: ["MatMul", "wait"], n_rows: 2, span_us: 1000 };
  const trace = new Trace({ ...meta, lanes, steps, ...more } as unknown as TraceMeta, events);
  const made = new Chart(
    trace,
    () => {},
    (event) => selected.push(event),
    (y) => scrolls.push(y),
  );
  made.width = GUTTER + 1000;
  made.fit();
  return { chart: made, selected, scrolls };
}

test("times and pixels are converted back and forth, and the whole recording is in sight at first", () => {
  const { chart: lanes } = chart();
  assert.ok(lanes.from < 0 && lanes.to > 1000);
  for (const time of [0, 333, 1000]) assert.ok(Math.abs(lanes.time(lanes.x(time)) - time) < 1e-9);
  const before = lanes.time(500);
  lanes.zoom(0.5, 500);
  assert.ok(Math.abs(lanes.time(500) - before) < 1e-9);
});

test("a zoom ends at the limits, and a movement before nothing is to be seen", () => {
  const { chart: lanes } = chart();
  lanes.zoom(1e-12);
  assert.ok(lanes.to - lanes.from >= 0.02 - 1e-12);
  lanes.zoom(1e12);
  assert.ok(Math.abs(lanes.to - lanes.from - 2010) < 1e-6);
  lanes.pan(1e9);
  assert.ok(lanes.from < 1000);
  lanes.pan(-1e9);
  assert.ok(lanes.to > 0);
});

test("lanes are below each other, with a title above those of each task", () => {
  const { chart: plain } = chart();
  assert.deepEqual([plain.groups, plain.tops[0]], [[], AXIS]);
  const { chart: tasks } = chart({
    lanes: [
      { device: "", name: "", row: 0, rows: 1, group: "worker 0" },
      { device: "", name: "", row: 1, rows: 1, group: "worker 1" },
    ],
  });
  assert.deepEqual(
    tasks.groups.map(([name]) => name),
    ["worker 0", "worker 1"],
  );
  assert.equal(tasks.tops[0], AXIS + ROW);
});

test("an event is found under the pointer, with a few pixels of grace, and not in the margin", () => {
  const { chart: lanes } = chart();
  const y = AXIS + ROW / 2;
  assert.equal(lanes.find(lanes.x(500), y), 2);
  assert.equal(lanes.find(lanes.x(1000) + 1, y), 2);
  assert.equal(lanes.find(lanes.x(50), y), -1);
  assert.equal(lanes.find(GUTTER - 1, y), -1);
  assert.equal(lanes.find(lanes.x(500), 2), -1);
});

test("an event that is too small to be seen is brought near; one in sight moves nothing", () => {
  const { chart: lanes, selected, scrolls } = chart();
  const before = [lanes.from, lanes.to];
  lanes.show(2);
  assert.deepEqual([lanes.from, lanes.to], before);
  lanes.show(0); // 4 of 1000 µs are a pixel or two
  lanes.fit();
  lanes.zoom(4);
  lanes.show(0);
  assert.ok(lanes.to - lanes.from < 100);
  assert.deepEqual([selected, scrolls], [[2, 0, 0], []]);
});

test("the step of the selected event is shown, and then the next one, around the end", () => {
  const { chart: lanes } = chart();
  const shown = (): number[] => [lanes.from, lanes.to].map((time) => Math.round(time) + 0);
  lanes.nextStep();
  assert.deepEqual(shown(), [0, 20]);
  lanes.nextStep();
  assert.deepEqual(shown(), [82, 1018]);
  lanes.nextStep();
  assert.deepEqual(shown(), [0, 20]);
  lanes.select(2);
  lanes.nextStep();
  assert.deepEqual(shown(), [82, 1018]);
});

test("events of a label are marked in each row, and a reset unmarks them", () => {
  const { chart: lanes } = chart();
  lanes.mark(0);
  assert.deepEqual(
    lanes.marks?.map(({ index }) => [...index]),
    [[0, 2], []],
  );
  lanes.mark(7);
  assert.ok(lanes.marks?.every(({ index }) => !index.length));
  lanes.reset();
  assert.deepEqual([lanes.marks, lanes.selected], [null, -1]);
});

test("keys walk through the events, and those with Ctrl stay the page's", () => {
  const { chart: lanes } = chart();
  const canvas = document.createElement("canvas");
  const box = document.createElement("div");
  steer(lanes, canvas, box);
  assert.ok(press(canvas, "n") && lanes.selected === 0);
  for (let k = 0; k < 5; k++) press(canvas, "n");
  assert.equal(lanes.selected, 2);
  press(canvas, "p");
  assert.equal(lanes.selected, 1);
  const { from } = lanes;
  assert.equal(press(canvas, "ArrowRight", { ctrlKey: true }), false);
  assert.equal(lanes.from, from);
  press(canvas, "ArrowRight");
  assert.ok(lanes.from > from);
  press(canvas, "Home");
  press(canvas, "Escape");
  assert.deepEqual([lanes.selected, lanes.from], [-1, -20]);
  assert.equal(press(canvas, "z"), false);
});

test("a drag moves the lanes and selects nothing; a click selects", () => {
  const { chart: lanes, selected } = chart();
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { setPointerCapture: () => {} });
  steer(lanes, canvas, document.createElement("div"));
  const y = AXIS + ROW / 2;
  const at = [lanes.x(500), y] as const;
  point(canvas, "pointerdown", at);
  point(canvas, "pointermove", [at[0] + 2, y]); // less than a drag
  point(canvas, "pointerup", at);
  assert.deepEqual(selected, [2]);
  const { from } = lanes;
  point(canvas, "pointerdown", at);
  point(canvas, "pointermove", [at[0] - 50, y]);
  point(canvas, "pointerup", [at[0] - 50, y]);
  assert.ok(lanes.from > from);
  assert.equal(selected.length, 1);
  point(canvas, "pointermove", [lanes.x(500), y]);
  assert.equal(canvas.title, "MatMul\n900 µs");
});

const row = (name: string, total_us: number, count: number, label: number): CostRow =>
  ({
    ...{ name, op: name.toUpperCase(), share: total_us / 100, total_us, count, label },
    ...{ mean_us: total_us / count, max_us: total_us, kind: "kernel", source: "<b>" },
  }) as CostRow;

test("the table begins with the most expensive, and words are sorted from the first letter", () => {
  const chosen: number[] = [];
  const rows = [row("b", 10, 2, 4), row("a", 60, 1, 5), row("c", 30, 9, 6)];
  const costs = new Costs(rows, (label) => chosen.push(label));
  const names = (): string[] => textsOf(costs.element, "tbody td:first-child");
  const sort = (title: string): void =>
    [...costs.element.querySelectorAll("button")].find((b) => b.textContent === title)?.click();
  assert.deepEqual(names(), ["a", "c", "b"]);
  sort("operation");
  assert.deepEqual(names(), ["a", "b", "c"]);
  sort("operation");
  assert.deepEqual(names(), ["c", "b", "a"]);
  sort("count");
  assert.deepEqual(names(), ["c", "b", "a"]);
  assert.deepEqual(
    [...costs.element.querySelectorAll("th")].map((head) => head.getAttribute("aria-sort")),
    ["none", "none", "none", "none", "descending", "none", "none"],
  );
  const [first] = costs.element.querySelectorAll<HTMLElement>("tbody tr");
  assert.ok(first && press(first, "Enter") && !press(first, "x"));
  first.click();
  assert.deepEqual(chosen, [6, 6]);
  costs.mark(6);
  assert.equal(first.getAttribute("aria-selected"), "true");
  costs.mark(99);
  assert.equal(first.getAttribute("aria-selected"), "false");
  assert.deepEqual(textsOf(costs.element, "tbody tr:first-child td").slice(2, 5), [
    "30.0%",
    "30 µs",
    "9",
  ]);
});

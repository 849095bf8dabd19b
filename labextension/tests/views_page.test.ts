// Elements and figures that all views share, and those of status, tables, the timeline and the cluster page.
import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import { COLUMNS, KINDS, type TraceMeta } from "../src/protocol/timeline";
import { CELL_EVENT, type CellRequest, linkCell } from "../src/views/cell_link";
import { MatrixView } from "../src/views/cluster/matrix";
import { LiveTable } from "../src/views/cluster/table";
import { button, h, keepKeys } from "../src/views/dom";
import { amount, counted, showReport } from "../src/views/status";
import { cardLines } from "../src/views/timeline/card";
import { colourOf, inkOn, titleOf } from "../src/views/timeline/palette";
import { bytesText, timeText } from "../src/views/timeline/texts";
import { columnsOf, Trace } from "../src/views/timeline/trace";
import { nameTest } from "../src/views/viewer/name_filter";
import { tables } from "../src/views/viewer/tables";
import { throttle } from "../src/views/viewer/throttle";
import { ask } from "../src/widgets/channel/ask";
import { Lifetime } from "../src/widgets/channel/lifetime";
import { listen } from "../src/widgets/channel/listen";
import { inPlaces } from "../src/widgets/channel/places";
import graphWidget from "../src/widgets/graph_widget";
import timelineWidget from "../src/widgets/timeline";
import { click, press, textsOf } from "./page";

test("an element has properties, attributes, handlers and children, and texts are no markup", () => {
  let clicks = 0;
  const element = h(
    "p",
    { title: "<b>", "data-k": 3 },
    "<i>",
    null,
    button("x", "do", () => clicks++),
  );
  assert.deepEqual([element.title, element.dataset.k, element.childNodes.length], ["<b>", "3", 2]);
  assert.equal(element.querySelector("i"), null);
  click(element, "x");
  assert.equal(clicks, 1);
});

test("keys typed in an element do not reach the notebook", () => {
  const inner = h("input");
  const outer = h("div", {}, h("div", {}, inner));
  const heard: string[] = [];
  outer.addEventListener("keydown", (event) => heard.push(event.key));
  press(inner, "a");
  keepKeys(inner.parentElement as HTMLElement);
  press(inner, "d");
  assert.deepEqual(heard, ["a"]);
});

test("amounts and counts have their units", () => {
  assert.deepEqual([5, 2048, 3 * 2 ** 30].map(amount), ["5 bytes", "2 KiB", "3 GiB"]);
  assert.deepEqual(
    [1, 1200].map((n) => counted(n, "entry", "entries")),
    ["1 entry", "1,200 entries"],
  );
  assert.deepEqual([0, 0.5, 1500, 2e6].map(timeText), ["0 µs", "500 ns", "1.5 ms", "2 s"]);
  assert.deepEqual([0.25, 2048, 5 << 20].map(bytesText), ["0.3 bytes", "2 KiB", "5 MiB"]);
});

test("a report lists devices, sessions and caches, and clears one or all", () => {
  const cleared: (string | null)[] = [];
  const cache = {
    name: "steps",
    caches: 2,
    entries: 3,
    limit: 9,
    hits: 1,
    misses: 4,
    seconds: 0.5,
  };
  const report = { devices: [], sessions: [], more: 2, caches: [cache], fault: "no driver" };
  const page = h("div", {}, ...showReport(report, (name) => cleared.push(name)));
  assert.deepEqual(textsOf(page, "p").slice(0, 3), ["no driver", "no open sessions", "and 2 more"]);
  assert.deepEqual(textsOf(page, "li small"), [
    "3 of 9 entries in 2 caches",
    "1 hit, 4 misses, 0.50 s",
  ]);
  click(page, "Clear");
  click(page, "Clear all");
  assert.deepEqual(cleared, ["steps", null]);
});

test("a place asks for the cell around it, and has none where nobody answers", () => {
  const place = h("div");
  assert.equal(
    linkCell(place, () => {}),
    null,
  );
  const outer = h("div", {}, place);
  const link = { read: () => "x" } as CellRequest["link"];
  outer.addEventListener(CELL_EVENT, (event) => {
    (event as CustomEvent<CellRequest>).detail.link = link;
  });
  assert.equal(
    linkCell(place, () => {}),
    link,
  );
});

test("a filter of names is a regular expression; a half-typed one lets all pass", () => {
  const input = h("input", { value: "^LOSS" });
  const passes = nameTest(input);
  assert.deepEqual([passes("loss/total"), passes("a loss")], [true, false]);
  input.value = "(";
  assert.equal(nameTest(input)("anything"), true);
  assert.equal(input.getAttribute("aria-invalid"), "true");
});

test("hyper-parameters are sorted by number, then by word, and back", () => {
  const hparams = ["10", "9", ""].map((rate, k) => ({
    run: `r${k}`,
    values: { rate } as Record<string, string>,
    metrics: {},
  }));
  const parameters = [{ name: "g", rows: [["a/b", 1, "2×3", 6]] }];
  const shown = h("div", {}, ...tables({ hparams, parameters } as never));
  const column = () => textsOf(shown, ".tfnb-sorts tbody tr td:nth-child(2)");
  assert.deepEqual(column(), ["10", "9", ""]);
  click(shown, "rate");
  assert.deepEqual(column(), ["9", "10", ""]);
  click(shown, "rate");
  assert.deepEqual(column(), ["", "10", "9"]);
  assert.deepEqual(textsOf(shown, "table:not(.tfnb-sorts) td"), ["\u2003b", "2×3", "6"]);
});

test("many calls become one, and one more after it; a cancelled one does not come", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let calls = 0;
  let finish = (): void => {};
  const act = () => {
    calls++;
    return new Promise<void>((done) => {
      finish = done;
    });
  };
  const throttled = throttle(act, 50);
  throttled();
  throttled();
  t.mock.timers.tick(60);
  assert.equal(calls, 1);
  throttled();
  throttled();
  t.mock.timers.tick(1000);
  assert.equal(calls, 1); // the first has not ended
  finish();
  await new Promise((done) => setImmediate(done));
  t.mock.timers.tick(1000);
  assert.equal(calls, 2);
  throttled();
  throttled.cancel();
  finish();
  await new Promise((done) => setImmediate(done));
  t.mock.timers.tick(1000);
  assert.equal(calls, 2);
});

const events: Record<keyof typeof COLUMNS, number[]> = {
  start: [0, 5, 10],
  end: [4, 20, 12],
  row: [0, 1, 0],
  label: [0, 1, 0],
  kind: [0, 6, 0],
  step: [1, 1, 1],
  cause: [-1, 0, -1],
  critical: [1, 0, 1],
};
const ARRAYS = { float64: Float64Array, int32: Int32Array, uint8: Uint8Array };
function traceOf(): Trace {
  const buffers = Object.entries(COLUMNS).map(
    ([name, type]) => new ARRAYS[type](events[name as keyof typeof COLUMNS]),
  );
  const meta = { kinds: KINDS, labels: ["MatMul", "wait"], n_rows: 2 };
  const lanes = [{ device: "CPU:0", name: "queue", row: 0, rows: 2, group: "" }];
  return new Trace({ ...meta, lanes } as unknown as TraceMeta, columnsOf(buffers));
}

test("columns become rows; the longest and the next of a name are found", () => {
  const trace = traceOf();
  assert.deepEqual(
    trace.rows.map(({ index }) => [...index]),
    [[0, 2], [1]],
  );
  assert.deepEqual(
    trace.critical.map(({ index }) => index.length),
    [2, 0],
  );
  assert.deepEqual(
    trace.waits.map(({ index }) => index.length),
    [0, 1],
  );
  assert.deepEqual([trace.longestOf(0), trace.longestOf(7)], [0, -1]);
  assert.deepEqual([trace.search("matmul", 0), trace.search("matmul", 2)], [2, 0]);
  assert.deepEqual([trace.search("", 0), trace.search("conv", 0)], [-1, -1]);
  assert.throws(() => columnsOf([]), /no column start/);
});

test("the card of an event says what the columns know, then what the kernel knows", () => {
  const text = (known: Parameters<typeof cardLines>[2]) =>
    cardLines(traceOf(), 1, known).map(({ textContent }) => textContent);
  const first = text(null);
  assert.ok(first.includes("waits for: MatMul") && first.includes("device: CPU:0, queue"));
  const known = { op: "Recv", device: "GPU:0", lane: "copy", nbytes: 2048, nodes: [] };
  assert.ok(text(known as never).includes("size: 2 KiB"));
});

test("each kind of event has its own colour and title, an unknown one the last", () => {
  assert.equal(new Set(KINDS.map(titleOf)).size, KINDS.length);
  assert.equal(new Set(KINDS.map(colourOf)).size, KINDS.length);
  assert.deepEqual([titleOf("new"), inkOn("new")], ["other", "#ffffff"]);
});

test("rows of a live table keep their elements while they are sorted and walked", () => {
  const chosen: string[] = [];
  type Task = { name: string; done: number };
  const table = new LiveTable<Task>(
    "tasks",
    [
      { title: "task", text: ({ name }) => name, words: true, by: ({ name }) => name },
      { title: "done", text: ({ done }) => String(done), by: ({ done }) => done },
    ],
    ({ name }) => name,
    (key) => chosen.push(key),
  );
  document.body.append(table.element);
  const names = () => textsOf(table.element, "tbody td.words");
  table.show([
    { name: "a", done: 1 },
    { name: "b", done: 5 },
  ]);
  const row = table.element.querySelector<HTMLElement>("tbody tr");
  click(table.element, "done");
  assert.deepEqual(names(), ["b", "a"]);
  table.show([
    { name: "a", done: 9 },
    { name: "b", done: 5 },
  ]);
  assert.deepEqual(names(), ["a", "b"]);
  assert.equal(table.element.querySelector("tbody tr"), row);
  row?.focus();
  assert.ok(press(row as HTMLElement, "ArrowDown"));
  press(document.activeElement as Element, "Enter");
  assert.deepEqual(chosen, ["b"]);
  table.show([]);
  assert.deepEqual(names(), []);
  table.element.remove();
});

test("a matrix without transfers says so", () => {
  const matrix = new MatrixView(() => assert.fail("nothing can be chosen"));
  matrix.show({ names: [], pairs: new Map(), hidden: 0 });
  assert.match(matrix.element.textContent ?? "", /no transfers between tasks yet/);
  matrix.show({ names: ["a", "b"], pairs: new Map(), hidden: 3 });
  assert.match(matrix.element.textContent ?? "", /3 tasks with fewer transfers/);
  assert.equal(matrix.element.querySelectorAll("td").length, 4);
});

test("a request is repeated at growing intervals until it is answered", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let sent = 0;
  const answered = ask(() => sent++);
  assert.equal(sent, 1);
  for (const [tick, count] of [
    [500, 2],
    [500, 2],
    [500, 3],
  ] as const) {
    t.mock.timers.tick(tick);
    assert.equal(sent, count);
  }
  answered();
  t.mock.timers.tick(100_000);
  assert.equal(sent, 3);
});

test("a model is drawn in the places that are there, and in later ones until it leaves", () => {
  const [one, other] = ["k", "else"].map((key) => h("div", { "data-tfnb-view": key }));
  document.body.append(one as Node, other as Node);
  const places: HTMLElement[] = [];
  const leave = inPlaces("k", (place) => places.push(place));
  const later = h("div");
  globalThis.tfnbViews?.k?.(later);
  assert.deepEqual(places, [one, later]);
  leave();
  assert.equal(globalThis.tfnbViews?.k, undefined);
});

test("after the end of its kernel a view sends nothing, and ends once", () => {
  const sent: object[] = [];
  let ended = 0;
  let act = (): void => {};
  const model = {
    on: (_: string, end: () => void) => {
      act = end;
    },
    send: (message: object) => sent.push(message),
  };
  const life = new Lifetime(model as never, "key", () => ended++);
  life.send({ a: 1 });
  act();
  act();
  life.send({ a: 2 });
  assert.deepEqual([sent, ended], [[{ a: 1 }], 1]);
});

for (const [kind, widget] of Object.entries({ graphWidget, timelineWidget }))
  test(`${kind} asks nothing of a kernel that has ended`, async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const sent: object[] = [];
    let end = (): void => {};
    const model = {
      get: (name: string) => (name === "key" ? kind : ""),
      on: (event: string, act: () => void) => {
        if (event === "comm_live_update") end = act;
      },
      send: (message: object) => sent.push(message),
      widget_manager: { get_model: assert.fail },
    };
    const place = h("div");
    place.dataset.tfnbView = kind;
    document.body.append(place);
    const { initialize } = widget as unknown as {
      initialize(props: object): Promise<() => void>;
    };
    const dispose = await initialize({ model });
    assert.equal(sent.length, 1);
    t.mock.timers.tick(600);
    assert.equal(sent.length, 2); // no answer yet, so it asks again
    end();
    t.mock.timers.tick(60000);
    assert.equal(sent.length, 2);
    dispose();
    place.remove();
  });

test("a model that another manager keeps stays open; a known one tells when it is closed", async () => {
  const model = (manager: object) => ({ widget_manager: manager }) as never;
  assert.equal((await listen(model({ get_model: assert.fail }), "id"))(), false);
  const jsServicesComm = { isDisposed: false };
  const heard: unknown[] = [];
  class Base {
    _handle_comm_msg(message: unknown): void {
      heard.push(message);
    }
  }
  class Real extends Base {
    handle = (_: unknown): void => {};
    comm = {
      jsServicesComm,
      on_msg: (handle: (message: unknown) => void) => {
        this.handle = handle;
      },
    };
    override _handle_comm_msg(): void {}
  }
  const real = new Real();
  const isClosed = await listen(
    model({ has_model: () => true, get_model: async () => real }),
    "id",
  );
  real.handle("late");
  assert.deepEqual([heard, isClosed()], [["late"], false]);
  jsServicesComm.isDisposed = true;
  assert.equal(isClosed(), true);
});

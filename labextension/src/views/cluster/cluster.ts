// The view of a cluster: its tasks, the transfers between them, their devices, and details of the selected task or pair.
// It shows each state that it receives, and imports nothing of Jupyter (white paper, section 3.3).
import type { ClusterState, DeviceReport, Sent, TaskReport } from "../../protocol/cluster";
import { h, keepKeys } from "../dom";
import { helpLink } from "../help_link";
import { bytesText, timeText } from "../timeline/texts";
import style from "./cluster.css?text";
import { linkOf, matrixOf, pairText, shortName, summary } from "./figures";
import { MatrixView } from "./matrix";
import { type Column, LiveTable } from "./table";

export interface ClusterPage {
  show(state: ClusterState): void;
  note(text: string): void;
  dispose(): void;
}

const SIGNS = { alive: "●", late: "◐", lost: "✕" } as const;
const number = (value: number | undefined) => value?.toLocaleString("en") ?? "";
const size = (value: number | undefined) => (value === undefined ? "" : bytesText(value));
const ago = (silent: number | null) => (silent === null ? "never" : `${silent.toFixed(1)} s ago`);

/** A task with its devices. */
interface TaskRow extends TaskReport {
  readonly devices: readonly DeviceReport[];
}

const inUse = (row: TaskRow) => row.devices.reduce((sum, d) => sum + d.in_use, 0);
const TASKS: readonly Column<TaskRow>[] = [
  { title: "task", text: (t) => shortName(t.name), words: true },
  {
    title: "state",
    text: (t) => `${SIGNS[t.state]} ${t.state}`,
    by: (t) => t.state,
    words: true,
    mark: (t) => t.state,
  },
  { title: "last answer", text: (t) => ago(t.silent), by: (t) => t.silent ?? 1e9 },
  { title: "steps", text: (t) => number(t.steps), by: (t) => t.steps ?? -1 },
  { title: "variables", text: (t) => number(t.variables), by: (t) => t.variables ?? -1 },
  {
    title: "variable bytes",
    text: (t) => size(t.variable_bytes),
    by: (t) => t.variable_bytes ?? -1,
  },
  { title: "device memory", text: (t) => (t.devices.length ? size(inUse(t)) : ""), by: inUse },
  { title: "process memory", text: (t) => size(t.memory), by: (t) => t.memory ?? -1 },
  { title: "refused calls", text: (t) => number(t.refused), by: (t) => t.refused ?? -1 },
  { title: "address", text: (t) => t.address, by: (t) => t.address, words: true },
];
const DEVICES: readonly Column<DeviceReport>[] = [
  { title: "device", text: (d) => deviceName(d), words: true },
  { title: "kind", text: (d) => d.kind, words: true },
  { title: "in use", text: (d) => bytesText(d.in_use), by: (d) => d.in_use },
  { title: "peak", text: (d) => bytesText(d.peak), by: (d) => d.peak },
  { title: "cached", text: (d) => bytesText(d.cached), by: (d) => d.cached },
  { title: "limit", text: (d) => (d.limit ? bytesText(d.limit) : "none"), by: (d) => d.limit },
];

function deviceName(device: DeviceReport): string {
  return `${shortName(device.task)} ${device.name.slice(device.name.lastIndexOf("device:") + 7)}`;
}

/** Draws a cluster into `host`, replacing its content. */
export function drawCluster(host: HTMLElement): ClusterPage {
  const page = new Page();
  host.replaceChildren(page.root);
  return page;
}

class Page implements ClusterPage {
  readonly root: HTMLElement;
  private readonly summaryLine = h("div", { className: "summary" });
  private readonly status = h("div", { className: "faint", role: "status" });
  private readonly link = h("span");
  private readonly card = h(
    "div",
    { className: "card" },
    "Select a task or a pair of tasks to see details.",
  );
  private readonly tasks: LiveTable<TaskRow>;
  private readonly devices: LiveTable<DeviceReport>;
  private readonly matrix: MatrixView;
  private state: ClusterState | null = null;
  private chosenTask = "";
  private chosenPair = "";
  private states = "";

  constructor() {
    this.tasks = new LiveTable(
      "tasks",
      TASKS,
      (t) => t.name,
      (name) => this.chooseTask(name),
    );
    this.devices = new LiveTable("devices", DEVICES, (d) => d.name, null);
    this.matrix = new MatrixView((pair) => this.choosePair(pair));
    this.card.setAttribute("aria-live", "off");
    this.root = h(
      "div",
      { className: "tfnb-cluster-page", role: "region" },
      h("style", { textContent: style }),
      h("div", { className: "bar" }, this.summaryLine, this.link, helpLink("cluster")),
      section("Tasks", this.tasks.element),
      h(
        "div",
        { className: "under" },
        section("Transfers between tasks", this.matrix.element),
        this.card,
      ),
      section("Devices", this.devices.element),
      this.status,
    );
    this.root.setAttribute("aria-label", "cluster");
    keepKeys(this.root);
  }

  show(state: ClusterState): void {
    this.state = state;
    this.summaryLine.textContent = summary(state);
    this.showLink(state.dashboard);
    const of = grouped(state.devices);
    this.tasks.show(state.tasks.map((t) => ({ ...t, devices: of.get(t.name) ?? [] })));
    this.tasks.mark(this.chosenTask);
    this.matrix.show(matrixOf(state));
    this.devices.show(state.devices);
    this.showCard();
    this.tellChanges(state);
  }

  /** Announces to screen readers that a task changed its state, but not each number. */
  private tellChanges(state: ClusterState): void {
    const now = state.tasks.filter((t) => t.state !== "alive");
    const text = now.map((t) => `${shortName(t.name)} is ${t.state}`).join(", ");
    if (text === this.states) return;
    this.states = text;
    this.status.textContent = text || "all tasks are alive";
  }

  note(text: string): void {
    this.states = text;
    this.status.textContent = text;
  }

  dispose(): void {
    this.root.remove();
  }

  private showLink(dashboard: string): void {
    const address = linkOf(dashboard);
    if (!address) this.link.replaceChildren();
    else if (this.link.querySelector("a")?.href !== new URL(address).href) {
      const rel = "noopener noreferrer";
      const textContent = "Dask's dashboard";
      this.link.replaceChildren(h("a", { href: address, target: "_blank", rel, textContent }));
    }
  }

  private chooseTask(name: string): void {
    this.chosenTask = name;
    this.chosenPair = "";
    this.tasks.mark(name);
    this.matrix.unmark();
    this.showCard();
  }

  private choosePair(pair: string): void {
    this.chosenPair = pair;
    this.chosenTask = "";
    this.tasks.mark("");
    this.showCard();
  }

  private showCard(): void {
    const { state } = this;
    const task = state?.tasks.find((t) => t.name === this.chosenTask);
    if (task) this.card.replaceChildren(...taskCard(task, state?.sent ?? []));
    else if (this.chosenPair) {
      const sent = state?.sent.find((s) => `${s.from}\n${s.to}` === this.chosenPair);
      this.card.replaceChildren(...(sent ? pairCard(sent) : [h("div", {}, "No transfers.")]));
    }
  }
}

function grouped(devices: readonly DeviceReport[]): Map<string, DeviceReport[]> {
  const byTask = new Map<string, DeviceReport[]>();
  for (const d of devices) byTask.set(d.task, [...(byTask.get(d.task) ?? []), d]);
  return byTask;
}

function section(title: string, ...content: HTMLElement[]): HTMLElement {
  return h(
    "section",
    {},
    h("h4", { textContent: title }),
    h("div", { className: "wide" }, ...content),
  );
}

function line(name: string, value: string): HTMLElement[] {
  return value ? [h("div", {}, h("b", { textContent: `${name}: ` }), value)] : [];
}

function taskCard(task: TaskReport, sent: readonly Sent[]): HTMLElement[] {
  const largest = (task.largest ?? []).map(
    ([name, bytes, shape]) => `${name} [${shape.join(", ")}]: ${bytesText(bytes)}`,
  );
  const pairs = sent.filter((s) => s.from === task.name || s.to === task.name).map(pairText);
  return [
    h("h5", { textContent: task.name }),
    ...line("process", task.pid ? `${task.pid} on ${task.host ?? ""}` : ""),
    ...line("address", task.address),
    ...line("lost", task.why),
    ...line("processes started for this task", task.lives > 1 ? String(task.lives) : ""),
    ...list("largest variables", largest),
    ...list("transfers", pairs),
  ];
}

function pairCard(sent: Sent): HTMLElement[] {
  const tensors = sent.tensors.map(
    ([name, messages, bytes]) => `${name}: ${bytesText(bytes)} in ${number(messages)} messages`,
  );
  return [
    h("h5", { textContent: `${shortName(sent.from)} to ${shortName(sent.to)}` }),
    ...line(
      "total",
      `${bytesText(sent.bytes)} in ${number(sent.messages)} messages, ${number(sent.steps)} steps`,
    ),
    ...line("send time", timeText(1e6 * sent.seconds)),
    ...line("current rate", `${bytesText(Math.round(sent.rate))}/s`),
    ...list("largest tensors", tensors),
  ];
}

function list(name: string, items: readonly string[]): HTMLElement[] {
  if (!items.length) return [];
  return [
    h("b", { textContent: name }),
    h("ul", {}, ...items.map((textContent) => h("li", { textContent }))),
  ];
}

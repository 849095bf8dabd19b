// Computes what the view of a cluster shows from its state: names, amounts, summaries, the matrix of transfers.
import type { ClusterState, Sent, TaskReport } from "../../protocol/cluster";
import { bytesText, timeText } from "../timeline/texts";

export const MOST_TASKS = 40; // in the matrix; of more tasks it shows those that send and receive most

/** "worker 0" of "/job:worker/replica:0/task:0"; other names as they are. */
export function shortName(task: string): string {
  const match = /^\/job:([^/]+)\/replica:\d+\/task:(\d+)$/.exec(task);
  return match ? `${match[1]} ${match[2]}` : task;
}

/** The measures that the matrix can show, by their names. */
export const MEASURES = {
  "bytes per step": (s: Sent) => s.bytes / Math.max(s.steps, 1),
  "total bytes": (s: Sent) => s.bytes,
  "bytes per second": (s: Sent) => s.rate,
  "time per step": (s: Sent) => s.seconds / Math.max(s.steps, 1),
  "total time": (s: Sent) => s.seconds,
  messages: (s: Sent) => s.messages,
} as const;
export type Measure = keyof typeof MEASURES;

export function measureText(measure: Measure, value: number): string {
  if (measure === "messages") return value.toLocaleString("en");
  if (measure.includes("time")) return timeText(1e6 * value);
  return measure === "bytes per second" ? `${bytesText(value)}/s` : bytesText(value);
}

/** One sentence about a pair of tasks. */
export function pairText(sent: Sent): string {
  const steps = Math.max(sent.steps, 1);
  const size = `${bytesText(sent.bytes)} in ${sent.messages.toLocaleString("en")} messages`;
  const each = `${bytesText(sent.bytes / steps)} and ${timeText((1e6 * sent.seconds) / steps)} per step`;
  return `${shortName(sent.from)} to ${shortName(sent.to)}: ${size}, ${each}`;
}

export interface Matrix {
  readonly names: readonly string[];
  /** The value for a sender (row) and a receiver (column). */
  readonly pairs: ReadonlyMap<string, Sent>;
  /** The number of tasks that are left out. */
  readonly hidden: number;
}

export const pairKey = (from: string, to: string): string => `${from}\n${to}`;

/** The matrix of transfers, with tasks in their order. */
export function matrixOf(state: ClusterState): Matrix {
  const volume = new Map<string, number>();
  for (const s of state.sent) {
    for (const name of [s.from, s.to]) volume.set(name, (volume.get(name) ?? 0) + s.bytes);
  }
  const busy = state.tasks.map((t) => t.name).filter((name) => volume.has(name));
  const first = [...busy].sort((a, b) => (volume.get(b) ?? 0) - (volume.get(a) ?? 0));
  const kept = new Set(first.slice(0, MOST_TASKS));
  return {
    names: busy.filter((name) => kept.has(name)),
    pairs: new Map(state.sent.map((s) => [pairKey(s.from, s.to), s])),
    hidden: busy.length - kept.size,
  };
}

/** The strength of a value relative to the largest, from 0 to 1, on a scale that distinguishes small values too. */
export function strength(value: number, largest: number): number {
  if (value <= 0 || largest <= 0) return 0;
  return Math.max(0.06, 1 + Math.log10(Math.min(value / largest, 1)) / 4);
}

/** One sentence about the whole cluster. */
export function summary(state: ClusterState): string {
  const count = (what: TaskReport["state"]) => state.tasks.filter((t) => t.state === what).length;
  const parts = [`${count("alive")} of ${state.tasks.length} tasks alive`];
  for (const what of ["late", "lost"] as const)
    if (count(what)) parts.push(`${count(what)} ${what}`);
  const sum = (values: readonly (number | undefined)[]) =>
    values.reduce((all: number, v) => all + (v ?? 0), 0);
  const held = sum(state.tasks.map((t) => t.variables));
  const size = sum(state.tasks.map((t) => t.variable_bytes));
  parts.push(`${held.toLocaleString("en")} variables of ${bytesText(size)}`);
  parts.push(`${bytesText(sum(state.sent.map((s) => s.bytes)))} sent between tasks`);
  parts.push(`${bytesText(Math.round(sum(state.sent.map((s) => s.rate))))}/s now`);
  return parts.join(", ");
}

/** The address of Dask's dashboard if it is safe as a link (HTTP, not a script). */
export function linkOf(address: string): string | null {
  return /^https?:\/\//.test(address) ? address : null;
}

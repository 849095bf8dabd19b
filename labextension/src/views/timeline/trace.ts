// A trace for drawing: columns of events in the order of their begin, with the rows that tfnb/notebook/traces/model.py
// assigned. Invariant: no two events of a row overlap.
import type { Bytes } from "../../protocol/bytes";
import { COLUMNS, type TraceMeta } from "../../protocol/timeline";
import { at, Row, type Times } from "./row";

type ArrayOf<T> = T extends "float64" ? Float64Array : T extends "int32" ? Int32Array : Uint8Array;
type Declared = typeof COLUMNS;
/** `cause` is the event that was waited for, or -1; `critical` is 1 on the critical path of a step. */
export type Columns = Times & { readonly [Name in keyof Declared]: ArrayOf<Declared[Name]> };

export class Trace {
  readonly n: number;
  readonly rows: readonly Row[];
  /** The critical events of each row, and its waits with a known cause. */
  readonly critical: readonly Row[];
  readonly waits: readonly Row[];
  private readonly wait: number;

  constructor(
    readonly meta: TraceMeta,
    readonly columns: Columns,
  ) {
    const { kind, cause, critical } = columns;
    this.n = columns.start.length;
    this.wait = meta.kinds.indexOf("wait");
    this.rows = this.byRow(() => true);
    this.critical = this.byRow((i) => critical[i] === 1);
    this.waits = this.byRow((i) => kind[i] === this.wait && at(cause, i) >= 0);
  }

  /** The events of each row that pass a test. */
  byRow(wanted: (event: number) => boolean): Row[] {
    const { row } = this.columns;
    const counts = new Int32Array(this.meta.n_rows);
    for (let i = 0; i < this.n; i++) if (wanted(i)) counts[at(row, i)] = at(counts, at(row, i)) + 1;
    const indices = Array.from(counts, (count) => new Int32Array(count));
    counts.fill(0);
    for (let i = 0; i < this.n; i++) {
      const r = at(row, i);
      const mine = indices[r];
      if (!mine || !wanted(i)) continue;
      mine[at(counts, r)] = i;
      counts[r] = at(counts, r) + 1;
    }
    return indices.map((index) => new Row(this.columns, index));
  }

  start(i: number): number {
    return at(this.columns.start, i);
  }

  end(i: number): number {
    return at(this.columns.end, i);
  }

  length(i: number): number {
    return this.end(i) - this.start(i);
  }

  row(i: number): number {
    return at(this.columns.row, i);
  }

  cause(i: number): number {
    return at(this.columns.cause, i);
  }

  step(i: number): number {
    return at(this.columns.step, i);
  }

  label(i: number): number {
    return at(this.columns.label, i);
  }

  name(i: number): string {
    return this.meta.labels[this.label(i)] ?? "";
  }

  kind(i: number): string {
    return this.meta.kinds[at(this.columns.kind, i)] ?? "";
  }

  isWait(i: number): boolean {
    return this.columns.kind[i] === this.wait;
  }

  /** The longest event of a label, or -1. */
  longestOf(label: number): number {
    let longest = -1;
    for (let i = 0; i < this.n; i++) {
      if (this.columns.label[i] === label && (longest < 0 || this.length(i) > this.length(longest)))
        longest = i;
    }
    return longest;
  }

  /** The next event after `i` whose name contains a text, continuing at the first event; or -1. */
  search(text: string, i: number): number {
    const low = text.toLowerCase();
    const named = this.meta.labels.map((label) => label.toLowerCase().includes(low));
    for (let k = 1; low && k <= this.n; k++) {
      const next = (Math.max(i, -1) + k) % this.n;
      if (named[this.label(next)]) return next;
    }
    return -1;
  }
}

const ARRAYS = { float64: Float64Array, int32: Int32Array, uint8: Uint8Array } as const;

/** The columns in the buffers of a message. */
export function columnsOf(buffers: readonly Bytes[]): Columns {
  const columns: Record<string, unknown> = {};
  for (const [k, [name, type]] of Object.entries(COLUMNS).entries()) {
    const view = buffers[k];
    if (!view) throw new Error(`the kernel sent no column ${name}`);
    const { buffer, byteOffset, byteLength } = view;
    columns[name] = new ARRAYS[type](buffer.slice(byteOffset, byteOffset + byteLength));
  }
  return columns as unknown as Columns;
}

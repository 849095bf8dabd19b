// The messages of tfnb/notebook/timeline_view.py. The columns of the events come beside "data" as binary buffers, in
// the order of `Columns` in views/timeline/trace.ts.

/** Rows `row` to `row + rows` of the drawing: a queue of a device, a thread of the host, or transfers. */
export interface Lane {
  readonly device: string;
  readonly name: string;
  readonly row: number;
  readonly rows: number;
  /** The task that it is of, where a step ran on several; the lanes of a task follow each other. */
  readonly group: string;
}

/** What the events of one label cost; `share` is of all kernels and host kernels, `made` the line that made it. */
export interface CostRow {
  readonly label: number;
  readonly name: string;
  readonly op: string;
  readonly made: string;
  readonly kind: string;
  readonly count: number;
  readonly total_us: number;
  readonly mean_us: number;
  readonly max_us: number;
  readonly share: number;
}

export interface TraceMeta {
  readonly kinds: readonly string[];
  readonly lanes: readonly Lane[];
  readonly labels: readonly string[];
  readonly span_us: number;
  readonly n_rows: number;
  /** Begin and length of each step. */
  readonly steps: readonly (readonly [number, number])[];
  readonly table: readonly CostRow[];
  readonly summary: string;
  /** Where the time of all steps went, in microseconds: kernels and the gaps between them add up to it. */
  readonly account: readonly (readonly [string, number])[];
}

export interface NodeCard {
  readonly name: string;
  readonly op: string;
  readonly shapes: readonly string[];
  readonly origin: string;
  /** The node whose gradient it computes, or "": then `origin` is the line of that node. */
  readonly gradient_of: string;
}

/** What the kernel knows of an event beyond its columns. */
export interface EventCard {
  readonly op: string;
  readonly kind: string;
  readonly device: string;
  readonly lane: string;
  readonly nbytes: number;
  readonly detail: string;
  readonly woken_by: string;
  readonly nodes: readonly NodeCard[];
  readonly more: number;
}

export type FromKernel =
  | { readonly type: "data"; readonly trace: TraceMeta }
  | { readonly type: "card"; readonly event: number; readonly card: EventCard }
  | { readonly type: "chrome"; readonly text: string };

export type ToKernel =
  | { readonly type: "ready" }
  | { readonly type: "card"; readonly event: number }
  | { readonly type: "chrome" };

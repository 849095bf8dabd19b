// Generated from tfnb/notebook/protocol/timeline.py by scripts/browser_protocol.py.
//
// The messages of `tf.timeline`. The columns of the events are the buffers of "data", in the order of COLUMNS.

export type EventKind = "kernel" | "host" | "launch" | "compile" | "transfer" | "schedule" | "wait";

export const KINDS = [
  "kernel",
  "host",
  "launch",
  "compile",
  "transfer",
  "schedule",
  "wait",
] as const;

export const COLUMNS = {
  start: "float64",
  end: "float64",
  row: "int32",
  label: "int32",
  kind: "uint8",
  step: "int32",
  cause: "int32",
  critical: "uint8",
} as const;

/**
 * Rows `row` to `row + rows - 1` of the drawing: a queue of a device, a thread of the host, or
 * transfers.
 */
export interface Lane {
  readonly device: string;
  readonly name: string;
  readonly row: number;
  readonly rows: number;
  /** The task of the lane, where a step ran on several; the lanes of a task follow each other. */
  readonly group: string;
}

/** The cost of all events of one label; `share` is relative to all kernels and host kernels. */
export interface CostRow {
  readonly label: number;
  readonly name: string;
  readonly op: string;
  /** The user's line that created the operation. */
  readonly source: string;
  readonly kind: string;
  readonly count: number;
  readonly total_us: number;
  readonly mean_us: number;
  readonly max_us: number;
  readonly share: number;
}

export interface TraceMeta {
  readonly kinds: readonly EventKind[];
  readonly lanes: readonly Lane[];
  readonly labels: readonly string[];
  readonly span_us: number;
  readonly n_rows: number;
  /** Begin and duration of each step, in microseconds. */
  readonly steps: readonly (readonly [number, number])[];
  readonly table: readonly CostRow[];
  readonly summary: string;
  /**
   * Where the time of all steps went, in microseconds: kernels and the gaps between them add up to
   * it.
   */
  readonly account: readonly (readonly [string, number])[];
}

export interface NodeCard {
  readonly name: string;
  readonly op: string;
  readonly shapes: readonly string[];
  /** The user's line that created the node, or the node whose gradient it computes. */
  readonly source: string;
  /** The node whose gradient it computes, or "". */
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

export interface DataMessage {
  readonly type: "data";
  readonly trace: TraceMeta;
}

export interface CardMessage {
  readonly type: "card";
  readonly event: number;
  readonly card: EventCard;
}

export interface ChromeMessage {
  readonly type: "chrome";
  readonly text: string;
}

export type FromKernel = DataMessage | CardMessage | ChromeMessage;

export interface DataRequest {
  readonly type: "ready";
}

export interface CardRequest {
  readonly type: "card";
  readonly event: number;
}

export interface ChromeRequest {
  readonly type: "chrome";
}

export type ToKernel = DataRequest | CardRequest | ChromeRequest;

// Generated from tfnb/notebook/protocol/graph.py by scripts/browser_protocol.py.
//
// The messages of `tf.show_graph`.
//
// A graph is compressed by deflate: the length of `GraphHead`, the head as JSON, then columns of 32-bit integers and of
// 64-bit floats in the order of `ints` and `floats`. Boxes are numbered in preorder; box 0 is the whole graph.

/**
 * Of each box: the box around it, its `labels`, `kinds`, and the part that stands for its own node
 * (or -1); in `types`, `devices` and `specs`, or -1 (`spec` is that of the first output); nodes
 * inside, 0 or why it is extracted (EXTRACTED), the group of boxes of one structure, or -1; data
 * edges from and to outside of the box around it. Of each bundle of edges between parts of one box:
 * its ends, tensors, control edges, their one spec or -1. Of each edge between leaves: its ends, of
 * data edges, then of control edges.
 */
export type IntColumn =
  | "parent"
  | "label"
  | "kind"
  | "main"
  | "type"
  | "device"
  | "spec"
  | "nodes"
  | "extracted"
  | "group"
  | "inlet"
  | "outlet"
  | "start"
  | "stop"
  | "tensors"
  | "controls"
  | "carried"
  | "source"
  | "target"
  | "before"
  | "after";

export type FloatColumn = "parameters" | "time" | "bytes";

/** The length of each `FloatColumn` that is present. */
export interface FloatLengths {
  readonly parameters?: number;
  readonly time?: number;
  readonly bytes?: number;
}

export type BoxKind = "scope" | "operation" | "constant" | "variable" | "input" | "flow" | "series";

export const KINDS = [
  "scope",
  "operation",
  "constant",
  "variable",
  "input",
  "flow",
  "series",
] as const;

export type ColourBy = "structure" | "device" | "time" | "memory";

export const COLOURS = ["structure", "device", "time", "memory"] as const;

export const EXTRACTED = { none: 0, hub: 1, bookkeeping: 2, attached: 3 } as const;

export interface GraphHead {
  readonly version: 1;
  readonly labels: readonly string[];
  readonly types: readonly string[];
  readonly devices: readonly string[];
  readonly specs: readonly string[];
  readonly kinds: readonly BoxKind[];
  /** The number of inputs that name a node which the file does not contain. */
  readonly missing: number;
  /** The length of each column. */
  readonly ints: Readonly<Record<IntColumn, number>>;
  readonly floats: FloatLengths;
}

/**
 * Details of a selected box that the columns do not contain: short texts, and longer ones that can
 * be unfolded.
 */
export interface GraphCard {
  readonly box: number;
  readonly rows: readonly (readonly [string, string])[];
  readonly code: readonly (readonly [string, string])[];
}

export interface GraphOptions {
  readonly colour?: ColourBy;
  /**
   * Paths of the boxes that are open at first; without it, as many boxes are open as there is room
   * for.
   */
  readonly open?: readonly string[];
  readonly height?: number;
}

/** One of the graphs that the compiler produced stage by stage; its columns are in the buffer. */
export interface GraphMessage {
  readonly type: "graph";
  readonly stage: number;
  readonly stages: readonly string[];
  readonly options: GraphOptions;
}

export interface CardMessage {
  readonly type: "card";
  readonly stage: number;
  readonly card: GraphCard;
}

export type FromKernel = GraphMessage | CardMessage;

export interface GraphRequest {
  /** The number of the stage; without it, the one that is shown first. */
  readonly stage?: number;
  readonly type: "graph";
}

export interface CardRequest {
  readonly type: "card";
  readonly stage: number;
  readonly box: number;
}

export type ToKernel = GraphRequest | CardRequest;

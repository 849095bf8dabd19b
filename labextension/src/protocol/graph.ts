// The message of tfnb/notebook/graph/model.py `GraphModel.to_bytes`, compressed by deflate: a length, this head as
// JSON, then the columns of 32-bit integers and of 64-bit floats in the order of `ints` and `floats`. Boxes are
// numbered in preorder; box 0 is the whole graph.

export type IntColumn =
  /** The box around each box, its `labels`, `kinds`, the part that stands for its own node (or -1). */
  | "parent"
  | "label"
  | "kind"
  | "main"
  /** In `types`, `devices` and `specs`, or -1; `spec` is that of the first output. */
  | "type"
  | "device"
  | "spec"
  /** Nodes inside; 0 or why it is extracted (EXTRACTED); the group of boxes of one structure, or -1. */
  | "nodes"
  | "extracted"
  | "group"
  /** Data edges from and to outside of the box around. */
  | "inlet"
  | "outlet"
  /** Bundles of edges between parts of one box: its ends, tensors, control edges, their one spec or -1. */
  | "start"
  | "stop"
  | "tensors"
  | "controls"
  | "carried"
  /** The edges themselves, between leaves: data edges, then control edges. */
  | "source"
  | "target"
  | "before"
  | "after";

export type FloatColumn = "parameters" | "time" | "bytes";

export interface GraphHead {
  version: 1;
  labels: string[];
  types: string[];
  devices: string[];
  specs: string[];
  kinds: Kind[];
  /** Inputs that a file names and does not have. */
  missing: number;
  ints: Record<IntColumn, number>;
  floats: Partial<Record<FloatColumn, number>>;
}

export type Kind = "scope" | "operation" | "constant" | "variable" | "input" | "flow" | "series";

export const EXTRACTED = { none: 0, hub: 1, bookkeeping: 2, attached: 3 } as const;

/** What is told of a chosen box beyond its columns: texts, and longer ones to unfold. */
export interface GraphCard {
  box: number;
  rows: [string, string][];
  code: [string, string][];
}

/** From the widget's kernel: the graph of a stage (of several that the compiler went through), or details. */
export type GraphMessage =
  | { type: "graph"; stage: number; stages: string[]; options: GraphOptions }
  | { type: "card"; stage: number; card: GraphCard };

/** To the widget's kernel. Without a stage: that which is shown at first. */
export type GraphRequest =
  | { type: "graph"; stage?: number }
  | { type: "card"; stage: number; box: number };

export interface GraphOptions {
  colour?: ColourBy;
  /** Paths of boxes that are open at first; left out: what there is room for. */
  open?: string[];
  height?: number;
}

export type ColourBy = "structure" | "device" | "time" | "memory";

// Generated from tfnb/notebook/protocol/builder_details.py by scripts/browser_protocol.py.
//
// Messages of `tf.builder` beyond drawing and editing: inside of nodes, costs of runs, probes, variants, lessons.
//
// Each request has a number, which its answer repeats. Edits of this module are sent in a gesture, like those of
// builder.py.

/** Asks for the operations that a node has made, to open it in its place. */
export interface InsideRequest {
  readonly type: "inside";
  readonly request: number;
  readonly node: string;
}

/** An operation that computes a gradient, and the operation whose gradient it is. */
export interface Gradient {
  readonly operation: string;
  readonly forward: string;
  /** The node that has made the forward operation, or "". */
  readonly node: string;
}

export interface Inside {
  readonly type: "inside";
  readonly request: number;
  readonly node: string;
  /** The body of the function that the node calls, or "". */
  readonly code: string;
  /** The names of the function's parameters. */
  readonly parameters: readonly string[];
  /**
   * The statements of the function, as `BuilderNode`s of builder.py; the first is that of the
   * parameters.
   */
  readonly nodes: readonly unknown[];
  /** All nodes that call this function. */
  readonly calls: readonly string[];
  /** The number of operations. */
  readonly count: number;
  /**
   * The drawing of the operations: base64 of the bytes that a `GraphMessage` of graph.py has in its
   * buffer.
   */
  readonly columns: string;
  readonly gradients: readonly Gradient[];
}

/** Asks for what the compiler makes of a run to this node. */
export interface CompiledRequest {
  readonly type: "compiled";
  readonly request: number;
  readonly node: string;
  /** As in `RunRequest`; remembered too. */
  readonly feeds: Readonly<Record<string, string>>;
}

/** The graph after one stage of the compiler; `columns` as in `Inside`. */
export interface Stage {
  readonly name: string;
  readonly count: number;
  readonly columns: string;
}

/**
 * One cluster: the nodes of the drawing and the operations in it, and its OpenCL once it has run.
 */
export interface CompiledCluster {
  readonly name: string;
  readonly device: string;
  readonly nodes: readonly string[];
  readonly operations: readonly string[];
  readonly sources: readonly string[];
  readonly launches: readonly string[];
  readonly not_fused: readonly string[];
}

export interface Compiled {
  readonly type: "compiled";
  readonly request: number;
  readonly node: string;
  readonly stages: readonly Stage[];
  readonly clusters: readonly CompiledCluster[];
  readonly error: string;
  readonly needs: readonly string[];
}

/** Runs a node once with times, and asks where the time went. */
export interface ProfileRequest {
  readonly type: "profile";
  readonly request: number;
  readonly node: string;
  /** As in `RunRequest`; remembered too. */
  readonly feeds: Readonly<Record<string, string>>;
}

/**
 * The time that the kernels of a node took. A kernel of several nodes counts for each by an equal
 * share.
 */
export interface NodeTime {
  readonly node: string;
  readonly microseconds: number;
  /** When the first of them began, in microseconds after the begin of the step. */
  readonly start: number;
  readonly kernels: number;
  readonly device: string;
}

export interface Profile {
  readonly type: "profile";
  readonly request: number;
  readonly node: string;
  readonly times: readonly NodeTime[];
  /** The whole step. */
  readonly microseconds: number;
  /** The time of kernels that belong to no node of the drawing. */
  readonly other: number;
  readonly error: string;
  readonly needs: readonly string[];
}

/** Asks for the devices on which the graph may run, and for the constraints of the nodes. */
export interface DevicesRequest {
  readonly type: "devices";
  readonly request: number;
}

export interface DeviceLane {
  /** The full name, which the edit "device" takes. */
  readonly name: string;
  readonly kind: string;
  readonly bytes: number;
}

export interface Devices {
  readonly type: "devices";
  readonly request: number;
  readonly node: string;
  readonly devices: readonly DeviceLane[];
  /** The device of each node that is constrained to one. */
  readonly constraints: Readonly<Record<string, string>>;
  readonly error: string;
  readonly needs: readonly string[];
}

/** Runs two variants on one feed. `node` is a node of either variant. */
export interface CompareRequest {
  readonly type: "compare";
  readonly request: number;
  readonly node: string;
  /** As in `RunRequest`; remembered too. */
  readonly feeds: Readonly<Record<string, string>>;
}

export interface NodeDifference {
  readonly a: string;
  readonly b: string;
  readonly problem: string;
  readonly absolute: number;
  readonly relative: number;
}

export interface Compared {
  readonly type: "compare";
  readonly request: number;
  readonly node: string;
  /** In the order of the computation: the first is where to search for the cause. */
  readonly differences: readonly NodeDifference[];
  /** The nodes of the first variant whose values are the same in both. */
  readonly equal: readonly string[];
  readonly error: string;
  readonly needs: readonly string[];
}

/** Asks for the lessons (an empty `lesson`), or whether the document solves one. */
export interface LessonRequest {
  readonly type: "lesson";
  readonly request: number;
  readonly lesson: string;
}

export interface LessonText {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  /** The source with which the lesson begins. */
  readonly start: string;
}

export interface Lessons {
  readonly type: "lesson";
  readonly request: number;
  /** All lessons, or [] as the answer about one. */
  readonly lessons: readonly LessonText[];
  readonly lesson: string;
  readonly is_done: boolean;
  /** What to do next, or that it is done. */
  readonly hint: string;
  readonly kind: "" | "error" | "missing" | "dtype" | "shape" | "value";
  /** The node that the hint is about, or "". */
  readonly node: string;
}

/** Asks for the operations of nodes as protobuf's text; the answer is a `Clipboard`. */
export interface CopyGraphRequest {
  readonly type: "copy graph";
  readonly request: number;
  readonly nodes: readonly string[];
}

/**
 * The outputs whose values are sent while a training runs; it takes effect at the training's next
 * step.
 */
export interface ProbesRequest {
  readonly type: "probes";
  /** Pairs of a node and the number of an output. The list replaces the one before. */
  readonly wires: readonly (readonly [string, number])[];
}

/** The value that an output had in one step of a training. */
export interface Probed {
  readonly type: "probed";
  readonly node: string;
  readonly output: number;
  readonly step: number;
  /** A `RunValue` of builder.py, or None if there is none. */
  readonly value: unknown;
  readonly error: string;
}

export type DetailsFromKernel = Inside | Compiled | Profile | Devices | Compared | Lessons | Probed;

/**
 * Adds a statement that refers to an output of any operation, also of one inside of a block or of a
 * file.
 */
export interface PickTensor {
  readonly edit: "pick";
  readonly operation: string;
  readonly output: number;
}

/** Writes nodes a second time as the variant B; what they read outside of themselves is shared. */
export interface MakeVariant {
  readonly edit: "variant";
  readonly nodes: readonly string[];
}

/**
 * Gives one call a copy of the function that it calls, so that edits of it leave the other calls
 * alone.
 */
export interface OwnFunction {
  readonly edit: "own";
  readonly node: string;
}

/**
 * Edits the body of the function that a node calls, and so all its calls. `edits` are edits of
 * builder.py.
 */
export interface EditInside {
  readonly edit: "inside";
  readonly node: string;
  readonly edits: readonly unknown[];
}

/**
 * How the wire into an input is drawn: through points, or as a pair of named stubs. The source does
 * not change.
 */
export interface RouteWire {
  readonly edit: "route";
  readonly node: string;
  readonly port: string;
  readonly points: readonly (readonly number[])[];
  readonly is_link: boolean;
}

export type DetailEdit = PickTensor | MakeVariant | OwnFunction | EditInside | RouteWire;

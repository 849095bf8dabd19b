// Generated from tfnb/notebook/protocol/builder.py by scripts/browser_protocol.py.
//
// The messages of `tf.builder`, the visual graph builder.
//
// The Python source is the document. The kernel parses and runs it, and sends what is to be drawn; the browser draws, and
// sends edits. A node of the drawing is a statement of the source; its id is the name that the statement assigns (the
// first of several), or "line:N" for a statement that assigns none.

/** The output of a node that an input is connected to. */
export interface Wire {
  readonly node: string;
  readonly output: number;
}

/** A parameter of a call that takes a tensor, or one element of a list of tensors. */
export interface InputPort {
  /**
   * The parameter's name, with the index for an element of a list: "values[1]". An edit names ports
   * by it.
   */
  readonly name: string;
  readonly label: string;
  readonly wire: Wire | null;
  /** The Python literal that stands in the place of a tensor, or "". */
  readonly text: string;
  readonly is_needed: boolean;
  readonly doc: string;
}

export interface OutputPort {
  /** The Python name or expression that refers to this output, such as "h" or "parts[1]". */
  readonly name: string;
  /**
   * For example "float32"; "" if it is not known, because the statement failed or gives no tensor.
   */
  readonly dtype: string;
  /** None for an unknown rank, and for an unknown dimension. */
  readonly shape: readonly (number | null)[] | null;
}

/** A parameter of a call that takes no tensor; it is edited in the node's form. */
export interface Parameter {
  readonly name: string;
  readonly kind: "bool" | "int" | "float" | "string" | "shape" | "dtype" | "choice" | "python";
  /** The Python text that the source gives, or "" where the source leaves it to the default. */
  readonly text: string;
  /** The Python text of the default, or "" where there is none. */
  readonly default: string;
  /** For "choice" and "dtype", the Python texts to choose from. */
  readonly choices: readonly string[];
  readonly doc: string;
}

/** One way to mend an error with one click; `id` is sent back in the edit "fix". */
export interface Fix {
  readonly id: string;
  readonly label: string;
}

export interface Problem {
  /** What came and what was needed, in plain words. */
  readonly text: string;
  /** The name of the input or parameter that the problem is about, or "". */
  readonly port: string;
  readonly fixes: readonly Fix[];
}

export interface BuilderNode {
  readonly id: string;
  /**
   * A call that makes one operation; a call that makes several, which opens; a grey block of other
   * Python; a call of a function that the source defines.
   */
  readonly kind: "op" | "layer" | "code" | "function";
  /** The function that is called, such as "tf.matmul"; for a grey block its first line. */
  readonly call: string;
  readonly title: string;
  /** The line of the source, from 1. */
  readonly line: number;
  /** The statement's text. */
  readonly source: string;
  readonly inputs: readonly InputPort[];
  readonly outputs: readonly OutputPort[];
  readonly parameters: readonly Parameter[];
  readonly problem: Problem | null;
  /** The number of trainable numbers that this node creates. */
  readonly parameter_count: number;
  /** Floating point operations for one example, or -1 if that is not known. */
  readonly flops: number;
  /** The id of the frame that holds it, or "". */
  readonly frame: string;
}

/** A coloured frame around nodes, kept in the source as a comment. */
export interface Frame {
  readonly id: string;
  readonly title: string;
  readonly colour: string;
  readonly nodes: readonly string[];
}

/** A comment that stands by itself. */
export interface Note {
  readonly id: string;
  readonly text: string;
  readonly line: number;
}

export interface Totals {
  readonly parameters: number;
  readonly flops: number;
  readonly nodes: number;
  readonly problems: number;
}

/** What is drawn after an edit. Nodes that did not change are not sent again. */
export interface Drawing {
  readonly type: "drawing";
  readonly revision: number;
  /**
   * The number of the gesture that this answers; 0 if the kernel or another browser changed the
   * document.
   */
  readonly gesture: number;
  readonly changed: readonly BuilderNode[];
  /** The ids of all nodes, in the order of the source. */
  readonly order: readonly string[];
  /**
   * The line of each node of `order`; a node that has only moved to another line is not sent again.
   */
  readonly lines: readonly number[];
  readonly frames: readonly Frame[];
  readonly notes: readonly Note[];
  /**
   * The upper left corners, in pixels at zoom 1, of nodes that have been placed; the browser lays
   * the others out. `node>port` has the points through which a wire is drawn, x and y in turn, or
   * [] for a pair of named stubs.
   */
  readonly positions: Readonly<Record<string, readonly number[]>>;
  readonly totals: Totals;
  /** The nodes to select, for example those that were pasted; [] leaves the selection. */
  readonly selected: readonly string[];
  /** The lines of Python that the gesture has written, for the log; "" for none. */
  readonly echo: string;
  /** What to announce: the outcome of the gesture, or why it was refused, in plain words. */
  readonly message: string;
  readonly is_refused: boolean;
  /**
   * The line of half-typed code for which the drawing waits, and which keeps its last state; else
   * 0.
   */
  readonly waits_for_line: number;
  readonly can_undo: boolean;
  readonly can_redo: boolean;
}

/** The source after an edit, for the cell and the code pane. */
export interface SourceMessage {
  readonly type: "source";
  readonly revision: number;
  readonly source: string;
}

export interface PaletteEntry {
  /** The function, such as "tf.nn.conv2d". */
  readonly call: string;
  readonly title: string;
  /** The first sentence of the docstring. */
  readonly doc: string;
  /** For example "math", "nn", "layers". */
  readonly group: string;
  /** With a wire: the input, or output, to which the wire would be connected; else "". */
  readonly port: string;
  /** Python texts by name that the new call needs to fit, such as the dtype of a placeholder. */
  readonly parameters: Readonly<Record<string, string>>;
}

export interface PaletteMessage {
  readonly type: "palette";
  readonly request: number;
  readonly entries: readonly PaletteEntry[];
  /** With an input: the outputs of the drawing that it accepts, the last of the source first. */
  readonly outputs: readonly Wire[];
}

/** Which inputs a dragged wire may be dropped on, and why the others refuse it. */
export interface ConnectTargets {
  readonly type: "targets";
  readonly request: number;
  /** Pairs of a node and the name of an input. */
  readonly accepted: readonly (readonly [string, string])[];
  /** The same and the reason. */
  readonly refused: readonly (readonly [string, string, string])[];
}

/** The value of one output of a node. */
export interface RunValue {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The value as a number or a table, shortened. */
  readonly text: string;
  /** A data URL of a PNG, or "". */
  readonly image: string;
  /** Lower edge, upper edge and count. */
  readonly histogram: readonly (readonly [number, number, number])[];
  readonly nan_count: number;
  readonly inf_count: number;
  readonly least: number | null;
  readonly largest: number | null;
  readonly mean: number | null;
}

export interface RunResult {
  readonly type: "result";
  readonly node: string;
  readonly values: readonly RunValue[];
  readonly milliseconds: number;
  /** "" if it ran. */
  readonly error: string;
  /** The placeholders that have no feed yet, if that is why it did not run. */
  readonly needs: readonly string[];
}

/** The progress of a training that the builder has started. */
export interface LossPoint {
  readonly type: "training";
  readonly node: string;
  readonly step: number;
  readonly value: number;
  readonly is_finite: boolean;
  readonly progress: string;
  readonly broken: string;
  readonly state: "running" | "done" | "stopped" | "failed";
  readonly message: string;
  readonly needs: readonly string[];
}

/** The Python of the copied nodes, for the browser's clipboard. */
export interface Clipboard {
  readonly type: "clipboard";
  readonly request: number;
  readonly text: string;
}

export type FromKernel =
  | Drawing
  | SourceMessage
  | PaletteMessage
  | ConnectTargets
  | RunResult
  | LossPoint
  | Clipboard;

/**
 * Adds a call. `wires` connects inputs of the new node; `to` connects its first output to an input.
 */
export interface AddNode {
  readonly edit: "add";
  readonly call: string;
  readonly wires: readonly (readonly [string, Wire])[];
  /** Pairs of a node and the name of an input. */
  readonly to: readonly (readonly [string, string])[];
  readonly position: readonly number[] | null;
  /** Python texts by name. */
  readonly parameters: Readonly<Record<string, string>>;
}

export interface Connect {
  readonly edit: "connect";
  readonly wire: Wire;
  readonly node: string;
  /** The name of an input; "" takes the first free input that accepts the wire. */
  readonly port: string;
}

export interface Disconnect {
  readonly edit: "disconnect";
  readonly node: string;
  readonly port: string;
}

/**
 * Sets a parameter, or the literal of an input, to a Python text; "" takes the argument out of the
 * source.
 */
export interface SetParameter {
  readonly edit: "set";
  readonly node: string;
  readonly name: string;
  readonly text: string;
}

export interface RenameNode {
  readonly edit: "rename";
  readonly node: string;
  readonly name: string;
}

/**
 * Deletes nodes. With `heal`, wires into the first input of a deleted node go on to the readers of
 * its output.
 */
export interface DeleteNodes {
  readonly edit: "delete";
  readonly nodes: readonly string[];
  readonly heal: boolean;
}

/** The readers of nodes read what the first inputs of these read. The nodes stay. */
export interface BypassNodes {
  readonly edit: "bypass";
  readonly nodes: readonly string[];
}

/** The new upper left corners of nodes. The source does not change. */
export interface MoveNodes {
  readonly edit: "move";
  readonly positions: Readonly<Record<string, readonly number[]>>;
}

/** Puts a new call between an output and an input that it is connected to. */
export interface InsertOnWire {
  readonly edit: "insert";
  readonly call: string;
  readonly node: string;
  readonly port: string;
  readonly position: readonly number[] | null;
}

/** Calls another function with the same inputs as far as it has them. */
export interface ReplaceCall {
  readonly edit: "replace";
  readonly node: string;
  readonly call: string;
}

export interface ApplyFix {
  readonly edit: "fix";
  readonly node: string;
  readonly id: string;
}

/** Makes nodes a Python function with inferred parameters, and a call of it. */
export interface GroupNodes {
  readonly edit: "group";
  readonly nodes: readonly string[];
  readonly name: string;
}

export interface UngroupNode {
  readonly edit: "ungroup";
  readonly node: string;
}

/** Adds the statements of a Python text, or the nodes of a pbtxt, with new names. */
export interface Paste {
  readonly edit: "paste";
  readonly text: string;
  readonly position: readonly number[] | null;
}

export interface Duplicate {
  readonly edit: "duplicate";
  readonly nodes: readonly string[];
}

/** Makes or changes a frame; with no nodes, removes it. An empty id makes a new frame. */
export interface SetFrame {
  readonly edit: "frame";
  readonly id: string;
  readonly title: string;
  readonly colour: string;
  readonly nodes: readonly string[];
}

/**
 * Makes (empty id), changes, or with an empty text removes a note. `before` is the node before
 * which it stands.
 */
export interface SetNote {
  readonly edit: "note";
  readonly id: string;
  readonly text: string;
  readonly before: string;
}

/** Adds an optimizer's training operation for a loss. */
export interface Minimize {
  readonly edit: "minimize";
  readonly node: string;
  /** For example "tf.train.AdamOptimizer". */
  readonly optimizer: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Places nodes on a device, with `tf.device` in the source; "" removes the constraint. */
export interface SetDevice {
  readonly edit: "device";
  readonly nodes: readonly string[];
  readonly device: string;
}

/** The user has typed in the code: the whole new source. */
export interface SetSource {
  readonly edit: "source";
  readonly source: string;
}

export type Edit =
  | AddNode
  | Connect
  | Disconnect
  | SetParameter
  | RenameNode
  | DeleteNodes
  | BypassNodes
  | MoveNodes
  | InsertOnWire
  | ReplaceCall
  | ApplyFix
  | GroupNodes
  | UngroupNode
  | Paste
  | Duplicate
  | SetFrame
  | SetNote
  | Minimize
  | SetDevice
  | SetSource;

/** One step of undo: all its edits are done, or none. */
export interface Gesture {
  readonly type: "gesture";
  /** Counts from 1 in each browser. */
  readonly gesture: number;
  readonly edits: readonly Edit[];
}

export interface Undo {
  readonly type: "undo" | "redo";
  readonly gesture: number;
}

/** The browser wants everything: a Drawing with all nodes, and the source. */
export interface Open {
  readonly type: "open";
}

/** Asks for calls that fit a query and, if a wire is being dragged, the wire. */
export interface PaletteRequest {
  readonly type: "palette";
  readonly request: number;
  readonly query: string;
  /** Calls that accept this output. */
  readonly wire: Wire | null;
  /** A node and the name of an input: calls whose output it accepts. */
  readonly port: readonly [string, string] | null;
  readonly count: number;
  /** The call of a function in whose body `wire` and `port` are, or "". */
  readonly inside: string;
}

export interface TargetsRequest {
  readonly type: "targets";
  readonly request: number;
  readonly wire: Wire;
  readonly inside: string;
}

/** Runs what a node needs, and sends its values. */
export interface RunRequest {
  readonly type: "run";
  readonly node: string;
  /** The Python text of the value for each placeholder, by node. Earlier feeds are remembered. */
  readonly feeds: Readonly<Record<string, string>>;
}

/** Runs a training operation many times in a thread; the loss is sent while it runs. */
export interface TrainRequest {
  readonly type: "train" | "stop";
  readonly node: string;
  readonly loss: string;
  readonly steps: number;
  readonly feeds: Readonly<Record<string, string>>;
}

export interface CopyRequest {
  readonly type: "copy";
  readonly request: number;
  readonly nodes: readonly string[];
}

/**
 * The traits of the widget's model, saved with the notebook, which shows the picture (SVG) without
 * a kernel.
 */
export interface BuilderState {
  readonly key: string;
  readonly source: string;
  readonly positions: Readonly<Record<string, readonly number[]>>;
  readonly picture: string;
  /** The id of the cell whose code this is, or "". */
  readonly cell: string;
  /** The id of the lesson with which the builder begins, or "". */
  readonly lesson: string;
}

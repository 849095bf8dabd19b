// The state of one canvas, which is replaced and never changed, and the events that replace it.

import type {
  BuilderNode,
  Drawing,
  Frame,
  LossPoint,
  Note,
  RunResult,
  Totals,
} from "../../../protocol/builder";
import { PAPER, type Theme } from "../../graph/palette";
import type { PanelKind, Point, Rect } from "../places/geometry";
import type { Guide } from "../places/placing";

/** A wire to the input number `row` of the node `to`. */
export interface Connection {
  readonly from: string;
  readonly output: number;
  readonly to: string;
  readonly row: number;
  readonly port: string;
}

/** What the kernel has drawn last. */
export interface Graph {
  readonly nodes: ReadonlyMap<string, BuilderNode>;
  readonly order: readonly string[];
  readonly frames: readonly Frame[];
  readonly notes: readonly Note[];
  readonly totals: Totals;
  readonly revision: number;
  readonly canUndo: boolean;
  readonly canRedo: boolean;
}

/** Where nodes are, and how wires go that are not simple curves, by `routeKey`. */
export interface Places {
  /** The positions that the kernel has, and those that the layout gives to the others. */
  readonly placed: ReadonlyMap<string, Point>;
  readonly automatic: ReadonlyMap<string, Point>;
  readonly routes: ReadonlyMap<string, readonly number[]>;
  /** The routes that the notebook has kept, until the kernel is told of them. */
  readonly keptRoutes: ReadonlyMap<string, readonly number[]>;
}

/** Where nodes are while they are dragged, and the bends of the wires that move with them. */
export interface Drag {
  readonly nodes: ReadonlyMap<string, Point>;
  readonly bends: ReadonlyMap<string, readonly Point[]>;
}

/** The bends of the wire that is being bent. */
export interface Bending {
  readonly key: string;
  readonly bends: readonly Point[];
}

export interface Selection {
  readonly nodes: ReadonlySet<string>;
  /** The node at which the keyboard is; "" for none. */
  readonly current: string;
  readonly wire: Connection | null;
}

/** What was computed at a node: the result of a run, or the losses of a training. */
export interface Panel {
  readonly kind: PanelKind;
  readonly result: RunResult | null;
  readonly losses: readonly LossPoint[];
  readonly isRunning: boolean;
}

/** An end of a wire: an input, or an output. */
export interface Port {
  readonly node: string;
  readonly side: "in" | "out";
  readonly row: number;
}

/** The wire that is being dragged. */
export interface DraggedWire {
  readonly from: Port;
  readonly to: Point;
  readonly target: Port | null;
  /** Inputs by "node\nport", with the reason if they refuse the wire; null while the kernel has not answered. */
  readonly refusals: ReadonlyMap<string, string> | null;
}

/** What stands above a node: the time that it took, or whether two variants differ there. */
export interface Mark {
  readonly text: string;
  /** From 0 to 1: how long the bar below the text is. */
  readonly share: number;
  readonly tone: "time" | "same" | "differs" | "cause";
}

/** What is drawn above the nodes for a moment. */
export interface Overlay {
  readonly marquee: Rect | null;
  readonly guides: readonly Guide[];
}

export interface BuilderState {
  readonly graph: Graph;
  readonly source: string;
  readonly places: Places;
  readonly drag: Drag | null;
  readonly bending: Bending | null;
  readonly selection: Selection;
  readonly hovered: Connection | null;
  readonly draggedWire: DraggedWire | null;
  readonly overlay: Overlay;
  readonly panels: ReadonlyMap<string, Panel>;
  readonly marks: ReadonlyMap<string, Mark>;
  /** Whether dragging on the empty canvas moves it. */
  readonly hand: boolean;
  readonly theme: Theme;
}

export type BuilderEvent =
  | { readonly type: "drawing"; readonly drawing: Drawing }
  | { readonly type: "source"; readonly source: string }
  /** The layout has places for nodes; those that have one keep it. */
  | { readonly type: "laid out"; readonly places: Iterable<readonly [string, Point]> }
  | { readonly type: "kept routes"; readonly routes: Readonly<Record<string, readonly number[]>> }
  /** The kernel is told of the kept routes. */
  | { readonly type: "routes told" }
  /** How wires go from now on; null for one curve. */
  | { readonly type: "routed"; readonly routes: ReadonlyMap<string, readonly number[] | null> }
  | { readonly type: "dragged"; readonly drag: Drag; readonly hovered: Connection | null }
  | { readonly type: "drag cancelled" }
  | {
      readonly type: "moved";
      readonly places: ReadonlyMap<string, Point>;
      readonly routes: ReadonlyMap<string, readonly number[]>;
    }
  | { readonly type: "bending"; readonly bending: Bending | null }
  | { readonly type: "selected"; readonly nodes: Iterable<string>; readonly current?: string }
  | { readonly type: "wire selected"; readonly wire: Connection | null }
  | { readonly type: "hovered"; readonly wire: Connection | null }
  | { readonly type: "wire dragged"; readonly wire: DraggedWire | null }
  | { readonly type: "overlay"; readonly overlay: Partial<Overlay> }
  /** What is shown at a node; null for nothing. */
  | { readonly type: "panel"; readonly node: string; readonly panel: Panel | null }
  | { readonly type: "marks"; readonly marks: ReadonlyMap<string, Mark> }
  | { readonly type: "hand"; readonly hand: boolean }
  | { readonly type: "theme"; readonly theme: Theme };

export const NO_OVERLAY: Overlay = { marquee: null, guides: [] };

export const EMPTY: BuilderState = {
  graph: {
    nodes: new Map(),
    order: [],
    frames: [],
    notes: [],
    totals: { parameters: 0, flops: 0, nodes: 0, problems: 0 },
    revision: -1,
    canUndo: false,
    canRedo: false,
  },
  source: "",
  places: { placed: new Map(), automatic: new Map(), routes: new Map(), keptRoutes: new Map() },
  drag: null,
  bending: null,
  selection: { nodes: new Set(), current: "", wire: null },
  hovered: null,
  draggedWire: null,
  overlay: NO_OVERLAY,
  panels: new Map(),
  marks: new Map(),
  hand: false,
  theme: PAPER,
};

// Nodes and wires while they are dragged: guides, the wire into which a node would fall, the port at which a wire would
// end.

import type { Compatibility } from "./palette";
import type { Point, Rect } from "./places/geometry";
import { snap } from "./places/placing";
import type { BuilderModel } from "./state/model";
import type { AnyEdit } from "./state/session";
import type { Connection, Drag, Port } from "./state/state";
import type { Workspace } from "./state/workspace";
import { routed, routesMoved, tellKept } from "./wires/bends";
import { routeKey } from "./wires/route";

const SNAP_RADIUS = 28; // pixels around a port in which a wire snaps to it
const WIRE_RADIUS = 14;
const SNAP = 6; // pixels between a side and the guide that it snaps to

/** What gestures ask of the view. */
export interface Host {
  palette(compatibility: Compatibility, at: Point): void;
  menu(at: Point): void;
  openForm(): void;
  editFrame(id: string): void;
  /** Lights the place beside the canvas on which nodes would fall; whether the canvas should rest meanwhile. */
  over(event: PointerEvent): boolean;
  /** Drops the selected nodes there, if there is one. */
  dropOn(event: PointerEvent): boolean;
}

/** The port at which a dragged wire would end: the nearest that accepts it, else the first free one of the node there. */
export function targetAt(workspace: Workspace, from: Port, at: Point): Port | null {
  const side = from.side === "out" ? "in" : "out";
  const near = workspace.portAt(at, SNAP_RADIUS, side, from.node);
  if (near) return near;
  const id = workspace.nodeAt(at);
  const node = id === null || id === from.node ? undefined : workspace.model.nodes.get(id);
  if (!node) return null;
  if (side === "out") return node.outputs.length ? { node: node.id, side, row: 0 } : null;
  const refusals = workspace.state.draggedWire?.refusals;
  const row = node.inputs.findIndex(
    ({ wire, name }) => !wire && !refusals?.has(`${node.id}\n${name}`),
  );
  return row < 0 ? null : { node: node.id, side, row };
}

/** The selected nodes while they are dragged: they snap to the others, and a single one to a wire. */
export class Move {
  private readonly starts: ReadonlyMap<string, Readonly<Rect>>;
  private readonly others: readonly Readonly<Rect>[];
  private readonly around: Rect;
  private drag: Drag = { nodes: new Map(), bends: new Map() };
  private wire: Connection | null = null;

  constructor(private readonly workspace: Workspace) {
    const { scene, selected } = workspace;
    this.starts = scene.rects(selected);
    const others = workspace.visible().filter((id) => !selected.has(id));
    this.others = [...scene.rects(others).values()];
    const rects = [...this.starts.values()];
    const [x, y] = [Math.min(...rects.map((r) => r.x)), Math.min(...rects.map((r) => r.y))];
    const width = Math.max(...rects.map((r) => r.x + r.width)) - x;
    this.around = { x, y, width, height: Math.max(...rects.map((r) => r.y + r.height)) - y };
  }

  /** Moves by a distance; `isFree` switches guides off. */
  to([dx, dy]: Point, isFree: boolean, at: Point): void {
    const { workspace, starts } = this;
    const moved = { ...this.around, x: this.around.x + dx, y: this.around.y + dy };
    const radius = workspace.viewport.toWorldLength(SNAP);
    const snapped = isFree ? { dx: 0, dy: 0, guides: [] } : snap(moved, this.others, radius);
    const [sx, sy] = [dx + snapped.dx, dy + snapped.dy];
    const nodes = new Map(
      [...starts].map(([id, r]): [string, Point] => [
        id,
        [Math.round(r.x + sx), Math.round(r.y + sy)],
      ]),
    );
    const routes = routesMoved(workspace.model, starts, nodes);
    this.drag = { nodes, bends: new Map(routes.map((m) => [routeKey(m.connection), m.bends])) };
    this.wire = this.wireBelow(at);
    workspace.dispatch({ type: "dragged", drag: this.drag, hovered: this.wire });
    workspace.dispatch({ type: "overlay", overlay: { guides: snapped.guides } });
  }

  /** The wire into which a single node without wires would be inserted. */
  private wireBelow(at: Point): Connection | null {
    const { workspace } = this;
    const { only, model } = workspace;
    if (!only?.outputs.length || !only.inputs.length) return null;
    if (model.connectionsAt(only.id).length) return null;
    return workspace.wireAt(at, WIRE_RADIUS);
  }

  drop(): void {
    const { workspace, wire } = this;
    const { only } = workspace;
    const edits = movesOf(workspace, this.starts, this.drag.nodes);
    if (wire && only) {
      edits.push({
        edit: "connect",
        wire: { node: wire.from, output: wire.output },
        node: only.id,
        port: "",
      });
      const output = { node: only.id, output: 0 };
      edits.push({ edit: "connect", wire: output, node: wire.to, port: wire.port });
    }
    workspace.session.gesture(...edits);
  }

  undo(): void {
    this.workspace.dispatch({ type: "drag cancelled" });
  }
}

/** Moves nodes, and the bends between them, at once; returns the edits that tell the kernel. */
export function movesOf(
  workspace: Workspace,
  before: ReadonlyMap<string, Rect>,
  places: ReadonlyMap<string, Point>,
): AnyEdit[] {
  const kept = tellKept(workspace);
  const { model } = workspace;
  const routes = routesMoved(model, before, places);
  workspace.dispatch({
    type: "moved",
    places,
    routes: new Map(routes.map(({ connection, bends }) => [routeKey(connection), bends.flat()])),
  });
  return [
    { edit: "move", positions: withAutomatic(model, places) },
    ...kept,
    ...routes.map(({ connection, bends }) => routed(connection, bends)),
  ];
}

/**
 * The new corners, and those of nodes that only the layout has placed, so that a document that was arranged by hand once
 * looks the same when it is opened again.
 */
export function withAutomatic(
  model: BuilderModel,
  moved: ReadonlyMap<string, Point>,
): Record<string, Point> {
  const positions: Record<string, Point> = {};
  for (const id of model.order) {
    const at = moved.get(id) ?? (model.places.placed.has(id) ? undefined : model.home(id));
    if (at) positions[id] = at;
  }
  return positions;
}

// Nodes and wires while they are dragged: guides, the wire into which a node would fall, the port at which a wire would
// end.

import type { Point, Rect } from "./geometry";
import type { Connection } from "./model";
import type { Overlay } from "./painter";
import type { Compatibility } from "./palette";
import { snap } from "./placing";
import type { AnyEdit } from "./session";
import { keptRoutes, routed, routesMoved } from "./wires/bends";
import { routeKey } from "./wires/route";
import type { Port, Workspace } from "./workspace";

const SNAP_RADIUS = 28; // pixels around a port in which a wire snaps to it
const WIRE_RADIUS = 14;

/** What gestures ask of the view. */
export interface Host {
  readonly overlay: Overlay;
  palette(compatibility: Compatibility, at: Point): void;
  menu(at: Point): void;
  openForm(): void;
  editFrame(id: string): void;
  /** Lights the place beside the canvas on which nodes would fall; whether the canvas should rest meanwhile. */
  over(event: PointerEvent): boolean;
  /** Drops the selected nodes there, if there is one. */
  dropOn(event: PointerEvent): boolean;
  /** Draws what lies above the nodes. */
  drawOverlay(): void;
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
  const refusals = workspace.dragging?.refusals;
  const row = node.inputs.findIndex(
    ({ wire, name }) => !wire && !refusals?.has(`${node.id}\n${name}`),
  );
  return row < 0 ? null : { node: node.id, side, row };
}

/** The selected nodes while they are dragged: they snap to the others, and a single one to a wire. */
export class Move {
  private readonly starts: Map<string, Rect>;
  private readonly others: Rect[];
  private readonly around: Rect;
  private wire: Connection | null = null;

  constructor(
    private readonly workspace: Workspace,
    private readonly host: Host,
  ) {
    this.starts = workspace.rects(workspace.selected);
    this.others = workspace
      .visible()
      .filter((id) => !workspace.selected.has(id))
      .map((id) => workspace.rect(id))
      .filter((rect) => rect !== null);
    const rects = [...this.starts.values()];
    const [x, y] = [Math.min(...rects.map((r) => r.x)), Math.min(...rects.map((r) => r.y))];
    const width = Math.max(...rects.map((r) => r.x + r.width)) - x;
    this.around = { x, y, width, height: Math.max(...rects.map((r) => r.y + r.height)) - y };
  }

  /** Moves by a distance; `isFree` switches guides off. */
  to([dx, dy]: Point, isFree: boolean, at: Point): void {
    const { workspace, host } = this;
    const moved = { ...this.around, x: this.around.x + dx, y: this.around.y + dy };
    const radius = 6 / workspace.camera.scale;
    const snapped = isFree ? { dx: 0, dy: 0, guides: [] } : snap(moved, this.others, radius);
    const [sx, sy] = [dx + snapped.dx, dy + snapped.dy];
    host.overlay.guides = snapped.guides;
    workspace.model.dragged = new Map(
      [...this.starts].map(([id, r]) => [id, [Math.round(r.x + sx), Math.round(r.y + sy)]]),
    );
    const moves = routesMoved(workspace, this.starts, workspace.model.dragged);
    workspace.model.bent = new Map(moves.map((m) => [routeKey(m.connection), m.bends]));
    this.wire = this.wireBelow(at);
    workspace.hovered = this.wire;
    workspace.changed("moves");
    host.drawOverlay();
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
    const { model, only } = workspace;
    const moved = model.dragged ?? new Map<string, Point>();
    model.dragged = model.bent = null;
    workspace.hovered = null;
    for (const [id, at] of moved) model.placed.set(id, at);
    const edits: AnyEdit[] = movesOf(workspace, this.starts, moved);
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
    workspace.changed("moves");
  }

  undo(): void {
    this.workspace.model.dragged = this.workspace.model.bent = null;
    this.workspace.hovered = null;
    this.workspace.changed("moves");
  }
}

/** The edits of a movement: of nodes, and of the bends between them, which are shown at once. */
export function movesOf(
  workspace: Workspace,
  before: ReadonlyMap<string, Rect>,
  moved: ReadonlyMap<string, Point>,
): AnyEdit[] {
  const kept = keptRoutes(workspace.model);
  const routes = routesMoved(workspace, before, moved);
  for (const { connection, bends } of routes)
    workspace.model.routes.set(routeKey(connection), bends.flat());
  return [
    { edit: "move", positions: withAutomatic(workspace, moved) },
    ...kept,
    ...routes.map(({ connection, bends }) => routed(connection, bends)),
  ];
}

/**
 * The new corners, and those of nodes that only the layout has placed, so that a document that was arranged by hand once
 * looks the same when it is opened again.
 */
export function withAutomatic(
  { model }: Workspace,
  moved: ReadonlyMap<string, Point>,
): Record<string, Point> {
  const positions: Record<string, Point> = {};
  for (const id of model.order) {
    const at = moved.get(id) ?? (model.placed.has(id) ? undefined : model.home(id));
    if (at) positions[id] = at;
  }
  return positions;
}

// Paints what has no elements: the grid and the wires below the nodes, the nodes themselves when they are far, and above
// all of them the wire that is being dragged, guides and the marquee.

import { portStyleOf } from "./dtypes";
import {
  boundsOf,
  type Curve,
  curveOf,
  FAMILY,
  HEAD,
  overlap,
  type Point,
  titleOf,
} from "./places/geometry";
import type { Connection } from "./state/state";
import type { Workspace } from "./state/workspace";

const GRID = 24;
const MOST_LIT = 20; // with more selected nodes their wires are not lit: wide lines are slow to paint

function prepare(workspace: Workspace, canvas: HTMLCanvasElement): CanvasRenderingContext2D | null {
  const pen = canvas.getContext("2d");
  if (!pen) return null;
  const dots = devicePixelRatio || 1;
  const { viewport } = workspace;
  const [width, height] = [Math.round(viewport.width * dots), Math.round(viewport.height * dots)];
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const { x, y, scale } = viewport.camera;
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.setTransform(dots * scale, 0, 0, dots * scale, dots * x, dots * y);
  return pen;
}

/** Paints everything below the nodes; with `far`, the nodes too. */
export function paintBelow(workspace: Workspace, canvas: HTMLCanvasElement, far: boolean): void {
  const pen = prepare(workspace, canvas);
  if (!pen) return;
  grid(workspace, pen);
  const window = workspace.viewport.window(20);
  const { scene } = workspace;
  pen.globalAlpha = workspace.state.draggedWire ? 0.35 : 1;
  for (const connection of scene.linksIn(window)) {
    const curves = scene.curves(connection);
    for (const curve of curves)
      if (overlap(boundsOf(curve), window)) wire(workspace, pen, connection, curve);
    if (scene.model.hasRoutes) turns(workspace, pen, connection, curves);
  }
  pen.globalAlpha = 1;
  pen.setLineDash([]);
  if (far) for (const id of workspace.visible()) farNode(workspace, pen, id);
}

function grid({ viewport, theme }: Workspace, pen: CanvasRenderingContext2D): void {
  const { camera, width, height } = viewport;
  if (camera.scale < 0.5) return;
  const { x0, y0, x1, y1 } = camera.window(width, height);
  pen.fillStyle = theme.dark ? "#ffffff1c" : "#0000001c";
  const size = 1.5 / camera.scale;
  for (let x = Math.ceil(x0 / GRID) * GRID; x < x1; x += GRID)
    for (let y = Math.ceil(y0 / GRID) * GRID; y < y1; y += GRID) pen.fillRect(x, y, size, size);
}

function trace(pen: CanvasRenderingContext2D, [a, b, c, d]: Curve): void {
  pen.beginPath();
  pen.moveTo(a[0], a[1]);
  pen.bezierCurveTo(b[0], b[1], c[0], c[1], d[0], d[1]);
}

function same(a: Connection | null, b: Connection): boolean {
  return a !== null && a.to === b.to && a.port === b.port;
}

function wire(
  workspace: Workspace,
  pen: CanvasRenderingContext2D,
  connection: Connection,
  curve: Curve,
): void {
  const { theme, selected } = workspace;
  const { camera } = workspace.viewport;
  const style = portStyleOf(
    workspace.model.dtypeOf({ node: connection.from, output: connection.output }),
  );
  const chosen = same(workspace.selectedWire, connection);
  const lit =
    chosen ||
    same(workspace.state.hovered, connection) ||
    (selected.size <= MOST_LIT && (selected.has(connection.from) || selected.has(connection.to)));
  trace(pen, curve);
  if (lit) {
    pen.setLineDash([]);
    pen.strokeStyle = theme.accent;
    pen.lineWidth = Math.max(chosen ? 8 : 6, (chosen ? 5 : 4) / camera.scale);
    pen.save();
    pen.globalAlpha *= chosen ? 0.55 : 0.28;
    pen.stroke();
    pen.restore();
  }
  pen.strokeStyle = theme.dark ? style.dark : style.light;
  pen.lineWidth = Math.max(2, 1 / camera.scale);
  pen.setLineDash(camera.scale < 0.4 ? [] : [...style.dash]);
  pen.stroke();
}

/** The bends of a wire, to be dragged, or the names at its stubs. */
function turns(
  workspace: Workspace,
  pen: CanvasRenderingContext2D,
  connection: Connection,
  curves: readonly Curve[],
): void {
  const { theme, model } = workspace;
  const { camera } = workspace.viewport;
  const route = model.route(connection);
  if (!route) return;
  pen.setLineDash([]);
  if (route.length) {
    pen.fillStyle = theme.box;
    pen.strokeStyle = same(workspace.selectedWire, connection) ? theme.accent : theme.text;
    pen.lineWidth = 1.5 / camera.scale;
    for (const [x, y] of route) {
      pen.beginPath();
      pen.arc(x, y, Math.max(4, 4 / camera.scale), 0, 2 * Math.PI);
      pen.fill();
      pen.stroke();
    }
    return;
  }
  if (camera.scale < 0.4) return;
  const name =
    model.nodes.get(connection.from)?.outputs[connection.output]?.name || connection.from;
  pen.fillStyle = theme.text;
  pen.font = `11px ${FAMILY}`;
  pen.textBaseline = "middle";
  const [out, into] = [curves[0]?.[3], curves[1]?.[0]];
  if (out) pen.fillText(`${name} ▸ ${connection.to}`, out[0] + 4, out[1]);
  pen.textAlign = "right";
  if (into) pen.fillText(name, into[0] - 4, into[1]);
  pen.textAlign = "left";
}

function farNode(workspace: Workspace, pen: CanvasRenderingContext2D, id: string): void {
  const { theme, model } = workspace;
  const { camera } = workspace.viewport;
  const rect = workspace.scene.rect(id);
  const node = model.nodes.get(id);
  if (!rect || !node) return;
  const { x, y, width, height } = rect;
  const chosen = workspace.selected.has(id);
  pen.fillStyle = theme.box;
  pen.fillRect(x, y, width, height);
  pen.fillStyle = node.kind === "code" ? theme.line : theme.accent;
  pen.globalAlpha = 0.3;
  pen.fillRect(x, y, width, Math.min(height, HEAD));
  pen.globalAlpha = 1;
  pen.strokeStyle = node.problem
    ? theme.dark
      ? "#ff8a6b"
      : "#b3261e"
    : chosen
      ? theme.accent
      : theme.line;
  pen.lineWidth = (chosen || node.problem ? 2.5 : 1) / camera.scale;
  pen.strokeRect(x, y, width, height);
  const size = Math.min(34, Math.max(13, 10 / camera.scale));
  if (size * camera.scale < 6) return;
  pen.fillStyle = theme.text;
  pen.font = `600 ${size}px ${FAMILY}`;
  pen.textBaseline = "middle";
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.fillText(titleOf(node), x + 8, y + height / 2);
  pen.restore();
}

/** Paints the wire that is being dragged, guides, and the marquee. */
export function paintAbove(workspace: Workspace, canvas: HTMLCanvasElement): void {
  const { marquee, guides } = workspace.state.overlay;
  const isEmpty = !marquee && !guides.length && !workspace.state.draggedWire;
  // Clearing a canvas costs as much as painting it.
  if (isEmpty && canvas.dataset.empty === "true") return;
  canvas.dataset.empty = String(isEmpty);
  const pen = prepare(workspace, canvas);
  if (!pen) return;
  const { theme } = workspace;
  const { camera } = workspace.viewport;
  pen.strokeStyle = pen.fillStyle = theme.accent;
  pen.lineWidth = 1 / camera.scale;
  for (const { vertical, at, from, to } of guides) {
    pen.beginPath();
    pen.moveTo(vertical ? at : from - 12, vertical ? from - 12 : at);
    pen.lineTo(vertical ? at : to + 12, vertical ? to + 12 : at);
    pen.stroke();
  }
  if (marquee) {
    const { x, y, width, height } = marquee;
    pen.globalAlpha = 0.12;
    pen.fillRect(x, y, width, height);
    pen.globalAlpha = 1;
    pen.strokeRect(x, y, width, height);
  }
  draggedWire(workspace, pen);
}

function draggedWire(workspace: Workspace, pen: CanvasRenderingContext2D): void {
  const { theme, model, scene } = workspace;
  const { draggedWire: dragging } = workspace.state;
  const start = dragging && scene.portPoint(dragging.from);
  if (!dragging || !start) return;
  const end: Point = (dragging.target && scene.portPoint(dragging.target)) ?? dragging.to;
  const isOutput = dragging.from.side === "out";
  const style = portStyleOf(
    isOutput ? model.dtypeOf({ node: dragging.from.node, output: dragging.from.row }) : "",
  );
  pen.strokeStyle = theme.dark ? style.dark : style.light;
  pen.lineWidth = 2.5;
  trace(pen, isOutput ? curveOf(start, end) : curveOf(end, start));
  pen.stroke();
  pen.beginPath();
  pen.arc(end[0], end[1], dragging.target ? 9 : 4, 0, 2 * Math.PI);
  pen.stroke();
}

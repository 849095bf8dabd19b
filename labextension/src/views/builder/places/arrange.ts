// The positions of nodes that have none: dagre's layers, wrapped into bands that fit the window, for a first drawing;
// beside its neighbours for a node that comes later. Nodes that have a position never move.

import type { Job, Layout } from "../../graph/layout";
import type { BuilderModel } from "../state/model";
import { type Face, type Point, portY, type Rect } from "./geometry";
import { COLUMN, freePlace, GAP } from "./placing";
import { wrapped } from "./wrapping";

const MARGIN = 40;
const WINDOW: Point = [900, 500]; // of a view that is not visible yet
// dagre's time grows faster than the number of nodes: larger drawings get columns in the order of the source.
const MOST_FOR_DAGRE = 700;

export type Faces = (id: string) => Face;
export type LayOut = (jobs: Job[]) => Promise<Layout[]>;

/** The layout of some nodes as if there were no others; wrapped, if it is for a window of a size. */
export async function layoutOf(
  model: BuilderModel,
  ids: readonly string[],
  faceOf: Faces,
  layOut: LayOut,
  window?: Point,
): Promise<Map<string, Point>> {
  const corners = await inOneRow(model, ids, faceOf, layOut);
  if (!window) return corners;
  const rects = new Map<string, Rect>();
  for (const [id, [x, y]] of corners) {
    const { width, height } = faceOf(id);
    rects.set(id, { x, y, width, height });
  }
  const isVisible = window[0] > 0 && window[1] > 0;
  const places = wrapped(rects, isVisible ? window : WINDOW);
  return new Map([...places].map(([id, [x, y]]) => [id, [x + MARGIN, y + MARGIN]]));
}

/** Layers from left to right. */
async function inOneRow(
  model: BuilderModel,
  ids: readonly string[],
  faceOf: Faces,
  layOut: LayOut,
): Promise<Map<string, Point>> {
  if (!ids.length) return new Map();
  if (ids.length > MOST_FOR_DAGRE) return columns(model, ids, faceOf);
  const number = new Map(ids.map((id, k) => [id, k]));
  const edges = new Map<string, [number, number, number, number, number]>();
  for (const { from, to } of model.connections) {
    const [a, b] = [number.get(from), number.get(to)];
    if (a !== undefined && b !== undefined && a !== b) edges.set(`${a} ${b}`, [a, b, 0, 0, 1]);
  }
  // dagre's layers go down here, so width and height are exchanged.
  const [layout] = await layOut([
    {
      parts: ids.map((id) => {
        const { width, height } = faceOf(id);
        return { width: height, height: width + 36, inlet: -1, outlet: -1, inner: -1, inset: 0 };
      }),
      edges: [...edges.values()],
      inlet: -1,
      outlet: -1,
      frame: [MARGIN, MARGIN, MARGIN, MARGIN, 0],
      beside: [],
    },
  ]);
  return new Map(
    ids.map((id, k) => {
      const [across, along] = layout?.corners[k] ?? [0, 0];
      return [id, [Math.round(along), Math.round(across)]];
    }),
  );
}

/** Each node in the column after its last input; within a column in the order of the source. */
function columns(model: BuilderModel, ids: readonly string[], faceOf: Faces): Map<string, Point> {
  const column = new Map<string, number>();
  const rows: string[][] = [];
  for (const id of ids) {
    let level = 0;
    for (const { from } of model.incoming(id))
      level = Math.max(level, (column.get(from) ?? -1) + 1);
    column.set(id, level);
    while (rows.length <= level) rows.push([]);
    rows[level]?.push(id);
  }
  const corners = new Map<string, Point>();
  let x = MARGIN;
  for (const row of rows) {
    let [y, widest] = [MARGIN, 0];
    for (const id of row) {
      const { width, height } = faceOf(id);
      corners.set(id, [x, y]);
      y += height + GAP;
      widest = Math.max(widest, width);
    }
    x += widest + COLUMN;
  }
  return corners;
}

/** Places for new nodes beside the nodes they are connected to, free of all others, which stay. */
export function placesBeside(
  model: BuilderModel,
  ids: readonly string[],
  faceOf: Faces,
): Map<string, Point> {
  const occupied = new Map<string, Rect>();
  for (const id of model.order) {
    const at = model.position(id);
    const { width, height } = faceOf(id);
    if (at) occupied.set(id, { x: at[0], y: at[1], width, height });
  }
  const corners = new Map<string, Point>();
  for (const id of ids) {
    const { width, height } = faceOf(id);
    const [x, y] = wantedPlace(model, id, occupied, faceOf(id));
    const rect = { x: Math.round(x), y: Math.round(y), width, height };
    const place = freePlace(rect, [...occupied.values()]);
    occupied.set(id, { ...rect, x: place[0], y: place[1] });
    corners.set(id, place);
  }
  return corners;
}

function wantedPlace(
  model: BuilderModel,
  id: string,
  occupied: ReadonlyMap<string, Rect>,
  face: Face,
): Point {
  const place = (node: string): Rect[] => {
    const rect = occupied.get(node);
    return rect ? [rect] : [];
  };
  const inputs = model
    .incoming(id)
    .flatMap(({ from, output }) => place(from).map((r) => ({ r, y: r.y + portY(output) })));
  if (inputs.length) {
    const y = inputs.reduce((sum, input) => sum + input.y, 0) / inputs.length;
    return [Math.max(...inputs.map(({ r }) => r.x + r.width)) + COLUMN, y - portY(0)];
  }
  const readers = model.outgoing(id).flatMap(({ to, row }) => place(to).map((r) => ({ r, row })));
  if (readers.length) {
    const y = readers.reduce((sum, { r, row }) => sum + r.y + portY(row), 0) / readers.length;
    return [Math.min(...readers.map(({ r }) => r.x)) - COLUMN - face.width, y - portY(0)];
  }
  // A node without neighbours goes below the one before it in the source, or beside the one after it.
  const here = model.order.indexOf(id);
  const before = model.order.slice(0, here).reverse().flatMap(place)[0];
  if (before) return [before.x, before.y + before.height + GAP];
  const after = model.order.slice(here + 1).flatMap(place)[0];
  return after ? [after.x - COLUMN - face.width, after.y] : [MARGIN, MARGIN];
}

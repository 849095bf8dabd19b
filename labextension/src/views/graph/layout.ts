// The positions of the parts of open boxes: dagre's layered layout, one box at a time from the inside out.
// Invariant: the functions are pure; the same job gives the same layout, in a worker or without one.

import { layout as dagre, Graph } from "@dagrejs/dagre";

export type Point = [number, number];

/** A part of a box: its size and the positions of its ports (-1: anywhere), or the number of the job that computes these. */
export interface Part {
  width: number;
  height: number;
  inlet: number;
  outlet: number;
  inner: number;
  /** The part of the width that stubs take on either side of the box itself. */
  inset: number;
}

export interface Job {
  parts: Part[];
  /** [from, to, label width, label height, weight]. */
  edges: [number, number, number, number, number][];
  inlet: number;
  outlet: number;
  /** The margins around the parts: left, top, right, bottom, and the least width for the title. */
  frame: [number, number, number, number, number];
  /** Auxiliary nodes, which are placed in columns to the right. */
  beside: Part[];
}

export interface Layout {
  width: number;
  height: number;
  /** Top left corner of each part. */
  corners: Point[];
  sizes: Point[];
  routes: { points: Point[]; label: Point | null }[];
  beside: Point[];
  besideSizes: Point[];
  /** The positions of the inlet and the outlet of the box, from its left side; -1 if it has none. */
  inlet: number;
  outlet: number;
}

const GAP = 8;
const BESIDE = 28;
// Beside higher boxes edges go straight down.
const TALL = 48;
// With at least this many edges, a faster and less compact way of ranking is used.
const MANY = 220;

/** The layouts of jobs, innermost first: the `inner` of a part is the number of an earlier job. */
export function layoutAll(jobs: readonly Job[]): Layout[] {
  const layouts: Layout[] = [];
  for (const job of jobs) layouts.push(layoutOne(job, layouts));
  return layouts;
}

function layoutOne(job: Job, layouts: readonly Layout[]): Layout {
  const sizes = job.parts.map((p) => sizeOf(p, layouts));
  const graph = new Graph({ multigraph: false });
  graph.setGraph({
    rankdir: "TB",
    nodesep: 22,
    edgesep: 12,
    ranksep: 23,
    ranker: job.edges.length > MANY ? "longest-path" : "network-simplex",
  });
  sizes.forEach(([width, height], i) => {
    graph.setNode(String(i), { width, height });
  });
  const labels = job.edges.map(([from, to, width, height, weight]) => {
    const label = { width, height, labelpos: "c" as const, weight, minlen: 1 };
    graph.setEdge(String(from), String(to), label);
    return label;
  });
  if (sizes.length) dagre(graph);
  const centers = sizes.map((_, i): Point => {
    const node = graph.node(String(i)) as { x: number; y: number };
    return [node.x, node.y];
  });
  const placed: Layout = {
    width: 0,
    height: 0,
    corners: centers.map(([x, y], i) => [
      x - (sizes[i]?.[0] ?? 0) / 2,
      y - (sizes[i]?.[1] ?? 0) / 2,
    ]),
    sizes,
    routes: labels.map((label) => {
      const placedLabel = label as unknown as {
        points?: { x: number; y: number }[];
        x?: number;
        y?: number;
      };
      const points = (placedLabel.points ?? []).map((p): Point => [p.x, p.y]);
      return {
        points,
        label: placedLabel.x === undefined ? null : [placedLabel.x, placedLabel.y ?? 0],
      };
    }),
    beside: [],
    besideSizes: job.beside.map((p) => sizeOf(p, layouts)),
    inlet: -1,
    outlet: -1,
  };
  frame(placed, job, layouts);
  return placed;
}

function sizeOf(part: Part, layouts: readonly Layout[]): Point {
  const { width, height } = (part.inner < 0 ? part : layouts[part.inner]) ?? part;
  return [width, height];
}

/** Moves the layout of dagre into the frame, adds the auxiliary nodes, and corrects the ends of edges. */
function frame(placed: Layout, job: Job, layouts: readonly Layout[]): void {
  const [left, top, right, , title] = job.frame;
  // A port lies on the border itself.
  const bottom = job.outlet < 0 ? job.frame[3] : 2;
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  const grow = (x: number, y: number): void => {
    [x0, y0, x1, y1] = [Math.min(x0, x), Math.min(y0, y), Math.max(x1, x), Math.max(y1, y)];
  };
  placed.corners.forEach(([x, y], i) => {
    const [w, h] = placed.sizes[i] ?? [0, 0];
    grow(x, y);
    grow(x + w, y + h);
  });
  for (const { points } of placed.routes) for (const [x, y] of points) grow(x, y);
  if (x0 > x1) [x0, y0, x1, y1] = [0, 0, 0, 0];
  const [besideWidth, besideHeight] = putBeside(placed, y1 - y0);
  const inner = x1 - x0 + (besideWidth ? besideWidth + (x1 > x0 ? BESIDE : 0) : 0);
  const spare = Math.max(0, title - inner - left - right) / 2;
  const [dx, dy] = [left + spare - x0, top - y0];
  placed.corners = placed.corners.map(([x, y]) => [x + dx, y + dy]);
  for (const route of placed.routes) {
    route.points = route.points.map(([x, y]) => [x + dx, y + dy]);
    if (route.label) route.label = [route.label[0] + dx, route.label[1] + dy];
  }
  const besideX = left + spare + (x1 > x0 ? x1 - x0 + BESIDE : 0);
  placed.beside = placed.beside.map(([x, y]) => [x + besideX, y + top]);
  placed.width = inner + 2 * spare + left + right;
  placed.height = top + Math.max(y1 - y0, besideHeight) + bottom;
  placed.inlet = placed.corners[job.inlet]?.[0] ?? -1;
  placed.outlet = placed.corners[job.outlet]?.[0] ?? -1;
  mendEnds(placed, job, layouts);
}

function putBeside(placed: Layout, height: number): Point {
  const room = Math.max(height, 120);
  let [x, y, column, tallest] = [0, 0, 0, 0];
  for (const [w, h] of placed.besideSizes) {
    if (y && y + h > room) [x, y, column] = [x + column + GAP, 0, 0];
    placed.beside.push([x, y]);
    y += h + GAP;
    column = Math.max(column, w);
    tallest = Math.max(tallest, y - GAP);
  }
  return [x + column, tallest];
}

/** Edges leave a box at its lower side and enter at its upper side, and bend only where they pass other boxes. */
function mendEnds(placed: Layout, job: Job, layouts: readonly Layout[]): void {
  const out = new Map<number, number>();
  for (const [from] of job.edges) out.set(from, (out.get(from) ?? 0) + 1);
  const into = new Map<number, number>();
  for (const [, to] of job.edges) into.set(to, (into.get(to) ?? 0) + 1);
  const layers = layersOf(placed);
  job.edges.forEach(([from, to], k) => {
    const route = placed.routes[k];
    if (!route || route.points.length < 2) return;
    const down = centerY(placed, from) <= centerY(placed, to);
    // For labels dagre inserts a layer between each two layers of boxes: a bend in it is needed only for a label.
    const bends = route.points.slice(1, -1).filter((_, i) => i % 2 === 1);
    const toward = bends[0] ?? center(placed, job, layouts, to, down ? "inlet" : "outlet");
    const back =
      bends[bends.length - 1] ?? center(placed, job, layouts, from, down ? "outlet" : "inlet");
    const a = anchor(placed, job, layouts, from, toward, down ? "outlet" : "inlet");
    const b = anchor(placed, job, layouts, to, back, down ? "inlet" : "outlet");
    route.points = upright([a, ...bends, b], centerY(placed, from), centerY(placed, to), layers);
    const fans = (out.get(from) ?? 0) > (into.get(to) ?? 0);
    if (route.label) route.label = labelOn(route.points, route.label, fans);
  });
}

/** The middle of a layer without its rounding errors. */
const layerAt = (middle: number): number => Math.round(middle + 0.17);

/** The upper and lower side of each layer of boxes, by its middle. */
function layersOf(placed: Layout): Map<number, Point> {
  const sides = new Map<number, Point>();
  placed.corners.forEach(([, y], i) => {
    const height = placed.sizes[i]?.[1] ?? 0;
    const middle = layerAt(y + height / 2);
    const [top, bottom] = sides.get(middle) ?? [y, y + height];
    sides.set(middle, [Math.min(top, y), Math.max(bottom, y + height)]);
  });
  return sides;
}

/** Beside tall boxes an edge goes straight down; it moves aside only between two layers. */
function upright(
  points: readonly Point[],
  from: number,
  to: number,
  layers: Map<number, Point>,
): Point[] {
  const last = points.length - 1;
  return points.flatMap((point, i) => {
    const middle = i === 0 ? from : i === last ? to : point[1];
    const [top, bottom] = layers.get(layerAt(middle)) ?? [middle, middle];
    const [x, y] = point;
    const sides: Point[] =
      from <= to
        ? [
            [x, top],
            [x, bottom],
          ]
        : [
            [x, bottom],
            [x, top],
          ];
    if (bottom - top < TALL) return [point];
    if (i === 0)
      return Math.abs((sides[1]?.[1] ?? y) - y) > 4 ? [point, sides[1] as Point] : [point];
    if (i === last)
      return Math.abs((sides[0]?.[1] ?? y) - y) > 4 ? [sides[0] as Point, point] : [point];
    return sides;
  });
}

/** The position of the label on the curve: in the middle of its layer, or between two layers, nearer to the end at which
 * the edges are further apart. */
function labelOn(points: readonly Point[], label: Point, fans: boolean): Point {
  for (let i = 0; i + 1 < points.length; i++) {
    const [a, b] = [points[i] as Point, points[i + 1] as Point];
    if ((label[1] - a[1]) * (label[1] - b[1]) > 0) continue;
    if (Math.abs(label[1] - a[1]) < 1 || Math.abs(label[1] - b[1]) < 1) return label;
    const t = Math.abs(b[0] - a[0]) < 30 ? 0.5 : fans ? 0.72 : 0.28;
    const s = t * t * (3 - 2 * t);
    return [a[0] + (b[0] - a[0]) * s, a[1] + (b[1] - a[1]) * t];
  }
  return label;
}

function centerY(placed: Layout, part: number): number {
  return (placed.corners[part]?.[1] ?? 0) + (placed.sizes[part]?.[1] ?? 0) / 2;
}

/** The point at which a straight edge to or from a part would end. */
function center(
  placed: Layout,
  job: Job,
  layouts: readonly Layout[],
  part: number,
  side: "inlet" | "outlet",
): Point {
  const [x, y] = placed.corners[part] ?? [0, 0];
  const port = portOf(job, layouts, part, side);
  return [x + (port >= 0 ? port : (placed.sizes[part]?.[0] ?? 0) / 2), y];
}

function portOf(
  job: Job,
  layouts: readonly Layout[],
  part: number,
  side: "inlet" | "outlet",
): number {
  const given = job.parts[part];
  return (given && given.inner >= 0 ? layouts[given.inner] : given)?.[side] ?? -1;
}

function anchor(
  placed: Layout,
  job: Job,
  layouts: readonly Layout[],
  part: number,
  toward: Point,
  side: "inlet" | "outlet",
): Point {
  const [x, y] = placed.corners[part] ?? [0, 0];
  const [w, h] = placed.sizes[part] ?? [0, 0];
  const edge = side === "inlet" ? y : y + h;
  const port = portOf(job, layouts, part, side);
  if (port >= 0) return [x + port, edge];
  const inset = job.parts[part]?.inset ?? 0;
  const margin = Math.min(w / 2, inset + 12 + (w - 2 * inset) / 6);
  return [Math.min(Math.max(toward[0], x + margin), x + w - margin), edge];
}

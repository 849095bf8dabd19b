// Where the parts of opened boxes stand: dagre's layered layout, one box at a time from the inside out.
// Invariant: pure; the same job gives the same layout, in a worker or without one.

import { layout as dagre, Graph } from "@dagrejs/dagre";

export type Point = [number, number];

/** A part of a box: its size and where its ports are (-1: anywhere), or the number of the job that finds these out. */
export interface Part {
  width: number;
  height: number;
  inlet: number;
  outlet: number;
  inner: number;
}

export interface Job {
  parts: Part[];
  /** [from, to, label width, label height, weight]. */
  edges: [number, number, number, number, number][];
  inlet: number;
  outlet: number;
  /** Room around the parts: left, top, right, bottom, and at least this width for the title. */
  frame: [number, number, number, number, number];
  /** Boxes that stand beside, in columns to the right. */
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
  /** Where the inlet and outlet of the box are, from its left side; -1 without. */
  inlet: number;
  outlet: number;
}

const GAP = 8;
const BESIDE = 28;
// From so many edges on a quicker way to rank, which is less tight.
const MANY = 220;

/** Layouts of jobs, innermost first: a part's `inner` is the number of an earlier job, `known` those found before. */
export function layoutAll(jobs: readonly Job[]): Layout[] {
  const found: Layout[] = [];
  for (const job of jobs) found.push(layoutOne(job, found));
  return found;
}

function layoutOne(job: Job, found: readonly Layout[]): Layout {
  const sizes = job.parts.map((p) => sizeOf(p, found));
  const graph = new Graph({ multigraph: false });
  graph.setGraph({
    rankdir: "TB",
    nodesep: 22,
    edgesep: 12,
    ranksep: 20,
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
      const told = label as unknown as {
        points?: { x: number; y: number }[];
        x?: number;
        y?: number;
      };
      const points = (told.points ?? []).map((p): Point => [p.x, p.y]);
      return { points, label: told.x === undefined ? null : [told.x, told.y ?? 0] };
    }),
    beside: [],
    besideSizes: job.beside.map((p) => sizeOf(p, found)),
    inlet: -1,
    outlet: -1,
  };
  frame(placed, job, found);
  return placed;
}

function sizeOf(part: Part, found: readonly Layout[]): Point {
  const { width, height } = (part.inner < 0 ? part : found[part.inner]) ?? part;
  return [width, height];
}

/** Moves what dagre placed into the frame, with what stands beside it, and mends the ends of edges. */
function frame(placed: Layout, job: Job, found: readonly Layout[]): void {
  const [left, top, right, bottom, title] = job.frame;
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
  mendEnds(placed, job, found);
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

/** Edges leave a box at its lower side and enter at its upper side, below and above each other where they can. */
function mendEnds(placed: Layout, job: Job, found: readonly Layout[]): void {
  job.edges.forEach(([from, to], k) => {
    const route = placed.routes[k];
    if (!route || route.points.length < 2) return;
    const down = centerY(placed, from) <= centerY(placed, to);
    const first = route.points[1] ?? route.points[0];
    const last = route.points[route.points.length - 2];
    if (!first || !last) return;
    route.points[0] = anchor(placed, job, found, from, first, down ? "outlet" : "inlet");
    route.points[route.points.length - 1] = anchor(
      placed,
      job,
      found,
      to,
      last,
      down ? "inlet" : "outlet",
    );
    straighten(route);
  });
}

/** Between two neighbouring layers one curve does, without the bend that dagre made for the label. */
function straighten(route: Layout["routes"][number]): void {
  const [a, bend, b] = route.points;
  if (route.points.length !== 3 || !a || !b || !bend) return;
  const between = bend[0] >= Math.min(a[0], b[0]) - 1 && bend[0] <= Math.max(a[0], b[0]) + 1;
  if (route.label && between) return;
  route.points = [a, b];
  if (route.label) route.label = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
}

function centerY(placed: Layout, part: number): number {
  return (placed.corners[part]?.[1] ?? 0) + (placed.sizes[part]?.[1] ?? 0) / 2;
}

function anchor(
  placed: Layout,
  job: Job,
  found: readonly Layout[],
  part: number,
  toward: Point,
  side: "inlet" | "outlet",
): Point {
  const [x, y] = placed.corners[part] ?? [0, 0];
  const [w, h] = placed.sizes[part] ?? [0, 0];
  const edge = side === "inlet" ? y : y + h;
  const given = job.parts[part];
  const port = (given && given.inner >= 0 ? found[given.inner] : given)?.[side] ?? -1;
  if (port >= 0) return [x + port, edge];
  const margin = Math.min(w / 2, 14 + w / 6);
  return [Math.min(Math.max(toward[0], x + margin), x + w - margin), edge];
}

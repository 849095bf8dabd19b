// Where nodes go: free places for new ones, guides while dragging, and the commands that align and distribute. Pure
// functions of rectangles.

import type { Point, Rect } from "./geometry";
import { overlap } from "./geometry";

export const GAP = 20;
export const COLUMN = 70; // between a node and the one that it feeds

/** The place nearest to `wanted` (moved up, down, or to the right) that is free of the others. */
export function freePlace(wanted: Rect, others: readonly Rect[], gap = GAP): Point {
  const { x, y, width, height } = wanted;
  const column = others.filter((r) => overlap({ ...wanted, y: r.y, height: r.height }, r, gap));
  if (!column.some((r) => overlap(wanted, r, gap))) return [x, y];
  const free = (at: number): boolean =>
    !column.some((r) => overlap({ x, y: at, width, height }, r, gap));
  const heights = column
    .flatMap((r) => [r.y + r.height + gap, r.y - height - gap])
    .sort((a, b) => Math.abs(a - y) - Math.abs(b - y));
  // Below the lowest one there is always room.
  return [x, heights.find(free) ?? y];
}

export interface Guide {
  vertical: boolean;
  at: number;
  from: number;
  to: number;
}

export interface Snapped {
  dx: number;
  dy: number;
  guides: Guide[];
}

const marks = (start: number, size: number): number[] => [start, start + size / 2, start + size];

/** The least shift, at most `radius`, that aligns a side or the middle of `moving` with one of the others. */
export function snap(moving: Rect, others: readonly Rect[], radius: number): Snapped {
  let [dx, dy] = [Infinity, Infinity];
  for (const r of others) {
    const [xs, ys] = [marks(r.x, r.width), marks(r.y, r.height)];
    for (const [k, x] of marks(moving.x, moving.width).entries())
      if (Math.abs((xs[k] ?? 0) - x) < Math.abs(dx)) dx = (xs[k] ?? 0) - x;
    for (const [k, y] of marks(moving.y, moving.height).entries())
      if (Math.abs((ys[k] ?? 0) - y) < Math.abs(dy)) dy = (ys[k] ?? 0) - y;
  }
  if (Math.abs(dx) > radius) dx = 0;
  if (Math.abs(dy) > radius) dy = 0;
  const moved = { ...moving, x: moving.x + dx, y: moving.y + dy };
  return { dx, dy, guides: guidesOf(moved, others) };
}

/** A line through each side or middle of `moved` that others share. */
function guidesOf(moved: Rect, others: readonly Rect[]): Guide[] {
  const guides = new Map<string, Guide>();
  const add = (vertical: boolean, at: number, from: number, to: number): void => {
    const key = `${vertical} ${at}`;
    const known = guides.get(key);
    guides.set(key, {
      vertical,
      at,
      from: Math.min(from, known?.from ?? from),
      to: Math.max(to, known?.to ?? to),
    });
  };
  for (const r of others) {
    const [xs, ys] = [marks(r.x, r.width), marks(r.y, r.height)];
    for (const [k, x] of marks(moved.x, moved.width).entries())
      if (Math.abs((xs[k] ?? 0) - x) < 0.5)
        add(true, x, Math.min(r.y, moved.y), Math.max(r.y + r.height, moved.y + moved.height));
    for (const [k, y] of marks(moved.y, moved.height).entries())
      if (Math.abs((ys[k] ?? 0) - y) < 0.5)
        add(false, y, Math.min(r.x, moved.x), Math.max(r.x + r.width, moved.x + moved.width));
  }
  return [...guides.values()];
}

export type Alignment = "left" | "centre" | "right" | "top" | "middle" | "bottom";

/** The corners after the nodes have been aligned at a side or a middle of the rectangle around them. */
export function aligned(rects: ReadonlyMap<string, Rect>, side: Alignment): Map<string, Point> {
  const all = [...rects.values()];
  const horizontal = side === "left" || side === "centre" || side === "right";
  const start = Math.min(...all.map((r) => (horizontal ? r.x : r.y)));
  const end = Math.max(...all.map((r) => (horizontal ? r.x + r.width : r.y + r.height)));
  const share =
    side === "left" || side === "top" ? 0 : side === "right" || side === "bottom" ? 1 : 0.5;
  const corners = new Map<string, Point>();
  for (const [id, { x, y, width, height }] of rects) {
    const at = start + (end - start - (horizontal ? width : height)) * share;
    corners.set(id, horizontal ? [Math.round(at), y] : [x, Math.round(at)]);
  }
  return corners;
}

/** The corners after the gaps between the nodes have been made equal; the first and the last stay. */
export function distributed(rects: ReadonlyMap<string, Rect>, axis: "x" | "y"): Map<string, Point> {
  const size = axis === "x" ? "width" : "height";
  const ordered = [...rects].sort(([, a], [, b]) => a[axis] - b[axis]);
  const [first, last] = [ordered[0]?.[1], ordered[ordered.length - 1]?.[1]];
  const corners = new Map<string, Point>();
  if (!first || !last) return corners;
  const used = ordered.reduce((sum, [, r]) => sum + r[size], 0);
  const room = last[axis] + last[size] - first[axis];
  const gap = ordered.length > 1 ? (room - used) / (ordered.length - 1) : 0;
  let at = first[axis];
  for (const [id, r] of ordered) {
    corners.set(id, axis === "x" ? [Math.round(at), r.y] : [r.x, Math.round(at)]);
    at += r[size] + gap;
  }
  return corners;
}

/** A wire for `straightened`: the heights of its ports are below the tops of its nodes. */
export interface Link {
  from: string;
  to: string;
  out: number;
  in: number;
}

/** The corners after each node has been moved up or down so that its first wire from one of the nodes is straight. */
export function straightened(
  rects: ReadonlyMap<string, Rect>,
  links: readonly Link[],
): Map<string, Point> {
  const corners = new Map<string, Point>();
  for (const [id, { x, y }] of rects) {
    // In the order of the source what a node reads has its place already.
    const link = links.find(({ from, to }) => to === id && corners.has(from));
    const above = link && corners.get(link.from);
    corners.set(id, link && above ? [x, above[1] + link.out - link.in] : [x, y]);
  }
  return corners;
}

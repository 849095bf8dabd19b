// The way of a wire that goes back: to a node at the left of the one that it comes from, as from the end of a band to the
// beginning of the next. It turns through a gap between the nodes instead of running through them. Pure functions.

import type { Point, Rect } from "../places/geometry";

const BACK = 12; // how far a wire has to go back before it turns
const TURN = 26; // from a port to the first bend
const LEAST_GAP = 14;
const LANES = 5;

/** A gap between nodes: its middle, and its height. */
interface Gap {
  readonly at: number;
  readonly size: number;
}

/** The gaps of a range of heights in which no rectangle is. */
function gapsIn(from: number, to: number, rects: Iterable<Rect>): Gap[] {
  const spans = [...rects]
    .map(({ y, height }): Point => [y, y + height])
    .filter(([top, bottom]) => bottom > from && top < to)
    .sort((a, b) => a[0] - b[0]);
  const gaps: Gap[] = [];
  let free = from;
  for (const [top, bottom] of [...spans, [to, to] as const]) {
    if (top - free >= LEAST_GAP) gaps.push({ at: (free + top) / 2, size: top - free });
    free = Math.max(free, bottom);
  }
  return gaps;
}

/**
 * The bends of a wire from an output at `a` to an input at `b`, or null for a simple curve: because the wire goes ahead,
 * or because there is no gap to turn in. `lane` keeps wires of one gap apart.
 */
export function detour(a: Point, b: Point, rects: Iterable<Rect>, lane: number): Point[] | null {
  if (b[0] - a[0] > -BACK) return null;
  const [left, right] = [b[0] - TURN, a[0] + TURN];
  const between = [...rects].filter(({ x, width }) => x < right && x + width > left);
  const isDown = b[1] > a[1];
  const gaps = gapsIn(Math.min(a[1], b[1]), Math.max(a[1], b[1]), between);
  // The gap beside the node that the wire goes to, so that it arrives there from outside.
  const gap = isDown ? gaps[gaps.length - 1] : gaps[0];
  if (!gap) return null;
  const width = Math.min(gap.size - 6, 8 * LANES);
  const y = gap.at + width * (((lane % LANES) + 0.5) / LANES - 0.5);
  return [
    [right, a[1] + (y - a[1]) / 2],
    [right - TURN, y],
    [left + TURN, y],
    [left, y + (b[1] - y) / 2],
  ];
}

// How a wire is drawn: as one curve, through bends that a person has made, or as a pair of named stubs. Coordinates are
// those of the drawing; bends are kept with the places of nodes, as a list of x and y in turn, [] for stubs.

import { type Curve, curveOf, type Point } from "../places/geometry";

/** Straight from port to port (null), through bends, or as stubs ([]). */
export type Route = readonly Point[] | null;

const STUB = 26;

export function routeOf(numbers: readonly number[] | undefined): Route {
  if (!numbers) return null;
  const bends: Point[] = [];
  for (let k = 0; k + 1 < numbers.length; k += 2)
    bends.push([numbers[k] ?? 0, numbers[k + 1] ?? 0]);
  return bends;
}

/** The name of a wire among the places: its node and its input. */
export const routeKey = ({ to, port }: { to: string; port: string }): string => `${to}>${port}`;

/** The curves of a wire from an output at `a` to an input at `b`. */
export function curvesOf(a: Point, b: Point, route: Route): Curve[] {
  if (!route) return [curveOf(a, b)];
  if (!route.length) return [line(a, [a[0] + STUB, a[1]]), line([b[0] - STUB, b[1]], b)];
  const points = [a, ...route, b];
  const curves: Curve[] = [];
  for (let k = 0; k + 1 < points.length; k++) {
    const [from, to] = [points[k] as Point, points[k + 1] as Point];
    const reach = Math.hypot(to[0] - from[0], to[1] - from[1]) / 3;
    const leaves = tangent(points, k);
    const enters = tangent(points, k + 1);
    curves.push([
      from,
      [from[0] + leaves[0] * reach, from[1] + leaves[1] * reach],
      [to[0] - enters[0] * reach, to[1] - enters[1] * reach],
      to,
    ]);
  }
  return curves;
}

/** The direction of the wire at a point: to the right at its ends, at a bend that from its neighbour to its neighbour. */
function tangent(points: readonly Point[], k: number): Point {
  const [before, after] = [points[k - 1], points[k + 1]];
  if (!before || !after) return [1, 0];
  const [dx, dy] = [after[0] - before[0], after[1] - before[1]];
  const length = Math.hypot(dx, dy) || 1;
  return [dx / length, dy / length];
}

function line(a: Point, b: Point): Curve {
  const third = (b[0] - a[0]) / 3;
  return [a, [a[0] + third, a[1]], [b[0] - third, b[1]], b];
}

/** Where a new bend at a point belongs among those of a wire: into the part that is nearest. */
export function insertedAt(a: Point, b: Point, bends: readonly Point[], at: Point): number {
  const points = [a, ...bends, b];
  let [best, least] = [0, Infinity];
  for (let k = 0; k + 1 < points.length; k++) {
    const distance = distanceToLine(points[k] as Point, points[k + 1] as Point, at);
    if (distance < least) [best, least] = [k, distance];
  }
  return best;
}

function distanceToLine([x0, y0]: Point, [x1, y1]: Point, [x, y]: Point): number {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const length = dx * dx + dy * dy;
  const t = length ? Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / length)) : 0;
  return Math.hypot(x - x0 - t * dx, y - y0 - t * dy);
}

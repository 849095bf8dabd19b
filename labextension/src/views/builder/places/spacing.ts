// Spacing for values and problems: a node that has grown by what is shown on it moves those at its right and below it aside,
// so that it covers none. They stand at their own places again when that is gone; the document knows nothing of it.

import type { Point, Rect } from "./geometry";
import { GAP } from "./placing";

/** A node at its own place, with the size that it has without a value or a problem, and by how much these add to it. */
export interface GrownNode {
  id: string;
  rect: Rect;
  grows: Point;
}

type Axis = "x" | "y";
const SIZE = { x: "width", y: "height" } as const;

/** By how much each node that has to is moved to the right and down. */
export function spacingFor(nodes: readonly GrownNode[]): Map<string, Point> {
  if (!nodes.some(({ grows }) => grows[0] || grows[1])) return new Map();
  const right = pushed(nodes, "x", 0);
  const down = pushed(nodes, "y", 1);
  const moved = nodes.map(({ id }): [string, Point] => [
    id,
    [right.get(id) ?? 0, down.get(id) ?? 0],
  ]);
  return new Map(moved.filter(([, [x, y]]) => x || y));
}

/** The shifts along one axis: only nodes that have grown or that are moved themselves move others. */
function pushed(nodes: readonly GrownNode[], axis: Axis, k: 0 | 1): Map<string, number> {
  const [size, other] = [SIZE[axis], axis === "x" ? "y" : "x"] as const;
  const span = SIZE[other];
  const shifts = new Map<string, number>();
  const pushing: { one: GrownNode; shift: number }[] = [];
  for (const one of [...nodes].sort((a, b) => a.rect[axis] - b.rect[axis])) {
    const { rect } = one;
    let shift = 0;
    for (const { one: before, shift: moved } of pushing) {
      const gap = rect[axis] - (before.rect[axis] + before.rect[size]);
      // What overlapped before is left so. Along x a value takes no room beside the node's own rows.
      if (gap < 0) continue;
      const reach = before.rect[span] + (axis === "y" ? before.grows[0] : 0);
      const isBeside =
        before.rect[other] < rect[other] + rect[span] && rect[other] < before.rect[other] + reach;
      if (isBeside) shift = Math.max(shift, moved + before.grows[k] + Math.min(gap, GAP) - gap);
    }
    if (shift > 0) shifts.set(one.id, Math.round(shift));
    if (shift > 0 || one.grows[k] > 0) pushing.push({ one, shift });
  }
  return shifts;
}

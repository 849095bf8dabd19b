// The camera that shows a part of the drawing. Pure functions of rectangles.

import type { Point, Rect } from "./geometry";

const MARGIN = 30;

/** Offsets and scale of a camera, and the scale at which everything would be visible. */
export interface Sight {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
  readonly whole: number;
}

/**
 * Shows all of a rectangle or, if that would be smaller than `least`, its left upper part, moved so far that `first` is in
 * sight: the corner of a drawing may be empty.
 */
export function sightOf(
  rect: Rect,
  first: Rect | null,
  least: number,
  [width, height]: Point,
): Sight {
  const room = [width - 2 * MARGIN, height - 2 * MARGIN] as const;
  const whole = Math.min(1, room[0] / Math.max(1, rect.width), room[1] / Math.max(1, rect.height));
  const scale = Math.max(least, whole);
  const offset = (free: number, from: number, size: number, start = from, own = size): number => {
    const wanted = MARGIN + Math.max(0, (free - size * scale) / 2) - from * scale;
    const least = MARGIN - start * scale; // at which `first` is at the left, or at the top
    return Math.max(Math.min(wanted, least + free - own * scale), Math.min(least, wanted));
  };
  return {
    x: offset(room[0], rect.x, rect.width, first?.x, first?.width),
    y: offset(room[1], rect.y, rect.height, first?.y, first?.height),
    scale,
    whole,
  };
}

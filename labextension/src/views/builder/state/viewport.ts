// The part of the drawing that is visible: the size of the canvas, and a camera, which moves by itself while it flies.

import { Camera } from "../../graph/camera";
import { sightOf } from "../places/fitting";
import type { Point, Rect } from "../places/geometry";

/** The scale below which nodes are not drawn as elements, because they would be too small to read. */
export const ELEMENT_SCALE = 0.45;
const EDGE = 24; // pixels between the border and what is revealed

export class Viewport {
  readonly camera: Camera;
  width = 0;
  height = 0;

  /** `changed` is called whenever something else becomes visible. */
  constructor(changed: () => void) {
    this.camera = new Camera(changed);
    this.camera.least = 0.05;
  }

  /** The visible part, and a little more. */
  window(margin = 0): Rect {
    const { x0, y0, x1, y1 } = this.camera.window(this.width, this.height);
    return {
      x: x0 - margin,
      y: y0 - margin,
      width: x1 - x0 + 2 * margin,
      height: y1 - y0 + 2 * margin,
    };
  }

  /**
   * Shows all of a rectangle or, if that would be smaller than `least`, where it begins, with `first` in sight; at once,
   * or in flight.
   */
  fit(rect: Rect | null, first: Rect | null, least = 0, isAtOnce = false): void {
    if (!rect || !this.width || !this.height) return;
    const { x, y, scale, whole } = sightOf(rect, first, least, [this.width, this.height]);
    this.camera.least = Math.min(0.05, whole / 2);
    if (isAtOnce) this.camera.set(x, y, scale);
    else this.camera.fly(x, y, scale);
  }

  zoom(by: number): void {
    this.camera.arrive();
    this.camera.zoom(by, this.width / 2, this.height / 2);
  }

  /** Moves no more than is needed to show a rectangle. */
  reveal(rect: Rect): void {
    const { camera, width, height } = this;
    const scale = Math.max(camera.scale, ELEMENT_SCALE);
    if (scale !== camera.scale) {
      camera.fly(
        width / 2 - (rect.x + rect.width / 2) * scale,
        height / 2 - (rect.y + rect.height / 2) * scale,
        scale,
      );
      return;
    }
    const dx = shiftInto(camera.x + rect.x * scale, rect.width * scale, width);
    const dy = shiftInto(camera.y + rect.y * scale, rect.height * scale, height);
    if (dx || dy) camera.fly(camera.x + dx, camera.y + dy, scale);
  }

  /** The canvas gets another size. What was in sight of `kept` and would be cut off by that stays in sight. */
  resize(width: number, height: number, kept: Rect | null): void {
    const { camera } = this;
    const right = kept ? camera.x + (kept.x + kept.width) * camera.scale : 0;
    const isCut = right > width && right <= this.width;
    Object.assign(this, { width, height });
    if (kept && isCut && camera.scale >= ELEMENT_SCALE) this.reveal(kept);
  }

  /** The point of the drawing in the middle of the canvas. */
  middle(): Point {
    return this.camera.toWorld(this.width / 2, this.height / 2);
  }

  /** The position on the canvas of a point of the drawing. */
  toScreen([x, y]: Point): Point {
    const { camera } = this;
    return [camera.x + x * camera.scale, camera.y + y * camera.scale];
  }

  /** A distance on the canvas as one in the drawing. */
  toWorldLength(pixels: number): number {
    return pixels / this.camera.scale;
  }
}

/** By how much what begins at `low` has to move to be within a canvas, its beginning before its end. */
function shiftInto(low: number, size: number, room: number): number {
  const high = low + size;
  if (low < EDGE) return EDGE - low;
  return high > room - EDGE ? Math.max(EDGE - low, room - EDGE - high) : 0;
}

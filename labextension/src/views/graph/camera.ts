// Position and scale of the visible part of the drawing: world = (screen - offset) / scale.

import type { Window } from "./paint";

const MOST = 4;

export class Camera {
  x = 0;
  y = 0;
  scale = 1;
  /** The least scale: half of the scale at which everything is visible. */
  least = 0.02;
  private flight = 0;
  private goal: readonly [number, number, number] | null = null;

  constructor(private readonly changed: () => void) {}

  window(width: number, height: number): Window {
    const { x, y, scale } = this;
    return {
      x0: -x / scale,
      y0: -y / scale,
      x1: (width - x) / scale,
      y1: (height - y) / scale,
      scale,
    };
  }

  toWorld(x: number, y: number): [number, number] {
    return [(x - this.x) / this.scale, (y - this.y) / this.scale];
  }

  pan(dx: number, dy: number): void {
    this.land();
    this.x += dx;
    this.y += dy;
    this.changed();
  }

  zoom(by: number, x: number, y: number): void {
    this.land();
    const scale = Math.min(MOST, Math.max(Math.min(this.least, this.scale), this.scale * by));
    const ratio = scale / this.scale;
    this.x = x - (x - this.x) * ratio;
    this.y = y - (y - this.y) * ratio;
    this.scale = scale;
    this.changed();
  }

  set(x: number, y: number, scale: number): void {
    this.land();
    [this.x, this.y, this.scale] = [x, y, Math.min(MOST, Math.max(0.005, scale))];
    this.changed();
  }

  /** Ends a flight where it goes to, for a key that is pressed meanwhile and means the view that was asked for. */
  arrive(): void {
    if (this.goal) this.set(...this.goal);
  }

  /** Moves there smoothly, or at once if the user has asked the system for reduced motion. */
  fly(x: number, y: number, scale: number): void {
    this.land();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.set(x, y, scale);
      return;
    }
    this.goal = [x, y, scale];
    const from = [this.x, this.y, this.scale] as const;
    const begin = performance.now();
    const step = (now: number): void => {
      const t = Math.min(1, (now - begin) / 160);
      const f = t * (2 - t);
      this.x = from[0] + (x - from[0]) * f;
      this.y = from[1] + (y - from[1]) * f;
      this.scale = from[2] + (scale - from[2]) * f;
      if (t < 1) this.flight = requestAnimationFrame(step);
      else this.land();
      this.changed();
    };
    this.flight = requestAnimationFrame(step);
  }

  private land(): void {
    cancelAnimationFrame(this.flight);
    this.flight = 0;
    this.goal = null;
  }

  dispose(): void {
    this.land();
  }
}

// A small picture of the whole drawing, with the visible part framed; a click or a drag moves the visible part.

import { h } from "../dom";
import type { Camera } from "./camera";
import type { Palette, Theme } from "./palette";
import type { Scene } from "./scene";

const WIDTH = 150;
const HEIGHT = 104;

export class Minimap {
  readonly root = h("canvas", { className: "map", "aria-hidden": "true" });
  private readonly picture = h("canvas");
  private scale = 1;
  private scene: Scene | null = null;

  constructor(
    private readonly camera: Camera,
    private readonly size: () => [number, number],
  ) {
    const move = (event: PointerEvent): void => {
      if (event.type === "pointermove" && !event.buttons) return;
      event.preventDefault();
      const box = this.root.getBoundingClientRect();
      const [width, height] = this.size();
      const { scale } = this.camera;
      const [x, y] = [
        (event.clientX - box.left) / this.scale,
        (event.clientY - box.top) / this.scale,
      ];
      this.camera.set(width / 2 - x * scale, height / 2 - y * scale, scale);
    };
    this.root.addEventListener("pointerdown", (event) => {
      this.root.setPointerCapture(event.pointerId);
      move(event);
    });
    this.root.addEventListener("pointermove", move);
  }

  /** Paints the boxes, once for each scene. */
  show(scene: Scene, palette: Palette, theme: Theme): void {
    this.scene = scene;
    this.scale = Math.min(WIDTH / Math.max(1, scene.width), HEIGHT / Math.max(1, scene.height));
    const dots = devicePixelRatio || 1;
    const [width, height] = [
      Math.ceil(scene.width * this.scale),
      Math.ceil(scene.height * this.scale),
    ];
    for (const canvas of [this.picture, this.root]) {
      canvas.width = Math.max(1, width * dots);
      canvas.height = Math.max(1, height * dots);
    }
    Object.assign(this.root.style, { width: `${width}px`, height: `${height}px` });
    const pen = this.picture.getContext("2d");
    if (!pen) return;
    pen.scale(dots * this.scale, dots * this.scale);
    for (const b of scene.boxes) {
      const fill = palette.fill(b.box);
      pen.globalAlpha = b.opened ? 0.15 : 0.75;
      pen.fillStyle = fill.bands[0]?.[0] ?? theme.line;
      pen.fillRect(b.x, b.y, b.width, b.height);
    }
  }

  /** Shows the position of the window; the minimap is hidden if the window contains the whole drawing. */
  mark(theme: Theme): void {
    const pen = this.root.getContext("2d");
    if (!pen || !this.scene) return;
    const { x0, y0, x1, y1 } = this.camera.window(...this.size());
    // A drawing that fits exactly may exceed the window by a rounding error.
    const { width, height } = this.scene;
    this.root.hidden = x0 <= 1 && y0 <= 1 && x1 >= width - 1 && y1 >= height - 1;
    if (this.root.hidden) return;
    const dots = (devicePixelRatio || 1) * this.scale;
    pen.clearRect(0, 0, this.root.width, this.root.height);
    pen.drawImage(this.picture, 0, 0);
    pen.strokeStyle = theme.accent;
    pen.lineWidth = 1.5 * (devicePixelRatio || 1);
    const [left, top] = [Math.max(1, x0 * dots), Math.max(1, y0 * dots)];
    const right = Math.min(this.root.width - 1, x1 * dots);
    const bottom = Math.min(this.root.height - 1, y1 * dots);
    pen.strokeRect(left, top, right - left, bottom - top);
  }
}

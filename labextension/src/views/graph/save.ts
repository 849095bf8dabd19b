// Saves the drawing as a file: SVG, or PNG at three times its size, on a white background for use in a paper.

import { h } from "../dom";
import { type Painting, paint, paintLegend } from "./paint";
import { PAPER } from "./palette";
import { CanvasPen, type Pen, SvgPen } from "./pen";
import type { SceneBox } from "./scene";

const FOOT = 30;
const SHARP = 3;
const MOST_PIXELS = 60e6;

function all(pen: Pen, what: Painting): void {
  const { scene } = what;
  const window = { x0: 0, y0: 0, x1: scene.width, y1: scene.height, scale: 1 };
  paint(pen, { ...what, theme: PAPER, selected: -1, hovered: -1 }, window);
  const shown = scene.boxes.map((b: SceneBox) => b.box);
  paintLegend(pen, what.palette.legend(shown), PAPER, 16, scene.height + 8);
}

export function toSvg(what: Painting): string {
  const pen = new SvgPen(what.scene.width, what.scene.height + FOOT, PAPER.ground);
  all(pen, what);
  return pen.toString();
}

export function toPng(what: Painting): Promise<Blob | null> {
  const [width, height] = [what.scene.width, what.scene.height + FOOT];
  const sharp = Math.min(SHARP, Math.sqrt(MOST_PIXELS / (width * height)));
  const canvas = h("canvas");
  [canvas.width, canvas.height] = [Math.ceil(width * sharp), Math.ceil(height * sharp)];
  const to = canvas.getContext("2d");
  if (!to) return Promise.resolve(null);
  to.scale(sharp, sharp);
  to.fillStyle = PAPER.ground;
  to.fillRect(0, 0, width, height);
  all(new CanvasPen(to), what);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

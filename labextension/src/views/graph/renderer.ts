// Draws the scene on the canvas, the minimap and the legend, in the colours of the theme, at most once per frame.

import type { ColourBy } from "../../protocol/graph";
import { download, h } from "../dom";
import { Minimap } from "./minimap";
import type { GraphModel } from "./model";
import { type Painting, paint } from "./paint";
import { Palette, type Theme, themeOf } from "./palette";
import { CanvasPen } from "./pen";
import { toPng, toSvg } from "./save";
import type { Scene } from "./scene";
import type { Selection } from "./selection";
import type { Viewport } from "./viewport";

export class Renderer {
  readonly legend = h("span", { className: "legend" });
  readonly map: Minimap;
  private scene: Scene | null = null;
  private palette: Palette;
  private theme: Theme = themeOf(document.body);
  private frame = 0;

  constructor(
    private readonly root: HTMLElement,
    private readonly model: GraphModel,
    private readonly viewport: Viewport,
    private readonly selection: Selection,
    by: ColourBy,
  ) {
    this.palette = new Palette(model, by);
    this.map = new Minimap(viewport.camera, () => [viewport.width, viewport.height]);
  }

  get colouredBy(): ColourBy {
    return this.palette.by;
  }

  show(scene: Scene): void {
    this.scene = scene;
    this.restyle();
  }

  colour(by: ColourBy): void {
    this.palette = new Palette(this.model, by, this.palette.hues);
    this.restyle();
  }

  /** Reads the colours of the theme again. */
  restyle(): void {
    this.theme = themeOf(this.root);
    if (!this.scene) return;
    this.map.show(this.scene, this.palette, this.theme);
    const { title, rows } = this.palette.legend(this.scene.boxes.map((b) => b.box));
    this.legend.replaceChildren(...(title ? [h("span", {}, title)] : []));
    for (const { colour, strength, text } of rows) {
      const swatch = h("i");
      swatch.style.borderColor = colour;
      swatch.style.background = `color-mix(in srgb, ${colour} ${strength * 100}%, transparent)`;
      this.legend.append(h("span", { className: "key" }, swatch, text));
    }
    this.later();
  }

  /** Requests a drawing in the next frame. */
  later(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  draw(): void {
    const { viewport } = this;
    const { canvas, camera, width, height } = viewport;
    const to = canvas.getContext("2d");
    const what = this.painting();
    if (!to || !what || !width) return;
    const dots = canvas.width / width;
    const { x, y, scale } = camera;
    to.setTransform(1, 0, 0, 1, 0, 0);
    to.fillStyle = this.theme.ground;
    to.fillRect(0, 0, canvas.width, canvas.height);
    to.setTransform(dots * scale, 0, 0, dots * scale, dots * x, dots * y);
    paint(new CanvasPen(to), what, camera.window(width, height));
    this.map.mark(this.theme);
  }

  private painting(): Painting | null {
    const { scene, model, palette, theme } = this;
    const { marks, selected, hovered } = this.selection;
    return scene && { model, scene, palette, theme, marks, selected, hovered };
  }

  saveSvg(): void {
    const what = this.painting();
    if (what) download(new Blob([toSvg(what)], { type: "image/svg+xml" }), "graph.svg");
  }

  async savePng(): Promise<void> {
    const what = this.painting();
    const blob = what && (await toPng(what));
    if (blob) download(blob, "graph.png");
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
  }
}

// A small picture of the whole drawing with the window framed; a click or a drag moves the window there.

import { h } from "../dom";
import type { Rect } from "./places/geometry";
import type { Workspace } from "./state/workspace";

const [WIDTH, HEIGHT] = [160, 110];

export class Minimap {
  readonly root = h("canvas", { className: "map", "aria-hidden": "true" });
  private readonly picture = h("canvas");
  private isStale = true;
  private area: Rect = { x: 0, y: 0, width: 1, height: 1 };
  private scale = 1;

  constructor(private readonly workspace: Workspace) {
    const move = (event: PointerEvent): void => {
      event.stopPropagation();
      if (event.type === "pointermove" && !event.buttons) return;
      const box = this.root.getBoundingClientRect();
      const { camera, width, height } = this.workspace.viewport;
      const x = (event.clientX - box.left) / this.scale + this.area.x;
      const y = (event.clientY - box.top) / this.scale + this.area.y;
      camera.set(width / 2 - x * camera.scale, height / 2 - y * camera.scale, camera.scale);
    };
    this.root.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.root.setPointerCapture(event.pointerId);
      move(event);
    });
    this.root.addEventListener("pointermove", move);
  }

  /** `isNew`: whether the nodes have to be drawn anew. */
  draw(isNew: boolean): void {
    const { workspace, root } = this;
    this.isStale ||= isNew;
    const bounds = workspace.scene.bounds();
    const window = workspace.viewport.window();
    const isWhole =
      !bounds ||
      (window.x <= bounds.x &&
        window.y <= bounds.y &&
        window.x + window.width >= bounds.x + bounds.width &&
        window.y + window.height >= bounds.y + bounds.height);
    root.hidden = isWhole;
    const pen = root.getContext("2d");
    if (isWhole || !bounds || !pen) return;
    const dots = devicePixelRatio || 1;
    if (this.isStale) this.drawNodes(bounds, dots);
    const scale = this.scale * dots;
    pen.clearRect(0, 0, root.width, root.height);
    pen.drawImage(this.picture, 0, 0);
    pen.strokeStyle = workspace.theme.accent;
    pen.lineWidth = 1.5 * dots;
    const inset = pen.lineWidth / 2;
    const left = Math.max(inset, (window.x - bounds.x) * scale);
    const top = Math.max(inset, (window.y - bounds.y) * scale);
    const right = Math.min(root.width - inset, (window.x + window.width - bounds.x) * scale);
    const bottom = Math.min(root.height - inset, (window.y + window.height - bounds.y) * scale);
    pen.strokeRect(left, top, right - left, bottom - top);
  }

  private drawNodes(bounds: Rect, dots: number): void {
    const { root, picture, workspace } = this;
    this.isStale = false;
    this.area = bounds;
    this.scale = Math.min(WIDTH / bounds.width, HEIGHT / bounds.height);
    const [width, height] = [bounds.width * this.scale, bounds.height * this.scale];
    for (const canvas of [root, picture]) {
      canvas.width = Math.max(1, Math.round(width * dots));
      canvas.height = Math.max(1, Math.round(height * dots));
    }
    Object.assign(root.style, { width: `${width}px`, height: `${height}px` });
    const pen = picture.getContext("2d");
    if (!pen) return;
    const scale = this.scale * dots;
    pen.setTransform(scale, 0, 0, scale, -bounds.x * scale, -bounds.y * scale);
    const { theme, model, selected } = workspace;
    for (const id of model.order) {
      const r = workspace.scene.rect(id);
      if (!r) continue;
      const isWrong = Boolean(model.nodes.get(id)?.problem);
      pen.fillStyle = isWrong ? "#d55e00" : selected.has(id) ? theme.accent : theme.line;
      pen.fillRect(r.x, r.y, Math.max(r.width, 2 / scale), Math.max(r.height, 2 / scale));
    }
  }
}

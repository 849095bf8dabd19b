// Handles pointer, wheel and keys on the drawing. Without the focus or a modifier key, the wheel scrolls the page.

import type { Direction } from "./marks";
import type { GraphModel } from "./model";
import { boxAt, type Scene, type SceneBox } from "./scene";
import type { Viewport } from "./viewport";

const STEP = 60;

/** The interface of the controlled view. Boxes are numbers, -1 is none; positions are in coordinates of the drawing. */
export interface Steered {
  readonly model: GraphModel;
  readonly scene: Scene | null;
  readonly selected: number;
  select(box: number): void;
  hover(box: number): void;
  toggle(box: number): Promise<void>;
  trace(direction: Direction): void;
  fit(whole: boolean): void;
  zoom(by: number): void;
  focusSearch(): void;
}

export function steer(view: Steered, viewport: Viewport): void {
  const { canvas, camera } = viewport;
  const spot = (e: MouseEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  };
  const world = (e: MouseEvent): [number, number] => camera.toWorld(...spot(e));
  canvas.addEventListener(
    "wheel",
    (e) => {
      if (!e.ctrlKey && !e.metaKey && document.activeElement !== canvas) return;
      e.preventDefault();
      const lines = e.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
      camera.zoom(Math.exp((-e.deltaY * lines) / (e.ctrlKey ? 150 : 500)), ...spot(e));
    },
    { passive: false },
  );
  drag(view, viewport, world);
  canvas.addEventListener("dblclick", (e) => {
    const hit = boxAt(view.scene, ...world(e));
    if (hit) void view.toggle(hit.box);
  });
  canvas.addEventListener("pointerleave", () => view.hover(-1));
  canvas.addEventListener("keydown", (e) => key(view, viewport, e));
}

function drag(
  view: Steered,
  { canvas, camera }: Viewport,
  world: (e: MouseEvent) => [number, number],
): void {
  let held: { x: number; y: number; moved: boolean } | null = null;
  canvas.addEventListener("pointerdown", (e) => {
    held = { x: e.clientX, y: e.clientY, moved: false };
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", (e) => {
    if (!held) {
      const hit = boxAt(view.scene, ...world(e));
      canvas.style.cursor = hit ? "pointer" : "grab";
      view.hover(hit && !hit.opened ? hit.box : -1);
      return;
    }
    const [dx, dy] = [e.clientX - held.x, e.clientY - held.y];
    if (!held.moved && Math.hypot(dx, dy) < 4) return;
    held = { x: e.clientX, y: e.clientY, moved: true };
    camera.pan(dx, dy);
  });
  canvas.addEventListener("pointerup", (e) => {
    if (held && !held.moved) click(view, ...world(e));
    held = null;
  });
  canvas.addEventListener("pointercancel", () => {
    held = null;
  });
}

function click(view: Steered, x: number, y: number): void {
  const hit = boxAt(view.scene, x, y);
  if (!hit) view.select(-1);
  // A click on the sign before the title of an open box closes the box.
  else if (hit.opened && x < hit.x + 24 && y < hit.y + 26) void view.toggle(hit.box);
  else view.select(hit.box);
}

function key(view: Steered, viewport: Viewport, e: KeyboardEvent): void {
  if (e.altKey || e.ctrlKey || e.metaKey) return;
  const { camera } = viewport;
  const { selected } = view;
  const arrow = (dx: number, dy: number): void => {
    if (e.shiftKey) {
      camera.arrive();
      camera.pan(-STEP * dx, -STEP * dy);
    } else choose(view, viewport, neighbour(view, dx, dy));
  };
  const acts: Record<string, () => void> = {
    ArrowUp: () => arrow(0, -1),
    ArrowDown: () => arrow(0, 1),
    ArrowLeft: () => arrow(-1, 0),
    ArrowRight: () => arrow(1, 0),
    Enter: () => void (selected >= 0 && view.toggle(selected)),
    " ": () => void (selected >= 0 && view.toggle(selected)),
    Backspace: () => choose(view, viewport, view.scene?.place.get(view.model.parent(selected))),
    Escape: () => view.select(-1),
    "+": () => view.zoom(1.3),
    "=": () => view.zoom(1.3),
    "-": () => view.zoom(1 / 1.3),
    "0": () => view.fit(true),
    "/": () => view.focusSearch(),
    i: () => view.trace("inputs"),
    o: () => view.trace("outputs"),
  };
  const act = acts[e.key];
  if (!act) return;
  e.preventDefault();
  act();
}

/** The nearest box in a direction: near along the direction, and near to its line. */
function neighbour(view: Steered, dx: number, dy: number): SceneBox | undefined {
  const { model, scene, selected } = view;
  if (!scene) return undefined;
  const now = scene.place.get(selected);
  if (!now) return scene.boxes[0];
  const [x, y] = now.opened && dy > 0 ? title(now) : middle(now);
  let best: SceneBox | undefined;
  let least = Infinity;
  for (const b of scene.boxes) {
    // Down from an open box goes into it; Backspace goes to the box around.
    if (b.box === selected || model.holds(b.box, selected)) continue;
    if (now.opened && model.holds(selected, b.box) && dy <= 0) continue;
    const [bx, by] = b.opened ? title(b) : middle(b);
    const along = (bx - x) * dx + (by - y) * dy;
    const off = Math.abs((bx - x) * dy) + Math.abs((by - y) * dx);
    const cost = along + 2.5 * off;
    if (along > 4 && cost < least) [best, least] = [b, cost];
  }
  return best;
}

const middle = (b: SceneBox): [number, number] => [b.x + b.width / 2, b.y + b.height / 2];
const title = (b: SceneBox): [number, number] => [b.x + b.width / 2, b.y + 12];

function choose(view: Steered, viewport: Viewport, hit: SceneBox | undefined): void {
  if (!hit) return;
  view.select(hit.box);
  if (!viewport.shows(hit)) viewport.bringIn(hit);
}

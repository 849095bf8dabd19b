// Hands on the drawing: pointer, wheel and keys. A wheel that is not meant for the drawing scrolls the page.

import type { SceneBox } from "./scene";
import type { GraphView } from "./view";

const STEP = 60;

export function steer(view: GraphView): void {
  const { canvas, camera } = view;
  const spot = (e: MouseEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  };
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
  drag(view, spot);
  canvas.addEventListener("dblclick", (e) => {
    const found = view.find(...spot(e));
    if (found) void view.toggle(found.box);
  });
  canvas.addEventListener("pointerleave", () => hover(view, -1));
  canvas.addEventListener("keydown", (e) => key(view, e));
}

function hover(view: GraphView, box: number): void {
  if (box === view.hovered) return;
  view.hovered = box;
  view.canvas.title = box < 0 ? "" : view.told(box);
  view.later();
}

function drag(view: GraphView, spot: (e: MouseEvent) => [number, number]): void {
  const { canvas, camera } = view;
  let held: { x: number; y: number; moved: boolean } | null = null;
  canvas.addEventListener("pointerdown", (e) => {
    held = { x: e.clientX, y: e.clientY, moved: false };
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", (e) => {
    if (!held) {
      const found = view.find(...spot(e));
      canvas.style.cursor = found ? "pointer" : "grab";
      hover(view, found && !found.opened ? found.box : -1);
      return;
    }
    const [dx, dy] = [e.clientX - held.x, e.clientY - held.y];
    if (!held.moved && Math.hypot(dx, dy) < 4) return;
    held = { x: e.clientX, y: e.clientY, moved: true };
    camera.pan(dx, dy);
  });
  canvas.addEventListener("pointerup", (e) => {
    if (held && !held.moved) click(view, view.find(...spot(e)), spot(e));
    held = null;
  });
  canvas.addEventListener("pointercancel", () => {
    held = null;
  });
}

function click(view: GraphView, found: SceneBox | null, [x, y]: [number, number]): void {
  if (!found) {
    view.select(-1);
    return;
  }
  const [wx, wy] = view.camera.toWorld(x, y);
  // The sign before an opened box's title closes it.
  if (found.opened && wx < found.x + 24 && wy < found.y + 26) void view.toggle(found.box);
  else view.select(found.box);
}

function key(view: GraphView, e: KeyboardEvent): void {
  if (e.altKey || e.ctrlKey || e.metaKey) return;
  const { camera, selected } = view;
  const acts: Record<string, () => void> = {
    ArrowUp: () => (e.shiftKey ? camera.pan(0, STEP) : walk(view, 0, -1)),
    ArrowDown: () => (e.shiftKey ? camera.pan(0, -STEP) : walk(view, 0, 1)),
    ArrowLeft: () => (e.shiftKey ? camera.pan(STEP, 0) : walk(view, -1, 0)),
    ArrowRight: () => (e.shiftKey ? camera.pan(-STEP, 0) : walk(view, 1, 0)),
    Enter: () => void (selected >= 0 && view.toggle(selected)),
    " ": () => void (selected >= 0 && view.toggle(selected)),
    Backspace: () => choose(view, view.scene?.place.get(view.model.parent(selected))),
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

/** To the nearest box that way: near in the direction, and not far off it. */
function walk(view: GraphView, dx: number, dy: number): void {
  const { scene, model, selected } = view;
  if (!scene) return;
  const now = scene.place.get(selected);
  if (!now) {
    choose(view, scene.boxes[0]);
    return;
  }
  const [x, y] = now.opened && dy > 0 ? [now.x + now.width / 2, now.y + 12] : middle(now);
  let best: SceneBox | undefined;
  let least = Infinity;
  for (const b of scene.boxes) {
    // Down from an opened box leads into it; what is around a box is left by Backspace.
    if (b.box === selected || model.holds(b.box, selected)) continue;
    if (now.opened && model.holds(selected, b.box) && dy <= 0) continue;
    const [bx, by] = b.opened ? [b.x + b.width / 2, b.y + 12] : middle(b);
    const along = (bx - x) * dx + (by - y) * dy;
    const off = Math.abs((bx - x) * dy) + Math.abs((by - y) * dx);
    const cost = along + 2.5 * off;
    if (along > 4 && cost < least) [best, least] = [b, cost];
  }
  choose(view, best);
}

const middle = (b: SceneBox): [number, number] => [b.x + b.width / 2, b.y + b.height / 2];

function choose(view: GraphView, found: SceneBox | undefined): void {
  if (!found) return;
  view.select(found.box);
  const [x, y] = view.camera.toWorld(0, 0);
  const [right, bottom] = view.camera.toWorld(
    view.canvas.clientWidth - 300,
    view.canvas.clientHeight,
  );
  if (
    found.x < x ||
    found.y < y ||
    found.x + found.width > right ||
    found.y + Math.min(found.height, 60) > bottom
  ) {
    view.bringIn(found);
  }
}

// Mouse, touch and keys on the lanes.
import { type Chart, GUTTER } from "./chart";
import { timeText } from "./texts";

export const KEYS =
  "arrow keys move and zoom, plus and minus zoom, Home shows the whole recording, page keys scroll, n and p select the next and the previous event, Escape clears the selection";

export function steer(chart: Chart, canvas: HTMLCanvasElement, box: HTMLElement): void {
  const spot = (e: MouseEvent): [number, number] => {
    const place = canvas.getBoundingClientRect();
    return [e.clientX - place.left, e.clientY - place.top];
  };
  canvas.addEventListener("wheel", (e) => wheel(chart, canvas, e, spot(e)[0]), { passive: false });
  canvas.addEventListener("keydown", (e) => key(chart, box, e));
  canvas.addEventListener("dblclick", (e) => {
    const i = chart.find(...spot(e));
    if (i >= 0) chart.fit(chart.trace.start(i), chart.trace.end(i));
  });
  let held: { x: number; moved: boolean } | null = null;
  canvas.addEventListener("pointerdown", (e) => {
    held = { x: e.clientX, moved: false };
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", (e) => {
    if (held) {
      const by = held.x - e.clientX;
      if (Math.abs(by) < 3 && !held.moved) return;
      held = { x: e.clientX, moved: true };
      chart.pan(by);
      return;
    }
    const i = chart.find(...spot(e));
    canvas.title =
      i < 0 ? "" : `${chart.trace.name(i).slice(0, 500)}\n${timeText(chart.trace.length(i))}`;
  });
  canvas.addEventListener("pointerup", (e) => {
    if (held && !held.moved) {
      chart.mark(-1);
      chart.select(chart.find(...spot(e)));
    }
    held = null;
  });
  canvas.addEventListener("pointercancel", () => {
    held = null;
  });
}

function wheel(chart: Chart, canvas: HTMLCanvasElement, e: WheelEvent, x: number): void {
  // Without the focus or a modifier key, the wheel scrolls the page.
  if (!e.ctrlKey && !e.shiftKey && document.activeElement !== canvas) return;
  e.preventDefault();
  if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) chart.pan(e.deltaX || e.deltaY);
  else chart.zoom(Math.exp(e.deltaY / 400), x);
}

function key(chart: Chart, box: HTMLElement, e: KeyboardEvent): void {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const step = (chart.width - GUTTER) / 8;
  const last = chart.trace.n - 1;
  const acts: Record<string, () => void> = {
    ArrowLeft: () => chart.pan(-step),
    ArrowRight: () => chart.pan(step),
    ArrowUp: () => chart.zoom(1 / 1.4),
    ArrowDown: () => chart.zoom(1.4),
    "+": () => chart.zoom(1 / 1.4),
    "=": () => chart.zoom(1 / 1.4),
    "-": () => chart.zoom(1.4),
    Home: () => chart.fit(),
    PageUp: () => box.scrollBy(0, -chart.height / 2),
    PageDown: () => box.scrollBy(0, chart.height / 2),
    n: () => chart.show(Math.min(chart.selected + 1, last)),
    p: () => chart.show(Math.max(chart.selected - 1, 0)),
    Escape: () => {
      chart.mark(-1);
      chart.select(-1);
    },
  };
  const act = acts[e.key];
  if (!act) return;
  e.preventDefault();
  act();
}

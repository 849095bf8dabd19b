// Paints a scene with a pen: frames, edges, boxes, then texts. It leaves out everything that is outside of the window or
// too small to be visible.

import type { Point } from "./layout";
import type { Marks } from "./marks";
import { textWidth } from "./measure";
import type { GraphModel } from "./model";
import type { Legend, Palette, Theme } from "./palette";
import type { Pen } from "./pen";
import type { Scene, SceneBox, SceneEdge } from "./scene";

export interface Window {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  scale: number;
}

export interface Painting {
  model: GraphModel;
  scene: Scene;
  palette: Palette;
  theme: Theme;
  marks: Marks | null;
  selected: number;
  hovered: number;
}

const DIM = 0.22;

export function paint(pen: Pen, what: Painting, window: Window): void {
  const { scene } = what;
  const seen = scene.boxes.filter((b) => meets(b, window));
  for (const b of seen) if (b.opened) frame(pen, what, b, window);
  for (const e of scene.edges) if (edgeMeets(e, window)) edge(pen, what, e, window);
  for (const b of seen) if (!b.opened) closed(pen, what, b, window);
  if (window.scale > 0.55) {
    for (const e of scene.edges)
      if (e.labelAt && edgeMeets(e, window)) edgeLabel(pen, what, e, e.labelAt);
    for (const note of scene.notes) {
      pen.text(note.text, note.x, note.y, {
        size: "stub",
        colour: what.theme.faint,
        align: "left",
      });
    }
  }
}

const meets = (b: SceneBox, w: Window): boolean =>
  b.x < w.x1 && b.x + b.width > w.x0 && b.y < w.y1 && b.y + b.height > w.y0;

function edgeMeets({ bounds }: SceneEdge, w: Window): boolean {
  return bounds[0] < w.x1 && bounds[2] > w.x0 && bounds[1] < w.y1 && bounds[3] > w.y0;
}

const isDim = ({ marks }: Painting, box: number): boolean =>
  Boolean(marks?.traced && !marks.box(box));

function frame(pen: Pen, what: Painting, b: SceneBox, window: Window): void {
  const { theme, palette } = what;
  const [band] = palette.fill(b.box).bands;
  const colour = band?.[0] ?? theme.line;
  const chosen = what.selected === b.box;
  pen.box(b.x, b.y, b.width, b.height, 9, theme.ground, 1, null);
  const dash = what.model.kind(b.box) === "series" ? [5, 4] : undefined;
  pen.box(b.x, b.y, b.width, b.height, 9, colour, theme.dark ? 0.1 : 0.09, {
    colour: chosen ? theme.accent : colour,
    width: chosen ? 2.5 : 1,
    ...(dash ? { dash } : {}),
  });
  if (window.scale > 0.3) {
    pen.text(`− ${b.name}`, b.x + 10, b.y + 17, {
      size: "name",
      colour: theme.text,
      align: "left",
      bold: true,
    });
  }
}

function edge(pen: Pen, what: Painting, e: SceneEdge, window: Window): void {
  const { theme, marks } = what;
  const on = marks?.edge(e) ?? false;
  const colour = on ? theme.accent : theme.line;
  const width = Math.min(1.1 + 0.55 * Math.log2(Math.max(1, e.tensors)), 5) + (on ? 0.8 : 0);
  const alpha = marks?.traced && !on ? DIM : on ? 1 : 0.85;
  const control = e.bundle >= 0 && !e.tensors;
  pen.curve(e.points, { colour, width, alpha, ...(control ? { dash: [4, 3] } : {}) });
  const n = e.points.length;
  if (e.arrow && window.scale > 0.25) {
    pen.arrow(e.points[n - 1] as Point, e.points[n - 2] as Point, 5.5 + width * 0.8, colour, alpha);
  }
}

function edgeLabel(pen: Pen, what: Painting, e: SceneEdge, [x, y]: Point): void {
  const { theme, marks } = what;
  if (marks?.traced && !marks.edge(e)) return;
  const w = e.labelWidth;
  pen.box(x - w / 2, y - 6.5, w, 13, 4, theme.ground, 0.88, null);
  pen.text(e.label, x, y + 3.2, { size: "edge", colour: theme.faint, align: "center" });
}

function closed(pen: Pen, what: Painting, b: SceneBox, window: Window): void {
  const { model, theme } = what;
  const kind = model.kind(b.box);
  const dim = isDim(what, b.box);
  const { bands, strength } = what.palette.fill(b.box);
  const colour = bands[0]?.[0] ?? theme.line;
  const scope = kind === "scope" || kind === "series";
  const radius = kind === "input" || kind === "variable" ? b.height / 2 : scope ? 7 : 4;
  const chosen = what.selected === b.box;
  const joined = what.marks?.traced === false && what.marks.box(b.box);
  const stroke = {
    colour: chosen || what.hovered === b.box || joined ? theme.accent : colour,
    width: chosen ? 2.5 : scope ? 1.6 : 1,
    alpha: dim ? DIM : 1,
    ...(b.beside ? { dash: [3, 2.5] } : {}),
  };
  if (kind === "series" && window.scale > 0.2) {
    for (const d of [6, 3]) {
      pen.box(b.x + d, b.y - d, b.width, b.height, radius, theme.ground, 1, null);
      pen.box(b.x + d, b.y - d, b.width, b.height, radius, colour, dim ? 0.05 : 0.2, {
        ...stroke,
        width: 1,
      });
    }
  }
  pen.box(b.x, b.y, b.width, b.height, radius, bands.length ? theme.ground : theme.box, 1, null);
  const alpha = dim ? strength * 0.3 : theme.dark ? strength * 0.7 : strength;
  if (bands.length < 2)
    pen.box(b.x, b.y, b.width, b.height, radius, bands[0]?.[0] ?? null, alpha, stroke);
  else striped(pen, b, bands, alpha, stroke.width, radius, stroke);
  if (window.scale * b.height > 7) words(pen, what, b, dim);
  if (window.scale > 0.5) stubs(pen, what, b, dim);
}

function striped(
  pen: Pen,
  b: SceneBox,
  bands: [string, number][],
  alpha: number,
  inset: number,
  radius: number,
  stroke: { colour: string; width: number },
): void {
  let x = b.x + inset;
  const room = b.width - 2 * inset;
  for (const [colour, share] of bands) {
    pen.box(x, b.y + inset, room * share, b.height - 2 * inset, 1, colour, alpha, null);
    x += room * share;
  }
  pen.box(b.x, b.y, b.width, b.height, radius, null, 1, stroke);
}

function words(pen: Pen, what: Painting, b: SceneBox, dim: boolean): void {
  const { theme } = what;
  const scope = what.model.parts(b.box).length > 0 && what.model.kind(b.box) !== "variable";
  const x = b.x + b.width / 2;
  const middle = b.y + b.height / 2;
  const colour = dim ? theme.faint : theme.text;
  const y = b.detail ? middle - 2 : middle + 4;
  pen.text(b.name, x, y, { size: "name", colour, align: "center", bold: scope });
  if (b.detail)
    pen.text(b.detail, x, middle + 11, { size: "detail", colour: theme.faint, align: "center" });
}

function stubs(pen: Pen, what: Painting, b: SceneBox, dim: boolean): void {
  const { theme } = what;
  for (const side of ["in", "out"] as const) {
    const own = b.stubs.filter((s) => s.side === side);
    own.forEach((stub, k) => {
      const y = b.y + b.height / 2 + (k - (own.length - 1) / 2) * 11;
      const [edge, out] = side === "in" ? [b.x, -1] : [b.x + b.width, 1];
      pen.curve(
        [
          [edge, y - 0.01],
          [edge + out * 8, y],
        ],
        { colour: theme.line, width: 1, alpha: dim ? DIM : 0.8 },
      );
      pen.box(edge + out * 9.5 - 1.5, y - 1.5, 3, 3, 1.5, theme.line, dim ? DIM : 1, null);
      pen.text(stub.text, edge + out * 13, y + 3, {
        size: "stub",
        colour: theme.faint,
        align: side === "in" ? "right" : "left",
      });
    });
  }
}

/** Paints the legend of the colours, and returns its width. */
export function paintLegend(pen: Pen, legend: Legend, theme: Theme, x: number, y: number): number {
  const begin = x;
  if (legend.title) {
    pen.text(legend.title, x, y + 9, { size: "detail", colour: theme.faint, align: "left" });
    x += textWidth(legend.title, "detail") + 10;
  }
  for (const { colour, strength, text } of legend.rows) {
    pen.box(x, y, 11, 11, 3, colour, strength, { colour, width: 1 });
    pen.text(text, x + 16, y + 9, { size: "detail", colour: theme.text, align: "left" });
    x += 16 + textWidth(text, "detail") + 16;
  }
  return x - begin;
}

// Sizes of nodes, positions of ports, curves of wires, and what lies at a point: all without a page. Coordinates are
// those of the drawing, in pixels at zoom 1.

import type { BuilderNode } from "../../../protocol/builder";
import { shapeText } from "../dtypes";

export type Point = readonly [number, number];

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** What a node looks like apart from its position. */
export interface Face {
  width: number;
  height: number;
  /** The texts of the rows' outputs. */
  outputs: string[];
  /** Parameters that the source gives, in one line. */
  summary: string;
  /** Lines of a grey block. */
  lines: string[];
  /** By how much a value or a problem makes it wider and higher. */
  grows: Point;
}

export const HEAD = 28;
export const ROW = 20;
const TOP = 4; // between the head and the first row
const SUMMARY = 20;
const BLOCK = 3; // the double line below what opens
const PROBLEM = 40;
const FIX = 26; // the height of one mend
const LINE = 15;
const MOST_LINES = 6;
const LEAST_WIDTH = 120;
const MOST_WIDTH = 300;
const VALUE_WIDTH = 170; // the least width of a node that has a value
const CHART_WIDTH = 210;
const PROBLEM_WIDTH = 230;
export const PANEL = { number: 34, text: 74, image: 112, histogram: 76, chart: 92 } as const;
export type PanelKind = keyof typeof PANEL;

export const FAMILY = '"Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif';
const fonts = { title: `600 13px ${FAMILY}`, label: `11px ${FAMILY}`, code: "11px monospace" };
let pen: CanvasRenderingContext2D | null | undefined;

export function textWidth(text: string, font: keyof typeof fonts): number {
  if (pen === undefined && typeof document !== "undefined")
    pen = document.createElement("canvas").getContext("2d");
  if (!pen) return text.length * (font === "title" ? 7.4 : 6.3);
  pen.font = fonts[font];
  return pen.measureText(text).width;
}

export function faceOf(node: BuilderNode, panel: PanelKind | null): Face {
  const outputs = node.outputs.map(({ name, dtype, shape }) => {
    if (dtype) return `${dtype} ${shapeText(shape)}`;
    return node.problem ? "not known" : node.kind === "code" ? name : "";
  });
  const summary = node.parameters
    .filter(({ text }) => text)
    .map(({ name, text }) => `${name}=${text}`)
    .join(" ");
  const lines = node.kind === "code" ? node.source.split("\n").slice(0, MOST_LINES) : [];
  const rows = Math.max(node.inputs.length, outputs.length);
  let width = textWidth(titleOf(node), "title") + textWidth(node.id, "code") + 46;
  for (let k = 0; k < rows; k++) {
    const input = node.inputs[k];
    const label = input ? textWidth(labelOf(input), "label") : 0;
    width = Math.max(width, label + textWidth(outputs[k] ?? "", "label") + 44);
  }
  for (const line of lines) width = Math.max(width, textWidth(line, "code") + 24);
  width = Math.max(width, Math.min(220, textWidth(summary, "code") + 24));
  const { problem } = node;
  const isBlock = node.kind === "layer" || node.kind === "function";
  const height =
    HEAD +
    (isBlock ? BLOCK : 0) +
    TOP * 2 +
    rows * ROW +
    (lines.length ? lines.length * LINE + 6 : 0) +
    (summary ? SUMMARY : 0);
  width = Math.ceil(Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, width)) / 10) * 10;
  const valued = panel === "chart" ? CHART_WIDTH : VALUE_WIDTH;
  const wanted = problem ? PROBLEM_WIDTH : panel ? valued : 0;
  const grows: Point = [
    Math.max(0, wanted - width),
    (problem ? PROBLEM + problem.fixes.length * FIX : 0) + (panel ? PANEL[panel] : 0),
  ];
  return { width: width + grows[0], height: height + grows[1], outputs, summary, lines, grows };
}

/** A grey block shows its lines, so its title is a word. What comes from a file says that it cannot be edited. */
export function titleOf({ kind, title, source }: BuilderNode): string {
  if (kind === "code")
    return /^return\b/.test(source) ? "return" : title === "parameters" ? title : "Python";
  return isReadOnly({ title }) ? "imported, read-only" : title;
}

/** Whether a node stands for operations of a file. */
export const isReadOnly = ({ title }: { readonly title: string }): boolean =>
  title === "import_graph_def";

export function labelOf({ label, text, wire }: BuilderNode["inputs"][number]): string {
  return !wire && text ? `${label} = ${text.length > 18 ? `${text.slice(0, 17)}…` : text}` : label;
}

/** The height of the middle of a row of ports below the top of its node. */
export const portY = (row: number): number => HEAD + TOP + ROW * (row + 0.5);

export type Curve = readonly [Point, Point, Point, Point];

/** A cubic curve that leaves an output to the right and enters an input from the left. */
export function curveOf([x0, y0]: Point, [x1, y1]: Point): Curve {
  const ahead = x1 - x0;
  const reach =
    ahead >= 0
      ? Math.max(24, Math.min(ahead / 2, 160))
      : Math.min(60 + -ahead / 4, 160) + Math.min(40, Math.abs(y1 - y0) / 8);
  return [
    [x0, y0],
    [x0 + reach, y0],
    [x1 - reach, y1],
    [x1, y1],
  ];
}

export function pointOn([a, b, c, d]: Curve, t: number): Point {
  const s = 1 - t;
  const of = (k: 0 | 1): number =>
    s * s * s * a[k] + 3 * s * s * t * b[k] + 3 * s * t * t * c[k] + t * t * t * d[k];
  return [of(0), of(1)];
}

const STEPS = 24;

/** The place halfway along a wire: its curves as far as each begins where the one before ends. */
export function middleOf(curves: readonly Curve[]): Point | undefined {
  const gap = curves.findIndex(([[x, y]], k) => {
    const end = curves[k - 1]?.[3];
    return end !== undefined && Math.hypot(x - end[0], y - end[1]) > 0.5;
  });
  const points = (gap < 0 ? curves : curves.slice(0, gap)).flatMap((curve) =>
    Array.from({ length: STEPS + 1 }, (_, k) => pointOn(curve, k / STEPS)),
  );
  const lengths = points.slice(1).map(([x, y], k) => {
    const [px, py] = points[k] as Point;
    return Math.hypot(x - px, y - py);
  });
  let left = lengths.reduce((sum, length) => sum + length, 0) / 2;
  for (const [k, length] of lengths.entries()) {
    if (left <= length) {
      const [[px, py], [x, y]] = [points[k] as Point, points[k + 1] as Point];
      const t = length ? left / length : 0;
      return [px + t * (x - px), py + t * (y - py)];
    }
    left -= length;
  }
  return points[points.length - 1];
}

/** The distance of a point from a curve; at least as large as the real one, by less than a pixel at usual lengths. */
export function distanceTo(curve: Curve, [x, y]: Point): number {
  let least = Infinity;
  let [px, py] = curve[0];
  for (let k = 1; k <= STEPS; k++) {
    const [qx, qy] = pointOn(curve, k / STEPS);
    const [dx, dy] = [qx - px, qy - py];
    const length = dx * dx + dy * dy;
    const t = length ? Math.max(0, Math.min(1, ((x - px) * dx + (y - py) * dy) / length)) : 0;
    least = Math.min(least, Math.hypot(x - px - t * dx, y - py - t * dy));
    [px, py] = [qx, qy];
  }
  return least;
}

/** The rectangle in which a curve lies. */
export function boundsOf(curve: Curve): Rect {
  const [xs, ys] = [curve.map(([x]) => x), curve.map(([, y]) => y)];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

export function overlap(a: Rect, b: Rect, gap = 0): boolean {
  return (
    a.x < b.x + b.width + gap &&
    b.x < a.x + a.width + gap &&
    a.y < b.y + b.height + gap &&
    b.y < a.y + a.height + gap
  );
}

export function contains({ x, y, width, height }: Rect, [px, py]: Point): boolean {
  return px >= x && px <= x + width && py >= y && py <= y + height;
}

/** The rectangle around all; null for none. */
export function around(rects: Iterable<Rect>): Rect | null {
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { x, y, width, height } of rects) {
    [x0, y0] = [Math.min(x0, x), Math.min(y0, y)];
    [x1, y1] = [Math.max(x1, x + width), Math.max(y1, y + height)];
  }
  return x0 > x1 ? null : { x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
}

/** The rectangle between two corners. */
export function between([x0, y0]: Point, [x1, y1]: Point): Rect {
  return {
    x: Math.min(x0, x1),
    y: Math.min(y0, y1),
    width: Math.abs(x1 - x0),
    height: Math.abs(y1 - y0),
  };
}

/** The nearest candidate within a radius, or null. */
export function nearest<T>(
  candidates: Iterable<readonly [T, Point]>,
  [x, y]: Point,
  radius: number,
): T | null {
  let best: T | null = null;
  let least = radius;
  for (const [value, [px, py]] of candidates) {
    const distance = Math.hypot(px - x, py - y);
    if (distance <= least) [best, least] = [value, distance];
  }
  return best;
}

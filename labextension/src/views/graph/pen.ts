// The strokes of which the drawing of a graph consists, on a canvas or as SVG. Texts are always text, never markup.

import type { Point } from "./layout";
import { FAMILY, SIZES, type TextSize } from "./measure";

export interface Stroke {
  colour: string;
  width: number;
  dash?: number[];
  alpha?: number;
}

export interface Words {
  size: TextSize;
  colour: string;
  align: "left" | "center" | "right";
  bold?: boolean;
}

export interface Pen {
  box(
    x: number,
    y: number,
    w: number,
    h: number,
    radius: number,
    fill: string | null,
    alpha: number,
    stroke: Stroke | null,
  ): void;
  curve(points: readonly Point[], stroke: Stroke): void;
  arrow(tip: Point, from: Point, size: number, colour: string, alpha: number): void;
  text(text: string, x: number, y: number, words: Words): void;
}

/** The two control points of the curve from point i to the next: vertical at the ends, parallel to its neighbours between. */
function steer(points: readonly Point[], i: number): [Point, Point, Point] {
  const [x, y] = points[i] as Point;
  const [tx, ty] = points[i + 1] as Point;
  const reach = (ty - y) / 2;
  const slope = i > 0 ? slopeAt(points, i) : 0;
  const next = i + 2 < points.length ? slopeAt(points, i + 1) : 0;
  const soft = 0.8;
  return [
    [x + slope * reach * soft, y + reach * soft],
    [tx - next * reach * soft, ty - reach * soft],
    [tx, ty],
  ];
}

/** The slope of a curve at a bend, limited so that the curve never goes beyond its points. */
function slopeAt(points: readonly Point[], i: number): number {
  const slope = (a: Point, b: Point): number => (b[0] - a[0]) / (b[1] - a[1] || 1e-6);
  const [before, after] = [
    slope(points[i - 1] as Point, points[i] as Point),
    slope(points[i] as Point, points[i + 1] as Point),
  ];
  return before * after <= 0 ? 0 : (2 * before * after) / (before + after);
}

export class CanvasPen implements Pen {
  constructor(private readonly to: CanvasRenderingContext2D) {}

  box(
    x: number,
    y: number,
    w: number,
    h: number,
    radius: number,
    fill: string | null,
    alpha: number,
    stroke: Stroke | null,
  ): void {
    const { to } = this;
    to.beginPath();
    to.roundRect(x, y, w, h, Math.min(radius, w / 2, h / 2));
    if (fill) {
      to.globalAlpha = alpha;
      to.fillStyle = fill;
      to.fill();
    }
    if (stroke) this.stroke(stroke);
    to.globalAlpha = 1;
  }

  private stroke(stroke: Stroke): void {
    const { to } = this;
    to.globalAlpha = stroke.alpha ?? 1;
    to.strokeStyle = stroke.colour;
    to.lineWidth = stroke.width;
    to.setLineDash(stroke.dash ?? []);
    to.stroke();
    to.globalAlpha = 1;
  }

  curve(points: readonly Point[], stroke: Stroke): void {
    const { to } = this;
    const first = points[0];
    if (!first) return;
    to.beginPath();
    to.moveTo(...first);
    for (let i = 0; i + 1 < points.length; i++) {
      const [a, b, end] = steer(points, i);
      to.bezierCurveTo(...a, ...b, ...end);
    }
    this.stroke(stroke);
  }

  arrow(tip: Point, from: Point, size: number, colour: string, alpha: number): void {
    const { to } = this;
    const [a, b] = barbs(tip, from, size);
    to.globalAlpha = alpha;
    to.fillStyle = colour;
    to.beginPath();
    to.moveTo(...tip);
    to.lineTo(...a);
    to.lineTo(...b);
    to.fill();
    to.globalAlpha = 1;
  }

  text(text: string, x: number, y: number, words: Words): void {
    const { to } = this;
    to.font = `${words.bold ? "600 " : ""}${SIZES[words.size]}px ${FAMILY}`;
    to.textAlign = words.align;
    to.fillStyle = words.colour;
    to.fillText(text, x, y);
  }
}

function barbs(tip: Point, from: Point, size: number): [Point, Point] {
  const along = tip[1] >= from[1] ? 1 : -1;
  return [
    [tip[0] - size * 0.55, tip[1] - along * size],
    [tip[0] + size * 0.55, tip[1] - along * size],
  ];
}

const n = (value: number): string => String(Math.round(value * 10) / 10);

/** Writes SVG with the serialiser of the document, which escapes every text. */
export class SvgPen implements Pen {
  readonly root: SVGSVGElement;

  constructor(width: number, height: number, ground: string) {
    this.root = this.make(
      "svg",
      { width: n(width), height: n(height), viewBox: `0 0 ${n(width)} ${n(height)}` },
      null,
    );
    this.root.setAttribute("font-family", FAMILY.replaceAll('"', "'"));
    this.make("rect", { width: "100%", height: "100%", fill: ground });
  }

  private make<K extends keyof SVGElementTagNameMap>(
    tag: K,
    attributes: Record<string, string>,
    parent: Element | null = this.root,
  ): SVGElementTagNameMap[K] {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    parent?.append(element);
    return element;
  }

  box(
    x: number,
    y: number,
    w: number,
    h: number,
    radius: number,
    fill: string | null,
    alpha: number,
    stroke: Stroke | null,
  ): void {
    this.make("rect", {
      x: n(x),
      y: n(y),
      width: n(w),
      height: n(h),
      rx: n(Math.min(radius, w / 2, h / 2)),
      fill: fill ?? "none",
      ...(fill && alpha < 1 ? { "fill-opacity": alpha.toFixed(2) } : {}),
      ...strokeOf(stroke),
    });
  }

  curve(points: readonly Point[], stroke: Stroke): void {
    const first = points[0];
    if (!first) return;
    let d = `M${n(first[0])} ${n(first[1])}`;
    for (let i = 0; i + 1 < points.length; i++) {
      d += `C${steer(points, i)
        .map(([x, y]) => `${n(x)} ${n(y)}`)
        .join(" ")}`;
    }
    this.make("path", { d, fill: "none", ...strokeOf(stroke) });
  }

  arrow(tip: Point, from: Point, size: number, colour: string, alpha: number): void {
    const points = [tip, ...barbs(tip, from, size)].map(([x, y]) => `${n(x)},${n(y)}`).join(" ");
    this.make("polygon", { points, fill: colour, "fill-opacity": alpha.toFixed(2) });
  }

  text(text: string, x: number, y: number, words: Words): void {
    const anchor = { left: "start", center: "middle", right: "end" }[words.align];
    const element = this.make("text", {
      x: n(x),
      y: n(y),
      "font-size": String(SIZES[words.size]),
      fill: words.colour,
      "text-anchor": anchor,
      ...(words.bold ? { "font-weight": "600" } : {}),
    });
    element.textContent = text;
  }

  toString(): string {
    return new XMLSerializer().serializeToString(this.root);
  }
}

function strokeOf(stroke: Stroke | null): Record<string, string> {
  if (!stroke) return {};
  return {
    stroke: stroke.colour,
    "stroke-width": String(stroke.width),
    ...(stroke.dash?.length ? { "stroke-dasharray": stroke.dash.join(" ") } : {}),
    ...(stroke.alpha !== undefined && stroke.alpha < 1
      ? { "stroke-opacity": stroke.alpha.toFixed(2) }
      : {}),
  };
}

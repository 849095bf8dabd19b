// The value that was computed at a node, drawn on it: a number, a table, an image, a histogram, or a curve of losses.

import type {
  BuilderNode,
  LossPoint,
  OutputPort,
  RunResult,
  RunValue,
} from "../../protocol/builder";
import { h } from "../dom";
import type { PanelKind } from "./places/geometry";
import type { Panel } from "./state/state";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [150, 44];

export function kindOf({ values, error, needs }: RunResult): PanelKind {
  const [value] = values;
  if (error || needs.length || !value) return "text";
  if (value.image) return "image";
  if (!value.shape.length) return "number";
  return value.histogram.length > 1 ? "histogram" : "text";
}

/** Whether what was computed at a node may still be its value: an undo may have changed its shape or its type. */
export function isValueOf({ result, losses, isRunning }: Panel, node?: BuilderNode): boolean {
  if (isRunning) return true;
  if (!node || node.problem) return false;
  const fits = ({ shape, dtype }: OutputPort, value: RunValue): boolean =>
    (!dtype || dtype === value.dtype) &&
    (!shape ||
      (shape.length === value.shape.length &&
        shape.every((size, k) => size === null || size === value.shape[k])));
  if (losses.length) return node.outputs[0]?.shape?.length === 0;
  return (result?.values ?? []).every((value) => {
    const output = node.outputs.find(({ name }) => name === value.name);
    return !output || fits(output, value);
  });
}

export function drawPanel(panel: Panel): HTMLElement {
  const { result, losses } = panel;
  const last = losses[losses.length - 1];
  if (last) return lossPanel(losses, last);
  if (panel.isRunning || !result) return h("div", { className: "value" }, "running…");
  if (result.needs.length) {
    const names = result.needs.join(", ");
    return h("div", { className: "value fault" }, `needs a value for ${names}`);
  }
  if (result.error)
    return h("div", { className: "value fault", title: result.error }, result.error);
  const [value] = result.values;
  if (!value) return h("div", { className: "value" }, `done in ${duration(result)}`);
  return h(
    "div",
    { className: `value ${panel.kind}`, title: `${value.name}, ${duration(result)}` },
    ...pictureOf(value, panel.kind),
  );
}

function pictureOf(value: RunValue, kind: PanelKind): (Node | null)[] {
  const odd = oddities(value);
  const alt = `image of ${value.name}`;
  if (kind === "image" && safeImage(value.image))
    return [h("img", { src: value.image, alt, draggable: false })];
  if (kind === "number") return [h("b", { textContent: value.text }), odd];
  if (kind === "histogram")
    return [histogram(value), h("span", { textContent: range(value) }), odd];
  return [h("pre", { textContent: value.text }), odd];
}

/** Only pictures that are in the message itself: a view never loads anything from a network. */
export const safeImage = (address: string): boolean => /^data:image\/png;base64,/.test(address);

function oddities(value: RunValue): HTMLElement | null {
  const text = oddText(value);
  return text ? h("span", { className: "odd", textContent: `⚠ ${text}` }) : null;
}

/** How many numbers are none, such as "1 NaN, 2 Inf", or "". */
export const oddText = ({ nan_count, inf_count }: RunValue): string =>
  [nan_count && `${nan_count} NaN`, inf_count && `${inf_count} Inf`].filter(Boolean).join(", ");

const short = (n: number): string => String(Number(n.toPrecision(4)));

export function range({ least, largest, mean }: RunValue): string {
  if (least === null || largest === null) return "";
  const middle = mean === null ? "" : `, mean ${short(mean)}`;
  return `${short(least)} to ${short(largest)}${middle}`;
}

export const duration = ({ milliseconds }: RunResult): string =>
  milliseconds < 10 ? `${milliseconds.toFixed(2)} ms` : `${Math.round(milliseconds)} ms`;

function picture(label: string, path: string, isFilled: boolean): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  const shape = document.createElementNS(SVG, "path");
  shape.setAttribute("d", path);
  shape.setAttribute("class", isFilled ? "bars" : "curve");
  shape.setAttribute("vector-effect", "non-scaling-stroke");
  svg.append(shape);
  return svg;
}

export function histogram(value: RunValue): SVGElement {
  const { histogram: bars } = value;
  const first = bars[0]?.[0] ?? 0;
  const last = bars[bars.length - 1]?.[1] ?? 1;
  const most = Math.max(1, ...bars.map(([, , count]) => count));
  const x = (at: number): string => (((at - first) / (last - first || 1)) * WIDTH).toFixed(1);
  const path = bars
    .filter(([, , count]) => count)
    .map(([a, b, count]) => {
      const top = (HEIGHT * (1 - count / most)).toFixed(1);
      return `M${x(a)} ${HEIGHT}V${top}H${x(b)}V${HEIGHT}z`;
    })
    .join("");
  return picture(`histogram of ${value.name}: ${range(value)}`, path, true);
}

const MOST_POINTS = 150;

/** A curve of numbers over steps. */
export function sparkline(
  numbers: readonly { readonly step: number; readonly value: number }[],
  label: string,
): SVGElement {
  const values = numbers.filter(({ value }) => Number.isFinite(value));
  const every = Math.ceil(values.length / MOST_POINTS);
  const points = values.filter((_, k) => k % every === 0 || k === values.length - 1);
  const [first, end] = [numbers[0]?.step ?? 0, numbers[numbers.length - 1]?.step ?? 1];
  const broken = numbers.find(({ value }) => !Number.isFinite(value));
  const least = Math.min(...points.map(({ value }) => value));
  const most = Math.max(...points.map(({ value }) => value));
  const path = points
    .map(({ step, value }, k) => {
      const x = ((step - first) / (end - first || 1)) * WIDTH;
      const y = 3 + (HEIGHT - 6) * (1 - (value - least) / (most - least || 1));
      return `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join("");
  const svg = picture(label, path, false);
  if (broken) {
    const x = (((broken.step - first) / (end - first || 1)) * WIDTH).toFixed(1);
    const mark = document.createElementNS(SVG, "path");
    mark.setAttribute("d", `M${x} 0V${HEIGHT}`);
    mark.setAttribute("class", "break");
    mark.setAttribute("vector-effect", "non-scaling-stroke");
    svg.append(mark);
  }
  return svg;
}

/** The newest loss, and where the losses broke off: "loss 0.3893", "loss NaN since step 212". */
export const lossText = ({ value, is_finite, broken }: LossPoint): string =>
  `loss ${[is_finite ? short(value) : "", broken].filter(Boolean).join(", ")}`;

function lossPanel(losses: readonly LossPoint[], last: LossPoint): HTMLElement {
  const state = last.state === "running" ? "" : `, ${last.state}`;
  const text = `step ${last.progress || last.step}${state}`;
  const label = `${lossText(last)} at ${text}`;
  const isFailed = last.state === "failed";
  const values = losses.map(({ step, value, is_finite }) => ({
    step,
    value: is_finite ? value : Number.NaN,
  }));
  return h(
    "div",
    { className: `value chart ${isFailed ? "fault" : ""}`, title: last.message || label },
    sparkline(values, label),
    ...(isFailed && last.message
      ? [h("span", { textContent: last.message })]
      : [
          h("span", { className: last.broken ? "odd" : "", textContent: lossText(last) }),
          h("span", { textContent: text }),
        ]),
  );
}

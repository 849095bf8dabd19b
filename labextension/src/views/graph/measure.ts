// The texts in boxes and on edges, and the size of both.

import { EXTRACTED } from "../../protocol/graph";
import { h } from "../dom";
import { at, brief, count, type GraphModel, shapeOf } from "./model";

export const FAMILY = '"Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif';
export const SIZES = { name: 12, detail: 9.5, edge: 9, stub: 9 } as const;
export type TextSize = keyof typeof SIZES;

const LONGEST = 30;
const MOST_STUBS = 2;
const pen = h("canvas").getContext("2d");

export function textWidth(text: string, size: TextSize): number {
  if (!pen) return text.length * SIZES[size] * 0.55;
  pen.font = `${SIZES[size]}px ${FAMILY}`;
  return pen.measureText(text).width;
}

/** Shortens a long name in its middle. */
export function shorten(text: string, longest = LONGEST): string {
  const plain = text.replace(/\s+/g, " ");
  if (plain.length <= longest) return plain;
  const end = Math.floor(longest / 3);
  return `${plain.slice(0, longest - end - 1)}…${plain.slice(-end)}`;
}

/** A small mark beside a box for a neighbour that is not drawn: a constant, a hub. */
export interface Stub {
  side: "in" | "out";
  text: string;
  box: number;
}

export interface Face {
  name: string;
  detail: string;
  stubs: Stub[];
  /** The width with the stubs; the box itself is in the middle and has the width `inner`. */
  width: number;
  inner: number;
  height: number;
}

export function face(model: GraphModel, box: number, stubs: Stub[], small: boolean): Face {
  const name = shorten(model.label(box) || "(no name)");
  const detail = small ? "" : detailOf(model, box);
  const inner = Math.max(textWidth(name, "name"), textWidth(detail, "detail")) + 20;
  const beside = Math.max(0, ...stubs.map((s) => textWidth(s.text, "stub") + 16));
  const tall = Math.max(
    detail ? 34 : 24,
    11 * Math.max(stubsOn(stubs, "in"), stubsOn(stubs, "out")),
  );
  return { name, detail, stubs, width: inner + 2 * beside, inner, height: tall };
}

const stubsOn = (stubs: Stub[], side: Stub["side"]): number =>
  stubs.filter((s) => s.side === side).length;

function detailOf(model: GraphModel, box: number): string {
  const kind = model.kind(box);
  const nodes = at(model.ints.nodes, box);
  if (kind === "series") return `${count(model.parts(box).length)} similar`;
  if (kind === "scope") {
    const held = at(model.floats.parameters ?? [], box);
    return `${count(nodes)} ops${held > 0 ? ` · ${brief(held)} parameters` : ""}`;
  }
  const shape = shapeOf(model.spec(at(model.ints.spec, box)));
  if (kind === "variable" || kind === "input") return shape || model.type(box);
  if (kind === "constant") return "";
  const plain = model
    .label(box)
    .replace(/[_0-9]+$/, "")
    .toLowerCase();
  const type = model.type(box);
  return plain === type.toLowerCase() ? "" : shorten(type);
}

/** The label of an edge: a shape, or the number of tensors. */
export function carried(model: GraphModel, bundle: number): string {
  const tensors = at(model.ints.tensors, bundle);
  if (!tensors) return "";
  const start = at(model.ints.start, bundle);
  const spec = at(model.ints.carried, bundle);
  const shape = shapeOf(model.spec(spec));
  const kind = model.kind(start);
  // The box of a variable or an input shows its shape itself.
  const alreadyShown =
    (kind === "variable" || kind === "input") && at(model.ints.spec, start) === spec;
  if (tensors === 1) return shape === "scalar" || alreadyShown ? "" : shape;
  return shape && shape !== "scalar" ? `${count(tensors)} × ${shape}` : `${count(tensors)} tensors`;
}

/** The stubs of the drawn parts of a scope. */
export function stubsOf(
  model: GraphModel,
  scope: number,
  extractedOf: (box: number) => number,
): Map<number, Stub[]> {
  const stubsOf = new Map<number, Stub[]>();
  const add = (box: number, other: number, side: Stub["side"]): void => {
    const known = stubsOf.get(box) ?? [];
    stubsOf.set(box, known);
    known.push({ side, box: other, text: shorten(model.label(other), 16) });
  };
  const { start, stop } = model.ints;
  for (const k of model.bundles(scope)) {
    const [a, b] = [at(start, k), at(stop, k)];
    const [from, to] = [extractedOf(a), extractedOf(b)];
    if (
      !to &&
      (from === EXTRACTED.hub || (from === EXTRACTED.attached && model.kind(b) !== "variable"))
    ) {
      add(b, a, "in");
    } else if (!from && to === EXTRACTED.hub) add(a, b, "out");
  }
  for (const [box, stubs] of stubsOf) stubsOf.set(box, shown(stubs));
  return stubsOf;
}

function shown(stubs: Stub[]): Stub[] {
  const kept: Stub[] = [];
  for (const side of ["in", "out"] as const) {
    const own = stubs.filter((s) => s.side === side);
    kept.push(...own.slice(0, MOST_STUBS));
    const first = own[MOST_STUBS];
    if (first) kept.push({ side, box: first.box, text: `+ ${own.length - MOST_STUBS}` });
  }
  return kept;
}

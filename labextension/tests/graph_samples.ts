// A small graph as the kernel sends it, for the tests of the graph view.
import { deflateSync } from "node:zlib";
import type { FloatColumn, GraphHead, IntColumn } from "../src/protocol/graph";
import { GraphModel } from "../src/views/graph/model";

/** Boxes: 0 all, 1 scope a (2, 3), 4 scope b (5, 6), 7 alone. */
export function packed(
  source: readonly number[],
  target: readonly number[],
  {
    devices = [],
    floats = {},
    ...columns
  }: Partial<Record<IntColumn, readonly number[]>> & {
    devices?: readonly string[];
    floats?: Partial<Record<FloatColumn, readonly number[]>>;
  } = {},
): Uint8Array {
  const parent = [-1, 0, 1, 1, 0, 4, 4, 0];
  const zeros = parent.map(() => 0);
  const none = parent.map(() => -1);
  const ints: Record<IntColumn, readonly number[]> = {
    parent,
    label: parent.map((_, b) => b),
    kind: [0, 0, 1, 1, 0, 1, 1, 1],
    main: none,
    type: zeros,
    device: none,
    spec: zeros,
    nodes: [5, 2, 1, 1, 2, 1, 1, 1],
    extracted: zeros,
    group: none,
    inlet: zeros,
    outlet: zeros,
    start: [1],
    stop: [4],
    tensors: [1],
    controls: [0],
    carried: [0],
    source,
    target,
    before: [7],
    after: [6],
    ...columns,
  };
  const amounts = { parameters: parent.map(() => 0), ...floats };
  const head: GraphHead = {
    version: 1,
    labels: ["", "a", "x", "y", "b", "x", "<b>", "alone"],
    types: ["Add"],
    devices,
    specs: ["float32 ?×8"],
    kinds: ["scope", "operation", "input", "variable"],
    missing: 0,
    ints: Object.fromEntries(
      Object.entries(ints).map(([k, v]) => [k, v.length]),
    ) as GraphHead["ints"],
    floats: Object.fromEntries(Object.entries(amounts).map(([k, v]) => [k, v.length])),
  };
  let text = JSON.stringify(head);
  text += " ".repeat(-(text.length + 4) & 7);
  const numbers = new Int32Array(Object.values(ints).flat());
  const after = new Float64Array(Object.values(amounts).flat());
  const end = 4 + text.length + numbers.byteLength + (-numbers.byteLength & 7);
  const bytes = new Uint8Array(end + after.byteLength);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(new TextEncoder().encode(text), 4);
  bytes.set(new Uint8Array(numbers.buffer), 4 + text.length);
  bytes.set(new Uint8Array(after.buffer), end);
  return deflateSync(bytes);
}

export const graphOf = (...given: Parameters<typeof packed>): Promise<GraphModel> =>
  GraphModel.read(new Uint8Array(packed(...given)));

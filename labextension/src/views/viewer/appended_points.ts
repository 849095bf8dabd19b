// Appends the new points that the kernel sends while a training runs to the curves that the page has.
import type { AppendPoints, CurveData, ScalarContent } from "../../protocol/viewer";
import { floats } from "./numbers";

// Points of a curve: the kernel sends it whole again, downsampled, before it has many more than that.
const USUAL = 2_000;
const roomy = new WeakSet<ArrayBuffer>(); // memory that was made here, with room behind the points

// In the same memory if there is room: arrays that are made anew for each message soon make the page collect all its
// garbage. What was given before stays as it is, but no column is lengthened twice.
function longer(column: Float64Array<ArrayBuffer>, more: Float64Array): Float64Array<ArrayBuffer> {
  const length = column.length + more.length;
  let { buffer } = column;
  if (!roomy.has(buffer) || length * Float64Array.BYTES_PER_ELEMENT > buffer.byteLength) {
    const made = new Float64Array(Math.max(length, Math.min(2 * length, USUAL)));
    made.set(column);
    buffer = made.buffer;
    roomy.add(buffer);
  }
  const out = new Float64Array(buffer, 0, length);
  out.set(more, column.length);
  return out;
}

/** Columns with more at their ends. Columns that were given may lend their memory. */
export function lengthened(
  columns: readonly Float64Array<ArrayBuffer>[],
  added: readonly Float64Array[],
): Float64Array<ArrayBuffer>[] {
  return columns.map((column, k) => longer(column, added[k] ?? new Float64Array(0)));
}

/** Cuts a buffer with `columns` columns per curve at their lengths. */
export function* cut(
  numbers: Float64Array,
  columns: number,
  lengths: Iterable<number>,
): Generator<Float64Array[]> {
  let at = 0;
  for (const length of lengths) {
    const parts: Float64Array[] = [];
    for (let k = 0; k < columns; k++, at += length) parts.push(numbers.subarray(at, at + length));
    yield parts;
  }
}

function joined(curve: CurveData, added: readonly Float64Array[], total: number): CurveData {
  const held = [curve.step, curve.wall, curve.value].map(floats);
  const [step, wall, value] = lengthened(held, added);
  return step && wall && value ? { run: curve.run, total, step, wall, value } : curve;
}

interface Appended {
  readonly content: ScalarContent;
  readonly curves: CurveData[];
  /** The place of each run among the curves. */
  readonly places: ReadonlyMap<number, number>;
}

/**
 * The contents with what a message adds. Null if some of what it adds to is not there: then all has to be sent anew.
 */
export function withAppended(
  told: AppendPoints,
  numbers: Float64Array,
  content: (tag: string) => ScalarContent | undefined,
): ScalarContent[] | null {
  const made = new Map<string, Appended>();
  const parts = cut(
    numbers,
    3,
    told.curves.map((row) => row[4]),
  );
  for (const [place, run, before, total] of told.curves) {
    const tag = told.tags[place] as string;
    let found = made.get(tag);
    if (!found) {
      const old = content(tag);
      if (!old) return null;
      const places = new Map(old.curves.map((c, k) => [c.run, k]));
      found = { content: old, curves: [...old.curves], places };
      made.set(tag, found);
    }
    const index = found.places.get(run) ?? -1;
    const curve = found.curves[index];
    if (curve?.total !== before) return null;
    found.curves[index] = joined(curve, parts.next().value ?? [], total);
  }
  return [...made.values()].map(({ content, curves }) => ({ ...content, curves }));
}

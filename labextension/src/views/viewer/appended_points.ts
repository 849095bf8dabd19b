// Curves that grow: what the kernel sends of them while a training runs is joined to what is held.
import type { AppendPoints, CurveData, ScalarContent } from "../../protocol/viewer";
import { floats, thinned } from "./numbers";

const MOST = 2_000; // points of a curve while it appended; it is thinned to half of them
const roomy = new WeakSet<ArrayBuffer>(); // memory that was made here, with room behind the points

// In the same memory if there is room: arrays that are made anew for each message soon make the page collect all its
// garbage. What was given before stays as it is, but no column is lengthened twice.
function longer(column: Float64Array<ArrayBuffer>, more: Float64Array): Float64Array<ArrayBuffer> {
  const length = column.length + more.length;
  let { buffer } = column;
  if (!roomy.has(buffer) || length * Float64Array.BYTES_PER_ELEMENT > buffer.byteLength) {
    const made = new Float64Array(Math.max(length, Math.min(2 * length, MOST)));
    made.set(column);
    buffer = made.buffer;
    roomy.add(buffer);
  }
  const out = new Float64Array(buffer, 0, length);
  out.set(more, column.length);
  return out;
}

/**
 * Columns with more at their ends; thinned before if they become long, so that the extremes of column `by` stay, and its
 * last value: what was drawn up to there is drawn on. Columns that were given may lend their memory.
 */
export function lengthened(
  columns: readonly Float64Array<ArrayBuffer>[],
  added: readonly Float64Array[],
  by: number,
): Float64Array<ArrayBuffer>[] {
  const values = columns[by];
  const long = (values?.length ?? 0) + (added[by]?.length ?? 0);
  const kept = values && long > MOST ? thinned(values, MOST / 2) : null;
  return columns.map((column, k) => {
    const old = kept ? Float64Array.from(kept, (i) => column[i] as number) : column;
    return longer(old, added[k] ?? new Float64Array(0));
  });
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
  const [step, wall, value] = lengthened(held, added, 2);
  return step && wall && value ? { run: curve.run, total, step, wall, value } : curve;
}

/**
 * The contents with what a message adds. Null if some of what it adds to is not there: then all has to be sent anew.
 */
export function withAppended(
  told: AppendPoints,
  numbers: Float64Array,
  content: (tag: string) => ScalarContent | undefined,
): ScalarContent[] | null {
  const made = new Map<string, { content: ScalarContent; places: Map<number, number> }>();
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
      const curves = [...old.curves];
      found = { content: { ...old, curves }, places: new Map(curves.map((c, k) => [c.run, k])) };
      made.set(tag, found);
    }
    const index = found.places.get(run) ?? -1;
    const curve = found.content.curves[index];
    if (curve?.total !== before) return null;
    found.content.curves[index] = joined(curve, parts.next().value ?? [], total);
  }
  return [...made.values()].map((each) => each.content);
}

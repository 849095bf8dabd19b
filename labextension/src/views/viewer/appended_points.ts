// Appends the new points that the kernel sends while a training runs to the curves that the page has.
import type { AppendPoints, CurveData, ScalarContent } from "../../protocol/viewer";
import { everyValue } from "./curves";
import { floats } from "./numbers";

// The usual largest number of points of a curve: the kernel sends a longer one whole again, downsampled.
const USUAL = 2_000;
const roomy = new WeakSet<ArrayBuffer>(); // buffers that were allocated here, with room after the points

// Appends in the same memory if there is room, because new arrays for each message would soon trigger a full garbage
// collection. Arrays that were returned before keep their content, but no array may be lengthened twice.
function longer(column: Float64Array<ArrayBuffer>, more: Float64Array): Float64Array<ArrayBuffer> {
  const length = column.length + more.length;
  let { buffer } = column;
  if (!roomy.has(buffer) || length * Float64Array.BYTES_PER_ELEMENT > buffer.byteLength) {
    const larger = new Float64Array(Math.max(length, Math.min(2 * length, USUAL)));
    larger.set(column);
    buffer = larger.buffer;
    roomy.add(buffer);
  }
  const out = new Float64Array(buffer, 0, length);
  out.set(more, column.length);
  return out;
}

/** Columns with values appended; the result may share the memory of the given columns. */
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

function joined(
  curve: CurveData,
  added: readonly Float64Array[],
  values: Float64Array,
  places: Float64Array,
  total: number,
): CurveData {
  const held = [curve.step, curve.wall, curve.value].map(floats);
  const all = everyValue(curve, held[2] as Float64Array<ArrayBuffer>);
  const standing = places.map((place) => place + all.every.length);
  const whole = [...held, all.kept, all.every];
  const [step, wall, value, kept, every] = lengthened(whole, [...added, standing, values]);
  if (!step || !wall || !value || !kept || !every) return curve;
  return { run: curve.run, total, step, wall, value, kept, every };
}

interface Appended {
  readonly content: ScalarContent;
  readonly curves: CurveData[];
  /** The index of the curve of each run. */
  readonly places: ReadonlyMap<number, number>;
}

/** The contents with the points of a message appended; null if earlier points are missing, so that all must be sent again. */
export function withAppended(
  message: AppendPoints,
  numbers: Float64Array,
  values: Float64Array,
  content: (tag: string) => ScalarContent | undefined,
): ScalarContent[] | null {
  const changed = new Map<string, Appended>();
  const parts = cut(
    numbers,
    3,
    message.curves.map((row) => row[4]),
  );
  let from = 0; // the first of the curve's own numbers in `values`
  const taken = (length: number) => {
    from += length;
    return values.subarray(from - length, from);
  };
  for (const [place, run, before, total, drawn] of message.curves) {
    const tag = message.tags[place] as string;
    let appended = changed.get(tag);
    if (!appended) {
      const old = content(tag);
      if (!old) return null;
      const places = new Map(old.curves.map((c, k) => [c.run, k]));
      appended = { content: old, curves: [...old.curves], places };
      changed.set(tag, appended);
    }
    const index = appended.places.get(run) ?? -1;
    const curve = appended.curves[index];
    if (curve?.total !== before) return null;
    const added = parts.next().value ?? [];
    const all = taken(total - before);
    appended.curves[index] = joined(curve, added, all, taken(drawn), total);
  }
  return [...changed.values()].map(({ content, curves }) => ({ ...content, curves }));
}

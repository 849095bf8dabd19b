// One body that carries JSON and binary arrays: the other half of tfnb/notebook/server/framing.py.

const MARK = "\0";

interface Head {
  readonly value: unknown;
  readonly sizes: readonly number[];
}

/** The value in a body, its arrays as DataViews. Throws `RangeError` for a body that was cut. */
export function unpacked(body: ArrayBuffer): unknown {
  const length = new DataView(body).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(body, 4, length));
  const { value, sizes } = JSON.parse(text) as Head;
  const arrays: DataView[] = [];
  let at = 4 + length;
  for (const size of sizes) {
    arrays.push(new DataView(body, at, size));
    at += Math.ceil(size / 8) * 8;
  }
  return withArrays(value, arrays);
}

function withArrays(value: unknown, arrays: readonly DataView[]): unknown {
  if (Array.isArray(value)) return value.map((inner) => withArrays(inner, arrays));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const [first] = entries;
  if (first?.[0] === MARK && entries.length === 1) return arrays[Number(first[1])];
  return Object.fromEntries(entries.map(([key, inner]) => [key, withArrays(inner, arrays)]));
}

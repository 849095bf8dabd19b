// The graph from the kernel or from a file: columns over boxes and edges, and queries on them.

import type { BoxKind, FloatColumn, GraphHead, IntColumn } from "../../protocol/graph";

/** A number of a column; the caller guarantees that the index is valid. */
export const at = (column: ArrayLike<number>, i: number): number => column[i] as number;

export async function inflate(packed: BufferSource): Promise<ArrayBuffer> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

type Ints = Record<IntColumn, Int32Array>;

export class GraphModel {
  readonly size: number;
  readonly ints: Ints;
  readonly floats: Partial<Record<FloatColumn, Float64Array>> = {};
  /** One past the last box inside each box. */
  readonly end: Int32Array;
  private readonly partsOf: number[][];
  private readonly bundlesOf = new Map<number, number[]>();
  private readonly bundleAt = new Map<number, number>();
  private paths: string[] | undefined;

  constructor(
    readonly head: GraphHead,
    buffer: ArrayBuffer,
    offset: number,
  ) {
    this.ints = {} as Ints;
    for (const [name, length] of Object.entries(head.ints)) {
      this.ints[name as IntColumn] = new Int32Array(buffer, offset, length);
      offset += 4 * length;
    }
    offset += -offset & 7;
    for (const [name, length] of Object.entries(head.floats)) {
      this.floats[name as FloatColumn] = new Float64Array(buffer, offset, length);
      offset += 8 * length;
    }
    this.size = this.ints.parent.length;
    this.end = new Int32Array(this.size);
    this.partsOf = Array.from({ length: this.size }, () => []);
    for (let b = this.size - 1; b >= 0; b--) {
      this.end[b] = Math.max(at(this.end, b), b + 1);
      const parent = at(this.ints.parent, b);
      if (parent >= 0) this.end[parent] = Math.max(at(this.end, parent), at(this.end, b));
    }
    for (let b = 1; b < this.size; b++) this.partsOf[at(this.ints.parent, b)]?.push(b);
    this.indexBundles();
  }

  static async read(packed: BufferSource): Promise<GraphModel> {
    const buffer = await inflate(packed);
    const length = new DataView(buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    if (head.version !== 1) throw new Error(`a graph of version ${head.version}, needed 1`);
    return new GraphModel(head, buffer, 4 + length);
  }

  private indexBundles(): void {
    const { start, stop, parent } = this.ints;
    for (let k = 0; k < start.length; k++) {
      const scope = at(parent, at(start, k));
      const known = this.bundlesOf.get(scope);
      if (known) known.push(k);
      else this.bundlesOf.set(scope, [k]);
      this.bundleAt.set(at(start, k) * this.size + at(stop, k), k);
    }
  }

  parts(box: number): readonly number[] {
    return this.partsOf[box] ?? [];
  }

  parent(box: number): number {
    return at(this.ints.parent, box);
  }

  /** The bundles between the parts of a box. */
  bundles(scope: number): readonly number[] {
    return this.bundlesOf.get(scope) ?? [];
  }

  /** The bundle between two parts of one box, or -1. */
  bundle(start: number, stop: number): number {
    return this.bundleAt.get(start * this.size + stop) ?? -1;
  }

  holds(box: number, other: number): boolean {
    return box <= other && other < at(this.end, box);
  }

  isLeaf(box: number): boolean {
    return at(this.end, box) === box + 1;
  }

  kind(box: number): BoxKind {
    return this.head.kinds[at(this.ints.kind, box)] ?? "operation";
  }

  label(box: number): string {
    return this.head.labels[at(this.ints.label, box)] ?? "";
  }

  private text(list: readonly string[], i: number): string {
    return i < 0 ? "" : (list[i] ?? "");
  }

  type(box: number): string {
    return this.text(this.head.types, at(this.ints.type, box));
  }

  device(box: number): string {
    return this.text(this.head.devices, at(this.ints.device, box));
  }

  /** The spec of a box, as "float32 ?×784", or an empty text. */
  spec(number: number): string {
    return this.text(this.head.specs, number);
  }

  /** The full name of a box. The label of a series is not part of the names inside it. */
  path(box: number): string {
    this.paths ??= this.findPaths();
    return this.paths[box] ?? "";
  }

  private findPaths(): string[] {
    const paths: string[] = [""];
    const inside: string[] = [""]; // the prefix of the names inside each box
    for (let b = 1; b < this.size; b++) {
      const parent = this.parent(b);
      const before = inside[parent] ?? "";
      const main = at(this.ints.main, parent) === b;
      paths[b] = main ? (paths[parent] ?? "") : before + this.label(b);
      inside[b] = this.kind(b) === "series" ? before : `${paths[b]}/`;
    }
    return paths;
  }

  /** The outermost box with this path, or -1. */
  find(path: string): number {
    this.paths ??= this.findPaths();
    return path ? this.paths.indexOf(path) : -1;
  }

  /** The boxes around a box, outermost first, without the whole graph. */
  around(box: number): number[] {
    const around: number[] = [];
    for (let b = this.parent(box); b > 0; b = this.parent(b)) around.push(b);
    return around.reverse();
  }
}

/** The shape of "float32 ?×784". */
export const shapeOf = (spec: string): string => spec.slice(spec.indexOf(" ") + 1 || spec.length);

export const count = (n: number): string => n.toLocaleString("en-US");

/** 1,234 as 1.23k, for the texts in boxes. */
export function brief(n: number): string {
  for (const [size, unit] of [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    if (n >= size) return `${+(n / size).toPrecision(3)}${unit}`;
  }
  return String(Math.round(n));
}

export function timeText(us: number): string {
  if (us >= 1e6) return `${+(us / 1e6).toPrecision(3)} s`;
  if (us >= 1e3) return `${+(us / 1e3).toPrecision(3)} ms`;
  return `${+us.toPrecision(3)} µs`;
}

export function bytesText(n: number): string {
  let unit = 0;
  while (n >= 1024 && unit < 3) [n, unit] = [n / 1024, unit + 1];
  return `${+n.toPrecision(3)} ${["bytes", "KiB", "MiB", "GiB"][unit]}`;
}

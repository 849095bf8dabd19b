// Which boxes and edges are highlighted: the neighbours of the selected node, or all its inputs, or all its outputs.

import { at, type GraphModel } from "./model";
import type { SceneEdge } from "./scene";

export type Direction = "inputs" | "outputs";

/** Edges by the leaf at one end: `edges[first[b]] .. edges[first[b + 1] - 1]`. */
interface Index {
  first: Int32Array;
  edges: Int32Array;
}

export class Tracer {
  private readonly data: number;
  private from: Index | undefined;
  private to: Index | undefined;

  constructor(private readonly model: GraphModel) {
    this.data = model.ints.source.length;
  }

  private ends(edge: number): [number, number] {
    const { source, target, before, after } = this.model.ints;
    return edge < this.data
      ? [at(source, edge), at(target, edge)]
      : [at(before, edge - this.data), at(after, edge - this.data)];
  }

  private index(which: 0 | 1): Index {
    const n = this.data + this.model.ints.before.length;
    const first = new Int32Array(this.model.size + 1);
    for (let e = 0; e < n; e++) {
      const b = this.ends(e)[which] + 1;
      first[b] = at(first, b) + 1;
    }
    for (let b = 0; b < this.model.size; b++) first[b + 1] = at(first, b + 1) + at(first, b);
    const edges = new Int32Array(n);
    const filled = first.slice();
    for (let e = 0; e < n; e++) {
      const b = this.ends(e)[which];
      edges[at(filled, b)] = e;
      filled[b] = at(filled, b) + 1;
    }
    return { first, edges };
  }

  private near(box: number, direction: Direction): Int32Array {
    if (direction === "outputs") this.from ??= this.index(0);
    else this.to ??= this.index(1);
    const index = (direction === "outputs" ? this.from : this.to) as Index;
    return index.edges.subarray(at(index.first, box), at(index.first, box + 1));
  }

  /** The neighbouring leaves of a box, each once, and whether all edges to it are control edges. */
  neighbours(box: number, direction: Direction): { leaf: number; control: boolean }[] {
    const leaves = new Map<number, boolean>();
    for (const edge of this.crossing(box, direction)) {
      const leaf = this.ends(edge)[direction === "inputs" ? 0 : 1];
      leaves.set(leaf, (leaves.get(leaf) ?? true) && edge >= this.data);
    }
    return [...leaves].map(([leaf, control]) => ({ leaf, control }));
  }

  private crossing(box: number, direction: Direction): number[] {
    const edges: number[] = [];
    for (let leaf = box; leaf < at(this.model.end, box); leaf++) {
      for (const edge of this.near(leaf, direction)) {
        const other = this.ends(edge)[direction === "inputs" ? 0 : 1];
        if (!this.model.holds(box, other)) edges.push(edge);
      }
    }
    return edges;
  }

  /** The neighbours of a box, with the edges to them. */
  around(box: number): Marks {
    return this.marks(
      box,
      [...this.crossing(box, "inputs"), ...this.crossing(box, "outputs")],
      false,
    );
  }

  /** All boxes from which a box is computed, or all boxes that depend on it. */
  all(box: number, direction: Direction): Marks {
    const seen = new Uint8Array(this.model.size);
    const todo: number[] = [];
    const edges: number[] = [];
    for (let b = box; b < at(this.model.end, box); b++) seen[b] = 1;
    const follow = (edge: number): void => {
      edges.push(edge);
      const other = this.ends(edge)[direction === "inputs" ? 0 : 1];
      if (!at(seen, other)) {
        seen[other] = 1;
        todo.push(other);
      }
    };
    for (const edge of this.crossing(box, direction)) follow(edge);
    for (let leaf = todo.pop(); leaf !== undefined; leaf = todo.pop()) {
      for (const edge of this.near(leaf, direction)) follow(edge);
    }
    return this.marks(box, edges, true);
  }

  private marks(box: number, edges: readonly number[], traced: boolean): Marks {
    const marks = new Marks(this.model, box, traced);
    for (const edge of edges) marks.add(...this.ends(edge));
    return marks;
  }
}

export class Marks {
  private readonly boxes: Uint8Array;
  /** For each box, whether a marked edge crosses its border inwards (1) or outwards (2). */
  private readonly borders: Uint8Array;
  private readonly bundles = new Set<number>();

  constructor(
    private readonly model: GraphModel,
    chosen: number,
    /** Whether unmarked boxes and edges are drawn faint. */
    readonly traced: boolean,
  ) {
    this.boxes = new Uint8Array(model.size);
    this.borders = new Uint8Array(model.size);
    for (let b = chosen; b >= 0; b = model.parent(b)) this.boxes[b] = 1;
    this.boxes.fill(1, chosen, at(model.end, chosen));
  }

  /** Adds an edge between two leaves, with the boxes around them up to the one that contains both. */
  add(source: number, target: number): void {
    const { model } = this;
    let [a, b] = [source, target];
    while (model.parent(a) >= 0 && !model.holds(model.parent(a), b)) {
      this.cross(a, 2);
      a = model.parent(a);
    }
    const scope = model.parent(a);
    while (model.parent(b) !== scope && model.parent(b) >= 0) {
      this.cross(b, 1);
      b = model.parent(b);
    }
    this.boxes[a] = this.boxes[b] = 1;
    const bundle = model.bundle(a, b);
    if (bundle >= 0) this.bundles.add(bundle);
  }

  private cross(box: number, way: 1 | 2): void {
    this.boxes[box] = 1;
    this.borders[box] = at(this.borders, box) | way;
  }

  box(box: number): boolean {
    return at(this.boxes, box) > 0;
  }

  edge(edge: SceneEdge): boolean {
    if (edge.bundle >= 0) return this.bundles.has(edge.bundle);
    return edge.start < 0
      ? (at(this.borders, edge.stop) & 1) > 0
      : (at(this.borders, edge.start) & 2) > 0;
  }

  get count(): number {
    let n = 0;
    for (let b = 1; b < this.model.size; b++) if (at(this.boxes, b) && this.model.isLeaf(b)) n += 1;
    return n;
  }
}

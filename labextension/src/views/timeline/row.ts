// The events of one row of lanes, none of which overlap: by begin, with the sum of their lengths up to each and a tree
// of the longest. How busy any stretch was, and which event stands for it, is then one search at every zoom.

/** Begins and ends of all events, in microseconds. */
export interface Times {
  readonly start: Float64Array;
  readonly end: Float64Array;
}

export class Row {
  readonly n: number;
  /** Lengths of the first k events together. */
  private readonly sums: Float64Array;
  /** A segment tree over positions: each inner node holds the position of the longer of its two. */
  private readonly tree: Int32Array;

  constructor(
    private readonly times: Times,
    /** The events, by begin. */
    readonly index: Int32Array,
  ) {
    const n = index.length;
    this.n = n;
    this.sums = new Float64Array(n + 1);
    this.tree = new Int32Array(2 * n);
    for (let k = 0; k < n; k++) {
      this.sums[k + 1] = at(this.sums, k) + this.length(k);
      this.tree[n + k] = k;
    }
    for (let k = n - 1; k > 0; k--) {
      this.tree[k] = this.longer(at(this.tree, 2 * k), at(this.tree, 2 * k + 1));
    }
  }

  /** The event at a position. */
  event(k: number): number {
    return at(this.index, k);
  }

  start(k: number): number {
    return at(this.times.start, at(this.index, k));
  }

  end(k: number): number {
    return at(this.times.end, at(this.index, k));
  }

  length(k: number): number {
    return this.end(k) - this.start(k);
  }

  private longer(a: number, b: number): number {
    return this.length(a) >= this.length(b) ? a : b;
  }

  /** The first position, from `low` on, whose event begins at `t` or later. */
  first(t: number, low = 0): number {
    let high = this.n;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start(middle) < t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Up to which position events are in one pixel with that at `k`, and none of them is wider than it. */
  crowd(k: number, pixel: number): number {
    const next = Math.max(this.first(this.start(k) + pixel, k + 1), k + 1);
    // Only the last of them can be that long, since they do not overlap.
    return next - 1 > k && this.length(next - 1) >= pixel ? next - 1 : next;
  }

  /** How long the events from position `from` up to `to` ran together. */
  busy(from: number, to: number): number {
    return at(this.sums, to) - at(this.sums, from);
  }

  /** The position of the longest event from `from` up to `to`, -1 if there is none. */
  longest(from: number, to: number): number {
    let found = -1;
    let low = from + this.n;
    let high = to + this.n;
    for (; low < high; low >>= 1, high >>= 1) {
      if (low & 1)
        found = found < 0 ? at(this.tree, low++) : this.longer(found, at(this.tree, low++));
      if (high & 1)
        found = found < 0 ? at(this.tree, --high) : this.longer(found, at(this.tree, --high));
    }
    return found;
  }

  /** Positions from `from` up to `to` of events of at least `least` microseconds, the longest of a stretch first. */
  *atLeast(least: number, from: number, to: number): Generator<number> {
    const open: [number, number][] = [[from, to]];
    for (let stretch = open.pop(); stretch; stretch = open.pop()) {
      const k = this.longest(...stretch);
      if (k < 0 || this.length(k) < least) continue;
      yield k;
      open.push([stretch[0], k], [k + 1, stretch[1]]);
    }
  }

  /** The event at a time, else the longest within `slack` of it; -1 for none. */
  near(t: number, slack: number): number {
    const after = this.first(t);
    for (const k of [after - 1, after]) {
      if (k >= 0 && k < this.n && this.start(k) <= t && this.end(k) >= t) return this.event(k);
    }
    let low = this.first(t - slack);
    if (low > 0 && this.end(low - 1) >= t - slack) low--;
    const k = this.longest(low, this.first(t + slack, low));
    return k < 0 ? -1 : this.event(k);
  }
}

/** An element that is there: the columns have no holes. */
export function at(column: Float64Array | Int32Array | Uint8Array, k: number): number {
  return column[k] as number;
}

// The events of one row, none of which overlap, ordered by begin, with the sums of their durations and a tree of the
// longest ones. The busy time of any interval, and its longest event, then need one search at every zoom.

/** Begins and ends of all events, in microseconds. */
export interface Times {
  readonly start: Float64Array;
  readonly end: Float64Array;
}

export class Row {
  readonly n: number;
  /** The sum of the durations of the first k events. */
  private readonly sums: Float64Array;
  /** A segment tree over positions: an inner node contains the position of the longer event of its two children. */
  private readonly tree: Int32Array;

  constructor(
    private readonly times: Times,
    /** The events, ordered by begin. */
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

  /** The end of the events that share a pixel with that at `k` and are not wider than the pixel. */
  crowd(k: number, pixel: number): number {
    const next = Math.max(this.first(this.start(k) + pixel, k + 1), k + 1);
    // Only the last of them can be wider, since events do not overlap.
    return next - 1 > k && this.length(next - 1) >= pixel ? next - 1 : next;
  }

  /** The sum of the durations of the events from position `from` up to `to`. */
  busy(from: number, to: number): number {
    return at(this.sums, to) - at(this.sums, from);
  }

  /** The position of the longest event from `from` up to `to`, -1 if there is none. */
  longest(from: number, to: number): number {
    let longest = -1;
    let low = from + this.n;
    let high = to + this.n;
    for (; low < high; low >>= 1, high >>= 1) {
      if (low & 1)
        longest = longest < 0 ? at(this.tree, low++) : this.longer(longest, at(this.tree, low++));
      if (high & 1)
        longest = longest < 0 ? at(this.tree, --high) : this.longer(longest, at(this.tree, --high));
    }
    return longest;
  }

  /** Positions from `from` up to `to` of events of at least `least` microseconds, the longest of an interval first. */
  *atLeast(least: number, from: number, to: number): Generator<number> {
    const open: [number, number][] = [[from, to]];
    for (let stretch = open.pop(); stretch; stretch = open.pop()) {
      const k = this.longest(...stretch);
      if (k < 0 || this.length(k) < least) continue;
      yield k;
      open.push([stretch[0], k], [k + 1, stretch[1]]);
    }
  }

  /** The event at a time, or the longest within `slack` of that time, or -1. */
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

/** An element of a column, which is present because columns have no holes. */
export function at(column: Float64Array | Int32Array | Uint8Array, k: number): number {
  return column[k] as number;
}

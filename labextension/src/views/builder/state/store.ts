// A state that is never changed but replaced: an event and a pure function make the next one, and watchers are told.

export class Store<State, Event> {
  private readonly watchers = new Set<() => void>();

  constructor(
    private present: State,
    private readonly update: (state: State, event: Event) => State,
  ) {}

  get state(): State {
    return this.present;
  }

  /** Watchers hear of it if the state has become another one. */
  dispatch(event: Event): void {
    const before = this.present;
    this.present = this.update(before, event);
    if (this.present !== before) for (const watch of this.watchers) watch();
  }

  /** Calls a function after each change; the returned function ends that. */
  watch(watch: () => void): () => void {
    this.watchers.add(watch);
    return () => this.watchers.delete(watch);
  }
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  for (let k = 0; k < b.length; k++) if (a[k] !== b[k]) return false;
  return true;
}

/** A function that gives its last result again while its arguments are the same objects. */
export function remembered<A extends readonly unknown[], R>(
  compute: (...given: A) => R,
): (...given: A) => R {
  let last: { given: A; result: R } | null = null;
  return (...given) => {
    if (!last || !isSame(last.given, given)) last = { given, result: compute(...given) };
    return last.result;
  };
}

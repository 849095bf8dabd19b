// The parts of an open box that are connected to its border: all through which data enters or leaves, or, if these are
// many, those at which the flow inside begins and ends. A stub at the others shows that an edge comes from outside.

import { at, type GraphModel } from "./model";

const MOST = 5;

export interface Ports {
  inlet: ReadonlySet<number>;
  outlet: ReadonlySet<number>;
}

export function portsOf(model: GraphModel, scope: number, parts: readonly number[]): Ports {
  if (!scope) return { inlet: new Set(), outlet: new Set() };
  const shown = new Set(parts);
  const entered = new Set<number>();
  const left = new Set<number>();
  for (const bundle of model.bundles(scope)) {
    const [a, b] = [at(model.ints.start, bundle), at(model.ints.stop, bundle)];
    if (!shown.has(a) || !shown.has(b)) continue;
    left.add(a);
    entered.add(b);
  }
  const ends = (column: Int32Array, inside: ReadonlySet<number>): Set<number> => {
    const all = parts.filter((b) => at(column, b) > 0);
    return new Set(all.length > MOST ? all.filter((b) => !inside.has(b)) : all);
  };
  return { inlet: ends(model.ints.inlet, entered), outlet: ends(model.ints.outlet, left) };
}

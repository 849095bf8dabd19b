// The graph of a state as one asks about it: its wires, how they go, what is reached along them, and where nodes are. The
// order of the source is a topological order of the nodes, because the source is a straight line.

import type { BuilderNode, Frame, Note, Totals, Wire } from "../../../protocol/builder";
import type { Point } from "../places/geometry";
import { type Route, routeKey, routeOf } from "../wires/route";
import type { Bending, Connection, Drag, Graph, Places } from "./state";

const known = new WeakMap<Graph, readonly Connection[]>();
const knownAt = new WeakMap<Graph, ReadonlyMap<string, readonly Connection[]>>();

/** All wires of a graph, in the order of the nodes that they go to. */
export function connectionsOf(graph: Graph): readonly Connection[] {
  const before = known.get(graph);
  if (before) return before;
  const connections = graph.order.flatMap((to) =>
    (graph.nodes.get(to)?.inputs ?? []).flatMap(({ wire, name }, row) =>
      wire && graph.nodes.has(wire.node)
        ? [{ from: wire.node, output: wire.output, to, row, port: name }]
        : [],
    ),
  );
  known.set(graph, connections);
  return connections;
}

function connectionsByNode(graph: Graph): ReadonlyMap<string, readonly Connection[]> {
  const before = knownAt.get(graph);
  if (before) return before;
  const byNode = new Map<string, Connection[]>();
  for (const connection of connectionsOf(graph))
    for (const end of new Set([connection.from, connection.to])) {
      const wires = byNode.get(end);
      if (wires) wires.push(connection);
      else byNode.set(end, [connection]);
    }
  knownAt.set(graph, byNode);
  return byNode;
}

export class BuilderModel {
  constructor(
    readonly graph: Graph,
    readonly places: Places,
    readonly drag: Drag | null = null,
    private readonly bending: Bending | null = null,
    /** By how much nodes have moved aside for values and problems on others. */
    private readonly aside: ReadonlyMap<string, Point> = new Map(),
  ) {}

  get nodes(): ReadonlyMap<string, BuilderNode> {
    return this.graph.nodes;
  }

  get order(): readonly string[] {
    return this.graph.order;
  }

  get frames(): readonly Frame[] {
    return this.graph.frames;
  }

  get notes(): readonly Note[] {
    return this.graph.notes;
  }

  get totals(): Totals {
    return this.graph.totals;
  }

  get connections(): readonly Connection[] {
    return connectionsOf(this.graph);
  }

  position(id: string): Point | undefined {
    const dragged = this.drag?.nodes.get(id);
    if (dragged) return dragged;
    const [home, aside] = [this.home(id), this.aside.get(id)];
    return home && aside ? [home[0] + aside[0], home[1] + aside[1]] : home;
  }

  /** The place that a node has while no other one needs room. */
  home(id: string): Point | undefined {
    return this.places.placed.get(id) ?? this.places.automatic.get(id);
  }

  /** How a wire goes: null for one curve. */
  route(connection: Connection): Route {
    if (!this.hasRoutes) return null;
    const key = routeKey(connection);
    if (this.bending?.key === key) return this.bending.bends;
    return this.drag?.bends.get(key) ?? this.settledRoute(connection);
  }

  /** How a wire went before what is being dragged or bent now. */
  settledRoute(connection: Connection): Route {
    const { routes, keptRoutes } = this.places;
    const key = routeKey(connection);
    return routeOf(routes.get(key) ?? keptRoutes.get(key));
  }

  get hasRoutes(): boolean {
    const { routes, keptRoutes } = this.places;
    return routes.size > 0 || keptRoutes.size > 0 || this.bending !== null;
  }

  /** The wires at a node, into it and out of it. */
  connectionsAt(id: string): readonly Connection[] {
    return connectionsByNode(this.graph).get(id) ?? [];
  }

  outgoing(id: string): readonly Connection[] {
    return this.connectionsAt(id).filter(({ from }) => from === id);
  }

  incoming(id: string): readonly Connection[] {
    return this.connectionsAt(id).filter(({ to }) => to === id);
  }

  /** All nodes that a node is computed from, or all that are computed from it, without itself. */
  reached(id: string, direction: "up" | "down"): Set<string> {
    const seen = new Set<string>();
    const next = [id];
    for (let node = next.pop(); node !== undefined; node = next.pop()) {
      const wires = direction === "up" ? this.incoming(node) : this.outgoing(node);
      for (const { from, to } of wires) {
        const other = direction === "up" ? from : to;
        if (other === id || seen.has(other)) continue;
        seen.add(other);
        next.push(other);
      }
    }
    return seen;
  }

  dtypeOf({ node, output }: Wire): string {
    return this.nodes.get(node)?.outputs[output]?.dtype ?? "";
  }
}

// What is drawn: the nodes that the kernel has sent, their wires and positions. The order of the source is a topological
// order of the nodes, because the source is a straight line.

import type { BuilderNode, Drawing, Frame, Note, Totals, Wire } from "../../protocol/builder";
import type { Point } from "./geometry";
import { type Route, routeKey, routeOf } from "./wires/route";

/** A wire to the input number `row` of the node `to`. */
export interface Connection {
  from: string;
  output: number;
  to: string;
  row: number;
  port: string;
}

export interface Changes {
  added: string[];
  removed: string[];
  /** Nodes whose contents are new. */
  changed: string[];
  /** Whether the kernel has nodes that were never sent here. */
  isIncomplete: boolean;
}

export class BuilderModel {
  readonly nodes = new Map<string, BuilderNode>();
  order: readonly string[] = [];
  frames: readonly Frame[] = [];
  notes: readonly Note[] = [];
  totals: Totals = { parameters: 0, flops: 0, nodes: 0, problems: 0 };
  revision = -1;
  source = "";
  waitsForLine = 0;
  canUndo = false;
  canRedo = false;
  /** The positions that the kernel has, and those that the layout gives to the others. */
  placed = new Map<string, Point>();
  readonly automatic = new Map<string, Point>();
  /** By how much nodes have moved aside for values and problems on others. */
  aside: ReadonlyMap<string, Point> = new Map();
  /** The positions during a drag. */
  dragged: ReadonlyMap<string, Point> | null = null;
  /** How wires go that are not simple curves, by `routeKey`. */
  routes = new Map<string, readonly number[]>();
  /** The routes that the notebook has kept, until the kernel is told of them. */
  keptRoutes = new Map<string, readonly number[]>();
  /** The bends of the wire that is being bent, and of those that move with what is dragged. */
  bending: { readonly key: string; readonly bends: readonly Point[] } | null = null;
  bent: ReadonlyMap<string, readonly Point[]> | null = null;
  private lines: Connection[] | null = null;
  private byNode: Map<string, Connection[]> | null = null;

  apply(drawing: Drawing): Changes {
    const before = new Set(this.order);
    const known = new Set(drawing.order);
    const added = drawing.order.filter((id) => !before.has(id));
    const removed = this.order.filter((id) => !known.has(id));
    this.keepPlaces(drawing, added, removed);
    for (const id of removed) {
      this.nodes.delete(id);
      this.automatic.delete(id);
    }
    for (const node of drawing.changed) if (known.has(node.id)) this.nodes.set(node.id, node);
    for (const [k, id] of drawing.order.entries()) {
      const [node, line] = [this.nodes.get(id), drawing.lines[k]];
      if (node && line && node.line !== line) this.nodes.set(id, { ...node, line });
    }
    this.order = drawing.order.filter((id) => this.nodes.has(id));
    this.frames = drawing.frames;
    this.notes = drawing.notes;
    this.totals = drawing.totals;
    this.revision = drawing.revision;
    this.waitsForLine = drawing.waits_for_line;
    this.canUndo = drawing.can_undo;
    this.canRedo = drawing.can_redo;
    const places = Object.entries(drawing.positions);
    this.placed = new Map(
      places.filter(([id]) => !id.includes(">")).map(([id, [x = 0, y = 0]]) => [id, [x, y]]),
    );
    this.routes = new Map(places.filter(([id]) => id.includes(">")));
    this.lines = null;
    this.byNode = null;
    return {
      added: added.filter((id) => this.nodes.has(id)),
      removed,
      changed: drawing.changed.map(({ id }) => id).filter((id) => this.nodes.has(id)),
      isIncomplete: this.order.length < drawing.order.length,
    };
  }

  /** A node that has only a new name keeps the place that the layout gave it. */
  private keepPlaces(drawing: Drawing, added: string[], removed: string[]): void {
    if (!removed.length) return;
    const fresh = new Map(drawing.changed.map((node) => [node.id, node]));
    const left = new Set(removed);
    for (const id of added) {
      const now = fresh.get(id);
      if (!now) continue;
      const old = [...left].find((name) => {
        const was = this.nodes.get(name);
        return was?.call === now.call && was.inputs.length === now.inputs.length;
      });
      const place = old && this.automatic.get(old);
      if (!old || !place) continue;
      this.automatic.set(id, place);
      left.delete(old);
    }
  }

  position(id: string): Point | undefined {
    const dragged = this.dragged?.get(id);
    if (dragged) return dragged;
    const [home, aside] = [this.home(id), this.aside.get(id)];
    return home && aside ? [home[0] + aside[0], home[1] + aside[1]] : home;
  }

  /** The place that a node has while no other one needs room. */
  home(id: string): Point | undefined {
    return this.placed.get(id) ?? this.automatic.get(id);
  }

  /** How a wire goes: null for one curve. */
  route(connection: Connection): Route {
    if (!this.hasRoutes) return null;
    const key = routeKey(connection);
    if (this.bending?.key === key) return this.bending.bends;
    return this.bent?.get(key) ?? routeOf(this.routes.get(key) ?? this.keptRoutes.get(key));
  }

  get hasRoutes(): boolean {
    return this.routes.size > 0 || this.keptRoutes.size > 0 || this.bending !== null;
  }

  get connections(): readonly Connection[] {
    this.lines ??= this.order.flatMap((to) =>
      (this.nodes.get(to)?.inputs ?? []).flatMap(({ wire, name }, row) =>
        wire && this.nodes.has(wire.node)
          ? [{ from: wire.node, output: wire.output, to, row, port: name }]
          : [],
      ),
    );
    return this.lines;
  }

  /** The wires at a node, into it and out of it. */
  connectionsAt(id: string): readonly Connection[] {
    if (!this.byNode) {
      this.byNode = new Map();
      for (const c of this.connections)
        for (const end of new Set([c.from, c.to]))
          this.byNode.set(end, [...(this.byNode.get(end) ?? []), c]);
    }
    return this.byNode.get(id) ?? [];
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

// What lies where in one state: the rectangles of nodes, frames and notes, the curves of wires, and what is at a point.
// A scene never changes; what is computed of it is kept until there is another one.

import type { BuilderNode, Note } from "../../../protocol/builder";
import {
  around,
  boundsOf,
  type Curve,
  contains,
  distanceTo,
  type Face,
  faceOf,
  nearest,
  overlap,
  type PanelKind,
  type Point,
  portY,
  type Rect,
} from "../places/geometry";
import { freePlace } from "../places/placing";
import { spacingFor } from "../places/spacing";
import { detour } from "../wires/detour";
import { curvesOf } from "../wires/route";
import { BuilderModel } from "./model";
import type { Bending, Connection, Drag, Graph, Panel, Places, Port } from "./state";
import { remembered } from "./store";

const REACH = 210; // the farthest that a curve goes beyond its ends
const FRAME_MARGIN = 18;
const FRAME_HEAD = 26;
const NOTHING: Face = { width: 0, height: 0, outputs: [], summary: "", lines: [], grows: [0, 0] };

type Panels = ReadonlyMap<string, Panel>;

// By its inputs, which a node of which only the line is new has still.
const faces = new WeakMap<BuilderNode["inputs"], { kind: PanelKind | null; face: Face }>();

function rememberedFace(node: BuilderNode, kind: PanelKind | null): Face {
  let known = faces.get(node.inputs);
  if (!known || known.kind !== kind) {
    known = { kind, face: faceOf(node, kind) };
    faces.set(node.inputs, known);
  }
  return known.face;
}

/** By how much nodes move aside for the values and problems on others. */
function asideOf(graph: Graph, places: Places, panels: Panels): ReadonlyMap<string, Point> {
  if (!panels.size && !graph.totals.problems) return new Map();
  const model = new BuilderModel(graph, places);
  return spacingFor(
    [...graph.nodes].flatMap(([id, node]) => {
      const home = model.home(id);
      if (!home) return [];
      const { width, height, grows } = rememberedFace(node, panels.get(id)?.kind ?? null);
      const size = { width: width - grows[0], height: height - grows[1] };
      return [{ id, rect: { x: home[0], y: home[1], ...size }, grows }];
    }),
  );
}

interface Drawn {
  readonly graph: Graph;
  readonly places: Places;
  readonly panels: Panels;
  readonly drag: Drag | null;
  readonly bending: Bending | null;
}

/** A function from a state to its scene, which is the same one while nothing of it has changed. */
export function rememberedScene(): (state: Drawn) => Scene {
  const aside = remembered(asideOf);
  const scene = remembered(
    (
      graph: Graph,
      places: Places,
      panels: Panels,
      drag: Drag | null,
      bending: Bending | null,
    ): Scene =>
      new Scene(
        new BuilderModel(graph, places, drag, bending, aside(graph, places, panels)),
        panels,
      ),
  );
  return remembered(({ graph, places, panels, drag, bending }: Drawn) =>
    scene(graph, places, panels, drag, bending),
  );
}

export class Scene {
  private readonly boxes = new Map<string, Rect | null>();
  private linked: { connection: Connection; from: Rect; to: Rect }[] | null = null;
  private all: Rect | null | undefined;
  private readonly detours = new Map<Connection, Point[] | null>();
  private obstacles: Rect[] | null = null; // the nodes that detours go around

  constructor(
    readonly model: BuilderModel,
    private readonly panels: Panels = new Map(),
  ) {}

  face = (id: string): Face => {
    const node = this.model.nodes.get(id);
    return node ? rememberedFace(node, this.panels.get(id)?.kind ?? null) : NOTHING;
  };

  // ---- rectangles ----------------------------------------------------------------------------------

  rect(id: string): Readonly<Rect> | null {
    let rect = this.boxes.get(id);
    if (rect === undefined) {
      const at = this.model.position(id);
      const { width, height } = this.face(id);
      rect = at ? { x: at[0], y: at[1], width, height } : null;
      this.boxes.set(id, rect);
    }
    return rect;
  }

  /** The rectangles of those nodes that have a place. */
  rects(ids: Iterable<string> = this.model.order): Map<string, Readonly<Rect>> {
    const rects = new Map<string, Readonly<Rect>>();
    for (const id of ids) {
      const rect = this.rect(id);
      if (rect) rects.set(id, rect);
    }
    return rects;
  }

  /** The nodes that meet an area. */
  nodesIn(area: Rect): string[] {
    return this.model.order.filter((id) => {
      const rect = this.rect(id);
      return rect && overlap(rect, area);
    });
  }

  /** The rectangle around everything. */
  bounds(): Rect | null {
    if (this.all === undefined) {
      const frames = this.model.frames.map((frame) => this.frameRect(frame.nodes));
      const notes = this.model.notes.map((note) => this.noteRect(note));
      const rects = [...this.rects().values(), ...frames, ...notes];
      this.all = around(rects.filter((rect) => rect !== null));
    }
    return this.all;
  }

  frameRect(nodes: readonly string[]): Rect | null {
    const inner = around(this.rects(nodes).values());
    return (
      inner && {
        x: inner.x - FRAME_MARGIN,
        y: inner.y - FRAME_MARGIN - FRAME_HEAD,
        width: inner.width + 2 * FRAME_MARGIN,
        height: inner.height + 2 * FRAME_MARGIN + FRAME_HEAD,
      }
    );
  }

  /** A note stands above the node that follows it in the source, or below everything. */
  noteRect(note: Note): Rect {
    const { model } = this;
    const lines = note.text
      .split("\n")
      .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 34)), 0);
    const size = { width: 220, height: 18 + 15 * lines };
    const at = model.position(note.id);
    if (at) return { x: at[0], y: at[1], ...size };
    const next = model.order.find((id) => (model.nodes.get(id)?.line ?? 0) > note.line);
    const rect = next === undefined ? null : this.rect(next);
    if (rect) {
      const wanted = { x: rect.x, y: rect.y - size.height - 12, ...size };
      const [x, y] = freePlace(wanted, [...this.rects().values()], 8);
      return { ...wanted, x, y };
    }
    const all = around(this.rects().values());
    return { x: all?.x ?? 40, y: all ? all.y + all.height + 40 : 40, ...size };
  }

  // ---- wires ---------------------------------------------------------------------------------------

  portPoint({ node, side, row }: Port): Point | null {
    const rect = this.rect(node);
    return rect && [side === "in" ? rect.x : rect.x + rect.width, rect.y + portY(row)];
  }

  /** The points at which a wire begins and ends. */
  ends({ from, output, to, row }: Connection): [Point, Point] | null {
    const a = this.portPoint({ node: from, side: "out", row: output });
    const b = this.portPoint({ node: to, side: "in", row });
    return a && b && [a, b];
  }

  /** The curves of a wire: one, or several through its bends, or two stubs. */
  curves(connection: Connection): Curve[] {
    const ends = this.ends(connection);
    if (!ends) return [];
    return curvesOf(...ends, this.model.route(connection) ?? this.detourOf(connection, ends));
  }

  /** The bends of a wire that goes back and has none of its own. */
  private detourOf(connection: Connection, [a, b]: [Point, Point]): Point[] | null {
    if (b[0] > a[0]) return null;
    let bends = this.detours.get(connection);
    if (bends === undefined) {
      this.obstacles ??= [...this.rects().values()];
      const lane = this.model.order.indexOf(connection.from) + 2 * connection.row;
      bends = detour(a, b, this.obstacles, lane);
      this.detours.set(connection, bends);
    }
    return bends;
  }

  /** The wires whose curves may meet an area, found by the rectangles of their ends. */
  *linksIn({ x, y, width, height }: Rect): Generator<Connection> {
    this.linked ??= this.model.connections.flatMap((connection) => {
      const [from, to] = [this.rect(connection.from), this.rect(connection.to)];
      return from && to ? [{ connection, from, to }] : [];
    });
    const [right, bottom] = [x + width, y + height];
    const { hasRoutes } = this.model;
    for (const { connection, from, to } of this.linked) {
      if (hasRoutes && this.model.route(connection)) {
        yield connection; // its bends may be anywhere
        continue;
      }
      const [start, end] = [from.x + from.width, to.x];
      if (Math.max(start, end) + REACH < x || Math.min(start, end) - REACH > right) continue;
      if (Math.max(from.y + from.height, to.y + to.height) < y) continue;
      if (Math.min(from.y, to.y) > bottom) continue;
      yield connection;
    }
  }

  // ---- what is at a point --------------------------------------------------------------------------

  /** The topmost node at a point: selected ones are on top, then later ones. */
  nodeAt(point: Point, selected: ReadonlySet<string>): string | null {
    let best: string | null = null;
    for (const id of this.model.order) {
      const rect = this.rect(id);
      if (!rect || !contains(rect, point)) continue;
      if (best === null || !selected.has(best) || selected.has(id)) best = id;
    }
    return best;
  }

  frameAt(point: Point): string | null {
    for (const { id, nodes } of [...this.model.frames].reverse()) {
      const rect = this.frameRect(nodes);
      if (rect && contains({ ...rect, height: FRAME_HEAD }, point)) return id;
    }
    return null;
  }

  /** The nearest port within a radius, on one side of nodes if that is given, and not of the node `not`. */
  portAt(point: Point, radius: number, side?: Port["side"], not?: string): Port | null {
    return nearest(this.portsNear(point, radius, side, not), point, radius);
  }

  private *portsNear(
    [x, y]: Point,
    radius: number,
    only?: Port["side"],
    not?: string,
  ): Generator<readonly [Port, Point]> {
    const area = { x: x - radius, y: y - radius, width: 2 * radius, height: 2 * radius };
    for (const id of this.nodesIn(area)) {
      const node = this.model.nodes.get(id);
      if (!node || id === not) continue;
      for (const [side, ports] of [
        ["in", node.inputs],
        ["out", node.outputs],
      ] as const) {
        if (only && side !== only) continue;
        for (let row = 0; row < ports.length; row++) {
          const port = { node: id, side, row };
          const at = this.portPoint(port);
          if (at) yield [port, at];
        }
      }
    }
  }

  /** The nearest wire within a radius. */
  wireAt(point: Point, radius: number): Connection | null {
    let best: Connection | null = null;
    let least = radius;
    const spot = { x: point[0], y: point[1], width: 0, height: 0 };
    for (const connection of this.linksIn(spot)) {
      for (const curve of this.curves(connection)) {
        if (!overlap(boundsOf(curve), spot, least + 1)) continue;
        const distance = distanceTo(curve, point);
        if (distance <= least) [best, least] = [connection, distance];
      }
    }
    return best;
  }

  /** The bend of a wire within a radius. */
  bendAt(point: Point, radius: number): { connection: Connection; index: number } | null {
    const { model } = this;
    if (!model.hasRoutes) return null;
    const bends = model.connections.flatMap((connection) =>
      (model.route(connection) ?? []).map(
        (at, index) =>
          [{ connection, index }, at] as [{ connection: Connection; index: number }, Point],
      ),
    );
    return nearest(bends, point, radius);
  }
}

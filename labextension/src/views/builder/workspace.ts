// The state of one view: the drawing, what is selected, what is visible, and the values that were computed. Other modules
// draw it and change it; each change is announced to the view under a word.

import type { BuilderNode, LossPoint, Note, RunResult, Wire } from "../../protocol/builder";
import { Camera } from "../graph/camera";
import { PAPER, type Theme } from "../graph/palette";
import { sightOf } from "./fitting";
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
} from "./geometry";
import { BuilderModel, type Connection } from "./model";
import { freePlace } from "./placing";
import type { Session } from "./session";
import { spacingFor } from "./spacing";
import { detour } from "./wires/detour";
import { curvesOf } from "./wires/route";

/** What was computed at a node: the result of a run, or the losses of a training. */
export interface Panel {
  kind: PanelKind;
  result: RunResult | null;
  losses: LossPoint[];
  isRunning: boolean;
}

/** An end of a wire: an input, or an output. */
export interface Port {
  node: string;
  side: "in" | "out";
  row: number;
}

export type Change = "camera" | "document" | "selection" | "moves" | "wires" | "panels" | "mode";

/** What wires are drawn for while one is being dragged. */
export interface Dragging {
  from: Port;
  to: Point;
  target: Port | null;
  /** Inputs by "node\nport", with the reason if they refuse the wire; null while the kernel has not answered. */
  refusals: ReadonlyMap<string, string> | null;
}

const ELEMENT_SCALE = 0.45;
const REACH = 210; // the farthest that a curve goes beyond its ends
export const MOST_ELEMENTS = 300;
const FRAME_MARGIN = 18;
const FRAME_HEAD = 26;

export class Workspace {
  readonly model = new BuilderModel();
  readonly camera = new Camera(() => this.changed("camera"));
  readonly selected = new Set<string>();
  /** The node at which the keyboard is; "" for none. */
  current = "";
  selectedWire: Connection | null = null;
  hovered: Connection | null = null;
  dragging: Dragging | null = null;
  /** Whether dragging on the empty canvas moves it. */
  hand = false;
  readonly panels = new Map<string, Panel>();
  theme: Theme = PAPER;
  width = 0;
  height = 0;
  /** The last position of the pointer on the canvas. */
  pointer: Point | null = null;
  private readonly faces = new Map<string, Face>();
  private readonly boxes = new Map<string, Rect>();
  private linked: { connection: Connection; from: Rect; to: Rect }[] | null = null;
  private known: Rect | null | undefined;
  private readonly detours = new Map<Connection, Point[] | null>();
  private obstacles: Rect[] | null = null; // the nodes that detours go around

  constructor(
    readonly session: Session,
    private readonly announce: (what: Change) => void,
    readonly say: (text: string, isRefusal?: boolean, isProgress?: boolean) => void,
  ) {
    this.camera.least = 0.05;
  }

  changed = (what: Change): void => {
    if (what === "document" || what === "panels") this.forgetBoxes();
    else if (what === "moves") this.moved();
    this.announce(what);
  };

  // ---- geometry ------------------------------------------------------------------------------------

  face = (id: string): Face => {
    let face = this.faces.get(id);
    const node = this.model.nodes.get(id);
    if (!face && node) {
      face = faceOf(node, this.panels.get(id)?.kind ?? null);
      this.faces.set(id, face);
    }
    return face ?? { width: 0, height: 0, outputs: [], summary: "", lines: [], grows: [0, 0] };
  };

  forgetFaces(ids: Iterable<string>): void {
    for (const id of ids) this.faces.delete(id);
    this.forgetBoxes();
  }

  /** Positions or sizes have changed. */
  forgetBoxes(): void {
    this.boxes.clear();
    this.forgetDetours();
    this.linked = null;
    this.known = undefined;
    this.makeRoom();
  }

  private forgetDetours(): void {
    this.detours.clear();
    this.obstacles = null;
  }

  /** Moves nodes aside for the values and problems on others. */
  private makeRoom(): void {
    const { model, panels } = this;
    const nodes = panels.size || model.totals.problems ? model.order : [];
    model.aside = spacingFor(
      nodes.flatMap((id) => {
        const [home, { width, height, grows }] = [model.home(id), this.face(id)];
        if (!home) return [];
        const size = { width: width - grows[0], height: height - grows[1] };
        return [{ id, rect: { x: home[0], y: home[1], ...size }, grows }];
      }),
    );
  }

  /** During a drag, the rectangles of what is dragged are updated in place; at its end all are computed anew. */
  private moved(): void {
    const { dragged } = this.model;
    if (!dragged) this.forgetBoxes();
    this.known = undefined;
    this.forgetDetours();
    for (const [id, [x, y]] of dragged ?? []) {
      const box = this.boxes.get(id);
      if (box) Object.assign(box, { x, y });
    }
  }

  /** The rectangle of a node. It changes when the node is dragged: a caller that keeps it copies it. */
  rect(id: string): Rect | null {
    const known = this.boxes.get(id);
    if (known) return known;
    const at = this.model.position(id);
    const face = this.face(id);
    if (!at) return null;
    const rect = { x: at[0], y: at[1], width: face.width, height: face.height };
    this.boxes.set(id, rect);
    return rect;
  }

  /** Copies of the rectangles of nodes. */
  rects(ids: Iterable<string>): Map<string, Rect> {
    const rects = new Map<string, Rect>();
    for (const id of ids) {
      const rect = this.rect(id);
      if (rect) rects.set(id, { ...rect });
    }
    return rects;
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

  /** The rectangle around everything. */
  bounds(): Rect | null {
    if (this.known === undefined) this.known = this.measured();
    return this.known;
  }

  private measured(): Rect | null {
    const frames = this.model.frames.map((frame) => this.frameRect(frame.nodes));
    const notes = this.model.notes.map((note) => this.noteRect(note));
    return around(
      [...this.rects(this.model.order).values(), ...frames, ...notes].filter((r) => r !== null),
    );
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
    const lines = note.text
      .split("\n")
      .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 34)), 0);
    const size = { width: 220, height: 18 + 15 * lines };
    const at = this.model.position(note.id);
    if (at) return { x: at[0], y: at[1], ...size };
    const next = this.model.order.find((id) => (this.model.nodes.get(id)?.line ?? 0) > note.line);
    const rect = next === undefined ? null : this.rect(next);
    if (rect) {
      const wanted = { x: rect.x, y: rect.y - size.height - 12, ...size };
      const [x, y] = freePlace(wanted, [...this.rects(this.model.order).values()], 8);
      return { ...wanted, x, y };
    }
    const all = around(this.rects(this.model.order).values());
    return { x: all?.x ?? 40, y: all ? all.y + all.height + 40 : 40, ...size };
  }

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
      this.obstacles ??= this.model.order.flatMap((id) => this.rect(id) ?? []);
      const lane = this.model.order.indexOf(connection.from) + 2 * connection.row;
      bends = detour(a, b, this.obstacles, lane);
      this.detours.set(connection, bends);
    }
    return bends;
  }

  /** The bend of a wire within a radius in pixels of the screen. */
  bendAt(point: Point, radius: number): { connection: Connection; index: number } | null {
    const { model } = this;
    if (!model.hasRoutes) return null;
    const bends = model.connections.flatMap((connection) =>
      (model.route(connection) ?? []).map(
        (at, index) =>
          [{ connection, index }, at] as [{ connection: Connection; index: number }, Point],
      ),
    );
    return nearest(bends, point, radius / this.camera.scale);
  }

  // ---- what lies where -----------------------------------------------------------------------------

  /** The part of the drawing that is visible, and a little more. */
  window(margin = 0): Rect {
    const { x0, y0, x1, y1 } = this.camera.window(this.width, this.height);
    return {
      x: x0 - margin,
      y: y0 - margin,
      width: x1 - x0 + 2 * margin,
      height: y1 - y0 + 2 * margin,
    };
  }

  visible(margin = 0): string[] {
    const window = this.window(margin);
    return this.model.order.filter((id) => {
      const rect = this.rect(id);
      return rect && overlap(rect, window);
    });
  }

  /** The nodes that are drawn as elements; none if they would be too small to read, or too many. */
  asElements(): string[] {
    if (this.camera.scale < ELEMENT_SCALE) return [];
    const visible = this.visible(60);
    return visible.length > MOST_ELEMENTS ? [] : visible;
  }

  /** The topmost node at a point: selected ones are on top, then later ones. */
  nodeAt(point: Point): string | null {
    let best: string | null = null;
    for (const id of this.model.order) {
      const rect = this.rect(id);
      if (!rect || !contains(rect, point)) continue;
      if (best === null || !this.selected.has(best) || this.selected.has(id)) best = id;
    }
    return best;
  }

  /** The nearest port within a radius in pixels of the screen. */
  portAt(point: Point, radius: number, side?: Port["side"], not?: string): Port | null {
    return nearest(this.ports(point, radius, side, not), point, radius / this.camera.scale);
  }

  private *ports(
    point: Point,
    radius: number,
    only?: Port["side"],
    not?: string,
  ): Generator<readonly [Port, Point]> {
    const reach = radius / this.camera.scale;
    const around = {
      x: point[0] - reach,
      y: point[1] - reach,
      width: 2 * reach,
      height: 2 * reach,
    };
    for (const id of this.model.order) {
      const rect = this.rect(id);
      const node = this.model.nodes.get(id);
      if (!rect || !node || id === not || !overlap(rect, around)) continue;
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

  /** The nearest wire within a radius in pixels of the screen, of those for which `may` holds. */
  wireAt(point: Point, radius: number, may = (_: Connection): boolean => true): Connection | null {
    let best: Connection | null = null;
    let least = radius / this.camera.scale;
    const spot = { x: point[0], y: point[1], width: 0, height: 0 };
    for (const connection of this.linksIn(spot)) {
      for (const curve of this.curves(connection)) {
        if (!overlap(boundsOf(curve), spot, least + 1) || !may(connection)) continue;
        const distance = distanceTo(curve, point);
        if (distance <= least) [best, least] = [connection, distance];
      }
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

  // ---- selection -----------------------------------------------------------------------------------

  select(ids: Iterable<string>, current?: string): void {
    const next = [...ids].filter((id) => this.model.nodes.has(id));
    this.selected.clear();
    for (const id of next) this.selected.add(id);
    this.selectedWire = null;
    this.current = current ?? next[next.length - 1] ?? "";
    this.changed("selection");
  }

  toggle(id: string): void {
    const next = new Set(this.selected);
    if (!next.delete(id)) next.add(id);
    this.select(next, id);
  }

  selectWire(wire: Connection | null): void {
    this.selected.clear();
    this.selectedWire = wire;
    this.changed("selection");
  }

  /** The selected node, if it is one. */
  get only(): BuilderNode | null {
    const [id] = this.selected;
    return (this.selected.size === 1 && id !== undefined && this.model.nodes.get(id)) || null;
  }

  /** The output at which a new node would be connected: the first of the selected node. */
  get openOutput(): Wire | null {
    const { only } = this;
    return only?.outputs[0]?.dtype ? { node: only.id, output: 0 } : null;
  }

  // ---- the window ----------------------------------------------------------------------------------

  /** Shows all of a rectangle or, if that would be smaller than `least`, where it begins; at once, or in flight. */
  fit(rect: Rect | null = this.bounds(), least = 0, isAtOnce = false): void {
    if (!rect || !this.width || !this.height) return;
    const { x, y, scale, whole } = sightOf(rect, this.firstIn(rect), least, [
      this.width,
      this.height,
    ]);
    this.camera.least = Math.min(0.05, whole / 2);
    if (isAtOnce) this.camera.set(x, y, scale);
    else this.camera.fly(x, y, scale);
  }

  /** The rectangle of the first node of the source that lies in an area. */
  private firstIn(area: Rect): Rect | null {
    for (const id of this.model.order) {
      const rect = this.rect(id);
      if (rect && overlap(rect, area)) return rect;
    }
    return null;
  }

  zoom(by: number): void {
    this.camera.arrive();
    this.camera.zoom(by, this.width / 2, this.height / 2);
  }

  /** Moves the window no more than is needed to show a node. */
  reveal(id: string): void {
    const rect = this.rect(id);
    if (!rect) return;
    const { camera, width, height } = this;
    const scale = Math.max(camera.scale, ELEMENT_SCALE);
    const shift = (start: number, size: number, room: number): number => {
      const [low, high] = [start, start + size * scale];
      if (low < 24) return 24 - low;
      return high > room - 24 ? Math.max(24 - low, room - 24 - high) : 0;
    };
    if (scale !== camera.scale) {
      camera.fly(
        width / 2 - (rect.x + rect.width / 2) * scale,
        height / 2 - (rect.y + rect.height / 2) * scale,
        scale,
      );
      return;
    }
    const dx = shift(camera.x + rect.x * scale, rect.width, width);
    const dy = shift(camera.y + rect.y * scale, rect.height, height);
    if (dx || dy) camera.fly(camera.x + dx, camera.y + dy, scale);
  }

  /** The window gets another size. A selected node that would be cut off by that stays in sight. */
  resize(width: number, height: number): void {
    const { camera, only } = this;
    const rect = only && this.rect(only.id);
    const right = rect ? camera.x + (rect.x + rect.width) * camera.scale : 0;
    const isCut = right > width && right <= this.width;
    Object.assign(this, { width, height });
    if (only && isCut && camera.scale >= ELEMENT_SCALE) this.reveal(only.id);
  }

  /** The point of the drawing in the middle of the window. */
  middle(): Point {
    return this.camera.toWorld(this.width / 2, this.height / 2);
  }

  /** The position on the canvas of a point of the drawing. */
  toScreen([x, y]: Point): Point {
    const { camera } = this;
    return [camera.x + x * camera.scale, camera.y + y * camera.scale];
  }
}

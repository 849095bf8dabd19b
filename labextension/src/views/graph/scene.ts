// The content of the drawing: the boxes and edges of the opened scopes, with their positions.
// Layouts of opened boxes are cached, so opening a box lays out only that box and the boxes around it.

import { EXTRACTED } from "../../protocol/graph";
import type { Job, Layout, Part, Point } from "./layout";
import type { Layouter } from "./layouter";
import { carried, type Face, face, type Stub, stubsOf, textWidth } from "./measure";
import { at, count, type GraphModel } from "./model";
import { type Ports, portsOf } from "./ports";

export interface SceneBox {
  box: number;
  /** The open box around it. */
  scope: number;
  x: number;
  y: number;
  width: number;
  height: number;
  opened: boolean;
  beside: boolean;
  depth: number;
  name: string;
  detail: string;
  stubs: Stub[];
}

export interface SceneEdge {
  /** -1: the piece from the border of `scope` to a part, or back. */
  bundle: number;
  scope: number;
  start: number;
  stop: number;
  points: Point[];
  /** The bounding box of the points: left, top, right, bottom. */
  bounds: [number, number, number, number];
  label: string;
  labelAt: Point | null;
  labelWidth: number;
  tensors: number;
  arrow: boolean;
}

export interface Scene {
  boxes: SceneBox[];
  edges: SceneEdge[];
  /** The texts "auxiliary nodes" and "+ 3 more" beside the drawing. */
  notes: { x: number; y: number; text: string }[];
  place: Map<number, SceneBox>;
  width: number;
  height: number;
}

/** The innermost box at a point of the drawing, or null. */
export function boxAt(scene: Scene | null, x: number, y: number): SceneBox | null {
  const boxes = scene?.boxes ?? [];
  for (let k = boxes.length - 1; k >= 0; k--) {
    const b = boxes[k];
    if (b && x >= b.x && x <= b.x + b.width && y >= b.y && y <= b.y + b.height) return b;
  }
  return null;
}

/** The boxes and edges of a scope, in the order of its layout. */
interface Plan {
  scope: number;
  parts: number[];
  faces: Face[];
  edges: { bundle: number; from: number; to: number; label: string; width: number }[];
  beside: number[];
  besideFaces: Face[];
  more: number;
  job: Job;
}

const ROOM = 22;
const MOST_BESIDE = 14;
const FRAME: Job["frame"] = [14, 25, 14, 14, 0];
const ROOT: Job["frame"] = [16, 20, 16, 16, 0];

/** The stubs of edges that come from outside of the scope or go there, if no line shows them. */
function outside(model: GraphModel, scope: number, box: number, ports: Ports): Stub[] {
  if (!scope) return [];
  const stubs: Stub[] = [];
  const add = (column: Int32Array, drawn: ReadonlySet<number>, side: Stub["side"]): void => {
    if (at(column, box) && !drawn.has(box)) stubs.push({ side, text: "outside", box: scope });
  };
  add(model.ints.inlet, ports.inlet, "in");
  add(model.ints.outlet, ports.outlet, "out");
  return stubs;
}

export class Arrangement {
  readonly opened = new Set<number>();
  /** The extracted boxes that the user has put back into the drawing. */
  readonly brought = new Set<number>();
  private readonly known = new Map<string, { plan: Plan; layout: Layout }>();

  constructor(
    readonly model: GraphModel,
    private readonly layouter: Layouter,
  ) {}

  extractedOf = (box: number): number =>
    this.brought.has(box) ? 0 : at(this.model.ints.extracted, box);

  drawn(scope: number): number[] {
    const parts = this.model.parts(scope).filter((b) => !this.extractedOf(b));
    return parts.length ? parts : [...this.model.parts(scope)];
  }

  canOpen(box: number): boolean {
    return this.model.parts(box).length > 0;
  }

  /** Opens as many scopes as there is room for, the smallest first; series, variables and scopes without inputs stay closed. */
  openWhatFits(): void {
    let shown = this.drawn(0).length;
    const { inlet, outlet } = this.model.ints;
    const source = (b: number): boolean => {
      const parts = this.model.parts(b);
      return !parts.some((p) => at(inlet, p)) && parts.some((p) => at(outlet, p));
    };
    const closed = (boxes: number[]): number[] =>
      boxes.filter((b) => this.canOpen(b) && this.model.kind(b) === "scope" && !source(b));
    let candidates = closed(this.drawn(0));
    while (candidates.length) {
      const smallest = candidates.reduce((a, b) =>
        this.drawn(b).length < this.drawn(a).length ? b : a,
      );
      const parts = this.drawn(smallest);
      if (shown + parts.length - 1 > ROOM) return;
      this.opened.add(smallest);
      shown += parts.length - 1;
      candidates = [...candidates.filter((b) => b !== smallest), ...closed(parts)];
    }
  }

  /** Opens everything around a box, and puts it back into the drawing where it was extracted. */
  reveal(box: number): void {
    for (const outer of this.model.around(box)) {
      this.opened.add(outer);
      const reason = this.extractedOf(outer);
      if (reason === EXTRACTED.attached) this.brought.add(outer);
    }
    if (this.extractedOf(box) === EXTRACTED.attached) this.brought.add(box);
  }

  async scene(): Promise<Scene> {
    const jobs: Job[] = [];
    const fresh: [string, Plan][] = [];
    const { key } = this.request(0, jobs, fresh);
    const layouts = await this.layouter.layouts(jobs);
    fresh.forEach(([opened, plan], k) => {
      const layout = layouts[k];
      if (layout) this.known.set(opened, { plan, layout });
    });
    const scene: Scene = { boxes: [], edges: [], notes: [], place: new Map(), width: 0, height: 0 };
    const keys = new Map<number, string>();
    this.collectKeys(0, keys);
    this.place(scene, key, keys, 0, 0, 0);
    const root = this.known.get(key)?.layout;
    [scene.width, scene.height] = [root?.width ?? 0, root?.height ?? 0];
    return scene;
  }

  /** The key of a layout, which depends on the boxes inside that are open or put back. */
  private key(scope: number): string {
    const inner = this.shownParts(scope).map((b) =>
      this.opened.has(b) && this.canOpen(b) ? this.key(b) : "",
    );
    const back = this.model.parts(scope).filter((b) => this.brought.has(b));
    return `${scope}(${inner.filter(Boolean).join(",")}|${back.join(",")})`;
  }

  private shownParts(scope: number): number[] {
    return [...this.drawn(scope), ...this.besideOf(scope).slice(0, MOST_BESIDE)];
  }

  private besideOf(scope: number): number[] {
    const drawn = new Set(this.drawn(scope));
    return this.model
      .parts(scope)
      .filter((b) => !drawn.has(b) && this.extractedOf(b) !== EXTRACTED.attached)
      .sort((a, b) => at(this.model.ints.nodes, b) - at(this.model.ints.nodes, a));
  }

  private collectKeys(scope: number, keys: Map<number, string>): void {
    keys.set(scope, this.key(scope));
    for (const b of this.shownParts(scope)) {
      if (this.opened.has(b) && this.canOpen(b)) this.collectKeys(b, keys);
    }
  }

  /** Adds the missing jobs, innermost first; returns the part that represents this scope. */
  private request(
    scope: number,
    jobs: Job[],
    fresh: [string, Plan][],
  ): { key: string; part: Part } {
    const key = this.key(scope);
    const cached = this.known.get(key);
    if (cached) {
      const { width, height, inlet, outlet } = cached.layout;
      return { key, part: { width, height, inlet, outlet, inner: -1, inset: 0 } };
    }
    const plan = this.plan(scope, (box) => this.request(box, jobs, fresh).part);
    jobs.push(plan.job);
    fresh.push([key, plan]);
    return {
      key,
      part: { width: 0, height: 0, inlet: -1, outlet: -1, inner: jobs.length - 1, inset: 0 },
    };
  }

  private plan(scope: number, inside: (box: number) => Part): Plan {
    const { model } = this;
    const parts = this.drawn(scope);
    const ports = portsOf(model, scope, parts);
    const stubs = stubsOf(model, scope, this.extractedOf);
    const faces = parts.map((b) => {
      const own = [...(stubs.get(b) ?? []), ...outside(model, scope, b, ports)];
      return face(model, b, this.opened.has(b) ? [] : own, false);
    });
    const every = this.besideOf(scope);
    const beside = every.slice(0, MOST_BESIDE);
    const besideFaces = beside.map((b) => face(model, b, [], true));
    const title = scope ? textWidth(face(model, scope, [], true).name, "name") + 60 : 0;
    const [left, top, right, bottom] = scope ? FRAME : ROOT;
    const job: Job = {
      parts: parts.map((b, i) => this.part(b, faces[i], inside)),
      edges: [],
      inlet: -1,
      outlet: -1,
      frame: [left, top, right, bottom, title],
      beside: beside.map((b, i) => this.part(b, besideFaces[i], inside)),
    };
    const plan: Plan = {
      scope,
      parts,
      faces,
      edges: [],
      beside,
      besideFaces,
      more: every.length - beside.length,
      job,
    };
    this.addEdges(plan, ports);
    return plan;
  }

  private part(box: number, own: Face | undefined, inside: (box: number) => Part): Part {
    if (this.opened.has(box) && this.canOpen(box)) return inside(box);
    const { width, height, inner } = own ?? { width: 0, height: 0, inner: 0 };
    return { width, height, inlet: -1, outlet: -1, inner: -1, inset: (width - inner) / 2 };
  }

  private addEdges(plan: Plan, ports: Ports): void {
    const { model } = this;
    const { start, stop, tensors } = model.ints;
    const number = new Map(plan.parts.map((b, i) => [b, i]));
    const { job } = plan;
    for (const bundle of model.bundles(plan.scope)) {
      const [from, to] = [number.get(at(start, bundle)), number.get(at(stop, bundle))];
      if (from === undefined || to === undefined) continue;
      const label = carried(model, bundle);
      const width = label ? textWidth(label, "edge") + 8 : 0;
      plan.edges.push({ bundle, from, to, label, width });
      const weight = 1 + Math.min(4, Math.ceil(Math.log2(1 + at(tensors, bundle))));
      job.edges.push([from, to, width, label ? 13 : 0, weight]);
    }
    for (const which of ["inlet", "outlet"] as const) {
      if (!ports[which].size) continue;
      job[which] = job.parts.length;
      job.parts.push({ width: 1, height: 1, inlet: -1, outlet: -1, inner: -1, inset: 0 });
      plan.parts.forEach((b, i) => {
        if (!ports[which].has(b)) return;
        const [from, to] = which === "inlet" ? [job.inlet, i] : [i, job.outlet];
        plan.edges.push({ bundle: -1, from, to, label: "", width: 0 });
        job.edges.push([from, to, 0, 0, 1]);
      });
    }
  }

  // ---- positions ----------------------------------------------------------------------------------

  private place(
    scene: Scene,
    key: string,
    keys: Map<number, string>,
    x: number,
    y: number,
    depth: number,
  ): void {
    const cached = this.known.get(key);
    if (!cached) return;
    const { plan, layout } = cached;
    const put = (
      box: number,
      own: Face | undefined,
      corner: Point,
      size: Point,
      beside: boolean,
    ): void => {
      const [px, py, inner] = [x + corner[0], y + corner[1], keys.get(box)];
      const opened = inner !== undefined;
      const inset = opened || !own ? 0 : (own.width - own.inner) / 2;
      this.add(
        scene,
        plan.scope,
        box,
        own,
        [px + inset, py, size[0] - 2 * inset, size[1]],
        opened,
        beside,
        depth,
      );
      if (opened) this.place(scene, inner, keys, px, py, depth + 1);
    };
    const none: Point = [0, 0];
    plan.parts.forEach((box, i) => {
      put(box, plan.faces[i], layout.corners[i] ?? none, layout.sizes[i] ?? none, false);
    });
    plan.beside.forEach((box, i) => {
      put(box, plan.besideFaces[i], layout.beside[i] ?? none, layout.besideSizes[i] ?? none, true);
    });
    const highest = layout.beside[0];
    if (highest)
      scene.notes.push({ x: x + highest[0], y: y + highest[1] - 5, text: "auxiliary nodes" });
    const lowest = layout.beside[layout.beside.length - 1];
    if (plan.more && lowest) {
      scene.notes.push({
        x: x + lowest[0],
        y: y + lowest[1] + (layout.besideSizes[plan.beside.length - 1]?.[1] ?? 0) + 14,
        text: `+ ${count(plan.more)} more`,
      });
    }
    this.addRoutes(scene, plan, layout, x, y);
  }

  private add(
    scene: Scene,
    scope: number,
    box: number,
    own: Face | undefined,
    [x, y, width, height]: [number, number, number, number],
    opened: boolean,
    beside: boolean,
    depth: number,
  ): void {
    const added: SceneBox = {
      box,
      scope,
      x,
      y,
      width,
      height,
      opened,
      beside,
      depth,
      name: own?.name ?? "",
      detail: own?.detail ?? "",
      stubs: opened ? [] : (own?.stubs ?? []),
    };
    scene.boxes.push(added);
    scene.place.set(box, added);
  }

  private addRoutes(scene: Scene, plan: Plan, layout: Layout, x: number, y: number): void {
    const { start, stop, tensors } = this.model.ints;
    plan.edges.forEach((edge, k) => {
      const route = layout.routes[k];
      if (!route || route.points.length < 2) return;
      const points = route.points.map(([px, py]): Point => [x + px, y + py]);
      const piece = edge.bundle < 0;
      const [from, to] = [plan.parts[edge.from] ?? -1, plan.parts[edge.to] ?? -1];
      // From the border of the box inwards, and from inside to the border.
      if (piece && from < 0) points[0] = [x + layout.inlet, y];
      if (piece && to < 0) points[points.length - 1] = [x + layout.outlet, y + layout.height];
      scene.edges.push({
        bundle: edge.bundle,
        scope: plan.scope,
        start: piece ? from : at(start, edge.bundle),
        stop: piece ? to : at(stop, edge.bundle),
        points,
        bounds: [
          Math.min(...points.map(([px]) => px)),
          Math.min(...points.map(([, py]) => py)),
          Math.max(...points.map(([px]) => px)),
          Math.max(...points.map(([, py]) => py)),
        ],
        label: edge.label,
        labelAt: route.label && edge.label ? [x + route.label[0], y + route.label[1]] : null,
        labelWidth: edge.width,
        tensors: piece ? 1 : at(tensors, edge.bundle),
        arrow: to >= 0 && !this.opened.has(to),
      });
    });
  }
}

// One canvas with all that its parts share: the state and what follows from it, the visible part, the kernel, and a voice.

import type { BuilderNode, Wire } from "../../../protocol/builder";
import type { Theme } from "../../graph/palette";
import type { Point, Rect } from "../places/geometry";
import type { BuilderModel } from "./model";
import { rememberedScene, type Scene } from "./scene";
import type { Session } from "./session";
import { type BuilderEvent, type BuilderState, type Connection, EMPTY, type Port } from "./state";
import { Store } from "./store";
import { update } from "./update";
import { ELEMENT_SCALE, Viewport } from "./viewport";

export const MOST_ELEMENTS = 300;

export class Workspace {
  readonly store = new Store<BuilderState, BuilderEvent>(EMPTY, update);
  readonly viewport: Viewport;
  /** The last position of the pointer on the canvas; nothing is drawn from it. */
  pointer: Point | null = null;
  private readonly sceneOf = rememberedScene();

  constructor(
    readonly session: Session,
    /** Something else has become visible. */
    viewportChanged: () => void,
    readonly say: (text: string, isRefusal?: boolean, isProgress?: boolean) => void,
  ) {
    this.viewport = new Viewport(viewportChanged);
  }

  dispatch(event: BuilderEvent): void {
    this.store.dispatch(event);
  }

  get state(): BuilderState {
    return this.store.state;
  }

  get scene(): Scene {
    return this.sceneOf(this.state);
  }

  get model(): BuilderModel {
    return this.scene.model;
  }

  get theme(): Theme {
    return this.state.theme;
  }

  // ---- selection -----------------------------------------------------------------------------------

  get selected(): ReadonlySet<string> {
    return this.state.selection.nodes;
  }

  get current(): string {
    return this.state.selection.current;
  }

  get selectedWire(): Connection | null {
    return this.state.selection.wire;
  }

  select(nodes: Iterable<string>, current?: string): void {
    this.dispatch({ type: "selected", nodes, ...(current === undefined ? {} : { current }) });
  }

  toggle(id: string): void {
    const next = new Set(this.selected);
    if (!next.delete(id)) next.add(id);
    this.select(next, id);
  }

  selectWire(wire: Connection | null): void {
    this.dispatch({ type: "wire selected", wire });
  }

  /** The selected nodes in the order of the source. */
  selectedNodes(): string[] {
    return this.model.order.filter((id) => this.selected.has(id));
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

  // ---- what is in sight ----------------------------------------------------------------------------

  visible(margin = 0): string[] {
    return this.scene.nodesIn(this.viewport.window(margin));
  }

  /** The nodes that are drawn as elements; none if they would be too small to read, or too many. */
  asElements(): string[] {
    if (this.viewport.camera.scale < ELEMENT_SCALE) return [];
    const visible = this.visible(60);
    return visible.length > MOST_ELEMENTS ? [] : visible;
  }

  nodeAt(point: Point): string | null {
    return this.scene.nodeAt(point, this.selected);
  }

  /** The nearest port within a radius in pixels of the screen, as are those below. */
  portAt(point: Point, radius: number, side?: Port["side"], not?: string): Port | null {
    return this.scene.portAt(point, this.viewport.toWorldLength(radius), side, not);
  }

  wireAt(point: Point, radius: number): Connection | null {
    return this.scene.wireAt(point, this.viewport.toWorldLength(radius));
  }

  bendAt(point: Point, radius: number): { connection: Connection; index: number } | null {
    return this.scene.bendAt(point, this.viewport.toWorldLength(radius));
  }

  /** Shows all of a rectangle or, if that would be smaller than `least`, where its nodes begin. */
  fit(rect: Rect | null = this.scene.bounds(), least = 0, isAtOnce = false): void {
    const [first] = rect ? this.scene.nodesIn(rect) : [];
    this.viewport.fit(rect, first === undefined ? null : this.scene.rect(first), least, isAtOnce);
  }

  /** Moves no more than is needed to show a node. */
  reveal(id: string): void {
    const rect = this.scene.rect(id);
    if (rect) this.viewport.reveal(rect);
  }

  /** The canvas gets another size. A selected node that would be cut off by that stays in sight. */
  resize(width: number, height: number): void {
    const { only } = this;
    this.viewport.resize(width, height, only && this.scene.rect(only.id));
  }
}

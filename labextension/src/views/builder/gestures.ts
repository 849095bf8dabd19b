// What the pointer does on the canvas: pan, zoom, select, marquee, drag nodes, drag wires. One gesture sends one message
// to the kernel when it ends; while it lasts, only positions on the screen change.

import type { Edit } from "../../protocol/builder";
import { type Host, Move, targetAt } from "./dragging";
import { between, contains, type Point, type Rect } from "./places/geometry";
import { type Connection, type DraggedWire, NO_OVERLAY, type Port } from "./state/state";
import type { Workspace } from "./state/workspace";
import { Bend, removeBend } from "./wires/bends";

const MOVED = 4; // pixels before a press is a drag
const PORT_RADIUS = 11;
const WIRE_RADIUS = 7;
const EDGE = 30; // pixels from the border at which a drag moves the window

interface Gesture {
  move(at: Point, event: PointerEvent): void;
  end(at: Point, event: PointerEvent): void;
  cancel(): void;
}

export class Pointer {
  private gesture: Gesture | null = null;
  private start: Point = [0, 0];
  private isMoved = false;
  private isSpace = false;
  private readonly touches = new Map<number, Point>();
  private last: PointerEvent | null = null;
  private scrolling = 0;

  constructor(
    private readonly workspace: Workspace,
    private readonly host: Host,
    private readonly stage: HTMLElement,
  ) {
    stage.addEventListener("pointerdown", (event) => this.down(event));
    stage.addEventListener("pointermove", (event) => this.moved(event));
    stage.addEventListener("pointerup", (event) => this.up(event));
    stage.addEventListener("pointercancel", (event) => {
      this.touches.delete(event.pointerId);
      this.cancel();
    });
    stage.addEventListener("dblclick", (event) => this.double(event));
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    stage.addEventListener("contextmenu", (event) => this.context(event));
    for (const type of ["keydown", "keyup"] as const)
      stage.addEventListener(type, (event) => {
        if (event.key === " ") this.isSpace = type === "keydown";
      });
  }

  get isActive(): boolean {
    return this.gesture !== null;
  }

  /** Ends a gesture as if it had not begun. */
  cancel(): void {
    cancelAnimationFrame(this.scrolling);
    this.scrolling = 0;
    this.gesture?.cancel();
    this.gesture = null;
    this.workspace.dispatch({ type: "overlay", overlay: NO_OVERLAY });
  }

  private screen({ clientX, clientY }: MouseEvent): Point {
    const { left, top } = this.stage.getBoundingClientRect();
    return [clientX - left, clientY - top];
  }

  private world(event: MouseEvent): Point {
    return this.workspace.viewport.camera.toWorld(...this.screen(event));
  }

  private isOwn(event: Event): boolean {
    const { target } = event;
    return (
      target instanceof Element && !target.closest("button, input, textarea, select, .chooser")
    );
  }

  private down(event: PointerEvent): void {
    if (!this.isOwn(event) || event.button === 2) return;
    event.preventDefault();
    this.stage.focus({ preventScroll: true });
    try {
      this.stage.setPointerCapture(event.pointerId);
    } catch {
      // The pointer is already gone: its next events come anyway, or none.
    }
    if (event.pointerType === "touch") {
      this.touches.set(event.pointerId, this.screen(event));
      if (this.touches.size === 2) {
        this.cancel();
        this.gesture = this.pinch();
        return;
      }
    }
    if (this.gesture) return;
    this.start = this.screen(event);
    this.isMoved = false;
    this.gesture = this.begin(event);
  }

  private begin(event: PointerEvent): Gesture {
    const { workspace } = this;
    const at = this.world(event);
    const isTouch = event.pointerType === "touch";
    if (event.button === 1 || this.isSpace) return this.pan();
    const port = workspace.portAt(at, isTouch ? 2 * PORT_RADIUS : PORT_RADIUS);
    if (port) return this.connect(port);
    const bend = workspace.bendAt(at, PORT_RADIUS);
    if (bend) return this.onWire(bend.connection, event, bend.index);
    const node = workspace.nodeAt(at);
    const frame = node === null ? workspace.scene.frameAt(at) : null;
    if (node !== null || frame !== null) return this.drag(node, frame, event);
    const wire = workspace.wireAt(at, WIRE_RADIUS);
    if (wire) return this.onWire(wire, event);
    return workspace.state.hand || isTouch ? this.pan() : this.marquee(at, event);
  }

  private moved(event: PointerEvent): void {
    this.workspace.pointer = this.world(event);
    if (this.touches.has(event.pointerId)) this.touches.set(event.pointerId, this.screen(event));
    if (!this.gesture) {
      if (this.isOwn(event)) this.hover(event);
      return;
    }
    const [x, y] = this.screen(event);
    this.isMoved ||= Math.hypot(x - this.start[0], y - this.start[1]) >= MOVED;
    if (!this.isMoved) return;
    this.last = event;
    this.gesture.move(this.world(event), event);
  }

  private up(event: PointerEvent): void {
    this.touches.delete(event.pointerId);
    const { gesture } = this;
    if (!gesture) return;
    cancelAnimationFrame(this.scrolling);
    this.scrolling = 0;
    this.gesture = null;
    gesture.end(this.world(event), event);
    this.workspace.dispatch({ type: "overlay", overlay: NO_OVERLAY });
  }

  private hover(event: PointerEvent): void {
    const { workspace, stage } = this;
    const at = this.world(event);
    const port = workspace.portAt(at, PORT_RADIUS);
    const isOnNode = !port && workspace.nodeAt(at) !== null;
    const wire = port || isOnNode ? null : workspace.wireAt(at, WIRE_RADIUS);
    const isEmpty = !port && !isOnNode && !wire && workspace.scene.frameAt(at) === null;
    stage.style.cursor = port
      ? "crosshair"
      : wire
        ? "pointer"
        : isEmpty
          ? workspace.state.hand || this.isSpace
            ? "grab"
            : "default"
          : "move";
    if (wire?.to === workspace.state.hovered?.to && wire?.port === workspace.state.hovered?.port)
      return;
    workspace.dispatch({ type: "hovered", wire });
  }

  // ---- pan, pinch, wheel ---------------------------------------------------------------------------

  private pan(): Gesture {
    const { camera } = this.workspace.viewport;
    let [x, y] = this.start;
    return {
      move: (_, event) => {
        const now = this.screen(event);
        camera.pan(now[0] - x, now[1] - y);
        [x, y] = now;
      },
      end: () => {
        if (!this.isMoved) this.workspace.select([]);
      },
      cancel: () => {},
    };
  }

  private pinch(): Gesture {
    const { camera } = this.workspace.viewport;
    const measure = (): { middle: Point; distance: number } => {
      const [a = [0, 0], b = a] = [...this.touches.values()];
      return {
        middle: [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2],
        distance: Math.max(10, Math.hypot(a[0] - b[0], a[1] - b[1])),
      };
    };
    let before = measure();
    this.isMoved = true;
    return {
      move: () => {
        if (this.touches.size < 2) return;
        const now = measure();
        camera.pan(now.middle[0] - before.middle[0], now.middle[1] - before.middle[1]);
        camera.zoom(now.distance / before.distance, ...now.middle);
        before = now;
      },
      end: () => {},
      cancel: () => {},
    };
  }

  /** Without the focus or a modifier key, the wheel scrolls the page. */
  private wheel(event: WheelEvent): void {
    if (!this.isOwn(event)) return;
    const isModified = event.ctrlKey || event.metaKey;
    if (!isModified && document.activeElement !== this.stage) return;
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
    const { camera } = this.workspace.viewport;
    if (event.shiftKey) camera.pan(-event.deltaY * lines, -event.deltaX * lines);
    else
      camera.zoom(
        Math.exp((-event.deltaY * lines) / (event.ctrlKey ? 150 : 500)),
        ...this.screen(event),
      );
  }

  /** Moves the window while a drag is at its border. */
  private scroll(): void {
    if (this.scrolling) return;
    const step = (): void => {
      const { gesture, last, workspace } = this;
      this.scrolling = 0;
      if (!gesture || !last || this.host.over(last)) return;
      const [x, y] = this.screen(last);
      const pull = (at: number, size: number): number =>
        at < EDGE
          ? Math.min(12, EDGE - at)
          : at > size - EDGE
            ? -Math.min(12, at - size + EDGE)
            : 0;
      const [dx, dy] = [pull(x, workspace.viewport.width), pull(y, workspace.viewport.height)];
      if (!dx && !dy) return;
      workspace.viewport.camera.pan(dx, dy);
      gesture.move(this.world(last), last);
      this.scrolling = requestAnimationFrame(step);
    };
    this.scrolling = requestAnimationFrame(step);
  }

  // ---- select --------------------------------------------------------------------------------------

  private marquee(from: Point, event: PointerEvent): Gesture {
    const { workspace } = this;
    const before = event.shiftKey || event.ctrlKey ? [...workspace.selected] : [];
    return {
      move: (at) => {
        const area = between(from, at);
        workspace.dispatch({ type: "overlay", overlay: { marquee: area } });
        const inside = workspace.model.order.filter((id) =>
          isInside(workspace.scene.rect(id), area),
        );
        workspace.select(new Set([...before, ...inside]));
        this.scroll();
      },
      end: () => {
        const { size } = workspace.selected;
        if (!this.isMoved) workspace.select(before);
        else workspace.say(size === 1 ? "1 node selected" : `${size} nodes selected`);
      },
      cancel: () => {},
    };
  }

  /** A click selects the wire; dragging bends it. */
  private onWire(wire: Connection, event: PointerEvent, index?: number): Gesture {
    const { workspace } = this;
    const from = workspace.viewport.camera.toWorld(...this.start);
    let bend: Bend | null = null;
    return {
      move: (at, now) => {
        bend ??= Bend.at(workspace, wire, from, index);
        bend?.to(at, now.altKey);
        this.scroll();
      },
      end: () => {
        if (bend) bend.drop();
        else if (event.altKey) cut(workspace, wire);
        else workspace.selectWire(wire);
      },
      cancel: () => bend?.undo(),
    };
  }

  // ---- drag nodes ----------------------------------------------------------------------------------

  private drag(node: string | null, frame: string | null, event: PointerEvent): Gesture {
    const { workspace } = this;
    const isAdding = event.shiftKey || event.ctrlKey || event.metaKey;
    if (frame !== null)
      workspace.select(workspace.model.frames.find(({ id }) => id === frame)?.nodes ?? []);
    else if (node !== null && !workspace.selected.has(node) && !isAdding) workspace.select([node]);
    const wasSelected = node !== null && isAdding;
    const from = workspace.viewport.camera.toWorld(...this.start);
    let move: Move | null = null;
    return {
      move: (at, now) => {
        if (wasSelected && node !== null && !workspace.selected.has(node)) workspace.toggle(node);
        move ??= new Move(workspace);
        move.to([at[0] - from[0], at[1] - from[1]], now.altKey, at);
        if (!this.host.over(now)) this.scroll();
      },
      end: (_, now) => {
        if (move && this.host.dropOn(now)) move.undo();
        else if (move) move.drop();
        else if (node !== null) {
          if (isAdding) workspace.toggle(node);
          else workspace.select([node]);
        }
      },
      cancel: () => move?.undo(),
    };
  }

  // ---- drag wires ----------------------------------------------------------------------------------

  private connect(port: Port): Gesture {
    const { workspace } = this;
    const node = workspace.model.nodes.get(port.node);
    const input = port.side === "in" ? node?.inputs[port.row] : undefined;
    // A wire that is dragged away from its input is moved.
    const old = input?.wire ? { node: port.node, port: input.name } : null;
    const from: Port = input?.wire
      ? { node: input.wire.node, side: "out", row: input.wire.output }
      : port;
    const set = (wire: DraggedWire | null): void =>
      workspace.dispatch({ type: "wire dragged", wire });
    const begin = (at: Point): void => {
      set({ from, to: at, target: null, refusals: null });
      if (from.side === "in") return;
      const wire = { node: from.node, output: from.row };
      void workspace.session.targets(wire).then(({ refused }) => {
        const { draggedWire } = workspace.state;
        if (draggedWire?.from !== from) return;
        const refusals = new Map(refused.map(([id, name, why]) => [`${id}\n${name}`, why]));
        set({ ...draggedWire, refusals });
      });
    };
    return {
      move: (at) => {
        if (!workspace.state.draggedWire) begin(at);
        const { draggedWire } = workspace.state;
        if (!draggedWire) return;
        set({ ...draggedWire, to: at, target: targetAt(workspace, from, at) });
        this.scroll();
      },
      end: (at) => {
        const { draggedWire } = workspace.state;
        set(null);
        if (!draggedWire) workspace.select([port.node]);
        else this.drop(from, old, at, draggedWire.refusals);
      },
      cancel: () => set(null),
    };
  }

  private drop(
    from: Port,
    old: { node: string; port: string } | null,
    at: Point,
    refusals: ReadonlyMap<string, string> | null,
  ): void {
    const { workspace, host } = this;
    const target = targetAt(workspace, from, at);
    const removal: Edit[] = old ? [{ edit: "disconnect", ...old }] : [];
    if (!target) {
      if (workspace.nodeAt(at) !== null) this.refuse(at, "this node has no port that fits");
      else if (old) workspace.session.gesture(...removal);
      else if (from.side === "out")
        host.palette({ wire: { node: from.node, output: from.row } }, at);
      else host.palette({ port: [from.node, inputName(workspace, from)] }, at);
      return;
    }
    const [output, input] = from.side === "out" ? [from, target] : [target, from];
    const name = inputName(workspace, input);
    if (old && old.node === input.node && old.port === name) return;
    const reason = refusals?.get(`${input.node}\n${name}`);
    if (reason) {
      this.refuse(at, reason);
      return;
    }
    const wire = { node: output.node, output: output.row };
    workspace.session.gesture(...removal, { edit: "connect", wire, node: input.node, port: name });
  }

  private refuse(at: Point, reason: string): void {
    this.workspace.pointer = at;
    this.workspace.say(reason, true);
  }

  // ---- double clicks and the menu ------------------------------------------------------------------

  private double(event: MouseEvent): void {
    if (!this.isOwn(event)) return;
    const { workspace, host } = this;
    const at = this.world(event);
    const frame = workspace.scene.frameAt(at);
    const wire = workspace.wireAt(at, WIRE_RADIUS);
    const bend = workspace.bendAt(at, PORT_RADIUS);
    if (bend) removeBend(workspace, bend.connection, bend.index);
    else if (workspace.nodeAt(at) !== null) host.openForm();
    else if (frame !== null) host.editFrame(frame);
    else host.palette(wire ? { between: wire } : {}, at);
  }

  private context(event: MouseEvent): void {
    if (!this.isOwn(event)) return;
    event.preventDefault();
    const { workspace } = this;
    const at = this.world(event);
    const node = workspace.nodeAt(at);
    if (node !== null && !workspace.selected.has(node)) workspace.select([node]);
    else if (node === null) {
      const wire = workspace.wireAt(at, WIRE_RADIUS);
      if (wire) workspace.selectWire(wire);
    }
    workspace.pointer = at;
    this.host.menu(at);
  }
}

const isInside = (rect: Rect | null, area: Rect): boolean =>
  rect !== null &&
  contains(area, [rect.x + rect.width / 2, rect.y + Math.min(14, rect.height / 2)]);

function inputName({ model }: Workspace, { node, row }: Port): string {
  return model.nodes.get(node)?.inputs[row]?.name ?? "";
}

export function cut({ session }: Workspace, { to, port }: Connection): void {
  session.gesture({ edit: "disconnect", node: to, port });
}

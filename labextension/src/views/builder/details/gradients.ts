// The gradients of a `tf.gradients` or an optimizer, drawn beside the forward graph: below each node a box for the
// operations that compute its gradient, led from the node by a dashed line; arrows lead from gradient to gradient,
// against the wires of the forward graph.

import type { Gradient } from "../../../protocol/builder_details";
import { h } from "../../dom";
import { around, type Rect } from "../places/geometry";
import type { Workspace } from "../state/workspace";

const SVG = "http://www.w3.org/2000/svg";
const [HEIGHT, GAP] = [44, 70];

export class Gradients {
  readonly root = h("div", { className: "gradients" });
  /** The node whose gradients are shown, or "". */
  node = "";
  private readonly operations = new Map<string, Gradient[]>();
  private readonly boxes = new Map<string, HTMLElement>();
  private readonly lines: SVGElement;

  constructor(
    private readonly workspace: Workspace,
    /** Opens the operation of a gradient, inside of the node that has made it. */
    private readonly open: (node: string, operation: string) => void,
    /** Puts the focus on the canvas. */
    private readonly leave: () => void,
  ) {
    this.lines = document.createElementNS(SVG, "svg");
    this.lines.setAttribute("aria-hidden", "true");
  }

  /** Shows the gradients that `node` has made; none with []. */
  set(node: string, gradients: readonly Gradient[]): void {
    this.operations.clear();
    this.boxes.clear();
    for (const gradient of gradients) {
      const known = this.operations.get(gradient.node);
      if (known) known.push(gradient);
      else if (gradient.node) this.operations.set(gradient.node, [gradient]);
    }
    this.node = this.operations.size ? node : "";
    for (const [id, made] of this.operations) this.boxes.set(id, this.box(id, made));
    this.root.replaceChildren(...(this.node ? [this.lines, ...this.boxes.values()] : []));
    this.draw();
  }

  get size(): number {
    return this.operations.size;
  }

  /** The box of a node's gradient gets the focus. */
  focus(id: string): void {
    (this.boxes.get(id) ?? this.boxes.values().next().value)?.focus({ preventScroll: true });
  }

  private box(id: string, made: readonly Gradient[]): HTMLElement {
    const count = made.length === 1 ? "1 operation" : `${made.length} operations`;
    const names = made.map(({ operation, forward }) => `${operation} of ${forward}`);
    const box = h(
      "button",
      {
        type: "button",
        className: "gradient",
        ariaLabel: `gradient of ${id}, computed by ${this.node}: ${count}`,
        title: names.slice(0, 12).join("\n"),
        onclick: () => this.open(this.node, made[0]?.operation ?? ""),
        onkeydown: (event: Event) => this.key(event as KeyboardEvent, id),
      },
      h("b", { dir: "auto", textContent: `∂ ${id}` }),
      h("span", { textContent: count }),
    );
    box.dataset.forward = id;
    return box;
  }

  /** The arrows walk from gradient to gradient; up goes back to the forward node. */
  private key(event: KeyboardEvent, id: string): void {
    const { workspace, boxes } = this;
    const { model } = workspace;
    const beside: Record<string, string | undefined> = {
      ArrowLeft: model.outgoing(id).find(({ to }) => boxes.has(to))?.to,
      ArrowRight: model.incoming(id).find(({ from }) => boxes.has(from))?.from,
    };
    if (event.key === "ArrowUp" || event.key === "Escape") {
      workspace.select([id]);
      this.leave();
    } else if (event.key in beside) {
      const next = beside[event.key];
      if (next === undefined) workspace.say("no further gradient");
      else boxes.get(next)?.focus({ preventScroll: true });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Where the boxes are: below everything, each below its node. */
  places(): Map<string, Rect> {
    const { workspace } = this;
    const places = new Map<string, Rect>();
    const all = around(workspace.scene.rects().values());
    const forward = workspace.scene.rects(this.operations.keys());
    const top = Math.min(...[...forward.values()].map(({ y }) => y));
    if (!all) return places;
    const rects = [...forward].sort(([, a], [, b]) => a.y - b.y || a.x - b.x);
    for (const [id, { x, y, width }] of rects) {
      const place = { x, y: all.y + all.height + GAP + (y - top) / 3, width, height: HEIGHT };
      const meets = (other: Rect): boolean =>
        other.x < place.x + width &&
        place.x < other.x + other.width &&
        place.y < other.y + HEIGHT + 16;
      while ([...places.values()].some((other) => meets(other) && place.y > other.y - HEIGHT - 16))
        place.y += HEIGHT + 16;
      places.set(id, place);
    }
    return places;
  }

  /** Follows nodes that have moved or gone. */
  draw(): void {
    if (!this.node) return;
    const { workspace, boxes } = this;
    const places = this.places();
    const paths: SVGElement[] = [];
    for (const [id, box] of boxes) {
      const [at, from] = [places.get(id), workspace.scene.rect(id)];
      box.hidden = !at || !from;
      if (!at || !from) continue;
      Object.assign(box.style, {
        transform: `translate(${at.x}px, ${at.y}px)`,
        width: `${at.width}px`,
        height: `${at.height}px`,
      });
      const x = from.x + from.width / 2;
      paths.push(path("leader", `M${x} ${from.y + from.height}V${at.y}`));
      for (const { to } of workspace.model.outgoing(id)) {
        const reader = places.get(to);
        if (reader) paths.push(...arrow(reader, at));
      }
    }
    this.lines.replaceChildren(...paths);
  }
}

function path(name: string, d: string): SVGElement {
  const element = document.createElementNS(SVG, "path");
  element.setAttribute("class", name);
  element.setAttribute("d", d);
  return element;
}

/** From the left side of the gradient of a reader to the right side of that of the node that it reads. */
function arrow(from: Rect, to: Rect): SVGElement[] {
  const [x0, y0] = [from.x, from.y + from.height / 2];
  const [x1, y1] = [to.x + to.width, to.y + to.height / 2];
  const reach = Math.max(24, Math.min(120, Math.abs(x0 - x1) / 2));
  return [
    path("flow", `M${x0} ${y0}C${x0 - reach} ${y0} ${x1 + reach} ${y1} ${x1 + 7} ${y1}`),
    path("head", `M${x1} ${y1}l8 -4.5v9z`),
  ];
}

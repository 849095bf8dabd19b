// The elements of the nodes in the window, at most 300. Those that are selected are in a layer of
// their own above the others, so that a drag only changes its transform, and nothing is arranged or painted anew.

import type { BuilderNode } from "../../protocol/builder";
import { button, h } from "../dom";
import type { Theme } from "../graph/palette";
import { described } from "./described";
import { portMark } from "./dtypes";
import { LayerTransform } from "./layer_transform";
import { labelOf, type Point, titleOf } from "./places/geometry";
import type { BuilderState, Panel } from "./state/state";
import type { Workspace } from "./state/workspace";
import { drawPanel } from "./values";

export class NodeElements {
  readonly root = h("div", { className: "nodes" });
  /** What is selected, or dragged, above the others. */
  readonly lifted = h("div", { className: "nodes lifted" });
  private readonly elements = new Map<string, HTMLElement>();
  /** What each element was drawn from, and the state when that was looked at last. */
  private readonly sources = new Map<string, Source>();
  private seen: BuilderState | null = null;
  /** The positions from which nodes are dragged; empty while none is. */
  private readonly starts = new Map<string, Point>();
  private readonly layerTransform = new LayerTransform(this.root);
  private readonly liftedTransform = new LayerTransform(this.lifted);

  constructor(
    private readonly workspace: Workspace,
    /** A prefix of the elements' ids, so that two views in a page have different ones. */
    private readonly prefix: string,
    private readonly fix: (node: string, id: string) => void,
  ) {}

  idOf(id: string): string {
    return `${this.prefix}-${id.replace(/[^\w-]/g, "_")}`;
  }

  has(id: string): boolean {
    return this.elements.has(id);
  }

  get size(): number {
    return this.elements.size;
  }

  /** Shows exactly these nodes. */
  show(ids: readonly string[]): void {
    const wanted = new Set(ids);
    for (const [id, element] of this.elements) {
      if (wanted.has(id)) continue;
      element.remove();
      this.elements.delete(id);
      this.sources.delete(id);
    }
    const { state } = this.workspace;
    const isOld = this.seen !== null && hasSameSources(this.seen, state);
    this.seen = state;
    for (const id of ids) {
      const old = this.elements.get(id);
      if (old && isOld) continue;
      const source = sourceOf(state, id);
      if (!source || (old && isSameSource(this.sources.get(id), source))) continue;
      this.sources.set(id, source);
      const element = this.draw(source);
      if (old) old.replaceWith(element);
      else this.layerOf(id).append(element);
      this.elements.set(id, element);
      this.move(id);
    }
    this.transform();
  }

  transform(): void {
    const { x, y, scale } = this.workspace.viewport.camera;
    const transform = `translate(${x}px, ${y}px) scale(${scale})`;
    this.layerTransform.to(transform);
    const [dx, dy] = this.distance();
    this.liftedTransform.to(`${transform} translate(${dx}px, ${dy}px)`);
  }

  private layerOf(id: string): HTMLElement {
    const { selected, model } = this.workspace;
    return (model.drag?.nodes ?? selected).has(id) ? this.lifted : this.root;
  }

  /** Puts each element into its layer; those that are there already are left alone. */
  private sort(): void {
    for (const [id, element] of this.elements) {
      const layer = this.layerOf(id);
      if (element.parentElement !== layer) layer.append(element);
    }
  }

  move(id: string): void {
    const at = this.starts.get(id) ?? this.workspace.model.position(id);
    const element = this.elements.get(id);
    if (at && element) element.style.transform = `translate(${at[0]}px, ${at[1]}px)`;
  }

  moveAll(): void {
    for (const id of this.elements.keys()) this.move(id);
  }

  /** Shows nodes where they are dragged, or back among the others when the drag has ended. */
  drag(): void {
    const { model } = this.workspace;
    const { starts } = this;
    if (model.drag && !starts.size) {
      for (const [id, at] of model.drag.nodes) starts.set(id, model.home(id) ?? at);
      this.sort();
    } else if (!model.drag) {
      starts.clear();
      this.sort();
      this.moveAll();
    }
    this.transform();
  }

  /** How far the nodes have been dragged. */
  private distance(): Point {
    const { drag } = this.workspace.model;
    for (const [id, [x, y]] of this.starts) {
      const at = drag?.nodes.get(id);
      if (at) return [at[0] - x, at[1] - y];
    }
    return [0, 0];
  }

  /** Marks what is selected, and where the keyboard is. */
  mark(): void {
    const { selected, current } = this.workspace;
    this.sort();
    for (const [id, element] of this.elements) {
      element.classList.toggle("selected", selected.has(id));
      element.classList.toggle("current", id === current);
      const label = described(this.workspace, id);
      if (element.ariaLabel !== label) element.ariaLabel = label;
    }
  }

  /** While a wire is dragged: fades the ports that refuse it, and lights the others. */
  markPorts(): void {
    const { draggedWire: dragging } = this.workspace.state;
    for (const layer of [this.root, this.lifted])
      layer.classList.toggle("connecting", dragging !== null);
    const isOutput = dragging?.from.side === "out";
    for (const [id, element] of this.elements) {
      for (const row of element.querySelectorAll<HTMLElement>("[data-in], [data-out]")) {
        const port = row.dataset.in;
        const key = `${id}\n${port ?? ""}`;
        const isEnd = (port !== undefined) === isOutput && id !== dragging?.from.node;
        const refused = !isEnd || (isOutput && dragging?.refusals?.has(key));
        row.classList.toggle("refuses", dragging !== null && Boolean(refused));
        row.classList.toggle("accepts", dragging !== null && !refused);
      }
    }
  }

  dispose(): void {
    this.layerTransform.rest();
    this.liftedTransform.rest();
  }

  private draw({ node, panel }: Source): HTMLElement {
    const { workspace } = this;
    const { id } = node;
    const face = workspace.scene.face(id);
    const element = h(
      "div",
      {
        className: `node ${node.kind}${node.problem ? " wrong" : ""}`,
        id: this.idOf(id),
        role: "group",
        "aria-roledescription": "node",
        ariaLabel: described(workspace, id),
        title: node.problem ? "" : node.call,
      },
      h(
        "div",
        { className: "head" },
        h("span", { className: "title", dir: "auto", textContent: titleOf(node) }),
        h("span", { className: "name", dir: "auto", textContent: node.id }),
      ),
      h("div", { className: "rows" }, ...this.rows(node, face.outputs)),
      face.lines.length
        ? h("pre", { className: "source", textContent: face.lines.join("\n") })
        : null,
      face.summary
        ? h("div", { className: "summary", title: face.summary, textContent: face.summary })
        : null,
      node.problem ? this.problem(node) : null,
      panel ? drawPanel(panel) : null,
    );
    element.dataset.node = id;
    element.style.width = `${face.width}px`;
    element.style.height = `${face.height}px`;
    element.classList.toggle("selected", workspace.selected.has(id));
    element.classList.toggle("current", id === workspace.current);
    return element;
  }

  private rows(node: BuilderNode, outputs: readonly string[]): HTMLElement[] {
    const { theme, model } = this.workspace;
    const count = Math.max(node.inputs.length, node.outputs.length);
    return Array.from({ length: count }, (_, k) => {
      const row = h("div", { className: "row" });
      const input = node.inputs[k];
      if (input) {
        const state = input.wire
          ? "wired"
          : input.text
            ? "literal"
            : input.is_needed
              ? "needed"
              : "optional";
        const isWrong = node.problem?.port === input.name;
        const label = h("span", {
          className: `in ${state}${isWrong ? " wrong" : ""}`,
          title: input.doc || input.label,
          textContent: labelOf(input),
        });
        label.dataset.in = input.name;
        label.prepend(portMark(input.wire ? model.dtypeOf(input.wire) : "", state, theme.dark));
        row.append(label);
      }
      const output = node.outputs[k];
      if (output) {
        const title = `${output.name}: ${outputs[k]}`;
        const label = h("span", { className: "out", title, textContent: outputs[k] ?? "" });
        label.dataset.out = String(k);
        label.append(portMark(output.dtype, "wired", theme.dark));
        row.append(label);
      }
      return row;
    });
  }

  private problem({ id, problem }: BuilderNode): HTMLElement {
    return h(
      "div",
      { className: "problem", title: problem?.text ?? "" },
      h("p", {}, h("span", { "aria-hidden": "true" }, "⚠ "), problem?.text ?? ""),
      problem?.fixes.length
        ? h(
            "div",
            { className: "fixes" },
            ...problem.fixes.map((fix) =>
              button(fix.label, fix.label, () => this.fix(id, fix.id), { tabIndex: -1 }),
            ),
          )
        : null,
    );
  }
}

/** What the element of a node shows, besides the selection and the line, which are marked on it. */
interface Source {
  readonly node: BuilderNode;
  readonly panel: Panel | undefined;
  readonly theme: Theme;
  readonly dtypes: string;
}

export function sourceOf({ graph, panels, theme }: BuilderState, id: string): Source | null {
  const node = graph.nodes.get(id);
  if (!node) return null;
  const dtypes = node.inputs.map(
    ({ wire }) => wire && graph.nodes.get(wire.node)?.outputs[wire.output]?.dtype,
  );
  return { node, panel: panels.get(id), theme, dtypes: dtypes.join() };
}

/** Whether nothing has changed that elements are drawn from, as while nodes are dragged. */
const hasSameSources = (before: BuilderState, now: BuilderState): boolean =>
  before.graph === now.graph && before.panels === now.panels && before.theme === now.theme;

export function isSameSource(before: Source | undefined, now: Source): boolean {
  return (
    before !== undefined &&
    before.panel === now.panel &&
    before.theme === now.theme &&
    before.dtypes === now.dtypes &&
    isSameButLine(before.node, now.node)
  );
}

/** A node of which only the line is new has the same parts still. */
function isSameButLine(a: BuilderNode, b: BuilderNode): boolean {
  const keys = Object.keys(b) as (keyof BuilderNode)[];
  return a === b || keys.every((key) => key === "line" || a[key] === b[key]);
}

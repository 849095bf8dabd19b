// Marks at nodes: the time that a node took, or whether two variants differ there. A mark is drawn above the node's upper
// edge, and only for nodes that are drawn as elements.

import { h } from "../../dom";
import type { Mark } from "../state/state";
import type { Workspace } from "../state/workspace";

export class Marks {
  readonly root = h("div", { className: "marks", "aria-hidden": "true" });
  private drawn: ReadonlyMap<string, Mark> = new Map();
  private readonly elements = new Map<string, HTMLElement>();

  constructor(private readonly workspace: Workspace) {}

  set(marks: ReadonlyMap<string, Mark>): void {
    this.workspace.dispatch({ type: "marks", marks });
  }

  draw(): void {
    const { workspace, root } = this;
    const { marks } = workspace.state;
    if (!marks.size && !this.elements.size) return;
    if (marks !== this.drawn) {
      this.elements.clear();
      root.replaceChildren();
    }
    this.drawn = marks;
    const shown = new Set(workspace.asElements());
    for (const [id, mark] of marks) {
      const rect = shown.has(id) ? workspace.scene.rect(id) : null;
      let element = this.elements.get(id);
      if (!element && rect) {
        element = elementOf(mark);
        this.elements.set(id, element);
        root.append(element);
      }
      if (!element) continue;
      element.hidden = !rect;
      if (rect) {
        element.style.transform = `translate(${rect.x}px, ${rect.y - 22}px)`;
        element.style.width = `${rect.width}px`;
      }
    }
  }
}

function elementOf({ text, share, tone }: Mark): HTMLElement {
  const bar = h("i");
  bar.style.width = `${(100 * Math.max(0, Math.min(1, share))).toFixed(1)}%`;
  return h("div", { className: `mark ${tone}` }, h("b", { textContent: text }), bar);
}

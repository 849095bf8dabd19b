// Marks at nodes: the time that a node took, or whether two variants differ there. A mark is drawn above the node's upper
// edge, and only for nodes that are drawn as elements.

import { h } from "../../dom";
import type { Workspace } from "../workspace";

export interface Mark {
  text: string;
  /** From 0 to 1: how long the bar below the text is. */
  share: number;
  tone: "time" | "same" | "differs" | "cause";
}

export class Marks {
  readonly root = h("div", { className: "marks", "aria-hidden": "true" });
  private marks: ReadonlyMap<string, Mark> = new Map();
  private readonly elements = new Map<string, HTMLElement>();
  private isNew = false;

  constructor(private readonly workspace: Workspace) {}

  set(marks: ReadonlyMap<string, Mark>): void {
    if (!marks.size && !this.marks.size) return;
    this.marks = marks;
    this.isNew = true;
    this.workspace.changed("selection");
  }

  get size(): number {
    return this.marks.size;
  }

  draw(): void {
    if (!this.marks.size && !this.elements.size) return;
    const { workspace, root } = this;
    if (this.isNew) {
      this.elements.clear();
      root.replaceChildren();
    }
    this.isNew = false;
    const shown = new Set(workspace.asElements());
    for (const [id, mark] of this.marks) {
      const rect = shown.has(id) ? workspace.rect(id) : null;
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

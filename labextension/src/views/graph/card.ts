// The details of the selected node: type, sizes, neighbours, and attributes that the kernel or the file provides.

import type { GraphCard } from "../../protocol/graph";
import { button, h } from "../dom";
import type { Tracer } from "./marks";
import { at, brief, bytesText, count, type GraphModel, shapeOf, timeText } from "./model";

const MOST_NEIGHBOURS = 12;

export class Card {
  readonly root = h("section", {
    className: "card",
    "aria-label": "details of the selected node",
    hidden: true,
  });
  private readonly more = h("div");
  private box = -1;

  constructor(
    private readonly model: GraphModel,
    private readonly tracer: Tracer,
    private readonly go: (box: number) => void,
    private readonly close: () => void,
  ) {}

  show(box: number): void {
    this.box = box;
    this.root.hidden = box < 0;
    if (box < 0) return;
    const { model } = this;
    const kind = model.kind(box);
    const title = h("h3", { textContent: model.path(box) || "the whole graph" });
    if (kind === "series") title.textContent = model.label(box);
    this.more.replaceChildren();
    this.root.replaceChildren(
      button("×", "close the details", this.close),
      title,
      this.table(this.facts(box)),
      this.more,
      this.neighbours(box, "inputs"),
      this.neighbours(box, "outputs"),
    );
  }

  wait(box: number, text: string): void {
    if (box === this.box)
      this.more.replaceChildren(h("p", { className: "rest", textContent: text }));
  }

  /** Shows the details that were requested. */
  fill(card: GraphCard): void {
    if (card.box !== this.box) return;
    this.more.replaceChildren(this.table(card.rows));
    for (const [title, text] of card.code) {
      const folded = h(
        "details",
        {},
        h("summary", { textContent: title }),
        h("pre", { textContent: text }),
      );
      if (card.code.length === 1) folded.open = true;
      this.more.append(folded);
    }
  }

  private facts(box: number): [string, string][] {
    const { model } = this;
    const { ints, floats } = model;
    const rows: [string, string][] = [];
    const add = (what: string, text: string): void => {
      if (text) rows.push([what, text]);
    };
    const kind = model.kind(box);
    add(
      "type",
      model.type(box) ||
        (kind === "series" ? `${count(model.parts(box).length)} similar nodes` : "scope"),
    );
    if (at(ints.nodes, box) > 1) add("operations", count(at(ints.nodes, box)));
    const held = at(floats.parameters ?? [], box);
    if (held) add("parameters", held < 0 ? "unknown" : `${count(held)}`);
    const spec = model.spec(at(ints.spec, box));
    add("output", `${spec.split(" ")[0]} ${shapeOf(spec)}`.trim());
    add("device", model.device(box));
    if (floats.time) add("time", timeText(at(floats.time, box)));
    if (floats.bytes) add("memory", bytesText(at(floats.bytes, box)));
    const group = at(ints.group, box);
    if (group >= 0) {
      const same = ints.group.reduce((n, g) => n + (g === group ? 1 : 0), 0);
      add("structure", `shared with ${brief(same - 1)} other scope${same > 2 ? "s" : ""}`);
    }
    return rows;
  }

  private table(rows: GraphCard["rows"]): HTMLTableElement {
    const table = h("table");
    for (const [what, text] of rows) {
      const cell = h("td", { textContent: text });
      if (what === "source") cell.className = "code";
      table.append(h("tr", {}, h("th", { scope: "row", textContent: what }), cell));
    }
    return table;
  }

  private neighbours(box: number, direction: "inputs" | "outputs"): HTMLElement {
    const neighbours = this.tracer.neighbours(box, direction);
    const list = h("ul");
    for (const { leaf, control } of neighbours.slice(0, MOST_NEIGHBOURS)) {
      const name = this.model.path(leaf);
      const link = button(name, `go to ${name}`, () => this.go(leaf));
      const shape = control
        ? "control"
        : shapeOf(this.model.spec(at(this.model.ints.spec, direction === "inputs" ? leaf : box)));
      list.append(h("li", {}, link, h("small", { textContent: shape })));
    }
    const rest = neighbours.length - MOST_NEIGHBOURS;
    if (rest > 0) list.append(h("li", { textContent: `and ${count(rest)} more` }));
    const title = h("h4", { textContent: `${direction} (${count(neighbours.length)})` });
    return h("div", {}, ...(neighbours.length ? [title, list] : []));
  }
}

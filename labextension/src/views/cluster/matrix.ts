// The matrix of transfers between tasks: a row for each sender, a column for each receiver, darker for larger values.
import type { Sent } from "../../protocol/cluster";
import { h } from "../dom";
import {
  type Matrix,
  MEASURES,
  type Measure,
  measureText,
  pairKey,
  pairText,
  shortName,
  strength,
} from "./figures";

export class MatrixView {
  readonly element: HTMLElement;
  private readonly table = h("table", { className: "matrix", role: "grid" });
  private readonly note = h("div", { className: "faint" });
  private readonly picker = h("select", { title: "what the matrix shows" });
  private cells = new Map<string, HTMLTableCellElement>();
  private drawn = "";
  private matrix: Matrix = { names: [], pairs: new Map(), hidden: 0 };
  private chosen = "";

  /** `choose` is called with the key of a pair. */
  constructor(private readonly choose: (pair: string) => void) {
    this.picker.setAttribute("aria-label", "what the matrix shows");
    this.picker.append(...Object.keys(MEASURES).map((m) => h("option", { textContent: m })));
    this.picker.addEventListener("change", () => this.show(this.matrix));
    this.table.setAttribute("aria-label", "transfers between tasks; arrow keys move");
    this.table.addEventListener("keydown", (event) => this.keyed(event));
    const box = h("div", { className: "wide" }, this.table);
    this.element = h("div", {}, h("label", {}, "show ", this.picker), box, this.note);
  }

  show(matrix: Matrix): void {
    this.matrix = matrix;
    const shape = matrix.names.join("\n");
    if (shape !== this.drawn) {
      this.drawn = shape;
      this.layOut(matrix.names);
    }
    const measure = this.picker.value as Measure;
    const value = (sent: Sent | undefined) => (sent ? MEASURES[measure](sent) : 0);
    const largest = Math.max(0, ...[...this.cells.keys()].map((k) => value(matrix.pairs.get(k))));
    for (const [key, cell] of this.cells) {
      const sent = matrix.pairs.get(key);
      const text = sent ? measureText(measure, value(sent)) : "";
      if (cell.textContent !== text) cell.textContent = text;
      const percent = Math.round(45 * strength(value(sent), largest));
      cell.style.background = `color-mix(in srgb, var(--jp-brand-color1, #1976d2) ${percent}%, transparent)`;
      const description = sent
        ? pairText(sent)
        : key.split("\n").map(shortName).join(" to ").concat(": no transfers");
      if (cell.title !== description) cell.title = description;
      cell.setAttribute("aria-label", description);
      cell.setAttribute("aria-selected", String(key === this.chosen));
    }
    this.note.textContent = matrix.hidden
      ? `${matrix.hidden} tasks with fewer transfers are not shown`
      : matrix.names.length
        ? ""
        : "no transfers between tasks yet";
  }

  private layOut(names: readonly string[]): void {
    this.cells = new Map();
    const head = names.map((name) => h("th", { scope: "col", textContent: shortName(name) }));
    const lines = names.map((from) => {
      const cells = names.map((to) => {
        const key = pairKey(from, to);
        const cell = h("td", { tabIndex: -1, onclick: () => this.pick(key) });
        this.cells.set(key, cell);
        return cell;
      });
      return h("tr", {}, h("th", { scope: "row", textContent: shortName(from) }), ...cells);
    });
    const corner = h("th", { textContent: names.length ? "from \\ to" : "" });
    this.table.replaceChildren(
      h("thead", {}, h("tr", {}, corner, ...head)),
      h("tbody", {}, ...lines),
    );
    const first = this.cells.values().next().value;
    if (first) first.tabIndex = 0;
  }

  private pick(key: string): void {
    this.chosen = key;
    this.show(this.matrix);
    this.choose(key);
  }

  /** Clears the selection. */
  unmark(): void {
    this.chosen = "";
    this.show(this.matrix);
  }

  private keyed(event: KeyboardEvent): void {
    const cell = event.target;
    if (!(cell instanceof HTMLTableCellElement) || cell.tagName !== "TD") return;
    const line = cell.parentElement as HTMLTableRowElement;
    const across = (row: Element | null) =>
      row instanceof HTMLTableRowElement ? (row.cells[cell.cellIndex] ?? null) : null;
    const moves: Record<string, () => Element | null> = {
      ArrowLeft: () => cell.previousElementSibling,
      ArrowRight: () => cell.nextElementSibling,
      ArrowUp: () => across(line.previousElementSibling),
      ArrowDown: () => across(line.nextElementSibling),
    };
    const move = moves[event.key];
    if (event.key === "Enter" || event.key === " ") cell.click();
    else if (!move) return;
    event.preventDefault();
    const there = move?.();
    if (!(there instanceof HTMLTableCellElement) || there.tagName !== "TD") return;
    cell.tabIndex = -1;
    there.tabIndex = 0;
    there.focus();
  }
}

// A table whose cells change several times a second. Its rows keep their elements, and so their focus and selection.
import { h } from "../dom";

export interface Column<Row> {
  readonly title: string;
  readonly text: (row: Row) => string;
  /** The sort key of a row; without it the column cannot be sorted. */
  readonly by?: (row: Row) => string | number;
  /** Whether the column contains words, which are aligned left; numbers are aligned right. */
  readonly words?: boolean;
  /** The CSS class of a cell, for its colour. */
  readonly mark?: (row: Row) => string;
}

export class LiveTable<Row> {
  readonly element: HTMLTableElement;
  private readonly body = h("tbody");
  private readonly lines = new Map<string, HTMLTableRowElement>();
  private readonly heads: HTMLElement[];
  private rows: readonly Row[] = [];
  private sorted = -1;
  private rising = true;

  /** `choose` is called with the key of a row that was clicked, or chosen by Enter; null: rows cannot be chosen. */
  constructor(
    label: string,
    private readonly columns: readonly Column<Row>[],
    private readonly key: (row: Row) => string,
    private readonly choose: ((key: string) => void) | null,
  ) {
    this.heads = columns.map((column, k) => this.head(column, k));
    const head = h("thead", {}, h("tr", {}, ...this.heads));
    this.element = h("table", { "aria-label": label }, head, this.body);
    this.body.addEventListener("keydown", (event) => this.keyed(event));
  }

  private head(column: Column<Row>, k: number): HTMLElement {
    const cell = h("th", { scope: "col", className: column.words ? "words" : "" });
    if (!column.by) {
      cell.textContent = column.title;
      return cell;
    }
    const onclick = () => {
      this.rising = this.sorted === k ? !this.rising : column.words === true;
      this.sorted = k;
      this.show(this.rows);
    };
    const title = `sort by ${column.title}`;
    cell.append(h("button", { type: "button", textContent: column.title, title, onclick }));
    return cell;
  }

  show(rows: readonly Row[]): void {
    this.rows = rows;
    const shown = this.inOrder(rows);
    const keys = new Set(shown.map(this.key));
    for (const [key, line] of this.lines) {
      if (keys.has(key)) continue;
      line.remove();
      this.lines.delete(key);
    }
    shown.forEach((row, k) => {
      const line = this.lines.get(this.key(row)) ?? this.line(row);
      this.fill(line, row);
      if (this.body.children[k] !== line)
        this.body.insertBefore(line, this.body.children[k] ?? null);
    });
    // One row can be reached by Tab, the others by arrow keys.
    if (this.choose && !this.body.querySelector('tr[tabindex="0"]'))
      this.body.querySelector("tr")?.setAttribute("tabindex", "0");
    this.heads.forEach((cell, k) => {
      if (this.columns[k]?.by) {
        const order = this.rising ? "ascending" : "descending";
        cell.setAttribute("aria-sort", k === this.sorted ? order : "none");
      }
    });
  }

  private inOrder(rows: readonly Row[]): Row[] {
    const by = this.columns[this.sorted]?.by;
    if (!by) return [...rows];
    const sign = this.rising ? 1 : -1;
    return [...rows].sort((a, b) => {
      const [x, y] = [by(a), by(b)];
      return sign * (x < y ? -1 : x > y ? 1 : 0);
    });
  }

  private line(row: Row): HTMLTableRowElement {
    const cells = this.columns.map((c) => h("td", { className: c.words ? "words" : "" }));
    const line = h("tr", {}, ...cells);
    const key = this.key(row);
    this.lines.set(key, line);
    if (this.choose) {
      line.tabIndex = -1;
      line.addEventListener("click", () => this.choose?.(key));
      line.addEventListener("focus", () => {
        for (const other of this.lines.values()) other.tabIndex = other === line ? 0 : -1;
      });
    }
    return line;
  }

  private fill(line: HTMLTableRowElement, row: Row): void {
    this.columns.forEach((column, k) => {
      const cell = line.cells[k];
      if (!cell) return;
      const text = column.text(row);
      if (cell.textContent !== text) cell.textContent = text;
      if (column.mark) cell.className = `${column.words ? "words " : ""}${column.mark(row)}`;
    });
  }

  private keyed(event: KeyboardEvent): void {
    const line = event.target;
    if (!(line instanceof HTMLTableRowElement)) return;
    const next = { ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling };
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const there = next[event.key];
      if (there instanceof HTMLElement) there.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      line.click();
    }
  }

  /** Marks the row of a key as chosen. */
  mark(key: string): void {
    for (const [own, line] of this.lines) line.setAttribute("aria-selected", String(own === key));
  }
}

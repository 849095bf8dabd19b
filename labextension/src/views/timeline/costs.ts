// The table of the most expensive operations: it can be sorted by any column, and a click on a row shows its operation in the lanes.
import type { CostRow } from "../../protocol/timeline";
import { h } from "../dom";
import { timeText } from "./texts";

const MOST_ROWS = 500;
type Key = Exclude<keyof CostRow, "label" | "kind" | "source">;
const COLUMNS: readonly (readonly [Key, string, (row: CostRow) => string])[] = [
  ["name", "operation", (r) => r.name],
  ["op", "type", (r) => r.op],
  ["share", "share", (r) => `${(100 * r.share).toFixed(1)}%`],
  ["total_us", "total", (r) => timeText(r.total_us)],
  ["count", "count", (r) => r.count.toLocaleString("en")],
  ["mean_us", "mean", (r) => timeText(r.mean_us)],
  ["max_us", "max", (r) => timeText(r.max_us)],
];

export class Costs {
  readonly element: HTMLTableElement;
  private readonly body = h("tbody");
  private readonly heads: HTMLElement[];
  private by: Key = "total_us";
  private rising = false;

  constructor(
    private readonly rows: readonly CostRow[],
    private readonly choose: (label: number) => void,
  ) {
    this.heads = COLUMNS.map(([key, title]) => this.head(key, title));
    this.element = h(
      "table",
      { "aria-label": "most expensive operations" },
      h("thead", {}, h("tr", {}, ...this.heads)),
      this.body,
    );
    this.fill();
  }

  /** Marks the row of a label. */
  mark(label: number): void {
    for (const line of this.body.children) {
      const chosen = line instanceof HTMLElement && line.dataset.label === String(label);
      line.setAttribute("aria-selected", String(chosen));
    }
  }

  private head(key: Key, title: string): HTMLElement {
    const by = h("button", {
      textContent: title,
      type: "button",
      title: `sort by ${title}`,
    });
    by.addEventListener("click", () => {
      this.rising = this.by === key ? !this.rising : key === "name" || key === "op";
      this.by = key;
      this.fill();
    });
    return h("th", { scope: "col" }, by);
  }

  private fill(): void {
    const { by, rising } = this;
    const sorted = [...this.rows].sort((a, b) => {
      const order = a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0;
      return rising ? order : -order;
    });
    this.heads.forEach((head, k) => {
      const order = rising ? "ascending" : "descending";
      head.setAttribute("aria-sort", COLUMNS[k]?.[0] === by ? order : "none");
    });
    this.body.replaceChildren(...sorted.slice(0, MOST_ROWS).map((row) => this.line(row)));
  }

  private line(row: CostRow): HTMLElement {
    const cells = COLUMNS.map(([, , text]) => h("td", { textContent: text(row) }));
    const line = h(
      "tr",
      { tabIndex: 0, title: `${row.name}\n${row.source}`.slice(0, 500) },
      ...cells,
    );
    line.dataset.label = String(row.label);
    line.addEventListener("click", () => this.choose(row.label));
    line.addEventListener("keydown", (e) => {
      if (e.key !== "Enter" && e.key !== " ") return;
      e.preventDefault();
      this.choose(row.label);
    });
    return line;
  }
}

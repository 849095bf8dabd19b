// The values of a card's curves under the cursor, the nearest curves first, or the newest values without a cursor.
// Its height depends on the number of curves only, so that nothing moves under the pointer; all rows can be scrolled to.
import { h } from "../dom";
import type { Drawn } from "./curves";
import { count, duration, nearest, short } from "./numbers";
import type { PageContext } from "./options";
import { shortNames } from "./short_names";

const ROWS = 5; // rows that are visible, and those of charts that the pointer is not over
const MOST = 300;
const LETTER = 6; // average width in pixels
const NUMBERS = 200; // pixels that the columns of numbers take

/** Columns of the points that are marked in the chart. */
export interface Marked extends Record<string, ArrayLike<unknown>> {
  x: number[];
  y: number[];
  colour: string[];
}

interface Row {
  line: Drawn;
  place: number;
}

export class ValueTable {
  readonly el: HTMLElement;
  private readonly table = h("table", { className: "tfnb-values" });
  private names = new Map<number, string>();
  private namedFor = "";

  constructor(private readonly context: PageContext) {
    this.el = h("div", { className: "tfnb-value-list" }, this.table);
  }

  /** Shows the rows at x. `distance`: how far a curve is from the pointer, if that is over the chart of this table. */
  show(
    lines: readonly Drawn[],
    x: number | null,
    distance: ((line: Drawn, place: number) => number) | null,
  ): Marked {
    const rows: Row[] = lines
      .map((line) => ({ line, place: x === null ? line.x.length - 1 : nearest(line.x, x) }))
      .filter(({ place }) => place >= 0);
    if (x !== null) sort(rows, distance ?? ((line, place) => -(line.y[place] as number)));
    const visible = Math.min(rows.length, ROWS);
    this.el.style.setProperty("--rows", String(visible + 1));
    this.name(lines);
    const shown = rows.slice(0, distance ? MOST : ROWS);
    this.table.replaceChildren(this.head(rows, x), ...shown.map((row) => this.row(row, rows)));
    if (rows.length > shown.length) {
      const textContent = `+${count(rows.length - shown.length)} runs`;
      const title = "point at the chart, then scroll here to see all runs";
      const hint = h("small", { textContent, title });
      this.table.rows[0]?.cells[0]?.append(hint);
    }
    const marked: Marked = { x: [], y: [], colour: [] };
    if (x === null) return marked;
    for (const { line, place } of rows.slice(0, ROWS)) {
      marked.x.push(line.x[place] as number);
      marked.y.push(line.y[place] as number);
      marked.colour.push(line.colour);
    }
    return marked;
  }

  private name(lines: readonly Drawn[]): void {
    const letters = Math.max(12, Math.floor((this.el.clientWidth - NUMBERS) / LETTER));
    const key = `${letters} ${lines.map((line) => line.run)} ${this.context.runs.length}`;
    if (key === this.namedFor) return;
    this.namedFor = key;
    const names = lines.map((line) => this.context.runs[line.run] ?? "");
    const short = shortNames(names, letters);
    this.names = new Map(lines.map((line, k) => [line.run, short[k] as string]));
  }

  private get smooth(): boolean {
    return this.context.options.smoothing > 0;
  }

  private head(rows: readonly Row[], x: number | null): HTMLElement {
    const [first] = rows;
    const step =
      first && sameStep(rows) ? `step ${count(first.line.step[first.place] as number)}` : "";
    const title = x === null ? "newest" : "";
    const texts = [
      [title, step].filter(Boolean).join(", "),
      "value",
      ...(this.smooth ? ["smoothed"] : []),
      ...(step ? [] : ["step"]),
      "time",
    ];
    return h("tr", {}, ...texts.map((text) => h("th", { scope: "col" }, text, " ")));
  }

  private row({ line, place }: Row, rows: readonly Row[]): HTMLElement {
    const swatch = h("span", { className: "tfnb-swatch" });
    swatch.style.background = line.colour;
    const time = (line.wall[place] as number) - (line.wall[0] as number);
    const texts = [
      short(line.raw[place]),
      ...(this.smooth ? [short(line.y[place])] : []),
      ...(sameStep(rows) ? [] : [count(line.step[place] as number)]),
      duration(time),
    ];
    const name = h("td", { title: this.context.runs[line.run] ?? "" });
    name.append(swatch, ` ${this.names.get(line.run) ?? ""}`);
    return h("tr", {}, name, ...texts.map((textContent) => h("td", { textContent })));
  }
}

// The order of curves that are equally far stays, and what cannot be placed comes last.
function sort(rows: Row[], far: (line: Drawn, place: number) => number): void {
  const keys = new Map(rows.map((row) => [row, far(row.line, row.place)]));
  const key = (row: Row) => {
    const value = keys.get(row) as number;
    return Number.isNaN(value) ? Number.POSITIVE_INFINITY : value;
  };
  rows.sort((a, b) => (key(a) === key(b) ? 0 : key(a) - key(b)));
}

function sameStep(rows: readonly Row[]): boolean {
  const [first] = rows;
  const step = first?.line.step[first.place];
  return rows.every(({ line, place }) => line.step[place] === step);
}

// Parameters by scope, and hyper-parameters by run with the newest values of some scalars.
import type { Catalogue } from "../../protocol/viewer";
import { h } from "../dom";
import { count } from "./numbers";

export function tables(catalogue: Catalogue): HTMLElement[] {
  const out: HTMLElement[] = [];
  if (catalogue.hparams.length) {
    const names = columns(catalogue.hparams.map((r) => r.values));
    const metrics = columns(catalogue.hparams.map((r) => r.metrics));
    const rows = catalogue.hparams.map(({ run, values, metrics: newest }) => [
      run,
      ...names.map((n) => values[n] ?? ""),
      ...metrics.map((n) => newest[n] ?? ""),
    ]);
    out.push(h("h4", { textContent: "hyper-parameters" }));
    out.push(table(["run", ...names, ...metrics], rows, true));
  }
  for (const { name, rows } of catalogue.parameters) {
    const body = rows.map(([scope, depth, shape, number]) => [
      `${"\u2003".repeat(depth)}${scope.split("/").pop()}`,
      shape,
      count(number),
    ]);
    out.push(h("h4", { textContent: `parameters: ${name}` }));
    out.push(table(["scope", "shape", "parameters"], body, false));
  }
  return out;
}

function columns(records: Record<string, string>[]): string[] {
  return [...new Set(records.flatMap((r) => Object.keys(r)))].sort();
}

// A table; if it is sortable, a click on the head of a column sorts it.
function table(head: string[], rows: string[][], sorts: boolean): HTMLElement {
  const body = h("tbody");
  const fill = (shown: string[][]) =>
    body.replaceChildren(
      ...shown.map((r) => h("tr", {}, ...r.map((textContent) => h("td", { textContent })))),
    );
  let last = -1;
  const sorted = (column: number) => {
    const sign = last === column ? -1 : 1;
    last = sign < 0 ? -1 : column;
    return [...rows].sort((a, b) => sign * order(a[column] ?? "", b[column] ?? ""));
  };
  const cells = head.map((textContent, k) => {
    const cell = h("th", { scope: "col", textContent });
    if (!sorts) return cell;
    const onclick = () => fill(sorted(k));
    const title = `sort by ${textContent}`;
    cell.replaceChildren(h("button", { type: "button", textContent, title, onclick }));
    return cell;
  });
  fill(rows);
  const className = sorts ? "tfnb-table tfnb-sorts" : "tfnb-table";
  return h("table", { className }, h("thead", {}, h("tr", {}, ...cells)), body);
}

// Sorts numbers by size, then words alphabetically.
function order(a: string, b: string): number {
  const [x, y] = [a === "" ? Number.NaN : Number(a), b === "" ? Number.NaN : Number(b)];
  if (Number.isNaN(x) || Number.isNaN(y)) {
    return Number(Number.isNaN(x)) - Number(Number.isNaN(y)) || a.localeCompare(b);
  }
  return x - y;
}

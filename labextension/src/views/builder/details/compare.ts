// How two variants of a part differ on one feed: marks on the nodes, and a list below the canvas, whose first entry is
// where to search for the cause.

import type { Compared, NodeDifference } from "../../../protocol/builder_details";
import { button, h } from "../../dom";
import type { Mark } from "../state/state";
import type { Dock } from "./dock";
import type { Marks } from "./marks";
import type { PanelContext } from "./panel_context";

export function showCompared(
  answer: Compared,
  dock: Dock,
  marks: Marks,
  context: PanelContext,
): void {
  const { differences, equal } = answer;
  const found = new Map<string, Mark>();
  for (const a of equal) found.set(a, { text: "= the same in B", share: 1, tone: "same" });
  differences.forEach(({ a, b, absolute }, k) => {
    const mark: Mark = {
      text: k ? `≠ by ${number(absolute)}` : `≠ first here, by ${number(absolute)}`,
      share: 1,
      tone: k ? "differs" : "cause",
    };
    found.set(a, mark);
    found.set(b, mark);
  });
  marks.set(found);
  const [first] = differences;
  const link = (id: string): HTMLElement =>
    button(id, `go to ${id}`, () => context.go(id), { className: "link" });
  const row = ({ a, b, problem }: NodeDifference): HTMLElement =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, link(a)),
      h("td", {}, link(b)),
      h("td", { textContent: problem }),
    );
  const titles = ["A", "B", "what differs"];
  const table = h(
    "table",
    { className: "differences" },
    h(
      "thead",
      {},
      h("tr", {}, ...titles.map((textContent) => h("th", { scope: "col", textContent }))),
    ),
    h("tbody", {}, ...differences.map(row)),
  );
  const same = equal.length ? ` The same in both: ${equal.join(", ")}.` : "";
  dock.open({
    kind: "compare",
    title: "Variants A and B",
    note: first
      ? `${differences.length} of ${differences.length + equal.length} nodes differ, first ${first.a}.${same}`
      : `Nothing differs.${same}`,
    content: differences.length ? [table] : [h("p", { className: "none" }, "Nothing differs.")],
    closed: () => marks.set(new Map()),
  });
}

const number = (n: number): string => (n > 1e300 ? "∞" : String(Number(n.toPrecision(3))));

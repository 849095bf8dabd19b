// The times of one run, laid on the nodes, and below the canvas as a timeline: a row for each node, the earliest first.

import type { NodeTime, Profile } from "../../../protocol/builder_details";
import { button, h } from "../../dom";
import type { Mark } from "../state/state";
import type { Dock } from "./dock";
import type { Marks } from "./marks";
import type { PanelContext } from "./panel_context";

export function showProfile(
  answer: Profile,
  dock: Dock,
  marks: Marks,
  context: PanelContext,
): void {
  const { times, microseconds, other, node } = answer;
  const most = Math.max(...times.map((time) => time.microseconds), 1e-9);
  marks.set(
    new Map(
      times.map((time): [string, Mark] => [
        time.node,
        { text: timeText(time.microseconds), share: time.microseconds / most, tone: "time" },
      ]),
    ),
  );
  const first = Math.min(...times.map((time) => time.start));
  const end = Math.max(...times.map((time) => time.start + time.microseconds));
  const sum = times.reduce((all, time) => all + time.microseconds, other);
  const rows = times.map((time) => row(time, sum, [first, end], context));
  const rest = other > 0 ? `, ${timeText(other)} in kernels of no node` : "";
  dock.open({
    kind: "profile",
    title: `Times of a run to ${node}`,
    note: `${timeText(microseconds)} in all${rest}`,
    content: [
      h(
        "table",
        { className: "times" },
        h(
          "thead",
          {},
          h("tr", {}, ...["node", "time", "share", "kernels", "device", "when"].map(head)),
        ),
        h("tbody", {}, ...rows),
      ),
    ],
    closed: () => marks.set(new Map()),
  });
}

const head = (textContent: string): HTMLElement => h("th", { scope: "col", textContent });

/** A row of the timeline: `sum` is the time of all kernels; the bar lies between the first begin and the last end. */
function row(
  time: NodeTime,
  sum: number,
  [first, end]: readonly [number, number],
  context: PanelContext,
): HTMLElement {
  const { node, microseconds, start, kernels, device } = time;
  const share = sum > 0 ? microseconds / sum : 0;
  const part = (length: number): number => (100 * length) / Math.max(end - first, 1e-9);
  const bar = h("i");
  bar.style.insetInlineStart = `${Math.min(99.4, part(start - first)).toFixed(2)}%`;
  bar.style.width = `${Math.max(0.6, part(microseconds)).toFixed(2)}%`;
  const name = button(node, `go to ${node}`, () => context.go(node), { className: "link" });
  const lane = h("td", { className: "lane-cell" }, h("span", { className: "track" }, bar));
  lane.title = `from ${timeText(start)} on`;
  const where = device.replace(/^.*\/device:/, "");
  const cells = [timeText(microseconds), `${(100 * share).toFixed(0)} %`, String(kernels), where];
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, name),
    ...cells.map((textContent) => h("td", { textContent })),
    lane,
  );
}

/** 0.4 µs, 12 µs, 3.4 ms. */
export function timeText(microseconds: number): string {
  const text = (n: number): string => String(Number(n.toPrecision(n < 10 ? 2 : 3)));
  if (microseconds >= 1e6) return `${text(microseconds / 1e6)} s`;
  if (microseconds >= 1e3) return `${text(microseconds / 1e3)} ms`;
  return `${text(microseconds)} µs`;
}

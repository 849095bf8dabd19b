// The details of an event: what the columns contain at once, and what the kernel or the file adds when it answers.
import type { EventCard, NodeCard } from "../../protocol/timeline";
import { h } from "../dom";
import { titleOf } from "./palette";
import { bytesText, timeText } from "./texts";
import type { Trace } from "./trace";

/** The lines of a card; `known` is null until the kernel or the file has answered. */
export function cardLines(trace: Trace, i: number, known: EventCard | null): HTMLElement[] {
  const lane = trace.meta.lanes.find((l) => trace.row(i) >= l.row && trace.row(i) < l.row + l.rows);
  const kind = titleOf(trace.kind(i));
  const duration = `${timeText(trace.length(i))}, started at ${timeText(trace.start(i))}, step ${trace.step(i)}`;
  const where = known ? [known.device, known.lane] : [lane?.device, lane?.name];
  const nodes = known?.nodes ?? [];
  return [
    h("h4", { textContent: trace.name(i) }),
    ...line("type", known?.op ? `${kind}, ${known.op}` : kind),
    ...line("duration", duration),
    ...line("device", where.filter(Boolean).join(", ")),
    ...line("size", known?.nbytes ? bytesText(known.nbytes) : ""),
    ...line("detail", known?.detail ?? ""),
    ...line("unblocked by", known?.woken_by ?? ""),
    ...line("waits for", trace.cause(i) >= 0 ? trace.name(trace.cause(i)) : ""),
    ...(nodes.length > 1 ? line("fused", `${nodes.length + (known?.more ?? 0)} nodes`) : []),
    ...nodes.flatMap(nodeLines),
  ];
}

function line(name: string, value: string): HTMLElement[] {
  if (!value) return [];
  return [h("div", {}, h("b", { textContent: `${name}: ` }), value)];
}

function nodeLines(node: NodeCard): HTMLElement[] {
  const op = node.op ? ` (${node.op})` : "";
  const source = node.source
    ? [...line("source", " "), h("pre", { textContent: node.source })]
    : [];
  const of = line("gradient of", node.gradient_of);
  return [
    h("div", { textContent: `${node.name}${op} ${node.shapes.join(", ")}` }),
    ...of,
    ...source,
  ];
}

// What the compiler made of a run to a node: the graph after each of its stages, and the OpenCL of each cluster with the
// nodes in it.

import type { Compiled, CompiledCluster, Stage } from "../../../protocol/builder_details";
import { button, h } from "../../dom";
import { drawGraph, GraphModel, type GraphView } from "../../graph/view";
import type { Dock } from "./dock";
import { bytesOf } from "./inside";
import type { PanelContext } from "./panel_context";

export class CompiledView {
  private graph: GraphView | null = null;
  private drawn = 0;

  constructor(
    private readonly context: PanelContext,
    private readonly dock: Dock,
  ) {}

  show(answer: Compiled): void {
    const { stages, clusters, node } = answer;
    const host = h("div", { className: "graph-host" });
    const sources = h("div", { className: "sources" }, ...clusters.map((one) => this.cluster(one)));
    const choice = h(
      "select",
      { ariaLabel: "stage of the compiler", onchange: () => show(choice.value) },
      h("option", { value: "opencl", textContent: `OpenCL: ${clustersText(clusters.length)}` }),
      ...stages.map(({ name, count }, k) =>
        h("option", { value: String(k), textContent: `${k + 1}. ${name}: ${nodesText(count)}` }),
      ),
    );
    const show = (value: string): void => {
      const stage = stages[Number(value)];
      sources.hidden = stage !== undefined;
      host.hidden = stage === undefined;
      if (stage) void this.stage(stage, host);
    };
    this.dock.open({
      kind: "compiled",
      title: `Compiled for a run to ${node}`,
      note: `${stages.length} stages, ${clustersText(clusters.length)}`,
      isLarge: true,
      controls: [choice],
      content: [sources, host],
      focus: () => choice.focus({ preventScroll: true }),
      closed: () => this.end(),
    });
    show("opencl");
  }

  private end(): void {
    this.drawn += 1;
    this.graph?.dispose();
    this.graph = null;
  }

  private async stage({ name, count, columns }: Stage, host: HTMLElement): Promise<void> {
    this.end();
    const { drawn } = this;
    host.dataset.ready = "";
    if (!columns) {
      const text = count ? `${nodesText(count)} are too many to be drawn here` : "no node is left";
      host.replaceChildren(h("p", { className: "none", textContent: `${name}: ${text}` }));
      return;
    }
    const model = await GraphModel.read(bytesOf(columns));
    if (drawn !== this.drawn) return;
    this.graph = drawGraph(host, model, { height: Math.max(220, host.clientHeight) });
    await this.graph.ready;
    host.dataset.ready = name;
  }

  private cluster(cluster: CompiledCluster): HTMLElement {
    const { name, device, nodes, operations, sources, launches, not_fused } = cluster;
    const list = (title: string, lines: readonly string[]): HTMLElement[] =>
      lines.length
        ? [h("h4", {}, title), h("ul", {}, ...lines.map((line) => h("li", { textContent: line })))]
        : [];
    return h(
      "details",
      { className: "cluster", open: true },
      h(
        "summary",
        {},
        h("b", { textContent: name }),
        ` on ${device}, ${nodesText(operations.length)}`,
      ),
      nodes.length
        ? h(
            "p",
            {},
            "from ",
            ...nodes.map((id) =>
              button(id, `go to ${id}`, () => this.go(id), { className: "link" }),
            ),
          )
        : null,
      ...sources.map((text, k) =>
        h("pre", {
          className: "opencl",
          tabIndex: 0,
          role: "region",
          ariaLabel: `OpenCL ${k + 1} of ${name}`,
          textContent: text,
        }),
      ),
      sources.length ? null : h("p", { className: "none" }, "It has no OpenCL of its own."),
      ...list("Launches", launches),
      ...list("Not fused, because", not_fused),
    );
  }

  private go(id: string): void {
    this.dock.close();
    this.context.go(id);
  }
}

const nodesText = (n: number): string => `${n.toLocaleString("en")} ${n === 1 ? "node" : "nodes"}`;
const clustersText = (n: number): string => `${n} ${n === 1 ? "cluster" : "clusters"}`;

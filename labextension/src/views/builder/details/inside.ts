// What is inside of a node: the operations of a block, by their scopes, each of which can be used on the canvas; the
// statements of a function, on a canvas of their own.

import type { Inside } from "../../../protocol/builder_details";
import { button, h } from "../../dom";
import { drawGraph, GraphModel, type GraphView } from "../../graph/view";
import type { Workspace } from "../state/workspace";
import type { Dock } from "./dock";
import { InnerChannel } from "./inner";
import type { InnerView, PanelContext } from "./panel_context";

/** The bytes of base64. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

export const isImport = (call: string): boolean => /(^|\.)import_graph_def$/.test(call);

export class InsideView {
  private graph: GraphView | null = null;
  private inner: InnerView | null = null;
  private channel: InnerChannel | null = null;
  /** The node that is open, or "". */
  node = "";
  private asked = 0;
  /** The node that is being opened, or "": a second request for it is the same one. */
  private opening = "";
  private operation = "";

  constructor(
    private readonly workspace: Workspace,
    private readonly context: PanelContext,
    private readonly dock: Dock,
  ) {}

  /** Opens a node; of a block, at the operation that is named, if there is one. */
  async open(id: string, operation = ""): Promise<void> {
    const { workspace } = this;
    this.operation = operation;
    if (this.opening === id) return;
    this.asked += 1;
    const { asked } = this;
    this.opening = id;
    workspace.say(`opening ${id}`);
    const inside = await workspace.session.details({ type: "inside", node: id });
    if (asked !== this.asked) return;
    this.opening = "";
    if (inside.code) this.openFunction(inside);
    else if (inside.count) await this.openGraph(inside, this.operation);
    else workspace.say(`${id} has made no operation that can be shown`, true);
  }

  /** The document has changed: a function that is open follows it. */
  async follow(): Promise<void> {
    const { node, channel, workspace } = this;
    if (!node) return;
    if (!workspace.model.nodes.has(node)) this.dock.close();
    else if (channel && workspace.model.nodes.get(node)?.kind === "function") {
      const inside = await channel.refresh();
      if (this.channel === channel) this.heading(inside);
    }
  }

  private end(): void {
    this.graph?.dispose();
    this.inner?.dispose();
    this.graph = this.inner = this.channel = null;
    this.node = "";
  }

  // ---- the operations of a block -------------------------------------------------------------------

  private async openGraph({ node, count, columns }: Inside, operation: string): Promise<void> {
    const { workspace, dock } = this;
    const call = workspace.model.nodes.get(node)?.call ?? "";
    const model = await GraphModel.read(bytesOf(columns));
    const host = h("div", { className: "graph-host" });
    const output = h("input", { type: "number", min: "0", value: "0", ariaLabel: "output" });
    const use = button("Use on the canvas", "add a statement that refers to the operation", () =>
      this.pick(Number(output.value)),
    );
    use.ariaLabel = null;
    const word = count === 1 ? "operation" : "operations";
    const name = node.startsWith("line:") ? call.replace(/^tf\./, "") : node;
    const note = isImport(call)
      ? "They come from a file and are read-only."
      : "Select one, and Use adds a reference to it.";
    dock.open({
      kind: "inside",
      title: `Inside of ${name}: ${count.toLocaleString("en")} ${word}`,
      note,
      isLarge: true,
      controls: [h("label", {}, "output ", output), use],
      content: [host],
      focus: () => host.querySelector<HTMLElement>("canvas")?.focus({ preventScroll: true }),
      closed: () => this.end(),
    });
    this.node = node;
    this.graph = drawGraph(host, model, { height: Math.max(220, host.clientHeight) });
    host.querySelector("canvas")?.focus({ preventScroll: true });
    const box = operation ? model.find(operation) : -1;
    await this.graph.ready;
    if (box > 0) await this.graph?.go(box);
    host.dataset.ready = "true";
  }

  private pick(output: number): void {
    const { graph, workspace, dock } = this;
    const box = graph?.selected ?? -1;
    if (!graph || box <= 0 || !graph.model.isLeaf(box)) {
      workspace.say("select an operation first, not a scope", true);
      return;
    }
    const operation = graph.model.path(box);
    dock.close();
    workspace.session.gesture({ edit: "pick", operation, output });
  }

  // ---- the statements of a function ----------------------------------------------------------------

  private openFunction(inside: Inside): void {
    const { workspace, dock, context } = this;
    const host = h("div", { className: "inner-host" });
    this.channel = new InnerChannel(workspace.session, inside, () => workspace.state.graph);
    const { channel } = this;
    this.heading(inside, host);
    this.node = inside.node;
    this.channel = channel;
    this.inner = context.inner(host, channel, () => dock.close());
    this.inner.focus();
  }

  /** The title says which calls an edit changes. */
  private heading({ node, calls }: Inside, host?: HTMLElement): void {
    const { workspace, dock } = this;
    const others = calls.filter((call) => call !== node);
    const own = button("Own copy for this call", "give this call a function of its own", () =>
      workspace.session.gesture({ edit: "own", node }),
    );
    own.ariaLabel = null;
    const title = `Inside of ${node}, a function`;
    const note = others.length
      ? `An edit changes its other calls too: ${others.join(", ")}.`
      : "It has no other call.";
    if (!host) {
      dock.rename(title, note, others.length ? [own] : []);
      return;
    }
    dock.open({
      kind: "inside",
      title,
      note,
      isLarge: true,
      controls: others.length ? [own] : [],
      content: [host],
      focus: () => {},
      keepsEscape: () => true,
      closed: () => this.end(),
    });
  }
}

// A Lumino widget that shows a file or folder without a kernel: the widget of the notebook with a served model.

import { UUID } from "@lumino/coreutils";
import type { Message } from "@lumino/messaging";
import { Widget } from "@lumino/widgets";
import type { DocumentKind } from "../protocol/served";
import { h } from "../views/dom";
import { ServedModel } from "../views/served_model";
import { bokehLibrary, drawing, exchange, forget } from "./server";

const LABELS: Readonly<Record<DocumentKind, string>> = {
  events: "summaries of runs",
  graph: "dataflow graph",
  trace: "timeline",
};

export class ServedWidget extends Widget {
  readonly path: string;
  readonly kind: DocumentKind;
  private readonly name = UUID.uuid4();
  private readonly status = h("div", { className: "tfnb-served-status", role: "status" });
  private readonly place: HTMLElement;
  private model: ServedModel | undefined;
  private ends: (() => unknown)[] = [];
  private started = false;

  constructor(kind: DocumentKind, path: string) {
    super();
    this.kind = kind;
    this.path = path;
    this.addClass("tfnb-served");
    this.addClass(`tfnb-served-${kind}`);
    // JupyterLab labels the node of the widget "main area content", so this node has the label.
    const ariaLabel = `${LABELS[kind]} of ${path}`;
    this.place = h("div", { className: "tfnb-served-place", role: "region", ariaLabel });
    this.node.tabIndex = -1;
    this.node.append(this.status, this.place);
  }

  /** Reads the file again and redraws it. */
  async reload(): Promise<void> {
    this.end();
    this.say("reading …");
    try {
      await this.start();
      this.say("");
    } catch (fault) {
      this.say(`cannot be shown: ${fault instanceof Error ? fault.message : String(fault)}`);
    }
  }

  override dispose(): void {
    if (this.isDisposed) return;
    this.end();
    void forget(this.name).catch(() => undefined); // the server also closes documents that were not used for long
    super.dispose();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.begin();
    this.model?.watch(true);
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.isVisible) this.begin();
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this.model?.watch(false);
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this.node.focus({ preventScroll: true });
  }

  private begin(): void {
    if (this.started) return;
    this.started = true;
    void this.reload();
  }

  private say(text: string): void {
    this.status.textContent = text;
    this.status.hidden = text === "";
  }

  private async start(): Promise<void> {
    const { module, style } = await drawing(this.kind);
    if (this.isDisposed) return;
    // The module identifies its place in the page by this key.
    const key = UUID.uuid4();
    const state = this.kind === "events" ? { key, has_kernel: false } : { key };
    const model = new ServedModel(
      {
        exchange: (request) => exchange(this.name, this.kind, this.path, request),
        shared: () => bokehLibrary(),
        fault: (text) => this.say(text),
      },
      state,
    );
    this.model = model;
    await model.open();
    if (this.isDisposed || this.model !== model) return;
    const el = h("div", { "data-tfnb-view": key });
    this.place.replaceChildren(h("style", { textContent: style }), el);
    for (const act of [module.initialize, module.render]) {
      const end = await act?.({ model, el });
      if (typeof end === "function") this.ends.push(end as () => unknown);
    }
  }

  private end(): void {
    for (const end of this.ends.splice(0)) end();
    this.model?.close();
    this.model = undefined;
    this.place.replaceChildren();
  }
}

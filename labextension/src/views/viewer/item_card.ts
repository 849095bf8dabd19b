// The base class of the cards of all tags but scalars: a part per run, redrawn when the kernel sends other content.
import type { Kind } from "../../protocol/viewer";
import { h } from "../dom";
import type { Contents } from "./contents";
import { count } from "./numbers";
import type { Card, PageContext } from "./options";

export type ItemKind = Exclude<Kind, "scalar">;
export type RunOf<K extends ItemKind> = Contents[K]["runs"][number];

export abstract class ItemCard<K extends ItemKind> implements Card {
  readonly el: HTMLElement;
  protected closed = false;
  protected readonly body = h("div", { className: "tfnb-parts" });
  protected readonly status = h("span", { className: "tfnb-note" });
  private visible = false;
  private dirty = true;
  private last: Promise<void> = Promise.resolve();

  constructor(
    protected readonly context: PageContext,
    private readonly kind: K,
    protected readonly tag: string,
  ) {
    const head = h("header", {}, h("h4", { textContent: tag, title: tag }));
    const parts = [head, this.body, this.status];
    this.el = h("section", { className: "tfnb-card", ariaLabel: tag }, ...parts);
  }

  protected abstract draw(runs: RunOf<K>[]): Promise<void> | void;
  /** The number of steps of a run that were sent. */
  protected abstract sent(run: RunOf<K>): number;

  update(): Promise<void> {
    this.dirty = true;
    if (!this.visible) return Promise.resolve();
    this.last = this.last.then(() => this.maybe()).catch((fault: Error) => this.fault(fault));
    return this.last;
  }

  see(visible: boolean): void {
    this.visible = visible;
    if (visible && this.dirty) void this.update();
  }

  private fault(error: Error): void {
    if (!this.closed) this.status.textContent = `cannot be drawn: ${error.message}`;
  }

  private async maybe(): Promise<void> {
    if (!this.dirty || this.closed) return;
    this.dirty = false;
    const content: Contents[K] | undefined = this.context.content(this.kind, this.tag);
    if (!content) {
      this.status.textContent = "waiting for the kernel …";
      return;
    }
    const runs = content.runs as RunOf<K>[];
    this.showStatus(runs, content.left_out);
    await this.draw(runs.filter((r) => this.context.options.runs.has(r.run)));
  }

  private showStatus(runs: RunOf<K>[], left: number): void {
    const sent = Math.max(0, ...runs.map((r) => this.sent(r)));
    const total = Math.max(0, ...runs.map((r) => r.total));
    this.status.textContent = [
      total > sent ? `${count(sent)} of ${count(total)} steps shown, evenly sampled` : "",
      left ? `${count(left)} more runs have this tag: select fewer runs to see them` : "",
    ]
      .filter(Boolean)
      .join("; ");
  }

  protected name(run: number): string {
    return this.context.runs[run] ?? "";
  }

  close(): void {
    this.closed = true;
  }
}

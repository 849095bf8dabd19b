// The clipboard is text: the Python of the copied nodes.

import type { Workspace } from "./state/workspace";

export class NodeClipboard {
  /** What was copied last, for pages that may not read the clipboard. */
  private own = "";

  constructor(
    private readonly workspace: Workspace,
    root: HTMLElement,
  ) {
    root.addEventListener("copy", (event) => this.event(event, false));
    root.addEventListener("cut", (event) => this.event(event, true));
    root.addEventListener("paste", (event) => {
      const text = event.clipboardData?.getData("text/plain");
      if (isTyping(event.target) || !text) return;
      event.preventDefault();
      this.insert(text);
    });
  }

  private event(event: ClipboardEvent, isCut: boolean): void {
    if (isTyping(event.target) || !this.workspace.selected.size) return;
    event.preventDefault();
    // The event takes text only now; what the kernel makes of the nodes replaces it if the page may write.
    event.clipboardData?.setData("text/plain", this.statements());
    this.copy(isCut);
  }

  private statements(): string {
    const sources = this.workspace
      .selectedNodes()
      .map((id) => this.workspace.model.nodes.get(id)?.source ?? "");
    return `${sources.join("\n")}\n`;
  }

  copy(isCut: boolean): void {
    const nodes = this.workspace.selectedNodes();
    const { session } = this.workspace;
    const simple = this.statements();
    this.own = simple;
    void session.copy(nodes).then(({ text }) => {
      this.own = text;
      if (text !== simple) void navigator.clipboard?.writeText(text).catch(() => {});
    });
    // The kernel answers in order: it copies before it deletes.
    if (isCut) session.gesture({ edit: "delete", nodes, heal: false });
    const what = nodes.length === 1 ? "1 node" : `${nodes.length} nodes`;
    this.workspace.say(`${what} ${isCut ? "cut" : "copied"} as Python`);
  }

  /** Pastes without an event: from a button. */
  async paste(): Promise<void> {
    let text = "";
    try {
      text = (await navigator.clipboard?.readText()) ?? "";
    } catch {
      // Without permission there is what was copied here.
    }
    if (text || this.own) this.insert(text || this.own);
    else this.workspace.say("the clipboard is empty", true);
  }

  private insert(text: string): void {
    const { session, pointer } = this.workspace;
    const at = pointer ?? this.workspace.viewport.middle();
    const position = [Math.round(at[0]), Math.round(at[1])];
    session.gesture({ edit: "paste", text, position });
  }
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest("input, textarea, select") !== null;

// The pane at the right: the form of the node, the code, and the log of what gestures have written.

import { button, download, h } from "../dom";
import { drawForm, type FormHost } from "./form";
import type { Workspace } from "./state/workspace";

export type Tab = "node" | "code" | "log" | "lesson";
const TABS: readonly (readonly [Tab, string])[] = [
  ["node", "Node"],
  ["code", "Code"],
  ["log", "Log"],
  ["lesson", "Lesson"],
];
const WAIT = 500; // milliseconds after the last key until the code is sent
const MOST_LINES = 500;

export class Inspector {
  readonly root: HTMLElement;
  private readonly tabs = new Map<Tab, HTMLButtonElement>();
  private readonly panes: Record<Tab, HTMLElement>;
  private readonly code = h("textarea", {
    className: "code",
    spellcheck: false,
    wrap: "off",
    ariaLabel: "Python code of the graph",
  });
  private readonly waits = h("p", { className: "waits", hidden: true });
  private shown: Tab = "node";
  private later: ReturnType<typeof setTimeout> | undefined;
  /** The text that the kernel has sent last, or that was sent to it. */
  private sent = "";

  constructor(
    private readonly workspace: Workspace,
    private readonly host: FormHost,
    prefix: string,
    private readonly lesson: { readonly root: HTMLElement; show(): Promise<void> },
  ) {
    this.panes = {
      node: h("div", { className: "pane form" }),
      code: h("div", { className: "pane" }, this.exports(), this.waits, this.code),
      log: h("div", { className: "pane log" }),
      lesson: lesson.root,
    };
    const list = h("div", { className: "tabs", role: "tablist", ariaLabel: "side pane" });
    for (const [tab, text] of TABS) {
      const pane = this.panes[tab];
      pane.id = `${prefix}-pane-${tab}`;
      pane.role = "tabpanel";
      pane.ariaLabel = text;
      pane.tabIndex = tab === "log" ? 0 : -1;
      const control = button(text, text, () => this.show(tab), { role: "tab" });
      control.setAttribute("aria-controls", pane.id);
      this.tabs.set(tab, control);
      list.append(control);
    }
    list.addEventListener("keydown", (event) => this.key(event));
    this.root = h("div", { className: "side" }, list, ...Object.values(this.panes));
    this.code.addEventListener("input", () => {
      clearTimeout(this.later);
      this.later = setTimeout(() => this.send(), WAIT);
    });
    this.code.addEventListener("change", () => this.send());
    this.code.addEventListener("keydown", (event) => this.codeKey(event));
    this.show("node");
  }

  show(tab: Tab): void {
    this.shown = tab;
    this.root.classList.toggle("wide", tab === "code");
    for (const [name, control] of this.tabs) {
      control.ariaSelected = String(name === tab);
      control.tabIndex = name === tab ? 0 : -1;
      this.panes[name].hidden = name !== tab;
    }
    if (tab === "node") this.drawNode();
    else if (tab === "lesson") void this.lesson.show();
  }

  /** Draws the form of the selected node; a field that has the focus keeps it. */
  drawNode(): void {
    if (this.shown !== "node") return;
    const pane = this.panes.node;
    const controls = (): HTMLElement[] => [
      ...pane.querySelectorAll<HTMLElement>("input, select, button"),
    ];
    const place = controls().indexOf(document.activeElement as HTMLElement);
    pane.replaceChildren(...drawForm(this.workspace, this.host));
    if (place >= 0) controls()[place]?.focus({ preventScroll: true });
  }

  /** Takes the code out of the notebook. */
  private exports(): HTMLElement {
    const copy = (): void => {
      const { code, workspace } = this;
      const done = (): void => workspace.say("the Python is in the clipboard");
      const failed = (): void => {
        code.select();
        workspace.say("this page may not write the clipboard: the code is selected, copy it", true);
      };
      const written = navigator.clipboard?.writeText(code.value);
      if (written) void written.then(done, failed);
      else failed();
    };
    const save = (): void => {
      download(new Blob([this.code.value], { type: "text/x-python" }), "graph.py");
      this.workspace.say("saved as graph.py");
    };
    return h(
      "div",
      { className: "buttons" },
      button("Copy", "copy the Python of the graph", copy, { ariaLabel: null }),
      button("Save as .py", "save the Python of the graph as a file", save, {
        ariaLabel: null,
      }),
    );
  }

  /** Puts the focus on the first field of the form; the name, which is seldom changed, comes last. */
  focusForm(): void {
    this.show("node");
    const pane = this.panes.node;
    const field = (which: string): HTMLElement | null =>
      pane.querySelector<HTMLElement>(`:is(input, select)${which}`);
    (field(":not(.rename)") ?? field("") ?? pane.querySelector("button"))?.focus();
  }

  focusCode(): void {
    this.show("code");
    this.code.focus();
  }

  /** The lesson is shown, and its first control gets the focus. */
  async focusLesson(): Promise<void> {
    this.show("lesson");
    await this.lesson.show();
    this.lesson.root.querySelector<HTMLElement>("button")?.focus({ preventScroll: true });
  }

  /** For a canvas inside of another: the code can only be read, and there are no lessons. */
  narrow(): void {
    this.code.readOnly = true;
    this.tabs.get("lesson")?.remove();
    this.tabs.delete("lesson");
  }

  setSource(source: string): void {
    this.sent = source;
    if (this.code.value === source) return;
    // Text that is being typed is newer than what arrives.
    if (this.later !== undefined) return;
    const { selectionStart, selectionEnd } = this.code;
    this.code.value = source;
    this.code.setSelectionRange(selectionStart, selectionEnd);
  }

  setWaiting(text: string): void {
    this.waits.hidden = !text;
    this.waits.textContent = text;
    this.tabs.get("code")?.classList.toggle("waiting", text !== "");
  }

  addLog(echo: string): void {
    const { log } = this.panes;
    log.append(h("pre", { textContent: echo }));
    while (log.childElementCount > MOST_LINES) log.firstElementChild?.remove();
    log.scrollTop = log.scrollHeight;
  }

  private send(): void {
    clearTimeout(this.later);
    this.later = undefined;
    const source = this.code.value;
    if (source === this.sent) return;
    this.sent = source;
    this.workspace.session.gesture({ edit: "source", source });
  }

  /** Enter keeps the indentation. Tab leaves the field, as everywhere. */
  private codeKey(event: KeyboardEvent): void {
    if (event.key !== "Enter" || event.isComposing) return;
    const { code } = this;
    const line = code.value.slice(0, code.selectionStart).split("\n").pop() ?? "";
    const indent = /^[ \t]*/.exec(line)?.[0] ?? "";
    if (!indent) return;
    event.preventDefault();
    code.setRangeText(`\n${indent}`, code.selectionStart, code.selectionEnd, "end");
    code.dispatchEvent(new Event("input"));
  }

  private key(event: KeyboardEvent): void {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const names = [...this.tabs.keys()];
    const next = names[(names.indexOf(this.shown) + by + names.length) % names.length] ?? "node";
    this.show(next);
    this.tabs.get(next)?.focus();
  }

  dispose(): void {
    clearTimeout(this.later);
  }
}

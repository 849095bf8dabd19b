// A region below the canvas, or in its place, for what does not fit on nodes: what is inside of one, the compiler's
// stages, times, devices. One thing is shown at a time; Escape closes it and returns to the canvas.

import { button, h } from "../../dom";

export interface Shown {
  /** What is shown, a word; opening the same again replaces it without moving the focus. */
  kind: string;
  title: string;
  /** A sentence below the title, or "". */
  note?: string;
  content: readonly (Node | string)[];
  /** Controls beside the title. */
  controls?: readonly HTMLElement[];
  /** Whether it takes the place of the canvas. */
  isLarge?: boolean;
  /** What gets the focus; by default the first control of the content. */
  focus?: () => void;
  /** Whether Escape is meant for the content itself. */
  keepsEscape?: () => boolean;
  closed?: () => void;
}

export class Dock {
  readonly root = h("section", { className: "dock", hidden: true });
  private shown: Shown | null = null;

  constructor(
    /** Puts the focus on the canvas. */
    private readonly leave: () => void,
    private readonly say: (text: string) => void,
  ) {
    // Before what is inside can take the key.
    this.root.addEventListener("keydown", (event) => this.key(event), { capture: true });
  }

  /** What is shown now, or "". */
  get kind(): string {
    return this.shown?.kind ?? "";
  }

  open(shown: Shown): void {
    const isSame = this.shown?.kind === shown.kind;
    const last = this.root.contains(document.activeElement)
      ? this.controls().indexOf(document.activeElement as HTMLElement)
      : -1;
    this.shown?.closed?.();
    this.shown = shown;
    const { root } = this;
    const { title, note = "", content, isLarge = false } = shown;
    root.ariaLabel = title;
    root.dataset.kind = shown.kind;
    root.classList.toggle("large", isLarge);
    root.replaceChildren(this.head(shown), h("div", { className: "dock-body" }, ...content));
    root.hidden = false;
    if (!isSame || last >= 0) this.say(note ? `${title}. ${note}` : title);
    const all = this.controls();
    if (isSame) {
      if (last >= 0) (all[last] ?? all[0])?.focus({ preventScroll: true });
    } else if (shown.focus) shown.focus();
    else (all.find((one) => one.closest(".dock-body")) ?? all[0])?.focus({ preventScroll: true });
  }

  /** Another title for what is shown, with other controls beside it. */
  rename(title: string, note: string, controls: readonly HTMLElement[]): void {
    if (!this.shown) return;
    this.shown = { ...this.shown, title, note, controls };
    this.root.ariaLabel = title;
    this.root.querySelector(".dock-head")?.replaceWith(this.head(this.shown));
  }

  private head({ title, note, controls = [] }: Shown): HTMLElement {
    return h(
      "div",
      { className: "dock-head" },
      h("h3", { dir: "auto", textContent: title }),
      note ? h("p", { textContent: note }) : null,
      h("span", { className: "gap" }),
      ...controls,
      button("✕", "close", () => this.close()),
    );
  }

  private controls(): HTMLElement[] {
    const found = this.root.querySelectorAll<HTMLElement>(
      "button:not(:disabled), select, input, [tabindex='0']",
    );
    return [...found];
  }

  close(): void {
    const { shown, root } = this;
    if (!shown) return;
    this.shown = null;
    const hadFocus = root.contains(document.activeElement);
    shown.closed?.();
    root.hidden = true;
    root.replaceChildren();
    if (hadFocus) this.leave();
    this.say(`${shown.title}: closed`);
  }

  private key(event: KeyboardEvent): void {
    if (event.key !== "Escape" || this.shown?.keepsEscape?.()) return;
    const { target } = event;
    const isField = target instanceof Element && target.matches("input, textarea");
    if (isField && (target as HTMLInputElement).value) return;
    event.preventDefault();
    event.stopPropagation();
    this.close();
  }

  dispose(): void {
    this.shown?.closed?.();
    this.shown = null;
  }
}

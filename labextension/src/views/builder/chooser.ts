// A small window with a text field and a list below it: the palette of calls, the list of targets for a wire, the search,
// the menu of commands, and prompts for a name.

import { h } from "../dom";
import type { Point } from "./places/geometry";

export interface Choice {
  label: string;
  /** What stands at the right side: a port, keys. */
  hint: string;
  /** A second line. */
  detail: string;
  act(): void;
}

export interface Question {
  /** What the list is, for screen readers and as the placeholder of the field. */
  title: string;
  /** The text in the field at first. */
  text: string;
  /** Whether the text is selected, so that typing replaces it. */
  isSelected?: boolean;
  choices(query: string): readonly Choice[] | Promise<readonly Choice[]>;
  /** What to show if there is no choice. */
  none: string;
}

const [WIDTH, HEIGHT] = [330, 340];
let counter = 0;

export class Chooser {
  readonly root: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly list: HTMLElement;
  private readonly id: string;
  private question: Question | null = null;
  private shown: readonly Choice[] = [];
  private active = 0;
  /** The label of the row that the person has gone to; null while it is the first. */
  private chosen: string | null = null;
  private asked = 0;
  /** Whether the list is that of the text in the field, and whether Enter was pressed before it was. */
  private isCurrent = false;
  private isEntered = false;

  constructor(
    private readonly leave: () => void,
    private readonly say: (text: string) => void,
  ) {
    counter += 1;
    this.id = `tfnb-chooser-${counter}`;
    this.list = h("div", { className: "choices", role: "listbox", id: this.id, tabIndex: -1 });
    this.input = h("input", {
      type: "text",
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": this.id,
      "aria-autocomplete": "list",
      autocomplete: "off",
      spellcheck: false,
    });
    this.root = h("div", { className: "chooser", hidden: true }, this.input, this.list);
    this.input.addEventListener("input", () => void this.ask());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.root.addEventListener("focusout", (event) => {
      if (!this.root.contains(event.relatedTarget as Node | null)) this.close(false);
    });
  }

  get isOpen(): boolean {
    return !this.root.hidden;
  }

  /** Opens at a point of the stage, inside of a room of the given size. */
  open(question: Question, [x, y]: Point, [width, height]: Point): void {
    this.question = question;
    const left = Math.max(4, Math.min(x, width - WIDTH - 4));
    const top = Math.max(4, Math.min(y, height - HEIGHT - 4));
    Object.assign(this.root.style, {
      left: `${left}px`,
      top: `${top}px`,
      maxHeight: `${Math.max(120, Math.min(HEIGHT, height - top - 4))}px`,
    });
    this.root.hidden = false;
    this.input.value = question.text;
    this.input.placeholder = question.title;
    this.input.ariaLabel = question.title;
    this.list.ariaLabel = question.title;
    this.shown = [];
    this.list.replaceChildren();
    this.input.removeAttribute("aria-activedescendant"); // the row has gone
    this.input.focus({ preventScroll: true });
    if (question.isSelected) this.input.select();
    void this.ask();
  }

  close(returns = true): void {
    if (this.root.hidden) return;
    this.question = null;
    this.asked += 1;
    this.root.hidden = true;
    if (returns) this.leave();
  }

  private ask(): Promise<void> {
    this.isEntered = false;
    this.chosen = null;
    return this.renew();
  }

  /** Lists what answers the text in the field, also after the drawing has changed; the chosen row stays chosen. */
  async renew(): Promise<void> {
    this.asked += 1;
    this.isCurrent = false;
    const { asked, question } = this;
    if (!question) return;
    const choices = await question.choices(this.input.value);
    if (asked !== this.asked || this.question !== question) return;
    this.show(choices);
    this.isCurrent = true;
    if (this.isEntered) this.take(this.active);
  }

  private show(choices: readonly Choice[]): void {
    this.shown = choices;
    const chosen = choices.findIndex(({ label }) => label === this.chosen);
    this.active = Math.max(0, chosen);
    this.list.replaceChildren(
      ...choices.map((choice, k) => this.row(choice, k)),
      ...(choices.length || !this.question
        ? []
        : [
            h(
              "div",
              { className: "none", role: "option", "aria-disabled": "true" },
              this.question.none,
            ),
          ]),
    );
    this.mark();
    if (!choices.length && this.question) this.say(this.question.none);
  }

  private row({ label, hint, detail }: Choice, k: number): HTMLElement {
    return h(
      "div",
      {
        role: "option",
        id: `${this.id}-${k}`,
        className: "choice",
        onpointerdown: (event: Event) => event.preventDefault(),
        onclick: () => this.take(k),
      },
      h("b", { dir: "auto", textContent: label }),
      h("i", { textContent: hint }),
      detail ? h("span", { dir: "auto", textContent: detail }) : null,
    );
  }

  private mark(): void {
    const rows = [...this.list.querySelectorAll<HTMLElement>(".choice")];
    for (const [k, row] of rows.entries()) {
      row.ariaSelected = String(k === this.active);
      if (k === this.active) row.scrollIntoView({ block: "nearest" });
    }
    if (rows.length) this.input.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  private key(event: KeyboardEvent): void {
    const step: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    const by = step[event.key];
    if (by !== undefined) {
      const last = this.shown.length - 1;
      const next = this.active + by;
      const wraps = Math.abs(by) === 1 && (next < 0 || next > last);
      this.active = wraps ? (next < 0 ? last : 0) : Math.max(0, Math.min(last, next));
      this.chosen = this.shown[this.active]?.label ?? null;
      this.mark();
    } else if (event.key === "Enter") this.enter();
    else if (event.key === "Escape" || event.key === "Tab") this.close();
    else return;
    event.preventDefault();
  }

  private enter(): void {
    if (this.isCurrent) this.take(this.active);
    else this.isEntered = true;
  }

  private take(k: number): void {
    const choice = this.shown[k];
    if (!choice) return;
    this.close();
    choice.act();
  }
}

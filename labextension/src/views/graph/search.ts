// Finds nodes by words in their name or type; the arrow keys move through the list.

import { h } from "../dom";
import { at, count, type GraphModel } from "./model";

const MOST = 60;

export class Search {
  readonly input = h("input", {
    type: "search",
    placeholder: "Search  /",
    "aria-label": "search for a node by name or type",
    autocomplete: "off",
    spellcheck: false,
  });
  readonly list = h("div", {
    className: "matches",
    role: "listbox",
    "aria-label": "matching nodes",
    hidden: true,
  });
  private rows: number[] = [];
  private lower: string[] | undefined;

  constructor(
    private readonly model: GraphModel,
    private readonly go: (box: number) => void,
    private readonly say: (text: string) => void,
    private readonly leave: () => void,
  ) {
    this.input.addEventListener("input", () => this.find());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("keydown", (event) => this.key(event));
  }

  /** The boxes whose path contains the text or whose type is named so; scopes and short names first. */
  matches(text: string): number[] {
    const { model } = this;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    this.lower ??= Array.from({ length: model.size }, (_, b) =>
      `${model.path(b)} ${model.type(b)}`.toLowerCase(),
    );
    const matching: number[] = [];
    for (let b = 1; b < model.size; b++) {
      const main = at(model.ints.main, model.parent(b)) === b;
      if (!main && words.every((w) => this.lower?.[b]?.includes(w))) matching.push(b);
    }
    return matching.sort((a, b) => model.path(a).length - model.path(b).length || a - b);
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  private find(): void {
    const matching = this.matches(this.input.value);
    this.rows = matching.slice(0, MOST);
    this.list.replaceChildren(...this.rows.map((b) => this.row(b)));
    if (matching.length > MOST) {
      this.list.append(
        h("div", { className: "rest", textContent: `and ${count(matching.length - MOST)} more` }),
      );
    }
    this.list.hidden = !this.input.value;
    if (this.input.value) this.say(`${count(matching.length)} matches`);
    if (this.input.value && !matching.length)
      this.list.append(h("div", { className: "rest", textContent: "no node matches" }));
  }

  private row(box: number): HTMLElement {
    const summary = this.model.type(box) || `${count(at(this.model.ints.nodes, box))} ops`;
    return h(
      "button",
      { type: "button", role: "option", onclick: () => this.choose(box) },
      h("span", { textContent: this.model.path(box) || this.model.label(box) }),
      h("small", { textContent: summary }),
    );
  }

  private choose(box: number): void {
    this.list.hidden = true;
    this.go(box);
  }

  private key(event: KeyboardEvent): void {
    const options = [...this.list.querySelectorAll("button")];
    const now = options.indexOf(document.activeElement as HTMLButtonElement);
    const acts: Record<string, () => void> = {
      ArrowDown: () => options[Math.min(now + 1, options.length - 1)]?.focus(),
      ArrowUp: () => (now > 0 ? options[now - 1] : this.input)?.focus(),
      Enter: () => (now >= 0 ? options[now] : options[0])?.click(),
      Escape: () => {
        this.list.hidden = true;
        this.input.value = "";
        this.leave();
      },
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}

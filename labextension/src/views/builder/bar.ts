// The bar above the canvas, the buttons of commands, and the counts below.

import { button, h } from "../dom";
import { type Command, keysText } from "./commands";
import { short } from "./form";
import type { Workspace } from "./state/workspace";

const SHOWN: readonly (readonly [string, string])[] = [
  ["add", "+ Add"],
  ["", ""],
  ["undo", "↶ Undo"],
  ["redo", "↷ Redo"],
  ["", ""],
  ["run", "▷ Run to here"],
  ["minimize", "Minimize"],
  ["train", "Train"],
  ["", ""],
  ["compiled", "Compiler"],
  ["profile", "Times"],
  ["", ""],
  ["group", "Group"],
  ["frame", "Frame"],
  ["note", "Note"],
  ["tidy", "Tidy"],
];
const VIEW: readonly (readonly [string, string])[] = [
  ["find", "Find"],
  ["farther", "−"],
  ["closer", "+"],
  ["fit", "Fit"],
  ["full", "Full"],
  ["help", "?"],
];

export class Bar {
  readonly root: HTMLElement;
  readonly totals = h("span", { className: "totals" });
  private readonly hand: HTMLButtonElement;
  private readonly controls: [HTMLButtonElement, Command][] = [];

  constructor(
    private readonly workspace: Workspace,
    private readonly commands: readonly Command[],
    private readonly run: (id: string) => void,
  ) {
    const make = ([id, text]: readonly [string, string]): HTMLElement =>
      id ? this.kept(id, text) : h("span", { className: "rule" });
    this.hand = button("✥ Pan", "drag on the empty canvas to move it instead of selecting", () => {
      workspace.dispatch({ type: "hand", hand: !workspace.state.hand });
      this.draw();
    });
    this.hand.ariaLabel = null; // its text is its name
    this.root = h(
      "div",
      { className: "bar", role: "toolbar", ariaLabel: "graph builder" },
      ...SHOWN.filter(([id]) => !id || commands.some((one) => one.id === id)).map(make),
      h("span", { className: "gap" }),
      this.hand,
      ...VIEW.map(make),
    );
    this.draw();
  }

  /** A button of a command. */
  control(id: string, text?: string): HTMLButtonElement {
    const command = this.commands.find((one) => one.id === id);
    const keys = command ? keysText(command) : "";
    const title = `${command?.label ?? id}${keys ? ` (${keys})` : ""}`;
    const control = button(text ?? (command?.label ?? id).replace(/…$/, ""), title, () =>
      this.run(id),
    );
    // The name for screen readers begins with the text that is shown.
    if (/[a-z]/i.test(control.textContent ?? "")) control.ariaLabel = null;
    control.dataset.command = id;
    return control;
  }

  private kept(id: string, text: string): HTMLButtonElement {
    const control = this.control(id, text);
    const command = this.commands.find((one) => one.id === id);
    if (command) this.controls.push([control, command]);
    return control;
  }

  draw(): void {
    const { totals, revision } = this.workspace.state.graph;
    for (const [control, command] of this.controls) control.disabled = !command.can();
    this.hand.setAttribute("aria-pressed", String(this.workspace.state.hand));
    if (revision < 0) return;
    const count = (n: number, word: string): string =>
      `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
    this.totals.textContent = [
      count(totals.nodes, "node"),
      count(totals.parameters, "parameter"),
      totals.flops > 0 ? `${short(totals.flops)}FLOPs an example` : "",
      totals.problems ? `⚠ ${count(totals.problems, "problem")}` : "",
    ]
      .filter(Boolean)
      .join(" · ");
    this.totals.classList.toggle("wrong", totals.problems > 0);
  }
}

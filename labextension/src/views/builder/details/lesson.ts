// The lessons, in the pane at the right: what to build, a check of what was built, and a hint where it is not right yet.

import type { Lessons, LessonText } from "../../../protocol/builder_details";
import { button, h } from "../../dom";
import type { Workspace } from "../state/workspace";
import type { PanelContext } from "./panel_context";

export class LessonPane {
  readonly root = h("div", { className: "pane lesson" });
  private lessons: readonly LessonText[] = [];
  private now = "";
  private verdict: Lessons | null = null;
  private readonly done = new Set<string>();
  private isAsked = false;

  constructor(
    private readonly workspace: Workspace,
    private readonly context: PanelContext,
  ) {}

  /** Shows the lessons, or the one that is being worked at. */
  async show(): Promise<void> {
    if (!this.isAsked) {
      this.isAsked = true;
      const answer = await this.workspace.session.details({ type: "lesson", lesson: "" });
      this.lessons = answer.lessons;
    }
    this.draw();
  }

  /** Begins with a lesson whose source is there already. */
  async begin(id: string): Promise<void> {
    this.now = id;
    await this.show();
  }

  private draw(): void {
    const lesson = this.lessons.find(({ id }) => id === this.now);
    const had = this.root.contains(document.activeElement);
    this.root.replaceChildren(...(lesson ? this.one(lesson) : this.list()));
    if (had) this.root.querySelector<HTMLElement>("button")?.focus({ preventScroll: true });
  }

  private list(): HTMLElement[] {
    return [
      h("h3", {}, "Lessons"),
      h("p", {}, "Each asks for something to build, and says whether it is right."),
      ...this.lessons.map(({ id, title, text }, k) =>
        h(
          "button",
          { type: "button", className: "lesson-choice", onclick: () => this.start(id) },
          h("b", { textContent: `${k + 1}. ${title}${this.done.has(id) ? " ✓" : ""}` }),
          h("span", { textContent: text }),
        ),
      ),
    ];
  }

  private one({ id, title, text }: LessonText): HTMLElement[] {
    const { verdict, context } = this;
    const next = this.lessons[this.lessons.findIndex((one) => one.id === id) + 1];
    const plain = (label: string, act: () => void): HTMLElement =>
      button(label, label, act, { ariaLabel: null });
    const hint = verdict
      ? h(
          "div",
          { className: `hint ${verdict.is_done ? "done" : "open"}` },
          h("p", { textContent: `${verdict.is_done ? "✓ " : ""}${verdict.hint}` }),
          verdict.node ? plain(`Go to ${verdict.node}`, () => context.go(verdict.node)) : null,
          verdict.is_done && next ? plain(`Next: ${next.title}`, () => this.start(next.id)) : null,
        )
      : null;
    const parts = [
      h("h3", { textContent: title }),
      h("p", { className: "task", textContent: text }),
      h(
        "div",
        { className: "buttons" },
        plain("Check", () => void this.check(id)),
        plain("Start again", () => this.start(id)),
        plain("All lessons", () => {
          this.now = "";
          this.draw();
        }),
      ),
      hint,
    ];
    return parts.filter((part) => part !== null);
  }

  /** Puts the beginning of a lesson on the canvas, as one step of undo. */
  private start(id: string): void {
    const { workspace } = this;
    const lesson = this.lessons.find((one) => one.id === id);
    if (!lesson) return;
    this.now = id;
    this.verdict = null;
    if (workspace.state.source !== lesson.start)
      workspace.session.gesture({ edit: "source", source: lesson.start });
    this.draw();
    workspace.say(`${lesson.title}: ${lesson.text}`);
  }

  private async check(id: string): Promise<void> {
    const { workspace } = this;
    workspace.say("checking");
    const verdict = await workspace.session.details({ type: "lesson", lesson: id });
    if (this.now !== id) return;
    this.verdict = verdict;
    if (verdict.is_done) this.done.add(id);
    this.draw();
    workspace.say(verdict.is_done ? `done: ${verdict.hint}` : verdict.hint);
  }
}

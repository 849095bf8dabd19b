// Frames around nodes, and notes between them: elements below the nodes.

import type { Note } from "../../protocol/builder";
import { h } from "../dom";
import { type Actions, FRAME_COLOURS, prompt } from "./commands";
import { LayerTransform } from "./layer_transform";
import type { Workspace } from "./state/workspace";

export class FrameNoteLayer {
  readonly root = h("div", { className: "frame-notes" });
  private readonly frames = new Map<string, HTMLElement>();
  private readonly layerTransform = new LayerTransform(this.root);
  private readonly notes = new Map<string, HTMLElement>();

  constructor(
    private readonly workspace: Workspace,
    private readonly actions: Actions,
  ) {}

  /** `isNew`: whether the elements are drawn anew; `isMoved`: whether nodes have moved. */
  draw(isNew: boolean, isMoved: boolean): void {
    const { workspace } = this;
    const { x, y, scale } = workspace.viewport.camera;
    this.layerTransform.to(`translate(${x}px, ${y}px) scale(${scale})`);
    if (isNew) this.renew();
    if (!isMoved) return;
    const { model } = workspace;
    for (const { id, nodes } of model.frames)
      put(this.frames.get(id), workspace.scene.frameRect(nodes));
    for (const note of model.notes) put(this.notes.get(note.id), workspace.scene.noteRect(note));
  }

  dispose(): void {
    this.layerTransform.rest();
  }

  private renew(): void {
    const { model } = this.workspace;
    this.frames.clear();
    this.notes.clear();
    for (const { id, title, colour } of model.frames) {
      const known = FRAME_COLOURS.find((name) => name === colour) ?? "blue";
      const head = h("div", {
        className: "frame-title",
        dir: "auto",
        textContent: title || "frame",
      });
      const element = h(
        "div",
        { className: `frame ${known}`, role: "group", ariaLabel: `frame ${title}` },
        head,
      );
      this.frames.set(id, element);
    }
    for (const note of model.notes) this.notes.set(note.id, this.note(note));
    this.root.replaceChildren(...this.frames.values(), ...this.notes.values());
  }

  private note(note: Note): HTMLElement {
    const element = h("button", {
      type: "button",
      className: "note",
      dir: "auto",
      title: "edit the note",
      textContent: note.text,
      onclick: () => this.editNote(note),
    });
    return element;
  }

  private editNote({ id, text }: Note): void {
    const { workspace } = this;
    const note = workspace.model.notes.find((one) => one.id === id);
    const rect = note && workspace.scene.noteRect(note);
    const act = (now: string): void =>
      workspace.session.gesture({ edit: "note", id, text: now, before: "" });
    const question = prompt("Text of the note; empty removes it", text, act);
    this.actions.choose(question, rect ? [rect.x, rect.y + rect.height + 6] : null);
  }

  /** Asks for the title of a frame, its colour, or its end. */
  editFrame(id: string): void {
    const { workspace } = this;
    const frame = workspace.model.frames.find((one) => one.id === id);
    if (!frame) return;
    const { title, colour, nodes } = frame;
    const rect = workspace.scene.frameRect(nodes);
    const set = (change: Partial<typeof frame>): void =>
      workspace.session.gesture({ edit: "frame", id, title, colour, nodes, ...change });
    this.actions.choose(
      {
        title: "Title of the frame",
        text: title,
        isSelected: true,
        none: "",
        choices: (query) => [
          { label: query, hint: "Enter", detail: "new title", act: () => set({ title: query }) },
          ...FRAME_COLOURS.map((name) => ({
            label: name,
            hint: name === colour ? "now" : "",
            detail: "",
            act: () => set({ title: query, colour: name }),
          })),
          { label: "remove the frame", hint: "", detail: "", act: () => set({ nodes: [] }) },
        ],
      },
      rect && [rect.x, rect.y + 30],
    );
  }
}

function put(
  element: HTMLElement | undefined,
  rect: { x: number; y: number; width: number; height: number } | null,
): void {
  if (!element) return;
  element.hidden = !rect;
  if (!rect) return;
  Object.assign(element.style, {
    transform: `translate(${rect.x}px, ${rect.y}px)`,
    width: `${rect.width}px`,
    height: `${rect.height}px`,
  });
}

// Draws the state of a canvas, once in a frame: of each part only what the state has anew since the last frame.

import { h } from "../dom";
import type { Bar } from "./bar";
import type { Details } from "./details/details";
import type { FrameNoteLayer } from "./frame_notes";
import type { Inspector } from "./inspector";
import type { Minimap } from "./minimap";
import type { NodeElements } from "./node_elements";
import { paintAbove, paintBelow } from "./painter";
import { type BuilderState, EMPTY } from "./state/state";
import type { Workspace } from "./state/workspace";

/** What is drawn apart from wires, guides and far nodes, which are painted here. */
export interface Parts {
  readonly stage: HTMLElement;
  readonly elements: NodeElements;
  readonly frameNotes: FrameNoteLayer;
  readonly map: Minimap;
  readonly details: Details;
  readonly inspector: Inspector;
  readonly bar: Bar;
}

/** What differs between two states, as far as it is drawn. */
export interface News {
  /** Nodes, frames and notes, or the colours of all. */
  readonly document: boolean;
  readonly panels: boolean;
  /** Nodes have moved, or are being dragged. */
  readonly moves: boolean;
  readonly selection: boolean;
  readonly wires: boolean;
  /** Which ports accept the wire that is being dragged. */
  readonly ports: boolean;
}

export function newsOf(before: BuilderState, now: BuilderState): News {
  const [a, b] = [before.draggedWire, now.draggedWire];
  const ports = a?.from !== b?.from || a?.refusals !== b?.refusals;
  return {
    document: before.graph !== now.graph || before.theme !== now.theme,
    panels: before.panels !== now.panels,
    moves:
      before.places.placed !== now.places.placed ||
      before.places.automatic !== now.places.automatic ||
      before.drag !== now.drag,
    selection: before.selection !== now.selection,
    wires:
      ports ||
      before.places.routes !== now.places.routes ||
      before.places.keptRoutes !== now.places.keptRoutes ||
      before.bending !== now.bending ||
      before.hovered !== now.hovered,
    ports,
  };
}

export class Renderer {
  readonly below = h("canvas", { className: "layer", "aria-hidden": "true" });
  readonly above = h("canvas", { className: "layer above", "aria-hidden": "true" });
  private drawn: BuilderState = EMPTY;
  private isViewportNew = false;
  private isFar = false;
  private frame = 0;
  private holds = 0;

  constructor(
    private readonly workspace: Workspace,
    private readonly parts: Parts,
  ) {
    workspace.store.watch(() => this.request());
  }

  /** Something else has become visible. */
  viewportChanged(): void {
    this.isViewportNew = true;
    this.request();
  }

  /** Draws nothing until the returned function is called, as while new nodes have no place yet. */
  hold(): () => void {
    this.holds += 1;
    return () => {
      this.holds -= 1;
      this.request();
    };
  }

  private request(): void {
    if (!this.frame && !this.holds) this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.frame = 0;
    const { workspace, isViewportNew } = this;
    if (!workspace.viewport.width || this.holds) return;
    const { state } = workspace;
    const news = newsOf(this.drawn, state);
    this.drawn = state;
    this.isViewportNew = false;
    this.drawElements(news, isViewportNew);
    this.drawParts(news);
    const { document, panels, moves, selection, wires } = news;
    if (isViewportNew || document || panels || moves || selection || wires)
      paintBelow(workspace, this.below, this.isFar);
    paintAbove(workspace, this.above);
    // While nodes are dragged the small picture stays as it was.
    if (!state.drag) this.parts.map.draw(document || moves || panels || selection);
  }

  private drawElements(news: News, isViewportNew: boolean): void {
    const { workspace } = this;
    const { elements } = this.parts;
    const isNew = news.document || news.panels;
    if (news.moves) elements.drag();
    if (isViewportNew || isNew || news.moves || news.selection) {
      const shown = workspace.asElements();
      this.isFar = workspace.model.order.length > 0 && shown.length === 0;
      elements.show(shown);
      if (isNew) elements.moveAll();
    }
    if (isViewportNew || isNew || news.selection) this.mark(isNew || news.selection);
    if (news.ports || news.document) elements.markPorts();
  }

  private mark(isNew: boolean): void {
    const { workspace } = this;
    const { stage, elements } = this.parts;
    if (isNew) elements.mark();
    const { current } = workspace;
    if (current && elements.has(current))
      stage.setAttribute("aria-activedescendant", elements.idOf(current));
    else stage.removeAttribute("aria-activedescendant");
    stage.dataset.near = String(elements.size);
    stage.dataset.nodes = String(workspace.model.order.length);
  }

  private drawParts({ document, panels, moves, selection, wires }: News): void {
    const { details, frameNotes, inspector, bar } = this.parts;
    details.draw(document || moves || panels || wires);
    frameNotes.draw(document, document || moves || panels);
    if (selection || document || panels) inspector.drawNode();
    if (selection || document) bar.draw();
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
  }
}

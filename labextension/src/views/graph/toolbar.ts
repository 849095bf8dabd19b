// The bar above the drawing: search, colours, tracing, zoom, files, full screen.

import type { ColourBy } from "../../protocol/graph";
import { button, h } from "../dom";
import { helpLink } from "../help_link";
import type { Direction } from "./marks";

const COLOURS: Record<ColourBy, string> = {
  structure: "structure",
  device: "device",
  time: "compute time",
  memory: "memory",
};

export interface ToolbarActions {
  trace(direction: Direction): void;
  colour(by: ColourBy): void;
  zoom(by: number): void;
  fit(): void;
  saveSvg(): void;
  savePng(): void;
  fullScreen(): void;
}

export class Toolbar {
  readonly root: HTMLElement;
  private readonly tracing: Record<Direction, HTMLButtonElement>;

  constructor(
    search: HTMLElement,
    colours: readonly ColourBy[],
    colouredBy: ColourBy,
    actions: ToolbarActions,
  ) {
    const colour = h(
      "select",
      { ariaLabel: "colour by", title: "colour by" },
      ...colours.map((value) => h("option", { value, textContent: COLOURS[value] })),
    );
    colour.value = colouredBy;
    colour.addEventListener("change", () => actions.colour(colour.value as ColourBy));
    this.tracing = {
      inputs: button("⇧ Inputs", "highlight all inputs of the selected node (i)", () =>
        actions.trace("inputs"),
      ),
      outputs: button("⇩ Outputs", "highlight all outputs of the selected node (o)", () =>
        actions.trace("outputs"),
      ),
    };
    this.root = h(
      "div",
      { className: "bar", role: "toolbar", ariaLabel: "graph" },
      search,
      h("label", {}, "colour: ", colour),
      this.tracing.inputs,
      this.tracing.outputs,
      h("span", { className: "gap" }),
      button("−", "zoom out (-)", () => actions.zoom(1 / 1.3)),
      button("+", "zoom in (+)", () => actions.zoom(1.3)),
      button("Fit", "show the whole graph (0)", () => actions.fit()),
      button("SVG", "save the drawing as SVG", () => actions.saveSvg()),
      button("PNG", "save the drawing as PNG", () => actions.savePng()),
      button("Full", "full screen", () => actions.fullScreen()),
      helpLink("graph"),
    );
  }

  showTraced(traced: Direction | null, enabled: boolean): void {
    for (const direction of ["inputs", "outputs"] as const) {
      this.tracing[direction].setAttribute("aria-pressed", String(traced === direction));
      this.tracing[direction].disabled = !enabled;
    }
  }
}

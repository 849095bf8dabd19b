// Several graphs in one place, one at a time: the stages that a step went through in the compiler.

import type { GraphCard, GraphOptions } from "../../protocol/graph";
import { h, keepKeys } from "../dom";
import type { KeptGraph } from "./kept_graph";
import { drawGraph, type GraphModel, type GraphView } from "./view";

export interface Stages {
  names: readonly string[];
  /** The number of the stage that is shown at first. */
  first: number;
  load: (stage: number) => Promise<GraphModel>;
  details: (stage: number, box: number) => Promise<GraphCard>;
  /** What an earlier page has kept. */
  kept?: KeptGraph | null;
  keep?: (kept: KeptGraph) => void;
}

/** Draws the first stage; if there are others, buttons for them are above it. */
export function drawStages(
  host: HTMLElement,
  stages: Stages,
  options: GraphOptions,
): { dispose(): void } {
  const place = h("div");
  const bar = h("div", { className: "tfnb-graph-stages", role: "tablist" });
  let view: GraphView | null = null;
  let wanted = -1;
  let kept = stages.kept && stages.kept.stage < stages.names.length ? stages.kept : null;
  const show = async (stage: number): Promise<void> => {
    wanted = stage;
    const model = await stages.load(stage);
    if (wanted !== stage) return;
    view?.dispose();
    const details = (box: number): Promise<GraphCard> => stages.details(stage, box);
    const keep = (open: string[], selected: string): void => {
      kept = { stage, open, selected };
      stages.keep?.(kept);
    };
    const as = kept?.stage === stage ? { open: kept.open, selected: kept.selected } : {};
    view = drawGraph(place, model, { ...options, ...as, details, keep });
    for (const [k, tab] of [...bar.children].entries()) {
      tab.setAttribute("aria-selected", String(k === stage));
    }
  };
  if (stages.names.length > 1) {
    bar.append(
      ...stages.names.map((name, k) =>
        h("button", {
          type: "button",
          role: "tab",
          textContent: `${k + 1} ${name}`,
          onclick: () => void show(k),
        }),
      ),
    );
    keepKeys(bar);
    host.replaceChildren(h("style", { textContent: STYLE }), bar, place);
  } else host.replaceChildren(place);
  void show(kept?.stage ?? stages.first);
  return {
    dispose: (): void => {
      view?.dispose();
      host.replaceChildren();
    },
  };
}

const STYLE = `
.tfnb-graph-stages { display: flex; flex-wrap: wrap; gap: 2px; margin-bottom: 3px; }
.tfnb-graph-stages button {
  font: 12px "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif; cursor: pointer;
  color: var(--jp-ui-font-color1, CanvasText); background: var(--jp-layout-color1, Canvas);
  border: 1px solid var(--jp-border-color1, #c4c4c4); border-radius: 3px; padding: 3px 8px;
}
.tfnb-graph-stages button[aria-selected="true"] {
  border-color: var(--jp-brand-color1, #0072b2); font-weight: 600;
}`;

// The style of the extension's own elements, in JupyterLab's colours.

import { h } from "../views/dom";

const STYLE = `
.tfnb-served { overflow: auto; padding: 8px 12px; background: var(--jp-layout-color0); outline: none; }
.tfnb-served-status { color: var(--jp-ui-font-color2); font-size: var(--jp-ui-font-size1); padding: 4px 0; overflow-wrap: anywhere; }
.tfnb-served-graph { overflow: hidden; }
.tfnb-served-graph div:has(.tfnb-graph-view) { height: 100%; }
.tfnb-served-graph .tfnb-graph-view { height: 100% !important; box-sizing: border-box; }
.tfnb-panel { overflow: auto; padding: 8px; color: var(--jp-ui-font-color1); background: var(--jp-layout-color1);
  font-size: var(--jp-ui-font-size1); }
.tfnb-panel h3 { font-size: var(--jp-ui-font-size1); margin: 12px 0 4px; }
.tfnb-panel p { margin: 4px 0; color: var(--jp-ui-font-color2); overflow-wrap: anywhere; }
.tfnb-panel ul { list-style: none; margin: 0; padding: 0; }
.tfnb-panel li { padding: 5px 8px; margin: 3px 0; border: 1px solid var(--jp-border-color2); border-radius: 3px;
  overflow-wrap: anywhere; }
.tfnb-panel small { display: block; color: var(--jp-ui-font-color2); }
.tfnb-panel button { font: inherit; color: var(--jp-ui-font-color1); background: var(--jp-layout-color2); padding: 2px 10px;
  border: 1px solid var(--jp-border-color1); border-radius: 3px; cursor: pointer; }
.tfnb-panel li button { float: right; margin-left: 8px; }
.tfnb-panel :focus-visible { outline: 2px solid var(--jp-brand-color1); }
`;

/** Adds the style to the page. */
export function addStyle(): void {
  document.head.append(h("style", { textContent: STYLE }));
}

// The icons of tfnb, in the colours of JupyterLab's icons: three boxes and the edges between them; a box that is added.
import { LabIcon } from "@jupyterlab/ui-components";

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" width="16">
<g class="jp-icon3" fill="#616161"><rect x="1.5" y="1.5" width="5" height="4" rx="1"/><rect x="9.5" y="1.5" width="5" height="4" rx="1"/>
<rect x="5.5" y="10.5" width="5" height="4" rx="1"/><path d="M3.4 5.5h1.2v1.9h6.8V5.5h1.2v3.1H8.6v1.9H7.4V8.6h-4z"/></g></svg>`;

export const tfnbIcon = new LabIcon({ name: "tfnb:icon", svgstr: SVG });

const BUILDER_SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" width="16">
<g class="jp-icon3" fill="#616161"><rect x="1.5" y="1.5" width="5" height="4" rx="1"/><rect x="9.5" y="10.5" width="5" height="4" rx="1"/>
<path d="M3.4 5.5h1.2v6.4h4.9v1.2H3.4zM11.4 1.5h1.2v2.4H15v1.2h-2.4v2.4h-1.2V5.1H9V3.9h2.4z"/></g></svg>`;

export const builderIcon = new LabIcon({ name: "tfnb:builder-icon", svgstr: BUILDER_SVG });

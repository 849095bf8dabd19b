// The icon of tfnb: three boxes and the edges between them, in the colours of JupyterLab's icons.
import { LabIcon } from "@jupyterlab/ui-components";

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" width="16">
<g class="jp-icon3" fill="#616161"><rect x="1.5" y="1.5" width="5" height="4" rx="1"/><rect x="9.5" y="1.5" width="5" height="4" rx="1"/>
<rect x="5.5" y="10.5" width="5" height="4" rx="1"/><path d="M3.4 5.5h1.2v1.9h6.8V5.5h1.2v3.1H8.6v1.9H7.4V8.6h-4z"/></g></svg>`;

export const tfnbIcon = new LabIcon({ name: "tfnb:icon", svgstr: SVG });

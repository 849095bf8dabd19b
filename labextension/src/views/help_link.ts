// The "?" of a view: a link to its page of the installed help, where a Jupyter server is known that has it.
import { h } from "./dom";

/** The key of the data set by which JupyterLab's plugin knows such a link, and opens it in a tab of its own. */
export const HELP_PAGE = "tfnbHelp";

/** The address below which the pages lie, from what Jupyter's pages say of their server; null on other pages. */
function pages(): string | null {
  const config = document.getElementById("jupyter-config-data")?.textContent;
  if (!config) return null;
  try {
    const { baseUrl } = JSON.parse(config) as { baseUrl?: unknown };
    return typeof baseUrl === "string" ? `${baseUrl.replace(/\/*$/, "/")}tfnb/docs/` : null;
  } catch {
    return null;
  }
}

/** A link to the page of a view, named like "graph", or null where there is no server to ask. */
export function helpLink(view: string): HTMLAnchorElement | null {
  const base = pages();
  if (base === null) return null;
  const page = `docs/${view}.html`;
  const title = "Open the help on this view";
  const link = h("a", { textContent: "?", title, ariaLabel: title });
  link.href = base + page;
  link.target = "_blank";
  link.rel = "noopener";
  link.dataset[HELP_PAGE] = page;
  Object.assign(link.style, {
    alignSelf: "center",
    border: "1px solid currentcolor",
    borderRadius: "50%",
    color: "inherit",
    flex: "none",
    font: "inherit",
    height: "1.4em",
    lineHeight: "1.4em",
    opacity: "0.75",
    textAlign: "center",
    textDecoration: "none",
    width: "1.4em",
  });
  return link;
}

// The help: pages that the server has installed, in a tab of JupyterLab; elsewhere, as in Notebook 7, in one of the browser.
import {
  ILabShell,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin,
} from "@jupyterlab/application";
import { ICommandPalette, MainAreaWidget } from "@jupyterlab/apputils";
import { URLExt } from "@jupyterlab/coreutils";
import { ILauncher } from "@jupyterlab/launcher";
import { ServerConnection } from "@jupyterlab/services";
import { IFrame } from "@jupyterlab/ui-components";
import { HELP_PAGE } from "../views/help_link";
import { tfnbIcon } from "./icons";

export const OPEN_HELP = "tfnb:help";
const ID = "tfnb-help";

/** The pages read the theme of the page around them and keep what was searched, so they have its origin. */
const SANDBOX: readonly IFrame.SandboxExceptions[] = [
  "allow-same-origin",
  "allow-scripts",
  "allow-forms",
  "allow-downloads",
  "allow-popups",
];

function frame(): MainAreaWidget<IFrame> {
  const content = new IFrame({ sandbox: [...SANDBOX] });
  const widget = new MainAreaWidget({ content });
  widget.id = ID;
  widget.title.label = "tfnb: help";
  widget.title.icon = tfnbIcon;
  widget.title.closable = true;
  const iframe = content.node.querySelector("iframe");
  if (iframe) iframe.title = "help of tfnb";
  iframe?.sandbox.add("allow-popups-to-escape-sandbox"); // JupyterLab's list of names has a misprint here
  return widget;
}

const help: JupyterFrontEndPlugin<void> = {
  id: "tfnb:help",
  description: "The installed help, opened by the Help menu, the launcher and links of widgets.",
  autoStart: true,
  optional: [ILabShell, ICommandPalette, ILauncher],
  activate(
    app: JupyterFrontEnd,
    shell: ILabShell | null,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
  ) {
    let shown: MainAreaWidget<IFrame> | undefined;
    app.commands.addCommand(OPEN_HELP, {
      label: (args) => (args.short ? "tfnb" : "tfnb: help"),
      caption: "Tutorials, how-to pages and the reference, searchable and without a network",
      icon: (args) => (args.short ? undefined : tfnbIcon),
      describedBy: {
        args: {
          type: "object",
          properties: { page: { type: "string" }, short: { type: "boolean" } },
        },
      },
      execute: (args) => {
        const { baseUrl } = ServerConnection.makeSettings();
        const page = typeof args.page === "string" ? args.page : "";
        const address = URLExt.join(baseUrl, "tfnb/docs/") + page;
        if (!shell) {
          window.open(address, "_blank", "noopener");
          return;
        }
        if (!shown || shown.isDisposed) shown = frame();
        if (page || !shown.content.url) shown.content.url = address;
        if (!shown.isAttached) shell.add(shown, "main");
        shell.activateById(ID);
      },
    });
    palette?.addItem({ command: OPEN_HELP, category: "tfnb" });
    launcher?.add({ command: OPEN_HELP, category: "tfnb", rank: 3 });
    document.addEventListener("click", (event) => {
      const path = event.composedPath();
      const link = path.find(
        (node) => node instanceof HTMLAnchorElement && HELP_PAGE in node.dataset,
      );
      const plain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey);
      if (!shell || !plain || !(link instanceof HTMLAnchorElement)) return;
      event.preventDefault();
      void app.commands.execute(OPEN_HELP, { page: link.dataset[HELP_PAGE] ?? "" });
    });
  },
};

export default help;

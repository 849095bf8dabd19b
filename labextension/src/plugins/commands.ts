// Commands of the palette and cards of the launcher.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { IDefaultFileBrowser } from "@jupyterlab/filebrowser";
import { ILauncher } from "@jupyterlab/launcher";

export const NEW_NOTEBOOK = "tfnb:new-notebook";

const commands: JupyterFrontEndPlugin<void> = {
  id: "tfnb:commands",
  description: "Commands of the palette and cards of the launcher.",
  autoStart: true,
  optional: [ICommandPalette, ILauncher, IDefaultFileBrowser],
  activate(
    app: JupyterFrontEnd,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
    browser: IDefaultFileBrowser | null,
  ) {
    app.commands.addCommand(NEW_NOTEBOOK, {
      label: "tfnb: new notebook",
      caption: "A notebook of Python, for a dataflow graph",
      execute: () =>
        app.commands.execute("notebook:create-new", {
          cwd: browser?.model.path ?? "",
          kernelName: "python3",
        }),
    });
    palette?.addItem({ command: NEW_NOTEBOOK, category: "tfnb" });
    launcher?.add({ command: NEW_NOTEBOOK, category: "tfnb", rank: 0 });
  },
};

export default commands;

// The commands in the palette and the cards in the launcher.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { IDefaultFileBrowser } from "@jupyterlab/filebrowser";
import { ILauncher } from "@jupyterlab/launcher";
import { OPEN_FOLDER } from "./documents";
import { tfnbIcon } from "./icons";

export const NEW_NOTEBOOK = "tfnb:new-notebook";
const FIRST_CELL = "import numpy as np\nimport tfnb as tf";

// The part of a new notebook's interface that is used here; importing its package would bundle half of JupyterLab.
interface NewNotebook {
  readonly context: { readonly ready: Promise<void> };
  readonly content: {
    readonly model: {
      readonly cells: {
        get(k: number): { readonly sharedModel: { setSource(text: string): void } };
      };
    } | null;
  };
}

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
      caption: "A notebook that has imported tfnb",
      icon: tfnbIcon,
      describedBy: { args: { type: "object", properties: { cwd: { type: "string" } } } },
      execute: async (args) => {
        const cwd = typeof args.cwd === "string" ? args.cwd : (browser?.model.path ?? "");
        const options = { cwd, kernelName: "python3" };
        const created: NewNotebook = await app.commands.execute("notebook:create-new", options);
        await created.context.ready;
        created.content.model?.cells.get(0).sharedModel.setSource(FIRST_CELL);
        return created;
      },
    });
    palette?.addItem({ command: NEW_NOTEBOOK, category: "tfnb" });
    launcher?.add({ command: NEW_NOTEBOOK, category: "tfnb", rank: 0 });
    launcher?.add({ command: OPEN_FOLDER, category: "tfnb", rank: 1 });
  },
};

export default commands;

// The visual graph builder in JupyterLab: its code stands in a cell, and it opens from the launcher and the command
// palette.

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { IDefaultFileBrowser, IFileBrowserFactory } from "@jupyterlab/filebrowser";
import { ILauncher } from "@jupyterlab/launcher";
import { CELL_EVENT, type CellLink, type CellRequest } from "../views/cell_link";
import { builderIcon } from "./icons";
import {
  asNotebook,
  cellAround,
  type Notebook,
  type NotebookCell,
  type SharedCell,
} from "./notebooks";

export const OPEN_BUILDER = "tfnb:open-builder";
const MAGIC = /^%%tfnb_build\b[^\n]*(?:\n|$)/;
const FIRST_CELL = "import numpy as np\nimport tfnb as tf";
const BUILDER_CELL = "%%tfnb_build\nimport tfnb as tf\n";
const PAUSE = 400; // milliseconds of not typing after which the diagram follows the cell
const KEY = "tfnb"; // of the cell's metadata

interface Kept {
  /** The id of the cell that has the code, if it is another one. */
  readonly code?: string;
  /** What the view keeps, as one line of the file. */
  readonly view?: string;
}

/** Connects a view with the cell that has its code: the magic cell that shows it, or a cell below that it inserts. It
 * holds the cells' contents, since a closed notebook takes them from its widgets before the view goes. */
class Link implements CellLink {
  private later: ReturnType<typeof setTimeout> | undefined;
  private followed: SharedCell | null = null;
  private last: string | null = null;
  private readonly own: SharedCell;

  constructor(
    private readonly notebook: Notebook,
    private readonly cell: NotebookCell,
    private readonly changed: (source: string) => void,
  ) {
    this.own = cell.model.sharedModel;
    this.follow(this.codeCell());
  }

  read(): string | null {
    const cell = this.codeCell();
    return cell && bodyOf(cell);
  }

  write(source: string): void {
    const cell = this.codeCell();
    if (!cell) {
      this.insert(source);
      return;
    }
    this.follow(cell);
    if (this.later !== undefined) return; // what is being typed is newer, and is sent soon
    this.last = source;
    const text = cell.getSource();
    const head = MAGIC.exec(text)?.[0] ?? "";
    const changed = (head && !head.endsWith("\n") ? `${head}\n` : head) + source;
    // Only the part that differs is replaced, so that the cursor and other people's edits stay.
    const start = common(text, changed);
    const end = common(reversed(text.slice(start)), reversed(changed.slice(start)));
    if (changed !== text)
      cell.updateSource(start, text.length - end, changed.slice(start, changed.length - end));
  }

  kept(): string {
    return this.keeps.view ?? "";
  }

  keep(view: string): void {
    if (view !== this.kept()) this.setKept({ ...this.keeps, view });
  }

  dispose(): void {
    clearTimeout(this.later);
    this.later = undefined;
    this.follow(null);
  }

  private get keeps(): Kept {
    return (this.own.getMetadata(KEY) ?? {}) as Kept;
  }

  private setKept(kept: Kept): void {
    this.own.setMetadata(KEY, kept);
  }

  private codeCell(): SharedCell | null {
    if (MAGIC.test(this.own.getSource())) return this.own;
    const { code } = this.keeps;
    if (!code) return null;
    const { widgets } = this.notebook.content;
    return widgets.find((one) => one.model.id === code)?.model.sharedModel ?? null;
  }

  private insert(source: string): void {
    const { widgets, model } = this.notebook.content;
    const at = widgets.indexOf(this.cell) + 1;
    if (!model || at === 0) return;
    model.sharedModel.insertCell(at, { cell_type: "code", source });
    const inserted = this.notebook.content.widgets[at]?.model;
    if (!inserted) return;
    this.last = source;
    this.setKept({ ...this.keeps, code: inserted.id });
    this.follow(inserted.sharedModel);
  }

  private follow(cell: SharedCell | null): void {
    if (cell === this.followed) return;
    this.followed?.changed.disconnect(this.typed, this);
    this.followed = cell;
    if (!cell) return;
    this.last = bodyOf(cell);
    cell.changed.connect(this.typed, this);
  }

  // The diagram follows what is typed after a pause.
  private typed(_: unknown, change: { readonly sourceChange?: unknown }): void {
    if (!change.sourceChange || (this.followed && bodyOf(this.followed) === this.last)) return;
    clearTimeout(this.later);
    this.later = setTimeout(() => {
      this.later = undefined;
      const cell = this.followed;
      const source = cell && bodyOf(cell);
      if (source === null || source === this.last) return;
      this.last = source;
      this.changed(source);
    }, PAUSE);
  }
}

/** How many characters two texts have in common at their beginning. */
function common(a: string, b: string): number {
  let k = 0;
  while (k < a.length && k < b.length && a[k] === b[k]) k++;
  return k;
}

const reversed = (text: string): string => [...text.split("")].reverse().join("");

/** The code in a cell, without the line of the magic. */
function bodyOf(cell: SharedCell): string {
  return cell.getSource().replace(MAGIC, "");
}

async function newNotebook(app: JupyterFrontEnd, cwd: string, cells: string[]): Promise<Notebook> {
  const options = { cwd, kernelName: "python3" };
  const notebook = (await app.commands.execute("notebook:create-new", options)) as Notebook;
  await notebook.context.ready;
  await notebook.sessionContext.ready;
  const { content } = notebook;
  const shared = content.model?.sharedModel;
  cells.forEach((source, at) => {
    if (at === 0) content.widgets[0]?.model.sharedModel.setSource(source);
    else shared?.insertCell(at, { cell_type: "code", source });
  });
  content.activeCellIndex = cells.length - 1;
  void app.commands.execute("notebook:run-all-cells");
  return notebook;
}

const builder: JupyterFrontEndPlugin<void> = {
  id: "tfnb:builder",
  description: "The visual graph builder: its code in a cell, and its ways in.",
  autoStart: true,
  optional: [ICommandPalette, ILauncher, IDefaultFileBrowser, IFileBrowserFactory],
  activate(
    app: JupyterFrontEnd,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
    browser: IDefaultFileBrowser | null,
    browsers: IFileBrowserFactory | null,
  ) {
    const { commands, shell } = app;
    document.addEventListener(CELL_EVENT, (event) => {
      const { detail: request } = event as CustomEvent<CellRequest>;
      const around = cellAround(app, event.target as Node);
      if (around) request.link = new Link(around.notebook, around.cell, request.changed);
    });

    const current = () => browsers?.tracker.currentWidget ?? browser;
    commands.addCommand(OPEN_BUILDER, {
      label: "tfnb: graph builder",
      caption: "Draw a graph, read it as Python, run it where you stand",
      icon: builderIcon,
      describedBy: {
        args: {
          type: "object",
          properties: { cwd: { type: "string" }, isLauncher: { type: "boolean" } },
        },
      },
      execute: async (args) => {
        const notebook = args.isLauncher ? null : asNotebook(shell.currentWidget);
        if (!notebook) {
          const cwd = typeof args.cwd === "string" ? args.cwd : (current()?.model.path ?? "");
          return newNotebook(app, cwd, [FIRST_CELL, BUILDER_CELL]);
        }
        const { content } = notebook;
        const at = content.activeCellIndex + 1;
        content.model?.sharedModel.insertCell(at, { cell_type: "code", source: BUILDER_CELL });
        content.activeCellIndex = at;
        await commands.execute("notebook:run-cell");
        return notebook;
      },
    });
    palette?.addItem({ command: OPEN_BUILDER, category: "tfnb" });
    const args = { isLauncher: true };
    launcher?.add({ command: OPEN_BUILDER, args, category: "tfnb", rank: -1 });
  },
};

export default builder;

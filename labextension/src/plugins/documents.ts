// Opens an event file, a graph or a Chrome trace in a viewer on a double click, and a folder by its context menu.
import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin,
} from "@jupyterlab/application";
import { ICommandPalette, MainAreaWidget, WidgetTracker } from "@jupyterlab/apputils";
import { PathExt } from "@jupyterlab/coreutils";
import {
  ABCWidgetFactory,
  Base64ModelFactory,
  type DocumentRegistry,
  DocumentWidget,
} from "@jupyterlab/docregistry";
import { IDefaultFileBrowser, IFileBrowserFactory } from "@jupyterlab/filebrowser";
import { ToolbarButton } from "@jupyterlab/ui-components";
import type { DocumentKind } from "../protocol/served";
import { tfnbIcon } from "./icons";
import { ServedWidget } from "./served_widget";

export const OPEN_FOLDER = "tfnb:open-folder";

const TYPES: readonly (Partial<DocumentRegistry.IFileType> & {
  name: string;
  kind: DocumentKind;
})[] = [
  {
    name: "tfnb-events",
    kind: "events",
    displayName: "TensorFlow event file",
    pattern: "tfevents",
    mimeTypes: ["application/x-tfevents"],
  },
  {
    name: "tfnb-graph",
    kind: "graph",
    displayName: "TensorFlow graph",
    extensions: [".pb", ".pbtxt", ".meta"],
    mimeTypes: ["application/x-tensorflow-graph"],
  },
  {
    name: "tfnb-trace",
    kind: "trace",
    displayName: "Chrome trace",
    extensions: [".trace.json"],
    pattern: "^(timeline|trace)[\\w.-]*\\.json$",
    mimeTypes: ["application/x-chrome-trace"],
  },
];
const VIEWERS: Readonly<Record<DocumentKind, string>> = {
  events: "tfnb summaries",
  graph: "tfnb graph",
  trace: "tfnb timeline",
};

/** A document model without content, because Jupyter's server reads these files and the browser does not need them. */
class NoContent extends Base64ModelFactory {
  override get name(): string {
    return "tfnb-no-content";
  }

  override get fileFormat(): null {
    return null;
  }

  override get collaborative(): boolean {
    return false;
  }
}

class Factory extends ABCWidgetFactory<DocumentWidget<ServedWidget>> {
  private readonly kind: DocumentKind;
  private readonly localPath: (path: string) => string;
  private readonly openFolder: (path: string) => void;

  constructor(
    kind: DocumentKind,
    type: string,
    localPath: (path: string) => string,
    openFolder: (path: string) => void,
  ) {
    super({
      name: VIEWERS[kind],
      modelName: "tfnb-no-content",
      fileTypes: [type],
      defaultFor: [type],
      readOnly: true,
    });
    this.kind = kind;
    this.localPath = localPath;
    this.openFolder = openFolder;
  }

  protected override createNewWidget(context: DocumentRegistry.Context) {
    // Avoids the checkpoint copy that opening a file creates; these files are never edited.
    const none = { id: "none", last_modified: new Date(0).toISOString() };
    context.listCheckpoints = () => Promise.resolve([none]);
    const content = new ServedWidget(this.kind, this.localPath(context.path));
    const widget = new DocumentWidget({ content, context });
    widget.toolbar.addItem("reload", reloadButton(content));
    if (this.kind === "events") {
      const button = new ToolbarButton({
        label: "Whole folder",
        tooltip: "Show all runs in the folder of this file, and below it",
        onClick: () => this.openFolder(PathExt.dirname(context.path)),
      });
      widget.toolbar.addItem("folder", button);
    }
    return widget;
  }
}

function reloadButton(content: ServedWidget): ToolbarButton {
  return new ToolbarButton({
    label: "Reload",
    tooltip: "Read the file again",
    onClick: () => void content.reload(),
  });
}

function folderWidget(path: string, localPath: string): MainAreaWidget<ServedWidget> {
  const widget = new MainAreaWidget({ content: new ServedWidget("events", localPath) });
  widget.id = `tfnb-folder-${path}`;
  widget.title.label = PathExt.basename(path) || "runs";
  widget.title.caption = `runs below ${path || "the root folder"}`;
  widget.title.icon = tfnbIcon;
  widget.title.closable = true;
  widget.toolbar.addItem("reload", reloadButton(widget.content));
  return widget;
}

const documents: JupyterFrontEndPlugin<void> = {
  id: "tfnb:documents",
  description: "Viewers of event files, graphs and Chrome traces.",
  autoStart: true,
  optional: [ILayoutRestorer, ICommandPalette, IDefaultFileBrowser, IFileBrowserFactory],
  activate(
    app: JupyterFrontEnd,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null,
    browser: IDefaultFileBrowser | null,
    browsers: IFileBrowserFactory | null,
  ) {
    const { commands, docRegistry, serviceManager, shell } = app;
    const localPath = (path: string) => serviceManager.contents.localPath(path);
    const openFolder = (path: string) => void commands.execute(OPEN_FOLDER, { path });
    docRegistry.addModelFactory(new NoContent());
    for (const { kind, ...type } of TYPES) {
      docRegistry.addFileType({ ...type, icon: tfnbIcon, fileFormat: null, contentType: "file" });
      const factory = new Factory(kind, type.name, localPath, openFolder);
      const tracker = new WidgetTracker<DocumentWidget<ServedWidget>>({
        namespace: `tfnb-${kind}`,
      });
      factory.widgetCreated.connect((_, widget) => {
        widget.title.icon = tfnbIcon;
        void tracker.add(widget);
      });
      docRegistry.addWidgetFactory(factory);
      void restorer?.restore(tracker, {
        command: "docmanager:open",
        args: (widget) => ({ path: widget.context.path, factory: VIEWERS[kind] }),
        name: (widget) => widget.context.path,
      });
    }

    const folders = new WidgetTracker<MainAreaWidget<ServedWidget>>({ namespace: "tfnb-folders" });
    const chosenFolder = () => {
      const current = browsers?.tracker.currentWidget ?? browser;
      const item = current
        ? [...current.selectedItems()].find((i) => i.type === "directory")
        : null;
      return item?.path ?? current?.model.path ?? "";
    };
    commands.addCommand(OPEN_FOLDER, {
      label: "tfnb: open log directory",
      caption: "Show the runs whose event files lie in the chosen folder, and below it",
      icon: tfnbIcon,
      describedBy: { args: { type: "object", properties: { path: { type: "string" } } } },
      execute: (args) => {
        const path = typeof args.path === "string" ? args.path : chosenFolder();
        const known = folders.find((widget) => widget.id === `tfnb-folder-${path}`);
        const widget = known ?? folderWidget(path, localPath(path));
        if (!known) {
          void folders.add(widget);
          shell.add(widget, "main");
        }
        shell.activateById(widget.id);
        return widget;
      },
    });
    palette?.addItem({ command: OPEN_FOLDER, category: "tfnb" });
    app.contextMenu.addItem({
      command: OPEN_FOLDER,
      selector: ".jp-DirListing-item[data-isdir='true']",
      rank: 3,
    });
    void restorer?.restore(folders, {
      command: OPEN_FOLDER,
      args: (widget) => ({ path: widget.id.slice("tfnb-folder-".length) }),
      name: (widget) => widget.id,
    });
  },
};

export default documents;

// The parts of notebooks that the extension uses. Importing JupyterLab's package would bundle half of it.

import type { JupyterFrontEnd } from "@jupyterlab/application";

interface Signal<T> {
  connect(slot: (sender: unknown, change: T) => void, self?: unknown): boolean;
  disconnect(slot: (sender: unknown, change: T) => void, self?: unknown): boolean;
}

/** The content of a cell that all browsers share; the cell's undo has its changes. */
export interface SharedCell {
  readonly id: string;
  readonly changed: Signal<{ readonly sourceChange?: unknown }>;
  getSource(): string;
  setSource(text: string): void;
  /** Replaces the characters from `start` to `end`. */
  updateSource(start: number, end: number, text: string): void;
  getMetadata(key: string): unknown;
  setMetadata(key: string, value: unknown): void;
}

export interface NotebookCell {
  readonly node: HTMLElement;
  readonly model: { readonly id: string; readonly type: string; readonly sharedModel: SharedCell };
}

export interface Notebook {
  readonly node: HTMLElement;
  readonly context: { readonly ready: Promise<void>; readonly path: string };
  readonly sessionContext: { readonly ready: Promise<void> };
  readonly content: {
    activeCellIndex: number;
    readonly widgets: readonly NotebookCell[];
    readonly model: {
      readonly sharedModel: {
        insertCell(at: number, cell: { cell_type: string; source: string }): unknown;
        deleteCell(at: number): void;
      };
    } | null;
  };
}

/** Returns the widget if it is a notebook that is open and has its content. */
export function asNotebook(widget: unknown): Notebook | null {
  const candidate = widget as Partial<Notebook> | null;
  return candidate?.content?.model && Array.isArray(candidate.content.widgets)
    ? (candidate as Notebook)
    : null;
}

/** Returns the notebook, and the cell in it, that contain an element of the page. */
export function cellAround(
  app: JupyterFrontEnd,
  element: Node,
): { notebook: Notebook; cell: NotebookCell } | null {
  for (const widget of app.shell.widgets("main")) {
    const notebook = widget.node.contains(element) ? asNotebook(widget) : null;
    const cell = notebook?.content.widgets.find((one) => one.node.contains(element));
    if (notebook && cell) return { notebook, cell };
  }
  return null;
}

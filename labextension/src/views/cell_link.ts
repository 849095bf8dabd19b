// The cell in which a view keeps its code. The JupyterLab extension, if it is there, connects a place of the page with
// its cell: it answers an event, so that neither of the two needs to import the other.

/** What a view can do with the cell that keeps its code. */
export interface CellLink {
  /** The code that the cell has now, or null if no cell has been chosen yet. */
  read(): string | null;
  /** Sets the code, as one step of the cell's own undo. A new cell is inserted below, if no cell has the code yet. */
  write(source: string): void;
  /** The text that was last kept with the cell, in its metadata, or "". */
  kept(): string;
  keep(text: string): void;
  dispose(): void;
}

export interface CellRequest {
  /** Called when the user, or another browser, has changed the code in the cell. */
  readonly changed: (source: string) => void;
  /** The answer. */
  link: CellLink | null;
}

export const CELL_EVENT = "tfnb-cell";

/** Returns the link to the cell around a place, or null where there is no extension or no notebook. */
export function linkCell(place: HTMLElement, changed: (source: string) => void): CellLink | null {
  const detail: CellRequest = { changed, link: null };
  place.dispatchEvent(new CustomEvent(CELL_EVENT, { bubbles: true, composed: true, detail }));
  return detail.link;
}

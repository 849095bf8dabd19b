// The places of the page in which a model draws: those that have its key now, and those that cells show later.
type Mount = (place: HTMLElement) => void;

/** Functions by the keys of models; the script beside a place calls the one with its key. */
declare global {
  var tfnbViews: Record<string, Mount> | undefined;
}

/** Calls `mount` for each place, until the returned function is called. */
export function inPlaces(key: string, mount: Mount): () => void {
  globalThis.tfnbViews ??= {};
  const views = globalThis.tfnbViews;
  views[key] = mount;
  const present = document.querySelectorAll<HTMLElement>(`[data-tfnb-view="${CSS.escape(key)}"]`);
  for (const place of present) mount(place);
  return () => {
    delete views[key];
  };
}

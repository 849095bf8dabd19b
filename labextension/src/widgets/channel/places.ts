// The places of the page in which a model draws: those that bear its key now, and those that cells show later.
type Mount = (place: HTMLElement) => void;

/** What the script beside a place calls, by the key of the model. */
declare global {
  var tfnbViews: Record<string, Mount> | undefined;
}

/** Calls `mount` for each place; gives what ends that. */
export function inPlaces(key: string, mount: Mount): () => void {
  globalThis.tfnbViews ??= {};
  const views = globalThis.tfnbViews;
  views[key] = mount;
  const there = document.querySelectorAll<HTMLElement>(`[data-tfnb-view="${CSS.escape(key)}"]`);
  for (const place of there) mount(place);
  return () => {
    delete views[key];
  };
}

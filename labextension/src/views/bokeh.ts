// Starts BokehJS, which a view provides as gzipped text, once per page and version.

export interface BokehModel {
  name: string | null;
  document: BokehDocument | null;
  data?: object;
  start?: number;
  end?: number;
  visible?: boolean;
  setv(values: object): void;
}

export interface BokehDocument {
  get_model_by_name(name: string): BokehModel | null;
}

export interface BokehView {
  el: HTMLElement;
  model: BokehModel;
  frame: {
    bbox: { left: number; right: number; top: number; bottom: number };
    x_scale: { invert(x: number): number; readonly s_compute: (x: number) => number };
    y_scale: { readonly s_compute: (y: number) => number };
  };
  export(kind: "png" | "svg"): { to_blob(): Promise<Blob> };
}

export interface BokehViews {
  roots: BokehView[];
  clear(): void;
}

export interface Bokeh {
  embed: { embed_item(item: object, place: HTMLElement): Promise<BokehViews> };
}

type Started = Record<string, Promise<Bokeh>>;

async function start(zipped: BlobPart): Promise<Bokeh> {
  const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"));
  const text = await new Response(stream).text();
  const holder: { Bokeh?: Bokeh } = {};
  new Function(text).call(holder);
  if (!holder.Bokeh) throw new Error("BokehJS did not start");
  return holder.Bokeh;
}

/** BokehJS of a version; `load` returns its gzipped text and is called only if the page has not started it. */
export function startedBokeh(version: string, load: () => Promise<BlobPart>): Promise<Bokeh> {
  // Saved charts use this variable too (tfnb/notebook/charts/loss_plot.py).
  const page = globalThis as typeof globalThis & { tfnbBokeh?: Started };
  page.tfnbBokeh ??= {};
  const started = page.tfnbBokeh;
  started[version] ??= load().then(start);
  const bokeh = started[version];
  // The next chart repeats a failed attempt.
  bokeh.catch(() => delete started[version]);
  return bokeh;
}

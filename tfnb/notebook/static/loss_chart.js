// The browser's side of tfnb/notebook/loss_plot.py: draws a Bokeh document and keeps its sources fed.
// BokehJS arrives as data of a model that all charts of a kernel share; it is started once per page and
// version, inside an object of its own, and is found again by the pictures that charts leave behind.

async function start(library) {
  const zipped = library.get("source");
  const text = await new Response(
    new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"))
  ).text();
  const holder = {};
  new Function(text).call(holder);
  return holder.Bokeh;
}

async function bokeh(model, version) {
  const loaded = (globalThis.tfnbBokeh ??= {});
  if (!loaded[version]) {
    const id = model.get("library").slice("IPY_MODEL_".length);
    loaded[version] = model.widget_manager.get_model(id).then(start);
  }
  return loaded[version];
}

function floats(view) {
  // A copy: a buffer of a message need not begin at a multiple of eight bytes.
  return new Float64Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

function fill(document, curves) {
  curves.forEach((curve, k) => {
    const source = document.get_model_by_name(`curve-${k}`);
    if (source) {
      source.data = {
        step: floats(curve.step),
        value: floats(curve.value),
        smooth: floats(curve.smooth),
      };
    }
  });
}

export default {
  async render({ model, el }) {
    let shown = null; // the views of the document on display
    let closed = false;
    let last = Promise.resolve();

    async function draw() {
      const item = JSON.parse(model.get("document"));
      const Bokeh = await bokeh(model, item.version);
      if (closed) return;
      const place = document.createElement("div");
      el.replaceChildren(place);
      shown?.clear();
      shown = await Bokeh.embed.embed_item(item, place);
      fill(shown.roots[0].model.document, model.get("curves"));
    }
    const redraw = () => (last = last.then(draw, draw));
    const refill = () =>
      (last = last.then(() => {
        if (shown && !closed) fill(shown.roots[0].model.document, model.get("curves"));
      }));

    model.on("change:document", redraw);
    model.on("change:curves", refill);
    await redraw();
    return () => {
      closed = true;
      model.off("change:document", redraw);
      model.off("change:curves", refill);
      shown?.clear();
    };
  },
};

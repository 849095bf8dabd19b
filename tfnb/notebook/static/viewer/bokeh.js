// BokehJS arrives as data of a model that all charts of a kernel share; it is started once per page and version.

async function start(library) {
  const zipped = library.get("source");
  const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"));
  const text = await new Response(stream).text();
  const holder = {};
  new Function(text).call(holder);
  return holder.Bokeh;
}

export function bokeh(model) {
  const version = model.get("templates").version;
  const loaded = (globalThis.tfnbBokeh ??= {});
  if (!loaded[version]) {
    const id = model.get("library").slice("IPY_MODEL_".length);
    loaded[version] = model.widget_manager.get_model(id).then(start);
  }
  return loaded[version];
}

// One chart made from a template: its sources by name, its ranges, and where a pixel lies on its axis.
export class Chart {
  static async make(model, name, place) {
    const Bokeh = await bokeh(model);
    const item = JSON.parse(JSON.stringify(model.get("templates").charts[name]));
    const views = await Bokeh.embed.embed_item(item, place);
    return new Chart(views);
  }

  constructor(views) {
    this.views = views;
    this.view = views.roots[0];
    this.document = this.view.model.document;
    this.set = {};
  }

  fill(name, columns) {
    const source = this.document.get_model_by_name(name);
    if (source) source.data = columns;
  }

  // A range that the reader has zoomed stays as it is; "reset" gives the new one.
  range(name, [start, end]) {
    const range = this.document.get_model_by_name(name);
    const last = this.set[name];
    const untouched = !last || (range.start === last[0] && range.end === last[1]);
    range.setv({ reset_start: start, reset_end: end });
    if (untouched) {
      range.setv({ start, end });
      this.set[name] = [start, end];
    }
  }

  cursor(x) {
    const line = this.document.get_model_by_name("cursor");
    if (!line) return;
    line.setv(x === null ? { visible: false } : { location: x, visible: true });
  }

  // The x at a place on the screen, or null outside of the frame.
  xAt(clientX, clientY) {
    const box = this.view.el.getBoundingClientRect();
    const frame = this.view.frame;
    const x = clientX - box.left;
    const y = clientY - box.top;
    const { left, right, top, bottom } = frame.bbox;
    if (x < left || x > right || y < top || y > bottom) return null;
    return frame.x_scale.invert(x);
  }

  blob(kind) {
    return this.view.export(kind).to_blob();
  }

  close() {
    this.views.clear();
  }
}

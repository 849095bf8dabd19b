// The browser's side of tfnb/notebook/loss_plot.py: draws a Bokeh document and keeps its sources fed.
import type { AnyModel } from "@anywidget/types";
import { type BokehDocument, type BokehViews, startedBokeh } from "../views/bokeh";
import { floats } from "../views/viewer/numbers";

type Bytes = ArrayBufferView<ArrayBuffer>;

interface State {
  library: string;
  document: string;
  curves: { step: Bytes; value: Bytes; smooth: Bytes }[];
}
type Model = AnyModel<State>;

async function library(model: Model): Promise<BlobPart> {
  const id = model.get("library").slice("IPY_MODEL_".length);
  const found = (await model.widget_manager.get_model(id)) as AnyModel<{ source: Bytes }>;
  return found.get("source");
}

function fill(document: BokehDocument, curves: State["curves"]): void {
  curves.forEach((curve, k) => {
    const source = document.get_model_by_name(`curve-${k}`);
    if (!source) return;
    source.data = {
      step: floats(curve.step),
      value: floats(curve.value),
      smooth: floats(curve.smooth),
    };
  });
}

export default {
  async render({ model, el }: { model: Model; el: HTMLElement }) {
    let shown: BokehViews | null = null; // the views of the document on display
    let closed = false;
    let last = Promise.resolve();

    const refresh = () => {
      const document = shown?.roots[0]?.model.document;
      if (document && !closed) fill(document, model.get("curves"));
    };
    const draw = async () => {
      const item = JSON.parse(model.get("document"));
      const Bokeh = await startedBokeh(item.version, () => library(model));
      if (closed) return;
      const place = document.createElement("div");
      el.replaceChildren(place);
      shown?.clear();
      shown = await Bokeh.embed.embed_item(item, place);
      refresh();
    };
    const redraw = () => {
      last = last.then(draw, draw);
      return last;
    };
    const refill = () => {
      last = last.then(refresh);
    };

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

// The browser's side of tfnb/notebook/charts/loss_plot.py: draws a Bokeh document and updates its curves.
import type { AnyModel } from "@anywidget/types";
import type { Bytes } from "../protocol/bytes";
import type { AppendLossPoints, LossState, WholeRequest } from "../protocol/loss";
import { startedBokeh } from "../views/bokeh";
import { LossChart } from "../views/loss_chart";
import { floats } from "../views/viewer/numbers";
import { listen } from "./channel/listen";

type Model = AnyModel<LossState>;

async function library(model: Model): Promise<BlobPart> {
  const id = model.get("library").slice("IPY_MODEL_".length);
  const carrier = (await model.widget_manager.get_model(id)) as AnyModel<{ source: Bytes }>;
  return carrier.get("source");
}

export default {
  async initialize({ model }: { model: Model }): Promise<void> {
    await listen(model, model.get("key"));
  },

  async render({ model, el }: { model: Model; el: HTMLElement }): Promise<() => void> {
    const chart = new LossChart();
    let closed = false;
    let last = Promise.resolve();
    const draw = async () => {
      const item = JSON.parse(model.get("document"));
      const bokeh = await startedBokeh(item.version, () => library(model));
      if (!closed) await chart.show(bokeh, item, item.log === true, el);
    };
    const redraw = () => {
      last = last.then(draw, draw);
      return last;
    };
    let asked = false; // whether all points were requested, because some were missing
    const refill = () => {
      asked = false;
      chart.set(model.get("curves"));
    };
    const grow = (message: AppendLossPoints, buffers: Bytes[]) => {
      if (message.op !== "append" || document.hidden) return;
      if (asked || chart.grow(message, floats(buffers[0]))) return;
      asked = true;
      const request: WholeRequest = { op: "whole" };
      model.send(request);
    };
    model.on("change:document", redraw);
    model.on("change:curves", refill);
    model.on("msg:custom", grow);
    refill();
    await redraw();
    return () => {
      closed = true;
      model.off("change:document", redraw);
      model.off("change:curves", refill);
      model.off("msg:custom", grow);
      chart.close();
    };
  },
};

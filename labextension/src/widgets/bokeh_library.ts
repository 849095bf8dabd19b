// The browser's side of tfnb/notebook/charts/bokeh_library.py: starts BokehJS as soon as it has arrived, while the kernel
// still reads the data of the charts.
import type { AnyModel } from "@anywidget/types";
import { startedBokeh } from "../views/bokeh";

interface State {
  source: ArrayBufferView<ArrayBuffer>;
  version: string;
}

export default {
  initialize({ model }: { model: AnyModel<State> }): void {
    const start = startedBokeh(model.get("version"), async () => model.get("source"));
    start.catch(() => undefined); // the chart that needs BokehJS tries again, and shows the error
  },
};

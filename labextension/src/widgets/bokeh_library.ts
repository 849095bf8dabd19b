// The browser's side of tfnb/notebook/charts/bokeh_library.py: starts BokehJS as soon as it is here, while the kernel still
// reads what is to be drawn.
import type { AnyModel } from "@anywidget/types";
import { startedBokeh } from "../views/bokeh";

interface State {
  source: ArrayBufferView<ArrayBuffer>;
  version: string;
}

export default {
  initialize({ model }: { model: AnyModel<State> }): void {
    const start = startedBokeh(model.get("version"), async () => model.get("source"));
    start.catch(() => undefined); // the chart that needs it tries again, and says why it cannot
  },
};

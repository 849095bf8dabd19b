// The browser's side of tfnb/notebook/viewer/view.py: a model keeps what the kernel has sent; each of its views is a
// page of its own.
import type { AnyModel } from "@anywidget/types";
import type {
  Answer,
  Bytes,
  Catalogue,
  Content,
  Contents,
  Kind,
  Templates,
  Wanted,
} from "../protocol/viewer";
import { firstOptions, type Options } from "../views/viewer/options";
import { drawViewer, type ViewerSource } from "../views/viewer/viewer";
import "../views/viewer/viewer.css";

interface State {
  library: string; // the id of the model that brings BokehJS
  templates: Templates;
  catalogue: Catalogue;
  changes: Content[];
  wanted: Wanted;
  picture: string;
  has_kernel?: boolean; // false where Jupyter's server feeds the model
}
type Model = AnyModel<State>;

interface Held {
  contents: Map<string, Content>;
  /** What the reader chose stays when the notebook takes the view off the page and makes it anew. */
  options: Options;
}

// By `picture`, which names a model: anywidget gives each of its views another object for it.
const held = new Map<string, Held>();
const key = (kind: string, tag: string) => `${kind}\n${tag}`;

function keep(model: Model): Held {
  const name = model.get("picture");
  const known = held.get(name) ?? { contents: new Map(), options: firstOptions() };
  held.set(name, known);
  for (const content of model.get("changes")) {
    known.contents.set(key(content.kind, content.tag), content);
  }
  return known;
}

async function library(model: Model): Promise<BlobPart> {
  const id = model.get("library").slice("IPY_MODEL_".length);
  const found = (await model.widget_manager.get_model(id)) as AnyModel<{ source: Bytes }>;
  return found.get("source");
}

function sourceOf(model: Model): ViewerSource {
  const { contents } = keep(model);
  return {
    templates: model.get("templates"),
    hasKernel: model.get("has_kernel") !== false,
    catalogue: () => model.get("catalogue"),
    content: <K extends Kind>(kind: K, tag: string) =>
      contents.get(key(kind, tag)) as Contents[K] | undefined,
    library: () => library(model),
    want: (wanted) => {
      model.set("wanted", wanted);
      model.save_changes();
    },
    ask: (message) => model.send(message),
  };
}

// The saved picture is for when there is no kernel: while a view lives, it is hidden.
function hidePicture(id: string): () => void {
  const style = document.createElement("style");
  style.textContent = `#${CSS.escape(id)} { display: none; }`;
  document.head.append(style);
  return () => style.remove();
}

const GONE =
  "the kernel is gone: what is shown stays as it was; run the cell again for a live view";

export default {
  initialize({ model }: { model: Model }) {
    keep(model);
    model.on("change:changes", () => keep(model));
    return () => held.delete(model.get("picture"));
  },

  render({ model, el }: { model: Model; el: HTMLElement }) {
    const { options } = keep(model);
    const page = drawViewer(el, sourceOf(model), options);
    const unhide = hidePicture(model.get("picture"));
    // The same kind of handler for each event, so that all are taken off again.
    const handlers: [string, (...args: never[]) => void][] = [
      ["change:catalogue", () => page.catalogueChanged()],
      ["change:changes", () => page.contentsChanged()],
      ["msg:custom", (told: Answer, buffers: Bytes[]) => page.answer(told, buffers)],
      ["comm_live_update", () => page.note(GONE)],
    ];
    for (const [event, act] of handlers) model.on(event as "msg:custom", act as () => void);
    model.send({ op: "hello" });
    return () => {
      for (const [event, act] of handlers) model.off(event, act as () => void);
      model.send({ op: "bye" });
      unhide();
      page.close();
    };
  },
};

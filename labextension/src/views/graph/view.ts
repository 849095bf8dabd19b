// The graph view: an interactive drawing, for a widget and for a file alike. It requests only the details of
// a selected node, so it works while the kernel is busy, and without a kernel.

import type { GraphCard, GraphOptions } from "../../protocol/graph";
import { h, keepKeys } from "../dom";
import { Card } from "./card";
import { Layouter } from "./layouter";
import { type Direction, Tracer } from "./marks";
import { at, count, type GraphModel } from "./model";
import { Palette } from "./palette";
import { Renderer } from "./renderer";
import { Arrangement, type Scene } from "./scene";
import { Search } from "./search";
import { Selection } from "./selection";
import { type Steered, steer } from "./steer";
import style from "./style.css?text";
import { Toolbar } from "./toolbar";
import { Viewport } from "./viewport";

export { GraphModel } from "./model";

export interface ViewOptions extends GraphOptions {
  /** Returns the details of a box that the columns do not contain; without it there are none. */
  details?: (box: number) => Promise<GraphCard | null>;
  /** The path of the box that is selected at first. */
  selected?: string;
  /** Is called with the paths of the open boxes and of the selected one when the user has changed them. */
  keep?: (open: string[], selected: string) => void;
}

const TIMEOUT = 1500; // milliseconds until the view says that the kernel has not answered
const CARD_WIDTH = 300;
const HEIGHT = 560; // in pixels
const LEAST = 240; // room for the details of a node

/** Draws `model` in `host`; the drawing ends with `dispose`. */
export function drawGraph(
  host: HTMLElement,
  model: GraphModel,
  options: ViewOptions = {},
): GraphView {
  return new GraphView(host, model, options);
}

/** Connects the parts: the scene, what is selected, what is visible, and what draws and shows it. */
export class GraphView implements Steered {
  /** Settles when the first drawing is complete. */
  readonly ready: Promise<void>;
  private drawn: Scene | null = null;
  private readonly root = h("div", { className: "tfnb-graph-view" });
  private readonly stage = h("div", { className: "stage" });
  private readonly status = h("span", {
    className: "status",
    role: "status",
    "aria-live": "polite",
  });
  private readonly layouter = new Layouter();
  private readonly arrangement: Arrangement;
  private readonly selection: Selection;
  private readonly viewport: Viewport;
  private readonly renderer: Renderer;
  private readonly card: Card;
  private readonly search: Search;
  private readonly toolbar: Toolbar;
  private readonly observers: { disconnect(): void }[];

  constructor(
    host: HTMLElement,
    readonly model: GraphModel,
    private readonly options: ViewOptions,
  ) {
    const go = (box: number): void => void this.go(box);
    const tracer = new Tracer(model);
    this.arrangement = new Arrangement(model, this.layouter);
    this.selection = new Selection(tracer, () => this.selectionChanged());
    this.card = new Card(model, tracer, go, () => this.select(-1));
    this.search = new Search(
      model,
      go,
      (text) => this.say(text),
      () => this.viewport.canvas.focus(),
    );
    this.viewport = new Viewport(
      canvasOf(model),
      () => this.renderer.later(),
      () => (this.card.root.hidden ? 0 : CARD_WIDTH),
    );
    this.renderer = new Renderer(
      this.root,
      model,
      this.viewport,
      this.selection,
      options.colour ?? "structure",
    );
    this.toolbar = new Toolbar(
      this.search.input,
      Palette.choices(model),
      this.renderer.colouredBy,
      this.toolbarActions(),
    );
    this.toolbar.showTraced(null, false);
    this.build(host);
    this.observers = this.observe();
    for (const path of options.open ?? []) this.openPath(path);
    if (!options.open) this.arrangement.openWhatFits();
    this.ready = this.first();
  }

  private async first(): Promise<void> {
    this.viewport.resize(this.stage);
    await this.arrange();
    if (!this.options.open) await this.closeUntilReadable();
    this.adoptHeight();
    this.fit(false);
    this.select(this.model.find(this.options.selected ?? ""));
    this.renderer.draw();
  }

  private keep(): void {
    const { model, selected } = this;
    const open = [...this.arrangement.opened].map((box) => model.path(box));
    this.options.keep?.(open, selected < 0 ? "" : model.path(selected));
  }

  /** Closes scopes that were opened last, until the first drawing can be shown whole with labels that can be read. */
  private async closeUntilReadable(): Promise<void> {
    const { opened } = this.arrangement;
    while (opened.size && !this.viewport.isReadable(this.drawn)) {
      for (const box of [...opened].slice(Math.floor(opened.size / 2))) opened.delete(box);
      await this.arrange();
    }
  }

  /** A small graph takes no more height than it needs. */
  private adoptHeight(): void {
    const { root, stage, viewport, drawn } = this;
    if (this.options.height !== undefined || !drawn || !viewport.width) return;
    const around = root.offsetHeight - stage.clientHeight;
    const height = Math.min(Math.max(viewport.heightFor(drawn) + around, LEAST), HEIGHT);
    root.style.height = `${Math.round(height)}px`;
    viewport.resize(stage);
  }

  private toolbarActions() {
    const { renderer } = this;
    return {
      trace: (direction: Direction) => this.trace(direction),
      colour: renderer.colour.bind(renderer),
      zoom: (by: number) => this.zoom(by),
      fit: () => this.fit(true),
      saveSvg: () => renderer.saveSvg(),
      savePng: () => void renderer.savePng(),
      fullScreen: () => {
        if (document.fullscreenElement) void document.exitFullscreen();
        else void this.root.requestFullscreen();
      },
    };
  }

  private build(host: HTMLElement): void {
    const { root, stage, renderer, model } = this;
    root.style.height = `${this.options.height ?? HEIGHT}px`;
    stage.append(this.viewport.canvas, renderer.map.root, this.card.root);
    const foot = h("div", { className: "foot" }, renderer.legend, this.status);
    root.append(
      h("style", { textContent: style }),
      this.toolbar.root,
      this.search.list,
      stage,
      foot,
    );
    keepKeys(root);
    host.replaceChildren(root);
    steer(this, this.viewport);
    const missing = model.head.missing
      ? `; ${count(model.head.missing)} inputs are missing from the file`
      : "";
    this.say(`${count(at(model.ints.nodes, 0))} operations${missing}`);
  }

  private observe(): { disconnect(): void }[] {
    const sizes = new ResizeObserver(() => this.resize());
    sizes.observe(this.stage);
    const themes = new MutationObserver(() => this.renderer.restyle());
    themes.observe(document.body, {
      attributes: true,
      attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "class"],
    });
    return [sizes, themes];
  }

  private resize(): void {
    const first = !this.viewport.width;
    if (!this.viewport.resize(this.stage)) return;
    if (first) this.adoptHeight();
    if (first || this.viewport.isFitted) this.viewport.fit(this.drawn, this.viewport.isWhole, true);
    this.renderer.draw();
  }

  // ---- the scene -----------------------------------------------------------------------------------

  private async arrange(): Promise<void> {
    this.drawn = await this.arrangement.scene();
    this.viewport.setScene(this.drawn);
    this.viewport.canvas.dataset.boxes = String(this.drawn.boxes.length);
    this.renderer.show(this.drawn);
  }

  private openPath(path: string): void {
    const box = this.model.find(path);
    if (box < 0) return;
    this.arrangement.reveal(box);
    if (this.arrangement.canOpen(box)) this.arrangement.opened.add(box);
  }

  /** Opens or closes a scope where it is drawn. */
  async toggle(box: number): Promise<void> {
    if (!this.arrangement.canOpen(box)) return;
    const { opened } = this.arrangement;
    const before = this.drawn?.place.get(box);
    if (!opened.delete(box)) opened.add(box);
    await this.arrange();
    this.select(box);
    this.keep();
    const now = this.drawn?.place.get(box);
    if (!now || !before) return;
    this.viewport.keepInPlace(before, now);
    // The opened box may be outside of the window.
    if (opened.has(box)) this.viewport.bringIn(now);
    this.say(`${this.description(box)}, ${opened.has(box) ? "open" : "closed"}`);
  }

  /** Selects a node, also inside closed boxes, and shows it. */
  async go(box: number): Promise<void> {
    if (at(this.model.ints.main, this.model.parent(box)) === box && !this.drawn?.place.get(box)) {
      box = this.model.parent(box);
    }
    this.arrangement.reveal(box);
    await this.arrange();
    this.select(box);
    const place = this.drawn?.place.get(box);
    if (!place) return;
    this.viewport.centre(place);
    this.viewport.canvas.focus({ preventScroll: true });
  }

  get scene(): Scene | null {
    return this.drawn;
  }

  // ---- the selection -------------------------------------------------------------------------------

  get selected(): number {
    return this.selection.selected;
  }

  select(box: number): void {
    if (!this.selection.select(box)) return;
    this.keep();
    this.card.show(box);
    if (box < 0) return;
    this.say(this.description(box));
    this.askDetails(box);
  }

  hover(box: number): void {
    if (!this.selection.hover(box)) return;
    this.viewport.canvas.title = box < 0 ? "" : this.description(box);
  }

  /** Highlights all inputs or all outputs of the selected node; a second call ends the highlighting. */
  trace(direction: Direction): void {
    const { selection } = this;
    if (selection.selected < 0) {
      this.say("select a node first");
      return;
    }
    selection.trace(direction);
    if (!selection.traced || !selection.marks) return;
    const number = count(selection.marks.count);
    this.say(`${this.description(selection.selected)}: ${number} ${direction}`);
  }

  private selectionChanged(): void {
    const { selected, traced } = this.selection;
    this.toolbar.showTraced(traced, selected >= 0);
    this.renderer.later();
  }

  /** A kernel that is busy or has ended may never answer. */
  private askDetails(box: number): void {
    if (!this.options.details) return;
    const late = setTimeout(
      () => this.card.wait(box, "waiting for the kernel, which is busy or has ended"),
      TIMEOUT,
    );
    void this.options.details(box).then((card) => {
      clearTimeout(late);
      if (card) this.card.fill(card);
    });
  }

  /** The description of a box for screen readers: its name and its type. */
  private description(box: number): string {
    const { model } = this;
    const name = model.kind(box) === "series" ? model.label(box) : model.path(box);
    const what =
      model.type(box) || `${model.kind(box)} of ${count(at(model.ints.nodes, box))} operations`;
    return `${name}, ${what}`;
  }

  private say(text: string): void {
    this.status.textContent = text;
  }

  // ---- the window ----------------------------------------------------------------------------------

  fit(whole: boolean): void {
    this.viewport.fit(this.drawn, whole);
  }

  zoom(by: number): void {
    this.viewport.zoom(by);
  }

  focusSearch(): void {
    this.search.focus();
  }

  dispose(): void {
    this.renderer.dispose();
    this.viewport.camera.dispose();
    this.layouter.dispose();
    for (const observer of this.observers) observer.disconnect();
    this.root.remove();
  }
}

function canvasOf(model: GraphModel): HTMLCanvasElement {
  const all = count(at(model.ints.nodes, 0));
  return h("canvas", {
    className: "drawing",
    tabIndex: 0,
    role: "application",
    "aria-roledescription": "graph",
    ariaLabel: `dataflow graph of ${all} operations. Arrow keys select a neighbour, Enter opens and closes a scope, i and o highlight inputs and outputs, slash searches.`,
  });
}

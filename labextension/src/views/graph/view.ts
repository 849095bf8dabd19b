// The graph view: a drawing to walk through, for a widget and for a file alike. It asks nobody but for the details of a
// chosen box, so it works while the kernel is busy, and without one.

import type { ColourBy, GraphCard, GraphOptions } from "../../protocol/graph";
import { Camera } from "./camera";
import { Card } from "./card";
import { button, make } from "./dom";
import { Layouter } from "./layouter";
import { type Direction, type Marks, Tracer } from "./marks";
import { Minimap } from "./minimap";
import { at, count, type GraphModel } from "./model";
import { type Painting, paint } from "./paint";
import { Palette, type Theme, themeOf } from "./palette";
import { CanvasPen } from "./pen";
import { download, toPng, toSvg } from "./save";
import { Arrangement, type Scene, type SceneBox } from "./scene";
import { Search } from "./search";
import { steer } from "./steer";
import style from "./style.css?text";

export { GraphModel } from "./model";

export interface ViewOptions extends GraphOptions {
  /** Tells what the columns do not; left out where nobody knows more. */
  details?: (box: number) => Promise<GraphCard | null>;
}

const READABLE = 0.8;
const LARGEST = 1.2;
const PATIENCE = 1500;

/** Draws `model` in `host`; the drawing ends with `dispose`. */
export function drawGraph(
  host: HTMLElement,
  model: GraphModel,
  options: ViewOptions = {},
): GraphView {
  return new GraphView(host, model, options);
}

export class GraphView {
  readonly root = make("div", { className: "tfnb-graph-view" });
  readonly canvas = make("canvas", {
    className: "drawing",
    tabindex: 0,
    role: "application",
    "aria-roledescription": "graph",
  });
  readonly camera = new Camera(() => this.later());
  /** Settled when the first drawing is there. */
  readonly ready: Promise<void>;
  selected = -1;
  hovered = -1;
  scene: Scene | null = null;
  private readonly status = make("span", {
    className: "status",
    role: "status",
    "aria-live": "polite",
  });
  private readonly legend = make("span", { className: "legend" });
  private readonly layouter = new Layouter();
  private readonly arrangement: Arrangement;
  private readonly tracer: Tracer;
  private readonly card: Card;
  private readonly search: Search;
  private readonly map: Minimap;
  private readonly stage = make("div", { className: "stage" });
  private readonly tracers: Record<Direction, HTMLButtonElement>;
  private readonly watchers: { disconnect(): void }[] = [];
  private palette: Palette;
  private theme: Theme = themeOf(document.body);
  private marks: Marks | null = null;
  private traced: Direction | null = null;
  private frame = 0;
  private width = 0;
  private height = 0;

  constructor(
    host: HTMLElement,
    readonly model: GraphModel,
    private readonly options: ViewOptions,
  ) {
    this.arrangement = new Arrangement(model, this.layouter);
    this.tracer = new Tracer(model);
    this.palette = new Palette(model, options.colour ?? "structure");
    this.card = new Card(
      model,
      this.tracer,
      (box) => void this.go(box),
      () => this.select(-1),
    );
    this.search = new Search(
      model,
      (box) => void this.go(box),
      (text) => this.say(text),
      () => this.canvas.focus(),
    );
    this.map = new Minimap(this.camera, () => [this.width, this.height]);
    this.tracers = {
      inputs: button("⇧ Inputs", "show all that the chosen box is computed from (i)", () =>
        this.trace("inputs"),
      ),
      outputs: button("⇩ Outputs", "show all that depends on the chosen box (o)", () =>
        this.trace("outputs"),
      ),
    };
    this.build(host);
    for (const path of options.open ?? []) this.openPath(path);
    if (!options.open) this.arrangement.openWhatFits();
    this.ready = this.first();
  }

  private async first(): Promise<void> {
    this.resize();
    await this.arrange();
    this.fit(false);
    this.draw();
  }

  private build(host: HTMLElement): void {
    const { root, canvas, model } = this;
    const all = count(at(model.ints.nodes, 0));
    canvas.setAttribute(
      "aria-label",
      `dataflow graph of ${all} operations. Arrow keys walk, Enter opens and closes, i and o trace, slash searches.`,
    );
    root.style.height = `${this.options.height ?? 560}px`;
    this.stage.append(canvas, this.map.root, this.card.root);
    const foot = make("div", { className: "foot" }, this.legend, this.status);
    root.append(make("style", { text: style }), this.bar(), this.search.list, this.stage, foot);
    // The notebook's shortcuts must not see what is typed here.
    root.addEventListener("focusin", (e) =>
      (e.target as Element).setAttribute("data-lm-suppress-shortcuts", "true"),
    );
    root.addEventListener("keydown", (e) => e.stopPropagation());
    host.replaceChildren(root);
    steer(this);
    const sizes = new ResizeObserver(() => this.resize());
    sizes.observe(this.stage);
    const themes = new MutationObserver(() => this.restyle());
    themes.observe(document.body, {
      attributes: true,
      attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "class"],
    });
    this.watchers.push(sizes, themes);
    this.theme = themeOf(root);
    const missing = model.head.missing
      ? `; ${count(model.head.missing)} inputs are not in the file`
      : "";
    this.say(`${all} operations${missing}`);
  }

  private bar(): HTMLElement {
    const choices = Palette.choices(this.model);
    const names = {
      structure: "structure",
      device: "device",
      time: "compute time",
      memory: "memory",
    };
    const colour = make("select", { "aria-label": "colour by", title: "colour by" });
    for (const by of choices) colour.append(make("option", { value: by, text: names[by] }));
    colour.value = this.palette.by;
    colour.addEventListener("change", () => this.colour(colour.value as ColourBy));
    const full = button("Full", "full screen", () => {
      if (document.fullscreenElement) void document.exitFullscreen();
      else void this.root.requestFullscreen();
    });
    return make(
      "div",
      { className: "bar", role: "toolbar", "aria-label": "graph" },
      this.search.input,
      make("span", { text: "colour:" }),
      colour,
      this.tracers.inputs,
      this.tracers.outputs,
      make("span", { className: "gap" }),
      button("−", "zoom out (-)", () => this.zoom(1 / 1.3)),
      button("+", "zoom in (+)", () => this.zoom(1.3)),
      button("Fit", "show all (0)", () => this.fit(true)),
      button("SVG", "save the drawing as SVG", () => this.saveSvg()),
      button("PNG", "save the drawing as PNG", () => void this.savePng()),
      full,
    );
  }

  // ---- what is shown -----------------------------------------------------------------------------

  private async arrange(): Promise<void> {
    this.scene = await this.arrangement.scene();
    const { width, height } = this.scene;
    this.camera.least = Math.min(this.width / width, this.height / height, 1) / 2;
    this.canvas.dataset.boxes = String(this.scene.boxes.length);
    this.restyle();
  }

  /** Opens or closes a box where it stands. */
  async toggle(box: number): Promise<void> {
    if (!this.arrangement.canOpen(box)) return;
    const { opened } = this.arrangement;
    const before = this.scene?.place.get(box);
    const shown = before && [
      before.x * this.camera.scale + this.camera.x,
      before.y * this.camera.scale + this.camera.y,
    ];
    if (!opened.delete(box)) opened.add(box);
    await this.arrange();
    this.select(box);
    const now = this.scene?.place.get(box);
    if (!now || !shown || !before) return;
    const { scale } = this.camera;
    // Its title stays under the pointer, unless what is opened would lie outside the window.
    const x = (shown[0] ?? 0) - (now.x + now.width / 2 - before.width / 2) * scale;
    const y = (shown[1] ?? 0) - now.y * scale;
    this.camera.set(x, y, scale);
    if (opened.has(box)) this.bringIn(now);
    this.say(`${this.told(box)}, ${opened.has(box) ? "open" : "closed"}`);
  }

  openPath(path: string): void {
    const box = this.model.find(path);
    if (box < 0) return;
    this.arrangement.reveal(box);
    if (this.arrangement.canOpen(box)) this.arrangement.opened.add(box);
  }

  /** Chooses a box wherever it is, and shows it. */
  async go(box: number): Promise<void> {
    if (at(this.model.ints.main, this.model.parent(box)) === box && !this.scene?.place.has(box)) {
      box = this.model.parent(box);
    }
    this.arrangement.reveal(box);
    await this.arrange();
    this.select(box);
    const place = this.scene?.place.get(box);
    if (!place) return;
    const scale = Math.max(this.camera.scale, 0.9);
    const [x, y] = [place.x + place.width / 2, place.y + Math.min(place.height / 2, 100)];
    this.camera.fly(
      (this.width - this.cardWidth()) / 2 - x * scale,
      this.height / 2 - y * scale,
      scale,
    );
    this.canvas.focus({ preventScroll: true });
  }

  select(box: number): void {
    const changed = box !== this.selected;
    this.selected = box;
    if (changed || box < 0) this.traced = null;
    this.mark();
    if (changed) {
      this.card.show(box);
      if (box >= 0) {
        this.say(this.told(box));
        this.ask(box);
      }
    }
    this.later();
  }

  /** What the columns do not tell; a kernel that is busy or gone may never answer. */
  private ask(box: number): void {
    if (!this.options.details) return;
    const late = setTimeout(
      () => this.card.wait(box, "the kernel is busy or gone: attributes come when it answers"),
      PATIENCE,
    );
    void this.options.details(box).then((card) => {
      clearTimeout(late);
      if (card) this.card.fill(card);
    });
  }

  /** All that the chosen box is computed from, or all that depends on it; again to see the rest. */
  trace(direction: Direction): void {
    if (this.selected < 0) {
      this.say("choose a box first");
      return;
    }
    this.traced = this.traced === direction ? null : direction;
    this.mark();
    if (this.marks?.traced) {
      const word = direction === "inputs" ? "is computed from" : "leads to";
      this.say(`${this.told(this.selected)} ${word} ${count(this.marks.count)} operations`);
    }
  }

  private mark(): void {
    const { selected, traced } = this;
    if (selected < 0) this.marks = null;
    else this.marks = traced ? this.tracer.all(selected, traced) : this.tracer.around(selected);
    for (const direction of ["inputs", "outputs"] as const) {
      this.tracers[direction].setAttribute("aria-pressed", String(traced === direction));
      this.tracers[direction].disabled = selected < 0;
    }
    this.later();
  }

  colour(by: ColourBy): void {
    this.palette = new Palette(this.model, by, this.palette.hues);
    this.restyle();
  }

  /** For a screen reader: the name, what it is, where it leads. */
  told(box: number): string {
    const { model } = this;
    const name = model.kind(box) === "series" ? model.label(box) : model.path(box);
    const what =
      model.type(box) || `${model.kind(box)} of ${count(at(model.ints.nodes, box))} operations`;
    return `${name}, ${what}`;
  }

  say(text: string): void {
    this.status.textContent = text;
  }

  find(x: number, y: number): SceneBox | null {
    const [wx, wy] = this.camera.toWorld(x, y);
    const boxes = this.scene?.boxes ?? [];
    for (let k = boxes.length - 1; k >= 0; k--) {
      const b = boxes[k];
      if (b && wx >= b.x && wx <= b.x + b.width && wy >= b.y && wy <= b.y + b.height) return b;
    }
    return null;
  }

  // ---- the window --------------------------------------------------------------------------------

  /** All of it, as far as it can be read: of a tall drawing the upper part at first. */
  fit(whole: boolean): void {
    const { scene, width, height } = this;
    if (!scene || !width || !height) return;
    const fits = Math.min(width / scene.width, height / scene.height, LARGEST);
    const scale = whole ? fits : Math.max(fits, Math.min(READABLE, width / scene.width));
    const x = (width - scene.width * scale) / 2;
    const y = scale > fits ? 0 : (height - scene.height * scale) / 2;
    if (whole) this.camera.fly(x, y, scale);
    else this.camera.set(x, y, scale);
  }

  zoom(by: number): void {
    this.camera.zoom(by, this.width / 2, this.height / 2);
  }

  private cardWidth(): number {
    return this.card.root.hidden ? 0 : 300;
  }

  /** Moves and shrinks no more than needed to have a box in the window. */
  bringIn(place: SceneBox): void {
    const { camera, height } = this;
    const width = this.width - this.cardWidth();
    const margin = 14;
    const fits = Math.min((width - 2 * margin) / place.width, (height - 2 * margin) / place.height);
    const scale = fits < camera.scale ? Math.max(fits, Math.min(camera.scale, 0.5)) : camera.scale;
    const within = (from: number, size: number, room: number): number =>
      size > room - 2 * margin ? margin : Math.min(Math.max(from, margin), room - margin - size);
    const middle = camera.x + (place.x + place.width / 2) * camera.scale;
    const x = within(middle - (place.width / 2) * scale, place.width * scale, width);
    const y = within(camera.y + place.y * camera.scale, place.height * scale, height);
    camera.fly(x - place.x * scale, y - place.y * scale, scale);
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.stage;
    if (!clientWidth || (clientWidth === this.width && clientHeight === this.height)) return;
    const first = !this.width;
    [this.width, this.height] = [clientWidth, clientHeight];
    const dots = devicePixelRatio || 1;
    this.canvas.width = Math.round(clientWidth * dots);
    this.canvas.height = Math.round(clientHeight * dots);
    if (first) this.fit(false);
    this.draw();
  }

  private restyle(): void {
    this.theme = themeOf(this.root);
    if (!this.scene) return;
    this.map.show(this.scene, this.palette, this.theme);
    const { title, rows } = this.palette.legend(this.scene.boxes.map((b) => b.box));
    const swatch = (colour: string, strength: number): HTMLElement => {
      const key = make("i");
      key.style.borderColor = colour;
      key.style.background = `color-mix(in srgb, ${colour} ${strength * 100}%, transparent)`;
      return key;
    };
    this.legend.replaceChildren(...(title ? [`${title}  `] : []));
    for (const { colour, strength, text } of rows) {
      this.legend.append(make("span", { className: "key" }, swatch(colour, strength), text), "   ");
    }
    this.later();
  }

  later(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  private painting(): Painting | null {
    const { scene, model, palette, theme, marks, selected, hovered } = this;
    return scene && { model, scene, palette, theme, marks, selected, hovered };
  }

  private draw(): void {
    const to = this.canvas.getContext("2d");
    const what = this.painting();
    if (!to || !what || !this.width) return;
    const dots = this.canvas.width / this.width;
    const { x, y, scale } = this.camera;
    to.setTransform(1, 0, 0, 1, 0, 0);
    to.fillStyle = this.theme.ground;
    to.fillRect(0, 0, this.canvas.width, this.canvas.height);
    to.setTransform(dots * scale, 0, 0, dots * scale, dots * x, dots * y);
    paint(new CanvasPen(to), what, this.camera.window(this.width, this.height));
    this.map.mark(this.theme);
  }

  // ---- files and end -----------------------------------------------------------------------------

  svg(): string {
    const what = this.painting();
    return what ? toSvg(what) : "";
  }

  private saveSvg(): void {
    download(new Blob([this.svg()], { type: "image/svg+xml" }), "graph.svg");
  }

  private async savePng(): Promise<void> {
    const what = this.painting();
    const made = what && (await toPng(what));
    if (made) download(made, "graph.png");
  }

  focusSearch(): void {
    this.search.input.focus();
    this.search.input.select();
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    this.camera.dispose();
    this.layouter.dispose();
    for (const watcher of this.watchers) watcher.disconnect();
    this.root.remove();
  }
}

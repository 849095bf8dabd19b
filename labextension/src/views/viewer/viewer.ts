// The viewer of runs: tabs by kind, cards of tags, a side bar with runs and options (`tf.view`; event files in JupyterLab).
// Smoothing, axes, filters and comparison happen here, so they work while a cell is running.
import type { Bytes } from "../../protocol/bytes";
import {
  type Catalogue,
  type ChartTheme,
  type CsvFile,
  KINDS,
  type Kind,
  type Note,
  type ToKernel,
  type Wanted,
} from "../../protocol/viewer";
import { type Bokeh, startedBokeh } from "../bokeh";
import { download, h, keepKeys } from "../dom";
import { helpLink } from "../help_link";
import type { Contents } from "./contents";
import { HistogramCard } from "./histogram_card";
import { nameTest } from "./name_filter";
import { count } from "./numbers";
import type { Card, Options, Tab } from "./options";
import { ScalarCard } from "./scalar_card";
import { Side, type SideContext } from "./side";
import { AudioCard, ImageCard, TensorCard, TextCard } from "./step_cards";
import { tables } from "./tables";
import { throttle } from "./throttle";

const NAMES: Record<Kind, string> = {
  scalar: "Scalars",
  histogram: "Distributions",
  image: "Images",
  audio: "Audio",
  text: "Text",
  tensor: "Tensors",
};
const CARDS = {
  scalar: ScalarCard,
  histogram: HistogramCard,
  image: ImageCard,
  audio: AudioCard,
  text: TextCard,
  tensor: TensorCard,
};
const NARROW = 620; // width in pixels below which the side bar is above the charts
const MANY = 12; // the number of scalar charts on a page
const FEW = 6; // the number of other cards on a page
const REDRAW = 120; // least milliseconds between drawings
const REST = 2; // least pause between updates from the kernel, as a multiple of the duration of the last drawing
const SLOW = 0.25; // an interval between messages in seconds; longer ones are shown to the user

/** The source of the data of a page: the model of a widget, or a server that reads files. */
export interface ViewerSource {
  readonly templates: ChartTheme;
  /** The template of a chart, as soon as it has arrived. */
  chart(name: string): Promise<object>;
  /** Whether there is a kernel with variables. */
  readonly hasKernel: boolean;
  catalogue(): Catalogue;
  content<K extends Kind>(kind: K, tag: string): Contents[K] | undefined;
  /** BokehJS of `templates.version`, gzipped. */
  library(): Promise<BlobPart>;
  want(wanted: Wanted): void;
  /** Keeps the options for a page that is loaded again. */
  keep(options: Options): void;
  ask(message: ToKernel): void;
}

export class ViewerPage implements SideContext {
  readonly options: Options;
  cursor: number | null = null;
  private catalogue: Catalogue;
  private tab: Tab = "scalar";
  private here: string[] = [];
  private listed = -1; // the number of runs in the side bar
  private readonly cards = new Map<string, Card>();
  private readonly cardOf = new WeakMap<Element, Card>();
  private readonly seen = new IntersectionObserver((entries) => {
    for (const entry of entries) this.cardOf.get(entry.target)?.see(entry.isIntersecting);
  });
  private readonly tabs = h("div", {
    className: "tfnb-tabs",
    role: "tablist",
    ariaLabel: "kinds of summaries",
  });
  private readonly filter = h("input", {
    type: "search",
    placeholder: "tags (regex)",
    ariaLabel: "filter tags by regex",
  });
  private readonly status = h("div", { className: "tfnb-status", role: "status" });
  private readonly rate = h("span", { className: "tfnb-note" });
  private readonly main = h("div", { className: "tfnb-main" });
  private readonly older = this.turner("‹", "previous charts", -1);
  private readonly newer = this.turner("›", "more charts", 1);
  private readonly where = h("span", { className: "tfnb-note" });
  private readonly pager = h(
    "div",
    { className: "tfnb-pager" },
    this.older,
    this.where,
    this.newer,
  );
  private readonly side: Side;
  private readonly sized: ResizeObserver;
  private appended = true; // whether only points of curves were added since the last drawing
  readonly redraw = throttle(() => this.update(false), REDRAW);
  private readonly news = throttle(() => this.update(this.appended), REDRAW, REST);
  private readonly pointAll = throttle(() => {
    for (const card of this.cards.values()) card.point?.(this.cursor);
  }, 30);
  private readonly sendWanted = throttle(() => this.want(), 100);
  readonly keep = throttle(() => this.source.keep(this.options), 300);

  constructor(
    host: HTMLElement,
    private readonly source: ViewerSource,
    options: Options,
  ) {
    this.options = options;
    this.catalogue = source.catalogue();
    this.filter.value = options.tags;
    this.filter.addEventListener(
      "input",
      throttle(() => {
        this.turnTo(0);
        options.tags = this.filter.value;
        this.layOut();
      }, 150),
    );
    this.side = new Side(this);
    const asked = helpLink("viewer");
    const top = h(
      "div",
      { className: "tfnb-top" },
      this.tabs,
      this.filter,
      this.rate,
      this.pager,
      asked,
    );
    const parts = [top, this.status, this.side.el, this.main];
    const root = h("div", { className: "tfnb-viewer" }, ...parts);
    keepKeys(root);
    this.sized = new ResizeObserver(([entry]) => {
      if (entry) root.classList.toggle("tfnb-narrow", entry.contentRect.width < NARROW);
    });
    this.sized.observe(root);
    host.replaceChildren(root);
    this.catalogueChanged();
  }

  // ---- the interface for cards ----------------------------------------------------------------------------

  get templates(): ChartTheme {
    return this.source.templates;
  }

  get hasKernel(): boolean {
    return this.source.hasKernel;
  }

  get runs(): readonly string[] {
    return this.catalogue.runs;
  }

  content<K extends Kind>(kind: K, tag: string): Contents[K] | undefined {
    return this.source.content(kind, tag);
  }

  chart(name: string): Promise<object> {
    return this.source.chart(name);
  }

  bokeh(): Promise<Bokeh> {
    return startedBokeh(this.templates.version, () => this.source.library());
  }

  ask(message: ToKernel): void {
    this.note("waiting for the kernel …");
    this.source.ask(message);
  }

  // Moves the shared cursor; its position is in units of the horizontal axis.
  point(x: number | null): void {
    if (x === this.cursor) return;
    this.cursor = x;
    this.pointAll();
  }

  // ---- the catalogue and the contents -----------------------------------------------------------------------------

  /** Must be called when the catalogue of the source has changed. */
  catalogueChanged(): void {
    this.catalogue = this.source.catalogue();
    const { runs, first_runs: first, notes } = this.catalogue;
    const { options } = this;
    for (let run = options.known; run < Math.min(runs.length, first); run++) options.runs.add(run);
    options.known = runs.length;
    if (this.listed !== runs.length) this.side.list();
    this.listed = runs.length;
    this.note(notes.join("; "));
    this.makeTabs();
    this.layOut();
  }

  /** Must be called when contents of the source have changed; `appended`: only points were added to curves. */
  contentsChanged(appended = false): void {
    this.appended &&= appended;
    this.news();
  }

  /** Must be called with the number of seconds that the kernel pauses between messages. */
  paced(seconds: number): void {
    const text =
      seconds > SLOW
        ? `updated every ${seconds.toFixed(1)} s, to limit the load on the training`
        : "";
    if (this.rate.textContent !== text) this.rate.textContent = text;
  }

  private update(appended: boolean): Promise<unknown> {
    this.appended = true;
    return Promise.all([...this.cards.values()].map((card) => card.update(appended)));
  }

  answer(message: Note | CsvFile, buffers: readonly Bytes[]): void {
    if (message.op === "note") this.note(message.text);
    const [data] = buffers;
    if (message.op === "csv" && data) {
      this.note("");
      download(new Blob([data], { type: "text/csv" }), `${message.tag}.csv`);
    }
  }

  note(text: string): void {
    this.status.textContent = text;
  }

  // ---- tabs --------------------------------------------------------------------------------------

  private kinds(): Tab[] {
    const kinds: Tab[] = KINDS.filter((kind) => this.catalogue.tags[kind].length);
    if (this.catalogue.parameters.length || this.catalogue.hparams.length) kinds.push("parameters");
    return kinds;
  }

  private makeTabs(): void {
    const kinds = this.kinds();
    const { tab: wish } = this.options;
    this.tab = wish && kinds.includes(wish) ? wish : (kinds[0] ?? "scalar");
    const tabs = kinds.map((kind, place) => {
      const chosen = kind === this.tab;
      const tab = h("button", { type: "button", role: "tab", tabIndex: chosen ? 0 : -1 });
      if (kind === "parameters") tab.append("Parameters");
      else
        tab.append(
          NAMES[kind],
          h("small", { textContent: ` ${count(this.catalogue.tags[kind].length)}` }),
        );
      tab.setAttribute("aria-selected", String(chosen));
      tab.addEventListener("click", () => this.show(kind));
      tab.addEventListener("keydown", (event) => {
        const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        const next = move && kinds[(place + move + kinds.length) % kinds.length];
        if (next) this.show(next, true);
      });
      return tab;
    });
    this.tabs.replaceChildren(...tabs);
  }

  private show(tab: Tab, focus = false): void {
    this.options.tab = tab;
    this.turnTo(0);
    this.makeTabs();
    if (focus) this.tabs.querySelector<HTMLElement>("[aria-selected=true]")?.focus();
    this.layOut();
  }

  private turner(textContent: string, title: string, by: number): HTMLButtonElement {
    const onclick = () => {
      this.turnTo(this.options.page + by);
      this.layOut();
    };
    return h("button", { type: "button", textContent, title, ariaLabel: title, onclick });
  }

  private turnTo(page: number): void {
    this.options.page = page;
    this.keep();
  }

  // ---- cards -------------------------------------------------------------------------------------

  private layOut(): void {
    const { tab } = this;
    this.side.kind(tab);
    this.filter.hidden = tab === "parameters";
    if (tab === "parameters") {
      this.pager.hidden = true;
      this.clear();
      this.main.replaceChildren(...tables(this.catalogue));
      return;
    }
    const tags = this.catalogue.tags[tab].filter(nameTest(this.filter));
    const size = tab === "scalar" ? MANY : FEW;
    const last = Math.ceil(tags.length / size) - 1;
    this.options.page = Math.max(0, Math.min(this.options.page, last));
    const from = this.options.page * size;
    this.here = tags.slice(from, from + size);
    this.pager.hidden = tags.length <= size;
    this.older.disabled = from === 0;
    this.newer.disabled = from + size >= tags.length;
    const to = from + this.here.length;
    this.where.textContent = `${count(from + 1)}–${count(to)} of ${count(tags.length)}`;
    this.place(tab);
    this.sendWanted();
  }

  private place(kind: Kind): void {
    const wanted = this.here.map((tag) => `${kind}\n${tag}`);
    const same = wanted.length === this.cards.size && wanted.every((k) => this.cards.has(k));
    if (same && this.cards.size) return;
    const kept = new Set(wanted);
    for (const [name, card] of this.cards) if (!kept.has(name)) this.drop(name, card);
    const groups = new Map<string, HTMLElement[]>();
    for (const tag of this.here) {
      const group = tag.includes("/") ? (tag.split("/")[0] ?? "") : "";
      const cards = groups.get(group) ?? [];
      groups.set(group, cards);
      cards.push(this.card(kind, tag).el);
    }
    const elements = [...together(groups)].map(([group, cards]) => {
      const grid = h("div", { className: "tfnb-grid" }, ...cards);
      if (groups.size === 1 || group === null) return grid;
      const many = h("small", { textContent: ` ${cards.length}` });
      const head = h("summary", {}, group || "(top level)", many);
      return h("details", { open: true }, head, grid);
    });
    if (!elements.length)
      elements.push(h("p", { className: "tfnb-note", textContent: this.nothing() }));
    this.main.replaceChildren(...elements);
  }

  private card(kind: Kind, tag: string): Card {
    const name = `${kind}\n${tag}`;
    const there = this.cards.get(name);
    if (there) return there;
    const card: Card = new CARDS[kind](this, tag);
    this.cards.set(name, card);
    this.cardOf.set(card.el, card);
    this.seen.observe(card.el);
    return card;
  }

  private drop(name: string, card: Card): void {
    this.seen.unobserve(card.el);
    card.close();
    this.cards.delete(name);
  }

  private nothing(): string {
    return this.filter.value
      ? "no tag matches the filter"
      : "no data yet: this updates when summaries are written";
  }

  private clear(): void {
    for (const [name, card] of this.cards) this.drop(name, card);
  }

  // Sends the tags and runs that are visible.
  want(): void {
    if (this.tab !== "parameters") {
      const runs = [...this.options.runs].sort((a, b) => a - b);
      this.source.want({ kind: this.tab, tags: this.here, runs });
    }
    this.redraw();
  }

  close(): void {
    this.keep.cancel();
    this.redraw.cancel();
    this.news.cancel();
    this.sendWanted.cancel();
    this.pointAll.cancel();
    this.clear();
    this.seen.disconnect();
    this.sized.disconnect();
  }
}

/** The groups of tags; those of one card that follow each other share rows, without a name (null). */
function* together(
  groups: ReadonlyMap<string, HTMLElement[]>,
): Generator<[string | null, HTMLElement[]]> {
  let single: HTMLElement[] = [];
  for (const [group, cards] of groups) {
    if (cards.length === 1) {
      single.push(...cards);
      continue;
    }
    if (single.length) yield [null, single];
    single = [];
    yield [group, cards];
  }
  if (single.length) yield [null, single];
}

/** Draws a viewer into an element. It uses and changes `options`, which may be those of an earlier page. */
export function drawViewer(host: HTMLElement, source: ViewerSource, options: Options): ViewerPage {
  return new ViewerPage(host, source, options);
}

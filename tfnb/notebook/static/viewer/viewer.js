// The browser's side of tfnb/notebook/viewer/view.py. A model keeps what the kernel has sent; each of its views is a
// page of its own. Smoothing, axes, filters and comparison happen here, so they work while a cell is running.
import { count } from "./numbers.js";
import { calmly, download, h, keepKeys, nameTest } from "./dom.js";
import { ScalarCard } from "./scalar_card.js";
import { HistogramCard, ImageCard, TextCard } from "./item_cards.js";
import { Side } from "./side.js";

const KINDS = { scalar: "Scalars", histogram: "Distributions", image: "Images", text: "Text" };
const CARDS = { scalar: ScalarCard, histogram: HistogramCard, image: ImageCard, text: TextCard };
const PER_PAGE = { scalar: 12, histogram: 6, image: 6, text: 6 };
const REDRAW = 120; // milliseconds between drawings
const held = new WeakMap(); // model -> what the kernel has sent of each tag

const key = (kind, tag) => `${kind}\n${tag}`;

function keep(model) {
  const store = held.get(model) ?? new Map();
  held.set(model, store);
  for (const content of model.get("changes")) store.set(key(content.kind, content.tag), content);
  return store;
}

class Page {
  constructor(model, el) {
    this.model = model;
    this.store = keep(model);
    this.templates = model.get("templates");
    this.runs = [];
    this.kind = "scalar";
    this.page = 0;
    this.cursor = null;
    this.cards = new Map();
    this.known = 0; // runs seen so far: new ones are chosen while there are few
    this.options = {
      runs: new Set(),
      smoothing: 0.6,
      axis: "step",
      log: false,
      outliers: true,
      band: false,
      baseline: null,
      ridges: false,
    };
    this.redraw = calmly(() => this.cards.forEach((card) => card.update()), REDRAW);
    this.pointAll = calmly(() => this.cards.forEach((card) => card.point?.(this.cursor)), 30);
    this.tell = calmly(() => this.want(), 100);
    this.seen = new IntersectionObserver((entries) => {
      for (const entry of entries) this.cardOf.get(entry.target)?.see(entry.isIntersecting);
    });
    this.cardOf = new WeakMap();
    this.build(el);
    this.catalogue();
  }

  build(el) {
    this.tabs = h("div", { className: "tfnb-tabs", role: "tablist", ariaLabel: "kinds of summaries" });
    this.filter = h("input", { type: "search", placeholder: "tags (regex)", ariaLabel: "filter tags by regex" });
    const refilter = calmly(() => {
      this.page = 0;
      this.layOut();
    }, 150);
    this.filter.addEventListener("input", refilter);
    this.status = h("div", { className: "tfnb-status", role: "status" });
    this.side = new Side(this);
    this.main = h("div", { className: "tfnb-main" });
    const older = h("button", { type: "button", textContent: "‹", title: "previous charts" });
    const newer = h("button", { type: "button", textContent: "›", title: "more charts" });
    older.ariaLabel = older.title;
    newer.ariaLabel = newer.title;
    older.addEventListener("click", () => this.turn(-1));
    newer.addEventListener("click", () => this.turn(1));
    this.where = h("span", { className: "tfnb-told" });
    this.pager = h("div", { className: "tfnb-pager" }, older, this.where, newer);
    Object.assign(this, { older, newer });
    const top = h("div", { className: "tfnb-top" }, this.tabs, this.filter, this.pager);
    this.root = h("div", { className: "tfnb-viewer" }, top, this.status, this.side.el, this.main);
    keepKeys(this.root);
    el.replaceChildren(this.root);
  }

  content(kind, tag) {
    return this.store.get(key(kind, tag));
  }

  // ---- what there is ---------------------------------------------------------------------------

  catalogue() {
    const told = this.model.get("catalogue");
    this.told = told;
    const first = this.known === 0;
    this.runs = told.runs;
    for (let run = this.known; run < Math.min(this.runs.length, told.first_runs); run++) this.options.runs.add(run);
    const more = this.runs.length !== this.known;
    this.known = this.runs.length;
    if (more || first) this.side.list();
    this.note(told.notes.join("; "));
    this.makeTabs();
    this.layOut();
  }

  kinds() {
    const kinds = Object.keys(KINDS).filter((k) => this.told.tags[k].length);
    const extra = this.told.parameters.length || Object.keys(this.told.hparams).length;
    return extra ? [...kinds, "parameters"] : kinds;
  }

  makeTabs() {
    const kinds = this.kinds();
    if (!kinds.includes(this.kind)) this.kind = kinds[0] ?? "scalar";
    const tabs = kinds.map((kind) => {
      const number = kind === "parameters" ? "" : ` ${count(this.told.tags[kind].length)}`;
      const chosen = kind === this.kind;
      const tab = h("button", { type: "button", role: "tab", tabIndex: chosen ? 0 : -1 });
      tab.append(KINDS[kind] ?? "Parameters", h("small", { textContent: number }));
      tab.setAttribute("aria-selected", String(chosen));
      tab.addEventListener("click", () => this.show(kind));
      tab.addEventListener("keydown", (event) => {
        const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (move) this.show(kinds[(kinds.indexOf(kind) + move + kinds.length) % kinds.length], true);
      });
      return tab;
    });
    this.tabs.replaceChildren(...tabs);
  }

  show(kind, focus = false) {
    this.kind = kind;
    this.page = 0;
    this.makeTabs();
    if (focus) this.tabs.querySelector("[aria-selected=true]").focus();
    this.layOut();
  }

  turn(by) {
    this.page += by;
    this.layOut();
  }

  // ---- cards -----------------------------------------------------------------------------------

  layOut() {
    const { kind } = this;
    this.side.kind(kind);
    this.filter.hidden = kind === "parameters";
    if (kind === "parameters") {
      this.pager.hidden = true;
      this.clear();
      this.main.replaceChildren(...tables(this.told));
      return;
    }
    const passes = nameTest(this.filter);
    const tags = this.told.tags[kind].filter(passes);
    const size = PER_PAGE[kind];
    this.page = Math.max(0, Math.min(this.page, Math.ceil(tags.length / size) - 1));
    const from = this.page * size;
    this.here = tags.slice(from, from + size);
    this.pager.hidden = tags.length <= size;
    this.older.disabled = from === 0;
    this.newer.disabled = from + size >= tags.length;
    this.where.textContent = `${count(from + 1)}–${count(from + this.here.length)} of ${count(tags.length)}`;
    this.place(kind);
    this.tell();
  }

  place(kind) {
    const wanted = this.here.map((tag) => key(kind, tag));
    const same = wanted.length === this.cards.size && wanted.every((k) => this.cards.has(k));
    if (same && this.cards.size) return;
    for (const [name, card] of this.cards) {
      if (wanted.includes(name)) continue;
      this.seen.unobserve(card.el);
      card.close();
      this.cards.delete(name);
    }
    const groups = new Map();
    for (const tag of this.here) {
      const name = key(kind, tag);
      if (!this.cards.has(name)) {
        const card = new CARDS[kind](this, tag);
        this.cards.set(name, card);
        this.cardOf.set(card.el, card);
        this.seen.observe(card.el);
      }
      const group = tag.includes("/") ? tag.split("/")[0] : "";
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push(this.cards.get(name).el);
    }
    const made = [...groups].map(([group, cards]) => {
      const grid = h("div", { className: "tfnb-grid" }, ...cards);
      if (groups.size === 1) return grid;
      const head = h("summary", {}, group || "(top level)", h("small", { textContent: ` ${cards.length}` }));
      return h("details", { open: true }, head, grid);
    });
    if (!made.length) made.push(h("p", { className: "tfnb-told", textContent: this.nothing() }));
    this.main.replaceChildren(...made);
  }

  nothing() {
    return this.filter.value ? "no tag matches the filter" : "nothing was logged yet: this fills as soon as there is";
  }

  clear() {
    for (const card of this.cards.values()) {
      this.seen.unobserve(card.el);
      card.close();
    }
    this.cards.clear();
  }

  // ---- the kernel ------------------------------------------------------------------------------

  // Tells the kernel what is on show; it sends that and nothing else.
  want() {
    if (this.kind !== "parameters") {
      const runs = [...this.options.runs].sort((a, b) => a - b);
      this.model.set("wanted", { kind: this.kind, tags: this.here ?? [], runs });
      this.model.save_changes();
    }
    this.redraw();
  }

  ask(message) {
    this.note("waiting for the kernel …");
    this.model.send(message);
  }

  answer(message, buffers) {
    if (message.op === "note") this.note(message.text);
    if (message.op === "csv") {
      this.note("");
      download(new Blob([buffers[0]], { type: "text/csv" }), `${message.tag}.csv`);
    }
  }

  news() {
    keep(this.model);
    this.redraw();
  }

  note(text) {
    this.status.textContent = text;
  }

  // The shared cursor, in units of the horizontal axis.
  point(x) {
    if (x === this.cursor) return;
    this.cursor = x;
    this.pointAll();
  }

  close() {
    this.redraw.cancel();
    this.tell.cancel();
    this.pointAll.cancel();
    this.clear();
    this.seen.disconnect();
  }
}

// Parameters by scope, and hyper-parameters by run.
function tables(told) {
  const out = [];
  const names = [...new Set(Object.values(told.hparams).flatMap(Object.keys))].sort();
  if (names.length) {
    const body = Object.entries(told.hparams).map(([run, values]) => [run, ...names.map((n) => values[n] ?? "")]);
    out.push(h("h4", { textContent: "hyper-parameters" }), table(["run", ...names], body));
  }
  for (const { name, rows } of told.parameters) {
    const body = rows.map(([scope, depth, shape, number]) => [
      `${"\u2003".repeat(depth)}${scope.split("/").pop()}`,
      shape,
      count(number),
    ]);
    out.push(h("h4", { textContent: `parameters: ${name}` }), table(["scope", "shape", "parameters"], body));
  }
  return out;
}

function table(head, rows) {
  const line = (cells, tag) => h("tr", {}, ...cells.map((text) => h(tag, { textContent: text })));
  return h("table", { className: "tfnb-table" }, h("thead", {}, line(head, "th")), ...rows.map((r) => line(r, "td")));
}

// The saved picture is for when there is no kernel: while a view lives, it is hidden.
function hidePicture(id) {
  const style = h("style", { textContent: `#${CSS.escape(id)} { display: none; }` });
  document.head.append(style);
  return () => style.remove();
}

export default {
  initialize({ model }) {
    keep(model);
    model.on("change:changes", () => keep(model));
  },

  render({ model, el }) {
    const page = new Page(model, el);
    const handlers = {
      "change:catalogue": () => page.catalogue(),
      "change:changes": () => page.news(),
      "msg:custom": (message, buffers) => page.answer(message, buffers),
      comm_live_update: () => page.note("the kernel is gone: what is shown stays as it was"),
    };
    for (const [event, act] of Object.entries(handlers)) model.on(event, act);
    const unhide = hidePicture(model.get("picture"));
    model.send({ op: "hello" });
    return () => {
      for (const [event, act] of Object.entries(handlers)) model.off(event, act);
      model.send({ op: "bye" });
      unhide();
      page.close();
    };
  },
};

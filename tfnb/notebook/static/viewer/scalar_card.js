// The card of one scalar tag: a chart, the values under the shared cursor, and its exports.
import { count, duration, nearest, short } from "./numbers.js";
import { Chart } from "./bokeh.js";
import { download, h } from "./dom.js";
import { decoded, drawing, lines } from "./curves.js";

const ROWS = 8;

export class ScalarCard {
  constructor(page, tag) {
    this.page = page;
    this.tag = tag;
    this.shown = [];
    this.chart = null;
    this.template = "";
    this.visible = false;
    this.dirty = true;
    this.closed = false;
    this.last = Promise.resolve();
    this.place = h("div", { className: "tfnb-chart", tabIndex: 0, role: "img" });
    this.values = h("table", { className: "tfnb-values" });
    this.told = h("span", { className: "tfnb-told" });
    const button = (text, title, act) =>
      h("button", { type: "button", textContent: text, title, ariaLabel: `${title}: ${tag}`, onclick: act });
    this.el = h(
      "section",
      { className: "tfnb-card", ariaLabel: tag },
      h(
        "header",
        {},
        h("h4", { textContent: tag, title: tag }),
        button("CSV", "save the points as CSV", () => page.ask({ op: "csv", tag })),
        button("DataFrame", "put the points into the variable view_frame", () => page.ask({ op: "frame", tag })),
        button("PNG", "save the chart as PNG", () => this.save("png")),
        button("SVG", "save the chart as SVG", () => this.save("svg"))
      ),
      this.place,
      this.values,
      this.told
    );
    this.place.addEventListener("pointermove", (e) => this.pointed(e));
    this.place.addEventListener("pointerleave", () => page.point(null));
    this.place.addEventListener("keydown", (e) => this.key(e));
    this.place.addEventListener("blur", () => page.point(null));
  }

  update() {
    this.dirty = true;
    if (this.visible) this.last = this.last.then(() => this.draw()).catch((e) => this.fault(e));
  }

  see(visible) {
    this.visible = visible;
    if (visible && this.dirty) this.update();
  }

  fault(error) {
    if (!this.closed) this.told.textContent = `the chart could not be drawn: ${error.message}`;
  }

  async draw() {
    if (!this.dirty || this.closed) return;
    this.dirty = false;
    const { page } = this;
    const content = page.content("scalar", this.tag);
    if (!content) {
      this.told.textContent = "waiting for the kernel …";
      return;
    }
    const { options } = page;
    const log = options.log && options.baseline === null;
    const template = `${options.axis}-${log ? "log" : "linear"}`;
    if (template !== this.template) {
      const place = h("div");
      const chart = await Chart.make(page.model, template, this.embedded(place));
      this.chart?.close();
      for (const old of [...this.place.children]) if (old !== place) old.remove();
      this.chart = chart;
      this.template = template;
      if (this.closed) return this.close();
    }
    if (content !== this.known) {
      this.known = content;
      this.curves = decoded(content);
    }
    this.shown = lines(this.curves, options, page.templates);
    const { sources, x, y } = drawing(this.shown, options, page.templates);
    for (const [name, columns] of Object.entries(sources)) this.chart.fill(name, columns);
    this.chart.range("x", x);
    this.chart.range("y", y);
    this.tell();
    this.point(page.cursor);
  }

  embedded(place) {
    this.place.append(place);
    return place;
  }

  tell() {
    const sent = this.shown.reduce((n, c) => n + c.x.length, 0);
    const total = this.shown.reduce((n, c) => n + c.total, 0);
    const thinned = total > sent ? `; ${count(sent)} of ${count(total)} points drawn, extremes kept` : "";
    const { options } = this.page;
    const base = options.baseline === null ? "" : `difference to ${this.page.runs[options.baseline]}`;
    const band = options.band && this.shown.length > 1 ? `mean of ${this.shown.length} runs ± standard deviation` : "";
    const missing = this.shown.length ? "" : "none of the chosen runs has this tag";
    this.told.textContent = [base, band, missing].filter(Boolean).join("; ") + thinned.slice(base || band ? 0 : 2);
    const newest = this.shown.map((c) => `${this.page.runs[c.run]}: ${short(c.y[c.y.length - 1])}`);
    this.place.ariaLabel = `line chart of ${this.tag}; newest values ${newest.slice(0, 6).join(", ")}`;
  }

  pointed(event) {
    if (!this.chart) return;
    this.page.point(this.chart.xAt(event.clientX, event.clientY));
  }

  // The arrow keys move the cursor from point to point of the first curve.
  key(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1, Escape: 0 }[event.key];
    if (move === undefined || !this.shown.length) return;
    event.preventDefault();
    const { x } = this.shown[0];
    const here = this.page.cursor === null ? -1 : nearest(x, this.page.cursor);
    const next = here < 0 ? (move < 0 ? x.length - 1 : 0) : Math.min(Math.max(here + move, 0), x.length - 1);
    this.page.point(move ? x[next] : null);
  }

  // The cursor of all charts stands at x: the values there.
  point(x) {
    if (!this.chart || !this.visible) return;
    this.chart.cursor(x);
    this.values.replaceChildren();
    const near = { x: [], y: [], colour: [] };
    if (x !== null) {
      const found = this.shown
        .map((line) => ({ line, k: nearest(line.x, x) }))
        .filter(({ k }) => k >= 0);
      const head = ["", "run", "value", ...(this.page.options.smoothing ? ["smoothed"] : []), "step", "time"];
      this.values.append(h("tr", {}, ...head.map((t) => h("th", { textContent: t, scope: "col" }))));
      for (const { line, k } of found.slice(0, ROWS)) {
        near.x.push(line.x[k]);
        near.y.push(line.y[k]);
        near.colour.push(line.colour);
        const cells = [this.page.runs[line.run], short(line.raw[k])];
        if (this.page.options.smoothing) cells.push(short(line.y[k]));
        cells.push(count(line.step[k]), duration(line.wall[k] - line.wall[0]));
        const mark = h("td", {}, h("span", { className: "tfnb-swatch" }));
        mark.firstChild.style.background = line.colour;
        this.values.append(h("tr", {}, mark, ...cells.map((t) => h("td", { textContent: t, title: t }))));
      }
      if (found.length > ROWS) {
        const rest = `and ${count(found.length - ROWS)} more runs`;
        this.values.append(h("tr", {}, h("td", { colSpan: head.length, textContent: rest })));
      }
    }
    this.chart.fill("near", near);
  }

  async save(kind) {
    if (this.chart) download(await this.chart.blob(kind), `${this.tag}.${kind}`);
  }

  close() {
    this.closed = true;
    this.chart?.close();
    this.chart = null;
  }
}

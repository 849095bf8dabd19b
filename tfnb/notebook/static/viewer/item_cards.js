// Cards of tags that are no scalars: histograms as bands or ridges, images and texts with a slider over steps.
import { count, floats, span } from "./numbers.js";
import { Chart } from "./bokeh.js";
import { h } from "./dom.js";

const LEVELS = 9;

// What all these cards share: a part per run, drawn anew when the kernel has sent something else.
class ItemCard {
  constructor(page, kind, tag) {
    Object.assign(this, { page, kind, tag, visible: false, dirty: true, closed: false, known: null });
    this.last = Promise.resolve();
    this.body = h("div", { className: "tfnb-parts" });
    this.told = h("span", { className: "tfnb-told" });
    const head = h("header", {}, h("h4", { textContent: tag, title: tag }));
    this.el = h("section", { className: "tfnb-card", ariaLabel: tag }, head, this.body, this.told);
  }

  update() {
    this.dirty = true;
    if (this.visible) this.last = this.last.then(() => this.maybe()).catch((e) => this.fault(e));
  }

  see(visible) {
    this.visible = visible;
    if (visible && this.dirty) this.update();
  }

  fault(error) {
    if (!this.closed) this.told.textContent = `cannot be drawn: ${error.message}`;
  }

  async maybe() {
    if (!this.dirty || this.closed) return;
    this.dirty = false;
    const content = this.page.content(this.kind, this.tag);
    if (!content) {
      this.told.textContent = "waiting for the kernel …";
      return;
    }
    const { left_out: left, runs } = content;
    const thinned = runs.map((r) => r.total).filter((n) => n > 0);
    const steps = thinned.length ? `${count(Math.max(...thinned))} steps held` : "";
    const more = left ? `${count(left)} more runs have it: choose fewer runs to see them` : "";
    this.told.textContent = [steps, more].filter(Boolean).join("; ");
    const chosen = runs.filter((r) => this.page.options.runs.has(r.run));
    await this.draw(chosen);
  }

  name(run) {
    return this.page.runs[run] ?? "";
  }

  close() {
    this.closed = true;
  }
}

export class HistogramCard extends ItemCard {
  constructor(page, tag) {
    super(page, "histogram", tag);
    this.charts = new Map();
  }

  async draw(runs) {
    const form = this.page.options.ridges ? "ridges" : "bands";
    const wanted = new Set(runs.map((r) => `${form} ${r.run}`));
    for (const [key, old] of this.charts) {
      if (wanted.has(key)) continue;
      old.chart.close();
      old.part.remove();
      this.charts.delete(key);
    }
    for (const run of runs) {
      const key = `${form} ${run.run}`;
      if (!this.charts.has(key)) {
        const place = h("div");
        const part = h("figure", {}, h("figcaption", { textContent: this.name(run.run) }), place);
        this.body.append(part);
        this.charts.set(key, { part, chart: await Chart.make(this.page.model, form, place) });
        if (this.closed) return this.close();
      }
      const { chart, part } = this.charts.get(key);
      part.ariaLabel = `histograms of ${this.tag} in ${this.name(run.run)}`;
      if (form === "bands") bands(chart, run);
      else ridges(chart, run, this.page.templates);
      if (run.notes.length) this.told.textContent = run.notes.join("; ");
    }
  }

  close() {
    super.close();
    for (const { chart } of this.charts.values()) chart.close();
    this.charts.clear();
  }
}

function bands(chart, run) {
  const x = floats(run.steps);
  const all = floats(run.levels);
  const columns = { x };
  for (let k = 0; k < LEVELS; k++) columns[`l${k}`] = x.map((_, row) => all[row * LEVELS + k]);
  chart.fill("bands", columns);
  chart.range("x", span([x], { margin: 0.01 }));
  chart.range("y", span([all]));
}

function ridges(chart, run, templates) {
  const steps = floats(run.steps);
  const counts = floats(run.ridges);
  const bins = steps.length ? counts.length / steps.length : 0;
  const places = Float64Array.from({ length: bins }, (_, k) => run.low + ((k + 0.5) / bins) * (run.high - run.low));
  const range = steps.length > 1 ? steps[steps.length - 1] - steps[0] : 1;
  const gap = range / Math.max(steps.length - 1, 1);
  const scale = (Math.max(gap * 3, range / 6) || 1) / Math.max(...counts, 1e-300);
  const out = { xs: [], ys: [], fill: [], alpha: [] };
  // The newest first and in front at the bottom: a hill rises from its step towards older ones behind it.
  for (let row = 0; row < steps.length; row++) {
    const ys = Array.from(places, (_, k) => steps[row] - scale * counts[row * bins + k]);
    out.xs.push([run.low, ...places, run.high]);
    out.ys.push([steps[row], ...ys, steps[row]]);
    out.fill.push(templates.colours[0]);
    out.alpha.push(0.25 + (0.65 * (row + 1)) / steps.length);
  }
  chart.fill("ridges", out);
  chart.range("x", span([[run.low, run.high]], { margin: 0.01 }));
  const top = out.ys.length ? Math.min(...out.ys.map((ys) => Math.min(...ys))) : 0;
  // Downwards, as in a landscape: later steps are nearer.
  chart.range("y", [(steps[steps.length - 1] ?? 1) + gap * 0.5, top]);
}

// A slider over the steps of each run; it stays at the newest until it is moved.
class StepCard extends ItemCard {
  constructor(page, kind, tag) {
    super(page, kind, tag);
    this.parts = new Map();
  }

  async draw(runs) {
    const wanted = new Set(runs.map((r) => r.run));
    for (const [run, part] of this.parts) {
      if (wanted.has(run)) continue;
      part.el.remove();
      this.parts.delete(run);
    }
    for (const run of runs) {
      if (!this.parts.has(run.run)) this.parts.set(run.run, this.part(run.run));
      const part = this.parts.get(run.run);
      part.items = run.items;
      const last = run.items.length - 1;
      const atEnd = Number(part.slider.value) >= Number(part.slider.max);
      part.slider.max = last;
      if (atEnd) part.slider.value = last;
      part.slider.hidden = last < 1;
      this.show(part);
    }
  }

  part(run) {
    const step = h("output", { className: "tfnb-step" });
    const label = `step of ${this.tag} in ${this.name(run)}`;
    const slider = h("input", { type: "range", min: 0, max: 0, value: 0, ariaLabel: label });
    const view = h("div", { className: "tfnb-item" });
    const caption = h("figcaption", {}, h("span", { textContent: this.name(run) }), " ", step);
    const el = h("figure", {}, caption, slider, view);
    const part = { el, slider, step, view, items: [], drawn: null };
    slider.addEventListener("input", () => this.show(part));
    this.body.append(el);
    return part;
  }

  show(part) {
    const item = part.items[Number(part.slider.value)];
    if (!item) return;
    part.step.textContent = `step ${count(item.step)}`;
    part.slider.setAttribute("aria-valuetext", part.step.textContent);
    if (item.note) part.view.replaceChildren(h("em", { textContent: item.note }));
    else this.fill(part, item);
  }
}

export class ImageCard extends StepCard {
  constructor(page, tag) {
    super(page, "image", tag);
  }

  fill(part, item) {
    const url = URL.createObjectURL(new Blob([item.png], { type: "image/png" }));
    const about = `${this.tag} at ${part.step.textContent}, ${item.width} by ${item.height} pixels`;
    const image = h("img", { alt: about, title: about, src: url });
    image.addEventListener("load", () => URL.revokeObjectURL(url));
    image.style.width = `${Math.max(item.width, Math.min(160, item.width * Math.ceil(112 / item.width)))}px`;
    part.view.replaceChildren(image);
  }
}

export class TextCard extends StepCard {
  constructor(page, tag) {
    super(page, "text", tag);
  }

  fill(part, item) {
    const cut = item.cut ? h("em", { textContent: `and ${count(item.cut)} more characters` }) : null;
    part.view.replaceChildren(h("pre", { textContent: item.text }), ...(cut ? [cut] : []));
  }
}

// The side: which runs are shown and how curves are drawn. It changes the page's options and calls it.
import { count } from "./numbers.js";
import { calmly, h, nameTest } from "./dom.js";
import { look } from "./curves.js";

const LISTED = 300;

export class Side {
  constructor(page) {
    this.page = page;
    this.filter = h("input", { type: "search", placeholder: "runs (regex)", ariaLabel: "filter runs by regex" });
    this.filter.addEventListener("input", calmly(() => this.list(), 150));
    this.runs = h("div", { className: "tfnb-runs", role: "group", ariaLabel: "runs" });
    this.counted = h("div", { className: "tfnb-told" });
    this.baseline = h("select", { onchange: () => this.choose("baseline", this.baselineChosen()) });
    this.curveControls = h("div", { className: "tfnb-controls" }, ...this.curves());
    this.histogramControls = h(
      "div",
      { className: "tfnb-controls" },
      this.check("ridges", "histograms, offset by step", (v) => v)
    );
    const all = h("button", { type: "button", textContent: "all", onclick: () => this.many(true) });
    const none = h("button", { type: "button", textContent: "none", onclick: () => this.many(false) });
    all.title = "choose all runs that the filter lets through";
    none.title = "choose none of the runs that the filter lets through";
    this.el = h(
      "aside",
      { className: "tfnb-side" },
      this.curveControls,
      this.histogramControls,
      h("div", { className: "tfnb-row" }, this.filter, all, none),
      this.runs,
      this.counted
    );
  }

  curves() {
    const { options } = this.page;
    const told = h("output", { textContent: options.smoothing.toFixed(2) });
    const slider = h("input", { type: "range", min: 0, max: 0.99, step: 0.01, value: options.smoothing });
    slider.addEventListener("input", () => {
      told.textContent = Number(slider.value).toFixed(2);
      this.choose("smoothing", Number(slider.value));
    });
    const axis = h(
      "select",
      { onchange: () => this.choose("axis", axis.value) },
      h("option", { value: "step", textContent: "step" }),
      h("option", { value: "relative", textContent: "relative time" }),
      h("option", { value: "wall", textContent: "wall time" })
    );
    return [
      h("label", {}, h("span", {}, "smoothing ", told), slider),
      h("label", {}, "horizontal axis ", axis),
      this.check("log", "log scale", (v) => v),
      this.check("outliers", "ignore outliers", (v) => !v),
      this.check("band", "mean and band over runs", (v) => v),
      h("label", {}, "difference to ", this.baseline),
    ];
  }

  check(name, text, meaning) {
    const box = h("input", { type: "checkbox", onchange: () => this.choose(name, meaning(box.checked)) });
    return h("label", {}, box, ` ${text}`);
  }

  baselineChosen() {
    return this.baseline.value === "" ? null : Number(this.baseline.value);
  }

  choose(name, value) {
    this.page.options[name] = value;
    this.page.redraw();
  }

  listed() {
    const passes = nameTest(this.filter);
    return this.page.runs.map((name, run) => ({ name, run })).filter(({ name }) => passes(name));
  }

  many(chosen) {
    for (const { run } of this.listed()) {
      if (chosen) this.page.options.runs.add(run);
      else this.page.options.runs.delete(run);
    }
    this.list();
    this.page.want();
  }

  list() {
    const { page } = this;
    const found = this.listed();
    const rows = found.slice(0, LISTED).map(({ name, run }) => {
      const box = h("input", { type: "checkbox", checked: page.options.runs.has(run) });
      box.addEventListener("change", () => {
        if (box.checked) page.options.runs.add(run);
        else page.options.runs.delete(run);
        this.tell(found.length);
        page.want();
      });
      const swatch = h("span", { className: "tfnb-swatch" });
      const { colour, dash } = look(page.templates, run);
      swatch.style.borderTop = `3px ${dash === "solid" ? "solid" : dash === "dotted" ? "dotted" : "dashed"} ${colour}`;
      return h("label", { title: name }, box, swatch, h("span", { textContent: name }));
    });
    this.runs.replaceChildren(...rows);
    this.tell(found.length);
    const options = [h("option", { value: "", textContent: "none" })];
    page.runs.slice(0, LISTED).forEach((name, run) => options.push(h("option", { value: run, textContent: name })));
    this.baseline.replaceChildren(...options);
    this.baseline.value = page.options.baseline ?? "";
  }

  tell(passing) {
    const chosen = this.page.options.runs.size;
    const hidden = passing > LISTED ? `; the first ${LISTED} of ${count(passing)} listed` : "";
    this.counted.textContent = `${count(chosen)} of ${count(this.page.runs.length)} runs shown${hidden}`;
  }

  kind(kind) {
    this.curveControls.hidden = kind !== "scalar";
    this.histogramControls.hidden = kind !== "histogram";
    this.el.hidden = kind === "parameters";
  }
}

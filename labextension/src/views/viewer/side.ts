// The side bar: which runs are shown and how curves are drawn. It changes the options of the page and redraws it.

import { h } from "../dom";
import { look } from "./curves";
import { nameTest } from "./name_filter";
import { count } from "./numbers";
import type { Axis, Form, Options, PageContext } from "./options";
import { throttle } from "./throttle";

const LISTED = 300;
const AXES: Record<Axis, string> = {
  step: "step",
  logstep: "step, logarithmic",
  relative: "relative time",
  wall: "wall time",
};
const FORMS: Record<Form, string> = {
  bands: "percentile bands",
  ridges: "histograms, offset by step",
  overlay: "histograms, overlaid",
};

type Switch = { [K in keyof Options]: Options[K] extends boolean ? K : never }[keyof Options];

export interface SideContext extends PageContext {
  redraw(): void;
  /** The options have changed. */
  keep(): void;
  /** The selection of runs has changed. */
  want(): void;
}

export class Side {
  readonly el: HTMLElement;
  private readonly filter = h("input", {
    type: "search",
    placeholder: "runs (regex)",
    ariaLabel: "filter runs by regex",
  });
  private readonly runs = h("div", { className: "tfnb-runs", role: "group", ariaLabel: "runs" });
  private readonly counted = h("div", { className: "tfnb-note" });
  private readonly baseline = h("select");
  private readonly curveControls: HTMLElement;
  private readonly histogramControls: HTMLElement;

  constructor(private readonly context: SideContext) {
    const { options } = context;
    this.filter.value = options.names;
    this.filter.addEventListener(
      "input",
      throttle(() => {
        options.names = this.filter.value;
        context.keep();
        this.list();
      }, 150),
    );
    this.baseline.addEventListener("change", () => {
      const { value } = this.baseline;
      this.choose("baseline", value === "" ? null : Number(value));
    });
    this.curveControls = h("div", { className: "tfnb-controls" }, ...this.curves());
    const forms = this.select("form", FORMS);
    const label = h("label", {}, "shown as ", forms);
    this.histogramControls = h("div", { className: "tfnb-controls" }, label);
    const chosen = h("div", { className: "tfnb-row" }, this.filter, ...this.buttons());
    const parts = [this.curveControls, this.histogramControls, chosen, this.runs, this.counted];
    this.el = h("aside", { className: "tfnb-side" }, ...parts);
  }

  private buttons(): HTMLElement[] {
    const button = (textContent: string, title: string, chosen: boolean) =>
      h("button", { type: "button", textContent, title, onclick: () => this.many(chosen) });
    return [
      button("all", "select all runs that match the filter", true),
      button("none", "deselect all runs that match the filter", false),
    ];
  }

  private curves(): HTMLElement[] {
    const { options } = this.context;
    const output = h("output", { textContent: options.smoothing.toFixed(2) });
    const slider = h("input", { type: "range", min: "0", max: "0.99", step: "0.01" });
    slider.value = String(options.smoothing);
    slider.addEventListener("input", () => {
      output.textContent = Number(slider.value).toFixed(2);
      this.choose("smoothing", Number(slider.value));
    });
    return [
      h("label", {}, h("span", {}, "smoothing ", output), slider),
      h("label", {}, "horizontal axis ", this.select("axis", AXES)),
      this.check("log", "log scale"),
      this.check("outliers", "ignore outliers", true),
      this.check("band", "mean ± std over runs"),
      h("label", {}, "difference to ", this.baseline),
    ];
  }

  private select<K extends "axis" | "form">(name: K, texts: Record<Options[K], string>) {
    const entries = Object.entries<string>(texts).map(([value, textContent]) =>
      h("option", { value, textContent }),
    );
    const select = h("select", {}, ...entries);
    select.value = this.context.options[name];
    select.addEventListener("change", () => this.choose(name, select.value as Options[K]));
    return select;
  }

  private check(name: Switch, text: string, inverse = false): HTMLElement {
    const box = h("input", { type: "checkbox", checked: this.context.options[name] !== inverse });
    box.addEventListener("change", () => this.choose(name, box.checked !== inverse));
    return h("label", {}, box, ` ${text}`);
  }

  private choose<K extends keyof Options>(name: K, value: Options[K]): void {
    this.context.options[name] = value;
    this.context.keep();
    this.context.redraw();
  }

  private listed(): { name: string; run: number }[] {
    const passes = nameTest(this.filter);
    return this.context.runs.map((name, run) => ({ name, run })).filter(({ name }) => passes(name));
  }

  private many(chosen: boolean): void {
    const { runs } = this.context.options;
    for (const { run } of this.listed()) {
      if (chosen) runs.add(run);
      else runs.delete(run);
    }
    this.list();
    this.context.keep();
    this.context.want();
  }

  list(): void {
    const { context } = this;
    const listed = this.listed();
    this.runs.replaceChildren(
      ...listed.slice(0, LISTED).map(({ name, run }) => this.row(name, run, listed.length)),
    );
    this.showCount(listed.length);
    const names = context.runs.slice(0, LISTED);
    this.baseline.replaceChildren(
      h("option", { value: "", textContent: "none" }),
      ...names.map((textContent, run) => h("option", { value: String(run), textContent })),
    );
    this.baseline.value = String(context.options.baseline ?? "");
  }

  private row(name: string, run: number, passing: number): HTMLElement {
    const { options, templates } = this.context;
    const box = h("input", { type: "checkbox", checked: options.runs.has(run) });
    box.addEventListener("change", () => {
      if (box.checked) options.runs.add(run);
      else options.runs.delete(run);
      this.showCount(passing);
      this.context.keep();
      this.context.want();
    });
    const swatch = h("span", { className: "tfnb-swatch" });
    const { colour, dash } = look(templates, run);
    const style = dash === "solid" || dash === "dotted" ? dash : "dashed";
    swatch.style.borderTop = `3px ${style} ${colour}`;
    return h("label", { title: name }, box, swatch, h("span", { textContent: name }));
  }

  private showCount(passing: number): void {
    const { options, runs } = this.context;
    const hidden =
      passing > LISTED
        ? `; the first ${LISTED} of ${count(passing)} listed: use the filter to find others`
        : "";
    this.counted.textContent = `${count(options.runs.size)} of ${count(runs.length)} runs shown${hidden}`;
  }

  kind(kind: string): void {
    this.curveControls.hidden = kind !== "scalar";
    this.histogramControls.hidden = kind !== "histogram";
    this.el.hidden = kind === "parameters";
  }
}

// The timeline of a trace in any page: lanes that can be zoomed from seconds to microseconds, the most expensive
// operations, and a card of the selected event (white paper, section 9.2, the EEG). It imports nothing of Jupyter, so that
// a widget and a document viewer can use it.
import type { EventCard } from "../../protocol/timeline";
import { button, h, keepKeys } from "../dom";
import { helpLink } from "../help_link";
import { cardLines } from "./card";
import { Chart } from "./chart";
import { Costs } from "./costs";
import { paint } from "./painting";
import { colourOf, inkOn, titleOf } from "./palette";
import { KEYS, steer } from "./steering";
import { timeText } from "./texts";
import style from "./timeline.css?text";
import type { Trace } from "./trace";

export interface TimelineOptions {
  /** Returns details of an event that the columns do not contain; the promise may never settle. */
  readonly card?: (event: number) => Promise<EventCard>;
  /** Saves the trace as a file; without it there is no button for saving. */
  readonly save?: () => void;
}

export interface TimelineView {
  dispose(): void;
}

/** Draws a trace into `host`, replacing its content. */
export function drawTimeline(
  host: HTMLElement,
  trace: Trace,
  options: TimelineOptions = {},
): TimelineView {
  const view = new View(trace, options);
  host.replaceChildren(view.root);
  return view;
}

class View implements TimelineView {
  readonly root: HTMLElement;
  private readonly canvas = h("canvas", {
    tabIndex: 0,
    role: "application",
    "aria-label": `timeline of a run; ${KEYS}`,
  });
  private readonly box = h("div", { className: "box" });
  private readonly status = h("div", { role: "status", "aria-live": "polite" });
  private readonly card = h("div", {
    className: "card",
    textContent: "Select an event or a table row to see details.",
  });
  private readonly chart: Chart;
  private readonly costs: Costs;
  private readonly sizes = new ResizeObserver(() => this.later());
  private readonly themes = new MutationObserver(() => this.later());
  private drawing = 0;

  constructor(
    private readonly trace: Trace,
    private readonly options: TimelineOptions,
  ) {
    this.chart = new Chart(
      trace,
      () => this.later(),
      (i) => this.chosen(i),
      (y) => {
        this.box.scrollTop = y;
      },
    );
    this.costs = new Costs(trace.meta.table, (label) => this.showLabel(label));
    this.layOut();
    this.root = h(
      "div",
      { className: "tfnb-tl" },
      h("style", { textContent: style }),
      h("div", { className: "summary", textContent: trace.meta.summary }),
      accountBar(trace),
      this.toolbar(),
      this.box,
      this.status,
      h(
        "div",
        { className: "under" },
        h("div", { className: "costs" }, this.costs.element),
        this.card,
      ),
    );
    keepKeys(this.root);
    this.sizes.observe(this.canvas);
    // JupyterLab changes attributes of the body when its theme changes.
    this.themes.observe(document.body, { attributes: true });
  }

  dispose(): void {
    this.sizes.disconnect();
    this.themes.disconnect();
    cancelAnimationFrame(this.drawing);
    this.root.remove();
  }

  private layOut(): void {
    const { chart, canvas, box } = this;
    canvas.style.height = `${chart.height}px`;
    box.style.height = `${chart.height}px`;
    // The canvas stays visible; this element gives the scrolling box the height of all lanes.
    const rest = h("div");
    rest.style.height = `${chart.fullHeight - chart.height}px`;
    box.append(canvas, rest);
    box.addEventListener("scroll", () => chart.scroll(box.scrollTop));
    steer(chart, canvas, box);
  }

  private later(): void {
    this.drawing ||= requestAnimationFrame(() => {
      this.drawing = 0;
      paint(this.chart, this.canvas);
    });
  }

  private toolbar(): HTMLElement {
    const { chart, trace, options } = this;
    const slowest = trace.meta.table[0];
    const used = trace.meta.kinds.filter((_, k) => trace.columns.kind.includes(k));
    return h(
      "div",
      { className: "bar" },
      ...(slowest ? [this.slowest(slowest.label, slowest.name, slowest.share)] : []),
      button("Fit", "show the whole recording", () => chart.reset()),
      button("Step", "show the step of the selected event, or the next one", () =>
        chart.nextStep(),
      ),
      button("−", "zoom out", () => chart.zoom(1.6)),
      button("+", "zoom in", () => chart.zoom(1 / 1.6)),
      this.search(),
      this.check("critical path", "path"),
      this.check("arrows", "arrows"),
      ...(options.save
        ? [button("Save Chrome trace", "save as a Chrome trace", options.save)]
        : []),
      ...used.map(keyOf),
      helpLink("timeline"),
    );
  }

  private slowest(label: number, name: string, share: number): HTMLButtonElement {
    const percent = (100 * share).toFixed(share < 0.1 ? 1 : 0);
    const text = `Slowest: ${name}, ${percent}%`;
    const slowest = button(text, `show the slowest operation, ${name}`, () =>
      this.showLabel(label),
    );
    slowest.className = "slowest";
    return slowest;
  }

  private search(): HTMLInputElement {
    const attributes = {
      type: "search",
      placeholder: "find an operation",
      "aria-label": "find an operation",
    };
    const field = h("input", attributes);
    field.addEventListener("keydown", (e) => {
      if (e.key !== "Enter") return;
      const match = this.trace.search(field.value, this.chart.selected);
      if (match >= 0) this.chart.show(match);
      else this.status.textContent = `no operation matches "${field.value}"`;
    });
    return field;
  }

  private check(text: string, what: "path" | "arrows"): HTMLLabelElement {
    const box = h("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => {
      this.chart[what] = box.checked;
      this.later();
    });
    return h("label", {}, box, text);
  }

  private showLabel(label: number): void {
    const longest = this.trace.longestOf(label);
    if (longest < 0) return;
    this.chart.mark(label);
    this.chart.show(longest);
  }

  private chosen(i: number): void {
    const { trace } = this;
    this.costs.mark(i < 0 ? -1 : trace.label(i));
    if (i < 0) return;
    this.status.textContent = `${trace.name(i)}: ${titleOf(trace.kind(i))}, ${timeText(trace.length(i))}`;
    this.card.replaceChildren(...cardLines(trace, i, null));
    void this.options.card?.(i).then((known) => {
      if (this.chart.selected === i) this.card.replaceChildren(...cardLines(trace, i, known));
    });
  }
}

function keyOf(kind: string): HTMLElement {
  const patch = h("i");
  patch.style.background = colourOf(kind);
  return h("span", { className: "key" }, patch, titleOf(kind));
}

/** The time of kernels and of gaps as one bar, whose length is the time of the steps. */
function accountBar(trace: Trace): HTMLElement {
  const all = trace.meta.account.reduce((sum, [, us]) => sum + us, 0) || 1;
  const parts = trace.meta.account.filter(([, us]) => us > 0);
  const shares = parts.map(
    ([name, us]) => `${name} ${timeText(us)}, ${((100 * us) / all).toFixed(1)}%`,
  );
  const kinds: Record<string, string> = {
    kernels: "kernel",
    "host kernels": "host",
    launching: "launch",
  };
  const spans = parts.map(([name, us], k) => {
    const kind = kinds[name] ?? "wait";
    const bar = h("span", { textContent: name, title: shares[k] ?? "" });
    bar.style.cssText = `flex: ${us / all} 1 0; background: ${colourOf(kind)}; color: ${inkOn(kind) || "#000"}`;
    return bar;
  });
  const label = `where the time of the steps went: ${shares.join("; ")}`;
  return h("div", { className: "account", role: "img", "aria-label": label }, ...spans);
}

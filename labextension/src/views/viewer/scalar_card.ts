// The card of one scalar tag: a chart, the values under the shared cursor, and its exports.
import type { ScalarContent } from "../../protocol/viewer";
import { download, h } from "../dom";
import { Chart } from "./chart";
import { type Curve, type Drawn, decoded, drawing, FEW, lines } from "./curves";
import { LiveUpdate } from "./live_update";
import { breakOf, count, nearest, short } from "./numbers";
import type { Card, PageContext } from "./options";
import { throttle } from "./throttle";
import { ValueTable } from "./value_table";

const LABEL = 4_000; // milliseconds between updates of the labels of growing charts, which all change in the same frame

export class ScalarCard implements Card {
  readonly el: HTMLElement;
  private shown: Drawn[] = [];
  private curves: Curve[] = [];
  private known: ScalarContent | null = null;
  private chart: Chart | null = null;
  private template = "";
  private visible = false;
  private dirty = true;
  private appended = false; // whether only points were appended since the last drawing
  private live: LiveUpdate | null = null;
  private closed = false;
  private last: Promise<void> = Promise.resolve();
  private labelled = -1; // the time of the last label, in units of LABEL
  private readonly place = h("div", { className: "tfnb-chart", tabIndex: 0, role: "img" });
  private readonly table: ValueTable;
  private pointer: number | null = null; // the vertical position of the pointer, if it is over this chart
  private readonly status = h("span", { className: "tfnb-note" });
  private readonly pointHere = throttle(() => this.point(this.context.cursor), 30);

  constructor(
    private readonly context: PageContext,
    private readonly tag: string,
  ) {
    const title = h("h4", { textContent: tag, title: tag });
    const head = h("header", {}, title, ...this.buttons());
    this.table = new ValueTable(context);
    const parts = [head, this.place, this.table.el, this.status];
    this.el = h("section", { className: "tfnb-card", ariaLabel: tag }, ...parts);
    this.place.addEventListener("pointermove", (e) => this.pointed(e));
    this.place.addEventListener("pointerleave", (e) => this.left(e));
    this.table.el.addEventListener("pointerleave", (e) => this.left(e));
    this.place.addEventListener("keydown", (e) => this.key(e));
    this.place.addEventListener("blur", () => context.point(null));
  }

  private buttons(): HTMLElement[] {
    const { context, tag } = this;
    const button = (textContent: string, title: string, onclick: () => void) =>
      h("button", { type: "button", textContent, title, ariaLabel: `${title}: ${tag}`, onclick });
    const frame = () =>
      button("DataFrame", "store the points as a DataFrame in the variable view_frame", () =>
        context.ask({ op: "frame", tag }),
      );
    return [
      button("CSV", "save the points as CSV", () => context.ask({ op: "csv", tag })),
      ...(context.hasKernel ? [frame()] : []),
      button("PNG", "save the chart as PNG", () => this.save("png")),
      button("SVG", "save the chart as SVG", () => this.save("svg")),
    ];
  }

  update(appended = false): Promise<void> {
    this.appended = appended && (this.appended || !this.dirty);
    this.dirty = true;
    if (!this.visible) return Promise.resolve();
    this.last = this.last.then(() => this.draw()).catch((fault: Error) => this.fault(fault));
    return this.last;
  }

  see(visible: boolean): void {
    this.visible = visible;
    if (visible && this.dirty) void this.update();
  }

  private fault(error: Error): void {
    if (!this.closed) this.status.textContent = `the chart could not be drawn: ${error.message}`;
  }

  private async draw(): Promise<void> {
    if (!this.dirty || this.closed) return;
    const { context, appended } = this;
    this.dirty = this.appended = false;
    const content = context.content("scalar", this.tag);
    if (!content) {
      this.status.textContent = "waiting for the kernel …";
      return;
    }
    const { options } = context;
    const chart = await this.chartFor(
      `${options.axis}-${options.log && options.baseline === null ? "log" : "linear"}`,
    );
    if (this.closed) return this.close();
    if (content !== this.known) {
      this.known = content;
      this.curves = decoded(content);
    }
    this.shown = lines(this.curves, options, context.templates);
    if (!appended || this.labelled !== Math.floor(performance.now() / LABEL)) this.label();
    if (appended && this.extended()) return;
    const { sources, x, y } = drawing(this.shown, options, context.templates, appended);
    for (const [name, columns] of Object.entries(sources)) chart.fill(name, columns);
    const ahead = appended ? this.live?.ahead(x, options.axis === "logstep") : null;
    chart.range("x", ahead ?? x);
    chart.range("y", y);
    this.live?.drawn(this.shown, appended);
    this.point(context.cursor);
  }

  // The label changes together with a drawing, since each change of the page costs a style computation and a frame.
  private label(): void {
    this.labelled = Math.floor(performance.now() / LABEL);
    this.place.ariaLabel = this.newest();
    if (this.context.cursor === null) this.table.show(this.shown, null, null);
    this.showStatus();
  }

  // New points are drawn over the chart where that is sufficient.
  private extended(): boolean {
    const { band, baseline, smoothing, outliers } = this.context.options;
    if (band || baseline !== null || this.shown.some((line) => line.x.length <= FEW)) return false;
    return this.live?.extend(this.shown, { smoothing: smoothing > 0, outliers }) ?? false;
  }

  private async chartFor(template: string): Promise<Chart> {
    if (this.chart && template === this.template) return this.chart;
    const item = await this.context.chart(template);
    const place = h("div");
    this.place.append(place);
    const chart = await Chart.make(await this.context.bokeh(), item, place);
    this.live?.close();
    this.chart?.close();
    for (const old of [...this.place.children]) if (old !== place) old.remove();
    this.chart = chart;
    this.live = new LiveUpdate(chart);
    this.template = template;
    return chart;
  }

  private showStatus(): void {
    const { options, runs } = this.context;
    const sent = this.shown.reduce((n, c) => n + c.x.length, 0);
    const total = this.shown.reduce((n, c) => n + c.total, 0);
    const many = this.shown.length;
    const words = [
      options.baseline === null ? "" : `difference to ${runs[options.baseline]}`,
      options.band && many > 1 ? `mean of ${many} runs ± standard deviation` : "",
      many ? "" : "none of the selected runs has this tag",
      ...this.breaks(),
      total > sent
        ? `${count(sent)} of ${count(total)} points drawn (downsampled, extremes kept)`
        : "",
    ]
      .filter(Boolean)
      .join("; ");
    if (this.status.textContent !== words) this.status.textContent = words;
  }

  // Where curves break off: the words once, and the runs to which they apply.
  private breaks(): string[] {
    const runs = new Map<string, string[]>();
    for (const { step, value, run } of this.shown) {
      const found = breakOf(step, value);
      if (!found) continue;
      const names = runs.get(found.words) ?? [];
      runs.set(found.words, names);
      names.push(this.context.runs[run] ?? "");
    }
    if (this.shown.length === 1) return [...runs.keys()];
    return [...runs].map(([words, names]) => {
      const more = names.length > 3 ? ` and ${count(names.length - 2)} more` : "";
      return `${words}: ${names.slice(0, more ? 2 : 3).join(", ")}${more}`;
    });
  }

  private newest(): string {
    const { runs } = this.context;
    const newest = this.shown.map((c) => `${runs[c.run]}: ${short(c.y[c.y.length - 1])}`);
    const values = newest.slice(0, 6).join(", ");
    return `line chart of ${this.tag}; newest values ${values}`;
  }

  private pointed(event: PointerEvent): void {
    if (!this.chart) return;
    this.pointer = this.chart.yAt(event.clientY);
    const x = this.chart.xAt(event.clientX, event.clientY);
    if (x === this.context.cursor) this.pointHere();
    else this.context.point(x);
  }

  // The cursor stays while the pointer is over the values, which can be scrolled.
  private left({ relatedTarget }: PointerEvent): void {
    if (relatedTarget instanceof Node && this.table.el.contains(relatedTarget)) return;
    if (relatedTarget instanceof Node && this.place.contains(relatedTarget)) return;
    this.pointer = null;
    this.context.point(null);
  }

  // The arrow keys move the cursor from point to point of the first curve.
  private key(event: KeyboardEvent): void {
    const move = { ArrowLeft: -1, ArrowRight: 1, Escape: 0 }[event.key];
    const [first] = this.shown;
    if (move === undefined || !first) return;
    event.preventDefault();
    const { x } = first;
    const { cursor } = this.context;
    const here = cursor === null ? -1 : nearest(x, cursor);
    const start = move < 0 ? x.length - 1 : 0;
    const next = here < 0 ? start : Math.min(Math.max(here + move, 0), x.length - 1);
    this.context.point(move ? (x[next] ?? null) : null);
  }

  // Shows the cursor of all charts at x, and the values there; the newest values without a cursor.
  point(x: number | null): void {
    if (!this.chart || !this.visible) return;
    this.chart.cursor(x);
    this.chart.fill("near", this.table.show(this.shown, x, this.distance()));
  }

  // The distance of a curve's point from the pointer in pixels; null if the pointer is over another chart.
  private distance(): ((line: Drawn, place: number) => number) | null {
    const { chart, pointer } = this;
    if (pointer === null || !chart) return null;
    const { pen } = chart;
    return (line, place) => Math.abs(pen.y(line.y[place] as number) - pointer);
  }

  private async save(kind: "png" | "svg"): Promise<void> {
    await this.update(); // includes the points that were drawn over the chart
    if (this.chart) download(await this.chart.blob(kind), `${this.tag}.${kind}`);
  }

  close(): void {
    this.closed = true;
    this.pointHere.cancel();
    this.live?.close();
    this.chart?.close();
    this.chart = null;
  }
}

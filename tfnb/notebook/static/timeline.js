// The browser's side of tfnb/notebook/timeline_view.py: lanes of events on a canvas, from seconds to microseconds.
// Each row keeps its events by start and the sum of their lengths up to each: what is narrower than a pixel is drawn
// as one bar whose strength says how much of it was busy, so a million events cost one search for each pixel.
// Names come from graphs and files: they are only ever set as text.

const KINDS = {
  kernel: ["#3f86d6", "kernel"], host: ["#e07b39", "host kernel"], launch: ["#c9a227", "launch"],
  compile: ["#b45cc7", "compile"], transfer: ["#2f9e6e", "transfer"], schedule: ["#8a8a8a", "executor"],
  wait: ["#a8a8a8", "wait"],
};
const ROW = 18, AXIS = 24, GUTTER = 150, LANE_GAP = 7, MOST_ARROWS = 400;

const make = (tag, set = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(set)) {
    if (key in node && key !== "style" && key !== "list") node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
};

export function timeText(us) {
  const a = Math.abs(us);
  if (a >= 1e6) return `${+(us / 1e6).toPrecision(5)} s`;
  if (a >= 1e3) return `${+(us / 1e3).toPrecision(4)} ms`;
  if (a >= 1 || a === 0) return `${+us.toPrecision(4)} µs`;
  return `${(us * 1e3).toPrecision(3)} ns`;
}

function bytesText(n) {
  for (const unit of ["bytes", "KiB", "MiB", "GiB"]) {
    if (n < 1024 || unit === "GiB") return `${+n.toPrecision(4)} ${unit}`;
    n /= 1024;
  }
}

const copyOf = (view, Type) =>
  new Type(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));

// ---- the events ------------------------------------------------------------------------------------

class Trace {
  constructor(meta, buffers) {
    Object.assign(this, meta);
    const types = [Float64Array, Float64Array, Int32Array, Int32Array, Uint8Array, Int32Array, Int32Array, Uint8Array];
    [this.start, this.end, this.row, this.label, this.kind, this.step, this.cause, this.critical] =
      buffers.map((b, k) => copyOf(b, types[k]));
    this.n = this.start.length;
    const counts = new Int32Array(this.n_rows);
    for (const r of this.row) counts[r]++;
    this.rows = Array.from(counts, (c) => ({ index: new Int32Array(c), sum: new Float64Array(c + 1), n: 0 }));
    for (let i = 0; i < this.n; i++) {
      const row = this.rows[this.row[i]];
      row.index[row.n] = i;
      row.sum[row.n + 1] = row.sum[row.n] + this.end[i] - this.start[i];
      row.n++;
    }
  }

  // The first event of a row that begins at `t` or later, among those from `low` on.
  first(row, t, low = 0) {
    let high = row.n;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[row.index[middle]] < t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The event of a row at a time, within `slack`; -1 for none.
  at(row, t, slack) {
    const k = this.first(row, t + slack) - 1;
    return k >= 0 && this.end[row.index[k]] >= t - slack ? row.index[k] : -1;
  }
}

// ---- drawing ---------------------------------------------------------------------------------------

class Chart {
  constructor(trace, canvas, told) {
    this.trace = trace;
    this.canvas = canvas;
    this.told = told; // told(i): event i was chosen
    this.selected = this.hovered = -1;
    this.marked = -1; // the label whose events stand out
    this.arrows = this.path = true;
    let y = AXIS;
    this.tops = new Float64Array(trace.n_rows);
    for (const lane of trace.lanes) {
      for (let k = 0; k < lane.rows; k++, y += ROW) this.tops[lane.row + k] = y;
      y += LANE_GAP;
    }
    this.height = y + 4;
    this.fit();
  }

  fit(from = 0, to = this.trace.span_us) {
    const margin = (to - from) * 0.02 || 1;
    this.from = from - margin;
    this.to = to + margin;
    this.later();
  }

  later() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = undefined;
      this.draw();
    });
  }

  x(t) {
    return GUTTER + ((t - this.from) / (this.to - this.from)) * (this.width - GUTTER);
  }

  time(x) {
    return this.from + ((x - GUTTER) / (this.width - GUTTER)) * (this.to - this.from);
  }

  zoom(factor, x = (GUTTER + this.width) / 2) {
    const t = this.time(x), most = this.trace.span_us * 2 + 10;
    factor = Math.min(Math.max(factor, 0.02 / (this.to - this.from)), most / (this.to - this.from));
    this.from = t - (t - this.from) * factor;
    this.to = t + (this.to - t) * factor;
    this.later();
  }

  pan(pixels) {
    const by = (pixels / (this.width - GUTTER)) * (this.to - this.from);
    this.from += by;
    this.to += by;
    this.later();
  }

  show(i) {
    const took = Math.max(this.trace.end[i] - this.trace.start[i], 0.2);
    const middle = (this.trace.start[i] + this.trace.end[i]) / 2;
    if (took < (this.to - this.from) / 300 || this.trace.start[i] < this.from || this.trace.end[i] > this.to) {
      this.from = middle - took * 4;
      this.to = middle + took * 4;
    }
    this.select(i);
  }

  select(i) {
    this.selected = i;
    this.told(i);
    this.later();
  }

  find(x, y) {
    if (x < GUTTER) return -1;
    const t = this.time(x), slack = (2 * (this.to - this.from)) / (this.width - GUTTER);
    for (let r = 0; r < this.tops.length; r++) {
      if (y >= this.tops[r] && y < this.tops[r] + ROW) {
        const exact = this.trace.at(this.trace.rows[r], t, 0);
        return exact >= 0 ? exact : this.trace.at(this.trace.rows[r], t, slack);
      }
    }
    return -1;
  }

  draw() {
    const { canvas, trace } = this, scale = window.devicePixelRatio || 1;
    this.width = canvas.clientWidth;
    if (this.width < GUTTER + 20) return;
    if (canvas.width !== Math.round(this.width * scale) || canvas.height !== Math.round(this.height * scale)) {
      canvas.width = Math.round(this.width * scale);
      canvas.height = Math.round(this.height * scale);
    }
    const style = getComputedStyle(canvas), of = (name, other) => style.getPropertyValue(name).trim() || other;
    this.ink = of("--jp-ui-font-color1", "#222");
    this.faint = of("--jp-border-color2", "#ddd");
    this.paper = of("--jp-layout-color0", "#fff");
    this.strong = of("--jp-error-color1", "#d32f2f");
    const g = (this.g = canvas.getContext("2d"));
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.clearRect(0, 0, this.width, this.height);
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    this.axis();
    g.save();
    g.beginPath();
    g.rect(GUTTER, 0, this.width - GUTTER, this.height);
    g.clip();
    for (let r = 0; r < trace.rows.length; r++) this.drawRow(r);
    if (this.path) this.drawPath();
    if (this.arrows) this.drawArrows();
    if (this.selected >= 0) this.frame(this.selected, this.ink, 2);
    g.restore();
    this.names();
  }

  axis() {
    const { g } = this, span = this.to - this.from;
    const rough = (span * 110) / (this.width - GUTTER), power = 10 ** Math.floor(Math.log10(rough));
    const unit = [1, 2, 5, 10].map((k) => k * power).find((u) => u >= rough);
    g.lineWidth = 1;
    for (let k = Math.ceil(this.from / unit); k * unit <= this.to; k++) {
      const x = Math.round(this.x(k * unit)) + 0.5;
      if (x < GUTTER) continue;
      g.strokeStyle = this.faint;
      g.beginPath();
      g.moveTo(x, AXIS - 6);
      g.lineTo(x, this.height);
      g.stroke();
      g.fillStyle = this.ink;
      g.fillText(timeText(+(k * unit).toPrecision(12)), x + 3, AXIS / 2 - 2);
    }
    g.globalAlpha = 0.6;
    for (const [begin] of this.trace.steps) {
      const x = Math.round(this.x(begin)) + 0.5;
      if (x < GUTTER || x > this.width || this.trace.steps.length > 2000) continue;
      g.strokeStyle = this.ink;
      g.setLineDash([2, 3]);
      g.beginPath();
      g.moveTo(x, AXIS - 6);
      g.lineTo(x, this.height);
      g.stroke();
      g.setLineDash([]);
    }
    g.globalAlpha = 1;
  }

  names() {
    const { g } = this;
    for (const lane of this.trace.lanes) {
      const y = this.tops[lane.row];
      g.fillStyle = this.ink;
      g.fillText(cut(g, lane.name, GUTTER - 12), 4, y + ROW / 2);
    }
  }

  colour(i) {
    return KINDS[this.trace.kinds[this.trace.kind[i]]][0];
  }

  drawRow(r) {
    const { g, trace } = this, row = trace.rows[r], y = this.tops[r] + 1, h = ROW - 3;
    const pixel = (this.to - this.from) / (this.width - GUTTER);
    let k = Math.max(trace.first(row, this.from) - 1, 0);
    while (k < row.n && trace.start[row.index[k]] < this.to) {
      const i = row.index[k], a = trace.start[i], b = trace.end[i];
      const faint = this.marked >= 0 && trace.label[i] !== this.marked;
      if (b - a >= pixel) {
        const x = Math.max(this.x(a), GUTTER - 5), w = Math.min(this.x(b), this.width + 5) - x;
        g.globalAlpha = faint ? 0.22 : trace.kinds[trace.kind[i]] === "wait" ? 0.45 : 1;
        g.fillStyle = this.colour(i);
        g.fillRect(x, y, Math.max(w - (w > 4 ? 1 : 0), 1), h);
        g.globalAlpha = 1;
        if (w > 34 && !faint) {
          g.fillStyle = trace.kinds[trace.kind[i]] === "wait" ? this.ink : "#fff";
          g.fillText(cut(g, trace.labels[trace.label[i]], w - 8), Math.max(x, GUTTER) + 4, y + h / 2 + 0.5);
        }
        k++;
        continue;
      }
      // Several in a pixel: one bar, as strong as the pixel was busy.
      const next = Math.max(trace.first(row, a + pixel, k + 1), k + 1);
      const busy = (row.sum[next] - row.sum[k]) / pixel;
      g.globalAlpha = faint ? 0.15 : 0.3 + 0.7 * Math.min(busy, 1);
      g.fillStyle = this.colour(i);
      g.fillRect(this.x(a), y, 1, h);
      g.globalAlpha = 1;
      k = next;
    }
  }

  frame(i, colour, width) {
    const { g, trace } = this, x = this.x(trace.start[i]);
    g.strokeStyle = colour;
    g.lineWidth = width;
    g.strokeRect(x, this.tops[trace.row[i]] + 0.5, Math.max(this.x(trace.end[i]) - x - 1, 2), ROW - 2);
  }

  drawPath() {
    const { g, trace } = this;
    g.fillStyle = this.strong;
    for (let r = 0; r < trace.rows.length; r++) {
      const row = trace.rows[r];
      let last = -1e9;
      for (let k = Math.max(trace.first(row, this.from) - 1, 0); k < row.n; k++) {
        const i = row.index[k];
        if (trace.start[i] > this.to) break;
        const x = this.x(trace.start[i]), w = Math.max(this.x(trace.end[i]) - x - 1, 1);
        if (!trace.critical[i] || x + w < last + 1) continue;
        g.fillRect(x, this.tops[r] + ROW - 3, w, 2.5);
        last = x + w;
      }
    }
  }

  // From what a stalled operation waited for; for the selected event also the chain before it.
  drawArrows() {
    const { trace } = this, wait = trace.kinds.indexOf("wait");
    let drawn = 0;
    for (let r = 0; r < trace.rows.length && drawn < MOST_ARROWS; r++) {
      const row = trace.rows[r];
      for (let k = Math.max(trace.first(row, this.from) - 1, 0); k < row.n && drawn < MOST_ARROWS; k++) {
        const i = row.index[k];
        if (trace.start[i] > this.to) break;
        const wide = this.x(trace.end[i]) - this.x(trace.start[i]) > 6;
        if (trace.kind[i] === wait && trace.cause[i] >= 0 && wide && i !== this.selected) {
          this.arrow(trace.cause[i], i, this.ink, 0.55);
          drawn++;
        }
      }
    }
    for (let i = this.selected, k = 0; i >= 0 && trace.cause[i] >= 0 && k < 12; k++, i = trace.cause[i])
      this.arrow(trace.cause[i], i, this.strong, k ? 0.5 : 1);
  }

  arrow(from, to, colour, alpha) {
    const { g, trace } = this, wait = trace.kinds[trace.kind[to]] === "wait";
    const x0 = this.x(trace.end[from]), y0 = this.tops[trace.row[from]] + ROW / 2;
    const x1 = this.x(wait ? trace.end[to] : trace.start[to]), y1 = this.tops[trace.row[to]] + ROW / 2;
    const bend = Math.min(40, 12 + Math.abs(x1 - x0) / 3) * (wait ? 0.4 : 1);
    g.globalAlpha = alpha;
    g.strokeStyle = g.fillStyle = colour;
    g.lineWidth = 1.4;
    g.beginPath();
    g.moveTo(x0, y0);
    g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 1, y1);
    g.stroke();
    g.beginPath();
    g.moveTo(x1, y1);
    g.lineTo(x1 - 6, y1 - 3.5);
    g.lineTo(x1 - 6, y1 + 3.5);
    g.fill();
    g.globalAlpha = 1;
  }
}

function cut(g, text, room) {
  if (g.measureText(text).width <= room) return text;
  const fits = Math.max(Math.floor(room / 6.2) - 1, 0);
  return fits < 2 ? "" : text.slice(0, fits) + "…";
}

// ---- the parts around it ---------------------------------------------------------------------------

const STYLE = `
.tfnb-tl { color: var(--jp-ui-font-color1, #222); font: 12px/1.45 system-ui, sans-serif; }
.tfnb-tl .bar { display: flex; flex-wrap: wrap; gap: 6px 10px; align-items: center; margin: 2px 0 6px; }
.tfnb-tl button { font: inherit; color: inherit; background: var(--jp-layout-color2, #eee);
  border: 1px solid var(--jp-border-color1, #bbb); border-radius: 3px; padding: 1px 8px; cursor: pointer; }
.tfnb-tl label { display: inline-flex; gap: 4px; align-items: center; }
.tfnb-tl input[type=search] { font: inherit; color: inherit; background: var(--jp-layout-color0, #fff);
  border: 1px solid var(--jp-border-color1, #bbb); border-radius: 3px; padding: 1px 6px; width: 11em; }
.tfnb-tl canvas { width: 100%; display: block; cursor: grab; touch-action: none; }
.tfnb-tl .box { border: 1px solid var(--jp-border-color2, #ccc); max-height: 420px; overflow-y: auto; }
.tfnb-tl :focus-visible { outline: 2px solid var(--jp-brand-color1, #1976d2); outline-offset: -2px; }
.tfnb-tl .key { display: inline-flex; gap: 4px; align-items: center; }
.tfnb-tl .key i { width: 10px; height: 10px; display: inline-block; border-radius: 2px; }
.tfnb-tl .under { display: flex; flex-wrap: wrap; gap: 12px; margin-top: 8px; align-items: flex-start; }
.tfnb-tl .costs { flex: 3 1 430px; max-height: 300px; overflow: auto; }
.tfnb-tl .card { flex: 2 1 280px; border: 1px solid var(--jp-border-color2, #ccc); padding: 6px 10px;
  max-height: 288px; overflow: auto; overflow-wrap: anywhere; }
.tfnb-tl .card h4 { margin: 0 0 4px; font-size: 13px; }
.tfnb-tl .card pre { margin: 1px 0 5px 10px; white-space: pre-wrap; font-size: 11px; color: inherit; background: none; }
.tfnb-tl table { table-layout: auto; border-collapse: collapse; width: 100%; margin: 0; font: inherit; color: inherit; }
.tfnb-tl th { position: sticky; top: 0; background: var(--jp-layout-color2, #eee); padding: 0; }
.tfnb-tl th button { border: 0; background: none; width: 100%; text-align: inherit; font-weight: 600; }
.tfnb-tl td, .tfnb-tl th { text-align: right; white-space: nowrap; }
.tfnb-tl td { padding: 1px 8px; border-bottom: 1px solid var(--jp-border-color3, #eee); }
.tfnb-tl td:first-child, .tfnb-tl th:first-child, .tfnb-tl td:nth-child(2), .tfnb-tl th:nth-child(2) { text-align: left; }
.tfnb-tl td:first-child { max-width: 300px; overflow: hidden; text-overflow: ellipsis; }
.tfnb-tl tr[aria-selected=true] td { background: var(--jp-brand-color1, #1976d2); color: #fff; }
.tfnb-tl tbody tr { cursor: pointer; }
`;
const COLUMNS = [
  ["name", "operation", String], ["op", "type", String], ["count", "runs", String], ["total_us", "total", timeText],
  ["mean_us", "mean", timeText], ["max_us", "longest", timeText],
  ["share", "share", (v) => `${(100 * v).toFixed(1)}%`],
];

function costTable(trace, choose) {
  const body = make("tbody"), table = make("table", { "aria-label": "most expensive operations" });
  let by = "total_us", up = false;
  const heads = COLUMNS.map(([key, title]) => {
    const button = make("button", { textContent: title, title: `sort by ${title}` });
    button.addEventListener("click", () => {
      up = by === key ? !up : typeof trace.table[0]?.[key] === "string";
      by = key;
      fill();
    });
    return make("th", { scope: "col" }, button);
  });
  function fill() {
    const rows = [...trace.table].sort((a, b) => (a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0) * (up ? 1 : -1));
    heads.forEach((head, k) => head.setAttribute("aria-sort", COLUMNS[k][0] === by ? (up ? "ascending" : "descending") : "none"));
    body.replaceChildren(...rows.slice(0, 500).map((row) => {
      const line = make("tr", { tabIndex: 0 }, ...COLUMNS.map(([key, , told]) =>
        make("td", { textContent: told(row[key]), title: key === "name" ? row.name : "" })));
      line.dataset.label = row.label;
      line.addEventListener("click", () => choose(row.label));
      line.addEventListener("keydown", (e) => {
        if (e.key === "Enter" || e.key === " ") (e.preventDefault(), choose(row.label));
      });
      return line;
    }));
  }
  fill();
  table.append(make("thead", {}, make("tr", {}, ...heads)), body);
  return table;
}

function fillCard(card, told) {
  const line = (name, value) => value ? [make("div", {}, make("b", { textContent: `${name}: ` }), value)] : [];
  card.replaceChildren(
    make("h4", { textContent: told.name }),
    ...line("what", [KINDS[told.kind]?.[1] ?? told.kind, told.op].filter(Boolean).join(", ")),
    ...line("took", `${timeText(told.took_us)}, from ${timeText(told.start_us)}, in step ${told.step}`),
    ...line("where", `${told.device}, ${told.lane}`),
    ...line("bytes", told.nbytes ? bytesText(told.nbytes) : ""),
    ...line("detail", told.detail), ...line("woken by", told.woken_by),
    ...(told.nodes.length > 1 ? [make("div", {}, make("b", { textContent: `computes ${told.nodes.length + told.more} nodes at once:` }))] : []),
    ...told.nodes.flatMap((node) => [
      make("div", { textContent: `${node.name}${node.op ? ` (${node.op})` : ""} ${node.shapes.join(", ")}` }),
      ...(node.origin ? [make("pre", { textContent: node.origin })] : []),
    ]),
  );
}

function view(trace, model, place) {
  const canvas = make("canvas", { tabIndex: 0, role: "application" });
  canvas.setAttribute("aria-label", "timeline of a run; arrow keys move and zoom, n and p go from event to event");
  const status = make("div", { role: "status", "aria-live": "polite" });
  const card = make("div", { className: "card", textContent: "Choose an event or a row of the table." });
  let table;
  const chart = new Chart(trace, canvas, (i) => {
    for (const row of table.querySelectorAll("tbody tr"))
      row.setAttribute("aria-selected", String(i >= 0 && +row.dataset.label === trace.label[i]));
    if (i < 0) return;
    status.textContent = `${trace.labels[trace.label[i]]}: ${timeText(trace.end[i] - trace.start[i])}`;
    model.send({ type: "card", event: i });
  });
  canvas.style.height = `${chart.height}px`;
  table = costTable(trace, (label) => {
    let longest = -1;
    for (let i = 0; i < trace.n; i++)
      if (trace.label[i] === label && (longest < 0 || trace.end[i] - trace.start[i] > trace.end[longest] - trace.start[longest]))
        longest = i;
    chart.marked = label;
    chart.show(longest);
  });
  const button = (text, title, act) => {
    const made = make("button", { textContent: text, title });
    made.setAttribute("aria-label", title);
    made.addEventListener("click", act);
    return made;
  };
  const check = (text, field) => {
    const box = make("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => ((chart[field] = box.checked), chart.later()));
    return make("label", {}, box, text);
  };
  const search = make("input", { type: "search", placeholder: "find an operation" });
  search.setAttribute("aria-label", "find an operation");
  search.addEventListener("keydown", (e) => {
    if (e.key !== "Enter") return;
    const text = search.value.toLowerCase(), n = trace.n;
    for (let k = 1; text && k <= n; k++) {
      const i = (Math.max(chart.selected, -1) + k) % n;
      if (trace.labels[trace.label[i]].toLowerCase().includes(text)) return chart.show(i);
    }
    status.textContent = `nothing is called ${search.value}`;
  });
  const used = new Set(trace.kind);
  const bar = make("div", { className: "bar" },
    button("Fit", "show all", () => ((chart.marked = -1), chart.select(-1), chart.fit())),
    button("Step", "show the step of the chosen event, or the next one", () => nextStep(chart)),
    button("−", "zoom out", () => chart.zoom(1.6)), button("+", "zoom in", () => chart.zoom(1 / 1.6)), search,
    check("critical path", "path"), check("arrows", "arrows"),
    button("Save Chrome trace", "save as a Chrome trace", () => model.send({ type: "chrome" })),
    ...trace.kinds.flatMap((kind, k) => used.has(k)
      ? [make("span", { className: "key" }, make("i", { style: `background:${KINDS[kind][0]}` }), KINDS[kind][1])] : []));
  steer(chart, canvas);
  const root = make("div", { className: "tfnb-tl" }, make("style", { textContent: STYLE }),
    make("div", { textContent: trace.summary }), bar, make("div", { className: "box" }, canvas), status,
    make("div", { className: "under" }, make("div", { className: "costs" }, table), card));
  // The notebook's shortcuts must not see what is typed here.
  root.addEventListener("focusin", (e) => e.target.setAttribute("data-lm-suppress-shortcuts", "true"));
  root.addEventListener("keydown", (e) => e.stopPropagation());
  place.replaceChildren(root);
  const sizes = new ResizeObserver(() => chart.later());
  sizes.observe(canvas);
  new MutationObserver(() => chart.later()).observe(document.body, { attributes: true });
  return { card: (told) => told.event === chart.selected && fillCard(card, told.card) };
}

function nextStep(chart) {
  const { trace } = chart, all = trace.steps;
  const shown = chart.stepShown ?? -1;
  const n = chart.selected >= 0 && trace.step[chart.selected] !== shown ? trace.step[chart.selected] : (shown + 1) % all.length;
  chart.stepShown = n;
  chart.fit(all[n][0], all[n][0] + all[n][1]);
}

function steer(chart, canvas) {
  let held = null;
  const spot = (e) => {
    const box = canvas.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  };
  canvas.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && !e.shiftKey && document.activeElement !== canvas) return; // the page scrolls
    e.preventDefault();
    if (e.shiftKey) chart.pan(e.deltaY || e.deltaX);
    else chart.zoom(Math.exp(e.deltaY / 400), spot(e)[0]);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (e) => {
    held = { x: e.clientX, moved: false };
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", (e) => {
    if (held) {
      const by = held.x - e.clientX;
      if (Math.abs(by) < 3 && !held.moved) return;
      held = { x: e.clientX, moved: true };
      chart.pan(by);
      return;
    }
    const i = chart.find(...spot(e)), { trace } = chart;
    canvas.title = i < 0 ? "" : `${trace.labels[trace.label[i]]}\n${timeText(trace.end[i] - trace.start[i])}`;
  });
  canvas.addEventListener("pointerup", (e) => {
    if (held && !held.moved) {
      chart.marked = -1;
      chart.select(chart.find(...spot(e)));
    }
    held = null;
  });
  canvas.addEventListener("dblclick", (e) => {
    const i = chart.find(...spot(e));
    if (i >= 0) chart.fit(chart.trace.start[i], chart.trace.end[i]);
  });
  canvas.addEventListener("keydown", (e) => {
    const step = (chart.width - GUTTER) / 8, { trace } = chart;
    const acts = {
      ArrowLeft: () => chart.pan(-step), ArrowRight: () => chart.pan(step),
      ArrowUp: () => chart.zoom(1 / 1.4), ArrowDown: () => chart.zoom(1.4),
      "+": () => chart.zoom(1 / 1.4), "-": () => chart.zoom(1.4), Home: () => chart.fit(),
      n: () => chart.show(Math.min(chart.selected + 1, trace.n - 1)), p: () => chart.show(Math.max(chart.selected - 1, 0)),
      Escape: () => ((chart.marked = -1), chart.select(-1)),
    };
    if (!acts[e.key]) return;
    e.preventDefault();
    acts[e.key]();
  });
}

function save(text) {
  const link = make("a", { download: "trace.json" });
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export default {
  initialize({ model }) {
    const key = model.get("key"), views = (globalThis.tfnbViews ??= {});
    const shown = [];
    let trace = null;
    const waiting = [];
    model.on("msg:custom", (message, buffers) => {
      if (message.type === "data") {
        trace = new Trace(message.trace, buffers);
        for (const place of waiting.splice(0)) shown.push(view(trace, model, place));
      } else if (message.type === "card") shown.forEach((v) => v.card(message));
      else if (message.type === "chrome") save(message.text);
    });
    const mount = (views[key] = (place) => {
      if (place.dataset.tfnbMounted) return;
      place.dataset.tfnbMounted = "true";
      if (trace) shown.push(view(trace, model, place));
      else if (waiting.push(place) === 1) model.send({ type: "ready" });
    });
    document.querySelectorAll(`[data-tfnb-view="${CSS.escape(key)}"]`).forEach(mount);
  },
};

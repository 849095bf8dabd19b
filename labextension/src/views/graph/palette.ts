// The colours of the theme, of kinds, of groups of equal structure, of devices, and of time and memory.
// Hues are Paul Tol's "light" and Okabe and Ito's: colour-blind readers distinguish them on light and dark backgrounds.

import type { ColourBy } from "../../protocol/graph";
import { h } from "../dom";
import { at, bytesText, type GraphModel, timeText } from "./model";

export interface Theme {
  ground: string;
  text: string;
  faint: string;
  line: string;
  box: string;
  accent: string;
  dark: boolean;
}

export const PAPER: Theme = {
  ground: "#ffffff",
  text: "#1a1a1a",
  faint: "#666666",
  line: "#8a8a8a",
  box: "#f4f4f4",
  accent: "#0072b2",
  dark: false,
};
const NIGHT: Theme = {
  ground: "#111111",
  text: "#e8e8e8",
  faint: "#a5a5a5",
  line: "#808080",
  box: "#242424",
  accent: "#56b4e9",
  dark: true,
};

/** JupyterLab's colours if they are defined, otherwise light or dark as the page or the system is. */
export function themeOf(host: HTMLElement): Theme {
  const style = getComputedStyle(host);
  const given = style.getPropertyValue("--jp-layout-color0").trim();
  const light = document.body.dataset.jpThemeLight;
  const dark = light
    ? light === "false"
    : given
      ? isDark(given)
      : document.body.classList.contains("vscode-dark") ||
        matchMedia("(prefers-color-scheme: dark)").matches;
  const base = dark ? NIGHT : PAPER;
  if (!given) return base;
  const of = (name: string, otherwise: string): string =>
    style.getPropertyValue(name).trim() || otherwise;
  return {
    ...base,
    ground: given,
    text: of("--jp-ui-font-color0", base.text).replace(/^rgba\(0, 0, 0, 1\)$/, base.text),
  };
}

function isDark(colour: string): boolean {
  const pen = h("canvas").getContext("2d", { willReadFrequently: true });
  if (!pen) return false;
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  const [r = 255, g = 255, b = 255] = pen.getImageData(0, 0, 1, 1).data;
  return 0.3 * r + 0.6 * g + 0.1 * b < 128;
}

const GROUPS = [
  "#77aadd",
  "#ee8866",
  "#44bb99",
  "#eedd88",
  "#ffaabb",
  "#99ddff",
  "#bbcc33",
  "#c4a3d9",
  "#aaaa00",
];
const KINDS: Record<string, string> = {
  input: "#009e73",
  variable: "#e69f00",
  flow: "#cc79a7",
  constant: "#999999",
};
const WORDS: Record<string, string> = {
  input: "input",
  variable: "variable",
  flow: "control flow",
  constant: "constant",
  operation: "operation",
};
const TIME = "#d55e00";
const MEMORY = "#0072b2";

/** The bands of a box: its colours with their shares, and the opacity of its fill. */
export interface Fill {
  bands: [colour: string, share: number][];
  strength: number;
}

export interface Legend {
  title: string;
  rows: { colour: string; strength: number; text: string }[];
}

export class Palette {
  private readonly shares = new Map<number, Float64Array>();
  private readonly deviceColours: [number, string, string][] = [];
  private readonly column: Float64Array | undefined;
  private readonly most: number;

  constructor(
    private readonly model: GraphModel,
    readonly by: ColourBy,
    /** The hue of each group, assigned in the order in which groups became visible. */
    readonly hues = new Map<number, number>(),
  ) {
    this.column =
      by === "time" ? model.floats.time : by === "memory" ? model.floats.bytes : undefined;
    this.most = 0;
    const { column } = this;
    // Relative to the parts of the whole graph, so that the most expensive part has the strongest colour.
    if (column) for (const b of model.parts(0)) this.most = Math.max(this.most, at(column, b));
    if (by === "device") this.countDevices();
  }

  /** The measures by which this graph can be coloured. */
  static choices(model: GraphModel): ColourBy[] {
    const modes: ColourBy[] = ["structure"];
    if (model.head.devices.some((d) => d)) modes.push("device");
    if (model.floats.time && at(model.floats.time, 0) > 0) modes.push("time");
    if (model.floats.bytes && at(model.floats.bytes, 0) > 0) modes.push("memory");
    return modes;
  }

  private countDevices(): void {
    const { model } = this;
    const totals = new Map<number, number>();
    for (let b = 1; b < model.size; b++) {
      if (!model.isLeaf(b)) continue;
      const d = at(model.ints.device, b);
      totals.set(d, (totals.get(d) ?? 0) + 1);
    }
    const ranked = [...totals].sort((a, b) => b[1] - a[1]).map(([d]) => d);
    ranked.slice(0, GROUPS.length).forEach((d, k) => {
      const name = (d >= 0 && model.head.devices[d]) || "";
      const colour = name ? (GROUPS[k] ?? "#999999") : "#bbbbbb";
      this.deviceColours.push([d, colour, name || "no device requested"]);
    });
    for (const [d] of this.deviceColours) {
      const before = new Float64Array(model.size + 1);
      for (let b = 0; b < model.size; b++) {
        before[b + 1] = at(before, b) + (model.isLeaf(b) && at(model.ints.device, b) === d ? 1 : 0);
      }
      this.shares.set(d, before);
    }
  }

  fill(box: number): Fill {
    if (this.column) {
      const share = this.most ? Math.min(1, at(this.column, box) / this.most) : 0;
      return {
        bands: share ? [[this.by === "time" ? TIME : MEMORY, 1]] : [],
        strength: share ? 0.08 + 0.77 * Math.sqrt(share) : 0,
      };
    }
    if (this.by === "device") {
      const all = at(this.model.ints.nodes, box) || 1;
      const bands = this.deviceColours
        .map(([d, colour]): [string, number] => {
          const before = this.shares.get(d) ?? [];
          return [colour, (at(before, at(this.model.end, box)) - at(before, box)) / all];
        })
        .filter(([, share]) => share > 0);
      return { bands, strength: 0.55 };
    }
    const colour = this.structure(box);
    return { bands: colour ? [[colour, 1]] : [], strength: colour ? 0.5 : 0 };
  }

  private structure(box: number): string {
    const { model } = this;
    const kind = model.kind(box);
    if (kind === "series") {
      const first = model.parts(box)[0];
      return first === undefined ? "" : this.structure(first);
    }
    const group = at(model.ints.group, box);
    if (kind === "scope") return group < 0 ? "" : this.hue(group);
    return KINDS[kind] ?? "";
  }

  private hue(group: number): string {
    const known = this.hues.get(group) ?? this.hues.size;
    this.hues.set(group, known);
    return GROUPS[known % GROUPS.length] ?? "";
  }

  /** The legend of the boxes in the drawing. */
  legend(boxes: readonly number[]): Legend {
    if (this.column) {
      const textOf = this.by === "time" ? timeText : bytesText;
      const word = this.by === "time" ? "compute time" : "memory";
      const colour = this.by === "time" ? TIME : MEMORY;
      const rows = [0.01, 0.25, 1].map((f) => ({
        colour,
        strength: 0.08 + 0.77 * Math.sqrt(f),
        text: textOf(this.most * f),
      }));
      return { title: word, rows };
    }
    if (this.by === "device") {
      return {
        title: "device",
        rows: this.deviceColours.map(([, colour, text]) => ({ colour, strength: 0.55, text })),
      };
    }
    const rows: Legend["rows"] = [];
    for (const kind of ["input", "variable", "constant", "flow"]) {
      if (boxes.some((b) => this.model.kind(b) === kind)) {
        rows.push({ colour: KINDS[kind] ?? "", strength: 0.5, text: WORDS[kind] ?? kind });
      }
    }
    const groups = new Map<number, number[]>();
    for (const b of boxes) {
      const g = at(this.model.ints.group, b);
      if (g >= 0 && this.model.kind(b) === "scope") groups.set(g, [...(groups.get(g) ?? []), b]);
    }
    const repeated = [...groups].filter(([, same]) => same.length > 1).sort((a, b) => a[0] - b[0]);
    for (const [g, same] of repeated.slice(0, 6)) {
      const name = this.model.label(same[0] ?? 0);
      const text = `same structure: ${name.length > 18 ? `${name.slice(0, 17)}…` : name} × ${same.length}`;
      rows.push({ colour: this.hue(g), strength: 0.5, text });
    }
    return { title: "", rows };
  }
}

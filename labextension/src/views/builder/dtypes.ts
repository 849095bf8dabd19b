// How dtypes look: a hue and a form for each family, and the form's filling for the number of bits, so that nobody needs
// colours to tell two dtypes apart. Hues are Okabe and Ito's.

export type Form = "circle" | "square" | "house" | "diamond" | "triangle" | "hexagon" | "bar";
export type Filling = "full" | "dot" | "line" | "column" | "hollow";

export interface PortStyle {
  form: Form;
  filling: Filling;
  light: string;
  dark: string;
  /** The dashes of a wire, in pixels; [] for a continuous line. */
  dash: readonly number[];
}

interface Family extends Omit<PortStyle, "filling"> {
  /** Matches the names of the family's dtypes. */
  names: RegExp;
}

const FAMILIES: readonly Family[] = [
  { names: /^b?float/, form: "circle", light: "#0072b2", dark: "#56b4e9", dash: [] },
  { names: /^q?int/, form: "square", light: "#b35c00", dark: "#e69f00", dash: [8, 3] },
  { names: /^q?uint/, form: "house", light: "#8a6d00", dark: "#f0e442", dash: [8, 3, 2, 3] },
  { names: /^bool/, form: "diamond", light: "#a8447f", dark: "#e39cc6", dash: [3, 3] },
  { names: /^string/, form: "triangle", light: "#00785a", dark: "#2fc796", dash: [12, 3, 3, 3] },
  { names: /^complex/, form: "hexagon", light: "#c24400", dark: "#ff8a4c", dash: [5, 2] },
];
const OTHER: Family = { names: /./, form: "bar", light: "#666666", dark: "#a5a5a5", dash: [2, 4] };

const PATHS: Record<Form, string> = {
  circle: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
  square: "M-4.6-4.6h9.2v9.2h-9.2z",
  house: "M-4.6-4.6h5.6L5.6 0L1 4.6h-5.6z",
  diamond: "M0-6L6 0L0 6L-6 0z",
  triangle: "M-4.4-5.6L5.8 0L-4.4 5.6z",
  hexagon: "M-5.8 0L-2.9-5h5.8L5.8 0L2.9 5h-5.8z",
  bar: "M-2.5-6h5v12h-5z",
};
const MARKS: Record<Filling, string> = {
  full: "",
  hollow: "",
  dot: "M-1.8-1.8h3.6v3.6h-3.6z",
  line: "M-4-1h8v2h-8z",
  column: "M-1-4h2v8h-2z",
};

export function portStyleOf(dtype: string): PortStyle {
  const plain = dtype.replace(/_ref$/, "");
  const family = FAMILIES.find(({ names }) => names.test(plain)) ?? OTHER;
  return { ...family, filling: fillingOf(plain) };
}

function fillingOf(dtype: string): Filling {
  if (dtype.startsWith("bfloat")) return "column";
  const bits = Number(/\d+$/.exec(dtype)?.[0] ?? 32);
  const double = dtype.startsWith("complex") ? 128 : 64;
  if (bits >= double) return "dot";
  if (bits === 16) return "line";
  return bits === 8 ? "hollow" : "full";
}

const SVG = "http://www.w3.org/2000/svg";

function drawn(attributes: Record<string, string>): SVGElement {
  const path = document.createElementNS(SVG, "path");
  for (const [name, value] of Object.entries(attributes)) path.setAttribute(name, value);
  return path;
}

/** The mark of a port. `state` is "wired", or why nothing is: "needed", "optional", "literal". */
export function portMark(dtype: string, state: string, dark: boolean): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "-8 -8 16 16");
  svg.setAttribute("class", `port ${state}`);
  svg.setAttribute("aria-hidden", "true");
  if (state !== "wired") {
    svg.append(drawn({ d: PATHS[state === "literal" ? "square" : "circle"], class: "shape" }));
    return svg;
  }
  const { form, filling, light, dark: night } = portStyleOf(dtype);
  const colour = dark ? night : light;
  const fill = filling === "hollow" ? "var(--raised)" : colour;
  svg.append(drawn({ d: PATHS[form], style: `fill: ${fill}; stroke: ${colour}` }));
  if (MARKS[filling]) svg.append(drawn({ d: MARKS[filling], style: "fill: var(--raised)" }));
  return svg;
}

/** "?×784", "scalar", or "any shape". */
export function shapeText(shape: readonly (number | null)[] | null): string {
  if (!shape) return "any shape";
  return shape.length ? shape.map((n) => n ?? "?").join("×") : "scalar";
}

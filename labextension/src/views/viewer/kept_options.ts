// The user's options as a text that the model keeps, so that a page that is loaded again begins with them.
import { KINDS } from "../../protocol/viewer";
import { type Axis, type Form, firstOptions, type Options } from "./options";

const AXES: readonly Axis[] = ["step", "logstep", "relative", "wall"];
const FORMS: readonly Form[] = ["bands", "ridges", "overlay"];
const isCount = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0;

/** The options as one line of text, for a page that is loaded again. */
export function written(options: Options): string {
  return JSON.stringify({ ...options, runs: [...options.runs] });
}

/** The options of a text of `written`. Anybody may have changed the text: what does not fit is as at first. */
export function restored(text: string | undefined): Options {
  const options = firstOptions();
  let kept: Partial<Record<keyof Options, unknown>>;
  try {
    kept = Object(JSON.parse(text || "{}"));
  } catch {
    return options;
  }
  if (Array.isArray(kept.runs)) options.runs = new Set(kept.runs.filter(isCount));
  if (isCount(kept.known)) options.known = kept.known;
  if (isCount(kept.page)) options.page = kept.page;
  const weight = Number(kept.smoothing);
  if (kept.smoothing !== undefined && weight >= 0 && weight < 1) options.smoothing = weight;
  if (kept.baseline === null || isCount(kept.baseline)) options.baseline = kept.baseline;
  for (const name of ["log", "outliers", "band"] as const) {
    const value = kept[name];
    if (typeof value === "boolean") options[name] = value;
  }
  for (const name of ["tags", "names"] as const) {
    const value = kept[name];
    if (typeof value === "string") options[name] = value;
  }
  options.axis = AXES.find((one) => one === kept.axis) ?? options.axis;
  options.form = FORMS.find((one) => one === kept.form) ?? options.form;
  options.tab = [...KINDS, "parameters" as const].find((one) => one === kept.tab) ?? options.tab;
  return options;
}

// Usual values of parameters, for hands that hold a mouse: a list beside a field, which also takes any other text.

import type { BuilderNode, Parameter } from "../../protocol/builder";
import type { Question } from "./chooser";

const INTEGERS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 84, 100, 120, 128, 256, 512];
const FLOATS = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.25, 0.5, 0.75, 0.9, 0.99, 1];
const WINDOWS = ["1", "2", "3", "4", "5", "7", "[1, 2]", "[2, 1]"];
const SHAPES = [
  "[]",
  "[None]",
  "[None, 10]",
  "[None, 784]",
  "[None, 28, 28, 1]",
  "[None, None]",
  "[-1]",
  "[784, 10]",
  "[10]",
];
const AXES = ["0", "1", "2", "3", "-1", "[0, 1]", "[1, 2]"];
const ELEMENTS = ["0", "1", "0.5", "2.0", "[0]", "[1]", "[-1]"];

/** Texts that people often give; [] where nothing is usual. */
export function presetValues(
  kind: Parameter["kind"] | "input",
  name: string,
  text: string,
): readonly string[] {
  if (name === "axis") return AXES;
  if (kind === "int") return INTEGERS.map(String);
  if (kind === "float") return FLOATS.map(String);
  if (kind === "shape") return /^\d+$/.test(text) ? WINDOWS : SHAPES;
  return kind === "input" ? ELEMENTS : [];
}

/** Asks for the text of a parameter: one of the usual values, or what is typed. */
export function valueQuestion(
  { id }: BuilderNode,
  name: string,
  values: readonly string[],
  now: string,
  act: (text: string) => void,
): Question {
  const title = `Value of ${name} of ${id}`;
  const row = (text: string) => ({
    label: text,
    hint: text === now ? "now" : "",
    detail: "",
    act: () => act(text),
  });
  return {
    title,
    text: "",
    none: title,
    choices: (query) => {
      const text = query.trim();
      const fitting = values.filter((value) => value.includes(text));
      return (text && !values.includes(text) ? [text, ...fitting] : fitting).map(row);
    },
  };
}

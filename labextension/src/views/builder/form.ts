// The form of the selected node: its name, problem, inputs, parameters, outputs, and value.

import type { BuilderNode, InputPort, Parameter } from "../../protocol/builder";
import { button, h } from "../dom";
import type { Question } from "./chooser";
import { shapeText } from "./dtypes";
import { isReadOnly } from "./places/geometry";
import { presetValues, valueQuestion } from "./presets";
import type { Connection } from "./state/state";
import type { Workspace } from "./state/workspace";
import { duration, histogram, range, safeImage } from "./values";
import { wireText } from "./wires/bends";

export interface FormHost {
  run(id: string): void;
  go(id: string): void;
  /** Opens the chooser beside the form. */
  choose(question: Question): void;
  /** Puts the focus back on the canvas. */
  leave(): void;
  /** A command's button, by its id; null where there is no such command. */
  command(id: string): HTMLElement | null;
}

const TYPING = 400; // milliseconds after the last letter until a choice counts
let counter = 0;

/** The form of the selected node; commands for several; help for none. */
export function drawForm(workspace: Workspace, host: FormHost): HTMLElement[] {
  const { only, selected } = workspace;
  if (only) return nodeForm(workspace, only, host);
  if (selected.size > 1) return severalForm(workspace, host);
  if (workspace.selectedWire) return wireForm(workspace.selectedWire, host);
  return [
    h("h3", {}, "Nothing is selected"),
    h(
      "p",
      {},
      "Type a letter, press / or double-click the canvas to add an operation. Drag from a port to connect it.",
    ),
    h("p", {}, "Select a node to edit its parameters here. Press ? for all keys and gestures."),
  ];
}

function buttons(host: FormHost, ids: readonly string[]): HTMLElement {
  const shown = ids.map((id) => host.command(id)).filter((control) => control !== null);
  return h("div", { className: "buttons" }, ...shown);
}

function severalForm({ selected }: Workspace, host: FormHost): HTMLElement[] {
  const row = (...ids: string[]): HTMLElement => buttons(host, ids);
  return [
    h("h3", {}, `${selected.size} nodes`),
    row("group", "frame", "duplicate", "device", "devices", "variant"),
    h("h4", {}, "Align"),
    row("align-left", "align-centre", "align-right", "align-top", "align-middle", "align-bottom"),
    row("distribute-x", "distribute-y", "straighten", "tidy"),
    row("dissolve", "delete"),
  ];
}

function wireForm(wire: Connection, host: FormHost): HTMLElement[] {
  return [
    h("h3", { dir: "auto" }, `Wire from ${wireText(wire)}`),
    h("p", {}, "Drag it to bend it, or move its bends by Alt and the arrows."),
    buttons(host, ["route", "straighten", "probe", "delete"]),
    h("h4", {}, "Align its bends"),
    buttons(host, ["align-top", "align-middle", "align-bottom", "align-left", "align-right"]),
    buttons(host, ["distribute-x", "distribute-y"]),
  ];
}

function nodeForm(workspace: Workspace, node: BuilderNode, host: FormHost): HTMLElement[] {
  const { session } = workspace;
  const rename = (text: string): void => {
    if (text && text !== node.id) session.gesture({ edit: "rename", node: node.id, name: text });
  };
  const name = field("name", node.id, rename, host, { className: "rename" });
  const parts = [
    h("h3", { dir: "auto" }, node.kind === "code" ? "Python" : node.call),
    h("p", { className: "place" }, `line ${node.line}`, countsText(node)),
    ...(isReadOnly(node)
      ? [
          h(
            "p",
            { className: "read-only" },
            "These operations come from a file and are read-only. Look inside to use one on the canvas.",
          ),
        ]
      : []),
    ...(node.kind === "code" || node.id.startsWith("line:") ? [] : [name]),
    ...problemOf(workspace, node),
  ];
  if (node.kind === "code") parts.push(h("pre", { className: "source", tabIndex: 0 }, node.source));
  if (node.inputs.length)
    parts.push(
      h("h4", {}, "Inputs"),
      ...node.inputs.map((input) => inputRow(workspace, node, input, host)),
    );
  if (node.parameters.length)
    parts.push(
      h("h4", {}, "Parameters"),
      ...node.parameters.map((parameter) => parameterRow(workspace, node, parameter, host)),
    );
  if (node.outputs.length)
    parts.push(
      h("h4", {}, "Outputs"),
      h(
        "ul",
        {},
        ...node.outputs.map(({ name, dtype, shape }) =>
          h(
            "li",
            {},
            h("code", {}, name),
            ` ${dtype ? `${dtype} ${shapeText(shape)}` : "not known"}`,
          ),
        ),
      ),
    );
  const ids = ["run", "train", "connect", "duplicate", "dissolve", "delete"];
  if (node.kind !== "code" && node.kind !== "op") ids.splice(2, 0, "inside");
  if (node.kind === "layer" || node.kind === "function") ids.splice(3, 0, "ungroup");
  ids.push("probe", "variant", "devices");
  parts.push(buttons(host, ids));
  parts.push(...valueRows(workspace, node));
  return parts;
}

function countsText({ parameter_count, flops }: BuilderNode): string {
  const parts = [
    parameter_count && `${parameter_count.toLocaleString("en")} parameters`,
    flops > 0 && `${short(flops)}FLOPs`,
  ].filter(Boolean);
  return parts.length ? ` · ${parts.join(" · ")}` : "";
}

/** 1,234,567 as "1.23 M", with a space at the end. */
export function short(n: number): string {
  const units = ["", "k", "M", "G", "T", "P"];
  let [value, unit] = [n, 0];
  while (value >= 1000 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${Number(value.toPrecision(3))} ${units[unit]}`;
}

function problemOf({ session }: Workspace, { id, problem }: BuilderNode): HTMLElement[] {
  if (!problem) return [];
  return [
    h(
      "div",
      { className: "problem" },
      h("p", {}, `⚠ ${problem.text}`),
      ...problem.fixes.map((fix) =>
        button(fix.label, fix.label, () => session.gesture({ edit: "fix", node: id, id: fix.id })),
      ),
    ),
  ];
}

/** A labelled field that sends its text when it is left or Enter is pressed. Escape takes the text back and leaves. */
function field(
  label: string,
  text: string,
  send: (text: string) => void,
  host: FormHost,
  properties: Record<string, unknown> = {},
): HTMLElement {
  const input = h("input", { type: "text", value: text, spellcheck: false, ...properties });
  input.addEventListener("change", () => send(input.value.trim()));
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    input.value = text;
    host.leave();
  });
  return labelled(label, input);
}

/** Puts a button behind a field that lists usual values. */
function withUsual(
  row: HTMLElement,
  node: BuilderNode,
  { name, kind, text }: { name: string; kind: Parameter["kind"] | "input"; text: string },
  send: (text: string) => void,
  host: FormHost,
): HTMLElement {
  const values = presetValues(kind, name, text);
  if (!values.length) return row;
  const list = (): void => host.choose(valueQuestion(node, name, values, text, send));
  row.append(button("▾", `usual values of ${name}`, list, { className: "usual" }));
  return row;
}

function labelled(label: string, control: HTMLElement, title = ""): HTMLElement {
  counter += 1;
  control.id = `tfnb-field-${counter}`;
  return h(
    "div",
    { className: "field", title },
    h("label", { htmlFor: control.id, dir: "auto" }, label),
    control,
  );
}

function inputRow(
  workspace: Workspace,
  node: BuilderNode,
  { name, label, wire, text, doc, is_needed }: InputPort,
  host: FormHost,
): HTMLElement {
  const { session } = workspace;
  if (wire) {
    return h(
      "div",
      { className: "field", title: doc },
      h("span", { className: "label", dir: "auto" }, label),
      button(wire.node, `go to ${wire.node}`, () => host.go(wire.node), { className: "link" }),
      button("✕", `disconnect ${label}`, () =>
        session.gesture({ edit: "disconnect", node: node.id, port: name }),
      ),
    );
  }
  const send = (value: string): void => {
    if (value !== text) session.gesture({ edit: "set", node: node.id, name, text: value });
  };
  const placeholder = is_needed ? "connect, or a value" : "optional";
  const row = field(label, text, send, host, { placeholder, title: doc });
  return withUsual(row, node, { name, kind: "input", text }, send, host);
}

function parameterRow(
  { session }: Workspace,
  node: BuilderNode,
  parameter: Parameter,
  host: FormHost,
): HTMLElement {
  const { name, kind, text, choices, doc } = parameter;
  let sent = text;
  const send = (value: string): void => {
    if (value === sent) return;
    sent = value;
    session.gesture({ edit: "set", node: node.id, name, text: value });
  };
  if (kind === "bool") {
    const input = h("input", {
      type: "checkbox",
      checked: (text || parameter.default) === "True",
      onchange: () => send(input.checked ? "True" : "False"),
    });
    return labelled(name, input, doc);
  }
  if (choices.length) {
    const shown = text && !choices.includes(text) ? [text, ...choices] : choices;
    // Typing walks through the choices letter by letter: what is sent is the one at which it stops.
    let later: ReturnType<typeof setTimeout> | undefined;
    const settle = (): void => {
      clearTimeout(later);
      send(select.value);
    };
    const wait = (): void => {
      clearTimeout(later);
      later = setTimeout(settle, TYPING);
    };
    const key = (event: Event): void => {
      const { key } = event as KeyboardEvent;
      if (key === "Enter" || key === "Escape") settle();
      if (key === "Escape") host.leave();
    };
    const select = h(
      "select",
      { onchange: wait, onblur: settle, onkeydown: key },
      h("option", {
        value: "",
        textContent: parameter.default ? `${parameter.default} (default)` : "—",
      }),
      ...shown.map((value) => h("option", { value, textContent: value })),
    );
    select.value = text;
    return labelled(name, select, doc);
  }
  // Python's numbers may be expressions, which a field for numbers would not show.
  const isNumber = kind === "int" || kind === "float";
  const properties =
    isNumber && (!text || /^-?\d+(\.\d+)?(e-?\d+)?$/i.test(text))
      ? { type: "number", step: kind === "int" ? "1" : "any", placeholder: parameter.default }
      : { placeholder: parameter.default || kind };
  const row = field(name, text, send, host, { ...properties, title: doc });
  return withUsual(row, node, parameter, send, host);
}

function valueRows(workspace: Workspace, node: BuilderNode): HTMLElement[] {
  const panel = workspace.state.panels.get(node.id);
  const result = panel?.result;
  if (!result) return [];
  if (result.error) return [h("div", { className: "problem" }, h("p", {}, result.error))];
  return result.values.flatMap((value) => [
    h("h4", { dir: "auto" }, `Value of ${value.name}`),
    h(
      "p",
      { className: "place" },
      `${value.dtype} ${shapeText(value.shape)} · ${duration(result)}`,
    ),
    h("p", { className: "place" }, range(value)),
    ...(safeImage(value.image)
      ? [h("img", { src: value.image, alt: `image of ${value.name}` })]
      : []),
    h(
      "pre",
      { className: "table", tabIndex: 0, ariaLabel: `value of ${value.name}`, role: "region" },
      value.text,
    ),
    ...(value.histogram.length > 1
      ? [h("div", { className: "histogram" }, histogram(value) as unknown as Node)]
      : []),
  ]);
}

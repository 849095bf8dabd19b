// What screen readers are told of the canvas and of a node.

import { h } from "../dom";
import { isReadOnly } from "./places/geometry";
import type { Workspace } from "./state/workspace";

/** The part of a node by which it is named to screen readers: its name, call, outputs and problem. */
export function described(workspace: Workspace, id: string): string {
  const node = workspace.model.nodes.get(id);
  if (!node) return "";
  const outputs = workspace.scene.face(id).outputs.filter(Boolean).join(", ");
  const inputs = node.inputs
    .map(({ label, wire, text }) => `${label} ${wire ? `from ${wire.node}` : text || "free"}`)
    .join(", ");
  return [
    `${node.id}, ${node.kind === "code" ? "Python" : node.call}, line ${node.line}`,
    isReadOnly(node) && "read-only, from a file",
    inputs && `inputs: ${inputs}`,
    outputs && `output ${outputs}`,
    node.problem && `problem: ${node.problem.text}`,
    workspace.selected.has(id) && workspace.selected.size > 1 && "selected",
  ]
    .filter(Boolean)
    .join("; ");
}

/** The canvas, with what screen readers are told of it. */
export function stageOf(): HTMLElement {
  return h("div", {
    className: "stage",
    tabIndex: 0,
    role: "application",
    "aria-roledescription": "graph editor",
    ariaLabel:
      "Canvas. Arrow keys walk along wires and through the nodes, slash adds an operation, c connects, Enter edits parameters, question mark lists all keys.",
  });
}

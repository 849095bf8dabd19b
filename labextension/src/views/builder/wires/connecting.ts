// Connections from lists, for hands that use no mouse: first which port, where a node has several, then where to.

import type { Choice, Question } from "../chooser";
import { sources, targets } from "../palette";
import type { Point } from "../places/geometry";
import type { Workspace } from "../state/workspace";

type Choose = (question: Question, at: Point | null) => void;

/** Where a list about a node opens: below it. */
export function placeOf(workspace: Workspace, id: string): Point | null {
  const rect = workspace.scene.rect(id);
  return rect && [rect.x, rect.y + rect.height + 6];
}

/** Lists the inputs for the output of the selected node; where there are several outputs, first these. */
export function connectFromList(workspace: Workspace, choose: Choose): void {
  const { only } = workspace;
  if (!only) return;
  const at = placeOf(workspace, only.id);
  const listTargets = (output: number): void =>
    choose(targets(workspace, { node: only.id, output }), at);
  if (only.outputs.length < 2) {
    if (only.outputs.length) listTargets(0);
    else workspace.say(`${only.id} has no output`, true);
    return;
  }
  const choices: Choice[] = only.outputs.map(({ name, dtype }, k) => ({
    label: name,
    hint: dtype,
    detail: "",
    act: () => listTargets(k),
  }));
  const title = `Which output of ${only.id}`;
  choose(
    {
      title,
      text: "",
      none: "no output",
      choices: (query) => choices.filter(({ label }) => label.includes(query)),
    },
    at,
  );
}

/** Lists what an input of the selected node accepts; where there are several inputs, first these, the free ones first. */
export function connectInput(workspace: Workspace, choose: Choose): void {
  const { only } = workspace;
  if (!only) return;
  const at = placeOf(workspace, only.id);
  const listSources = (port: string): void => choose(sources(workspace, only.id, port), at);
  const rank = ({ wire, text, is_needed }: (typeof only.inputs)[number]): number =>
    wire ? 3 : text ? 2 : is_needed ? 0 : 1;
  const ports = [...only.inputs].sort((a, b) => rank(a) - rank(b));
  const [first] = ports;
  if (!first) workspace.say(`${only.id} has no input`, true);
  else if (ports.length === 1) listSources(first.name);
  else {
    const choices: Choice[] = ports.map(({ name, label, wire, text, is_needed }) => ({
      label,
      hint: wire ? `from ${wire.node}` : text || (is_needed ? "needed" : "optional"),
      detail: "",
      act: () => listSources(name),
    }));
    const question: Question = {
      title: `Which input of ${only.id}`,
      text: "",
      none: "no input",
      choices: (query) => choices.filter(({ label }) => label.includes(query)),
    };
    choose(question, at);
  }
}

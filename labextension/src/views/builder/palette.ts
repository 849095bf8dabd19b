// What the list of the chooser offers: calls that fit, targets of a wire, nodes to go to.

import type { Edit, PaletteEntry, Wire } from "../../protocol/builder";
import type { Choice, Question } from "./chooser";
import { described } from "./described";
import { shapeText } from "./dtypes";
import { type Point, portY, type Rect } from "./places/geometry";
import { COLUMN, freePlace } from "./places/placing";
import type { Connection } from "./state/state";
import type { Workspace } from "./state/workspace";

/** What a new node is connected to. */
export interface Compatibility {
  /** The output that it reads. */
  wire?: Wire | null;
  /** The input that reads it: a node and the name of the port. */
  port?: readonly [string, string] | null;
  /** The wire into which it is inserted. */
  between?: Connection | null;
  /** Whether calls that do not fit are offered too, unconnected. */
  isLoose?: boolean;
}

const COUNT = 40;
const TYPICAL_SIZE: Point = [180, 92];

/** The palette: Enter adds a call at `at`, a point of the drawing, connected to what it was asked for. */
export function calls(
  workspace: Workspace,
  compatibility: Compatibility,
  at: Point | null,
  text = "",
): Question {
  const { session } = workspace;
  const wire = compatibility.between
    ? outputOf(compatibility.between)
    : (compatibility.wire ?? null);
  const port = compatibility.port ?? null;
  // "dense units=120" gives a parameter at once.
  let given: Record<string, string> = {};
  const choice = (plain: PaletteEntry): Choice => {
    const entry = { ...plain, parameters: { ...plain.parameters, ...given } };
    const texts = Object.entries(given).map(([name, text]) => `${name}=${text}`);
    return {
      label: entry.call,
      hint: entry.port ? `${port ? "from" : "to"} ${entry.port}` : entry.group,
      detail: texts.length ? texts.join(" ") : entry.doc,
      act: () => session.gesture(addition(workspace, entry, compatibility, at)),
    };
  };
  return {
    title: wire || port ? "Add what fits the wire" : "Add an operation",
    text,
    none: "no operation matches",
    choices: async (text) => {
      const [query, parameters] = withParameters(text);
      given = parameters;
      const fitting = session.palette(query, { wire, port }, COUNT);
      if (!compatibility.isLoose || !(wire || port)) return (await fitting).entries.map(choice);
      const [some, all] = await Promise.all([fitting, session.palette(query, {}, COUNT)]);
      const known = new Map(some.entries.map((entry) => [entry.call, entry]));
      // Without a word nothing ranks the calls but whether they fit.
      const order = query.trim() ? all.entries : some.entries;
      const rest = query.trim() ? some.entries : all.entries;
      const names = new Set(order.map(({ call }) => call));
      return [...order, ...rest.filter(({ call }) => !names.has(call))].map((entry) =>
        choice(known.get(entry.call) ?? { ...entry, port: "", parameters: {} }),
      );
    },
  };
}

/** Takes the words such as "units=120" out of a query. */
export function withParameters(text: string): [string, Record<string, string>] {
  const parameters: Record<string, string> = {};
  const query = text.replace(/(^|\s)([A-Za-z_]\w*)=(\S+)/g, (_all, space, name, value) => {
    parameters[name] = value;
    return space;
  });
  return [query.trim(), parameters];
}

const outputOf = ({ from, output }: Connection): Wire => ({ node: from, output });

function addition(
  workspace: Workspace,
  entry: PaletteEntry,
  compatibility: Compatibility,
  at: Point | null,
): Edit {
  const { call, port } = entry;
  const position = placeOfNew(workspace, compatibility, at);
  const { between } = compatibility;
  if (between) return { edit: "insert", call, node: between.to, port: between.port, position };
  return {
    edit: "add",
    call,
    wires: compatibility.wire && port ? [[port, compatibility.wire]] : [],
    to: compatibility.port ? [compatibility.port] : [],
    position,
    parameters: entry.parameters,
  };
}

/** A free place at the wanted point, or right of the node that is read. */
function placeOfNew(workspace: Workspace, compatibility: Compatibility, at: Point | null): Point {
  const [width, height] = TYPICAL_SIZE;
  const source = compatibility.wire ? workspace.scene.rect(compatibility.wire.node) : null;
  const middle = workspace.viewport.middle();
  const reader = compatibility.port && !at ? workspace.scene.rect(compatibility.port[0]) : null;
  let corner: Point = source
    ? [source.x + source.width + COLUMN, source.y]
    : reader
      ? [reader.x - width - COLUMN, reader.y]
      : [middle[0] - width / 2, middle[1] - height / 2];
  if (at)
    corner = compatibility.port ? [at[0] - width, at[1] - portY(0)] : [at[0], at[1] - portY(0)];
  const wanted: Rect = { x: Math.round(corner[0]), y: Math.round(corner[1]), width, height };
  return freePlace(wanted, [...workspace.scene.rects().values()]);
}

/** The inputs to which an output can be connected, and then those that refuse it, with their reasons. */
export function targets(workspace: Workspace, wire: Wire): Question {
  const { session, model } = workspace;
  const name = model.nodes.get(wire.node)?.outputs[wire.output]?.name ?? wire.node;
  const reply = session.targets(wire);
  return {
    title: `Connect ${name} to`,
    text: "",
    none: "no input accepts this output",
    choices: async (query) => {
      const { accepted, refused } = await reply;
      const rows = [
        ...accepted.map(([node, port]) => ({ node, port, reason: "" })),
        ...refused.map(([node, port, reason]) => ({ node, port, reason })),
      ];
      return rows
        .filter(({ node, port }) => matches(`${node} ${port}`, query))
        .map(({ node, port, reason }) => ({
          label: `${node} · ${port}`,
          hint: reason ? "refused" : (workspace.model.nodes.get(node)?.title ?? ""),
          detail: reason,
          act: () => {
            if (reason) workspace.say(reason, true);
            else session.gesture({ edit: "connect", wire, node, port });
          },
        }));
    },
  };
}

/** The calls that can stand in the place of a node's: its wires stay as far as the new call has their inputs. */
export function replacements(workspace: Workspace, node: string): Question {
  const { session, model } = workspace;
  const wire = model.nodes.get(node)?.inputs.find((input) => input.wire)?.wire ?? null;
  return {
    title: `Call instead of ${model.nodes.get(node)?.call ?? node}`,
    text: "",
    none: "no operation fits the wire",
    choices: async (query) =>
      (await session.palette(query, { wire }, COUNT)).entries.map(({ call, group, doc }) => ({
        label: call,
        hint: group,
        detail: doc,
        act: () => session.gesture({ edit: "replace", node, call }),
      })),
  };
}

/** What an input can be connected to: outputs of the drawing that it accepts, then new calls that it accepts. */
export function sources(workspace: Workspace, node: string, port: string): Question {
  const { session } = workspace;
  const existing = ({ node: id, output }: Wire): Choice => {
    const from = workspace.model.nodes.get(id);
    const { name = id, dtype = "", shape = null } = from?.outputs[output] ?? {};
    return {
      label: name,
      hint: `${dtype} ${shapeText(shape)}`,
      detail: from?.call ?? "",
      act: () => session.gesture({ edit: "connect", wire: { node: id, output }, node, port }),
    };
  };
  const added = (entry: PaletteEntry): Choice => ({
    label: entry.call,
    hint: "new",
    detail: entry.doc,
    act: () => session.gesture(addition(workspace, entry, { port: [node, port] }, null)),
  });
  return {
    title: `Connect ${port} of ${node} from`,
    text: "",
    none: "nothing fits this input",
    choices: async (query) => {
      const { entries, outputs } = await session.palette(query, { port: [node, port] }, COUNT);
      const known = outputs.map(existing).filter(({ label }) => matches(label, query));
      return [...known, ...entries.map(added)];
    },
  };
}

/** The nodes whose name or call contains the words; Enter goes there. */
export function search(workspace: Workspace, go: (id: string) => void): Question {
  return {
    title: "Find a node",
    text: "",
    none: "no node matches",
    choices: (query) =>
      workspace.model.order
        .filter((id) => matches(`${id} ${workspace.model.nodes.get(id)?.call}`, query))
        .sort((a, b) => closeness(b, query) - closeness(a, query))
        .slice(0, COUNT)
        .map((id) => ({
          label: id,
          hint: workspace.model.nodes.get(id)?.title ?? "",
          detail: described(workspace, id),
          act: () => go(id),
        })),
  };
}

/** The name itself comes first, then what begins with it; others stay in the order of the source. */
const closeness = (id: string, query: string): number =>
  id === query.trim() ? 2 : id.startsWith(query.trim()) ? 1 : 0;

export function matches(text: string, query: string): boolean {
  const lower = text.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

// Nodes, drawings and a workspace for the tests of the builder.

import type { BuilderNode, Drawing } from "../../src/protocol/builder";
import { BuilderModel } from "../../src/views/builder/state/model";
import { Session, type ToKernel } from "../../src/views/builder/state/session";
import { type BuilderEvent, type BuilderState, EMPTY } from "../../src/views/builder/state/state";
import { update } from "../../src/views/builder/state/update";
import { Workspace } from "../../src/views/builder/state/workspace";

const output = (name: string) => ({ name, dtype: "float32", shape: [null, 10] });

/** A node that adds others. */
export function node(id: string, reads: readonly string[] = [], line = 1): BuilderNode {
  return {
    id,
    kind: "op",
    call: "tf.add_n",
    title: "add_n",
    line,
    source: `${id} = tf.add_n([${reads.join(", ")}])`,
    inputs: reads.map((name, k) => ({
      name: `inputs[${k}]`,
      label: `inputs[${k}]`,
      wire: { node: name, output: 0 },
      text: "",
      is_needed: true,
      doc: "",
    })),
    outputs: [output(id)],
    parameters: [],
    problem: null,
    parameter_count: 0,
    flops: -1,
    frame: "",
  };
}

/** A drawing of nodes that have changed. */
export function drawing(
  changed: readonly BuilderNode[],
  order: readonly string[],
  positions: Record<string, readonly number[]> = {},
): Drawing {
  return {
    type: "drawing",
    revision: 1,
    gesture: 0,
    changed,
    order,
    lines: order.map((id, k) => changed.find((node) => node.id === id)?.line ?? k + 1),
    frames: [],
    notes: [],
    positions,
    totals: { parameters: 0, flops: 0, nodes: order.length, problems: 0 },
    selected: [],
    echo: "",
    message: "",
    is_refused: false,
    waits_for_line: 0,
    can_undo: false,
    can_redo: false,
  };
}

/** The state after some events. */
export const stateAfter = (...events: readonly BuilderEvent[]): BuilderState =>
  events.reduce(update, EMPTY);

export const modelOf = ({ graph, places, drag, bending }: BuilderState): BuilderModel =>
  new BuilderModel(graph, places, drag, bending);

/** A workspace of nodes beside each other, with what it sends to the kernel and says to people. */
export function workspaceOf(nodes: readonly BuilderNode[]) {
  const sent: ToKernel[] = [];
  const said: string[] = [];
  const workspace = new Workspace(
    new Session((message) => sent.push(message)),
    () => {},
    (text) => said.push(text),
  );
  Object.assign(workspace.viewport, { width: 1200, height: 800 });
  const order = nodes.map(({ id }) => id);
  workspace.dispatch({ type: "drawing", drawing: drawing(nodes, order) });
  const places = order.map((id, k) => [id, [k * 300, 40]] as const);
  workspace.dispatch({ type: "laid out", places });
  /** The edits of all gestures so far. */
  const edits = () => sent.flatMap((one) => (one.type === "gesture" ? one.edits : []));
  return { workspace, sent, said, edits };
}

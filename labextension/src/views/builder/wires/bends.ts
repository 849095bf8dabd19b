// Bends of wires by hand: a wire that is dragged gets one, a bend is dragged along guides, and commands do the same for
// the keyboard. The code does not change: a bend is a place, like that of a node.

import type { RouteWire } from "../../../protocol/builder_details";
import type { Choice, Question } from "../chooser";
import { matches } from "../palette";
import { type Point, pointOn, type Rect } from "../places/geometry";
import { snap } from "../places/placing";
import type { BuilderModel } from "../state/model";
import type { Connection } from "../state/state";
import type { Workspace } from "../state/workspace";
import { insertedAt, routeKey, routeOf } from "./route";

const SNAP = 6; // pixels

export function routed(connection: Connection, bends: readonly Point[], isLink = false): RouteWire {
  const points = bends.map(([x, y]) => [Math.round(x), Math.round(y)]);
  return { edit: "route", node: connection.to, port: connection.port, points, is_link: isLink };
}

/** Sends how a wire goes, and shows it before the kernel has answered. */
export function setRoute(
  workspace: Workspace,
  connection: Connection,
  bends: readonly Point[],
  isLink = false,
): void {
  const edit = routed(connection, bends, isLink);
  const numbers = isLink || bends.length ? edit.points.flat() : null;
  workspace.dispatch({ type: "routed", routes: new Map([[routeKey(connection), numbers]]) });
  workspace.session.gesture(...tellKept(workspace), edit);
}

/** The routes that the notebook has kept are told to the kernel with the first change of a place: returns the edits. */
export function tellKept(workspace: Workspace): RouteWire[] {
  const { model } = workspace;
  const { keptRoutes } = model.places;
  if (!keptRoutes.size) return [];
  workspace.dispatch({ type: "routes told" });
  return model.connections.flatMap((connection) => {
    const route = routeOf(keptRoutes.get(routeKey(connection)));
    return route ? [routed(connection, route, !route.length)] : [];
  });
}

/** One bend while it is dragged. */
export class Bend {
  private readonly bends: Point[];
  private readonly others: readonly Readonly<Rect>[];

  constructor(
    private readonly workspace: Workspace,
    readonly connection: Connection,
    private readonly index: number,
  ) {
    const { model, scene } = workspace;
    this.bends = [...(model.route(connection) ?? [])];
    const ports = scene.ends(connection) ?? [];
    const fixed = [...this.bends.filter((_, k) => k !== index), ...ports];
    this.others = [
      ...fixed.map(([x, y]) => ({ x, y, width: 0, height: 0 })),
      ...scene.rects(workspace.visible()).values(),
    ];
  }

  /** Begins at a point of a wire: at the bend there, or at a new one. */
  static at(workspace: Workspace, connection: Connection, at: Point, index?: number): Bend | null {
    const { model } = workspace;
    const ends = workspace.scene.ends(connection);
    const route = model.route(connection);
    if (!ends || route?.length === 0) return null;
    if (index !== undefined) return new Bend(workspace, connection, index);
    const bends = [...(route ?? [])];
    const place = insertedAt(...ends, bends, at);
    bends.splice(place, 0, at);
    workspace.dispatch({ type: "bending", bending: { key: routeKey(connection), bends } });
    return new Bend(workspace, connection, place);
  }

  to([x, y]: Point, isFree: boolean): void {
    const { workspace, others, connection, index } = this;
    const radius = isFree ? 0 : workspace.viewport.toWorldLength(SNAP);
    const { dx, dy, guides } = snap({ x, y, width: 0, height: 0 }, others, radius);
    this.bends[index] = [Math.round(x + dx), Math.round(y + dy)];
    const bending = { key: routeKey(connection), bends: [...this.bends] };
    workspace.dispatch({ type: "bending", bending });
    workspace.dispatch({ type: "overlay", overlay: { guides } });
  }

  drop(): void {
    const { workspace, connection, bends } = this;
    workspace.dispatch({ type: "bending", bending: null });
    setRoute(workspace, connection, bends);
    workspace.selectWire(connection);
    workspace.say(`${wireText(connection)} goes through ${bendsText(bends.length)}`);
  }

  undo(): void {
    this.workspace.dispatch({ type: "bending", bending: null });
  }
}

/** Takes one bend out. */
export function removeBend(workspace: Workspace, connection: Connection, index: number): void {
  const bends = (workspace.model.route(connection) ?? []).filter((_, k) => k !== index);
  setRoute(workspace, connection, bends);
}

/** Moves all bends of a wire; one that has none gets one in its middle. */
export function nudgeBends(
  workspace: Workspace,
  connection: Connection,
  dx: number,
  dy: number,
): void {
  const route = workspace.model.route(connection);
  if (route?.length === 0) {
    workspace.say("a named link has no bends", true);
    return;
  }
  const bends = route?.length ? route : middleOf(workspace, connection);
  setRoute(
    workspace,
    connection,
    bends.map(([x, y]): Point => [x + dx, y + dy]),
  );
}

function middleOf(workspace: Workspace, connection: Connection): Point[] {
  const curves = workspace.scene.curves(connection);
  const curve = curves[Math.floor(curves.length / 2)];
  return curve ? [pointOn(curve, 0.5)] : [];
}

/** The routes of wires whose two ends have moved by the same distance: their bends move along. */
export function routesMoved(
  model: BuilderModel,
  before: ReadonlyMap<string, Rect>,
  after: ReadonlyMap<string, Point>,
): { connection: Connection; bends: Point[] }[] {
  if (!model.hasRoutes) return [];
  return model.connections.flatMap((connection) => {
    const route = model.settledRoute(connection);
    const [from, to] = [before.get(connection.from), before.get(connection.to)];
    const [now, then] = [after.get(connection.from), after.get(connection.to)];
    if (!route?.length || !from || !to || !now || !then) return [];
    const [dx, dy] = [now[0] - from.x, now[1] - from.y];
    if ((!dx && !dy) || then[0] - to.x !== dx || then[1] - to.y !== dy) return [];
    return [{ connection, bends: route.map(([x, y]): Point => [x + dx, y + dy]) }];
  });
}

/** The bends of the selected wire, by their number in its order, as rectangles without a size. */
export function bendRects({ model, selectedWire }: Workspace): Map<string, Rect> {
  const bends = (selectedWire && model.route(selectedWire)) ?? [];
  return new Map(bends.map(([x, y], k) => [String(k), { x, y, width: 0, height: 0 }]));
}

/** Puts the bends of a wire at the corners that `bendRects` has been given. */
export function placeBends(
  workspace: Workspace,
  wire: Connection,
  corners: ReadonlyMap<string, Point>,
): void {
  const bends = workspace.model.route(wire) ?? [];
  setRoute(
    workspace,
    wire,
    bends.map((bend, k) => corners.get(String(k)) ?? bend),
  );
}

/** Takes the bends out of the wires between selected nodes; returns the edits that tell the kernel. */
export function unbent(workspace: Workspace): RouteWire[] {
  const { model, selected } = workspace;
  const wires = model.connections.filter(
    (wire) => selected.has(wire.from) && selected.has(wire.to) && model.route(wire)?.length,
  );
  const routes = new Map(wires.map((wire) => [routeKey(wire), null]));
  workspace.dispatch({ type: "routed", routes });
  return wires.map((wire) => routed(wire, []));
}

/** Lists what can be done with the wire that is selected, or with those into the selected node. */
export function routeQuestion(workspace: Workspace): Question | null {
  const { model, only, selectedWire } = workspace;
  const wires = selectedWire ? [selectedWire] : only ? [...model.incoming(only.id)] : [];
  if (!wires.length) return null;
  const choices = wires.flatMap((wire) => choicesOf(workspace, wire));
  return {
    title: "How a wire is drawn",
    text: "",
    none: "nothing of this name",
    choices: (query) => choices.filter(({ label, hint }) => matches(`${label} ${hint}`, query)),
  };
}

function choicesOf(workspace: Workspace, wire: Connection): Choice[] {
  const { model } = workspace;
  const route = model.route(wire);
  const hint = wireText(wire);
  const choice = (label: string, detail: string, act: () => void): Choice => ({
    label,
    hint,
    detail,
    act,
  });
  const set = (bends: readonly Point[], isLink: boolean, said: string) => (): void => {
    setRoute(workspace, wire, bends, isLink);
    workspace.selectWire(wire);
    workspace.say(`${hint}: ${said}`);
  };
  const select = (): void => {
    workspace.selectWire(wire);
    workspace.say(`${hint} is selected`);
  };
  const isLink = route?.length === 0;
  const detail = "Alt with the arrows moves its bends, Delete cuts it";
  return [
    ...(workspace.selectedWire ? [] : [choice("Select it", detail, select)]),
    ...(isLink
      ? []
      : [
          choice(
            "A bend in its middle",
            detail,
            set([...(route ?? []), ...middleOf(workspace, wire)], false, "a bend"),
          ),
        ]),
    ...(isLink
      ? []
      : [choice("A named link", "two stubs with the name", set([], true, "a named link"))]),
    ...(route ? [choice("One curve", "without bends or stubs", set([], false, "one curve"))] : []),
  ];
}

export const wireText = ({ from, to, port }: Connection): string => `${from} to ${port} of ${to}`;
const bendsText = (n: number): string => (n === 1 ? "1 bend" : `${n} bends`);

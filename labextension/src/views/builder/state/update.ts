// What each event makes of the state of a canvas. Nothing here changes a state, knows a page, or sends a message: what a
// gesture does to the screen can be read, and tested, as a function from one state to the next.

import type { BuilderNode, Drawing } from "../../../protocol/builder";
import type { Point } from "../places/geometry";
import { isValueOf } from "../values";
import { routeKey } from "../wires/route";
import { connectionsOf } from "./model";
import type {
  BuilderEvent,
  BuilderState,
  Connection,
  Graph,
  Panel,
  Places,
  Selection,
} from "./state";

/** The state after an event. */
export function update(state: BuilderState, event: BuilderEvent): BuilderState {
  const { graph, places } = state;
  switch (event.type) {
    case "drawing":
      return drawn(state, event.drawing);
    case "source":
      return { ...state, source: event.source };
    case "laid out":
      return {
        ...state,
        places: { ...places, automatic: new Map([...event.places, ...places.automatic]) },
      };
    case "kept routes":
      return { ...state, places: { ...places, keptRoutes: new Map(Object.entries(event.routes)) } };
    case "routes told":
      return { ...state, places: told(places, graph) };
    case "routed":
      return { ...state, places: routed(places, event.routes) };
    case "dragged":
      return { ...state, drag: event.drag, hovered: event.hovered };
    case "drag cancelled":
      return { ...state, drag: null, hovered: null };
    case "moved": {
      const placed = new Map([...places.placed, ...event.places]);
      const routes = new Map([...places.routes, ...event.routes]);
      return { ...state, places: { ...places, placed, routes }, drag: null, hovered: null };
    }
    case "bending":
      return { ...state, bending: event.bending };
    case "selected":
      return { ...state, selection: selectionOf(graph, event.nodes, event.current) };
    case "wire selected": {
      const { current } = state.selection;
      return { ...state, selection: { nodes: new Set(), current, wire: event.wire } };
    }
    case "hovered":
      return { ...state, hovered: event.wire };
    case "wire dragged":
      return { ...state, draggedWire: event.wire };
    case "overlay":
      return { ...state, overlay: { ...state.overlay, ...event.overlay } };
    case "panel":
      return { ...state, panels: withPanel(state, event.node, event.panel) };
    case "marks":
      return event.marks.size || state.marks.size ? { ...state, marks: event.marks } : state;
    case "hand":
      return { ...state, hand: event.hand };
    case "theme":
      return { ...state, theme: event.theme };
  }
}

function drawn(state: BuilderState, drawing: Drawing): BuilderState {
  const graph = graphOf(state.graph, drawing);
  const places = Object.entries(drawing.positions);
  const isRoute = ([key]: readonly [string, unknown]): boolean => key.includes(">");
  return {
    ...state,
    graph,
    places: {
      ...state.places,
      placed: new Map(
        places.filter((one) => !isRoute(one)).map(([id, [x = 0, y = 0]]) => [id, [x, y]]),
      ),
      routes: new Map(places.filter(isRoute)),
      automatic: automaticAfter(state, drawing),
    },
    // A value is taken away when its node has come to be one of another kind, as by an undo.
    panels: new Map(
      [...state.panels].filter(
        ([id, panel]) => graph.nodes.has(id) && isValueOf(panel, graph.nodes.get(id)),
      ),
    ),
    selection: selectionAfter(state.selection, graph, drawing),
  };
}

function graphOf(before: Graph, drawing: Drawing): Graph {
  const fresh = new Map(drawing.changed.map((node) => [node.id, node]));
  const nodes = new Map<string, BuilderNode>();
  for (const [k, id] of drawing.order.entries()) {
    const node = fresh.get(id) ?? before.nodes.get(id);
    const line = drawing.lines[k];
    if (node) nodes.set(id, line && node.line !== line ? { ...node, line } : node);
  }
  return {
    nodes,
    order: [...nodes.keys()],
    frames: drawing.frames,
    notes: drawing.notes,
    totals: drawing.totals,
    revision: drawing.revision,
    canUndo: drawing.can_undo,
    canRedo: drawing.can_redo,
  };
}

/** The places of the layout without those of nodes that are gone; a node that has only a new name keeps its place. */
function automaticAfter({ graph, places }: BuilderState, drawing: Drawing): Map<string, Point> {
  const automatic = new Map(places.automatic);
  const known = new Set(drawing.order);
  const removed = new Set(graph.order.filter((id) => !known.has(id)));
  const left = new Set(removed);
  const fresh = new Map(drawing.changed.map((node) => [node.id, node]));
  for (const id of removed.size ? drawing.order : []) {
    const node = graph.nodes.has(id) ? undefined : fresh.get(id);
    if (!node) continue;
    const old = [...left].find((name) => {
      const was = graph.nodes.get(name);
      return was?.call === node.call && was.inputs.length === node.inputs.length;
    });
    const place = old === undefined ? undefined : automatic.get(old);
    if (old === undefined || !place) continue;
    automatic.set(id, place);
    left.delete(old);
  }
  for (const id of removed) automatic.delete(id);
  return automatic;
}

function selectionAfter(before: Selection, graph: Graph, drawing: Drawing): Selection {
  if (drawing.selected.length) return selectionOf(graph, drawing.selected);
  const { nodes, wire } = before;
  const same = wire && connectionsOf(graph).find((one) => isSameWire(one, wire));
  return { ...selectionOf(graph, nodes), wire: same ?? null };
}

const isSameWire = (a: Connection, b: Connection): boolean =>
  a.from === b.from && a.to === b.to && a.port === b.port;

/** Those of the nodes that there are; the keyboard is at `current`, or at the last of them. */
function selectionOf(graph: Graph, ids: Iterable<string>, current?: string): Selection {
  const nodes = [...ids].filter((id) => graph.nodes.has(id));
  return {
    nodes: new Set(nodes),
    current: current ?? nodes[nodes.length - 1] ?? "",
    wire: null,
  };
}

function told(places: Places, graph: Graph): Places {
  if (!places.keptRoutes.size) return places;
  const routes = new Map(places.routes);
  for (const connection of connectionsOf(graph)) {
    const kept = places.keptRoutes.get(routeKey(connection));
    if (kept) routes.set(routeKey(connection), kept);
  }
  return { ...places, routes, keptRoutes: new Map() };
}

function routed(places: Places, changes: ReadonlyMap<string, readonly number[] | null>): Places {
  const [routes, keptRoutes] = [new Map(places.routes), new Map(places.keptRoutes)];
  for (const [key, numbers] of changes) {
    keptRoutes.delete(key);
    if (numbers) routes.set(key, numbers);
    else routes.delete(key);
  }
  return { ...places, routes, keptRoutes };
}

function withPanel(
  { graph, panels }: BuilderState,
  node: string,
  panel: Panel | null,
): ReadonlyMap<string, Panel> {
  const next = new Map(panels);
  if (panel && graph.nodes.has(node)) next.set(node, panel);
  else if (!panel) next.delete(node);
  return next;
}

"""Control contexts: the frames and branches that a node is in.

Two nodes may share a cluster only if they are alive or dead together and in the same loop iteration (OSDI'16, section
3.4). Invariant: equal contexts mean equal liveness in every run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.graph import Edge, Graph, Node

__all__ = ["Context", "contexts"]

Context = frozenset[Any]
_ROOT: Context = frozenset()


def contexts(graph: Graph) -> Mapping[int, Context]:
    """Returns the context of each node by its id: a set of ("frame", name) and ("switch", predicate edge, port)."""
    if not any(n.opdef.kind in (Kind.SWITCH, Kind.ENTER) for n in graph.nodes.values()):
        return dict.fromkeys(graph.nodes, _ROOT)
    outer: dict[str, Context] = {}
    while True:  # in the order, an Exit may come before an Enter of its loop
        former_outer = dict(outer)
        contexts_by_id = _find(graph, outer)
        if outer == former_outer:
            return contexts_by_id


def _find(graph: Graph, outer: dict[str, Context]) -> dict[int, Context]:
    """Returns the contexts after one pass over the nodes. `outer` has the context around each frame, and is updated.

    A loop is dead if one of its Enters is dead."""
    contexts_by_id: dict[int, Context] = {}
    for i in graph.order:
        node = graph.nodes[i]
        sources = [_after(graph, e, contexts_by_id) for e in node.inputs if not _closes_loop(graph, e)]
        sources += [contexts_by_id[c] for c in node.control if c in contexts_by_id]
        kind, path = node.opdef.kind, graph.frames.inside[i]
        context = frozenset[Any]().union(*sources)
        if kind is Kind.MERGE:
            context = frozenset.intersection(*sources) if sources else _ROOT
        elif kind is Kind.CONTROL_TRIGGER:  # alive in each iteration of its frame, whatever is dead before it
            context = outer[path[-1]] | {("frame", path[-1])} if path else _ROOT
        if kind is Kind.ENTER:
            name = node.attrs.frame_name
            outer[name] = outer.get(name, _ROOT) | context
            context = outer[name] | {("frame", name)}
        elif kind is Kind.EXIT:
            context = outer[path[-1]] if path else context
        contexts_by_id[i] = context
    return contexts_by_id


def _closes_loop(graph: Graph, e: Edge) -> bool:
    return graph.nodes[e.id].opdef.kind is Kind.NEXT_ITERATION


def _after(graph: Graph, e: Edge, contexts_by_id: Mapping[int, Context]) -> Context:
    """Returns the context of the values on an edge, given the context of each node by its id."""
    node: Node = graph.nodes[e.id]
    if node.opdef.kind is Kind.SWITCH:
        return contexts_by_id[e.id] | {("switch", node.inputs[1], e.port)}
    return contexts_by_id[e.id]

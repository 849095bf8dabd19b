"""Common subexpression elimination (white paper, section 5.1; the algorithm of Click, value numbering).

Two nodes are merged if their op is pure and their types, attributes, inputs, control inputs and device are equal.
Invariant: no node that reads or writes state is merged, because its position in the order matters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.ir.const import foldable
from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.edit import GraphEdit
from tfnb.ir.step_graph.graph import Edge, Graph, Node

__all__ = ["cse"]

_SMALL = 4096  # bytes of a constant that are compared; larger constants are compared by identity


def cse(graph: Graph) -> Graph:
    """Returns the graph in which equal nodes are merged."""
    table: dict[Edge, Edge] = {}
    first: dict[Any, int] = {}
    duplicates: list[int] = []
    for i in graph.order:
        node = graph.nodes[i]
        inputs = tuple(table.get(e, e) for e in node.inputs)
        key = _key(graph, node, inputs)
        if key is None:
            continue
        other = first.setdefault(key, i)
        if other != i:
            duplicates.append(i)
            table.update({Edge(i, p): Edge(other, p) for p in range(len(node.specs))})
    if not duplicates:
        return graph
    edit = GraphEdit(graph)
    edit.redirect_all(table)
    targets = {t: table.get(Edge(t, 0), Edge(t, 0)).id for t in graph.targets}
    edit.targets = [targets[t] for t in graph.targets]
    representatives = {i: table[Edge(i, 0)].id for i in duplicates if graph.nodes[i].specs}
    for n in edit.nodes.values():
        if any(c in representatives for c in n.control):
            n.control = tuple(dict.fromkeys(representatives.get(c, c) for c in n.control))
    edit.remove(i for i in duplicates if i in edit.nodes)
    return edit.freeze()


def _key(graph: Graph, node: Node, inputs: tuple[Edge, ...]) -> Any:
    op = node.opdef
    control = frozenset(node.control)
    if op.kind is Kind.CONST:
        v: np.ndarray = node.attrs.value
        if v.nbytes > _SMALL or v.dtype == object:
            return None
        return (op, node.types["dtype"], v.dtype.str, v.shape, v.tobytes(), control, node.device)
    if not foldable(op) or any(s.ref for s in node.specs) or any(graph.spec(e).ref for e in inputs):
        return None
    try:
        return (op, inputs, hash(node.attrs), node.attrs, _types(node), control, node.device)
    except TypeError:
        return None


def _types(node: Node) -> Any:
    return tuple((k, tuple(v) if isinstance(v, list) else v) for k, v in sorted(node.types.items()))

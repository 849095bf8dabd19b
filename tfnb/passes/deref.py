"""Dereferencing: variables are read where control flow, or a fetch of a type that only the host has, needs a value.

A Switch, Merge or Enter passes values along edges, but a reference names memory, and strings have none on a device.
Invariant: afterwards the data inputs of control-flow primitives, and fetched strings, are values.
"""

from __future__ import annotations

from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.edit import GraphEdit
from tfnb.ir.step_graph.graph import Edge, Graph
from tfnb.ops.array.shape_ops import IDENTITY

__all__ = ["deref"]

_PRIMITIVES = (Kind.SWITCH, Kind.MERGE, Kind.ENTER, Kind.EXIT, Kind.NEXT_ITERATION)


def deref(graph: Graph) -> Graph:
    """Puts an Identity behind a variable that a control-flow primitive reads, or a fetch of a host-only type."""
    fetched = [e for e in graph.fetches if graph.spec(e).ref and not graph.spec(e).dtype.cl]
    wanted = [
        (n.id, k)
        for n in graph.nodes.values()
        if n.opdef.kind in _PRIMITIVES
        for k, e in enumerate(n.inputs)
        if graph.spec(e).ref and graph.nodes[e.id].opdef.kind not in _PRIMITIVES
    ]
    if not wanted and not fetched:
        return graph
    edit = GraphEdit(graph)
    for e in fetched:
        edit.at(edit.nodes[e.id])
        read = Edge(IDENTITY(edit.tensor(e), graph=edit).op.id, 0)
        edit.fetches = [read if f == e else f for f in edit.fetches]
    for i, k in wanted:
        node = edit.nodes[i]
        edit.at(node)
        read = IDENTITY(edit.tensor(node.refs[k]), graph=edit)
        node.refs = (*node.refs[:k], Edge(read.op.id, 0), *node.refs[k + 1 :])
    return edit.freeze()

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
    fetched_refs = [e for e in graph.fetches if graph.spec(e).ref and not graph.spec(e).dtype.cl]
    reference_inputs = [
        (n.id, k)
        for n in graph.nodes.values()
        if n.opdef.kind in _PRIMITIVES
        for k, e in enumerate(n.inputs)
        if graph.spec(e).ref and graph.nodes[e.id].opdef.kind not in _PRIMITIVES
    ]
    if not reference_inputs and not fetched_refs:
        return graph
    edit = GraphEdit(graph)
    for e in fetched_refs:
        edit.at(edit.nodes[e.id])
        identity = Edge(IDENTITY(edit.tensor(e), graph=edit).op.id, 0)
        edit.fetches = [identity if f == e else f for f in edit.fetches]
    for i, k in reference_inputs:
        node = edit.nodes[i]
        edit.at(node)
        identity = IDENTITY(edit.tensor(node.refs[k]), graph=edit)
        node.refs = (*node.refs[:k], Edge(identity.op.id, 0), *node.refs[k + 1 :])
    return edit.freeze()

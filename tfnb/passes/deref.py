"""Reading references at the door of control flow.

A Switch, Merge or Enter passes values along edges; a variable's memory has no edge. Invariant: afterwards
the data inputs of control-flow primitives are values.
"""

from __future__ import annotations

from tfnb.ir.edit import GraphEdit
from tfnb.ir.graph import Edge, Graph
from tfnb.ir.opdef import Kind
from tfnb.ops.shaping import IDENTITY

__all__ = ["deref"]

_PRIMITIVES = (Kind.SWITCH, Kind.MERGE, Kind.ENTER, Kind.EXIT, Kind.NEXT_ITERATION)


def deref(graph: Graph) -> Graph:
    """Puts an Identity between a variable and a control-flow primitive."""
    wanted = [
        (n.id, k)
        for n in graph.nodes.values()
        if n.opdef.kind in _PRIMITIVES
        for k, e in enumerate(n.inputs)
        if graph.spec(e).ref and graph.nodes[e.id].opdef.kind not in _PRIMITIVES
    ]
    if not wanted:
        return graph
    edit = GraphEdit(graph)
    for i, k in wanted:
        node = edit.nodes[i]
        edit.at(node)
        read = IDENTITY(edit.tensor(node.refs[k]), graph=edit)
        node.refs = (*node.refs[:k], Edge(read.op.id, 0), *node.refs[k + 1 :])
    return edit.freeze()

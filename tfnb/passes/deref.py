"""Dereferencing: variables are read where control flow, or a fetch of a type that only the host has, needs a value.

A Switch, Merge or Enter passes values along edges, but a reference names memory, and strings have none on a device.
A fetched variable that a loop uses is read when the loop has ended, not within it. Invariant: afterwards the data
inputs of control-flow primitives, fetched strings, and fetched variables of loops, are values.
"""

from __future__ import annotations

from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.edit import GraphEdit
from tfnb.ir.step_graph.graph import Edge, Graph
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.passes.cluster import root_variable

__all__ = ["deref"]

_PRIMITIVES = (Kind.SWITCH, Kind.MERGE, Kind.ENTER, Kind.EXIT, Kind.NEXT_ITERATION)


def deref(graph: Graph) -> Graph:
    """Puts an Identity behind a variable that a control-flow primitive reads, and behind some that are fetched."""
    loops = _loops_of_fetched(graph)
    fetched_refs = [e for e in graph.fetches if graph.spec(e).ref and (e in loops or not graph.spec(e).dtype.cl)]
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
        read = IDENTITY(edit.tensor(e), graph=edit).op
        read.control = tuple(_ends(graph, loops.get(e, set())))
        identity = Edge(read.id, 0)
        edit.fetches = [identity if f == e else f for f in edit.fetches]
    for i, k in reference_inputs:
        node = edit.nodes[i]
        edit.at(node)
        value = IDENTITY(edit.tensor(node.refs[k]), graph=edit)
        node.refs = (*node.refs[:k], Edge(value.op.id, 0), *node.refs[k + 1 :])
    return edit.freeze()


def _loops_of_fetched(graph: Graph) -> dict[Edge, set[str]]:
    """Returns the fetched variables that loops use, each with the names of these outermost loops."""
    fetched = {e for e in graph.fetches if graph.nodes[e.id].opdef.kind is Kind.VARIABLE}
    loops: dict[Edge, set[str]] = {}
    if fetched:
        for node in graph.nodes.values():
            path = graph.frames.inside[node.id]
            for e in node.inputs if path else ():
                root = Edge(root_variable(graph, e), 0) if graph.spec(e).ref else e
                if root in fetched:
                    loops.setdefault(root, set()).add(path[0])
    return loops


def _ends(graph: Graph, loops: set[str]) -> list[int]:
    """Returns the nodes by which values leave these loops."""
    frames = graph.frames
    exits = (n.id for n in graph.nodes.values() if n.opdef.kind is Kind.EXIT and not frames.outside[n.id])
    return [i for i in exits if frames.inside[i][0] in loops]

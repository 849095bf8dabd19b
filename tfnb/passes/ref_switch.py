"""References on branches: TensorFlow's `cond` sends a variable's reference through a RefSwitch, which this pass
removes.

Each reader and writer on a branch uses the variable itself, with a control edge from the pivot of the branch.
Invariant: afterwards no RefSwitch has a reader, and a branch changes a variable only when the branch is taken.
"""

from __future__ import annotations

from tfnb.ir.step_graph.edit import EditNode, GraphEdit
from tfnb.ir.step_graph.graph import Edge, Graph
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.control_flow.switch_merge import REF_SWITCH, SWITCH

__all__ = ["open_ref_switches"]


def open_ref_switches(graph: Graph) -> Graph:
    """Returns the graph without references that pass through RefSwitch nodes."""
    switches = [i for i, n in graph.nodes.items() if n.opdef is REF_SWITCH]
    if not switches:
        return graph
    edit = GraphEdit(graph)
    for i in switches:
        for port in (0, 1):
            _bypass(graph, edit, i, port)
    return edit.freeze()


def _bypass(graph: Graph, edit: GraphEdit, switch: int, port: int) -> None:
    """Replaces the output of a RefSwitch, for the consumers on one branch, by the reference or by a read of it."""
    output = Edge(switch, port)
    readers = dict.fromkeys(graph.consumers.get(output, ()))
    if not readers and output not in edit.fetches:
        return
    node = edit.nodes[switch]
    edit.at(node)
    source, pred = node.refs
    pivot = IDENTITY(SWITCH(edit.tensor(pred), edit.tensor(pred), graph=edit)[port], graph=edit).op
    read: EditNode | None = None
    for reader in (edit.nodes[r] for r in readers):
        refs = []
        for k, e in enumerate(reader.refs):
            if e != output:
                refs.append(e)
            elif _wants_reference(reader, k):
                refs.append(source)
                reader.control = (*reader.control, pivot.id)
            else:
                read = read or _read(edit, source, pivot)
                refs.append(Edge(read.id, 0))
        reader.refs = tuple(refs)
    if output in edit.fetches:
        read = read or _read(edit, source, pivot)
        edit.fetches = [Edge(read.id, 0) if f == output else f for f in edit.fetches]


def _read(edit: GraphEdit, source: Edge, pivot: EditNode) -> EditNode:
    """Returns a node that reads the variable when the branch is taken."""
    identity: EditNode = IDENTITY(edit.tensor(source), graph=edit).op
    identity.control = (*identity.control, pivot.id)
    return identity


def _wants_reference(node: EditNode, k: int) -> bool:
    args = node.opdef.input_args
    return all(a.number is None and not a.type_list for a in args) and args[k].ref

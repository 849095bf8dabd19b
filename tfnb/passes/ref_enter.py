"""References in loops: `RefEnter` makes a variable's reference known in a loop's frame, as TensorFlow's graphs do.

A reference does not flow along edges as values do, so here each reader and writer in the loop uses the variable itself.
The node that produced the reference outside runs before the loop begins. Invariant: afterwards no constant RefEnter is
left.
"""

from __future__ import annotations

from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.edit import EditNode, GraphEdit
from tfnb.ir.step_graph.graph import Edge, Graph
from tfnb.ops.control_flow.switch_merge import REF_ENTER

__all__ = ["open_ref_enters"]


def open_ref_enters(graph: Graph) -> Graph:
    """Returns the graph without constant RefEnter nodes."""
    enters = [i for i in graph.order if graph.nodes[i].opdef is REF_ENTER and graph.nodes[i].attrs.is_constant]
    if not enters:
        return graph
    edit = GraphEdit(graph)
    first_enter: dict[str, EditNode] = {}  # an Enter in each frame for which the whole frame waits
    for node in edit.nodes.values():
        if node.opdef.kind is Kind.ENTER and not node.attrs.is_constant:
            first_enter.setdefault(node.attrs.frame_name, node)
    for i in enters:
        node = edit.nodes[i]
        source, writers = _variable(edit, node.refs[0])
        edit.redirect(Edge(i, 0), source)
        enter = first_enter.get(node.attrs.frame_name)
        if enter is not None:
            enter.control = tuple(dict.fromkeys((*enter.control, *node.control, *writers)))
        node.control = ()
    edit.remove(enters)
    return edit.freeze()


def _variable(edit: GraphEdit, e: Edge) -> tuple[Edge, list[int]]:
    """Returns the variable that a reference names, and the nodes that change it before they pass the reference on."""
    writers = []
    node = edit.nodes[e.id]
    while node.opdef.writes:
        writers.append(node.id)
        e = node.refs[node.opdef.writes[0]]
        node = edit.nodes[e.id]
    return e, writers

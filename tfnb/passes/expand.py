"""Expand: composite operations such as softmax, mean and cross entropy become the operations that compute them.

Invariant: afterwards no node is left that its `expand` recipe rewrites. Errors of a new node name the composite one.
"""

from __future__ import annotations

from tfnb.ir.step_graph.edit import EditNode, GraphEdit
from tfnb.ir.step_graph.graph import Edge, Graph

__all__ = ["expand"]


def expand(graph: Graph) -> Graph:
    """Replaces composite nodes until none is left."""
    if not any(n.opdef.expand is not None for n in graph.nodes.values()):
        return graph
    edit = GraphEdit(graph)
    composites = [n for n in edit.nodes.values() if n.opdef.expand is not None]
    table: dict[Edge, Edge] = {}
    expanded: list[int] = []
    while composites:
        node = composites.pop()
        ids_before = set(edit.nodes)
        if _expand_node(edit, node, table):
            expanded.append(node.id)
        added = [edit.nodes[i] for i in edit.nodes if i not in ids_before]
        composites.extend(n for n in added if n.opdef.expand is not None)
    edit.at(None)
    edit.redirect_all(table)
    edit.remove(expanded)
    return edit.freeze()


def _expand_node(edit: GraphEdit, node: EditNode, table: dict[Edge, Edge]) -> bool:
    """Replaces a composite node by the nodes of its recipe; returns False if the recipe leaves the node as it is."""
    edit.at(node)
    first = edit.next_id
    result = node.opdef.expand(node, *node.inputs)  # type: ignore[misc]
    if result is None:
        return False
    outputs = list(result) if isinstance(result, (tuple, list)) else [result]
    for i in range(first, edit.next_id):
        if node.control:
            edit.nodes[i].control = tuple(dict.fromkeys((*edit.nodes[i].control, *node.control)))
    for port, t in enumerate(outputs):
        if t is not None:
            table[Edge(node.id, port)] = Edge(t.op.id, t.index)
    return True

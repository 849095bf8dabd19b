"""Expand: composite operations such as softmax, mean and cross entropy become the operations that compute them.

Invariant: afterwards no node is left that its `expand` recipe rewrites. Errors of a new node name the composite one.
"""

from __future__ import annotations

from collections.abc import Iterable

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
    _wait_for_writes(edit, expanded, table)
    edit.remove(expanded)
    return edit.freeze()


def _wait_for_writes(edit: GraphEdit, expanded: list[int], table: dict[Edge, Edge]) -> None:
    """Lets what waits for a composite node that writes wait for the nodes that now write."""
    writers = {i for i in expanded if edit.nodes[i].opdef.writes}
    if not writers:
        return

    def replaced(ids: Iterable[int]) -> tuple[int, ...]:
        found: dict[int, None] = {}
        for i in ids:
            ports = range(len(edit.nodes[i].outputs)) if i in writers else ()
            new = [table[Edge(i, p)].id for p in ports if Edge(i, p) in table]
            found.update(dict.fromkeys(replaced(new) if new else (i,)))
        return tuple(found)

    for node in edit.nodes.values():
        if not writers.isdisjoint(node.control):
            node.control = replaced(node.control)
    edit.targets = list(replaced(edit.targets))


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

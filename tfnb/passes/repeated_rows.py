"""Sparse updates whose gradients are summed for each row first: the update itself takes equal rows together.

Optimizers find the distinct rows of a sparse gradient by `Unique` and sum the gradients of equal rows, because the
rows of an update must differ (OSDI'16, section 4.2). `Unique` runs on the host, and the number of distinct rows is a
size that differs from step to step. One kernel of the device does all of it. Invariant: the sums are those of
`UnsortedSegmentSum`, to the bit.
"""

from __future__ import annotations

from tfnb.ir.opdef import OpDef
from tfnb.ir.step_graph.edit import GraphEdit
from tfnb.ir.step_graph.graph import Edge, Graph, Node
from tfnb.ops.array.gather import UNSORTED_SEGMENT_SUM
from tfnb.ops.array.shape_ops import SHAPE
from tfnb.ops.array.strided_slice import STRIDED_SLICE
from tfnb.ops.array.where_partition import UNIQUE
from tfnb.ops.training.sparse_updates import SUMMED_ROWS
from tfnb.types import float32, float64

__all__ = ["sum_repeated_rows"]


def sum_repeated_rows(graph: Graph) -> Graph:
    """Returns the graph in which updates sum the gradients of equal rows, where the graph did that before them."""
    updates = [n for n in graph.nodes.values() if n.opdef in SUMMED_ROWS and n.types["T"] in (float32, float64)]
    sources = {n.id: s for n in updates if (s := _summed_by(graph, n)) is not None}
    if not sources:
        return graph
    edit = GraphEdit(graph)
    for i, (total, unique) in sources.items():
        node, (grad, indices) = edit.nodes[i], _places(graph.nodes[i].opdef)
        refs = list(node.refs)
        refs[grad], refs[indices] = total.inputs[0], unique.inputs[0]
        node.opdef, node.refs = SUMMED_ROWS[node.opdef], tuple(refs)
        node.types = {**node.types, "Tindices": graph.spec(unique.inputs[0]).dtype}
        node.control = tuple(dict.fromkeys((*node.control, *total.control, *unique.control)))
    return edit.freeze()


def _places(op: OpDef) -> tuple[int, int]:
    """Returns the numbers of the inputs that are the gradient and the indices."""
    names = [a.name for a in op.input_args]
    return names.index("grad"), names.index("indices")


def _summed_by(graph: Graph, update: Node) -> tuple[Node, Node] | None:
    """Returns the nodes that sum the update's gradients and that find its distinct rows, or None."""
    grad, indices = (update.inputs[i] for i in _places(update.opdef))
    total, unique = graph.nodes[grad.id], graph.nodes[indices.id]
    if total.opdef is not UNSORTED_SEGMENT_SUM or unique.opdef is not UNIQUE or indices.port != 0:
        return None
    if total.inputs[1] != Edge(unique.id, 1) or not _counts(graph, total.inputs[2], indices):
        return None
    is_only_reader = graph.consumers.get(grad, ()) == (update.id,) and grad not in graph.fetches
    return (total, unique) if is_only_reader else None


def _counts(graph: Graph, e: Edge, vector: Edge) -> bool:
    """Returns whether `e` is the number of elements of the vector, as `shape(vector)[0]`."""
    node = graph.nodes[e.id]
    if node.opdef is not STRIDED_SLICE:
        return False
    shape = graph.nodes[node.inputs[0].id]
    return shape.opdef is SHAPE and shape.inputs[0] == vector

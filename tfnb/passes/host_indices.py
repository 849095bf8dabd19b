"""Indices that the host computes, because it has what they are computed from and needs them itself.

`unique`, partitions and candidate samplers run on the host. If a device computed their inputs, which often takes only a
few additions, that would cost a launch and a wait. Shapes depend on numbers, too: a total of lengths is computed here,
so that a cluster depends on the total and not on each of the lengths. Invariant: a node that the host computes in this
way works on integers only, so host and device give the same result.
"""

from __future__ import annotations

from collections.abc import Callable

from tfnb.ir.const import foldable
from tfnb.ir.opdef import Kind
from tfnb.ir.scalar.host import host_kernel
from tfnb.ir.step_graph.graph import Graph, Node
from tfnb.ops.array.concat import CONCAT, CONCAT_V2
from tfnb.ops.array.constants import RANGE
from tfnb.ops.array.pack import PACK
from tfnb.ops.math.cast import CAST

__all__ = ["host_indices"]

# Operations that are not elementwise, but as cheap: they move elements or convert them.
_MOVING = (CAST, CONCAT, CONCAT_V2, PACK, RANGE)
_LARGE = 1 << 16  # with as many elements a node is worth a launch on a device


def host_indices(graph: Graph, on_device: Callable[[Node], bool]) -> frozenset[int]:
    """Returns the ids of the nodes that a device could compute and that the host computes for readers of its own."""
    possible: set[int] = set()
    for i in graph.order:
        node = graph.nodes[i]
        if on_device(node) and not graph.frames.inside[i] and _is_cheap(graph, node):
            sources = (graph.nodes[e.id] for e in node.inputs)
            if all(s.id in possible or _is_on_host(s, on_device) for s in sources):
                possible.add(i)
    needed = _shaping_totals(graph, on_device, possible)
    for i in reversed(graph.order):
        node = graph.nodes[i]
        if i in needed or (node.opdef.kind is Kind.COMPUTE and not node.opdef.raw and not on_device(node)):
            needed |= {e.id for e in node.inputs} & possible
    return frozenset(needed)


def _shaping_totals(graph: Graph, on_device: Callable[[Node], bool], possible: set[int]) -> set[int]:
    """Returns the reductions of whole numbers of the host that fix shapes, such as the largest length of a batch.

    A cluster that gets the total is compiled for all totals, where one that gets the lengths would be compiled for each
    batch of lengths again. `possible` are the nodes that the host can compute from what it has.
    """
    nodes = (graph.nodes[i] for i in graph.order)
    stack = [n.inputs[k].id for n in nodes if on_device(n) for k in n.opdef.shape_inputs if k < len(n.inputs)]
    seen: set[int] = set()
    totals: set[int] = set()
    while stack:
        i = stack.pop()
        node = graph.nodes[i]
        if i in seen or not on_device(node) or node.opdef.shape_only or not foldable(node.opdef):
            continue
        seen.add(i)
        stack.extend(e.id for e in node.inputs)
        if node.opdef.reduce is not None and not graph.frames.inside[i] and _is_exact(graph, node):
            sources = (graph.nodes[e.id] for e in node.inputs)
            if all(s.id in possible or _is_on_host(s, on_device) for s in sources):
                totals.add(i)
    return totals


def _is_on_host(node: Node, on_device: Callable[[Node], bool]) -> bool:
    if node.opdef.kind in (Kind.CONST, Kind.PLACEHOLDER):
        return True
    return node.opdef.kind is Kind.COMPUTE and not node.opdef.raw and not on_device(node)


def _is_cheap(graph: Graph, node: Node) -> bool:
    op = node.opdef
    if not node.inputs or not foldable(op) or host_kernel(op) is None:
        return False
    if op.scalar is None and op.alias is None and op not in _MOVING:
        return False
    specs = [*node.specs, *(graph.spec(e) for e in node.inputs)]
    return _is_exact(graph, node) and max(s.shape.num_elements() or 0 for s in specs) < _LARGE


def _is_exact(graph: Graph, node: Node) -> bool:
    """Returns whether a node works on integers and bools alone."""
    specs = [*node.specs, *(graph.spec(e) for e in node.inputs)]
    return not any(s.ref or not (s.dtype.is_integer or s.dtype.is_bool) for s in specs)

"""Counters: the scalars of loops that the host computes, so that no iteration waits for a device.

In most loops the counter, the condition and the index into a tensor array depend on scalars alone. Invariant: the
inputs of such a scalar are other host scalars, constants, values from outside the loop and results of host nodes,
never a value that a device computes inside the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.graph import Graph, Node
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.math.binary import ADD, ADD_N, MUL, SUB
from tfnb.ops.math.cast import CAST

__all__ = ["counters", "is_scalar"]

_EXACT = (ADD, ADD_N, SUB, MUL, CAST, IDENTITY)  # ops whose float results are the same on host and devices
_PRIMITIVES = (Kind.SWITCH, Kind.MERGE, Kind.NEXT_ITERATION, Kind.LOOP_COND, Kind.EXIT)


def counters(graph: Graph, contexts: Mapping[int, Any]) -> frozenset[int]:
    """Returns the ids of the nodes that a device could compute and that the host computes instead."""
    in_loops = {i for i, c in contexts.items() if any(key[0] == "frame" for key in c)}
    if not in_loops:
        return frozenset()
    scalars = {i for i in in_loops if is_scalar(graph, graph.nodes[i])}
    passing = {i for i in in_loops if graph.nodes[i].opdef.kind in _PRIMITIVES}
    while True:
        dependent = {
            i
            for i in scalars | passing
            if any(_on_device(graph, e.id, scalars, passing) for e in graph.nodes[i].inputs)
        }
        if not dependent:
            return frozenset(scalars)
        scalars -= dependent
        passing -= dependent


def _on_device(graph: Graph, i: int, good: set[int], passing: set[int]) -> bool:
    """Returns whether a device computes the value inside the loop."""
    node = graph.nodes[i]
    if i in good or i in passing:
        return False
    if node.opdef.kind in (Kind.CONST, Kind.PLACEHOLDER, Kind.ENTER):
        return False
    if node.opdef.kind in _PRIMITIVES or node.opdef.kind is Kind.VARIABLE:
        return True
    return node.opdef.has_kernel and not node.opdef.dynamic


def is_scalar(graph: Graph, node: Node) -> bool:
    """Returns whether a node computes scalars from scalars, with the same result on the host and on devices."""
    op = node.opdef
    if op.kind is not Kind.COMPUTE or op.writes or op.stateful or (op.scalar is None and op is not IDENTITY):
        return False
    specs = [*node.specs, *(graph.spec(e) for e in node.inputs)]
    if any(s.ref or s.shape.sizes != () for s in specs):
        return False
    if any(s.dtype.is_floating for s in specs):
        return op in _EXACT and all(not s.dtype.is_floating or s.dtype.size >= 4 for s in specs)
    return all(s.dtype.is_integer or s.dtype.is_bool for s in specs)

"""Arithmetic and structural simplification (white paper, section 5.1; "A Tour of TensorFlow", section on optimisation).

A rule names the edge that can replace a node; the pass applies the rules until nothing changes. Invariant: results are
the same to the last bit, NaN and infinity included, so `x * 0` is kept.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.edit import GraphEdit
from tfnb.ir.step_graph.graph import Edge, Graph, Node
from tfnb.ops.array.shape_ops import IDENTITY, RESHAPE
from tfnb.ops.array.transpose_pad_tile import TRANSPOSE
from tfnb.ops.math.binary import ADD, ADD_N, DIV, MUL, REAL_DIV, SUB
from tfnb.ops.math.cast import CAST
from tfnb.ops.math.unary import NEG

__all__ = ["drop_no_ops", "simplify"]

Rule = Callable[[Graph, Node], Edge | None]


def simplify(graph: Graph) -> Graph:
    """Replaces each node whose value is that of one of its direct or indirect inputs by this input."""
    table: dict[Edge, Edge] = {}
    for i in graph.order:
        node = graph.nodes[i]
        if node.control or len(node.specs) != 1 or node.specs[0].ref:
            continue
        for rule in RULES:
            replacement = rule(graph, node)
            if replacement is not None and not graph.spec(replacement).ref:
                table[Edge(i, 0)] = replacement
                break
    if not table:
        return graph
    edit = GraphEdit(graph)
    edit.redirect_all(table)
    for e in table:  # a target that was replaced by the value of another node
        edit.targets = [table[e].id if t == e.id else t for t in edit.targets]
    return edit.freeze()


def drop_no_ops(graph: Graph) -> Graph:
    """Removes no-ops; control edges from a no-op are replaced by control edges from its control inputs."""
    no_ops = [n.id for n in graph.nodes.values() if n.opdef.kind is Kind.NO_OP]
    if not no_ops:
        return graph
    edit = GraphEdit(graph)
    edit.remove(no_ops)
    return edit.freeze()


def _identity(graph: Graph, node: Node) -> Edge | None:
    """Returns x for Identity(x). (The pass ignores it if x is a reference, which the Identity reads.)"""
    return node.inputs[0] if node.opdef is IDENTITY else None


def _same_cast(graph: Graph, node: Node) -> Edge | None:
    """Returns the input of a cast to the type of this input."""
    if node.opdef is CAST and graph.spec(node.inputs[0]).dtype is node.specs[0].dtype:
        return node.inputs[0]
    return None


def _one_summand(graph: Graph, node: Node) -> Edge | None:
    """Returns the input of an AddN of a single tensor."""
    return node.inputs[0] if node.opdef is ADD_N and len(node.inputs) == 1 else None


def _neutral(graph: Graph, node: Node) -> Edge | None:
    """Returns x for x * 1, 1 * x, x / 1 and x - 0. (For floats, x + 0 is not x, because it turns -0 into 0.)"""
    if node.opdef not in (MUL, DIV, REAL_DIV, SUB):
        return None
    neutral = 0 if node.opdef is SUB else 1
    a, b = node.inputs
    if _is_all(graph, b, neutral) and _same_shape(graph, node, a):
        return a
    if node.opdef is MUL and _is_all(graph, a, neutral) and _same_shape(graph, node, b):
        return b
    return None


def _integer_zero(graph: Graph, node: Node) -> Edge | None:
    """Returns x for x + 0 and 0 + x of integers."""
    if node.opdef is not ADD or not node.specs[0].dtype.is_integer:
        return None
    a, b = node.inputs
    if _is_all(graph, b, 0) and _same_shape(graph, node, a):
        return a
    return b if _is_all(graph, a, 0) and _same_shape(graph, node, b) else None


def _double_negation(graph: Graph, node: Node) -> Edge | None:
    """Returns x for -(-x)."""
    operand = graph.nodes[node.inputs[0].id] if node.inputs else None
    if node.opdef is NEG and operand is not None and operand.opdef is NEG and not operand.control:
        return operand.inputs[0]
    return None


def _inverse_transposes(graph: Graph, node: Node) -> Edge | None:
    """Returns x for Transpose(Transpose(x, p), q) where q inverts p, and for a Transpose of x that changes nothing."""
    if node.opdef is not TRANSPOSE:
        return None
    perm = _value(graph, node.inputs[1])
    if perm is None:
        return None
    if np.array_equal(perm, np.arange(perm.size)):
        return node.inputs[0]
    operand = graph.nodes[node.inputs[0].id]
    inner_perm = _value(graph, operand.inputs[1]) if operand.opdef is TRANSPOSE and not operand.control else None
    if inner_perm is not None and np.array_equal(inner_perm[perm], np.arange(perm.size)):
        return operand.inputs[0]
    return None


def _same_reshape(graph: Graph, node: Node) -> Edge | None:
    """Returns the input of a reshape to the shape of this input."""
    if node.opdef is RESHAPE and _same_shape(graph, node, node.inputs[0]):
        return node.inputs[0]
    return None


def _value(graph: Graph, e: Edge) -> np.ndarray | None:
    node = graph.nodes[e.id]
    return node.attrs.value if node.opdef.kind is Kind.CONST else None


def _is_all(graph: Graph, e: Edge, number: int) -> bool:
    value = _value(graph, e)
    if value is None or value.dtype.kind not in "fiu" or value.size == 0 or value.size > 4096:
        return False
    return bool(np.all(value == number)) and not (number == 0 and bool(np.any(np.signbit(value))))


def _same_shape(graph: Graph, node: Node, e: Edge) -> bool:
    shape = graph.spec(e).shape
    return shape.is_fully_defined() and shape == node.specs[0].shape


RULES: tuple[Rule, ...] = (
    _identity,
    _same_cast,
    _one_summand,
    _neutral,
    _integer_zero,
    _double_negation,
    _inverse_transposes,
    _same_reshape,
)

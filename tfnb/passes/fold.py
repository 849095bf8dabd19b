"""Constant folding: pure nodes whose inputs are constants become constants (white paper, section 5.1).

A node whose output depends only on a fully known static shape, such as `tf.shape`, is folded too. Invariant: the folded
value is that of the node's host kernel. A large result of small inputs, as of a fill or a tile, is left to the step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import OpError
from tfnb.ir.bounds import outside
from tfnb.ir.const import foldable
from tfnb.ir.opdef import HostCall, Infer, Kind
from tfnb.ir.scalar.host import host_kernel
from tfnb.ir.step_graph.contexts import contexts
from tfnb.ir.step_graph.edit import GraphEdit
from tfnb.ir.step_graph.graph import Edge, Graph, Node
from tfnb.types import Shape

__all__ = ["fold"]

_SMALL = 16 << 10  # bytes; a result up to this size is always folded
_LIMIT = 16 << 20  # bytes; a larger result is never folded


def fold(graph: Graph) -> Graph:
    """Replaces pure nodes with constant inputs by constants, in topological order."""
    constants: dict[Edge, np.ndarray] = {}
    context = contexts(graph)
    for i in graph.order:
        node = graph.nodes[i]
        if node.control:
            continue  # it has control inputs, so it may be on a branch
        if node.opdef.kind is Kind.CONST:
            constants[Edge(i, 0)] = node.attrs.value
        elif not context[i]:  # a value on a branch is dead when the branch is not taken
            _try(graph, node, constants)
    folded = {e: v for e, v in constants.items() if graph.nodes[e.id].opdef.kind is not Kind.CONST}
    if not folded:
        return graph
    edit = GraphEdit(graph)
    needed = {e for n in graph.nodes.values() for e in n.inputs} | set(graph.fetches)
    table: dict[Edge, Edge] = {}
    for e, value in folded.items():
        if e in needed:
            edit.at(edit.nodes[e.id])
            t = edit.constant(value, graph.spec(e).dtype)
            table[e] = Edge(t.op.id, 0)
    edit.redirect_all(table)
    return edit.freeze()


def _try(graph: Graph, node: Node, known: dict[Edge, np.ndarray]) -> None:
    op = node.opdef
    if not foldable(op) or (op.host is None and op.scalar is None):
        return
    if any(s.ref for s in node.specs) or any(graph.spec(e).ref for e in node.inputs):
        return
    values = []
    for e in node.inputs:
        shape = graph.spec(e).shape
        if e in known:
            values.append(known[e])
        elif op.shape_only and shape.is_fully_defined():
            values.append(np.broadcast_to(np.zeros((), graph.spec(e).dtype.np), shape.known()))
        else:
            return
    limit = min(_LIMIT, max(_SMALL, 2 * sum(v.nbytes for v in values if any(v.strides) or not v.ndim)))
    size = node.specs[0].shape.num_elements()
    if size is not None and size * node.specs[0].dtype.size > limit:
        return
    try:
        if op.bounds is not None and _is_outside(graph, node, values):
            return  # the step raises it, also where the host kernel gives NaN or leaves out an update
        result = host_kernel(op)(HostCall(node.attrs, node.types, node.specs, node), *values)  # type: ignore[misc]
    except OpError:
        return  # the step raises it, if it runs the node
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    for port, value in enumerate(outputs):
        array = np.asarray(value)
        if array.nbytes <= limit:
            known[Edge(node.id, port)] = array


def _is_outside(graph: Graph, node: Node, values: list[np.ndarray]) -> bool:
    """Returns whether an index, label, start or length among the node's inputs is out of its bounds."""
    call: Infer[Any] = Infer(
        node.type,
        tuple(Shape(v.shape) for v in values),
        tuple(graph.spec(e).dtype for e in node.inputs),
        node.attrs,
        node.types,
        lambda i: values[i],
        lambda i: Shape(tuple(values[i].tolist())),
    )
    bounds = node.opdef.bounds(call) if node.opdef.bounds is not None else ()
    return any(outside(values[bound.input], bound) is not None for bound in bounds)

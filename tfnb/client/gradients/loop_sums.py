"""Gradients by tensors that a loop reads from outside: sums over its iterations (white paper, section 4.1).

The gradient of a matrix by which each iteration multiplies is a sum of products, which are accumulated in place. The
gradient of a gather is collected as rows. All other gradients are added in each iteration. Invariant: each way computes
the same sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.client.control_flow.control_context import Detached, context_of
from tfnb.client.control_flow.tensor_array import TensorArray
from tfnb.client.control_flow.while_context import LOOP, WhileContext
from tfnb.ir.builder import redefine
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import FILL, zeros_like
from tfnb.ops.array.shape_ops import IDENTITY, shape_of
from tfnb.ops.control_flow.loop_products import LOOP_PRODUCTS, LOOP_PRODUCTS_ADD, LOOP_PRODUCTS_SUM
from tfnb.ops.linalg.matmul import MAT_MUL
from tfnb.ops.math.binary import ADD
from tfnb.types import Shape, float32, float64

__all__ = ["add_one_by_one", "total"]

Finish = Callable[[], Any]


def total(back: WhileContext, t: Tensor, grad: TensorLike) -> Finish:
    """Adds to the loop `back` the nodes that sum `grad`, and returns a function that returns the sum after the loop.

    It is called inside the loop. `t` is the tensor outside by which the gradient is taken; `grad` is the part of one
    iteration, or None.
    """
    if grad is None:
        return lambda: None
    if isinstance(grad, IndexedSlices) and _rows_known(grad.values) and grad.indices.shape.ndims == 1:
        values, indices = _collected(back, grad.values), _collected(back, grad.indices)
        return lambda: IndexedSlices(values(), indices(), shape_of(t))
    if isinstance(grad, Tensor) and _is_product(back, grad):
        return _product(back, t, grad)
    with Detached(back.graph, back.outer):
        zero = zeros_like(t)
    k, value = _variable(back, zero)
    back.close(k, ADD(value, back.graph.to_tensor(grad)))
    return lambda: back.exits[k]


def _variable(back: WhileContext, begin: Tensor) -> tuple[int, Tensor]:
    """Adds another loop variable while the body is under construction."""
    with Detached(back.graph, back.outer):
        back.add_variable(begin)
    k = len(back.merges) - 1
    return k, back.take(back.merges[k])


def _rows_known(x: Tensor) -> bool:
    """Returns whether the shape is known but for the number of rows; then a result without iterations has a known
    shape.
    """
    dims = x.shape.sizes
    return dims is not None and len(dims) > 0 and None not in dims[1:]


def _is_product(back: WhileContext, grad: Tensor) -> bool:
    """Returns whether the gradient is a sum over rows that each iteration computes, so that their order does not
    matter.
    """
    op = grad.op
    if op.opdef is not MAT_MUL or context_of(op) is not back or grad.dtype not in (float32, float64):
        return False
    return op.attrs.transpose_a and not op.attrs.transpose_b and all(map(_rows_known, op.inputs))


def _product(back: WhileContext, t: Tensor, grad: Tensor) -> Finish:
    """Sums the matrix products, of which `grad` is one."""
    with Detached(back.graph, back.outer):
        handle: Tensor = LOOP_PRODUCTS(graph=back.graph)
        flow = back.graph.constant(np.float32(0))
    k, value = _variable(back, flow)
    left, right = grad.op.inputs
    back.close(k, LOOP_PRODUCTS_ADD(back.enter(handle), value, left, right))
    return lambda: LOOP_PRODUCTS_SUM(handle, back.exits[k], shape_of(t), T=grad.dtype, shape=grad.shape)


def add_one_by_one(op: Operation) -> None:
    """Replaces a LoopProductsSum by a loop variable to which the products are added, through which gradients can
    pass.
    """
    _, flow, shape = op.inputs
    backward = flow.op.extra[LOOP]
    _, _, left, right = backward.results[backward.exits.index(flow)].op.inputs
    with Detached(backward.graph, backward.outer):
        zero: Tensor = FILL(shape, backward.graph.constant(np.zeros((), op.y.dtype.np)))
        zero.set_shape(op.y.shape)
    with Detached(backward.graph, backward):
        k, value = _variable(backward, zero)
        backward.close(k, ADD(value, MAT_MUL(left, right, transpose_a=True)))
    redefine(op, IDENTITY, (backward.exits[k],), IDENTITY.attrs(), {"T": op.y.dtype})


def _collected(back: Any, x: Tensor) -> Callable[[], Tensor]:
    """Saves `x` of every iteration; the result returns them after the loop, joined along the first axis."""
    dims = x.shape.sizes or ()
    with Detached(back.graph, back.outer):
        array = TensorArray(x.dtype, size=back.count, infer_shape=False, element_shape=Shape((None, *dims[1:])))
    k, flow = _variable(back, array.flow)
    back.close(k, array.with_flow(flow).write(back.index, x).flow)
    return lambda: array.with_flow(back.exits[k]).concat()

"""The sum along axes and its counterpart, repetition by broadcasting: each is the gradient of the other.

The gradient of every op that broadcasts is summed to the operand's shape by `unbroadcast`. Invariant: where static
shapes show that an op would change nothing, the op is not added.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.const import constant_value
from tfnb.ir.opdef import HostCall, Infer, LowerSite, OpDef, ReduceSpec
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import distinct_axes, reduced
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import (
    BROADCAST_GRADIENT_ARGS,
    EXPAND_DIMS,
    RESHAPE,
    SHAPE,
    reshape_like,
    shape_of,
)
from tfnb.types import ALL, INDEX, NUMBERS, Shape, int32

__all__ = [
    "BROADCAST_TO",
    "OPS",
    "SUM",
    "ReductionAttrs",
    "all_axes",
    "host_axes",
    "infer_reduction",
    "reduced_count",
    "spec_of",
    "spread",
    "static_axes",
    "sum_to",
    "unbroadcast",
]


@record
class ReductionAttrs:
    """`keep_dims`: reduced axes are kept with size 1."""

    keep_dims: bool = False


def infer_reduction(c: Infer) -> Shape:
    """Returns the static shape of input 0 without the axes listed in input 1."""
    return reduced(c, c.attrs.keep_dims)


def host_axes(x: np.ndarray, axes: np.ndarray) -> tuple[int, ...]:
    """Returns the axes over which the host kernel of a reduction reduces x, as non-negative numbers."""
    return distinct_axes(axes, x.ndim)


def spec_of(
    combine: str,
    site: LowerSite,
    map: Callable[[Expr], Expr] | None = None,
    finish: Callable[[Expr], Expr] | None = None,
) -> ReduceSpec:
    """Returns the `ReduceSpec` of a reduction whose axes are input 1."""
    axes = distinct_axes(site.value(1), len(site.inputs[0].shape))
    return ReduceSpec(combine, axes, site.attrs.keep_dims, map, finish)


def _host_sum(call: HostCall, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    wide_dtype = np.float32 if call.outputs[0].dtype.size == 2 and call.outputs[0].dtype.is_floating else x.dtype
    with np.errstate(all="ignore"):
        total = np.sum(x, axis=host_axes(x, axes), keepdims=call.attrs.keep_dims, dtype=wide_dtype)
        return np.asarray(total).astype(x.dtype)


def static_axes(op: Operation) -> tuple[int, ...] | None:
    """Returns the axes that a reduction node reduces, or None unless they and the input's rank are known statically."""
    axes, rank = constant_value(op.inputs[1]), op.inputs[0].shape.ndims
    return None if axes is None or rank is None else distinct_axes(axes, rank)


def spread(op: Any, value: Tensor) -> Tensor:
    """Reshapes `value`, which has the shape of a reduction's output, so that it broadcasts to the reduction's input."""
    if op.attrs.keep_dims:
        return value
    axes = static_axes(op)
    if axes is None:
        return RESHAPE(value, SHAPE(SUM(op.inputs[0], op.inputs[1], keep_dims=True), out_type="int32"))
    if axes == tuple(range(len(axes))):  # broadcasting adds leading axes by itself
        return value
    dims = [1 if i in axes else d for i, d in enumerate(op.inputs[0].shape.sizes)]
    if len(axes) > 1 and 0 not in dims and dims.count(None) <= 1:
        return RESHAPE(value, np.asarray([-1 if d is None else d for d in dims], np.int32))
    for a in axes:
        value = EXPAND_DIMS(value, np.int32(a))
    return value


def reduced_count(op: Any) -> int | None:
    """Returns the number of input elements per output element of a reduction node.

    The result is None if the number is not known statically.
    """
    axes = static_axes(op)
    if axes is None:
        return None
    dims = [op.inputs[0].shape.sizes[a] for a in axes]
    return None if None in dims else prod(dims)


def all_axes(x: Tensor) -> Any:
    """Returns the numbers of all axes of tensor `x`, as the axes input of a reduction."""
    rank = x.shape.ndims
    if rank is not None:
        return x.graph.to_tensor(np.arange(rank, dtype=np.int32))
    shape = SHAPE(x, out_type="int32")
    return BROADCAST_GRADIENT_ARGS(np.zeros(0, np.int32), shape)[0]  # the axes along which a scalar is repeated


def _grad_sum(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    return BROADCAST_TO(spread(op, dy), shape_of(op.x)), None


SUM: OpDef[Tensor] = OpDef(
    "Sum",
    inputs="input: T, reduction_indices: Tidx",
    outputs="output: T",
    types={"T": NUMBERS, "Tidx": INDEX},
    defaults={"Tidx": int32},
    attrs=ReductionAttrs,
    doc="""The sum of the elements along some axes; the sum of no elements is 0.

    input: any number type. reduction_indices: a scalar or vector of axes (negative: counted from the end). output:
    dtype of input; its shape without those axes, or with size 1 there if `keep_dims`. Errors: an axis is out of
    range or appears twice.""",
    infer=infer_reduction,
    host=_host_sum,
    reduce=lambda site: spec_of("sum", site),
    grad=_grad_sum,
    shape_inputs=(1,),
)


def _broadcast_shape(c: Infer) -> Shape:
    x, target = c.shapes[0], c.as_shape(1)
    if x.sizes is None or target.sizes is None:
        return target
    pairs = zip(x.sizes[::-1], target.sizes[::-1], strict=False)
    if len(x.sizes) > len(target.sizes) or any(a not in (1, None) and b not in (a, None) for a, b in pairs):
        raise ShapeError(f"BroadcastTo: shape {x} cannot be broadcast to {target}")
    return target


def _host_broadcast(call: HostCall, x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    try:
        return np.broadcast_to(x, tuple(shape.tolist()))
    except ValueError:
        raise InvalidArgumentError(
            f"BroadcastTo: shape {x.shape} cannot be broadcast to {shape.tolist()}", call.op
        ) from None


def _lower_broadcast(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    dims = site.inputs[0].shape
    source = idx[len(idx) - len(dims) :]
    return site.load(0, tuple(0 if d == 1 else i for d, i in zip(dims, source, strict=True)))


def _grad_broadcast(op: Operation, dy: Tensor) -> Any:
    x, y = op.x, op.y
    if x.shape.is_fully_defined() and x.shape == y.shape:
        return dy, None
    axes = _repeated(x.shape, y.shape)
    return sum_to(dy, x, BROADCAST_GRADIENT_ARGS(shape_of(x), shape_of(y))[0] if axes is None else axes), None


BROADCAST_TO: OpDef[Tensor] = OpDef(
    "BroadcastTo",
    inputs="input: T, shape: Tidx",
    outputs="output: T",
    types={"T": ALL, "Tidx": INDEX},
    defaults={"Tidx": int32},
    doc="""Repeats a tensor along its axes of size 1, and along new leading axes, to obtain the given shape.

    input: any dtype. shape: an integer vector. output: dtype of input, shape `shape`. Errors: the shapes do not
    broadcast.""",
    infer=_broadcast_shape,
    host=_host_broadcast,
    lower=_lower_broadcast,
    grad=_grad_broadcast,
    shape_inputs=(1,),
    api="broadcast_to",
)


def _repeated(a: Shape, b: Shape) -> tuple[int, ...] | None:
    """The axes of the broadcast shape along which `a` is repeated, or None if the static shapes do not show it."""
    if a.sizes is None or b.sizes is None:
        return None
    n = max(len(a.sizes), len(b.sizes))
    missing = n - len(a.sizes)
    b_dims = (1,) * (n - len(b.sizes)) + b.sizes
    axes = list(range(missing))
    for i in range(missing, n):
        a_dim, b_dim = a.sizes[i - missing], b_dims[i]
        if a_dim == 1 and b_dim != 1:
            axes.append(i)
        elif a_dim is None and b_dim != 1:
            return None
    return tuple(axes)


def sum_to(g: Tensor, x: Tensor, axes: tuple[int, ...] | Tensor) -> Any:
    """`g` summed along `axes` and reshaped to the shape of tensor `x`.

    axes: a tuple, or a tensor when the axes are known only when the graph runs.
    """
    if not isinstance(axes, tuple):
        return reshape_like(SUM(g, axes), x)
    if not axes:
        return g
    rank, target_rank = g.shape.ndims, x.shape.ndims
    indices = np.asarray(axes, np.int32)
    if rank is not None and target_rank is not None:
        if axes == tuple(range(rank - target_rank)):
            return SUM(g, indices)
        if rank == target_rank:
            return SUM(g, indices, keep_dims=True)
    return reshape_like(SUM(g, indices), x)


def unbroadcast(x: Tensor, y: Tensor, gx: Tensor | None, gy: Tensor | None) -> tuple[Any, Any]:
    """Returns the gradients of two operands that were broadcast together, each summed to its operand's shape.

    gx, gy: gradients of the broadcast shape, or None.
    """
    if x.shape.is_fully_defined() and x.shape == y.shape:
        return gx, gy
    ax: Any = _repeated(x.shape, y.shape)
    ay: Any = _repeated(y.shape, x.shape)
    if (ax is None and gx is not None) or (ay is None and gy is not None):
        rx, ry = BROADCAST_GRADIENT_ARGS(shape_of(x), shape_of(y))
        ax, ay = rx if ax is None else ax, ry if ay is None else ay
    return None if gx is None else sum_to(gx, x, ax), None if gy is None else sum_to(gy, y, ay)


OPS: tuple[OpDef, ...] = (SUM, BROADCAST_TO)

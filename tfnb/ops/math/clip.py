"""Clipping of values and gradients to bounds, composed of other ops of the catalogue.

Invariant: clipping by a norm keeps the direction; values that are within the bound are returned unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.default import graph_of
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.opdef import Infer, NoAttrs, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.scalar import Expr
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.constants import ONES_LIKE, ZEROS_LIKE
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.math.binary import MAXIMUM, MINIMUM
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import GREATER, LESS, LOGICAL_OR, SELECT
from tfnb.ops.math.reduce import L2_LOSS
from tfnb.ops.math.reduce_sum import SUM, all_axes, unbroadcast
from tfnb.ops.math.unary import RSQRT, SQRT, SQUARE
from tfnb.types import REALS, DType, DTypeLike, Shape, as_dtype, scalar

__all__ = [
    "API",
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "global_norm",
]


def _alike(clipped: Tensor, values: Tensor, what: str) -> Any:
    """Returns `clipped`. Raises an error if a bound has broadcast it to another shape than that of `values`."""
    if not clipped.shape.is_compatible_with(values.shape):
        raise ShapeError(f"{what}: the bounds would make shape {clipped.shape} of shape {values.shape}")
    return clipped


def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Any:
    """Returns max(clip_value_min, min(t, clip_value_max)) elementwise, with the dtype and shape of t.

    t: a tensor or `IndexedSlices`. The bounds are scalars or have the shape of t; a bound that would broadcast t to
    another shape raises `ShapeError`.
    """
    graph = graph_of((t, clip_value_min, clip_value_max))
    with graph.name_scope(name or "clip_by_value") as scope:
        if isinstance(t, IndexedSlices):
            values = clip_by_value(t.values, clip_value_min, clip_value_max)
            return IndexedSlices(values, t.indices, t.dense_shape)
        values = graph.to_tensor(t)
        return _alike(MAXIMUM(MINIMUM(values, clip_value_max), clip_value_min, name=scope), values, "clip_by_value")


@overload
def clip_by_norm(  # type: ignore[overload-overlap]  # indexed slices can be used as a tensor, and stay what they are
    t: IndexedSlices, clip_norm: TensorLike, axes: TensorLike | None = None, name: str | None = None
) -> IndexedSlices: ...
@overload
def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: TensorLike | None = None, name: str | None = None
) -> Tensor: ...
def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: TensorLike | None = None, name: str | None = None
) -> Tensor | IndexedSlices:
    """Scales t down, where needed, so that its 2-norm along `axes` is at most clip_norm.

    By default the norm is taken over all elements. The result has the dtype and shape of t.
    """
    graph = graph_of((t, clip_norm))
    with graph.name_scope(name or "clip_by_norm"):
        values = t.values if isinstance(t, IndexedSlices) else graph.to_tensor(t)
        reduced_axes = all_axes(values) if axes is None else axes
        squares = SUM(SQUARE(values), reduced_axes, keep_dims=True)
        is_positive = GREATER(squares, ZEROS_LIKE(squares))  # the gradient of the root of 0 is infinite
        norm = SELECT(is_positive, SQRT(SELECT(is_positive, squares, ONES_LIKE(squares))), squares)
        bound = graph.to_tensor(clip_norm, None if is_tensor_like(clip_norm) else values.dtype)
        clipped = values * bound / MAXIMUM(norm, bound)
        _alike(clipped, values, "clip_by_norm")
        return IndexedSlices(clipped, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else IDENTITY(clipped)


def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """Scales t down, if needed, so that its 2-norm divided by its number of elements is at most clip_norm.

    t: a float type, any shape. clip_norm: a scalar. The result has the dtype and shape of t.
    """
    graph = graph_of((t, clip_norm))
    with graph.name_scope(name or "clip_by_average_norm"):
        x = graph.to_tensor(t)
        count = SUM(ONES_LIKE(x), all_axes(x))
        inverse = count * RSQRT(SUM(SQUARE(x), all_axes(x)))
        bound = graph.to_tensor(clip_norm, None if is_tensor_like(clip_norm) else x.dtype)
        return IDENTITY(x * bound * MINIMUM(inverse, ONES_LIKE(bound) / bound))


def _dense(t: Tensor) -> Tensor:
    return t.values if isinstance(t, IndexedSlices) else t


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """Returns the 2-norm over all elements of all tensors: sqrt(sum over t of l2norm(t)^2), a scalar.

    t_list: a list of tensors or indexed slices; entries that are None are skipped. Raises an error for a single tensor
    instead of a list, and for a list without tensors.
    """
    if not isinstance(t_list, (list, tuple)):
        raise DTypeError("global_norm takes a list of tensors")
    tensors = [_dense(t) for t in t_list if t is not None]
    if not tensors:
        raise InvalidArgumentError("global_norm needs at least one tensor")
    graph = graph_of(tensors)
    with graph.name_scope(name or "global_norm"):
        halves = [L2_LOSS(graph.to_tensor(t)) for t in tensors]
        total = halves[0]
        for h in halves[1:]:
            total = total + h
        return SQRT(total * 2.0)


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: TensorLike, use_norm: TensorLike | None = None, name: str | None = None
) -> tuple[list[Any], Any]:
    """Scales all tensors by clip_norm / max(norm, clip_norm), and returns (the list of scaled tensors, the norm).

    norm: `use_norm` if given, otherwise the global norm of the list. Entries that are None stay None. Raises the
    errors of `global_norm`.
    """
    if not isinstance(t_list, (list, tuple)):
        raise DTypeError("clip_by_global_norm takes a list of tensors")
    graph = graph_of([t for t in t_list if t is not None])
    norm = global_norm(t_list, name) if use_norm is None else use_norm
    with graph.name_scope(name or "clip_by_global_norm"):
        norm = graph.to_tensor(norm)
        bound = graph.to_tensor(clip_norm, None if is_tensor_like(clip_norm) else norm.dtype)
        scale = bound * MINIMUM(1.0 / norm, ONES_LIKE(bound) / bound)
        scale = scale + (norm - norm)  # becomes NaN if the norm is not finite, so that the error is visible
        clipped = [_scaled(t, scale) for t in t_list]
    return clipped, norm


def _scaled(t: Tensor, scale: Tensor) -> Any:
    if t is None:
        return None
    if isinstance(t, IndexedSlices):
        return IndexedSlices(t.values * cast_to(scale, t.dtype), t.indices, t.dense_shape)
    value = scale.graph.to_tensor(t)
    return IDENTITY(value * cast_to(scale, value.dtype))


def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Any:
    """Converts a tensor to `dtype`; values outside its range become its smallest or largest number.

    value: a real number type, any shape, which the result has too.
    """
    t, target_dtype = graph_of((value,)).to_tensor(value), as_dtype(dtype)
    low, high = _range_inside(t.dtype, target_dtype)
    with t.graph.name_scope(name or "saturate_cast"):
        return cast_to(MINIMUM(MAXIMUM(t, low), high), target_dtype)


def _range_inside(source: DType, wanted: DType) -> tuple[Any, Any]:
    """The smallest and largest number of `source` that `wanted` can hold."""
    low, high = max(source.min, wanted.min), min(source.max, wanted.max)
    if source.is_floating and wanted.is_integer:
        while int(source.np.type(high)) > wanted.max:
            high = np.nextafter(source.np.type(high), source.np.type(0))
    return source.np.type(low), source.np.type(high)


def _grad_clip(op: Operation, dy: Tensor) -> Any:
    t, low, high = op.inputs
    below, above, none = LESS(t, low), GREATER(t, high), ZEROS_LIKE(dy)
    dx = SELECT(LOGICAL_OR(below, above), none, dy)
    d_low = unbroadcast(t, low, None, SELECT(below, dy, none))[1]
    return dx, d_low, unbroadcast(t, high, None, SELECT(above, dy, none))[1]


def _clip(attrs: NoAttrs, t: Expr, low: Expr, high: Expr) -> Expr:
    """max(low, min(t, high)), as an expression. A bound that is NaN has no effect, as in TensorFlow."""
    lowered = s.where(t > high, high, t)
    return s.where(lowered < low, low, lowered)


def _clip_shape(c: Infer) -> Shape:
    shape = c.shapes[0]
    for limit in c.shapes[1:]:
        if not (limit.is_compatible_with(shape) or limit.is_compatible_with(scalar)):
            raise ShapeError(f"{c.op_name}: a limit must be a scalar or have the shape {shape}, got {limit}")
    return shape


CLIP_BY_VALUE: OpDef[Tensor] = OpDef(
    "ClipByValue",
    inputs="t: T, clip_value_min: T, clip_value_max: T",
    outputs="output: T",
    types={"T": REALS},
    doc="""Elementwise max(clip_value_min, min(t, clip_value_max)).

    t: a number type. clip_value_min, clip_value_max: scalars, or tensors of the shape of t. output: dtype and shape
    of t. Errors: bounds of another shape.""",
    infer=_clip_shape,
    scalar=_clip,
    grad=_grad_clip,
)


OPS: tuple[OpDef, ...] = (CLIP_BY_VALUE,)
API: dict[str, Any] = {
    "clip_by_value": clip_by_value,
    "clip_by_norm": clip_by_norm,
    "clip_by_average_norm": clip_by_average_norm,
    "clip_by_global_norm": clip_by_global_norm,
    "global_norm": global_norm,
    "saturate_cast": saturate_cast,
}

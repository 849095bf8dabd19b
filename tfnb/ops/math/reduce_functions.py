"""The public reduction functions, which accept the argument names of all TensorFlow versions.

An axis is given as `axis` or `reduction_indices`, and kept axes are requested by `keepdims` or `keep_dims`.
Invariant: without an axis, all axes are reduced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import OpDef
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.array.shape_ops import STOP_GRADIENT, reshape_like
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import NOT_EQUAL, SELECT
from tfnb.ops.math.reduce import ALL_OF, ANY_OF, ARG_MAX, ARG_MIN, MAX, MEAN, MIN, PROD
from tfnb.ops.math.reduce_sum import SUM, all_axes
from tfnb.ops.math.unary import EXP, IS_FINITE, LOG
from tfnb.types import DTypeLike, as_dtype, bool_, int64

__all__ = ["API", "OPS", "reduce_max", "reduce_mean", "reduce_sum"]


def _axes(x: Tensor, axis: TensorLike | None, reduction_indices: TensorLike | None) -> Any:
    if axis is not None and reduction_indices is not None:
        raise InvalidArgumentError("give axis or reduction_indices (its older name), not both")
    axes = reduction_indices if axis is None else axis
    if axes is None:
        return all_axes(x)
    if isinstance(axes, (list, tuple)) and not any(hasattr(a, "dtype") for a in axes):
        return np.asarray([a if isinstance(a, (list, tuple)) else int(a) for a in axes], np.int32)
    return axes


def _keep(keepdims: bool | None, keep_dims: bool | None) -> bool:
    return bool(keep_dims if keepdims is None else keepdims)


def _is_empty(value: object) -> bool:
    """Returns whether the value is a list without elements, which has no dtype of its own, or a list of such lists."""
    return isinstance(value, (list, tuple)) and all(map(_is_empty, value))


def _public(op: OpDef, public: str, what: str) -> Callable[..., Any]:
    def reduction(
        input_tensor: Tensor,
        axis: TensorLike | None = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: TensorLike | None = None,
        keep_dims: bool | None = None,
    ) -> Any:
        graph = graph_of((input_tensor, axis, reduction_indices))
        x = graph.to_tensor(input_tensor, bool_ if op in (ALL_OF, ANY_OF) and _is_empty(input_tensor) else None)
        keep = _keep(keepdims, keep_dims)
        result = op(x, _axes(x, axis, reduction_indices), keep_dims=keep, name=name)
        if axis is None and reduction_indices is None and not keep:
            result.set_shape(())  # which an op does not know of a tensor of unknown rank
        return result

    reduction.__name__ = reduction.__qualname__ = public
    reduction.__doc__ = f"""{what} along `axis` (0.x: reduction_indices), or of all elements.

    axis: an integer, a list of integers, or an integer tensor; negative counts from the end. keepdims
    (keep_dims): the reduced dimensions stay with size 1. See the op `{op.name}`. Errors: an axis is out of
    range."""
    return reduction


reduce_sum = _public(SUM, "reduce_sum", "The sum of the elements")
reduce_prod = _public(PROD, "reduce_prod", "The product of the elements")
reduce_mean = _public(MEAN, "reduce_mean", "The mean of the elements")
reduce_max = _public(MAX, "reduce_max", "The largest element")
reduce_min = _public(MIN, "reduce_min", "The smallest element")
reduce_all = _public(ALL_OF, "reduce_all", "Are all elements true,")
reduce_any = _public(ANY_OF, "reduce_any", "Is any element true,")


def reduce_logsumexp(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Any:
    """Returns log(sum(exp(x))) along `axis` of x = `input_tensor`, without overflow or underflow of exp.

    input_tensor: a float type. axis (`reduction_indices`), keepdims (`keep_dims`): those of `reduce_sum`. The result
    has the dtype of the input.
    """
    x = graph_of((input_tensor, axis)).to_tensor(input_tensor)
    axes = _axes(x, axis, reduction_indices)
    with x.graph.name_scope(name or "ReduceLogSumExp"):
        largest = MAX(x, axes, keep_dims=True)
        shift = STOP_GRADIENT(SELECT(IS_FINITE(largest), largest, ZEROS_LIKE(largest)))
        total = LOG(SUM(EXP(x - shift), axes, keep_dims=True)) + shift
        if _keep(keepdims, keep_dims):
            return total
        return reshape_like(total, SUM(x, axes))


def count_nonzero(
    input_tensor: TensorLike | None = None,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = int64,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Returns the number of elements of `input_tensor` (`input`) along `axis` that are not zero, as `dtype`.

    axis (`reduction_indices`), keepdims (`keep_dims`): those of `reduce_sum`. Raises `InvalidArgumentError` unless one
    of the two names of the tensor is given.
    """
    if (input_tensor is None) == (input is None):
        raise InvalidArgumentError("count_nonzero: needed one of input_tensor and input")
    given = input if input_tensor is None else input_tensor
    x = graph_of((given, axis)).to_tensor(given)
    target_dtype = as_dtype(dtype)
    with x.graph.name_scope(name or "count_nonzero"):
        ones = cast_to(NOT_EQUAL(x, ZEROS_LIKE(x)), target_dtype)
        return SUM(ones, _axes(x, axis, reduction_indices), keep_dims=_keep(keepdims, keep_dims))


def _position(op: OpDef, public: str, what: str) -> Callable[..., Any]:
    def position(
        input: Tensor,
        axis: TensorLike | None = None,
        name: str | None = None,
        dimension: TensorLike | None = None,
        output_type: DTypeLike = int64,
    ) -> Any:
        if axis is not None and dimension is not None:
            raise InvalidArgumentError("give axis or dimension (its older name), not both")
        reduced_axis = dimension if axis is None else axis
        return op(input, 0 if reduced_axis is None else reduced_axis, output_type=output_type, name=name)

    position.__name__ = position.__qualname__ = public
    position.__doc__ = f"""The position of the {what} element along `axis` (0.x: dimension; 0 by default), the
    first of equals.

    Result: `output_type` (int64 or int32), the input's shape without that axis. Errors: the axis is out of
    range or empty."""
    return position


argmax = _position(ARG_MAX, "argmax", "largest")
argmin = _position(ARG_MIN, "argmin", "smallest")

OPS: tuple[OpDef, ...] = ()
API: dict[str, Any] = {
    "reduce_sum": reduce_sum,
    "reduce_prod": reduce_prod,
    "reduce_mean": reduce_mean,
    "reduce_max": reduce_max,
    "reduce_min": reduce_min,
    "reduce_all": reduce_all,
    "reduce_any": reduce_any,
    "reduce_logsumexp": reduce_logsumexp,
    "count_nonzero": count_nonzero,
    "argmax": argmax,
    "argmin": argmin,
    "arg_max": argmax,
    "arg_min": argmin,
}

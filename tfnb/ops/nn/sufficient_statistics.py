"""Moments computed in two stages, sums first and moments later, and weighted moments.

Invariant: `normalize_moments` of the `sufficient_statistics` of x are the moments of x.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.ir.default import graph_of
from tfnb.ir.shapes import distinct_axes
from tfnb.ir.tensor import TensorLike
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.array.gather import GATHER
from tfnb.ops.array.shape_ops import shape_of, squeeze
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.reduce_functions import reduce_prod
from tfnb.ops.math.reduce_sum import SUM
from tfnb.ops.math.unary import SIGMOID
from tfnb.ops.nn.losses import scope
from tfnb.types import float32

__all__ = ["API"]


def sufficient_statistics(
    x: TensorLike,
    axes: TensorLike,
    shift: TensorLike | None = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Returns the sums from which the moments of `x` along `axes` can be computed: (count, sum, sum of squares, shift).

    x: a float type. axes: a list of integers. shift: subtracted from x before summing to avoid cancellation, or None.
    `keepdims` (`keep_dims`): keep reduced axes with size 1. Raises `InvalidArgumentError` for an axis out of range.
    """
    keep = bool(keepdims if keep_dims is None else keep_dims)
    with scope(name, "sufficient_statistics", x, shift):
        graph = graph_of((x, shift))
        value = graph.to_tensor(x)
        reduced_axes = np.asarray(axes, np.int32).reshape(-1)
        if value.shape.ndims is not None:
            reduced_axes = np.asarray(distinct_axes(reduced_axes, value.shape.ndims), np.int32)
        reduced = [] if value.shape.sizes is None else [value.shape.sizes[i] for i in reduced_axes]
        dims = [d for d in reduced if d is not None]
        if len(dims) == len(reduced_axes):
            count = graph.constant(np.asarray(np.prod(dims), value.dtype.np))
        else:
            count = cast_to(reduce_prod(GATHER(shape_of(value), reduced_axes)), value.dtype)
        deviation = value if shift is None else value - shift
        sums = SUM(deviation, reduced_axes, keep_dims=keep, name="mean_ss")
        squares = SUM(deviation * deviation, reduced_axes, keep_dims=keep, name="var_ss")
        shift_tensor = None if shift is None else graph.to_tensor(shift, value.dtype)
        return count, sums, squares, shift_tensor


def normalize_moments(
    counts: TensorLike, mean_ss: TensorLike, variance_ss: Any, shift: TensorLike | None = None, name: str | None = None
) -> tuple[Any, Any]:
    """Returns the mean and variance from the outputs of `sufficient_statistics`.

    counts: the number of elements. mean_ss, variance_ss: the sums of the elements and of their squares, less the shift.
    """
    with scope(name, "normalize", counts, mean_ss, variance_ss, shift):
        shifted_mean = graph_of((mean_ss, counts)).to_tensor(mean_ss) / counts
        variance = variance_ss / counts - shifted_mean * shifted_mean
        return shifted_mean if shift is None else shifted_mean + shift, variance


def weighted_moments(
    x: TensorLike,
    axes: TensorLike,
    frequency_weights: TensorLike,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any]:
    """Returns the mean and variance of `x` along `axes`, where each element has the weight `frequency_weights`.

    x: a float type. frequency_weights: broadcasts to x. `keepdims` (`keep_dims`): keep reduced axes with size 1.
    Raises `ShapeError` when the shapes do not broadcast.
    """
    keep = bool(keepdims if keep_dims is None else keep_dims)
    with scope(name, "weighted_moments", x, frequency_weights):
        graph = graph_of((x, frequency_weights))
        value = graph.to_tensor(x)
        wide_value = cast_to(value, float32) if value.dtype.size == 2 else value
        weights = cast_to(graph.to_tensor(frequency_weights), wide_value.dtype) + ZEROS_LIKE(wide_value)
        reduced_axes = np.asarray(axes, np.int32)
        total = SUM(weights, reduced_axes, keep_dims=True)
        mean = SUM(weights * wide_value, reduced_axes, keep_dims=True) / total
        deviation = wide_value - mean
        variance = SUM(weights * deviation * deviation, reduced_axes, keep_dims=True) / total
        if not keep:
            reduced = [int(a) for a in reduced_axes.reshape(-1)]
            mean, variance = (squeeze(t, reduced) if reduced else t for t in (mean, variance))
        return cast_to(mean, value.dtype), cast_to(variance, value.dtype)


def swish(features: TensorLike, name: str | None = None, beta: float = 1.0) -> Any:
    """Returns features * sigmoid(beta * features), elementwise, also known as SiLU.

    features: a float type, any shape; the result has the same. beta: a number, by default 1.
    """
    with scope(name, "swish", features):
        x = graph_of((features,)).to_tensor(features)
        return x * SIGMOID(x if beta == 1.0 else beta * x)


OPS = ()
API: dict[str, Any] = {
    "nn.sufficient_statistics": sufficient_statistics,
    "nn.normalize_moments": normalize_moments,
    "nn.weighted_moments": weighted_moments,
    "nn.swish": swish,
    "nn.silu": swish,
}

"""Elementwise functions, comparisons and reductions of `tf.keras.backend`.

Invariant: each is a composition of the graph's operations; axes and `keepdims` are NumPy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.argument_types import ScalarLike
from tfnb.client.variables.variable import Variable
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.backend.settings import epsilon
from tfnb.v1.keras.graph_api import tf


def abs(x: TensorLike) -> Tensor:
    """Returns the absolute values."""
    return tf.abs(x)


def square(x: TensorLike) -> Tensor:
    """Returns the squares."""
    return tf.square(x)


def sqrt(x: TensorOrVariable) -> Tensor:
    """Returns the square roots; negative elements count as 0."""
    return tf.sqrt(tf.maximum(x, tf.constant(0.0, x.dtype.base_dtype)))


def exp(x: TensorLike) -> Tensor:
    """Returns e to the power of each element."""
    return tf.exp(x)


def log(x: TensorLike) -> Tensor:
    """Returns the natural logarithms."""
    return tf.log(x)


def round(x: TensorLike) -> Tensor:
    """Returns the nearest integers, halves to the even one."""
    return tf.round(x)


def sign(x: TensorLike) -> Tensor:
    """Returns -1, 0 or 1 for each element."""
    return tf.sign(x)


def sin(x: TensorLike) -> Tensor:
    """Returns the sines."""
    return tf.sin(x)


def cos(x: TensorLike) -> Tensor:
    """Returns the cosines."""
    return tf.cos(x)


def pow(x: TensorLike, a: TensorLike) -> Tensor:
    """Returns x to the power of a."""
    return tf.pow(x, a)


def clip(x: TensorLike, min_value: TensorLike | None, max_value: TensorLike | None) -> Tensor:
    """Returns x limited to [min_value, max_value]; None is no limit, and a maximum below the minimum counts as it."""
    numbers = (int, float)
    if isinstance(min_value, numbers) and isinstance(max_value, numbers) and max_value < min_value:
        max_value = min_value
    low = -float("inf") if min_value is None else min_value
    high = float("inf") if max_value is None else max_value
    return tf.clip_by_value(x, low, high)


def maximum(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns the larger of each pair of elements."""
    return tf.maximum(x, y)


def minimum(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns the smaller of each pair of elements."""
    return tf.minimum(x, y)


def equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns whether elements are equal."""
    return tf.equal(x, y)


def not_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns whether elements differ."""
    return tf.not_equal(x, y)


def greater(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns whether x > y, by element."""
    return tf.greater(x, y)


def greater_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns whether x >= y, by element."""
    return tf.greater_equal(x, y)


def less(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns whether x < y, by element."""
    return tf.less(x, y)


def less_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns whether x <= y, by element."""
    return tf.less_equal(x, y)


def _numbers(x: TensorOrVariable) -> TensorOrVariable:
    return tf.cast(x, tf.float32) if x.dtype.base_dtype == tf.bool else x


def sum(x: TensorLike, axis: TensorLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the sums over `axis`, by default of all elements."""
    return tf.reduce_sum(x, axis, keepdims)


def prod(x: TensorLike, axis: TensorLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the products over `axis`."""
    return tf.reduce_prod(x, axis, keepdims)


def max(x: TensorLike, axis: TensorLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the maxima over `axis`."""
    return tf.reduce_max(x, axis, keepdims)


def min(x: TensorLike, axis: TensorLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the minima over `axis`."""
    return tf.reduce_min(x, axis, keepdims)


def mean(x: TensorOrVariable, axis: TensorLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the means over `axis`; booleans count as 0 and 1."""
    return tf.reduce_mean(_numbers(x), axis, keepdims)


def var(x: TensorOrVariable, axis: TensorLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the variances over `axis`."""
    x = _numbers(x)
    return tf.reduce_mean(tf.square(x - tf.reduce_mean(x, axis, True)), axis, keepdims)


def std(x: TensorOrVariable, axis: TensorLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns the standard deviations over `axis`."""
    return tf.sqrt(var(x, axis, keepdims))


def any(x: TensorLike, axis: TensorLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns whether any element over `axis` is true."""
    return tf.reduce_any(tf.cast(x, tf.bool), axis, keepdims)


def all(x: TensorLike, axis: TensorLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns whether all elements over `axis` are true."""
    return tf.reduce_all(tf.cast(x, tf.bool), axis, keepdims)


def argmax(x: TensorLike, axis: int = -1) -> Tensor:
    """Returns the indices of the maxima along `axis`, int64."""
    return tf.argmax(x, axis)


def argmin(x: TensorLike, axis: int = -1) -> Tensor:
    """Returns the indices of the minima along `axis`, int64."""
    return tf.argmin(x, axis)


def cumsum(x: TensorLike, axis: int = 0) -> Tensor:
    """Returns the sums of the elements so far along `axis`."""
    return tf.cumsum(x, axis=axis)


def cumprod(x: TensorLike, axis: int = 0) -> Tensor:
    """Returns the products of the elements so far along `axis`."""
    return tf.cumprod(x, axis=axis)


def l2_normalize(x: TensorLike, axis: TensorLike | None = None) -> Tensor:
    """Returns x divided by its Euclidean length along `axis`."""
    return tf.nn.l2_normalize(x, axis)


def logsumexp(x: TensorLike, axis: TensorLike | None = None, keepdims: bool = False) -> Tensor:
    """Returns log(sum(exp(x))) over `axis`."""
    return tf.reduce_logsumexp(x, axis, keepdims)


def moving_average_update(x: Variable, value: TensorLike, momentum: ScalarLike) -> Tensor:
    """Returns the operation that sets the variable x to momentum * x + (1 - momentum) * value."""
    return tf.assign_sub(x, (x - tf.cast(value, x.dtype.base_dtype)) * (1.0 - momentum))


def stop_gradient(variables: TensorLike) -> Tensor | list[Tensor]:
    """Returns the tensor, or the list of tensors, as constants for gradients."""
    if isinstance(variables, (list, tuple)):
        return [tf.stop_gradient(v) for v in variables]
    return tf.stop_gradient(variables)


def gradients(loss: TensorOrVariable, variables: TensorOrVariable | Sequence[TensorOrVariable]) -> list[Any]:
    """Returns the gradients of `loss` with respect to `variables`."""
    return tf.gradients(loss, variables)


def normalized(x: TensorOrVariable, axis: int) -> Tensor:
    """Returns x divided by its sums over `axis`, as probabilities, clipped away from 0 and 1."""
    low = tf.constant(epsilon(), x.dtype.base_dtype)
    return tf.clip_by_value(x / tf.reduce_sum(x, axis, True), low, 1.0 - low)

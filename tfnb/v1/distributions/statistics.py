"""Statistics of samples and moving averages of them (`tf.contrib.distributions`), and conjugate normal posteriors.

Invariant: sums of exponentials are computed relative to the largest exponent, so that none overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.client.graph.default_graph import control_dependencies, name_scope
from tfnb.client.variables.initializers import Zeros
from tfnb.client.variables.scope import get_variable, variable_scope
from tfnb.client.variables.variable import Variable
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat, stack
from tfnb.ops.array.constants import constant, convert_to_tensor, ones_like, zeros_like
from tfnb.ops.array.constants import range_ as range_op
from tfnb.ops.array.gather import gather
from tfnb.ops.array.shape_ops import EXPAND_DIMS, IDENTITY, RESHAPE, STOP_GRADIENT
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.sort_roll_reverse import sort
from tfnb.ops.array.tile_reverse_mirror import pad
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.array.where_partition import where
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.cast import cast
from tfnb.ops.math.clip import clip_by_value
from tfnb.ops.math.compare import LOGICAL_AND
from tfnb.ops.math.fft import API as FFT
from tfnb.ops.math.reduce_functions import reduce_all, reduce_logsumexp, reduce_max, reduce_mean, reduce_sum
from tfnb.ops.math.unary import CEIL, EXP, FLOOR, IS_FINITE, LOG, LOG1P, RINT, SIGN, SQRT, SQUARE, absolute
from tfnb.ops.state.variables import assign, assign_add, assign_sub
from tfnb.types import complex64, float64, int32
from tfnb.v1.distributions.continuous import Normal

__all__ = [
    "assign_log_moving_mean_exp",
    "assign_moving_mean_variance",
    "auto_correlation",
    "moving_mean_variance",
    "normal_conjugates_known_scale_posterior",
    "normal_conjugates_known_scale_predictive",
    "percentile",
    "reduce_weighted_logsumexp",
]


def percentile(
    x: TensorLike,
    q: TensorLike,
    axis: int | Sequence[int] | None = None,
    interpolation: str | None = None,
    keep_dims: bool = False,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the `q`-th percentile (0 to 100, a scalar) of `x` over `axis`, by default over all.

    interpolation: "nearest" (the default), "lower" or "higher", the element that is taken between two. keep_dims:
    whether dimensions of size 1 stay. validate_args: whether a step fails for a `q` outside of [0, 100]. Raises
    `InvalidArgumentError` for another interpolation.
    """
    kind = interpolation or "nearest"
    if kind not in ("nearest", "lower", "higher"):
        raise InvalidArgumentError(
            f"Argument 'interpolation' must be in ['lower', 'higher', 'nearest']. Found {interpolation}"
        )
    with name_scope(name or "percentile"):
        value = convert_to_tensor(x)
        fraction = cast(convert_to_tensor(q), float64) / 100.0
        if validate_args:
            inside = reduce_all(LOGICAL_AND(fraction >= 0.0, fraction <= 1.0))
            with control_dependencies([assert_that(inside, ["percentile: q must be between 0 and 100"])]):
                fraction = IDENTITY(fraction)
        ndims = value.shape.ndims
        if ndims is None:
            raise ShapeError("percentile: the rank of x must be known")
        axes = (
            list(range(ndims))
            if axis is None
            else sorted({a % ndims for a in ([axis] if isinstance(axis, int) else axis)})
        )
        kept = [i for i in range(ndims) if i not in axes]
        size = shape_op(value)
        moved = transpose(value, [*kept, *axes])
        flat = RESHAPE(moved, concat([gather(size, constant(np.array(kept, np.int32))), [-1]], 0))
        ordered = sort(flat)
        n = shape_op(flat)[-1]
        place = fraction * cast(n - 1, float64)
        i = {"nearest": RINT, "lower": FLOOR, "higher": CEIL}[kind](place)
        result = gather(ordered, clip_by_value(cast(i, int32), 0, n - 1), axis=-1)
        for a in axes if keep_dims else ():
            result = EXPAND_DIMS(result, a)
        return result


def auto_correlation(
    x: TensorLike,
    axis: int = -1,
    max_lags: int | None = None,
    center: bool = True,
    normalize: bool = True,
    name: str = "auto_correlation",
) -> Tensor:
    """Returns the autocorrelation of `x` along `axis`, for the lags 0 to `max_lags`, by default all.

    center: whether the mean is subtracted. normalize: whether the result is divided by that of lag 0.
    """
    with name_scope(name):
        value = convert_to_tensor(x)
        ndims = value.shape.ndims or 1
        a = axis % ndims
        order = [i for i in range(ndims) if i != a] + [a]
        moved = transpose(value, order)
        n = shape_op(moved)[-1]
        if center:
            moved = moved - reduce_mean(moved, -1, keepdims=True)
        lags = n - 1 if max_lags is None else constant(max_lags, int32)
        wide = pad(moved, stack([*[constant([0, 0], int32)] * (ndims - 1), stack([constant(0, int32), n])]))
        size = shape_op(wide)[-1]
        power = SQUARE(absolute(FFT["rfft"](wide, EXPAND_DIMS(size, 0))))
        sums = FFT["irfft"](cast(power, complex64), EXPAND_DIMS(size, 0))[..., : lags + 1]
        counts = cast(n - range_op(lags + 1), value.dtype)
        result = cast(sums, value.dtype) / counts
        if normalize:
            result = result / result[..., :1]
        back = [order.index(i) for i in range(ndims)]
        return transpose(result, back)


def reduce_weighted_logsumexp(
    logx: TensorLike,
    w: TensorLike | None = None,
    axis: int | Sequence[int] | None = None,
    keep_dims: bool = False,
    return_sign: bool = False,
    name: str | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Returns log |sum of w exp(logx)| over `axis`, by default over all; with `return_sign` also the sign of the sum.

    w: weights of any sign, by default 1. keep_dims: whether dimensions of size 1 stay.
    """
    with name_scope(name or "reduce_weighted_logsumexp"):
        exponents = convert_to_tensor(logx)
        if w is None:
            total = reduce_logsumexp(exponents, axis, keepdims=keep_dims)
            return (total, ones_like(total)) if return_sign else total
        weights = convert_to_tensor(w, exponents.dtype) if not isinstance(w, Tensor) else w
        largest = reduce_max(exponents + LOG(absolute(weights)), axis, keepdims=True)
        largest = STOP_GRADIENT(where(IS_FINITE(largest), largest, zeros_like(largest)))
        scaled = reduce_sum(weights * EXP(exponents - largest), axis, keepdims=keep_dims)
        at = largest if keep_dims else RESHAPE(largest, shape_op(scaled))
        total = at + LOG(absolute(scaled))
        return (total, SIGN(scaled)) if return_sign else total


def assign_moving_mean_variance(
    mean_var: Variable, variance_var: Variable, value: TensorLike, decay: TensorLike, name: str | None = None
) -> tuple[Any, Any]:
    """Updates exponentially weighted averages of `value` and its variance; returns the new (mean, variance).

    mean_var, variance_var: variables of the shape of `value`. decay: how much of the old values stays, such as 0.99.
    """
    with name_scope(name or "assign_moving_mean_variance"):
        d = convert_to_tensor(decay, mean_var.dtype.base_dtype) if not isinstance(decay, Tensor) else decay
        delta = value - IDENTITY(mean_var)
        with control_dependencies([delta]):
            new_mean = assign_add(mean_var, (1.0 - d) * delta)
            variance = IDENTITY(variance_var)
            new_variance = assign_sub(variance_var, (1.0 - d) * (variance - d * SQUARE(delta)))
        return new_mean, new_variance


def moving_mean_variance(
    value: TensorLike, decay: TensorLike, collections: Sequence[str] | None = None, name: str | None = None
) -> tuple[Any, Any]:
    """Returns (mean, variance), exponentially weighted averages of `value` over steps, in new variables.

    decay: how much of the old values stays. collections: of the variables.
    """
    with variable_scope(name, "moving_mean_variance", [value]):
        tensor = convert_to_tensor(value)
        base = tensor.dtype.base_dtype
        made = [
            get_variable(
                n, tensor.shape, base, Zeros(), trainable=False, collections=list(collections) if collections else None
            )
            for n in ("moving_mean", "moving_variance")
        ]
        return assign_moving_mean_variance(made[0], made[1], tensor, decay)


def assign_log_moving_mean_exp(
    log_mean_exp_var: Variable, log_value: TensorLike, decay: TensorLike, name: str | None = None
) -> Tensor:
    """Updates the logarithm of an exponentially weighted average of exp(log_value); returns the new one.

    log_mean_exp_var: the variable. decay: how much of the old value stays.
    """
    with name_scope(name or "assign_log_moving_mean_exp"):
        new = convert_to_tensor(log_value)
        d = convert_to_tensor(decay, new.dtype) if not isinstance(decay, Tensor) else decay
        parts = stack([IDENTITY(log_mean_exp_var) + LOG(d), new + LOG1P(-d)])
        return assign(log_mean_exp_var, reduce_logsumexp(parts, 0))


def _posterior(prior: object, scale: TensorLike, s: TensorLike, n: TensorLike) -> tuple[Any, Any, Any]:
    """(mean, variance of the mean, variance of an observation)."""
    if not isinstance(prior, Normal):
        raise DTypeError(f"Expected prior to be an instance of type Normal, got {prior!r}")
    dtype = prior.dtype
    sigma2 = SQUARE(convert_to_tensor(scale, None if isinstance(scale, Tensor) else dtype))
    prior2 = SQUARE(prior.scale)
    variance = 1.0 / (1.0 / prior2 + cast(n, dtype) / sigma2)
    return (
        (prior.loc / prior2 + convert_to_tensor(s, None if isinstance(s, Tensor) else dtype) / sigma2) * variance,
        variance,
        sigma2,
    )


def normal_conjugates_known_scale_posterior(prior: object, scale: TensorLike, s: TensorLike, n: TensorLike) -> Normal:
    """Returns the posterior of the mean of normal numbers of standard deviation `scale`, whose prior is a Normal.

    s: the sum of the `n` numbers. Raises `DTypeError` for another prior.
    """
    mean, variance, _ = _posterior(prior, scale, s, n)
    return Normal(mean, SQRT(variance))


def normal_conjugates_known_scale_predictive(prior: object, scale: TensorLike, s: TensorLike, n: TensorLike) -> Normal:
    """Returns the distribution of the next number; for the arguments see `normal_conjugates_known_scale_posterior`."""
    mean, variance, sigma2 = _posterior(prior, scale, s, n)
    return Normal(mean, SQRT(variance + sigma2))

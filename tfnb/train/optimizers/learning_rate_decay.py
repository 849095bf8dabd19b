"""Learning-rate schedules: functions of the global step, as tensors.

Invariant: a schedule is a scalar with the dtype of the learning rate, to which the step is cast.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.math.binary import MAXIMUM, MINIMUM, POW
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import LESS_EQUAL, SELECT
from tfnb.ops.math.unary import CEIL, COS, EXP, FLOOR, LOG, SQRT
from tfnb.ops.random.functions import random_normal

__all__ = ["API", "exponential_decay", "piecewise_constant"]


def _start(name: str, learning_rate: TensorLike, step: TensorLike | None, *others: TensorLike) -> tuple[Any, ...]:
    """Returns the learning rate, the step and further numbers as tensors with the dtype of the learning rate.

    Raises `InvalidArgumentError` when the step is None.
    """
    if step is None:
        raise InvalidArgumentError(f"{name} needs a global_step")
    graph = getattr(step, "graph", None) or get_default_graph()
    rate = graph.to_tensor(learning_rate)
    steps = cast(graph.to_tensor(step), rate.dtype)
    rest = [o if isinstance(o, Tensor) else graph.to_tensor(o) for o in others]
    return rate, steps, *(cast(o, rate.dtype) for o in rest)


def _floor(x: Tensor) -> Tensor:
    return FLOOR(x)


def _scope(name: str | None, default: str) -> Any:
    return get_default_graph().name_scope(name or default)


def exponential_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the rate learning_rate * decay_rate ^ (global_step / decay_steps).

    The arguments are scalars, `staircase` rounds the quotient down. Returns a scalar of the dtype of `learning_rate`.
    Raises `InvalidArgumentError` when `global_step` is None.
    """
    with _scope(name, "ExponentialDecay"):
        rate, step, per, decay = _start("exponential_decay", learning_rate, global_step, decay_steps, decay_rate)
        p = step / per
        return rate * POW(decay, _floor(p) if staircase else p)


def natural_exp_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the rate learning_rate * exp(-decay_rate * global_step / decay_steps).

    The arguments are scalars, `staircase` rounds the quotient down. Returns a scalar of the dtype of `learning_rate`.
    Raises `InvalidArgumentError` when `global_step` is None.
    """
    with _scope(name, "NaturalExpDecay"):
        rate, step, per, decay = _start("natural_exp_decay", learning_rate, global_step, decay_steps, decay_rate)
        p = step / per
        return rate * EXP(-decay * (_floor(p) if staircase else p))


def inverse_time_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the rate learning_rate / (1 + decay_rate * global_step / decay_steps).

    The arguments are scalars, `staircase` rounds the quotient down. Returns a scalar of the dtype of `learning_rate`.
    Raises `InvalidArgumentError` when `global_step` is None.
    """
    with _scope(name, "InverseTimeDecay"):
        rate, step, per, decay = _start("inverse_time_decay", learning_rate, global_step, decay_steps, decay_rate)
        p = step / per
        return rate / (1 + decay * (_floor(p) if staircase else p))


def polynomial_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    end_learning_rate: TensorLike = 0.0001,
    power: TensorLike = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the rate (learning_rate - end) * (1 - step / decay_steps) ^ power + end.

    Here step is the smaller one of `global_step` and `decay_steps`, and end is `end_learning_rate`. With `cycle` the
    number of decay steps is instead raised to the next multiple of `decay_steps` from the global step on. Returns a
    scalar of the dtype of `learning_rate`. Raises `InvalidArgumentError` when `global_step` is None.
    """
    with _scope(name, "PolynomialDecay"):
        rate, step, per, end, power = _start(
            "polynomial_decay", learning_rate, global_step, decay_steps, end_learning_rate, power
        )
        if cycle:
            per = per * MAXIMUM(CEIL(step / per), 1.0)
        else:
            step = MINIMUM(step, per)
        return (rate - end) * POW(1 - step / per, power) + end


def cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    alpha: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Returns the rate learning_rate * ((1 - alpha) * (1 + cos(pi * step / decay_steps)) / 2 + alpha).

    Here step is the smaller one of `global_step` and `decay_steps`. Returns a scalar of the dtype of `learning_rate`.
    Raises `InvalidArgumentError` when `global_step` is None.
    """
    with _scope(name, "CosineDecay"):
        rate, step, per = _start("cosine_decay", learning_rate, global_step, decay_steps)
        share = MINIMUM(step, per) / per
        return rate * ((1 - alpha) * 0.5 * (1.0 + COS(share * math.pi)) + alpha)


def cosine_decay_restarts(
    learning_rate: TensorLike,
    global_step: TensorLike,
    first_decay_steps: TensorLike,
    t_mul: float = 2.0,
    m_mul: float = 1.0,
    alpha: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Returns a rate that decays from `learning_rate` along one cosine after the other.

    The first one has `first_decay_steps` steps. Each has `t_mul` times as many steps as the one before, and starts at
    `m_mul` times its rate. `global_step` is an integer scalar; `alpha` is the final fraction of the rate. Returns a
    scalar of the dtype of `learning_rate`. Raises `InvalidArgumentError` when `global_step` is None.
    """
    with _scope(name, "SGDRDecay"):
        rate, step, first = _start("cosine_decay_restarts", learning_rate, global_step, first_decay_steps)
        share = step / first
        if t_mul == 1.0:
            restarts = FLOOR(share)
            share = share - restarts
        else:
            restarts = FLOOR(LOG(1.0 - share * (1.0 - t_mul)) / math.log(t_mul))
            length = POW(rate.graph.to_tensor(t_mul, rate.dtype), restarts)
            share = (share - (1.0 - length) / (1.0 - t_mul)) / length
        height = POW(rate.graph.to_tensor(m_mul, rate.dtype), restarts)
        return rate * ((1 - alpha) * 0.5 * height * (1.0 + COS(share * math.pi)) + alpha)


def linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    num_periods: float = 0.5,
    alpha: float = 0.0,
    beta: float = 0.001,
    name: str | None = None,
) -> Tensor:
    """Returns the rate learning_rate * ((alpha + 1 - p) * (1 + cos(2 pi num_periods p)) / 2 + beta).

    Here p is global_step / decay_steps, at most 1. Returns a scalar of the dtype of `learning_rate`. Raises
    `InvalidArgumentError` when `global_step` is None.
    """
    with _scope(name, "LinearCosineDecay"):
        rate, step, per = _start("linear_cosine_decay", learning_rate, global_step, decay_steps)
        share = MINIMUM(step, per) / per
        return rate * ((alpha + 1.0 - share) * 0.5 * (1.0 + COS(2.0 * math.pi * num_periods * share)) + beta)


def noisy_linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    initial_variance: float = 1.0,
    variance_decay: float = 0.55,
    num_periods: float = 0.5,
    alpha: float = 0.0,
    beta: float = 0.001,
    name: str | None = None,
) -> Tensor:
    """Returns the rate of `linear_cosine_decay`, with normal noise added to its linear part.

    The variance of the noise at `global_step` is initial_variance / (1 + global_step) ^ variance_decay. Returns a
    scalar of the dtype of `learning_rate`. Raises `InvalidArgumentError` when `global_step` is None.
    """
    with _scope(name, "NoisyLinearCosineDecay"):
        rate, step, per = _start("noisy_linear_cosine_decay", learning_rate, global_step, decay_steps)
        step = MINIMUM(step, per)
        share = step / per
        deviation = SQRT(initial_variance / POW(1.0 + step, rate.graph.to_tensor(variance_decay, rate.dtype)))
        line = 1.0 - share + random_normal((), dtype=rate.dtype) * deviation
        return rate * ((alpha + line) * 0.5 * (1.0 + COS(2.0 * math.pi * num_periods * share)) + beta)


def piecewise_constant(
    x: TensorLike, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Tensor:
    """Returns values[0] while x <= boundaries[0], values[1] while x <= boundaries[1], ..., and the last value after
    that.

    x: a scalar, such as the global step. Raises `InvalidArgumentError` unless there is one value more than boundaries,
    and `DTypeError` for boundaries that are no integers with an x that is one.
    """
    if len(boundaries) != len(values) - 1:
        raise InvalidArgumentError(f"piecewise_constant: {len(values)} values for {len(boundaries)} boundaries")
    graph = getattr(x, "graph", None) or get_default_graph()
    with graph.as_default(), _scope(name, "PiecewiseConstant"):
        step = graph.to_tensor(x)
        tensors = [v if isinstance(v, Tensor) else graph.to_tensor(v) for v in values]
        rate = tensors[-1]
        for boundary, value in zip(reversed(list(boundaries)), reversed(tensors[:-1]), strict=True):
            limit: Any = graph.to_tensor(boundary)
            if step.dtype.is_integer and not limit.dtype.is_integer:
                raise DTypeError(f"Boundaries ({limit.dtype.name}) must have the same dtype as x ({step.dtype.name}).")
            is_before = LESS_EQUAL(step, cast(limit, step.dtype))
            rate = SELECT(is_before, value, rate)
        return rate


API = {
    "train.exponential_decay": exponential_decay,
    "train.natural_exp_decay": natural_exp_decay,
    "train.inverse_time_decay": inverse_time_decay,
    "train.polynomial_decay": polynomial_decay,
    "train.cosine_decay": cosine_decay,
    "train.cosine_decay_restarts": cosine_decay_restarts,
    "train.linear_cosine_decay": linear_cosine_decay,
    "train.noisy_linear_cosine_decay": noisy_linear_cosine_decay,
    "train.piecewise_constant": piecewise_constant,
    "train.piecewise_constant_decay": piecewise_constant,
}

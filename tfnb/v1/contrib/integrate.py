"""`tf.contrib.integrate`: ordinary differential equations, by Runge-Kutta methods of fixed and of chosen steps.

Invariant: `func(y, t)` is called when the graph is built, for the stages of one step, which a loop repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfnb.client.control_flow.cond import cond
from tfnb.client.control_flow.map_fold_scan import scan
from tfnb.client.control_flow.while_loop import while_loop
from tfnb.client.graph.default_graph import control_dependencies, name_scope
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import constant, convert_to_tensor, ones_like
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.array.where_partition import where
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.binary import MAXIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.clip import clip_by_value
from tfnb.ops.math.compare import LOGICAL_AND
from tfnb.ops.math.reduce_functions import reduce_mean
from tfnb.ops.math.unary import CEIL, SQRT, SQUARE, absolute
from tfnb.types import int32

__all__ = ["odeint", "odeint_fixed"]

# Dormand and Prince's method of orders 5 and 4: times, stages, and weights of the solution and of its error.
_TIMES = (0.2, 0.3, 0.8, 8 / 9, 1.0, 1.0)
_STAGES = (
    (0.2,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


def _sum(weights: Sequence[float], values: Sequence[Any]) -> Tensor:
    terms = [w * v for w, v in zip(weights, values, strict=True) if w]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _stages(func: Callable[[Any, Any], Any], y: Tensor, t: Tensor, h: Tensor) -> tuple[Any, Any]:
    """(the solution after a step of `h`, the estimate of its error)."""
    slopes = [func(y, t)]
    following = y
    for fraction, weights in zip(_TIMES, _STAGES, strict=True):
        following = y + h * _sum(weights, slopes)
        slopes.append(func(following, t + fraction * h))
    return following, h * _sum(_ERROR, slopes)


def odeint(
    func: Callable[[Any, Any], Any],
    y0: TensorLike,
    t: TensorLike,
    rtol: float = 1e-6,
    atol: float = 1e-12,
    method: str | None = None,
    options: Mapping[str, Any] | None = None,
    full_output: bool = False,
    name: str | None = None,
) -> Tensor | tuple[Tensor, dict[str, Tensor]]:
    """Returns the solution of dy/dt = func(y, t) at the rising times `t` [n], of which the first has y0: [n, *shape].

    rtol, atol: the errors of a step that are allowed. method: "dopri5". options: first_step (1.0), safety (0.9),
    ifactor (10.0) and dfactor (0.2), the limits of growth and of shrinking of a step, max_num_steps (1000) between two
    times. full_output: whether a dict with "num_func_evals" is returned, too. A step fails after too many steps. Raises
    `InvalidArgumentError` for another method or option.
    """
    given = {
        "first_step": 1.0,
        "safety": 0.9,
        "ifactor": 10.0,
        "dfactor": 0.2,
        "max_num_steps": 1000,
        **dict(options or {}),
    }
    if method not in (None, "dopri5") or len(given) != 5:
        raise InvalidArgumentError(
            f"odeint: method {method!r} and options {sorted(options or {})}; needed 'dopri5' and known options"
        )
    with name_scope(name or "odeint"):
        y, times = convert_to_tensor(y0), convert_to_tensor(t)
        kind = times.dtype
        real = y.dtype

        def advance(state: tuple[Any, ...], goal: Tensor) -> tuple[Any, ...]:
            return _until(func, state, goal, rtol, atol, given)

        start = (y, times[0], constant(given["first_step"], kind), constant(0, int32))
        solution = scan(advance, times[1:], initializer=start)
        values = concat([y[None], solution[0]], 0)
        values.set_shape(times.shape[:1].concatenate(y.shape))
        if values.dtype is not real:
            raise DTypeError(f"odeint: func makes {values.dtype.name} of {real.name}")
        return (values, {"num_func_evals": solution[3][-1]}) if full_output else values


def _until(
    func: Callable[[Any, Any], Any],
    state: tuple[Any, ...],
    goal: Tensor,
    rtol: float,
    atol: float,
    given: Mapping[str, Any],
) -> tuple[Any, ...]:
    """Goes on from `state`, (y, t, step, calls), to the time `goal`; the last step ends there."""
    limit = int(given["max_num_steps"])

    def step(n: Tensor, y: Tensor, t: Tensor, h: Tensor, calls: Tensor) -> tuple[Any, ...]:
        last = t + h >= goal
        used = where(last, goal - t, h)
        following, error = _stages(func, y, t, cast(used, y.dtype))
        allowed = atol + rtol * MAXIMUM(absolute(y), absolute(following))
        ratio = SQRT(reduce_mean(SQUARE(absolute(error) / allowed)))
        accepted = ratio <= 1.0
        factor = given["safety"] * MAXIMUM(cast(ratio, h.dtype), 1e-10) ** -0.2
        factor = clip_by_value(
            factor, where(accepted, ones_like(h), ones_like(h) * given["dfactor"]), ones_like(h) * given["ifactor"]
        )
        new_t = where(accepted, where(last, goal, t + used), t)
        # A step that was cut at the goal does not shorten the next ones.
        new_h = where(LOGICAL_AND(accepted, last), MAXIMUM(h, used * factor), used * factor)
        kept = cond(accepted, lambda: following, lambda: IDENTITY(y))
        with control_dependencies([assert_that(n < limit, ["odeint: max_num_steps exceeded"])]):
            return n + 1, kept, IDENTITY(new_t), new_h, calls + 7

    y, t, h, calls = state
    loop = while_loop(lambda n, y, t, h, calls: t < goal, step, [constant(0, int32), y, t, h, calls])
    loop[1].set_shape(y.shape)
    return tuple(loop[1:])


def odeint_fixed(
    func: Callable[[Any, Any], Any],
    y0: TensorLike,
    t: TensorLike,
    dt: TensorLike | None = None,
    method: str = "rk4",
    name: str | None = None,
) -> Tensor:
    """Returns the solution of dy/dt = func(y, t) at the rising times `t` [n], of which the first has y0: [n, *shape].

    dt: the longest step between two times, by default one step for each interval. method: "rk4" or "midpoint". Raises
    `InvalidArgumentError` for another method.
    """
    if method not in ("rk4", "midpoint"):
        raise InvalidArgumentError(f"method not supported: {method}")

    def step(y: Tensor, at: Tensor, h: Tensor) -> Tensor:
        step_of_y, half = cast(h, y.dtype), cast(h / 2.0, y.dtype)
        first = func(y, at)
        second = func(y + half * first, at + h / 2.0)
        if method == "midpoint":
            return y + step_of_y * second
        third = func(y + half * second, at + h / 2.0)
        fourth = func(y + step_of_y * third, at + h)
        return y + step_of_y / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)

    with name_scope(name or "odeint_fixed"):
        y, times = convert_to_tensor(y0), convert_to_tensor(t)

        def interval(state: tuple[Any, Any], goal: Tensor) -> tuple[Any, Any]:
            value, at = state
            if dt is None:
                return step(value, at, goal - at), goal
            # The steps of an interval are equally long, and at most dt.
            count = cast(CEIL((goal - at) / cast(dt, times.dtype)), int32)
            h = (goal - at) / cast(count, times.dtype)
            final = while_loop(
                lambda i, v: i < count,
                lambda i, v: (i + 1, step(v, at + h * cast(i, times.dtype), h)),
                [constant(0, int32), value],
            )
            final[1].set_shape(y.shape)
            return final[1], goal

        solution = scan(interval, times[1:], initializer=(y, times[0]))
        values = concat([y[None], solution[0]], 0)
        values.set_shape(times.shape[:1].concatenate(y.shape))
        return values

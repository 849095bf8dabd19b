"""Optimizers by the signs of gradients and their running means (Bello et al. 2017), and LARS (You et al. 2017).

Invariant: the running mean of a variable is its slot, under the name of the optimizer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tfnb.client.variables.variable import Variable, group
from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops import CATALOG
from tfnb.ops.array.constants import convert_to_tensor, ones_like, zeros_like
from tfnb.ops.array.gather import gather
from tfnb.ops.math.binary import FLOOR_MOD, MAXIMUM, MINIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import GREATER, GREATER_EQUAL, LOGICAL_AND, SELECT
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.math.unary import COS, EXP, SIGN, SQRT, SQUARE
from tfnb.ops.state.scatter import SCATTER_SUB
from tfnb.ops.training.updates import APPLY_MOMENTUM
from tfnb.train.optimizers.base import Hyper, Optimizer
from tfnb.train.optimizers.update_rules import AdagradOptimizer
from tfnb.types import float32

__all__ = ["AddSignOptimizer", "LARSOptimizer", "PowerSignOptimizer", "RegAdagradOptimizer"]


def _ref(variable: Any) -> Tensor:
    return variable.__tensor__(as_ref=True)


class _SignOptimizer(Optimizer):
    """grad * factor(sign(grad) * sign(mean)), where a subclass has the factor."""

    def __init__(
        self,
        learning_rate: Hyper,
        beta: Hyper,
        sign_decay_fn: Callable[[Any], TensorLike] | None,
        use_locking: bool,
        name: str,
        **hyper: Any,
    ) -> None:
        super().__init__(use_locking, name)
        self._values = {"learning_rate": learning_rate, "beta": beta, **hyper}
        self._decay_fn = sign_decay_fn

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Variable | None = None, name: str | None = None
    ) -> Operation:
        """Returns an operation that applies pairs (gradient, variable) and increments `global_step`.

        See `Optimizer.apply_gradients`.
        """
        step = self._decay_fn(global_step) if self._decay_fn is not None else 1.0
        self._values["sign_decay"] = step
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "m", self._name)

    def _prepare(self) -> None:
        for name, value in self._values.items():
            self._hyper(name, value)

    def _factor(self, agreement: Tensor, var: Variable) -> Tensor:
        raise UnimplementedError(f"{type(self).__name__} has no factor")

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        m: Any = self.get_slot(var, "m")
        lr, beta = self._cast("learning_rate", var), self._cast("beta", var)
        new = m.value() * beta + grad * (1.0 - beta)
        step = lr * self._factor(SIGN(grad) * SIGN(new), var) * grad
        return group(var.assign_sub(step), m.assign(new))

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        m: Any = self.get_slot(var, "m")
        lr, beta = self._cast("learning_rate", var), self._cast("beta", var)
        new = m.value() * beta + convert_to_tensor(grad) * (1.0 - beta)
        factor = self._factor(SIGN(grad.values) * SIGN(gather(new, grad.indices)), var)
        return group(SCATTER_SUB(_ref(var), grad.indices, lr * factor * grad.values), m.assign(new))


class AddSignOptimizer(_SignOptimizer):
    """AddSign: var -= learning_rate * (alpha + sign_decay * sign(grad) * sign(mean)) * grad.

    beta: the decay of the running mean. sign_decay_fn: a function of the global step, by default 1; see
    `tf.contrib.opt.get_linear_decay_fn`.
    """

    def __init__(
        self,
        learning_rate: Hyper = 0.1,
        alpha: Hyper = 1.0,
        beta: Hyper = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name, alpha=alpha)

    def _factor(self, agreement: Tensor, var: Variable) -> Tensor:
        return self._cast("alpha", var) + self._cast("sign_decay", var) * agreement


class PowerSignOptimizer(_SignOptimizer):
    """PowerSign: var -= learning_rate * base^(sign_decay * sign(grad) * sign(mean)) * grad.

    beta: the decay of the running mean. sign_decay_fn: a function of the global step, by default 1.
    """

    def __init__(
        self,
        learning_rate: Hyper = 0.1,
        base: float = math.e,
        beta: Hyper = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name, logbase=math.log(base))

    def _factor(self, agreement: Tensor, var: Variable) -> Tensor:
        return EXP(self._cast("logbase", var) * self._cast("sign_decay", var) * agreement)


def _fraction(global_step: TensorLike | None, decay_steps: int) -> Tensor:
    if global_step is None:
        raise InvalidArgumentError("a decay of the signs needs the global_step of apply_gradients")
    return MINIMUM(cast(convert_to_tensor(global_step), float32), float(decay_steps)) / float(decay_steps)


def get_linear_decay_fn(decay_steps: int) -> Callable[[Any], Any]:
    """Returns a function of the global step that falls from 1 to 0 in `decay_steps` steps."""
    return lambda global_step: MAXIMUM(0.0, 1.0 - _fraction(global_step, decay_steps))


def _cosine(fraction: Tensor, stops: Tensor | None) -> Tensor:
    wave = 0.5 * (1.0 + COS(math.pi * fraction))
    return wave if stops is None else SELECT(stops, zeros_like(wave), wave)


def get_cosine_decay_fn(
    decay_steps: int, num_periods: float = 0.5, zero_after: float | None = None
) -> Callable[[Any], Any]:
    """Returns a function of the global step: `num_periods` waves of a cosine from 1 to 0 in `decay_steps` steps.

    zero_after: after that many periods it is 0.
    """

    def decay(global_step: TensorLike | None) -> Tensor:
        fraction = 2.0 * num_periods * _fraction(global_step, decay_steps)
        return _cosine(fraction, None if zero_after is None else GREATER_EQUAL(fraction, 2.0 * zero_after))

    return decay


def get_restart_decay_fn(
    decay_steps: int, num_periods: int = 1, zero_after: float | None = None
) -> Callable[[Any], Any]:
    """Returns a function of the global step that falls from 1 to 0 `num_periods` times in `decay_steps` steps.

    zero_after: after that many periods it is 0.
    """

    def decay(global_step: TensorLike | None) -> Tensor:
        periods = float(num_periods) * _fraction(global_step, decay_steps)
        return _cosine(FLOOR_MOD(periods, 1.0), None if zero_after is None else GREATER_EQUAL(periods, zero_after))

    return decay


class LARSOptimizer(Optimizer):
    """Momentum with a rate for each variable: learning_rate * eeta * |var| / (|grad| + weight_decay |var| + epsilon).

    skip_list: parts of names; variables that have one in their name take the plain rate, and do not decay. Raises
    `InvalidArgumentError` for a negative momentum or weight_decay.
    """

    def __init__(
        self,
        learning_rate: Hyper,
        momentum: float = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        if momentum < 0 or weight_decay < 0:
            raise InvalidArgumentError(f"momentum and weight_decay must be >= 0, got {momentum} and {weight_decay}")
        super().__init__(False, name)
        self._values = {"learning_rate": learning_rate, "momentum": momentum}
        self._weights, self._skips, self._nesterov = (weight_decay, eeta, epsilon), skip_list, use_nesterov

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self) -> None:
        for name, value in self._values.items():
            self._hyper(name, value)

    def compute_lr(self, grad: Tensor, var: Variable) -> tuple[Any, Any]:
        """Returns (the rate of the variable `var`, `grad` with the decay of the weights)."""
        lr: Any = self._cast("learning_rate", var)
        if self._skips is not None and any(part in var.name for part in self._skips):
            return lr, grad
        decay, eeta, epsilon = self._weights
        weights = var.value()
        w, g = SQRT(reduce_sum(SQUARE(weights))), SQRT(reduce_sum(SQUARE(grad)))
        ratio = eeta * w / (g + decay * w + epsilon)
        trusted = LOGICAL_AND(GREATER(w, 0.0), GREATER(g, 0.0))
        return lr * SELECT(trusted, ratio, ones_like(ratio)), grad + decay * weights

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        lr, decayed = self.compute_lr(grad, var)
        slot, momentum = self.get_slot(var, "momentum"), self._cast("momentum", var)
        one = convert_to_tensor(1.0, var.dtype)
        return APPLY_MOMENTUM(_ref(var), _ref(slot), one, decayed * lr, momentum, use_nesterov=self._nesterov).op

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        slot = self.get_slot(var, "momentum")
        lr, momentum = self._cast("learning_rate", var), self._cast("momentum", var)
        inputs = [_ref(var), _ref(slot), lr, grad.values, grad.indices, momentum]
        return CATALOG["SparseApplyMomentum"](*inputs, use_nesterov=self._nesterov).op


class RegAdagradOptimizer(AdagradOptimizer):
    """Adagrad whose accumulators stay as they are for gradients that are applied within `avoid_updating_slots()`."""

    def __init__(
        self,
        learning_rate: Hyper,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "RegAdagrad",
    ) -> None:
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)

    @contextmanager
    def avoid_updating_slots(self) -> Iterator[None]:
        """Within the block, gradients are applied without a change of the accumulators."""
        self._extra["update_slots"] = False
        try:
            yield
        finally:
            self._extra["update_slots"] = True

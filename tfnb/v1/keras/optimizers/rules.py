"""The update rules: SGD, RMSprop, Adagrad, Adadelta, Adam, Adamax, Nadam and Ftrl.

`tfnb/ops/training/` has the formulas of all rules that TensorFlow has an op for. Invariant: steps, slots and defaults
are those of TensorFlow 1.15's Keras, where epsilon None is `epsilon()`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops import CATALOG
from tfnb.types import DType
from tfnb.v1.keras import initializers
from tfnb.v1.keras.argument_types import Hyper
from tfnb.v1.keras.backend.settings import epsilon as default_epsilon
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.optimizers.base import Optimizer


class _Rule(Optimizer):
    """A rule with a learning rate, a decay of it and an epsilon."""

    def __init__(self, name: str, learning_rate: Hyper, epsilon: float | None = None, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("decay", self._initial_decay)
        self.epsilon = default_epsilon() if epsilon is None else epsilon


class SGD(_Rule):
    """Gradient descent, with momentum, which may be Nesterov's."""

    def __init__(
        self,
        learning_rate: Hyper = 0.01,
        momentum: Hyper = 0.0,
        nesterov: bool = False,
        name: str = "SGD",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        if isinstance(momentum, (int, float)) and not 0 <= momentum <= 1:
            raise InvalidArgumentError("`momentum` must be between [0, 1].")
        self._set_hyper("momentum", momentum)
        self._momentum = hasattr(momentum, "graph") or callable(momentum) or momentum > 0
        self.nesterov = nesterov
        self.slots = ("momentum",) if self._momentum else ()

    def _resource_apply_dense(self, grad: Tensor, var: Variable) -> Tensor | Operation:
        if self._momentum:
            return self._accumulated("ApplyKerasMomentum", var, grad)
        return CATALOG["ApplyGradientDescent"](var, self._decayed_lr(var.dtype.base_dtype), grad)

    def _resource_apply_sparse(self, grad: Tensor, var: Variable, indices: Tensor) -> Tensor | Operation:
        if self._momentum:
            return self._accumulated("SparseApplyKerasMomentum", var, grad, indices)
        return tf.scatter_sub(var, indices, self._decayed_lr(var.dtype.base_dtype) * grad)

    def _accumulated(self, op: str, var: Variable, *gradient: Tensor) -> Tensor | Operation:
        """Returns the step with momentum; gradient: whole, or that of some rows and their numbers."""
        dtype = var.dtype.base_dtype
        rate, factor = self._decayed_lr(dtype), self._get_hyper("momentum", dtype)
        return CATALOG[op](var, self.get_slot(var, "momentum"), rate, *gradient, factor, use_nesterov=self.nesterov)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "nesterov": self.nesterov}


class RMSprop(_Rule):
    """Divides gradients by the root of a moving average of their squares."""

    def __init__(
        self,
        learning_rate: Hyper = 0.001,
        rho: Hyper = 0.9,
        momentum: Hyper = 0.0,
        epsilon: float | None = 1e-7,
        centered: bool = False,
        name: str = "RMSprop",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, epsilon, **kwargs)
        self._set_hyper("rho", rho)
        self._set_hyper("momentum", momentum)
        self._momentum = hasattr(momentum, "graph") or callable(momentum) or momentum > 0
        self.centered = centered
        self.slots = ("rms", *(["momentum"] if self._momentum else []), *(["mg"] if centered else []))

    def _resource_apply_dense(self, grad: Tensor, var: Variable) -> Tensor | Operation:
        if self._momentum:
            return CATALOG[self._op](*self._inputs(var), grad)
        dtype = var.dtype.base_dtype
        rho, rms = self._get_hyper("rho", dtype), self.get_slot(var, "rms")
        squares = rho * rms + (1 - rho) * tf.square(grad)
        updates, denominator = [tf.assign(rms, squares)], squares
        if self.centered:
            mg = self.get_slot(var, "mg")
            mean = rho * mg + (1 - rho) * grad
            updates.append(tf.assign(mg, mean))
            denominator = squares - tf.square(mean)
        change = self._decayed_lr(dtype) * grad / (tf.sqrt(denominator) + self.epsilon)
        return tf.group(*updates, tf.assign_sub(var, change))

    def _resource_apply_sparse(self, grad: Tensor, var: Variable, indices: Tensor) -> Tensor | Operation:
        if not self._momentum:
            return super()._resource_apply_sparse(grad, var, indices)
        return CATALOG[f"Sparse{self._op}"](*self._inputs(var), grad, indices)

    @property
    def _op(self) -> str:
        return "ApplyCenteredRMSProp" if self.centered else "ApplyRMSProp"

    def _inputs(self, var: Variable) -> list[Any]:
        """Returns the inputs of the op with momentum, but for the gradient."""
        dtype = var.dtype.base_dtype
        slots = [self.get_slot(var, name) for name in (*(["mg"] if self.centered else []), "rms", "momentum")]
        numbers = (self._decayed_lr(dtype), self._get_hyper("rho", dtype), self._get_hyper("momentum", dtype))
        return [var, *slots, *numbers, self.epsilon]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon, "centered": self.centered}


class Adagrad(_Rule):
    """Divides gradients by the root of the sum of their squares."""

    slots: tuple[str, ...] = ("accumulator",)

    def __init__(
        self,
        learning_rate: Hyper = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float | None = 1e-7,
        name: str = "Adagrad",
        **kwargs: Any,
    ) -> None:
        if initial_accumulator_value < 0.0:
            raise InvalidArgumentError(f"initial_accumulator_value must be non-negative: {initial_accumulator_value}")
        super().__init__(name, learning_rate, epsilon, **kwargs)
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self.add_slot(var, "accumulator", initializers.Constant(self._initial_accumulator_value))

    def _resource_apply_dense(self, grad: Tensor, var: Variable) -> Tensor | Operation:
        return CATALOG["ApplyAdagradV2"](*self._inputs(var), grad)

    def _resource_apply_sparse(self, grad: Tensor, var: Variable, indices: Tensor) -> Tensor | Operation:
        return CATALOG["SparseApplyAdagradV2"](*self._inputs(var), grad, indices)

    def _inputs(self, var: Variable) -> tuple[Any, ...]:
        return var, self.get_slot(var, "accumulator"), self._decayed_lr(var.dtype.base_dtype), self.epsilon

    def get_config(self) -> dict[str, Any]:
        own = {"initial_accumulator_value": self._initial_accumulator_value, "epsilon": self.epsilon}
        return {**super().get_config(), **own}


class Adadelta(_Rule):
    """Scales gradients by moving averages of their squares and of the squares of the updates."""

    slots: tuple[str, ...] = ("accum_grad", "accum_var")

    def __init__(
        self,
        learning_rate: Hyper = 0.001,
        rho: Hyper = 0.95,
        epsilon: float | None = 1e-7,
        name: str = "Adadelta",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, epsilon, **kwargs)
        self._set_hyper("rho", rho)

    def _resource_apply_dense(self, grad: Tensor, var: Variable) -> Tensor | Operation:
        return CATALOG["ApplyAdadelta"](*self._inputs(var), grad)

    def _resource_apply_sparse(self, grad: Tensor, var: Variable, indices: Tensor) -> Tensor | Operation:
        return CATALOG["SparseApplyAdadelta"](*self._inputs(var), grad, indices)

    def _inputs(self, var: Variable) -> tuple[Any, ...]:
        dtype = var.dtype.base_dtype
        slots = (self.get_slot(var, name) for name in self.slots)
        return var, *slots, self._decayed_lr(dtype), self._get_hyper("rho", dtype), self.epsilon

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon}


class _Moments(_Rule):
    """A rule with moving averages m of the gradients and v of their squares."""

    slots: tuple[str, ...] = ("m", "v")

    def __init__(
        self, name: str, learning_rate: Hyper, beta_1: Hyper, beta_2: Hyper, epsilon: float | None, **kwargs: Any
    ) -> None:
        super().__init__(name, learning_rate, epsilon, **kwargs)
        self._set_hyper("beta_1", beta_1)
        self._set_hyper("beta_2", beta_2)

    def _betas(self, var: Variable) -> tuple[Tensor, Tensor, Tensor]:
        dtype = var.dtype.base_dtype
        return self._get_hyper("beta_1", dtype), self._get_hyper("beta_2", dtype), tf.cast(self.iterations + 1, dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon}


class Adam(_Moments):
    """Divides the moving average of gradients by the root of that of their squares, corrected for the first steps."""

    def __init__(
        self,
        learning_rate: Hyper = 0.001,
        beta_1: Hyper = 0.9,
        beta_2: Hyper = 0.999,
        epsilon: float | None = 1e-7,
        amsgrad: bool = False,
        name: str = "Adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, beta_1, beta_2, epsilon, **kwargs)
        self.amsgrad = amsgrad
        self.slots = ("m", "v", "vhat") if amsgrad else ("m", "v")

    def _resource_apply_dense(self, grad: Tensor, var: Variable) -> Tensor | Operation:
        beta_1, beta_2, step = self._betas(var)
        slots = (self.get_slot(var, name) for name in self.slots)
        powers = (tf.pow(beta_1, step), tf.pow(beta_2, step))
        op = CATALOG["ApplyAdamWithAmsgrad" if self.amsgrad else "ApplyAdam"]
        return op(var, *slots, *powers, self._decayed_lr(var.dtype.base_dtype), beta_1, beta_2, self.epsilon, grad)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "amsgrad": self.amsgrad}


class Adamax(_Moments):
    """Adam with the largest gradient so far instead of the average of squares."""

    def __init__(
        self,
        learning_rate: Hyper = 0.001,
        beta_1: Hyper = 0.9,
        beta_2: Hyper = 0.999,
        epsilon: float | None = 1e-7,
        name: str = "Adamax",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, beta_1, beta_2, epsilon, **kwargs)

    def _resource_apply_dense(self, grad: Tensor, var: Variable) -> Tensor | Operation:
        beta_1, beta_2, step = self._betas(var)
        slots, rate = (self.get_slot(var, name) for name in self.slots), self._decayed_lr(var.dtype.base_dtype)
        return CATALOG["ApplyAdaMax"](var, *slots, tf.pow(beta_1, step), rate, beta_1, beta_2, self.epsilon, grad)

    def _resource_apply_sparse(self, grad: Tensor, var: Variable, indices: Tensor) -> Tensor | Operation:
        beta_1, beta_2, step = self._betas(var)
        m, v = (tf.gather(self.get_slot(var, name), indices) for name in self.slots)
        mean, largest = m * beta_1 + grad * (1 - beta_1), tf.maximum(v * beta_2, tf.abs(grad))
        rate = self._decayed_lr(var.dtype.base_dtype) / (1 - tf.pow(beta_1, step))
        return tf.group(
            tf.scatter_update(self.get_slot(var, "m"), indices, mean),
            tf.scatter_update(self.get_slot(var, "v"), indices, largest),
            tf.scatter_sub(var, indices, rate * (mean / (largest + self.epsilon))),
        )


class Nadam(_Moments):
    """Adam with Nesterov's momentum."""

    def __init__(
        self,
        learning_rate: Hyper = 0.001,
        beta_1: Hyper = 0.9,
        beta_2: Hyper = 0.999,
        epsilon: float | None = 1e-7,
        name: str = "Nadam",
        **kwargs: Any,
    ) -> None:
        kwargs["decay"] = kwargs.pop("schedule_decay", 0.004)
        super().__init__(name, learning_rate, beta_1, beta_2, epsilon, **kwargs)
        self._cache: Any = None

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        if self._cache is None:
            self._cache = self._add("momentum_cache", np.float32(1.0))
            self._weights.append(self._cache)
        super()._create_slots(var_list)

    def apply_gradients(self, grads_and_vars: Sequence[tuple[Any, Any]], name: str | None = None) -> Operation:
        """Returns the operation that applies pairs (gradient, variable)."""
        self._product: Any = None
        done = super().apply_gradients(grads_and_vars, name)
        return tf.group(done, tf.assign(self._cache, self._product))

    def _decayed_lr(self, var_dtype: DType) -> Tensor:
        """Returns the learning rate; the decay is that of the momentum."""
        return self._get_hyper("learning_rate", var_dtype)

    def _resource_apply_dense(self, grad: Tensor, var: Variable) -> Tensor | Operation:
        updates, change = self._moved(grad, var)
        return tf.group(*updates, tf.assign_sub(var, change))

    def _resource_apply_sparse(self, grad: Tensor, var: Variable, indices: Tensor) -> Tensor | Operation:
        updates, change = self._moved(tf.convert_to_tensor(tf.IndexedSlices(grad, indices, tf.shape(var))), var)
        return tf.group(*updates, tf.scatter_sub(var, indices, tf.gather(change, indices)))

    def _moved(self, grad: Tensor, var: Variable) -> tuple[list[Tensor], Tensor]:
        """Returns the operations that change the slots, and what is to be subtracted from the variable."""
        beta_1, beta_2, step = self._betas(var)
        dtype = var.dtype.base_dtype
        decay = self._get_hyper("decay", dtype)
        now = beta_1 * (1.0 - 0.5 * tf.pow(0.96, decay * step))
        following = beta_1 * (1.0 - 0.5 * tf.pow(0.96, decay * (step + 1)))
        if self._product is None:
            self._product = self._cache.value() * now
        product = tf.cast(self._product, dtype)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        mean, squares = beta_1 * m + (1 - beta_1) * grad, beta_2 * v + (1 - beta_2) * tf.square(grad)
        corrected = following * mean / (1.0 - product * following) + (1 - now) * grad / (1.0 - product)
        root = tf.sqrt(squares / (1.0 - tf.pow(beta_2, step)))
        change = self._decayed_lr(dtype) * corrected / (root + self.epsilon)
        return [tf.assign(m, mean), tf.assign(v, squares)], change


class Ftrl(_Rule):
    """Follows the regularised leader (McMahan and others, 2013), with penalties l1, l2 and shrinkage."""

    slots: tuple[str, ...] = ("accumulator", "linear")

    def __init__(
        self,
        learning_rate: Hyper = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        name: str = "Ftrl",
        l2_shrinkage_regularization_strength: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        penalties = (l1_regularization_strength, l2_regularization_strength, l2_shrinkage_regularization_strength)
        if initial_accumulator_value < 0 or learning_rate_power > 0 or min(penalties) < 0:
            raise InvalidArgumentError(
                f"Ftrl: needed learning_rate_power <= 0 and other numbers >= 0, got {learning_rate_power}, "
                f"{initial_accumulator_value} and {penalties}"
            )
        self._set_hyper("learning_rate_power", learning_rate_power)
        self._set_hyper("l1_regularization_strength", l1_regularization_strength)
        self._set_hyper("l2_regularization_strength", l2_regularization_strength)
        self._initial_accumulator_value = initial_accumulator_value
        self._shrinkage = l2_shrinkage_regularization_strength

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self.add_slot(var, "accumulator", initializers.Constant(self._initial_accumulator_value))
            self.add_slot(var, "linear")

    def _resource_apply_dense(self, grad: Tensor, var: Variable) -> Tensor | Operation:
        return CATALOG[self._op](*self._references(var), grad, *self._numbers(var))

    def _resource_apply_sparse(self, grad: Tensor, var: Variable, indices: Tensor) -> Tensor | Operation:
        return CATALOG[f"Sparse{self._op}"](*self._references(var), grad, indices, *self._numbers(var))

    @property
    def _op(self) -> str:
        return "ApplyFtrlV2" if self._shrinkage > 0 else "ApplyFtrl"

    def _references(self, var: Variable) -> list[Variable]:
        return [var, *(self.get_slot(var, name) for name in self.slots)]

    def _numbers(self, var: Variable) -> list[Any]:
        """Returns the inputs after the gradient: rate, penalties and power."""
        dtype = var.dtype.base_dtype
        l1, l2, power = (
            self._get_hyper(name, dtype)
            for name in ("l1_regularization_strength", "l2_regularization_strength", "learning_rate_power")
        )
        return [self._decayed_lr(dtype), l1, l2, *([self._shrinkage] if self._shrinkage > 0 else []), power]

    def get_config(self) -> dict[str, Any]:
        own = {
            "initial_accumulator_value": self._initial_accumulator_value,
            "l2_shrinkage_regularization_strength": self._shrinkage,
        }
        return {**super().get_config(), **own}

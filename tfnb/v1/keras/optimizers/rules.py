"""The update rules: SGD, RMSprop, Adagrad, Adadelta, Adam, Adamax, Nadam and Ftrl.

Invariant: formulas, slots and defaults are those of TensorFlow 1.15's Keras, where epsilon None is `epsilon()`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.v1.keras.backend.settings import epsilon as default_epsilon
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.optimizers.base import Optimizer


class _Rule(Optimizer):
    """A rule with a learning rate, a decay of it and an epsilon."""

    def __init__(self, name: str, learning_rate: Any, epsilon: float | None = None, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("decay", self._initial_decay)
        self.epsilon = default_epsilon() if epsilon is None else epsilon


class SGD(_Rule):
    """Gradient descent, with momentum, which may be Nesterov's."""

    by_rows = True

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: Any = 0.0,
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

    def _step(self, gradient: Any, var: Any, rate: Any) -> list[Any]:
        if not self._momentum:
            return [self._take(var, rate * gradient)]
        factor, slot = self._value("momentum", var.dtype.base_dtype), self.get_slot(var, "momentum")
        speed = factor * slot - rate * gradient
        moved = factor * speed - rate * gradient if self.nesterov else speed
        return [self._set(slot, speed), self._give(var, moved)]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "nesterov": self.nesterov}


class RMSprop(_Rule):
    """Divides gradients by the root of a moving average of their squares."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.9,
        momentum: Any = 0.0,
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

    def _step(self, gradient: Any, var: Any, rate: Any) -> list[Any]:
        rho, rms = self._value("rho", var.dtype.base_dtype), self.get_slot(var, "rms")
        squares = rho * rms + (1 - rho) * tf.square(gradient)
        updates, denominator = [self._set(rms, squares)], squares
        if self.centered:
            mg = self.get_slot(var, "mg")
            mean = rho * mg + (1 - rho) * gradient
            updates.append(self._set(mg, mean))
            denominator = squares - tf.square(mean)
        if not self._momentum:
            return [*updates, self._take(var, rate * gradient / (tf.sqrt(denominator) + self.epsilon))]
        slot = self.get_slot(var, "momentum")
        speed = self._value("momentum", var.dtype.base_dtype) * slot
        speed = speed + rate * gradient / tf.sqrt(denominator + self.epsilon)
        return [*updates, self._set(slot, speed), self._take(var, speed)]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon, "centered": self.centered}


class Adagrad(_Rule):
    """Divides gradients by the root of the sum of their squares."""

    by_rows = True

    slots = ("accumulator",)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float | None = 1e-7,
        name: str = "Adagrad",
        **kwargs: Any,
    ) -> None:
        if initial_accumulator_value < 0.0:
            raise InvalidArgumentError(f"initial_accumulator_value must be non-negative: {initial_accumulator_value}")
        super().__init__(name, learning_rate, epsilon, **kwargs)
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: Any) -> None:
        for var in var_list:
            self.add_slot(var, "accumulator", self._initial_accumulator_value)

    def _step(self, gradient: Any, var: Any, rate: Any) -> list[Any]:
        slot = self.get_slot(var, "accumulator")
        total = slot + tf.square(gradient)
        return [self._set(slot, total), self._take(var, rate * gradient / (tf.sqrt(total) + self.epsilon))]

    def get_config(self) -> dict[str, Any]:
        own = {"initial_accumulator_value": self._initial_accumulator_value, "epsilon": self.epsilon}
        return {**super().get_config(), **own}


class Adadelta(_Rule):
    """Scales gradients by moving averages of their squares and of the squares of the updates."""

    by_rows = True

    slots = ("accum_grad", "accum_var")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: float | None = 1e-7,
        name: str = "Adadelta",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, epsilon, **kwargs)
        self._set_hyper("rho", rho)

    def _step(self, gradient: Any, var: Any, rate: Any) -> list[Any]:
        rho = self._value("rho", var.dtype.base_dtype)
        squares, updates = self.get_slot(var, "accum_grad"), self.get_slot(var, "accum_var")
        mean = rho * squares + (1 - rho) * tf.square(gradient)
        change = gradient * tf.sqrt(updates + self.epsilon) / tf.sqrt(mean + self.epsilon)
        return [
            self._set(squares, mean),
            self._set(updates, rho * updates + (1 - rho) * tf.square(change)),
            self._take(var, rate * change),
        ]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon}


class _Moments(_Rule):
    """A rule with moving averages m of the gradients and v of their squares."""

    slots = ("m", "v")

    def __init__(
        self, name: str, learning_rate: Any, beta_1: Any, beta_2: Any, epsilon: float | None, **kwargs: Any
    ) -> None:
        super().__init__(name, learning_rate, epsilon, **kwargs)
        self._set_hyper("beta_1", beta_1)
        self._set_hyper("beta_2", beta_2)

    def _betas(self, var: Any) -> tuple[Any, Any, Any]:
        dtype = var.dtype.base_dtype
        return self._value("beta_1", dtype), self._value("beta_2", dtype), tf.cast(self.iterations + 1, dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon}


class Adam(_Moments):
    """Divides the moving average of gradients by the root of that of their squares, corrected for the first steps."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float | None = 1e-7,
        amsgrad: bool = False,
        name: str = "Adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, beta_1, beta_2, epsilon, **kwargs)
        self.amsgrad = amsgrad
        self.slots = ("m", "v", "vhat") if amsgrad else ("m", "v")

    def _step(self, gradient: Any, var: Any, rate: Any) -> list[Any]:
        beta_1, beta_2, step = self._betas(var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        mean, squares = m + (gradient - m) * (1 - beta_1), v + (tf.square(gradient) - v) * (1 - beta_2)
        rate = rate * tf.sqrt(1 - tf.pow(beta_2, step)) / (1 - tf.pow(beta_1, step))
        updates, largest = [self._set(m, mean), self._set(v, squares)], squares
        if self.amsgrad:
            vhat = self.get_slot(var, "vhat")
            largest = tf.maximum(vhat, squares)
            updates.append(self._set(vhat, largest))
        return [*updates, self._take(var, rate * mean / (tf.sqrt(largest) + self.epsilon))]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "amsgrad": self.amsgrad}


class Adamax(_Moments):
    """Adam with the largest gradient so far instead of the average of squares."""

    by_rows = True

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float | None = 1e-7,
        name: str = "Adamax",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, beta_1, beta_2, epsilon, **kwargs)

    def _step(self, gradient: Any, var: Any, rate: Any) -> list[Any]:
        beta_1, beta_2, step = self._betas(var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        mean, largest = m + (gradient - m) * (1 - beta_1), tf.maximum(beta_2 * v, tf.abs(gradient))
        change = rate / (1 - tf.pow(beta_1, step)) * mean / (largest + self.epsilon)
        return [self._set(m, mean), self._set(v, largest), self._take(var, change)]


class Nadam(_Moments):
    """Adam with Nesterov's momentum."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float | None = 1e-7,
        name: str = "Nadam",
        **kwargs: Any,
    ) -> None:
        kwargs["decay"] = kwargs.pop("schedule_decay", 0.004)
        super().__init__(name, learning_rate, beta_1, beta_2, epsilon, **kwargs)
        self._cache: Any = None

    def _create_slots(self, var_list: Any) -> None:
        if self._cache is None:
            self._cache = self._add("momentum_cache", np.float32(1.0))
            self._weights.append(self._cache)
        super()._create_slots(var_list)

    def apply_gradients(self, grads_and_vars: Any, name: str | None = None) -> Any:
        """Returns the operation that applies pairs (gradient, variable)."""
        self._product: Any = None
        done = super().apply_gradients(grads_and_vars, name)
        return tf.group(done, tf.assign(self._cache, self._product))

    def _updated(self, gradient: Any, var: Any) -> Any:
        rate = self._value("learning_rate", var.dtype.base_dtype)
        return tf.group(*self._step(tf.convert_to_tensor(gradient), var, rate))

    def _step(self, gradient: Any, var: Any, rate: Any) -> list[Any]:
        beta_1, beta_2, step = self._betas(var)
        decay = self._value("decay", var.dtype.base_dtype)
        now = beta_1 * (1.0 - 0.5 * tf.pow(0.96, decay * step))
        following = beta_1 * (1.0 - 0.5 * tf.pow(0.96, decay * (step + 1)))
        if self._product is None:
            self._product = self._cache.value() * now
        product = tf.cast(self._product, var.dtype.base_dtype)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        mean, squares = beta_1 * m + (1 - beta_1) * gradient, beta_2 * v + (1 - beta_2) * tf.square(gradient)
        corrected = following * mean / (1.0 - product * following) + (1 - now) * gradient / (1.0 - product)
        root = tf.sqrt(squares / (1.0 - tf.pow(beta_2, step)))
        return [self._set(m, mean), self._set(v, squares), self._take(var, rate * corrected / (root + self.epsilon))]


class Ftrl(_Rule):
    """Follows the regularised leader (McMahan and others, 2013), with penalties l1, l2 and shrinkage."""

    by_rows = True

    slots = ("accumulator", "linear")

    def __init__(
        self,
        learning_rate: Any = 0.001,
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

    def _create_slots(self, var_list: Any) -> None:
        for var in var_list:
            self.add_slot(var, "accumulator", self._initial_accumulator_value)
            self.add_slot(var, "linear")

    def _step(self, gradient: Any, var: Any, rate: Any) -> list[Any]:
        dtype = var.dtype.base_dtype
        power, l1 = self._value("learning_rate_power", dtype), self._value("l1_regularization_strength", dtype)
        l2 = self._value("l2_regularization_strength", dtype)
        slot, linear = self.get_slot(var, "accumulator"), self.get_slot(var, "linear")
        total = slot + tf.square(gradient)
        shrunk = gradient + 2.0 * self._shrinkage * var
        sigma = (tf.pow(total, -power) - tf.pow(tf.convert_to_tensor(slot), -power)) / rate
        new = linear + shrunk - sigma * var
        quadratic = tf.pow(total, -power) / rate + 2.0 * l2
        value = (tf.clip_by_value(new, -l1, l1) - new) / quadratic
        return [self._set(slot, total), self._set(linear, new), self._set(var, value)]

    def get_config(self) -> dict[str, Any]:
        own = {
            "initial_accumulator_value": self._initial_accumulator_value,
            "l2_shrinkage_regularization_strength": self._shrinkage,
        }
        return {**super().get_config(), **own}

"""`tf.keras.optimizers.schedules`: learning rates as functions of the number of steps.

Invariant: a schedule is a function from a step, a scalar tensor, to a scalar tensor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.serialization import deserialize_keras_object, serialize_keras_object


class LearningRateSchedule:
    """The base of schedules."""

    def __call__(self, step: TensorLike) -> Tensor:
        """Returns the learning rate at a step. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define its values")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, which are attributes of the same names."""
        return dict(self.__dict__)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Any:
        """Returns the schedule of a configuration."""
        return cls(**config)

    @staticmethod
    def of(config: Mapping[str, Any] | str, custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Returns the schedule of a dictionary {"class_name", "config"}."""
        return deserialize_keras_object(config, _KNOWN, custom_objects, "decay")


def _step(step: TensorLike) -> Tensor:
    return tf.cast(tf.convert_to_tensor(step), tf.float32)


class ExponentialDecay(LearningRateSchedule):
    """Computes initial_learning_rate * decay_rate ** (step / decay_steps); `staircase` takes whole quotients."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: int,
        decay_rate: float,
        staircase: bool = False,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.decay_steps, self.decay_rate = initial_learning_rate, decay_steps, decay_rate
        self.staircase, self.name = staircase, name

    def __call__(self, step: TensorLike) -> Tensor:
        p = _step(step) / float(self.decay_steps)
        return self.initial_learning_rate * tf.pow(float(self.decay_rate), tf.floor(p) if self.staircase else p)


class InverseTimeDecay(LearningRateSchedule):
    """Computes initial_learning_rate / (1 + decay_rate * step / decay_steps)."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: int,
        decay_rate: float,
        staircase: bool = False,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.decay_steps, self.decay_rate = initial_learning_rate, decay_steps, decay_rate
        self.staircase, self.name = staircase, name

    def __call__(self, step: TensorLike) -> Tensor:
        p = _step(step) / float(self.decay_steps)
        return self.initial_learning_rate / (1.0 + self.decay_rate * (tf.floor(p) if self.staircase else p))


class PiecewiseConstantDecay(LearningRateSchedule):
    """Takes values[0] up to and with the step boundaries[0], then values[1], and so on.

    Raises `InvalidArgumentError` unless there is one value more than boundaries.
    """

    def __init__(self, boundaries: Sequence[float], values: Sequence[float], name: str | None = None) -> None:
        if len(boundaries) != len(values) - 1:
            raise InvalidArgumentError("The length of boundaries should be 1 less than the length of values")
        self.boundaries, self.values, self.name = boundaries, values, name

    def __call__(self, step: TensorLike) -> Tensor:
        now = _step(step)
        rate = tf.constant(self.values[-1], tf.float32)
        for boundary, value in zip(reversed(self.boundaries), reversed(self.values[:-1]), strict=True):
            rate = tf.where(now <= float(boundary), tf.constant(value, tf.float32), rate)
        return rate


class PolynomialDecay(LearningRateSchedule):
    """Goes from the initial to the end learning rate in `decay_steps`, by a power; with `cycle` it begins again."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: int,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.end_learning_rate, self.power, self.cycle, self.name = end_learning_rate, power, cycle, name

    def __call__(self, step: TensorLike) -> Tensor:
        now, steps = _step(step), float(self.decay_steps)
        if self.cycle:
            steps = steps * tf.maximum(1.0, tf.ceil(now / steps))
        else:
            now = tf.minimum(now, steps)
        span = self.initial_learning_rate - self.end_learning_rate
        return span * tf.pow(1.0 - now / steps, float(self.power)) + self.end_learning_rate


class CosineDecay(LearningRateSchedule):
    """Goes from the initial learning rate to `alpha` times it by half a period of a cosine."""

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, alpha: float = 0.0, name: str | None = None
    ) -> None:
        self.initial_learning_rate, self.decay_steps, self.alpha = initial_learning_rate, decay_steps, alpha
        self.name = name

    def __call__(self, step: TensorLike) -> Tensor:
        share = tf.minimum(_step(step) / float(self.decay_steps), 1.0)
        cosine = 0.5 * (1.0 + tf.cos(math.pi * share))
        return self.initial_learning_rate * ((1 - self.alpha) * cosine + self.alpha)


class CosineDecayRestarts(LearningRateSchedule):
    """Repeats a cosine decay, each time `t_mul` times as long and from `m_mul` times the learning rate."""

    def __init__(
        self,
        initial_learning_rate: float,
        first_decay_steps: int,
        t_mul: float = 2.0,
        m_mul: float = 1.0,
        alpha: float = 0.0,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.first_decay_steps = initial_learning_rate, first_decay_steps
        self._t_mul, self._m_mul, self.alpha, self.name = t_mul, m_mul, alpha, name

    def __call__(self, step: TensorLike) -> Tensor:
        done = _step(step) / float(self.first_decay_steps)
        if self._t_mul == 1.0:
            restart = tf.floor(done)
            share = done - restart
        else:
            ratio = float(self._t_mul)
            restart = tf.floor(tf.log(1.0 - done * (1.0 - ratio)) / math.log(ratio))
            r = tf.pow(ratio, restart)
            share = (done - (1.0 - r) / (1.0 - ratio)) / r
        cosine = 0.5 * tf.pow(float(self._m_mul), restart) * (1.0 + tf.cos(math.pi * share))
        return self.initial_learning_rate * ((1 - self.alpha) * cosine + self.alpha)

    def get_config(self) -> dict[str, Any]:
        return {key.lstrip("_"): value for key, value in self.__dict__.items()}


class LinearCosineDecay(LearningRateSchedule):
    """Multiplies a linear decay by a cosine of `num_periods` periods."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: int,
        num_periods: float = 0.5,
        alpha: float = 0.0,
        beta: float = 0.001,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.decay_steps, self.num_periods = initial_learning_rate, decay_steps, num_periods
        self.alpha, self.beta, self.name = alpha, beta, name

    def __call__(self, step: TensorLike) -> Tensor:
        share = tf.minimum(_step(step), float(self.decay_steps)) / float(self.decay_steps)
        cosine = 0.5 * (1.0 + tf.cos(math.pi * 2.0 * self.num_periods * share))
        return self.initial_learning_rate * ((self.alpha + 1.0 - share) * cosine + self.beta)


class NoisyLinearCosineDecay(LearningRateSchedule):
    """A linear cosine decay with normal noise, whose variance falls with the steps."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: int,
        initial_variance: float = 1.0,
        variance_decay: float = 0.55,
        num_periods: float = 0.5,
        alpha: float = 0.0,
        beta: float = 0.001,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.decay_steps, self.num_periods = initial_learning_rate, decay_steps, num_periods
        self.initial_variance, self.variance_decay = initial_variance, variance_decay
        self.alpha, self.beta, self.name = alpha, beta, name

    def __call__(self, step: TensorLike) -> Tensor:
        now = tf.minimum(_step(step), float(self.decay_steps))
        share = now / float(self.decay_steps)
        deviation = tf.sqrt(self.initial_variance / tf.pow(1.0 + now, float(self.variance_decay)))
        linear = 1.0 - share + tf.random_normal([]) * deviation
        cosine = 0.5 * (1.0 + tf.cos(math.pi * 2.0 * self.num_periods * share))
        return self.initial_learning_rate * ((self.alpha + linear) * cosine + self.beta)


_KNOWN: Mapping[str, Any] = {
    name: value for name, value in globals().items() if isinstance(value, type) and not name.startswith("_")
}


def serialize(learning_rate_schedule: object) -> Any:
    """Returns the configuration of a schedule."""
    return serialize_keras_object(learning_rate_schedule)


def deserialize(config: Mapping[str, Any] | str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the schedule of a configuration."""
    return LearningRateSchedule.of(config, custom_objects)

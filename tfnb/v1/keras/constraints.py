"""`tf.keras.constraints`: functions that bring a weight back to where it must be, after each update.

Invariant: a constraint of a weight that already satisfies it changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.argument_types import Identifier
from tfnb.v1.keras.backend.settings import epsilon
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.serialization import deserialize_keras_object, serialize_keras_object


def _length(w: TensorOrVariable, axis: int | Sequence[int]) -> Tensor:
    return tf.sqrt(tf.reduce_sum(tf.square(w), axis, True))


class Constraint:
    """The base of constraints; this one changes nothing."""

    def __call__(self, w: TensorOrVariable) -> TensorOrVariable:
        """Returns the constrained weight."""
        return w

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {}


class MaxNorm(Constraint):
    """Scales vectors along `axis` that are longer than `max_value` down to it."""

    def __init__(self, max_value: float = 2, axis: int | Sequence[int] = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: TensorOrVariable) -> Tensor:
        norms = _length(w, self.axis)
        return w * (tf.clip_by_value(norms, 0.0, float(self.max_value)) / (epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        return {"max_value": self.max_value, "axis": self.axis}


class NonNeg(Constraint):
    """Sets negative elements to 0."""

    def __call__(self, w: Any) -> Tensor:
        return w * tf.cast(w >= 0.0, w.dtype.base_dtype)


class UnitNorm(Constraint):
    """Scales vectors along `axis` to the length 1."""

    def __init__(self, axis: int | Sequence[int] = 0) -> None:
        self.axis = axis

    def __call__(self, w: TensorOrVariable) -> Tensor:
        return w / (epsilon() + _length(w, self.axis))

    def get_config(self) -> dict[str, Any]:
        return {"axis": self.axis}


class MinMaxNorm(Constraint):
    """Moves lengths of vectors along `axis` by the share `rate` towards [min_value, max_value]."""

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: int | Sequence[int] = 0
    ) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: TensorOrVariable) -> Tensor:
        norms = _length(w, self.axis)
        limited = tf.clip_by_value(norms, float(self.min_value), float(self.max_value))
        return w * ((self.rate * limited + (1 - self.rate) * norms) / (epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        return {"min_value": self.min_value, "max_value": self.max_value, "rate": self.rate, "axis": self.axis}


class RadialConstraint(Constraint):
    """Makes kernels [rows, columns, channels, filters] radially symmetric, by the values of the middle row."""

    def __call__(self, w: Any) -> Tensor:
        shape = w.shape.as_list()
        if len(shape) != 4:
            raise InvalidArgumentError(f"The weight tensor must be of rank 4, but is of shape: {w.shape}")
        height, width, channels, kernels = shape
        w = tf.reshape(w, [height, width, channels * kernels])
        done = [_ring(w[:, :, i], height) for i in range(channels * kernels)]
        return tf.reshape(tf.stack(done, -1), [height, width, channels, kernels])


def _ring(kernel: TensorOrVariable, size: int) -> Tensor:
    """Returns a square of rings, each with the value of the middle row at its distance from the border."""
    start, middle = size // 2, (size - 1) // 2
    if size % 2:
        result = tf.reshape(kernel[middle, middle], [1, 1])
        start = middle + 1
    else:
        result = tf.fill([2, 2], kernel[middle, middle])
        start = middle + 2
    for i in range(start, size):
        value, n = kernel[middle, i], result.shape.as_list()[0]
        row, column = tf.fill([1, n], value), tf.fill([n + 2, 1], value)
        result = tf.concat([column, tf.concat([row, result, row], 0), column], 1)
    return result


max_norm, non_neg, unit_norm, min_max_norm = MaxNorm, NonNeg, UnitNorm, MinMaxNorm
radial_constraint = RadialConstraint
_KNOWN: Mapping[str, Any] = {
    "Constraint": Constraint,
    **{c.__name__: c for c in (MaxNorm, NonNeg, UnitNorm, MinMaxNorm, RadialConstraint)},
    "max_norm": MaxNorm,
    "maxnorm": MaxNorm,
    "non_neg": NonNeg,
    "nonneg": NonNeg,
    "unit_norm": UnitNorm,
    "unitnorm": UnitNorm,
    "min_max_norm": MinMaxNorm,
    "radial_constraint": RadialConstraint,
}


def serialize(constraint: object) -> Any:
    """Returns the configuration of a constraint."""
    return serialize_keras_object(constraint)


def deserialize(config: str | Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the constraint of a configuration."""
    return deserialize_keras_object(config, _KNOWN, custom_objects, "constraint")


def get(identifier: Identifier | None) -> Any:
    """Returns the constraint of a name or configuration; None and callables are returned unchanged.

    Raises `InvalidArgumentError` for anything else.
    """
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, (str, Mapping)):
        return deserialize(identifier)
    raise InvalidArgumentError(f"Could not interpret constraint identifier: {identifier!r}")

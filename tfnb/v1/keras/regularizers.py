"""`tf.keras.regularizers`: penalties on weights and outputs, which are added to the loss.

Invariant: a regulariser is a function from a tensor to a scalar tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.argument_types import Identifier
from tfnb.v1.keras.backend.settings import cast_to_floatx
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.serialization import deserialize_keras_object, serialize_keras_object

__all__ = ["L1L2", "Regularizer", "deserialize", "get", "l1", "l1_l2", "l2", "serialize"]


class Regularizer:
    """The base of regularisers; this one is always 0."""

    def __call__(self, x: TensorOrVariable) -> Tensor | float:
        """Returns the penalty on x."""
        return 0.0

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Regularizer:
        """Returns the regulariser of a configuration."""
        return cls(**config)


class L1L2(Regularizer):
    """Computes l1 * sum(abs(x)) + l2 * sum(square(x))."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = cast_to_floatx(l1), cast_to_floatx(l2)

    def __call__(self, x: TensorOrVariable) -> Tensor:
        if not self.l1 and not self.l2:
            return tf.constant(0.0)
        penalties = []
        if self.l1:
            penalties.append(float(self.l1) * tf.reduce_sum(tf.abs(x)))
        if self.l2:
            penalties.append(float(self.l2) * tf.reduce_sum(tf.square(x)))
        return penalties[0] if len(penalties) == 1 else penalties[0] + penalties[1]

    def get_config(self) -> dict[str, float]:
        """Returns the two factors."""
        return {"l1": float(self.l1), "l2": float(self.l2)}


def l1(l: float = 0.01) -> L1L2:  # noqa: E741
    """Returns the regulariser l * sum(abs(x))."""
    return L1L2(l1=l)


def l2(l: float = 0.01) -> L1L2:  # noqa: E741
    """Returns the regulariser l * sum(square(x))."""
    return L1L2(l2=l)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """Returns the regulariser l1 * sum(abs(x)) + l2 * sum(square(x))."""
    return L1L2(l1=l1, l2=l2)


_KNOWN: Mapping[str, Any] = {"L1L2": L1L2, "l1": l1, "l2": l2, "l1_l2": l1_l2}


def serialize(regularizer: object) -> Any:
    """Returns the configuration of a regulariser."""
    return serialize_keras_object(regularizer)


def deserialize(config: str | Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the regulariser of a configuration."""
    return deserialize_keras_object(config, _KNOWN, custom_objects, "regularizer")


def get(identifier: Identifier | None) -> Any:
    """Returns the regulariser of a name or configuration; None and callables are returned unchanged.

    Raises `InvalidArgumentError` for anything else.
    """
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, str) and identifier in ("l1", "l2", "l1_l2"):
        return _KNOWN[identifier]()
    if isinstance(identifier, (str, Mapping)):
        return deserialize(identifier)
    raise InvalidArgumentError(f"Could not interpret regularizer identifier: {identifier!r}")

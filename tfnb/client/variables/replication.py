"""Names of how copies of a variable on several devices are kept equal and combined, as `tf.Variable` takes them.

Invariant: a variable has one copy here, so every choice that TensorFlow allows gives the same values.
"""

from __future__ import annotations

import enum
from typing import Any

from tfnb.errors import InvalidArgumentError

__all__ = ["API", "UnconnectedGradients", "VariableAggregation", "VariableSynchronization", "is_trainable"]


class VariableSynchronization(enum.Enum):
    """When copies of a variable are made equal."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How updates that the copies of a variable receive are combined."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = ONLY_FIRST_REPLICA


class UnconnectedGradients(enum.Enum):
    """What `tf.gradients` returns for an x that no y depends on: None or zeros."""

    NONE = "none"
    ZERO = "zero"


def is_trainable(
    trainable: bool | None, synchronization: VariableSynchronization, aggregation: VariableAggregation
) -> bool:
    """Returns `trainable`, which is True by default, and False for copies that are made equal when they are read.

    Raises `InvalidArgumentError` for a trainable variable with such copies, and for values of other types.
    """
    if not isinstance(synchronization, VariableSynchronization) or not isinstance(aggregation, VariableAggregation):
        raise InvalidArgumentError(
            f"got {synchronization!r} and {aggregation!r}, needed values of VariableSynchronization and "
            "VariableAggregation"
        )
    on_read = synchronization is VariableSynchronization.ON_READ
    if on_read and trainable:
        raise InvalidArgumentError("a variable that is made equal when it is read cannot be trainable")
    return not on_read if trainable is None else trainable


API: dict[str, Any] = {
    "UnconnectedGradients": UnconnectedGradients,
    "VariableAggregation": VariableAggregation,
    "VariableSynchronization": VariableSynchronization,
}

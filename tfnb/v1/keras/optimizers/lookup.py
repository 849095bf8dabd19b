"""Optimizers by name or configuration, and those of `tf.train` inside Keras' models.

Invariant: names are looked up in small letters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.optimizers import rules
from tfnb.v1.keras.optimizers.base import Optimizer
from tfnb.v1.keras.serialization import deserialize_keras_object, serialize_keras_object

__all__ = ["TFOptimizer", "deserialize", "get", "serialize"]

_KNOWN: Mapping[str, Any] = {
    name.lower(): value
    for name, value in vars(rules).items()
    if isinstance(value, type) and issubclass(value, Optimizer) and not name.startswith("_") and value is not Optimizer
}


class TFOptimizer:
    """An optimizer of `tf.train` in a model of Keras."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer
        self._steps: Any = None

    @property
    def iterations(self) -> Variable:
        """The number of steps, an int64 variable."""
        if self._steps is None:
            self._steps = tf.Variable(np.int64(0), trainable=False, name="iterations")
        return self._steps

    @property
    def weights(self) -> list[Any]:
        """The variables of the optimizer."""
        return list(self.optimizer.variables())

    def get_updates(self, loss: Tensor, params: Sequence[Any]) -> list[Any]:
        """Returns the operation of a step; of one without weights to change it only counts."""
        if not params:
            return [tf.assign_add(self.iterations, np.int64(1)).op]
        pairs = self.optimizer.compute_gradients(loss, var_list=list(params))
        return [self.optimizer.apply_gradients(pairs, global_step=self.iterations)]

    def get_config(self) -> dict[str, Any]:
        """Raises `NotImplementedError`: optimizers of `tf.train` have no configuration."""
        raise NotImplementedError(f"the optimizer {type(self.optimizer).__name__} of tf.train has no configuration")


def serialize(optimizer: object) -> Any:
    """Returns the configuration of an optimizer."""
    return serialize_keras_object(optimizer)


def deserialize(config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the optimizer of a configuration."""
    if config["class_name"].lower() in _KNOWN:
        config = {**config, "class_name": config["class_name"].lower()}
    return deserialize_keras_object(config, _KNOWN, custom_objects, "optimizer")


def get(identifier: object) -> Any:
    """Returns the optimizer of a name or configuration, and optimizers of `tf.train` so that models can use them.

    Raises `InvalidArgumentError` for anything else.
    """
    if isinstance(identifier, (Optimizer, TFOptimizer)):
        return identifier
    if isinstance(identifier, tf.train.Optimizer):
        return TFOptimizer(identifier)
    if isinstance(identifier, Mapping):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    raise InvalidArgumentError(f"Could not interpret optimizer identifier: {identifier!r}")

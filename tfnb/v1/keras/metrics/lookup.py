"""Metrics by name or configuration (`tf.keras.metrics.get`).

Invariant: "acc" and "accuracy" have no meaning here; a model chooses one by the shape of its output.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.v1.keras.metrics import base, confusion, functions, means
from tfnb.v1.keras.serialization import deserialize_keras_object, serialize_keras_object

__all__ = ["deserialize", "get", "serialize"]

_KNOWN: Mapping[str, Any] = {
    name: value
    for module in (functions, base, means, confusion)
    for name, value in vars(module).items()
    if not name.startswith("_") and callable(value)
}


def serialize(metric: object) -> Any:
    """Returns the name of a metric function, or the configuration of a metric."""
    return serialize_keras_object(metric)


def deserialize(config: str | Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the metric of a name or configuration."""
    return deserialize_keras_object(config, _KNOWN, custom_objects, "metric function")


def get(identifier: object) -> Any:
    """Returns the metric of a name or configuration; callables are returned unchanged.

    Raises `InvalidArgumentError` for anything else.
    """
    if isinstance(identifier, (str, Mapping)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise InvalidArgumentError(f"Could not interpret metric function identifier: {identifier!r}")

"""The classes of layers by name, from which configurations make layers.

Invariant: a class is known once its module is loaded; `tfnb.v1.keras.layers.catalog` loads all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tfnb.v1.keras.serialization import deserialize_keras_object, serialize_keras_object

__all__ = ["deserialize", "register", "serialize"]

_CLASSES: dict[str, Any] = {}
_Class = TypeVar("_Class", bound=type)


def register(*names: str) -> Callable[[_Class], _Class]:
    """Returns a decorator that makes a class known by its own name and by `names`."""

    def add(cls: _Class) -> _Class:
        _CLASSES.update(dict.fromkeys((cls.__name__, *names), cls))
        return cls

    return add


def serialize(layer: object) -> Any:
    """Returns the configuration of a layer."""
    return serialize_keras_object(layer)


def deserialize(config: str | Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the layer, or the model, of a dictionary {"class_name", "config"}."""
    return deserialize_keras_object(config, _CLASSES, custom_objects, "layer")

"""Objects of Keras as dictionaries {"class_name", "config"}, and back; and the custom classes that a program adds.

Invariant: `deserialize_keras_object(serialize_keras_object(x), ...)` has the class and the configuration of x.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from tfnb.errors import InvalidArgumentError

__all__ = [
    "CustomObjectScope",
    "custom_object_scope",
    "deserialize_keras_object",
    "get_custom_objects",
    "has_arg",
    "serialize_keras_object",
]

_CUSTOM: dict[str, Any] = {}


class CustomObjectScope:
    """Within the block the names of the given dictionaries are known to functions that read configurations."""

    def __init__(self, *args: Mapping[str, Any]) -> None:
        self.custom_objects = args
        self.backup: dict[str, Any] | None = None

    def __enter__(self) -> CustomObjectScope:
        self.backup = _CUSTOM.copy()
        for objects in self.custom_objects:
            _CUSTOM.update(objects)
        return self

    def __exit__(self, *args: object) -> None:
        _CUSTOM.clear()
        _CUSTOM.update(self.backup or {})


def custom_object_scope(*args: Mapping[str, Any]) -> CustomObjectScope:
    """Returns a `CustomObjectScope` of the given dictionaries from names to classes or functions."""
    return CustomObjectScope(*args)


def get_custom_objects() -> dict[str, Any]:
    """Returns the global dictionary from names to custom classes and functions; changes of it take effect."""
    return _CUSTOM


def serialize_keras_object(instance: object) -> Any:
    """Returns the dictionary {"class_name", "config"} of an object with `get_config`, or the name of a function.

    Raises `InvalidArgumentError` for anything else.
    """
    if instance is None:
        return None
    if hasattr(instance, "get_config"):
        config = {k: v for k, v in instance.get_config().items()}
        return {"class_name": type(instance).__name__, "config": config}
    if hasattr(instance, "__name__"):
        return instance.__name__
    raise InvalidArgumentError(f"{instance!r} has neither get_config nor a name, and cannot be serialized")


def deserialize_keras_object(
    identifier: object,
    module_objects: Mapping[str, Any] | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    printable_module_name: str = "object",
) -> Any:
    """Returns the object of a dictionary {"class_name", "config"}, or the function or instance of a name.

    Names are looked up in `custom_objects`, then among those of custom object scopes, then in `module_objects`.
    Raises `InvalidArgumentError` for an unknown name.
    """
    known = {**(module_objects or {}), **_CUSTOM, **(custom_objects or {})}
    if isinstance(identifier, Mapping):
        if "class_name" not in identifier or "config" not in identifier:
            raise InvalidArgumentError(f"Improper config format: {identifier}; needed class_name and config")
        cls = _known(identifier["class_name"], known, printable_module_name)
        config = dict(identifier["config"] or {})
        if not hasattr(cls, "from_config"):
            with CustomObjectScope(custom_objects or {}):
                return cls(**config)
        if has_arg(cls.from_config, "custom_objects"):
            return cls.from_config(config, custom_objects={**_CUSTOM, **(custom_objects or {})})
        with CustomObjectScope(custom_objects or {}):
            return cls.from_config(config)
    if isinstance(identifier, str):
        found = _known(identifier, known, printable_module_name)
        return found() if inspect.isclass(found) else found
    raise InvalidArgumentError(f"Could not interpret the {printable_module_name} identifier {identifier!r}")


def _known(name: str, known: Mapping[str, Any], what: str) -> Any:
    if known.get(name) is None:
        raise InvalidArgumentError(f"Unknown {what}: {name}")
    return known[name]


def has_arg(function: Callable[..., Any], name: str, accept_all: bool = False) -> bool:
    """Returns whether a function has the parameter `name`, or, with `accept_all`, takes any keyword."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    if accept_all and any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return True
    return name in parameters and parameters[name].kind is not inspect.Parameter.VAR_KEYWORD

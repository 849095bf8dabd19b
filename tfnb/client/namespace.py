"""The public namespace: dotted names become modules with attributes (`tf.nn.relu`, `tf.train.AdamOptimizer`).

Invariant: `from tfnb.nn import relu` and `tf.nn.relu` are the same object.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

__all__ = ["Lazy", "lay_out", "show_elsewhere"]


class Lazy:
    """A public name whose value `load()` computes when it is first used."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self.load = load


def lay_out(root: ModuleType, api: Mapping[str, Any]) -> None:
    """Sets every dotted name of `api` as an attribute below `root`, and creates the modules on the way."""
    for name, value in api.items():
        *path, last = name.split(".")
        module = root
        for part in path:
            module = _child(module, part)
        if isinstance(value, Lazy):
            _defer(module, last, value)
        else:
            setattr(module, last, value)


def _defer(place: ModuleType, name: str, value: Lazy) -> None:
    """Lets the module `place` load `name` on first use (PEP 562)."""
    lazy_values = place.__dict__.setdefault("__lazy__", {})
    lazy_values[name] = value

    def missing(attribute: str) -> Any:
        if attribute not in lazy_values:
            raise AttributeError(f"module {place.__name__!r} has no attribute {attribute!r}")
        loaded = lazy_values[attribute].load()
        setattr(place, attribute, loaded)
        return loaded

    place.__dict__["__getattr__"] = missing


def _child(parent: ModuleType, name: str) -> ModuleType:
    child = parent.__dict__.get(name)
    if isinstance(child, ModuleType):
        return child
    full_name = f"{parent.__name__}.{name}"
    module = ModuleType(full_name, f"The public names of `tf.{full_name.partition('.')[2]}`.")
    sys.modules.setdefault(full_name, module)
    setattr(parent, name, module)
    return module


def show_elsewhere(root: ModuleType, views: Mapping[str, Sequence[str]]) -> None:
    """Creates modules below `root` whose attributes are looked up in other places on use.

    views: from a dotted module to the dotted places that it shows, in the order of the search; "" is `root` itself.
    Attributes that `lay_out` has set in such a module take precedence.
    """
    for name, locations in views.items():
        module = root
        for part in name.split("."):
            module = _child(module, part)
        module.__dict__["__getattr__"] = _finder(root, module.__name__, locations)


def _finder(root: ModuleType, module: str, places: Sequence[str]) -> Callable[[str], Any]:
    def find(attribute: str) -> Any:
        if not attribute.startswith("__"):
            for location in places:
                value = root
                for part in filter(None, location.split(".")):
                    value = getattr(value, part)
                if hasattr(value, attribute):
                    return getattr(value, attribute)
        raise AttributeError(f"module {module!r} has no attribute {attribute!r}")

    return find

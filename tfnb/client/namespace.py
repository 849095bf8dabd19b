"""The public namespace: dotted names become modules with attributes (`tf.nn.relu`, `tf.train.AdamOptimizer`).

Invariant: `from tfnb.nn import relu` and `tf.nn.relu` are the same object.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["Lazy", "lay_out", "lazy_names", "refuse", "show_elsewhere", "show_names"]

# the packages of TensorFlow's source whose modules import each other
_SOURCES = ("python.framework.", "python.ops.", "python.platform.", "python.training.")
_ABSENT = object()


class Lazy:
    """A public name whose value `load()` computes when it is first used."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self.load = load


def lazy_names(table: str) -> dict[str, Lazy]:
    """Returns the names of `table`, whose modules are imported when one of them is first used.

    A line is "places : module : names", where each of the places has all of the names, or `new=old` where the name in
    the module is another one.
    """
    result = {}
    for line in filter(None, map(str.strip, table.splitlines())):
        places, module, names = (part.strip() for part in line.split(":"))
        for name in names.split():
            public, _, original = name.partition("=")
            value = Lazy(partial(_imported, module, original or public))
            for place in places.split():
                result[public if place == "tf" else f"{place}.{public}"] = value
    return result


def _imported(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def lay_out(root: ModuleType, api: Mapping[str, Any]) -> None:
    """Sets every dotted name of `api` as an attribute below `root`, and creates the modules on the way."""
    for name, value in api.items():
        path, _, last = name.rpartition(".")
        module = _module_at(root, path)
        if isinstance(value, Lazy):
            _defer(module, last, value)
        else:
            setattr(module, last, value)


def _defer(place: ModuleType, name: str, value: Lazy) -> None:
    """Lets the module `place` load `name` on first use (PEP 562)."""
    lazy_values = place.__dict__.setdefault("__lazy__", {})
    if not lazy_values:
        _look_up(place, lambda attribute: _loaded(place, lazy_values, attribute))
        place.__dict__.setdefault("__dir__", lambda: sorted({*place.__dict__, *lazy_values}))
    lazy_values[name] = value


def _loaded(place: ModuleType, lazy_values: Mapping[str, Lazy], name: str) -> Any:
    if name not in lazy_values:
        raise AttributeError(f"module {place.__name__!r} has no attribute {name!r}")
    value = lazy_values[name].load()
    setattr(place, name, value)
    return value


def _look_up(module: ModuleType, find: Callable[[str], Any]) -> None:
    """Lets `find` look attributes up that `module` does not have, and that are not found in earlier ways."""
    earlier: Callable[[str], Any] | None = module.__dict__.get("__getattr__")
    module.__dict__["__getattr__"] = partial(_find_in_two, earlier, find) if earlier else find


def _find_in_two(first: Callable[[str], Any], second: Callable[[str], Any], attribute: str) -> Any:
    try:
        return first(attribute)
    except AttributeError:
        return second(attribute)


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
    Attributes that `lay_out` has set in such a module take precedence. A module of TensorFlow's source also shows the
    modules beside it, of which it imports many: `from tensorflow.python.ops.rnn import rnn_cell_impl`.
    """
    siblings = {name.rpartition(".")[2]: name for name in reversed(list(views)) if name.startswith(_SOURCES)}
    for name, locations in views.items():
        module = _module_at(root, name)
        _look_up(module, _finder(root, module.__name__, locations, siblings if name.startswith(_SOURCES) else {}))


def show_names(root: ModuleType, aliases: Mapping[str, str]) -> None:
    """Lets each dotted name of `aliases` mean what the dotted name that it maps to means, looked up on first use."""
    for name, original in aliases.items():
        path, _, last = name.rpartition(".")
        _defer(_module_at(root, path), last, Lazy(partial(_value_at, root, original)))


def refuse(root: ModuleType, packages: Mapping[str, str], names: Mapping[str, str]) -> None:
    """Lets the use of any name in `packages`, and of each of `names`, raise `AttributeError` with the reason."""
    for package, reason in packages.items():
        module = _module_at(root, package)
        _look_up(module, partial(_refuse_all, module.__name__, reason))
    by_module: dict[str, dict[str, str]] = {}
    for name, reason in names.items():
        path, _, last = name.rpartition(".")
        by_module.setdefault(path, {})[last] = reason
    for path, reasons in by_module.items():
        module = _module_at(root, path)
        _look_up(module, partial(_refuse_some, module.__name__, reasons))


def _refuse_all(module: str, reason: str, attribute: str) -> Any:
    refused = f"tf{module.partition('.')[1]}{module.partition('.')[2]}.{attribute}"
    if attribute.startswith("__"):
        raise AttributeError(f"module {module!r} has no attribute {attribute!r}")
    raise AttributeError(f"{refused} is not in tfnb: {reason}")


def _refuse_some(module: str, reasons: Mapping[str, str], attribute: str) -> Any:
    if attribute in reasons:
        return _refuse_all(module, reasons[attribute], attribute)
    raise AttributeError(f"module {module!r} has no attribute {attribute!r}")


def _module_at(root: ModuleType, path: str) -> ModuleType:
    """Returns the module at the dotted `path` below `root`, which is created when it is not there; "" is `root`."""
    module = root
    for part in filter(None, path.split(".")):
        module = _child(module, part)
    return module


def _value_at(root: ModuleType, name: str) -> Any:
    value: Any = root
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _finder(root: ModuleType, module: str, places: Sequence[str], siblings: Mapping[str, str]) -> Callable[[str], Any]:
    def find(attribute: str) -> Any:
        if not attribute.startswith("__"):
            for location in places:
                value = getattr(_value_at(root, location) if location else root, attribute, _ABSENT)
                # a module of tfnb's own source, such as tfnb.ops, is not what a program asks for
                if value is not _ABSENT and not (attribute in siblings and hasattr(value, "__file__")):
                    return value
            if attribute in siblings and attribute != module.rpartition(".")[2]:  # a module is not in itself
                return _value_at(root, siblings[attribute])
        raise AttributeError(f"module {module!r} has no attribute {attribute!r}")

    return find

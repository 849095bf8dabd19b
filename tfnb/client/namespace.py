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

from tfnb.suggestions import did_you_mean

__all__ = ["ABSENT", "Lazy", "elsewhere", "lay_out", "lazy_names", "refuse", "show_elsewhere", "show_names", "value_in"]

# Places that are not proposed to somebody who looks for a name.
_OF_OLD_PROGRAMS = ("compat", "contrib", "examples", "python", "raw_ops")
# the packages of TensorFlow's source whose modules import each other
_SOURCES = ("python.framework.", "python.ops.", "python.platform.", "python.training.")
ABSENT = object()  # stands for a value that is not there


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
    places: dict[str, list[str]] = root.__dict__.setdefault("__places__", {})  # where each last name is
    for name, value in api.items():
        path, _, last = name.rpartition(".")
        if not path.startswith(_OF_OLD_PROGRAMS):
            places.setdefault(last, []).append(path)
        module = _module_at(root, path)
        if isinstance(value, Lazy):
            _defer(module, last, value)
        else:
            setattr(module, last, value)


def _defer(place: ModuleType, name: str, value: Lazy) -> None:
    """Lets the module `place` load `name` on first use (PEP 562)."""
    lazy_values = place.__dict__.setdefault("__lazy__", {})
    if not lazy_values:
        _look_up(place, partial(_loaded, place, lazy_values))
        place.__dict__.setdefault("__dir__", lambda: sorted({*place.__dict__, *lazy_values}))
    lazy_values[name] = value


def _loaded(place: ModuleType, lazy_values: Mapping[str, Lazy], name: str) -> Any:
    if name not in lazy_values:
        return ABSENT
    value = lazy_values[name].load()
    setattr(place, name, value)
    return value


def _look_up(module: ModuleType, find: Callable[[str], Any]) -> None:
    """Lets `find` look attributes up that `module` does not have, and that are not found in earlier ways.

    `find` returns `ABSENT` for what it does not know.
    """
    _ways(module).append(find)


def _ways(module: ModuleType) -> list[Callable[[str], Any]]:
    """The ways in which attributes of `module` are looked up that it does not have: its list `__ways__`."""
    ways: list[Callable[[str], Any]] | None = module.__dict__.get("__ways__")
    if ways is None:
        ways = module.__dict__["__ways__"] = []
        of_its_source: Callable[[str], Any] | None = module.__dict__.get("__getattr__")
        if of_its_source is not None:
            ways.append(partial(_by_source, of_its_source))
        module.__dict__["__getattr__"] = partial(_attribute, module)
    return ways


def _by_source(of_its_source: Callable[[str], Any], name: str) -> Any:
    try:
        return of_its_source(name)
    except AttributeError:
        return ABSENT


def _attribute(module: ModuleType, name: str) -> Any:
    value = _value_by_ways(module, name)
    if value is ABSENT:
        raise _missing(module, name)
    return value


def _value_by_ways(module: ModuleType, name: str) -> Any:
    for find in module.__dict__["__ways__"]:
        value = find(name)
        if value is not ABSENT:
            return value
    return ABSENT


def value_in(place: Any, name: str) -> Any:
    """Returns the attribute `name` of a module or another object, or `ABSENT`. A miss costs as little as a hit."""
    if isinstance(place, ModuleType) and "__ways__" in place.__dict__:
        value = place.__dict__.get(name, ABSENT)
        return _value_by_ways(place, name) if value is ABSENT else value
    return getattr(place, name, ABSENT)


def _missing(module: ModuleType, name: str) -> AttributeError:
    """Returns the error for an attribute that a module does not have: why it is refused, or what may be meant."""
    reason = module.__dict__.get("__refused__", {}).get(name) or module.__dict__.get("__refused_package__")
    if name.startswith("__"):
        message = f"module {module.__name__!r} has no attribute {name!r}"
    elif reason is not None:
        root, dot, below = module.__name__.partition(".")
        message = f"tf{dot}{below}.{name} is not in {root}: {reason}"
    else:
        message = f"module {module.__name__!r} has no attribute {name!r}{_meant(module, name)}"
    # Python would add a proposal of its own, from the names of `obj`.
    return AttributeError(message, name=name, obj=None)


def elsewhere(root: ModuleType, path: str) -> str:
    """Returns "it is tf.PLACE.NAME" if the last name of the dotted `path` is in another place below `root`; or ""."""
    here, _, name = path.rpartition(".")
    places = [place for place in root.__dict__["__places__"].get(name, ()) if place != here]
    if not places:
        return ""
    place = min(places, key=lambda p: len(p.split(".")) if p else 0)  # the first of the least depth
    return f"it is tf.{place}.{name}" if place else f"it is tf.{name}"


def _meant(module: ModuleType, name: str) -> str:
    """Returns the end of a message: where else `name` is, or which names of the `module` are near to it; or ""."""
    root_name, _, below = module.__name__.partition(".")
    root = sys.modules[root_name]
    place = elsewhere(root, f"{below}.{name}" if below else name)
    if place:
        return f"; {place}"
    shown = [_value_at(root, place) if place else root for place in module.__dict__.get("__shown__", ())]
    return did_you_mean(name, (n for place in (module, *shown) for n in dir(place) if not n.startswith("_")))


def _child(parent: ModuleType, name: str) -> ModuleType:
    child = parent.__dict__.get(name)
    if isinstance(child, ModuleType):
        return child
    full_name = f"{parent.__name__}.{name}"
    module = ModuleType(full_name, f"The public names of `tf.{full_name.partition('.')[2]}`.")
    _ways(module)
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
        module.__dict__["__shown__"] = locations
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
        module.__dict__["__refused_package__"] = reason
        _ways(module)
    for name, reason in names.items():
        path, _, last = name.rpartition(".")
        module = _module_at(root, path)
        module.__dict__.setdefault("__refused__", {})[last] = reason
        _ways(module)


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
                value = value_in(_value_at(root, location) if location else root, attribute)
                # a module of tfnb's own source, such as tfnb.ops, is not what a program asks for
                if value is not ABSENT and not (attribute in siblings and hasattr(value, "__file__")):
                    return value
            if attribute in siblings and attribute != module.rpartition(".")[2]:  # a module is not in itself
                return _value_at(root, siblings[attribute])
        return ABSENT

    return find

"""The public namespace: dotted names become modules with attributes (`tf.nn.relu`, `tf.train.AdamOptimizer`).

One table, which `scripts/public_names.py` writes from the definitions, says where each public name is defined. A place
such as `tf.nn` is a module object that is created when it is first asked for, and a name is loaded when it is first
used; the index of the table is made by the first look-up, so that `import tfnb` pays for none of it.
Invariant: `from tfnb.nn import relu` and `tf.nn.relu` are the same object.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NamedTuple

from tfnb.suggestions import did_you_mean

__all__ = ["ABSENT", "Lazy", "Namespace", "Tables", "elsewhere", "entries", "lazy_names", "value_in"]

# Places that are not proposed to somebody who looks for a name.
_OF_OLD_PROGRAMS = ("compat", "contrib", "examples", "python", "raw_ops")
# the packages of TensorFlow's source whose modules import each other
_SOURCES = ("python.framework.", "python.ops.", "python.platform.", "python.training.")
ABSENT = object()  # stands for a value that is not there


class Lazy:
    """A public name whose value `load()` computes when it is first used."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self.load = load


class Tables(NamedTuple):
    """What a namespace consists of.

    names: texts in the form of `entries`. views: from a dotted module to the dotted places that it shows, in the order
    of the search; "" is the root itself. refused_packages and refused_names: from a dotted name to the reason why it is
    not there.
    """

    names: Sequence[str]
    views: Mapping[str, Sequence[str]]
    refused_packages: Mapping[str, str]
    refused_names: Mapping[str, str]


def entries(table: str) -> Iterable[tuple[str, str, str, str]]:
    """Yields (place, public name, module, name in the module) of a table; the place of `tf` itself is "".

    A line is "places : module : names", where each of the places has all of the names, or `new=old` where the name in
    the module is another one. A module `tfnb.PATH.API` stands for that dictionary of `tfnb.PATH`, whose keys are
    dotted public names, and `tf` and `tf.PLACE` for the public names there.
    """
    for line in filter(None, map(str.strip, table.splitlines())):
        places, module, names = line.split(" : ")
        for place in places.split():
            path = "" if place == "tf" else place
            for name in names.split():
                public, _, original = name.partition("=")
                yield path, public, module, original or public


def lazy_names(table: str) -> dict[str, Lazy]:
    """Returns the names of `table` (see `entries`), whose modules are imported when one of them is first used."""
    return {_joined(at, name): Lazy(partial(_imported, module, old)) for at, name, module, old in entries(table)}


def _imported(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _joined(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


class _Place:
    """What the tables say about a place.

    names: from a name to its module and its name there. below: the last names of the places below it. shown: the places
    whose names it shows. siblings: from a name to the place of the module of TensorFlow's source that it imports.
    """

    __slots__ = ("below", "names", "shown", "siblings")

    def __init__(self) -> None:
        self.names: dict[str, tuple[str, str]] = {}
        self.below: set[str] = set()
        self.shown: tuple[str, ...] = ()
        self.siblings: Mapping[str, str] = {}


class Namespace:
    """The public names below the module `root`. In `sys.meta_path` it lets `import tfnb.nn` find its places.

    packages: the modules of tfnb's source that are public places too, `tfnb.train` for one. tables: returns what the
    namespace consists of, called at the first look-up.
    """

    def __init__(self, root: ModuleType, packages: Sequence[ModuleType], tables: Callable[[], Tables]) -> None:
        self._root = root
        self._make_tables = tables
        self._modules: dict[str, ModuleType] = {}  # the places that there are, by their dotted names below the root
        self._sources: dict[str, Callable[[str], Any]] = {}  # the `__getattr__` that a real module defines itself
        # Modules of the source that two threads begin to import from two sides would see each other half made.
        self.loading = threading.RLock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)
        for module in (root, *packages):
            self._attach(module, module.__name__.partition(".")[2])

    def _after_fork(self) -> None:
        self.loading = threading.RLock()

    @cached_property
    def _tables(self) -> Tables:
        return self._make_tables()

    @cached_property
    def _places(self) -> dict[str, _Place]:
        """What the tables say about each place, and an entry for each that is made, by its dotted name."""
        tables = self._tables
        places = {place: _Place() for place in self._modules}
        for text in tables.names:
            for place, name, module, original in entries(text):
                places.setdefault(place, _Place()).names[name] = (module, original)
        # The modules of TensorFlow's source import each other: `from tensorflow.python.ops.rnn import rnn_cell_impl`.
        siblings = {n.rpartition(".")[2]: n for n in reversed(list(tables.views)) if n.startswith(_SOURCES)}
        for place, shown in tables.views.items():
            record = places.setdefault(place, _Place())
            record.shown = tuple(shown)
            record.siblings = siblings if place.startswith(_SOURCES) else {}
        for place in (*tables.refused_packages, *(name.rpartition(".")[0] for name in tables.refused_names)):
            places.setdefault(place, _Place())
        for place in list(places):
            while place:
                parent, _, last = place.rpartition(".")
                places.setdefault(parent, _Place()).below.add(last)
                place = parent
        return places

    def names_at(self, place: str) -> set[str]:
        """Returns the names of a dotted `place` that the tables have, loaded or not."""
        record = self._places.get(place, _Place())
        return {*record.names, *record.below}

    def find(self, module: ModuleType, place: str, name: str) -> Any:
        """Returns the attribute `name` of `module`, which is the dotted `place`, or `ABSENT`."""
        value = module.__dict__.get(name, ABSENT)
        if value is not ABSENT:
            return value
        if name == "__path__":  # which Python asks for at each `from tfnb.errors import`
            return ABSENT
        record = self._places[place]
        if name in record.below:
            return self._module_at(_joined(place, name))
        if name in record.names:
            with self.loading:
                value = self._loaded(_joined(place, name), *record.names[name])
            setattr(module, name, value)
            return value
        if place in self._sources:
            try:
                with self.loading:
                    return self._sources[place](name)
            except AttributeError:
                pass
        if name[:2] == "__":
            return ABSENT
        for location in record.shown:
            at = self._modules.get(location)
            value = value_in(self._value_at(location), name) if at is None else self.find(at, location, name)
            # a module of tfnb's own source, such as tfnb.ops, is not what a program asks for
            if value is not ABSENT and not (name in record.siblings and hasattr(value, "__file__")):
                return value
        if name in record.siblings and name != place.rpartition(".")[2]:  # a module is not in itself
            return self._module_at(record.siblings[name])
        return ABSENT

    def _loaded(self, path: str, module: str, original: str) -> Any:
        if module.endswith(".API"):
            value = import_module(module[: -len(".API")]).API[path]
            return value.load() if isinstance(value, Lazy) else value
        if module == "tf" or module.startswith("tf."):
            return getattr(self._value_at(module[len("tf.") :]), original)
        return _imported(module, original)

    def _value_at(self, path: str) -> Any:
        value: Any = self._root
        for part in filter(None, path.split(".")):
            value = getattr(value, part)
        return value

    def _module_at(self, place: str) -> ModuleType:
        """The module of a dotted place that the tables have, which is created when it is not there."""
        module = self._modules.get(place)
        if module is None:
            parent_path, _, last = place.rpartition(".")
            parent = self._module_at(parent_path)
            name = f"{self._root.__name__}.{place}"
            created = ModuleType(name, f"The public names of `tf.{place}`.")
            created.__path__ = []  # as a package it may have modules below it
            module = sys.modules.setdefault(name, created)
            self._attach(module, place)
            setattr(parent, last, module)
        return module

    def _attach(self, module: ModuleType, place: str) -> None:
        """Lets the attributes of `module` be those of the dotted `place` (PEP 562)."""
        own = module.__dict__
        if "__getattr__" in own:
            self._sources[place] = own["__getattr__"]
        own["__find__"] = partial(self.find, module, place)
        own["__getattr__"] = partial(self._attribute, module, place)
        own.setdefault("__dir__", lambda: sorted({*own, *self.names_at(place)}))
        self._modules[place] = module

    def _attribute(self, module: ModuleType, place: str, name: str) -> Any:
        value = self.find(module, place, name)
        if value is ABSENT:
            raise self._missing(module, place, name)
        return value

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns how to load a place, which `import tfnb.nn` asks for; None for other modules."""
        root, _, place = fullname.partition(".")
        if root != self._root.__name__ or not place or place not in self._places:
            return None
        loader: Any = self
        return ModuleSpec(fullname, loader, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Returns the module of a place."""
        return self._module_at(spec.name.partition(".")[2])

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: attributes are looked up when they are used."""

    def _missing(self, module: ModuleType, place: str, name: str) -> AttributeError:
        """The error for an attribute that a module does not have: why it is refused, or what may be meant."""
        reasons = self._tables.refused_names.get(_joined(place, name)), self._tables.refused_packages.get(place)
        reason = reasons[0] or reasons[1]
        if name.startswith("__"):
            message = f"module {module.__name__!r} has no attribute {name!r}"
        elif reason is not None:
            message = f"tf.{_joined(place, name)} is not in {self._root.__name__}: {reason}"
        else:
            message = f"module {module.__name__!r} has no attribute {name!r}{self._meant(module, place, name)}"
        # Python would add a proposal of its own, from the names of `obj`.
        return AttributeError(message, name=name, obj=None)

    def _meant(self, module: ModuleType, place: str, name: str) -> str:
        """The end of a message: where else `name` is, or which names of the place are near to it; or ""."""
        other = self.elsewhere(_joined(place, name))
        if other:
            return f"; {other}"
        if name.startswith(
            "_"
        ):  # nobody means a public name by it; tools ask whether it is there, as pytest does often
            return ""
        shown = [self._value_at(location) for location in self._places[place].shown]
        return did_you_mean(name, (n for where in (module, *shown) for n in dir(where) if not n.startswith("_")))

    def elsewhere(self, path: str) -> str:
        """Returns "it is tf.PLACE.NAME" if the last name of the dotted `path` is in another place; or ""."""
        here, _, name = path.rpartition(".")
        having = (p for p, at in self._places.items() if p != here and name in at.names)
        places = [p for p in having if not p.startswith(_OF_OLD_PROGRAMS)]
        if not places:
            return ""
        place = min(places, key=lambda p: len(p.split(".")) if p else 0)  # the first of the least depth
        return f"it is tf.{_joined(place, name)}"


def value_in(place: object, name: str) -> Any:
    """Returns the attribute `name` of a module or another object, or `ABSENT`. A miss costs as little as a hit."""
    find = place.__dict__.get("__find__") if isinstance(place, ModuleType) else None
    return getattr(place, name, ABSENT) if find is None else find(name)


def elsewhere(root: ModuleType, path: str) -> str:
    """Returns "it is tf.PLACE.NAME" if the last name of the dotted `path` is in another place below `root`; or ""."""
    namespace: Namespace = root.__dict__["__find__"].func.__self__
    return namespace.elsewhere(path)

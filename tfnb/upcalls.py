"""Functions of higher layers that lower ones call by name: a tensor's operators, the first graph, a run in a session.

No layer imports a higher one. The table in `tfnb/__init__.py` says which module has which function, and that module is
imported at the first call. Invariant: what a lower layer can call is there, whatever a program has imported or called
before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["install", "load_by", "upcall"]


class _Functions(dict[str, Callable[..., Any]]):
    """The functions that are installed. `load(name)` installs one that is needed and is not there yet."""

    load: Callable[[str], object]

    def __missing__(self, name: str) -> Callable[..., Any]:
        self.load(name)
        return self[name] if name in self else super().__getitem__(name)


_functions = _Functions()


def load_by(load: Callable[[str], object]) -> None:
    """Lets `load` be called with the name of a function that is needed and is not installed; it installs it."""
    _functions.load = load


def install(table: Mapping[str, Callable[..., Any]]) -> None:
    """Installs functions by their names; called by the catalogue of operations, and for others at their first call."""
    _functions.update(table)


def upcall(name: str, *args: object) -> Any:
    """Calls a function of a higher layer. The caller holds no lock, since it may have to be imported."""
    return _functions[name](*args)

"""Objects that are known as long as they exist, and can be listed while other threads add some.

A `weakref.WeakSet` is iterated by code in Python, so an object that another thread adds meanwhile ends the iteration
with a RuntimeError. Invariant: `list` reads the table in one go and returns strong references.
"""

from __future__ import annotations

import weakref
from functools import partial
from typing import Generic, TypeVar

__all__ = ["LiveObjects"]

T = TypeVar("T")


class LiveObjects(Generic[T]):
    """Weak references to objects. All methods may be called from any thread, and from signal handlers."""

    def __init__(self) -> None:
        self._references: dict[int, weakref.ref[T]] = {}

    def add(self, item: T) -> None:
        """Adds an object, which is forgotten when it is destroyed."""
        references, key = self._references, id(item)
        # Not a lambda: when a process ends, Python 3.10 empties the module before the last objects go.
        references[key] = weakref.ref(item, partial(_forget, references, key))

    def list(self) -> list[T]:
        """Returns the objects that exist, in the order in which they were added."""
        return [item for reference in tuple(self._references.values()) if (item := reference()) is not None]


def _forget(references: dict[int, weakref.ref[T]], key: int, reference: weakref.ref[T]) -> None:
    """Removes a reference, unless another object has the address of the destroyed one by now."""
    if references.get(key) is reference:
        del references[key]

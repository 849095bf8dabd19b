"""Who holds an array: whether it may change hands between the user and tfnb without a copy.

Inside tfnb no value changes once it is there (`runtime/values.py`), so values are passed on without copies. What the
user has is his to change. Where a value passes from one to the other it is copied, unless CPython's counts of
references show that nobody else holds it or memory of it. Invariant: in doubt there is a copy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from sys import getrefcount

import numpy as np

__all__ = ["OwnedMemory", "arguments", "make_own"]

_SMALL = 1 << 12  # bytes: to copy so few takes less time than to count references


class OwnedMemory(np.ndarray):
    """Raw bytes for a single array at a time: nobody else reads or writes them while that array exists."""

    __slots__ = ()


def make_own(values: list[np.ndarray], places: Iterable[int]) -> None:
    """Replaces those arrays at these places of a list by copies that somebody else may hold, or that nobody may write.

    The caller must hold the arrays by this list only. NumPy's scalars, which nobody can change, may be among them.
    """
    for k in places:
        array = values[k]
        if isinstance(array, np.ndarray):
            values[k] = None  # type: ignore[call-overload]
            is_own = array.nbytes > _SMALL and getrefcount(array) <= _HELD and _has_own_memory(array)
            values[k] = array if is_own else array.copy()


def arguments(values: Sequence[np.ndarray], owned: Collection[int] = ()) -> Iterator[np.ndarray]:
    """Yields the arguments of a function of the user's: copies, except of the values whose numbers are in `owned`."""
    for k, value in enumerate(values):
        yield value if k in owned and value.flags.writeable else value.copy()


def _has_own_memory(array: np.ndarray) -> bool:
    """Returns whether the memory of an array may be written, and no other array or object has it."""
    base = array.base
    if isinstance(base, OwnedMemory):
        return True
    if type(array) is not np.ndarray or not array.flags.writeable:
        return False
    if base is None:
        return array.flags.owndata
    while isinstance(base, np.ndarray):
        if isinstance(base, OwnedMemory):
            return True
        if getrefcount(base) > _HELD_AS_BASE:
            return False
        if base.base is None:
            return base.flags.owndata
        base = base.base
    return type(base) is bytearray and getrefcount(base) <= _HELD_AS_BASE


def _counts() -> tuple[int, int]:
    """The references of an array that a variable alone holds, and of one that is also the base of a view.

    Versions of Python differ in whether a variable and the argument of a call count twice.
    """
    array = np.empty(2)
    held = getrefcount(array)
    view = array[:1]
    del array
    base = view.base
    return held, getrefcount(base)


_HELD, _HELD_AS_BASE = _counts()

"""Who holds an array: whether it may change hands between the user and tfnb without a copy.

Inside tfnb no value changes once it is there (`runtime/values.py`), so values are passed on without copies. What the
user has is his to change. Where a value passes from one to the other it is copied, unless CPython's counts of
references show that nobody else holds it or memory of it. Invariant: in doubt there is a copy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from sys import getrefcount

import numpy as np

__all__ = ["OwnedMemory", "arguments", "make_own"]

_SMALL = 1 << 12  # bytes: to copy so few takes less time than to count references


class OwnedMemory(np.ndarray):
    """Raw bytes for a single array at a time: nobody else reads or writes them while that array exists."""

    __slots__ = ()


def make_own(values: list[np.ndarray], scalars: bool = True) -> None:
    """Replaces those arrays of a list by copies that somebody else may hold, or that nobody may write.

    The caller must hold the arrays by this list only. NumPy's scalars, which nobody can change, may be among them.
    Arrays of shape () stay as they are unless `scalars` is set, for callers that make NumPy's scalars of them.
    """
    for k in range(len(values)):
        array = values[k]
        if isinstance(array, np.ndarray) and (array.ndim or scalars):
            if array.nbytes <= _SMALL:
                values[k] = array.copy()
                continue
            del array
            if not _is_own(values, k):
                values[k] = values[k].copy()


def arguments(values: Sequence[np.ndarray], owned: Collection[int] = ()) -> Iterator[np.ndarray]:
    """Yields the arguments of a function of the user's: copies, except of the values whose numbers are in `owned`."""
    for k, value in enumerate(values):
        yield value if k in owned and value.flags.writeable else value.copy()


def _is_own(values: list[np.ndarray], k: int) -> bool:
    array = values[k]
    if type(array) is not np.ndarray or not array.flags.writeable:
        return False
    values[k] = None  # type: ignore[call-overload]  # the list holds it again below
    count = getrefcount(array)
    values[k] = array
    return count <= _HELD_BY_LIST and _has_own_memory(array)


def _has_own_memory(array: np.ndarray) -> bool:
    """Returns whether no other array has the memory of this one."""
    base = array.base
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
    """The references of an array that one list holds, and of one that is the base of a view, as the functions above see
    them: versions of Python differ in whether a variable and an argument count."""
    values = [np.empty(1)]
    array = values[0]
    values[0] = None  # type: ignore[call-overload]
    held = getrefcount(array)
    values[0] = array
    del array
    view = np.empty(2)[:1]
    base = view.base
    return held, getrefcount(base)


_HELD_BY_LIST, _HELD_AS_BASE = _counts()

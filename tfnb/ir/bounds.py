"""Bounds: the range of the numbers that an op takes as indices, labels, starts or lengths.

A device cannot raise an error in the middle of a kernel, so numbers that the host holds are compared with their bounds
before the kernel runs. Invariant: if a comparison fails, no kernel of the program has run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tfnb.types import bracketed

__all__ = ["Bound", "Check", "Outsider", "outside"]

_largest = np.maximum.reduce  # `max` of an array is a function of Python around it
_UNSIGNED = {np.dtype(np.int32): np.uint32, np.dtype(np.int64): np.uint64}


class Outsider(NamedTuple):
    """A number that is out of bounds: its value, the number below which it should be, and its place in the input."""

    value: int
    high: int
    place: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """The values of the op's integer input `input` lie in [low, high).

    `high` is a number, or one number for each position along the input's last axis. If `low` is None, no number is too
    low. `what` names a value in messages.
    """

    input: int
    high: int | tuple[int, ...]
    low: int | None = 0
    what: str = "index"

    def message(self, op: str, wrong: Outsider) -> str:
        """Returns the text of the error for `wrong`, the result of `outside`, in the op of the type `op`."""
        value, high, place = wrong
        if self.what == "label":
            return f"Received a label value of {value} which is outside the valid range of [{self.low}, {high})"
        if self.what == "minval":
            return f"{op}: Need minval < maxval, got {value} >= {high}"
        range_text = f"below {high}" if self.low is None else f"in [{self.low}, {high})"
        what = f"indices{bracketed(place) if place else ''} =" if self.what == "index" else self.what
        return f"{op}: {what} {value} is not {range_text}"


@dataclass(frozen=True, slots=True)
class Check:
    """A bound of the node `node` for the values that come as input `position` of a program."""

    position: int
    bound: Bound
    node: int


def outside(values: np.ndarray, bound: Bound) -> Outsider | None:
    """Returns the first of `values` that is out of bounds.

    Returns None if all values are within the bounds.
    """
    low, high = bound.low, bound.high
    if not values.size:
        return None
    if type(high) is int:
        if values.size == 1:
            n = values.item()
            is_out = n >= high or (low is not None and n < low)
            return Outsider(n, high, (0,) * values.ndim) if is_out else None
        # As unsigned numbers the negative ones are the largest of all.
        unsigned = _UNSIGNED.get(values.dtype) if low == 0 else None
        smallest = None if low is None or unsigned is not None else values.min()
        largest = _largest(values if unsigned is None else values.view(unsigned), None)
        if largest < high and (smallest is None or smallest >= low):
            return None
    limits = np.reshape(high, -1)
    rows = values.reshape(-1, limits.size)
    is_outside = rows >= limits
    if low is not None:
        is_outside |= rows < low
    if not is_outside.any():
        return None
    row, column = np.argwhere(is_outside)[0]
    place = tuple(int(i) for i in np.unravel_index(row * limits.size + column, values.shape))
    return Outsider(int(rows[row, column]), int(limits[column]), place)

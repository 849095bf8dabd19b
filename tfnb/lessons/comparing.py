"""Compares what an answer gave with what is right: what differs, and about how far, without saying what is right.

Invariant: no text contains an element of the value that is right, nor a difference so exact that one could add it up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Number

import numpy as np

from tfnb.errors import InternalError
from tfnb.lessons.case import RIGHT, Finding, Kind

__all__ = ["described", "difference", "difference_of_arrays"]

_STEPS = (
    (0.01, "less than 1% of it"),
    (0.1, "less than 10% of it"),
    (0.5, "less than half of it"),
    (2.0, "about its own size"),
)


def described(value: object) -> str:
    """Returns what a value is, in words: its type, and the dtype and shape of an array or a tensor."""
    if value is None:
        return "None"
    name = type(value).__name__
    if isinstance(value, np.ndarray):
        return f"a NumPy array of {value.dtype} {list(value.shape)}"
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return f"a {name} of {len(value)} element{'s' * (len(value) != 1)}"
    if isinstance(value, (str, bytes)):
        return f"a text ({name})"
    if callable(value) and hasattr(value, "__name__"):
        return f"a function {value.__name__}"
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def difference_of_arrays(got: np.ndarray, right: np.ndarray, rtol: float, atol: float) -> Finding:
    """Compares arrays: dtype and shape, then values within `rtol` and `atol`. NaN agrees with NaN."""
    if got.dtype.kind != right.dtype.kind or (got.dtype != right.dtype and right.dtype.kind in "iuf"):
        return Finding(Kind.SHAPE, f"the dtype is {got.dtype.name}; needed {right.dtype.name}")
    if got.shape != right.shape:
        return Finding(Kind.SHAPE, f"the shape is {list(got.shape)}; needed {list(right.shape)}")
    if right.dtype.kind not in "biufc":
        wrong = got != right
        return Finding(Kind.VALUE, _share(int(wrong.sum()), wrong.size)) if wrong.any() else RIGHT
    with np.errstate(all="ignore"):
        close = np.isclose(got, right, rtol, atol, equal_nan=True)
        if close.all():
            return RIGHT
        wide = np.complex128 if right.dtype.kind == "c" else np.float64
        far = np.abs(got.astype(wide) - right.astype(wide))[~close]
        relative = far / np.abs(right.astype(wide))[~close]
    if not np.isfinite(got[~close]).all():
        how = "some are infinite or NaN"
    else:
        how = f"the largest difference is {_amount(float(relative.max()))}"
    return Finding(Kind.VALUE, f"{_share(int((~close).sum()), close.size)}; {how}")


def difference(got: object, right: object, rtol: float = 1e-6) -> Finding:
    """Compares plain values: numbers, texts, and sequences and dictionaries of them."""
    if isinstance(right, str | bytes | bool | np.bool_):
        if not isinstance(got, type(right)) and not (isinstance(right, bool) and isinstance(got, np.bool_)):
            return _wrong_type(got, "a bool" if isinstance(right, bool) else "a text")
        return RIGHT if got == right else Finding(Kind.VALUE, "it is another one")
    if isinstance(right, Number | np.number):
        return _difference_of_numbers(got, right, rtol)
    if isinstance(right, Mapping):
        if not isinstance(got, Mapping):
            return _wrong_type(got, "a dictionary")
        if set(got) != set(right):
            return Finding(Kind.SHAPE, f"it has {len(got)} keys; needed these: {', '.join(map(str, right))}")
        return _first_of([got[k] for k in right], list(right.values()), rtol)
    if isinstance(right, Sequence):
        if isinstance(got, str | bytes) or not isinstance(got, Sequence | np.ndarray):
            return _wrong_type(got, "a list")
        if len(got) != len(right):
            kind = Kind.SHAPE if len(got) == 0 else Kind.VALUE
            return Finding(kind, f"the list is too {'long' if len(got) > len(right) else 'short'}")
        return _first_of(list(got), list(right), rtol)
    raise InternalError(f"an exercise needs a {type(right).__name__}, which is not compared; needed plain values")


def _wrong_type(got: object, needed: str) -> Finding:
    return Finding(Kind.SHAPE, f"it is {described(got)}; needed {needed}")


def _difference_of_numbers(got: object, right: object, rtol: float) -> Finding:
    if isinstance(got, bool) or not isinstance(got, Number | np.number):
        return _wrong_type(got, "a number")
    a, b = complex(np.asarray(got).item()), complex(np.asarray(right).item())
    if abs(a - b) <= rtol * max(abs(b), 1e-300):
        return RIGHT
    if a != a:
        return Finding(Kind.VALUE, "the number is NaN")
    far = abs(a - b) / abs(b) if b else float("inf")
    return Finding(Kind.VALUE, f"the number is too {'large' if a.real > b.real else 'small'}, off by {_amount(far)}")


def _first_of(got: Sequence[object], right: Sequence[object], rtol: float) -> Finding:
    """Returns what the elements differ in: the kind of the first that differs, and how many do."""
    found = [difference(a, b, rtol) for a, b in zip(got, right, strict=True)]
    wrong = [(i, f) for i, f in enumerate(found) if f.kind is not Kind.RIGHT]
    if not wrong:
        return RIGHT
    i, first = wrong[0]
    return Finding(first.kind, f"{_share(len(wrong), len(right))}, the first at index {i}: {first.text}")


def _share(n: int, of: int) -> str:
    return "it differs" if of == 1 else f"{n:,} of {of:,} elements differ{'s' * (n == 1)}"


def _amount(relative: float) -> str:
    return next((text for most, text in _STEPS if relative < most), "more than twice its size")

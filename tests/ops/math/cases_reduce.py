"""Cases of reductions and running sums."""

from __future__ import annotations

import numpy as np
from cases import Case, arr, ints

_NONE = np.zeros(0, np.int32)
_SHAPES: list[tuple[tuple[int, ...], object]] = [
    ((3, 4), np.array([0], np.int32)),
    ((3, 4), np.array([1], np.int32)),
    ((3, 4), np.array([0, 1], np.int32)),
    ((2, 3, 4), np.array([0, 2], np.int32)),
    ((2, 3, 4), np.array([-1], np.int64)),
    ((2, 3, 4), np.int32(1)),
    ((2, 3, 4, 2), np.array([1, 2], np.int32)),
    ((5,), _NONE),
    ((), _NONE),
    ((1, 7), np.array([0], np.int32)),
    ((33, 17), np.array([0], np.int32)),
]


def _reductions(op: str, grad: bool = True) -> list[Case]:
    found = [Case(op, (arr(*s, lo=0.5, hi=2.0), axes), grad=grad) for s, axes in _SHAPES]
    found += [Case(op, (arr(*s, lo=-2.0, hi=2.0), axes), {"keep_dims": True}, grad=grad) for s, axes in _SHAPES[:5]]
    return found


_EMPTY = [
    Case(op, (arr(0, 3), np.array([a], np.int32)), note=f"axis{a}", grad=False)
    for op in ("Sum", "Prod", "Max", "Min", "Mean")
    for a in (0, 1)
]
_INTS = [
    Case(op, (ints(3, 4, dtype=d), np.array([1], np.int32)))
    for op in ("Sum", "Prod", "Max", "Min", "Mean")
    for d in (np.int32, np.int64)
]
_NAN = np.array([[1, np.nan, 3], [np.inf, -np.inf, 0], [np.inf, 2, 1], [-np.inf, -1, -2]], np.float32)
_FLAGS = ints(3, 4, lo=0, hi=2).astype(np.bool_)

CASES: tuple[Case, ...] = (
    *_reductions("Sum"),
    *_reductions("Prod"),
    *_reductions("Max"),
    *_reductions("Min"),
    *_reductions("Mean"),
    *_EMPTY,
    *_INTS,
    *(Case(op, (_NAN, np.array([1], np.int32)), note="nan", grad=False) for op in ("Sum", "Prod", "Mean")),
    *(Case(op, (_NAN[1:], np.array([1], np.int32)), note="inf", grad=False) for op in ("Max", "Min")),
    Case(
        "Prod",
        (np.array([[1, 0, 3], [0, 0, 2], [1, 2, 3]], np.float32), np.array([1], np.int32)),
        note="zeros",
    ),
    Case(
        "Prod",
        (np.array([[1, 0, 3], [0, 0, 2], [1, 2, 3]], np.float32), np.array([0, 1], np.int32)),
        note="zeros",
    ),
    Case(
        "Max",
        (np.array([[1, 1, 0], [2, 2, 2]], np.float32), np.array([1], np.int32)),
        note="ties",
        grad=False,
    ),
    Case("Sum", (np.full(4, 2**30, np.int32), np.array([0], np.int32)), note="overflow"),
    Case("Sum", (arr(6, dtype=np.float16), np.array([0], np.int32)), grad=False, rtol=5e-3, atol=5e-3),
    *(
        Case(op, (_FLAGS, axes), attrs)
        for op in ("All", "Any")
        for axes, attrs in (
            (np.array([0], np.int32), {}),
            (np.array([1], np.int32), {"keep_dims": True}),
            (np.array([0, 1], np.int32), {}),
        )
    ),
    *(Case(op, (np.zeros((0, 3), np.bool_), np.array([0], np.int32)), note="empty") for op in ("All", "Any")),
    *(
        Case(op, (x, axis), {"output_type": t})
        for op in ("ArgMax", "ArgMin")
        for x, axis, t in (
            (arr(3, 4), np.int32(0), "int64"),
            (arr(3, 4), np.int32(1), "int32"),
            (arr(3, 4, 5), np.int64(-2), "int64"),
            (ints(7, lo=0, hi=3), np.int32(0), "int64"),
            (arr(1), np.int32(0), "int64"),
            (arr(0, 2), np.int32(1), "int64"),
            (arr(41, 10), np.int32(1), "int64"),
        )
    ),
    Case("L2Loss", (arr(3, 4),)),
    Case("L2Loss", (arr(0),)),
    Case("L2Loss", (arr(),)),
    Case("L2Loss", (arr(57),)),
    Case("BroadcastTo", (arr(3, 1), np.array([3, 4], np.int32))),
    Case("BroadcastTo", (arr(4), np.array([2, 3, 4], np.int64))),
    Case("BroadcastTo", (arr(), np.array([2, 2], np.int32))),
    Case("BroadcastTo", (arr(1, 3), np.array([0, 3], np.int32))),
    Case("BroadcastTo", (ints(2, 1, 2), np.array([2, 3, 2], np.int32))),
    *(
        Case(op, (arr(*s, lo=0.5, hi=2.0), axis), attrs)
        for op in ("Cumsum", "Cumprod")
        for s, axis, attrs in (
            ((5,), np.int32(0), {}),
            ((3, 4), np.int32(1), {"exclusive": True}),
            ((3, 4), np.int32(0), {"reverse": True}),
            ((2, 3, 20), np.int64(-2), {"exclusive": True, "reverse": True}),
            ((0, 3), np.int32(0), {}),
            ((3, 1), np.int32(1), {"exclusive": True}),
        )
    ),
    Case("Cumsum", (ints(9), np.int32(0))),
    Case("Cumprod", (ints(6, lo=1, hi=4, dtype=np.int64), np.int32(0)), {"reverse": True}),
)

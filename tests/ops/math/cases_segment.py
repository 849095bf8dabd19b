"""Cases of reductions over segments."""

from __future__ import annotations

import numpy as np
from cases import Case, arr, ints

_I = np.int32
_ZEROS = np.array([[2.0, 0.0], [0.0, 0.0], [-1.5, 3.0], [0.5, 0.0]], np.float32)
_TIES = np.array([[1.0, 5.0], [1.0, 2.0], [0.0, 2.0], [3.0, 2.0]], np.float32)


def v(*numbers: int, dtype: type = np.int32) -> np.ndarray:
    return np.array(numbers, dtype)


def _sorted(op: str) -> list[Case]:
    special = _ZEROS if op == "SegmentProd" else _TIES
    return [
        Case(op, (arr(5, 3), v(0, 0, 1, 1, 1))),
        Case(op, (arr(4), v(1, 1, 3, 3, dtype=np.int64)), note="gaps", oracle=op != "SegmentMean"),
        Case(op, (arr(130, 1), v(*range(-1, 129)).clip(0)), note="many", grad=False),
        Case(op, (special, v(0, 0, 1, 1)), note="special", grad=False),
        Case(op, (arr(0, 2), v())),
        Case(op, (ints(4, 2), v(0, 1, 1, 2))),
    ]


def _unsorted(op: str) -> list[Case]:
    special = _ZEROS if op == "UnsortedSegmentProd" else _TIES
    return [
        Case(op, (arr(5, 3), v(0, 2, 0, 1, 2), _I(3))),
        Case(op, (arr(4), v(1, 1, -1, 0), _I(2))),
        Case(op, (arr(3), v(3, 1, -1), _I(4)), note="gaps", grad=False),
        Case(op, (special, v(0, 1, 0, 1), _I(2)), note="special", grad=False),
        Case(op, (arr(2, 3, 2), np.array([[0, 1, 2], [2, 0, 0]], np.int32), _I(3))),
        Case(op, (arr(0, 2), v(), _I(2)), grad=False),
        Case(op, (ints(5), v(0, 0, 0, 1, 1, dtype=np.int64), np.int64(2))),
        Case(op, (v(4, -3, 2, dtype=np.int64), v(0, 2, 0), _I(3)), note="64 bits"),
    ]


def _of_rows(kind: str) -> list[Case]:
    op = f"SparseSegment{kind}"
    at, ids = v(0, 3, 3, 1), v(0, 0, 1, 1)
    return [
        Case(op, (arr(5, 3), at, ids)),
        Case(op, (arr(4), v(2, 0, dtype=np.int64), v(0, 2, dtype=np.int64))),
        Case(f"{op}WithNumSegments", (arr(5, 3), at, ids, _I(3))),
        Case(f"{op}WithNumSegments", (arr(4), v(), v(), _I(2)), oracle=False),  # TensorFlow gives NaN
        Case(f"{op}Grad", (arr(2, 3), at, ids, _I(5))),
        Case(f"{op}Grad", (arr(3), v(1, 1, 0), v(0, 2, 2), _I(2))),
    ]


CASES: tuple[Case, ...] = (
    *(c for kind in ("Sum", "Mean", "SqrtN") for c in _of_rows(kind)),
    *(c for name in ("Sum", "Mean", "Prod", "Max", "Min") for c in _sorted(f"Segment{name}")),
    *(c for name in ("Prod", "Max", "Min") for c in _unsorted(f"UnsortedSegment{name}")),
)

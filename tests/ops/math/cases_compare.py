"""Cases of comparisons, logic and choice."""

from __future__ import annotations

import numpy as np
from cases import SPECIAL, Case, arr, ints

_B = np.array([True, False, True, True])
_C = np.array([True, True, False, True])
_COMPARISONS = ("Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual")


def _flags(*shape: int) -> np.ndarray:
    return ints(*shape, lo=0, hi=2).astype(np.bool_)


CASES: tuple[Case, ...] = (
    *(
        Case(op, pair)
        for op in _COMPARISONS
        for pair in (
            (ints(3, 4, lo=0, hi=3).astype(np.float32), ints(4, lo=0, hi=3).astype(np.float32)),
            (SPECIAL[:, None], SPECIAL[None, :]),
            (ints(5, lo=0, hi=3), ints(5, lo=0, hi=3)),
            (ints(2, 1, lo=0, hi=3, dtype=np.int64), ints(1, 3, lo=0, hi=3, dtype=np.int64)),
            (ints(4, lo=0, hi=3, dtype=np.uint8), np.uint8(1)),
            (arr(0, 2), arr(1, 2)),
        )
    ),
    Case("Equal", (_B, _C)),
    Case("NotEqual", (_B, _C)),
    Case("Equal", (np.array([b"a", b"b"], object), np.array([b"a", b"c"], object))),
    *(
        Case(op, pair)
        for op in ("LogicalAnd", "LogicalOr")
        for pair in ((_B, _C), (_flags(3, 1), _flags(1, 4)), (_flags(0), _flags(1)), (np.True_, _B))
    ),
    Case("LogicalNot", (_B,)),
    Case("LogicalNot", (_flags(0, 2),)),
    Case("LogicalNot", (np.False_,)),
    Case("Select", (_flags(3, 4), arr(3, 4), arr(3, 4))),
    Case("Select", (_flags(3), arr(3, 4), arr(3, 4)), note="rows"),
    Case("Select", (np.True_, arr(3, 4), arr(3, 4)), note="scalar"),
    Case("Select", (_flags(5), arr(5), arr(5))),
    Case("Select", (_flags(0), arr(0), arr(0))),
    Case("Select", (_flags(2, 3), ints(2, 3), ints(2, 3))),
    Case("Select", (_flags(2), np.array([b"a", b"b"], object), np.array([b"x", b"y"], object))),
)

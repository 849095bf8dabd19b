"""Cases of values passed on, clipped, joined and looked up."""

from __future__ import annotations

import numpy as np
from cases import Case, arr, ints

from tfnb.types import Shape

_I = np.int32
_SORTED = np.sort(arr(2, 5), 1)

CASES: tuple[Case, ...] = (
    Case("IdentityN", ([arr(2), ints(3)],)),
    Case("Snapshot", (arr(2, 2),)),
    Case("GuaranteeConst", (arr(3),)),
    Case("EnsureShape", (arr(2, 3),), {"shape": Shape((None, 3))}, oracle=False),
    Case("AccumulateNV2", ([arr(2, 3), arr(2, 3)],), {"shape": Shape((2, 3))}, oracle=False),
    Case("ParallelDynamicStitch", ([np.array([0, 3], _I), np.array([1, 2], _I)], [arr(2), arr(2)])),
    Case("ParallelConcat", ([arr(1, 3), arr(1, 3)],), {"shape": Shape((2, 3))}, oracle=False),
    Case("ClipByValue", (arr(3, 4), np.float32(-0.5), np.float32(1))),
    Case("ClipByValue", (arr(3, 4), arr(3, 4, hi=-1), arr(3, 4, lo=-0.5))),
    Case("ClipByValue", (ints(5), _I(-3), _I(3))),
    Case("LowerBound", (_SORTED, _SORTED[:, ::2].copy()), {"out_type": "int32"}),
    Case("UpperBound", (_SORTED, _SORTED[:, ::2].copy()), {"out_type": "int64"}),
    Case(
        "LowerBound",
        (np.array([[1, 1, 2, 5]], _I), np.array([[1, 9, 0, 2]], _I)),
        {"out_type": "int32"},
    ),
    Case("UnravelIndex", (np.array([0, 5, 23], _I), np.array([2, 3, 4], _I))),
    Case("UnravelIndex", (np.int64(7), np.array([3, 4], np.int64))),
)

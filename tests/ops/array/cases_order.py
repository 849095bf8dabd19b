"""Cases of parts of matrices, sequences, rotation, order and counting."""

from __future__ import annotations

import numpy as np
from cases import Case, arr, ints

_I, _L = np.int32, np.int64
_TEXT = np.array([b"b", b"a", b"b", b"c"], object)
_NONE = np.zeros(0, np.float32)


def v(*numbers: int, dtype: type = np.int32) -> np.ndarray:
    return np.array(numbers, dtype)


_MATRICES = [
    *(
        Case("MatrixBandPart", (x, _L(low), _L(up)))
        for x, low, up in (
            (arr(3, 4), 1, 0),
            (arr(2, 4, 3), -1, 1),
            (ints(3, 3), 0, -1),
            (arr(0, 3), -1, 1),
        )
    ),
    Case("MatrixBandPart", (arr(3, 3), _I(0), _I(0))),
    Case("MatrixSetDiag", (arr(3, 4), arr(3))),
    Case("MatrixSetDiag", (arr(2, 4, 2), arr(2, 2))),
    Case("MatrixSetDiag", (ints(3, 3), ints(3))),
    Case("Cross", (arr(4, 3), arr(4, 3))),
    Case("Cross", (ints(3), ints(3))),
]

_BAND = np.array([-1, 1], np.int32)
_BANDS = [
    Case("MatrixDiagV3", (arr(2, 3), _I(0), _I(-1), _I(-1), np.float32(0)), grad=False),
    Case("MatrixDiagV3", (arr(2), _I(-1), _I(-1), _I(4), np.float32(7)), grad=False),
    Case("MatrixDiagV3", (arr(0), _I(-1), _I(-1), _I(4), np.float32(7)), grad=False, note="empty"),
    Case("MatrixDiagPartV3", (arr(3, 4), _I(1), np.float32(0))),
    Case("MatrixDiagPartV3", (ints(2, 3, 3), _I(0), _I(5))),
    Case("MatrixSetDiagV3", (arr(2, 3, 4), arr(2, 3), _I(0))),
    Case("MatrixSetDiagV3", (arr(4, 3), arr(2), _I(1))),
    *(
        Case(op, (*x, *rest), {"align": align}, grad=False)
        for align in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")
        for op, x, rest in (
            ("MatrixDiagV3", (arr(3, 3),), (_BAND, _I(3), _I(4), np.float32(9))),
            ("MatrixDiagPartV3", (arr(3, 4),), (np.array([-2, 2], np.int32), np.float32(9))),
            ("MatrixSetDiagV3", (arr(4, 4), arr(3, 4)), (_BAND,)),
        )
    ),
]

_ORDER = [
    Case("ReverseSequence", (arr(3, 4), v(0, 2, 4, dtype=np.int64)), {"seq_dim": 1}),
    Case("ReverseSequence", (arr(4, 2, 3), v(3, 1)), {"seq_dim": 0, "batch_dim": 1}),
    Case("ReverseSequence", (ints(2, 2, 3), v(3, 2)), {"seq_dim": 2, "batch_dim": 1}),
    Case("Roll", (arr(5), _I(2), _I(0))),
    Case("Roll", (arr(3, 4), v(-1, 6), v(0, -1))),
    Case("Roll", (ints(3, 2), v(1, 1, dtype=np.int64), v(0, 0))),
    Case("NthElement", (arr(3, 5), _I(1))),
    Case("NthElement", (ints(4, lo=0, hi=3), _I(2)), {"reverse": True}),
]

_COUNTS = [
    *(
        Case("Bincount", (x, _I(n), w))
        for x, n, w in (
            (v(1, 3, 1, 0, 9), 4, _NONE),
            (ints(3, 4, lo=0, hi=6), 6, arr(3, 4)),
            (ints(40, lo=0, hi=6), 6, ints(40, dtype=np.int64)),
            (v(2, 2), 3, np.zeros(0, np.int32)),
            (v(), 2, _NONE),
        )
    ),
    Case("Bincount", (v(9000, 4, 8999, 4), _I(9000), _NONE), note="many"),
    Case("DenseBincount", (v(1, 3, 1, 0, 9), _I(4), _NONE)),
    Case("DenseBincount", (ints(2, 5, lo=0, hi=6), _I(4), arr(2, 5))),
    Case("DenseBincount", (ints(2, 5, lo=0, hi=6), _I(4), np.zeros(0, np.int32)), {"binary_output": True}),
    Case("DenseBincount", (ints(4, lo=0, hi=6, dtype=np.int64), np.int64(4), _NONE)),
    Case("HistogramFixedWidth", (arr(20, lo=-1, hi=6), np.array([0, 5], np.float32), _I(5)), {"dtype": "int32"}),
    Case("HistogramFixedWidth", (ints(9), v(-3, 4), _I(3)), {"dtype": "int64"}),
    Case("UniqueWithCounts", (v(3, 1, 3, 2, 1),), {"out_idx": "int32"}),
    Case("UniqueWithCounts", (_TEXT,), {"out_idx": "int64"}),
    Case("UniqueV2", (ints(5, 2, lo=0, hi=2), v(0, dtype=np.int64)), {"out_idx": "int32"}),
    Case("UniqueV2", (v(2, 1, 2), v(dtype=np.int64)), {"out_idx": "int32"}),
    Case("UniqueWithCountsV2", (ints(2, 6, lo=0, hi=2), v(1)), {"out_idx": "int32"}),
    Case("ListDiff", (v(5, 1, 2, 1, 7), v(1, 9)), {"out_idx": "int32"}),
    Case("ListDiff", (_TEXT, np.array([b"b"], object)), {"out_idx": "int64"}),
    *(
        Case(
            "EditDistance",
            (
                np.array([[0, 0], [0, 1], [1, 0]], np.int64),
                v(1, 2, 3),
                v(2, 2, dtype=np.int64),
                np.array([[0, 0], [0, 1], [0, 2], [2, 0]], np.int64),
                v(1, 5, 2, 9),
                v(3, 3, dtype=np.int64),
            ),
            {"normalize": normalize},
        )
        for normalize in (True, False)
    ),
]

CASES: tuple[Case, ...] = (*_MATRICES, *_BANDS, *_ORDER, *_COUNTS)

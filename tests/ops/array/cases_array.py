"""Cases of shapes, constants, movement, joining, diagonals."""

from __future__ import annotations

import numpy as np
from cases import Case, arr, ints

_I = np.int32


def v(*numbers: int, dtype: type = np.int32) -> np.ndarray:
    return np.array(numbers, dtype)


_UNEVEN = np.array([1 / 3, -0.1, 255.999, 65520, 7e4, 1e-5, 5.97e-8, 0.0])
_TEXT = np.array([[b"a", b"bc"], [b"", b"d"]], object)

_SHAPING = [
    *(
        Case(op, (x,), {"out_type": t})
        for op in ("Shape", "Size")
        for x in (arr(2, 3), arr(), arr(0, 4), _TEXT)
        for t in ("int32", "int64")
    ),
    Case("Rank", (arr(2, 3),)),
    Case("Rank", (arr(),)),
    Case("Rank", (_TEXT,)),
    Case("Reshape", (arr(2, 6), v(3, 4))),
    Case("Reshape", (arr(2, 6), v(-1, 2, 2))),
    Case("Reshape", (arr(1), v())),
    Case("Reshape", (arr(0, 4), v(2, 0, 7))),
    Case("Reshape", (arr(0, 4), v(-1, 4, dtype=np.int64))),
    Case("Reshape", (arr(), v(1, 1))),
    Case("Reshape", (_TEXT, v(4))),
    Case("ExpandDims", (arr(2, 3), _I(0))),
    Case("ExpandDims", (arr(2, 3), _I(-1))),
    Case("ExpandDims", (arr(), _I(0))),
    Case("ExpandDims", (arr(0, 3), np.int64(1))),
    Case("ExpandDims", (ints(3), _I(1))),
    Case("Squeeze", (arr(1, 3, 1),)),
    Case("Squeeze", (arr(1, 3, 1),), {"squeeze_dims": (0,)}),
    Case("Squeeze", (arr(1, 3, 1),), {"squeeze_dims": (-1,)}),
    Case("Squeeze", (arr(1, 1),)),
    Case("Squeeze", (arr(2),)),
    Case("Squeeze", (arr(1, 0),)),
    *(Case(op, (x,)) for op in ("Identity",) for x in (arr(2, 3), arr(), arr(0), _TEXT, ints(3))),
    *(Case(op, (x,), grad=False) for op in ("StopGradient", "PreventGradient") for x in (arr(2, 3), arr(0))),
    Case("BroadcastGradientArgs", (v(2, 3), v(3))),
    Case("BroadcastGradientArgs", (v(2, 1, 3), v(4, 1))),
    Case("BroadcastGradientArgs", (v(), v(2, 3))),
    Case("BroadcastGradientArgs", (v(2, 3), v(2, 3))),
    Case("BroadcastGradientArgs", (v(5, dtype=np.int64), v(4, 5, dtype=np.int64))),
]

_CONSTANTS = [
    Case("Const", (), {"value": arr(2, 3), "dtype": "float32"}, oracle=False),
    Case("Const", (), {"value": _TEXT, "dtype": "string"}, oracle=False),
    Case("Fill", (v(2, 3), np.float32(1.5))),
    Case("Fill", (v(), _I(7))),
    Case("Fill", (v(0, 2), np.float32(1))),
    Case("Fill", (v(3, dtype=np.int64), np.True_)),
    Case("Fill", (v(2), np.array(b"x", object))),
    *(
        Case(op, (x,))
        for op in ("ZerosLike", "OnesLike")
        for x in (arr(2, 3), ints(3), arr(0, 1), np.array([True, False]))
    ),
    Case("ZerosLike", (_TEXT,)),
    Case("Range", (_I(0), _I(5), _I(1))),
    Case("Range", (_I(10), _I(1), _I(-3))),
    Case("Range", (_I(3), _I(3), _I(1))),
    Case("Range", (np.int64(2), np.int64(9), np.int64(2))),
    Case("Range", (np.float32(0), np.float32(1), np.float32(0.25))),
    Case("Range", (np.float32(5), np.float32(-1), np.float32(-1.5))),
    Case("LinSpace", (np.float32(0), np.float32(1), _I(5))),
    Case("LinSpace", (np.float32(2), np.float32(-1), _I(4))),
    Case("LinSpace", (np.float32(3), np.float32(9), _I(1))),
    *(
        Case("Cast", (x,), {"DstT": d})
        for x in (
            arr(7, lo=-9, hi=9),
            ints(5),
            ints(5, dtype=np.int64),
            ints(4, lo=0, hi=9).astype(np.uint8),
            np.array([True, False]),
        )
        for d in ("float32", "int32", "int64", "bool", "float16")
    ),
    Case("Cast", (np.array([300, -1, 70000], np.int32),), {"DstT": "uint8"}, note="wraps"),
    Case(
        "Cast",
        (np.array([np.nan, np.inf, 0.0, -0.0], np.float32),),
        {"DstT": "bool"},
        note="special",
        grad=False,
    ),
    Case("Cast", (np.array([2.9, -2.9], np.float32),), {"DstT": "int64"}, note="truncates"),
    Case("Cast", (arr(0, 2),), {"DstT": "int32"}),
    Case("Cast", (np.array([1.5, 2.5], np.float64),), {"DstT": "float32"}),
    Case("Cast", (arr(5),), {"DstT": "bfloat16"}, grad=False),
    *(
        Case("Cast", (_UNEVEN.astype(have),), {"DstT": wanted, "Truncate": True}, note="truncate", grad=False)
        for have, wanted in (("float64", "float32"), ("float64", "float16"), ("float32", "float16"))
    ),
    Case("Cast", (_UNEVEN.astype(np.float32),), {"DstT": "bfloat16", "Truncate": True}, note="truncate", grad=False),
]

_MOVES = [
    Case("Transpose", (arr(2, 3), v(1, 0))),
    Case("Transpose", (arr(2, 3, 4), v(2, 0, 1))),
    Case("Transpose", (arr(), v())),
    Case("Transpose", (arr(0, 3), v(1, 0))),
    Case("Transpose", (arr(2, 3, 4, 5), v(0, 2, 1, 3, dtype=np.int64))),
    Case("Transpose", (_TEXT, v(1, 0))),
    Case("Transpose", (arr(33, 17), v(1, 0)), grad=False),
    Case("InvertPermutation", (v(2, 0, 1),)),
    Case("InvertPermutation", (v(0),)),
    Case("Slice", (arr(3, 4), v(1, 0), v(2, 3))),
    Case("Slice", (arr(3, 4), v(1, 1), v(-1, 2))),
    Case("Slice", (arr(5), v(5), v(0))),
    Case("Slice", (arr(), v(), v())),
    Case("Slice", (_TEXT, v(0, 1), v(2, 1))),
    Case("Slice", (arr(2, 3, 4), v(0, 1, 2, dtype=np.int64), v(2, 1, 2, dtype=np.int64))),
    *(
        Case("Pad", (x, np.array(p, np.int32)))
        for x, p in (
            (arr(2, 3), [[1, 0], [0, 2]]),
            (arr(3), [[2, 2]]),
            (arr(0, 2), [[1, 1], [0, 0]]),
            (arr(2, 2), [[0, 0], [0, 0]]),
            (ints(2), [[0, 1]]),
        )
    ),
    Case("PadV2", (arr(2, 3), np.array([[1, 0], [0, 2]], np.int32), np.float32(7)), grad=False),
    Case("PadV2", (ints(2), np.array([[1, 2]], np.int64), _I(-1))),
    *(
        Case("MirrorPad", (x, np.array(p, np.int32)), {"mode": m})
        for x, p in (
            (arr(3, 4), [[1, 2], [3, 0]]),
            (arr(5), [[2, 3]]),
            (arr(2, 3), [[0, 0], [1, 1]]),
        )
        for m in ("REFLECT", "SYMMETRIC")
    ),
    *(
        Case("Tile", (x, m))
        for x, m in (
            (arr(2, 3), v(2, 1)),
            (arr(2), v(3, dtype=np.int64)),
            (arr(2, 2), v(0, 2)),
            (arr(), v()),
            (arr(0, 2), v(2, 2)),
            (_TEXT, v(1, 2)),
        )
    ),
    *(
        Case("Reverse", (x, np.array(d)), oracle=x.size > 0)
        for x, d in ((arr(2, 3), [True, False]), (arr(4), [True]), (arr(0), [True]))
    ),
    *(
        Case("ReverseV2", (x, a))
        for x, a in (
            (arr(2, 3), v(0)),
            (arr(2, 3), v(-1, 0)),
            (arr(4), v(0, dtype=np.int64)),
            (arr(2, 2), v()),
            (_TEXT, v(0)),
        )
    ),
]

_JOINS = [
    Case("Concat", (_I(0), [arr(2, 3), arr(1, 3)])),
    Case("Concat", (_I(1), [arr(2, 3), arr(2, 0), arr(2, 2)])),
    Case("Concat", (_I(1), [arr(2, 1, 2) for _ in range(9)])),
    Case("Concat", (_I(0), [_TEXT, _TEXT])),
    Case("Concat", (_I(1), [arr(2, n % 3) for n in range(35)]), note="many"),
    Case("ConcatOffset", (_I(1), [np.array(a, _I) for a in ([2, 3], [2, 0], [2, 5])])),
    Case("ConcatOffset", (_I(0), [np.array([4], _I), np.array([1], _I)])),
    Case("Concat", (_I(0), [arr(0, 2), arr(0, 2)])),
    Case("ConcatV2", ([arr(2, 3), arr(2, 1)], _I(-1))),
    Case("ConcatV2", ([ints(2), ints(3)], np.int64(0))),
    Case("ConcatV2", ([arr(2, 3), arr(2, 3)], _I(0))),
    *(
        Case("Pack", (x,), {"axis": a})
        for x, a in (
            ([arr(2, 3), arr(2, 3)], 0),
            ([arr(2, 3), arr(2, 3)], 1),
            ([arr(2), arr(2), arr(2)], -1),
            ([arr()], 0),
            ([arr(0), arr(0)], 1),
            ([ints() for _ in range(5)], 0),
            ([arr(2) for _ in range(33)], 1),
            ([_TEXT, _TEXT], 0),
        )
    ),
    *(
        Case("Unpack", (x,), {"num": n, "axis": a})
        for x, n, a in (
            (arr(2, 3), 2, 0),
            (arr(2, 3), 3, 1),
            (arr(4), 4, 0),
            (arr(2, 40), 40, 1),
            (arr(0, 2), 2, -1),
            (_TEXT, 2, 0),
        )
    ),
    *(
        Case("Split", (_I(a), x), {"num_split": n})
        for a, x, n in (
            (0, arr(4, 3), 2),
            (1, arr(2, 6), 3),
            (1, arr(2, 66), 33),
            (-1, arr(2, 2), 1),
            (0, arr(0, 2), 3),
            (0, _TEXT, 2),
        )
    ),
    *(
        Case("SplitV", (x, s, _I(a)), {"num_split": len(s)})
        for x, s, a in (
            (arr(5, 2), v(2, 3), 0),
            (arr(2, 6), v(1, -1, 2), 1),
            (arr(4), v(0, 4, dtype=np.int64), -1),
            (arr(35, 2), v(*[1, 0] * 34, 1), 0),
        )
    ),
]

_DIAGONALS = [
    Case("Diag", (arr(4),)),
    Case("Diag", (arr(2, 3),)),
    Case("Diag", (arr(0),)),
    Case("Diag", (ints(3),)),
    Case("DiagPart", (arr(4, 4),)),
    Case("DiagPart", (arr(2, 3, 2, 3),)),
    Case("DiagPart", (arr(0, 0),)),
    Case("MatrixDiag", (arr(3),)),
    Case("MatrixDiag", (arr(2, 3),)),
    Case("MatrixDiag", (arr(0, 2),)),
    Case("MatrixDiagPart", (arr(3, 3),)),
    Case("MatrixDiagPart", (arr(2, 3, 4),)),
    Case("MatrixDiagPart", (arr(2, 4, 3),)),
    *(
        Case("OneHot", (i, _I(d), np.float32(on), np.float32(off)), {"axis": a})
        for i, d, on, off, a in (
            (v(0, 2, 1), 3, 1, 0, -1),
            (v(0, -1, 5), 3, 2.5, -1, 0),
            (ints(2, 3, lo=0, hi=4), 4, 1, 0, 1),
            (v(1, dtype=np.int64), 2, 1, 0, -1),
            (np.int32(1), 3, 1, 0, -1),
            (v(0, 1), 0, 1, 0, -1),
            (np.array([1, 2], np.uint8), 4, 1, 0, -1),
        )
    ),
    Case("OneHot", (v(0, 1), _I(3), np.True_, np.False_)),
    Case("OneHot", (v(0, 1), _I(2), _I(5), _I(3))),
]

_BYTES, _FLAGS = ints(3, 4, lo=0, hi=256, dtype=np.uint8), ints(3, 4, lo=0, hi=2).astype(np.bool_)
_OTHER_TYPES = [
    case
    for x in (_BYTES, _FLAGS, ints(3, 4, dtype=np.int64), ints(3, 4, dtype=np.int8))
    for case in (
        Case("Transpose", (x, v(1, 0))),
        Case("Concat", (_I(1), [x, x])),
        Case("Tile", (x, v(2, 1))),
        Case("ReverseV2", (x, v(1))),
        Case("Pad", (x, np.array([[1, 0], [0, 2]], np.int32))),
        Case("StridedSlice", (x, v(2, 0), v(0, 4), v(-1, 3))),
        Case("Gather", (x, v(2, 0))),
        Case("Pack", ([x, x],), {"axis": 1}),
        Case("Select", (_FLAGS, x, x)),
        Case("BroadcastTo", (x, v(2, 3, 4))),
    )
]

CASES: tuple[Case, ...] = (*_SHAPING, *_CONSTANTS, *_MOVES, *_JOINS, *_DIAGONALS, *_OTHER_TYPES)

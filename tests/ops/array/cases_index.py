"""Cases of indexing, gathering, scattering, and ops whose result's size depends on the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import Case, arr, ints

_I = np.int32
_TEXT = np.array([b"a", b"bc", b"", b"d"], object)


def v(*numbers: int, dtype: Any = np.int32) -> np.ndarray:
    return np.array(numbers, dtype)


def _strided(x: Any, begin: Any, end: Any, strides: Any, **masks: int) -> Case:
    return Case("StridedSlice", (x, v(*begin), v(*end), v(*strides)), masks)


_STRIDED = [
    _strided(arr(5), (1,), (4,), (1,)),
    _strided(arr(5), (4,), (0,), (-1,)),
    _strided(arr(7), (0,), (7,), (3,)),
    _strided(arr(5), (-3,), (-1,), (1,)),
    _strided(arr(5), (0,), (0,), (-2,), begin_mask=1, end_mask=1),
    _strided(arr(4, 5), (1, 2), (3, 5), (1, 2)),
    _strided(arr(4, 5), (1,), (3,), (1,)),
    _strided(arr(4, 5), (1, 0), (2, 0), (1, 1), shrink_axis_mask=1, begin_mask=2, end_mask=2),
    _strided(arr(4, 5), (-1,), (0,), (1,), shrink_axis_mask=1),
    _strided(arr(4), (2,), (3,), (1,), shrink_axis_mask=1),
    _strided(arr(2, 3, 4), (0, 1), (0, 2), (1, 1), ellipsis_mask=1),
    _strided(arr(2, 3), (0, 0), (0, 0), (1, 1), new_axis_mask=1, begin_mask=2, end_mask=2),
    _strided(
        arr(2, 3, 4),
        (1, 0, 0, 3),
        (2, 0, 0, 0),
        (1, 1, 1, -2),
        ellipsis_mask=2,
        new_axis_mask=4,
        shrink_axis_mask=1,
        end_mask=8,
    ),
    _strided(arr(3, 4), (2, 0), (1, 4), (1, 1)),
    _strided(arr(0, 3), (0,), (5,), (1,)),
    _strided(_TEXT, (1,), (3,), (1,)),
    _strided(ints(6), (1,), (100,), (2,)),
    _strided(arr(4), (10,), (-10,), (-1,)),
    Case("StridedSlice", (arr(5), v(1, dtype=np.int64), v(4, dtype=np.int64), v(2, dtype=np.int64))),
]


def _slice_grad(shape: tuple[int, ...], dy: Any, begin: Any, end: Any, strides: Any, **masks: int) -> Case:
    return Case("StridedSliceGrad", (v(*shape), v(*begin), v(*end), v(*strides), dy), masks)


_STRIDED_GRAD = [
    _slice_grad((5,), arr(3), (1,), (4,), (1,)),
    _slice_grad((7,), arr(3), (0,), (7,), (3,)),
    _slice_grad((5,), arr(4), (4,), (0,), (-1,)),
    _slice_grad((4, 5), arr(2, 2), (1, 2), (3, 5), (1, 2)),
    _slice_grad((4, 5), arr(5), (2,), (3,), (1,), shrink_axis_mask=1),
    _slice_grad((2, 3), arr(1, 2, 3), (0,), (0,), (1,), new_axis_mask=1),
    _slice_grad((3,), arr(0), (2,), (1,), (1,)),
    _slice_grad((6,), arr(3), (5,), (0,), (-2,)),
]

_GATHERS = [
    *(
        Case("Gather", (p, i))
        for p, i in (
            (arr(5, 3), v(0, 4, 4, 1)),
            (arr(5), ints(2, 3, lo=0, hi=5)),
            (arr(4, 2, 2), _I(3)),
            (arr(3, 2), v()),
            (ints(6), v(5, 0, dtype=np.int64)),
            (_TEXT, v(3, 0)),
            (arr(2, 0), v(1, 1)),
        )
    ),
    *(
        Case("GatherV2", (p, i, a))
        for p, i, a in (
            (arr(5, 3), v(2, 0, 2), _I(1)),
            (arr(2, 4, 3), ints(2, 2, lo=0, hi=4), _I(-2)),
            (arr(5, 3), v(4, 1), np.int64(0)),
            (arr(2, 3), _I(1), _I(1)),
            (ints(2, 3, 4), v(3, 3), _I(2)),
        )
    ),
    *(
        Case("GatherV2", (p, i, a), {"batch_dims": b})
        for p, i, a, b in (
            (arr(2, 4, 3), ints(2, 2, lo=0, hi=4), _I(1), 1),
            (arr(2, 3, 4), ints(2, 2, 2, lo=0, hi=4), _I(2), 1),
            (arr(2, 3, 4, 2), ints(2, 3, lo=0, hi=4), _I(2), 2),
            (arr(2, 4), ints(2, 3, lo=0, hi=4), _I(-1), -1),
        )
    ),
    *(
        Case("GatherNd", (p, i))
        for p, i in (
            (arr(3, 4), np.array([[0, 1], [2, 3], [0, 1]], np.int32)),
            (arr(3, 4), np.array([[2], [0]], np.int32)),
            (arr(2, 3, 2), ints(2, 2, 2, lo=0, hi=2)),
            (arr(5), np.array([[4], [0]], np.int64)),
            (arr(3), np.zeros((0, 1), np.int32)),
        )
    ),
    Case(
        "ScatterRows",
        (np.array([[[0], [2]]], np.int32), arr(1, 2, 3, 2), v(4, 3, 2)),
        oracle=False,
    ),
    *(
        Case("ScatterNd", (i, u, s))
        for i, u, s in (
            (np.array([[0], [2], [0]], np.int32), arr(3, 2), v(4, 2)),
            (np.array([[0, 1], [2, 0]], np.int32), arr(2), v(3, 2)),
            (np.array([[1]], np.int64), arr(1, 2, 2), v(3, 2, 2, dtype=np.int64)),
            (np.zeros((0, 1), np.int32), arr(0, 3), v(2, 3)),
        )
    ),
    *(
        Case("UnsortedSegmentSum", (d, i, n))
        for d, i, n in (
            (arr(5, 3), v(0, 2, 0, 1, 2), _I(4)),
            (arr(4), v(1, 1, -1, 0), _I(2)),
            (arr(2, 3, 2), ints(2, 3, lo=0, hi=3), _I(3)),
            (arr(0, 2), v(), _I(3)),
            (ints(5), v(0, 0, 0, 1, 1, dtype=np.int64), np.int64(2)),
            (arr(40, 9), ints(40, lo=0, hi=7), _I(7)),
            (arr(0), v(), _I(0)),
        )
    ),
]

_DENSE = [
    Case("SparseToDense", (i, v(*shape, dtype=i.dtype), x, np.float32(d)))
    for i, shape, x, d in (
        (np.array([[0, 1], [2, 0]], np.int32), (3, 2), arr(2), 0.0),
        (np.array([[0, 1], [2, 0]], np.int64), (3, 2), arr(), -1.5),
        (v(0, 3), (5,), arr(2), 0.5),
        (_I(2), (4,), arr(), 0.0),
        (np.zeros((0, 2), np.int32), (2, 2), arr(0), 7.0),
    )
]

_MIXED = np.round(arr(3, 40) * 4) / 4
_MIXED[0, [1, 30]], _MIXED[1, 3:38], _MIXED[2, 7] = np.nan, np.nan, np.inf

_PARTITIONS = [
    Case("Where", (ints(3, 4, lo=0, hi=2).astype(np.bool_),)),
    Case("Where", (np.array([0.0, 1.5, -2.0], np.float32),)),
    Case("Where", (np.zeros((2, 0), np.bool_),)),
    Case("Where", (ints(5, lo=0, hi=2),)),
    Case("Unique", (v(3, 1, 3, 2, 1),), {"out_idx": "int32"}),
    Case("Unique", (np.array([2.5, 2.5, -1], np.float32),), {"out_idx": "int64"}),
    Case("Unique", (v(),), {"out_idx": "int32"}),
    Case("Unique", (v(10**6, -5, 10**6, 7),), {"out_idx": "int32"}, note="far apart"),
    Case("Unique", (v(-3, 4, -3, 0),), {"out_idx": "int32"}, note="negative"),
    Case("Unique", (np.array([b"b", b"a", b"b"], object),), {"out_idx": "int32"}),
    *(
        Case("DynamicPartition", (d, p), {"num_partitions": n})
        for d, p, n in (
            (arr(5), v(0, 2, 0, 1, 2), 3),
            (arr(4, 2), v(1, 1, 0, 1), 2),
            (arr(2, 3, 2), ints(2, 3, lo=0, hi=2), 2),
            (arr(0), v(), 2),
        )
    ),
    Case("DynamicStitch", ([v(0, 3), v(1, 2)], [arr(2), arr(2)])),
    Case("DynamicPartition", (ints(4), v(3, 0, 3, 1)), {"num_partitions": 300}, note="integers, many parts"),
    Case("DynamicStitch", ([_I(1), v(0, 2)], [arr(3), arr(2, 3)])),
    Case("DynamicStitch", ([v(2, 0), v(2, 1, 2)], [arr(2, 3), arr(3, 3)]), note="repeated", grad=False),
    Case("DynamicStitch", ([v(), v(1, 0)], [arr(0, 2), arr(2, 2)]), note="empty part"),
    Case("DynamicStitch", ([ints(2, 2, lo=0, hi=4), v(3)], [arr(2, 2, 0), arr(1, 0)]), note="no elements"),
    Case("PartitionRows", (ints(2, 3, lo=0, hi=3),), {"num_partitions": 4}, oracle=False),
    Case("PartitionRows", (v(),), {"num_partitions": 2}, oracle=False),
    Case("StitchRows", ([v(4, 0), v(1, 4)],), oracle=False),
    Case("StitchRows", ([v(), v()],), oracle=False),
    Case("TakeRows", (arr(3, 2), v(2, -1, 0, 3)), oracle=False),
    Case("TakeRows", (arr(0, 2), v(-1, 0)), oracle=False),
    *(
        Case("TopKV2", (x, _I(k)))
        for x, k in (
            (arr(6), 3),
            (arr(3, 5), 2),
            (ints(2, 7, lo=0, hi=3), 4),
            (arr(2, 3), 0),
            (arr(2, 3, 4), 4),
        )
    ),
    Case("TopKV2", (ints(2, 50), _I(50)), note="whole rows"),
    Case("TopKV2", (_MIXED, _I(7)), note="ties, NaN", oracle=False, grad=False),
    *(Case("TopK", (x,), {"k": k}, oracle=False) for x, k in ((arr(6), 3), (arr(3, 5), 1))),
    Case("InTopKV2", (arr(4, 5), v(0, 1, 4, 2), np.int32(2)), float32_only=True),
    *(
        Case("InTopK", (p, t), {"k": k}, float32_only=True)
        for p, t, k in (
            (arr(4, 5), v(0, 1, 4, 2), 2),
            (arr(3, 4), v(0, 3, 1, dtype=np.int64), 1),
            (np.array([[1, 1, 0], [3, 2, 2], [np.inf, 0, 1]], np.float32), v(1, 2, 0), 2),
        )
    ),
]

_AT = np.array([[1], [0], [1]], np.int32)
_UPDATES = [
    *(
        Case(f"TensorScatter{name}", (x, at, u), oracle=oracle)
        for name in ("Update", "Add", "Sub", "Max", "Min")
        for x, at, u, oracle in (
            (arr(4, 2), np.array([[2], [0]], np.int32), arr(2, 2), True),
            (arr(2, 3), np.array([[0, 1], [1, 2]], np.int64), arr(2), True),
            (ints(3), _AT, ints(3), name != "Update"),
        )
    ),
    Case("TensorScatterMax", (arr(4, lo=5, hi=6), np.array([[2], [0]], np.int32), arr(2))),
    Case("ScatterNdNonAliasingAdd", (arr(3, 2), _AT, arr(3, 2))),
    *(
        Case("TensorStridedSliceUpdate", (x, v(*b), v(*e), v(*st), u), masks)
        for x, b, e, st, u, masks in (
            (arr(5), (1,), (4,), (2,), arr(2), {}),
            (arr(3, 4), (2, 0), (0, 3), (-1, 1), arr(2, 3), {}),
            (
                arr(3, 4),
                (1, 0),
                (2, 0),
                (1, 1),
                arr(4),
                {"shrink_axis_mask": 1, "begin_mask": 2, "end_mask": 2},
            ),
            (ints(2, 2), (0,), (1,), (1,), ints(1, 2), {}),
        )
    ),
]

CASES: tuple[Case, ...] = (*_STRIDED, *_STRIDED_GRAD, *_GATHERS, *_DENSE, *_PARTITIONS, *_UPDATES)

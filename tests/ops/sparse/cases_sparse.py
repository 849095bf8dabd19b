"""Cases of the ops on sparse tensors, each given as its indices, values and dense shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import Case, arr, ints

import tfnb as tf

_AXIS = np.asarray([1], np.int32)
_TEXT = np.array([b"b", b"a", b"c", b"d"], object)


def v(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


A = np.array([[0, 1], [0, 3], [1, 0], [2, 2]], np.int64)  # in a 3 x 4 matrix
B = np.array([[0, 0], [0, 3], [2, 2]], np.int64)
C = np.array([[0, 1, 0], [1, 0, 2], [1, 0, 3], [1, 2, 1]], np.int64)  # in a 2 x 3 x 4 tensor
MIXED = A[[2, 0, 3, 1]]
AS, CS = v(3, 4), v(2, 3, 4)


def _product(a: bool, b: bool) -> Case:
    dense = arr(3 if a else 4, 2)
    attrs = {"adjoint_a": a, "adjoint_b": b}
    return Case("SparseTensorDenseMatMul", (A, arr(4), AS, dense.T.copy() if b else dense), attrs)


_PRODUCTS = [
    *(_product(a, b) for a in (False, True) for b in (False, True)),
    Case("SparseTensorDenseMatMul", (A[:0], arr(0), AS, arr(4, 2))),
    Case("SparseMatMul", (arr(3, 4), arr(4, 2)), {"a_is_sparse": True}, float32_only=True, grad=False),
    Case(
        "SparseMatMul",
        (arr(4, 3), arr(2, 4)),
        {"transpose_a": True, "transpose_b": True},
        float32_only=True,
    ),
    Case("SparseTensorDenseAdd", (A, arr(4), AS, arr(3, 4))),
    Case("SparseTensorDenseAdd", (A.astype(np.int32), ints(4), AS.astype(np.int32), ints(3, 4))),
]

_CWISE: list[Any] = [
    *(
        Case(f"SparseDenseCwise{name}", (A, arr(4), AS, dense))
        for name in ("Mul", "Div", "Add")
        for dense in (arr(3, 4, lo=0.5), arr(3, 1, lo=0.5), arr(4, lo=0.5))
    ),
    Case("SparseDenseCwiseMul", (A, arr(4), AS, arr()), oracle=False),  # no gradient there
    Case("SparseDenseCwiseDiv", (A, ints(4), AS, ints(4, lo=1))),
    Case("SparseDenseCwiseMul", (C, arr(4), CS, arr(3, 1))),
]

_ROWS = [
    Case("SparseSoftmax", (A, arr(4), AS)),
    Case("SparseSoftmax", (C, arr(4), CS)),
    *(
        Case(f"SparseReduce{name}", (C, x, CS, np.asarray(axes, np.int32)), {"keep_dims": keep})
        for name in ("Sum", "Max", "SumSparse", "MaxSparse")
        for axes, keep in (([1], False), ([0, -1], True), ([], False), ([2], True))
        for x in (arr(4, lo=0.1),)
    ),
    Case("SparseReduceSum", (A, ints(4), AS, np.asarray([-1], np.int32))),
]

_PAIRS = [
    Case("SparseAdd", (A, arr(4), AS, B, arr(3), AS, np.float32(0))),
    Case("SparseAdd", (A, ints(4), AS, B, ints(3), AS, np.int32(4))),
    Case(
        "SparseAddGrad",
        (arr(5), A, B, np.array([[0, 0], [0, 1], [0, 3], [1, 0], [2, 2]], np.int64)),
    ),
    *(Case(op, (A, arr(4), AS, B, arr(3), AS)) for op in ("SparseSparseMaximum", "SparseSparseMinimum")),
]

_FORMS = [
    Case("SparseReorder", (MIXED, arr(4), AS)),
    Case("SparseReorder", (MIXED, _TEXT, AS)),
    Case("SparseReshape", (A, AS, v(2, -1))),
    Case("SparseReshape", (C, CS, v(4, 6))),
    Case("SparseReshape", (A, AS, v(12))),
    Case("SparseConcat", ([A, B], [arr(4), arr(3)], [AS, AS]), {"concat_dim": 0}),
    Case("SparseConcat", ([A, B], [_TEXT, _TEXT[:3]], [AS, v(3, 5)]), {"concat_dim": -1}),
    Case("SparseSplit", (np.int64(1), A, arr(4), AS), {"num_split": 3}),
    Case("SparseSplit", (np.int64(0), A, ints(4), AS), {"num_split": 2}),
    Case("SparseSlice", (A, arr(4), AS, v(0, 1), v(2, 9))),
    Case("SparseSliceGrad", (arr(2), A, v(0, 1), np.array([[0, 0], [0, 2]], np.int64))),
    Case("SparseFillEmptyRows", (B, arr(3), v(4, 4), arr())),
    Case("SparseFillEmptyRows", (A, _TEXT, v(3, 4), np.array(b"-", object))),
    Case("SparseFillEmptyRowsGrad", (v(0, 1, 3), arr(5))),
]

_HASHED = {"hashed_output": True, "num_buckets": 50, "hash_key": 7, "out_type": tf.int64, "internal_type": tf.int64}
_JOINED = {**_HASHED, "hashed_output": False, "num_buckets": 0, "out_type": tf.string, "internal_type": tf.string}
_CROSSES = [
    Case("SparseCross", ([A, B], [v(5, 6, 7, 8), v(1, 2, 3)], [AS, AS], []), _HASHED),
    Case("SparseCross", ([A], [_TEXT], [AS], [_TEXT[:3].reshape(3, 1)]), _JOINED),
    Case("SparseCross", ([A[:0]], [v()], [v(0, 4)], [ints(0, 2).astype(np.int64)]), _HASHED, note="empty"),
]

CASES: tuple[Case, ...] = (*_PRODUCTS, *_CWISE, *_ROWS, *_PAIRS, *_FORMS, *_CROSSES)

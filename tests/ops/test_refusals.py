"""Inputs that an op refuses on the host, with an error of our own."""

from __future__ import annotations

import numpy as np
import pytest
from building import build
from cases import Case, arr, ints
from evaluate import evaluate

import tfnb as tf
from tfnb.errors import InvalidArgumentError

_I, _F = np.int32, np.float32
_AT, _V, _S = np.array([[1, 2]]), np.array([7]), np.array([3, 3])
_ONE = np.array([1], _I)
_POOL = {"ksize": (1, 4, 4, 1), "strides": (1, 1, 1, 1), "padding": "VALID"}

_CROSS = {"hashed_output": True, "num_buckets": 0, "hash_key": 7, "out_type": tf.int64, "internal_type": tf.int64}


@pytest.mark.parametrize("knowledge", ["shapes", "nothing"])
@pytest.mark.parametrize(
    ("case", "says"),
    [
        (Case("MatrixDiagV3", (arr(3, 3), np.array([-1, 1], _I), _I(5), _I(4), np.float32(0))), "do not reach"),
        (Case("StridedSlice", (arr(4), _ONE, _ONE, _ONE), {"ellipsis_mask": -1}), "Multiple ellipses"),
        (Case("SplitV", (arr(4), np.array([-2, 4], _I), _I(0)), {"num_split": 2}), "negative"),
        (Case("SparseFillEmptyRowsGrad", (np.array([0, -1]), arr(3))), "reverse_index_map"),
        (Case("UniqueV2", (ints(2, 3), np.array([0, 0], _I)), {"out_idx": "int32"}), "one number"),
        (
            Case(
                "QuantizedReshape",
                (
                    np.zeros((3, 2), np.dtype(np.uint8, metadata={"quantized": "quint8"})),
                    np.array([2, -2], _I),
                )
                + (np.float32(0), np.float32(1)),
            ),
            "is not a shape",
        ),
        (Case("ReverseV2", (arr(2, 3), np.array([1, -1], _I))), "stands twice"),
        (Case("OneHot", (ints(2, lo=0, hi=2), _I(2), _F(1), _F(0)), {"axis": -2}), "axis"),
        (Case("MaxPool", (arr(1, 2, 2, 1),), _POOL), "Negative dimension size"),
        (Case("HistogramFixedWidth", (arr(3), arr(3), _I(2)), {"dtype": "int32"}), "two numbers"),
        (Case("EditDistance", (_AT, _V, _S, _AT[:, :1], _V, _S)), "rank"),
        (Case("Split", (_I(0), arr(0)), {"num_split": 0}), "at least 1"),
        (Case("DynamicPartition", (arr(0), np.zeros(0, _I)), {"num_partitions": 0}), "at least 1"),
        (
            Case(
                "CTCBeamSearchDecoder",
                (np.zeros((2, 1, 0), np.float32), np.array([2], _I)),
                {"beam_width": 2, "top_paths": 1},
            ),
            "no classes",
        ),
        (Case("SparseSliceGrad", (arr(1), _AT, np.array([0, 0]), _AT + 5)), "has no element"),
        (Case("StridedSlice", (arr(3), _ONE, _ONE, -_ONE), {"shrink_axis_mask": 1}), "negative"),
        (Case("MatrixSetDiagV3", (arr(2, 2), arr(3, 2), np.array([0, 1], _I))), "diagonals"),
        (Case("Range", (_F(0), _F(np.inf), _F(1))), "no finite range"),
        (Case("Range", (_F(0), _F(np.nan), _F(1))), "no finite range"),
        (Case("Range", (np.float64(-1e308), np.float64(1e308), np.float64(1e-3))), "can be counted"),
        (Case("TridiagonalMatMul", (arr(3, 3), arr(3, 3), arr(3, 3), arr(3, 2))), "needs diagonals of shape"),
        (
            Case("TridiagonalMatMul", (arr(0, 0, 0), arr(0, 0, 0), arr(0, 0, 0), arr(0, 0, 0))),
            "needs diagonals of shape",
        ),
        (Case("TridiagonalMatMul", (arr(2, 1, 3), arr(2, 1, 3), arr(2, 1, 3), arr(3, 2))), "needs diagonals of shape"),
        (Case("SparseCross", ([np.zeros((0, 0), np.int64)], [_V[:0]], [_V[:0]], []), _CROSS), "sparse matrices"),
        (Case("SparseCross", ([_AT], [_V], [_S], [_V]), _CROSS), "dense matrices"),
        (
            Case("SparseCross", ([_AT], [_V], [_S], []), {**_CROSS, "out_type": tf.string}),
            "hashed_output=True needs int64",
        ),
        (Case("SparseToDense", (_AT, np.array([4]), arr(1), _F(0))), "dimensions"),
    ],
    ids=lambda x: x.op if isinstance(x, Case) else None,
)
def test_refuses(case, says, knowledge):
    with pytest.raises(InvalidArgumentError, match=says):
        built = build(case, knowledge)
        evaluate(built.outputs, built.feeds())


def test_what_is_refused_when_it_is_built():
    x = tf.constant([[-5.0], [2.0], [3.0], [4.0]])
    queue = tf.FIFOQueue(10, [tf.int32, tf.int32], shapes=[[], []])
    for make in (
        lambda: tf.fill([-7], 1.0),
        lambda: tf.betainc(0.5, [0.5], [[0.5]]),
        lambda: tf.clip_by_value(x, [-4.0, -4.0, -4.0], 4.0),
        lambda: tf.clip_by_norm(x, [[4.0, 4.0]]),
        lambda: queue.enqueue_many(([1, 2, 3], [1, 2])),
        lambda: tf.random_normal_initializer(0.0, 1.0, dtype=tf.string),
        lambda: tf.orthogonal_initializer(dtype=tf.int32),
    ):
        with pytest.raises(ValueError):
            make()


def test_a_negative_dimension_that_is_fed():
    dims = tf.placeholder(tf.int32, [2])
    with tf.Session() as s, pytest.raises(InvalidArgumentError, match="-7"):
        s.run(tf.fill(dims, 1.0), {dims: [2, -7]})

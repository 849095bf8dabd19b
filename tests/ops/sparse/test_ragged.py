"""Ragged rows as ops on splits and values. The values are those of TensorFlow 1.15.5."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

SPLITS = [np.int64([0, 2, 2, 5])]
NESTED = [np.int64([0, 1, 3]), np.int64([0, 2, 2, 5])]


def run(result):
    with tf.Session() as session:
        return [np.asarray(y).tolist() for x in session.run(result) for y in (x if isinstance(x, list) else [x])]


def test_ranges():
    made = tf.raw_ops.RaggedRange(starts=[0, 5, 8], limits=[3, 4, 15], deltas=[1, -1, 3])
    assert [t.dtype for t in made] == [tf.int64, tf.int32]
    assert run(made) == [[0, 3, 4, 7], [0, 1, 2, 5, 8, 11, 14]]
    made = tf.raw_ops.RaggedRange(starts=0.5, limits=[3.0, 4.0], deltas=1.0, Tsplits=tf.int32)
    assert made.rt_nested_splits.dtype == tf.int32 and run(made) == [[0, 3, 7], [0.5, 1.5, 2.5, 0.5, 1.5, 2.5, 3.5]]
    with pytest.raises(ValueError, match="Requires delta != 0"):
        run(tf.raw_ops.RaggedRange(starts=[0], limits=[3], deltas=[0]))
    with pytest.raises(ValueError, match="one length"):
        run(tf.raw_ops.RaggedRange(starts=[0, 1], limits=[3, 4, 5], deltas=[1]))


def test_gathered_rows():
    def gather(splits, values, indices, rank):
        return tf.raw_ops.RaggedGather(
            params_nested_splits=splits, params_dense_values=values, indices=indices, OUTPUT_RAGGED_RANK=rank
        )

    texts = ["a", "b", "c", "d", "e"]
    assert run(gather(SPLITS, texts, [2, 0, 2], 1)) == [[0, 3, 5, 8], [b"c", b"d", b"e", b"a", b"b", b"c", b"d", b"e"]]
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0]]
    assert run(gather(SPLITS, rows, [[2, 0], [1, 1]], 2)) == [[0, 2, 4], [0, 3, 5, 5, 5], [*rows[2:], *rows[:2]]]
    assert run(gather(NESTED, [1, 2, 3, 4, 5], [1, 0], 2)) == [[0, 2, 3], [0, 0, 3, 5], [3, 4, 5, 1, 2]]
    with pytest.raises(ValueError, match=r"indices must be in \[0, 3\)"):
        run(gather(SPLITS, texts, [3], 1))
    with pytest.raises(ValueError, match="splits must begin with 0"):
        run(gather([np.int64([0, 3, 2, 5])], texts, [0], 1))
    with pytest.raises(ValueError, match="OUTPUT_RAGGED_RANK must be 1, got 2"):
        run(gather(SPLITS, texts, [0], 2))


def test_sparse_rows():
    def sparse(splits, values):
        return tf.raw_ops.RaggedTensorToSparse(rt_nested_splits=splits, rt_dense_values=values)

    assert run(sparse(SPLITS, [1, 2, 3, 4, 5])) == [[[0, 0], [0, 1], [2, 0], [2, 1], [2, 2]], [1, 2, 3, 4, 5], [3, 3]]
    places = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1], [1, 1, 2]]
    assert run(sparse(NESTED, [1, 2, 3, 4, 5])) == [places, [1, 2, 3, 4, 5], [2, 2, 3]]
    indices, values, shape = run(sparse([np.int64([0, 1, 2])], [[1.0, 2.0], [3.0, 4.0]]))
    assert indices == [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1]]
    assert values == [1.0, 2.0, 3.0, 4.0] and shape == [2, 1, 2]


def test_buckets_of_boosted_trees():
    values, bounds = [[1.0, 5.0, -1.0, 3.0], [0.0, 1.0, 2.0, 2.5]], [[0.0, 3.0, 4.0], [1.0, 2.0]]
    made = tf.raw_ops.BoostedTreesBucketize(float_values=values, bucket_boundaries=bounds)
    assert run(made) == [[1, 2, 0, 1], [0, 0, 1, 1]]

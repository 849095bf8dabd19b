"""Embedding lookups: shards, clipping, errors. Values are compared with TensorFlow's in tests/oracle."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors


def test_one_table():
    table = tf.Variable(np.arange(12, dtype=np.float32).reshape(6, 2))
    ids = tf.placeholder(tf.int32, [None, 2])
    rows = tf.nn.embedding_lookup(table, ids)
    assert rows.shape.as_list() == [None, 2, 2]
    assert isinstance(tf.gradients(rows, table)[0], tf.IndexedSlices)
    with tf.Session() as session:
        session.run(table.initializer)
        np.testing.assert_array_equal(session.run(rows, {ids: [[5, 0]]}), [[[10, 11], [0, 1]]])


@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_shards_of_unequal_size(strategy):
    table = np.arange(14, dtype=np.float32).reshape(7, 2)
    parts = np.array_split(table, 3) if strategy == "div" else [table[k::3] for k in range(3)]
    rows = tf.nn.embedding_lookup([tf.constant(p) for p in parts], [[0, 6, 3], [2, 4, 4]], strategy)
    assert rows.shape.as_list() == [2, 3, 2]
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(rows), table[[[0, 6, 3], [2, 4, 4]]])


def test_clipping():
    rows = tf.nn.embedding_lookup(tf.constant([[3.0, 4.0], [0.3, 0.4]]), [0, 1], max_norm=1.0)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(rows), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)


def test_errors():
    with pytest.raises(errors.InvalidArgumentError):
        tf.nn.embedding_lookup([], [0])
    with pytest.raises(errors.InvalidArgumentError):
        tf.nn.embedding_lookup(tf.zeros([2, 2]), [0], "hash")


def test_a_bag_of_ids_per_example():
    """Rows with weights are averaged; only the rows read have a gradient; an unknown combiner is refused."""
    table = tf.Variable(np.arange(12, dtype=np.float32).reshape(6, 2))
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([5, 1, 1], tf.int64), [2, 2])
    weights = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [3.0, 1.0, 2.0], [2, 2])
    mean = tf.nn.embedding_lookup_sparse(table, ids, weights, combiner="mean")
    step = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(mean))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(mean), [[8, 9], [2, 3]])
        session.run(step)
        change = session.run(table).reshape(-1) - np.arange(12)
    np.testing.assert_allclose(change.reshape(6, 2)[:, 0], [0, -1.25, 0, 0, 0, -0.75])
    with pytest.raises(errors.InvalidArgumentError, match="max"):
        tf.nn.embedding_lookup_sparse(table, ids, None, combiner="max")

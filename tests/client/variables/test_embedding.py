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


@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_shards_on_several_devices(strategy):
    """Rows travel, shards do not; only the rows read change; repeated rows add up."""
    table = np.arange(20, dtype=np.float32).reshape(10, 2)
    order = np.concatenate([np.arange(10)[k::3] for k in range(3)]) if strategy == "mod" else np.arange(10)
    turn = iter(range(3))

    def own_device(op):
        return f"/cpu:{next(turn)}" if op.type == "VariableV2" else ""

    with tf.device(own_device):
        shards = tf.get_variable("table", initializer=table[order], partitioner=tf.fixed_size_partitioner(3))
    with tf.device("/cpu:0"):
        rows = tf.nn.embedding_lookup(shards, [[7, 0, 3], [7, 9, 3]], strategy)
        loss = tf.reduce_sum(rows)
    grads = tf.gradients(loss, list(shards))
    assert all(isinstance(g, tf.IndexedSlices) for g in grads)
    step = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as session:
        session.run(tf.global_variables_initializer())
        metadata = tf.RunMetadata()
        got = session.run(rows, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
        np.testing.assert_array_equal(got, table[[[7, 0, 3], [7, 9, 3]]])
        sent = [
            n.name
            for name, g in metadata.passes
            if name == "partition"
            for n in g.nodes.values()
            if "Send" in n.opdef.name
        ]
        assert sent and not [n for n in sent if "part_" in n]
        assert sum(g.values.shape[0] for g in session.run(grads)) == 6
        session.run(step)
        after = np.empty_like(table)
        after[order] = session.run(shards.as_tensor())
    change = np.zeros((10, 2))
    np.add.at(change, [7, 0, 3, 7, 9, 3], -1)
    np.testing.assert_array_equal(after - table, change)


def test_bags_over_a_partitioned_table():
    table = np.arange(12, dtype=np.float32).reshape(6, 2)
    shards = tf.get_variable("table", initializer=table, partitioner=tf.fixed_size_partitioner(4))
    ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([5, 1, 4], tf.int64), [3, 2])
    rows = tf.nn.safe_embedding_lookup_sparse(shards, ids)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(rows), [table[[5, 1]].mean(0), [0, 0], table[4]])


def test_sampled_and_full_softmax_over_shards():
    """With every class sampled once, and counted as certain, the sampled loss is the full one; so are its gradients."""
    rng = np.random.default_rng(2)
    w, b, x = rng.normal(size=[7, 3]), rng.normal(size=[7]), tf.constant(rng.normal(size=[4, 3]))
    labels = np.array([[0], [6], [3], [3]])
    cut = tf.fixed_size_partitioner(3)
    weights = tf.get_variable("w", initializer=tf.constant(w), partitioner=cut)
    biases = tf.get_variable("b", initializer=tf.constant(b), partitioner=cut)
    every = (np.arange(7), np.ones([4, 1]), np.ones(7))
    sampled = tf.nn.sampled_softmax_loss(
        weights, biases, labels, x, 7, 7, sampled_values=every, partition_strategy="div"
    )
    logits = [tf.matmul(x, p, transpose_b=True) + q for p, q in zip(weights, biases, strict=True)]
    full = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels[:, 0], logits=tf.concat(logits, 1))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(*session.run([sampled, full]), rtol=1e-12)
        for p in (*weights, *biases):
            a, b = (tf.convert_to_tensor(tf.gradients(y, p)[0]) for y in (sampled, full))
            np.testing.assert_allclose(*session.run([a, b]), rtol=1e-10, atol=1e-12)

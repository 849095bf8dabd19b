"""Partitioned variables beside TensorFlow's: names, slices, values, checkpoints that go both ways of partitioning."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from side_by_side import compare

import tfnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
TABLE = np.arange(28, dtype=np.float32).reshape(7, 4)
LIBRARIES = [tfnb, tf1]


def told(v: Any) -> tuple[Any, ...]:
    info = v.save_slice_info if hasattr(v, "save_slice_info") else v._get_save_slice_info()
    return v.name, info.full_name, info.spec, [int(n) for n in v.shape]


def network(tf: Any) -> list[Any]:
    """What a program with every kind of partitioner has: names of variables, slices, tensors of the whole."""
    cut = tf.fixed_size_partitioner(3)
    with tf.variable_scope("s", partitioner=cut, use_resource=False):
        a = tf.get_variable("a", [7, 4])
        with tf.variable_scope("t", partitioner=tf.variable_axis_size_partitioner(40, axis=1)):
            b = tf.get_variable("b", [2, 30], initializer=tf.ones_initializer())
        c = tf.get_variable("c", [8], partitioner=tf.min_max_variable_partitioner(5, min_slice_size=8))
        d = tf.get_variable("d", initializer=tf.constant(TABLE), partitioner=tf.fixed_size_partitioner(2, axis=1))
    with tf.variable_scope("s", reuse=True):
        assert tf.get_variable("a") is a
    made = tf.create_partitioned_variables([4, 6], [1, 2], tf.zeros_initializer())
    tensors = [tf.convert_to_tensor(v).name for v in (a, a, b, c, d)]
    parts = [told(v) for whole in (a, b, c, d, made) for v in whole]
    everything = [v.name for v in tf.trainable_variables()]
    return [tensors, parts, everything, [(v.name, len(v), list(v._get_partitions())) for v in (a, b, c, d)]]


def test_names_and_slices() -> None:
    found = []
    for tf in LIBRARIES:
        with tf.Graph().as_default():
            found.append(network(tf))
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["float32", "int64", "string"])
@pytest.mark.parametrize("shape", [[10], [1], [1000, 3], [5, 70, 2], [0, 4]], ids=str)
def test_partitioners(shape: list[int], dtype: str) -> None:
    def answers(tf: Any) -> list[list[int]]:
        kinds = [
            *[tf.fixed_size_partitioner(n, axis) for n in (1, 7) for axis in (0, -1)],
            *[tf.variable_axis_size_partitioner(n, axis, 5) for n in (1, 100, 4096) for axis in (0, len(shape) - 1)],
            tf.variable_axis_size_partitioner(8, max_shards=3),
            *[tf.min_max_variable_partitioner(n, 0, size) for n in (1, 9) for size in (16, 1 << 18)],
        ]
        if 0 in shape:  # theirs divides by the empty dimension
            kinds = [*kinds[1:2], kinds[-1]]
        return [[int(n) for n in k(shape=tf.TensorShape(shape), dtype=getattr(tf, dtype))] for k in kinds]

    ours, theirs = (answers(tf) for tf in LIBRARIES)
    assert ours == [[max(n, 1) if 0 not in shape else n for n in p] for p in theirs]


def their_checkpoint(folder: Any, cut: Any, sharded: bool) -> str:
    with tf1.Graph().as_default(), tf1.Session() as session:
        v = tf1.get_variable("w", initializer=tf1.constant(TABLE), partitioner=cut, use_resource=False)
        step = tf1.train.AdamOptimizer(0.1).minimize(tf1.reduce_sum(tf1.square(v)))
        session.run(tf1.global_variables_initializer())
        session.run(step)
        return tf1.train.Saver(sharded=sharded).save(session, str(folder / "theirs"))


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_checkpoints_are_equal(tmp_path: Any, axis: int, sharded: bool) -> None:
    """One step of Adam on both sides: the same tensors, slices and (nearly) the same values; theirs restored here."""
    theirs = their_checkpoint(tmp_path, tf1.fixed_size_partitioner(3, axis), sharded)
    with tfnb.Graph().as_default(), tfnb.Session() as session:
        v = tfnb.get_variable("w", initializer=TABLE, partitioner=tfnb.fixed_size_partitioner(2, axis))
        step = tfnb.train.AdamOptimizer(0.1).minimize(tfnb.reduce_sum(tfnb.square(v)))
        session.run(tfnb.global_variables_initializer())
        session.run(step)
        saver = tfnb.train.Saver(sharded=sharded)
        ours = saver.save(session, str(tmp_path / "ours"))
        assert dict(tfnb.train.list_variables(ours)) == dict(tf1.train.list_variables(theirs))
        for name, _ in tfnb.train.list_variables(ours):
            expected = tf1.train.load_variable(theirs, name)
            np.testing.assert_allclose(tfnb.train.load_variable(ours, name), expected, rtol=1e-6, err_msg=name)
        session.run(v.assign(TABLE * 0))
        saver.restore(session, theirs)
        np.testing.assert_array_equal(session.run(v.as_tensor()), tf1.train.load_variable(theirs, "w"))


def test_save_nodes_name_the_same_slices() -> None:
    """The constants that SaveV2 reads: names of tensors, and their slices."""
    found = []
    for tf in LIBRARIES:
        with tf.Graph().as_default() as graph, tf.Session() as session:
            tf.get_variable("w", [13, 2], partitioner=tf.fixed_size_partitioner(12), use_resource=False)
            tf.get_variable("b", [3], use_resource=False)
            tf.train.Saver()
            texts = [graph.get_tensor_by_name(f"save/SaveV2/{n}:0") for n in ("tensor_names", "shape_and_slices")]
            found.append([t.tolist() for t in session.run(texts)])
    assert found[0] == found[1]


def lookup(strategy: str) -> Any:
    def build(tf: Any, x: Any) -> list[Any]:
        with tf.variable_scope("e", use_resource=False, partitioner=tf.fixed_size_partitioner(3), dtype=tf.float64):
            table = tf.get_variable("table", [10, 4])
            bias = tf.get_variable("bias", [10])
        ids = tf.constant([[0, 9, 4], [4, 7, 1]])
        rows = tf.nn.embedding_lookup(table, ids, strategy)
        clipped = tf.nn.embedding_lookup(table, ids, strategy, max_norm=0.5)
        bags = tf.SparseTensor([[0, 0], [0, 2], [3, 1]], tf.constant([9, 1, 4], tf.int64), [4, 3])
        mean = tf.nn.safe_embedding_lookup_sparse(table, bags, partition_strategy=strategy)
        samples = (tf.constant([5, 2, 0], tf.int64), tf.ones([2, 1], tf.float64), tf.ones([3], tf.float64))
        losses = [
            loss(
                table,
                bias,
                tf.constant([[4], [9]], tf.int64),
                x,
                3,
                10,
                sampled_values=samples,
                partition_strategy=strategy,
            )
            for loss in (tf.nn.nce_loss, tf.nn.sampled_softmax_loss)
        ]
        return [rows, clipped, mean, *losses, tf.matmul(x, table, transpose_b=True)]

    return build


@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_sharded_embeddings(strategy: str) -> None:
    compare(lookup(strategy), np.linspace(-1, 1, 8).reshape(2, 4))


def test_layers_in_a_partitioned_scope() -> None:
    def build(tf: Any, x: Any) -> list[Any]:
        with tf.variable_scope("net", partitioner=tf.fixed_size_partitioner(2), use_resource=False):
            hidden = tf.layers.dense(x, 5, tf.nn.tanh, name="dense")
            images = tf.layers.conv2d(tf.reshape(hidden, [2, 5, 1, 1]), 3, [3, 1], name="conv")
            cell = tf.nn.rnn_cell.BasicLSTMCell(2)
            states, _ = tf.nn.dynamic_rnn(cell, tf.reshape(images, [2, 3, 3]), dtype=x.dtype)
        return [hidden, images, states]

    compare(build, np.linspace(-1, 1, 8).reshape(2, 4), tolerance=1e-8)

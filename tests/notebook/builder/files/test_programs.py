"""Graphs without source become Python: the program builds the same nodes, trains alike, and refuses by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tfnb as tf
from tfnb.errors import UnimplementedError
from tfnb.notebook.builder.files.programs import program_of


def classifier():
    x = tf.placeholder(tf.float32, [None, 8, 8, 1], name="x")
    with tf.variable_scope("net"):
        h = tf.layers.max_pooling2d(tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu), 2, 2)
        y = tf.layers.dense(tf.layers.flatten(h), 10)
    loss = tf.losses.sparse_softmax_cross_entropy(tf.placeholder(tf.int32, [None], name="t"), y)
    tf.train.AdamOptimizer(0.01).minimize(loss, global_step=tf.train.get_or_create_global_step())
    tf.global_variables_initializer()


def recurrent():
    x = tf.placeholder(tf.float32, [2, 3, 4])
    outputs, _ = tf.nn.static_rnn(tf.nn.rnn_cell.BasicLSTMCell(5), tf.unstack(x, axis=1), dtype=tf.float32)
    tf.gradients(outputs[-1], x)


def normalized():
    x = tf.placeholder(tf.float32, [2, 3, 4, 5])
    y = tf.nn.dropout(tf.layers.batch_normalization(x, training=True), 0.5)
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(y))


def pieces():
    a = tf.constant([[1.5, np.nan], [np.inf, -2e-8]], tf.float64)
    b, c = tf.split(a, 2)
    tf.concat([b, c, b], 0)
    tf.stack([b, c])
    tf.reduce_sum(a, 1, keep_dims=True)
    tf.where(a > 0, a, a[0:, ::-1])
    tf.cond(tf.constant(True), lambda: a, lambda: a * 2)
    with tf.device("/cpu:0"), tf.control_dependencies([a, b.op]):
        tf.identity(b, name="class")
    with tf.name_scope("names that end with a slash"[:5]), tf.colocate_with(c):
        tf.random_normal([3], seed=4, name="print")
    queue = tf.FIFOQueue(3, [tf.float32], [[]])
    queue.enqueue([1.0])
    queue.dequeue()
    tf.summary.scalar("s", tf.reduce_sum(a))
    tf.strings.join([tf.constant([b"x\0", "é"]), tf.constant("")])


def old_variables():
    w = tf.get_variable("w", [3], tf.float64, initializer=tf.zeros_initializer(), trainable=False)
    v = tf.Variable(w.initialized_value() * 2, name="v")
    tf.assign_sub(v, w.read_value())
    tf.scatter_update(v, [0], [1.0])


@pytest.mark.parametrize("build", [classifier, recurrent, normalized, pieces, old_variables])
def test_the_program_of_a_graph_builds_the_same_graph(build):
    with tf.Graph().as_default() as graph:
        build()
    text = program_of(graph.as_graph_def())
    with tf.Graph().as_default() as again:
        exec(text, {})
    assert list(again.as_graph_def().node) == list(graph.as_graph_def().node)
    assert program_of(again.as_graph_def()) == text


def test_trainable_are_the_variables_that_are_read_and_that_only_an_optimizer_changes():
    with tf.Graph().as_default() as graph:
        classifier()
        wanted = [v.name for v in tf.trainable_variables()]
    with tf.Graph().as_default():
        exec(program_of(graph.as_graph_def()), {})
        assert [v.name for v in tf.trainable_variables()] == wanted


def test_a_program_is_short_and_uses_the_names_of_the_api():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.Variable([[1.0], [1.0]], name="w")
        tf.reduce_sum(tf.matmul(x, w, name="y"), [0, 1], name="sum")
    assert program_of(graph.as_graph_def()) == (
        "import tfnb as tf\n\n"
        "x = tf.placeholder(dtype=tf.float32, shape=[None, 2], name='x')\n"
        "const = tf.constant(1.0, tf.float32, [2, 1], name='w/initial_value/Const')\n"
        "w = tf.Variable(const, name='w')\n"
        "y = tf.matmul(x, w, name='y')\n"
        "reduction_indices = tf.constant([0, 1], tf.int32, name='sum/reduction_indices')\n"
        "sum_2 = tf.reduce_sum(y, reduction_indices, name='sum')\n"
    )


DTYPES = "float16 float32 float64 int8 uint8 int16 int32 int64 bool complex64 complex128".split()


@given(st.data(), st.sampled_from(DTYPES))
def test_constants_keep_every_bit(data, dtype):
    shape = data.draw(st.lists(st.integers(0, 3), max_size=3))
    value = data.draw(arrays(dtype, shape))
    with tf.Graph().as_default() as graph:
        tf.constant(value, name="value")
    with tf.Graph().as_default() as again:
        exec(program_of(graph.as_graph_def()), {})
    (op,) = again.get_operations()
    assert op.attrs.value.dtype == value.dtype and op.attrs.value.shape == value.shape
    assert np.array_equal(op.attrs.value, value, equal_nan=value.dtype.kind in "fc")
    if value.dtype.kind == "f":
        assert np.array_equal(np.signbit(op.attrs.value), np.signbit(value))


@pytest.mark.parametrize("bits", [0x7FC00001, 0xFFC00001, 0x7FA00000])
def test_a_nan_keeps_its_payload(bits):
    value = np.array([bits, 0x3F800000], np.uint32).view(np.float32)
    with tf.Graph().as_default() as graph:
        tf.constant(value, name="value")
    with tf.Graph().as_default() as again:
        exec(program_of(graph.as_graph_def()), {})
    assert again.get_operations()[0].attrs.value.tobytes() == value.tobytes()


def a_loop():
    tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], name="turn")


def a_large_constant():
    tf.constant(np.arange(1_001), name="turn")


def a_python_function():
    tf.py_func(np.sin, [tf.constant(1.0)], tf.float32, name="turn")


@pytest.mark.parametrize("build", [a_loop, a_large_constant, a_python_function])
def test_what_no_statement_can_say_is_refused_with_the_name_of_the_node(build):
    with tf.Graph().as_default() as graph:
        build()
    with pytest.raises(UnimplementedError, match="the node 'turn"):
        program_of(graph.as_graph_def())


@pytest.mark.opencl
def test_the_builder_of_a_file_trains(tmp_path):
    with tf.Graph().as_default() as graph:
        classifier()
    tf.train.export_meta_graph(str(tmp_path / "net.meta"), graph=graph)
    view = tf.builder(tmp_path / "net.meta")
    feeds = {"x:0": np.random.default_rng(0).normal(size=(6, 8, 8, 1)), "t:0": np.arange(6)}
    losses = []
    for g in (graph, view.graph):
        g.seed = 1
        loss = "sparse_softmax_cross_entropy_loss/value:0"
        values = np.random.default_rng(1)
        with g.as_default(), tf.Session(graph=g) as session:
            session.run("init")
            for v in sorted(tf.trainable_variables(), key=lambda v: v.name):
                v.load(values.normal(size=v.shape.as_list()).astype(np.float32), session)
            losses.append([session.run([loss, "Adam"], feeds)[0] for _ in range(3)])
    view.close()
    assert losses[0] == losses[1] and losses[0][2] < losses[0][0]

"""Graphs that TensorFlow wrote with control flow v2 and resource variables, with their gradients: the same values here."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tfnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf = tensorflow.compat.v1

pytestmark = [pytest.mark.opencl, pytest.mark.filterwarnings("ignore")]
X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
WEIGHTS = np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3)
FUNCTIONAL = {"If", "StatelessIf", "While", "StatelessWhile", "Case", "StatelessCase", "StatefulPartitionedCall"}


@pytest.fixture(autouse=True)
def later_version_1():
    """Resource variables; and what a test changes is set back."""
    resources, loops = tf.resource_variables_enabled(), tf.control_flow_v2_enabled()
    tf.enable_resource_variables()
    tf.enable_control_flow_v2()
    yield
    if not resources:
        tf.disable_resource_variables()
    if not loops:
        tf.disable_control_flow_v2()


def weights():
    return tf.get_variable("w", initializer=WEIGHTS)


def branches(x):
    w = weights()
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.matmul(x, w), lambda: tf.nn.relu(x) * 2.0)
    return [y, *tf.gradients(y, [x, w])]


def loop(x):
    w = weights()
    _, y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.tanh(tf.matmul(v, w))), [0, x])
    return [y, *tf.gradients(y, [x, w])]


def branch_in_loop(x):
    w = weights()

    def body(i, v):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: tf.tanh(tf.matmul(v, w)), lambda: v * tf.cast(i, tf.float32))

    _, y = tf.while_loop(lambda i, v: i < 4, body, [1, x])
    return [y, *tf.gradients(tf.square(y), [x, w])]


def loop_in_branch(x):
    w = weights()

    def repeated():
        return tf.while_loop(lambda v: tf.reduce_sum(tf.abs(v)) < 90.0, lambda v: tf.matmul(v, w) + v * 2.0, [x])

    y = tf.cond(tf.reduce_sum(x) > 0, repeated, lambda: x * 3.0)
    return [y, *tf.gradients(y, x)]


def loop_in_loop(x):
    def outer(i, v):
        _, u = tf.while_loop(lambda j, u: j < i, lambda j, u: (j + 1, tf.sin(u) * 1.5), [0, v])
        return i + 1, u + v

    _, y = tf.while_loop(lambda i, v: i < 3, outer, [0, x])
    return [y, *tf.gradients(y, x)]


def effects(x):
    n = tf.get_variable("n", initializer=0)
    w = weights()

    def body(i, v):
        with tf.control_dependencies([tf.assign_add(n, 1), tf.assign_sub(w, w * 0.5)]):
            return i + 1, v + tf.reduce_sum(w.read_value())

    _, y = tf.while_loop(lambda i, v: i < 3, body, [0, x])
    with tf.control_dependencies([tf.cond(n < 100, lambda: tf.assign_add(n, 10), lambda: tf.assign(n, 0)), y]):
        return [y, n.read_value(), w.read_value()]


def choices(x):
    number = tf.cast(tf.reduce_sum(x), tf.int32)
    chosen = tf.switch_case(number % 5, [lambda: x, lambda: x * 2.0, lambda: tf.tanh(x)], default=lambda: x * 5.0)
    return [chosen, *tf.gradients(chosen, x)]


def scans(x):
    w = weights()
    y = tf.scan(lambda a, r: tf.tanh(a + tf.reduce_sum(w * r)), x, initializer=tf.zeros([3]))
    z = tf.map_fn(lambda r: r * tf.reduce_sum(r), x)
    return [y, z, *tf.gradients([y, z], [x, w])]


def recurrent(x):
    rows = tf.stack([x, x * 0.5, x - 1.0, x], 1)
    cell = tf.nn.rnn_cell.LSTMCell(2, initializer=tf.constant_initializer(0.1))
    y, state = tf.nn.dynamic_rnn(cell, rows, sequence_length=[2, 4], dtype=tf.float32)
    variables = tf.trainable_variables()
    loss = tf.reduce_sum(tf.square(y)) + tf.reduce_sum(state.c)
    slopes = tf.gradients(loss, [x, *variables])
    optimizer = tf.train.AdamOptimizer(0.1)
    with tf.control_dependencies([y, loss, *slopes]):
        train = optimizer.apply_gradients(zip(slopes[1:], variables, strict=True))
    with tf.control_dependencies([train]):
        return [y, loss, *slopes, *(v.read_value() for v in variables)]


def arrays(x):
    array = tf.TensorArray(tf.float32, 3, element_shape=[2])
    for k in range(3):
        array = array.write(k, x[:, k] * float(k))
    joined = array.stack()
    parts = tf.TensorArray(tf.float32, 2, infer_shape=False).split(tf.concat([x, x], 0), [1, 3])
    picked = tf.TensorArray(tf.float32, 2).unstack(x).gather([1, 0, 1])
    y = tf.reduce_sum(tf.square(joined)) + tf.reduce_sum(parts.concat() * picked[:1]) + tf.reduce_sum(picked**3)
    return [joined, picked, y, *tf.gradients(y, x)]


def called(x):
    w = weights()

    @tensorflow.function
    def inner(v):
        return tf.matmul(v, w), tf.reduce_sum(v)

    @tensorflow.function
    def outer(v):
        a, b = inner(tf.tanh(v))
        return a * b

    y = outer(x)
    return [y, *tf.gradients(y, [x, w])]


PROGRAMS = [
    branches,
    loop,
    branch_in_loop,
    loop_in_branch,
    loop_in_loop,
    effects,
    choices,
    scans,
    recurrent,
    arrays,
    called,
]


def check(program, feeds):
    """Two steps per feed, in TensorFlow and here. Gives the op types."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        found = [tf.convert_to_tensor(g) for g in program(x)]
        names = [tf.identity(t, name=f"result_{k}").name for k, t in enumerate(found)]
        init = tf.global_variables_initializer().name
    message = graph.as_graph_def().SerializeToString()
    ours = tfnb.Graph()
    with ours.as_default():
        tfnb.import_graph_def(message, name="")
    with tf.Session(graph=graph) as theirs, tfnb.Session(graph=ours) as mine:
        theirs.run(graph.get_operation_by_name(init))
        mine.run(ours.get_operation_by_name(init))
        for value in feeds:
            for _ in range(2):
                wanted = theirs.run(names, {"x:0": value})
                for name, a, b in zip(names, mine.run(names, {"x:0": value}), wanted, strict=True):
                    np.testing.assert_allclose(a, b, 2e-5, 2e-5, err_msg=name)
    return {op.type for op in graph.get_operations()}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_functional_control_flow(program):
    types = check(program, [X + 0.3, -X - 0.4])
    assert types & FUNCTIONAL or program is arrays


@pytest.mark.parametrize(
    "program", [branches, loop, branch_in_loop, effects, scans, recurrent], ids=lambda p: p.__name__
)
def test_switch_and_merge_with_resource_variables(program):
    tf.disable_control_flow_v2()
    types = check(program, [X + 0.3, -X - 0.4])
    assert not types & FUNCTIONAL


@pytest.mark.parametrize("build", [branches, loop, choices, called], ids=lambda p: p.__name__)
def test_gradients_taken_here(build):
    """Of an imported graph, by the argument and by the variable."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        y = tf.identity(build(x)[0], name="y")
        sources = [x, *tf.trainable_variables()]
        grads = tf.gradients(tf.sin(y), sources)
        init = tf.global_variables_initializer().name
    ours = tfnb.Graph()
    with ours.as_default():
        tfnb.import_graph_def(graph.as_graph_def().SerializeToString(), name="")
        names = ["x:0" if s is x else "w:0" for s in sources]
        mine = tfnb.gradients(tfnb.sin(ours.get_tensor_by_name("y:0")), names)
    with tf.Session(graph=graph) as theirs, tfnb.Session(graph=ours) as session:
        theirs.run(graph.get_operation_by_name(init))
        session.run(ours.get_operation_by_name(init))
        for value in (X + 0.3, -X - 0.4):
            for a, b in zip(session.run(mine, {"x:0": value}), theirs.run(grads, {"x:0": value}), strict=True):
                np.testing.assert_allclose(a, b, 2e-5, 2e-5)

"""tf.add_check_numerics_ops: which tensor is named, in branches and loops, and what is not touched."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError

pytestmark = pytest.mark.opencl


@pytest.fixture(params=["1", "0"])
def guarded(monkeypatch, request):
    """Runs a fetch beside the guard; the tensor that the guard names, None where all are finite."""
    monkeypatch.setenv("TFNB_FAST_LOOPS", request.param)

    def run(fetch, feeds):
        init = tf.global_variables_initializer()
        guard = tf.add_check_numerics_ops()
        found = []
        with tf.Session() as session:
            session.run(init)
            for feed in feeds:
                try:
                    session.run([fetch, guard], feed)
                    found.append(None)
                except InvalidArgumentError as e:
                    assert "Tensor had" in e.message and "test_numeric_checks.py" in str(e)
                    found.append(e.message.split(" : ")[0].split()[-1])
        return found

    return run


def test_a_plain_graph(guarded):
    x = tf.placeholder(tf.float32, [2])
    y = tf.sqrt(tf.log(x, name="logarithm")) * 0.0
    assert guarded(y, [{x: [1.0, 2.0]}, {x: [1.0, 0.0]}]) == [None, "logarithm:0"]


def test_the_taken_branch_alone(guarded):
    x, p = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.log(x, name="taken") + 1.0, lambda: x * 2.0)
    after = tf.sqrt(x + 2.0, name="after")
    feeds = [{x: a, p: b} for a, b in ((1.0, True), (-1.0, True), (-1.0, False), (-3.0, False))]
    assert guarded([y, after], feeds) == [None, "cond/taken:0", None, "after:0"]


def test_nested_branches(guarded):
    x, p, q = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.cond(q, lambda: tf.log(x, name="deep"), lambda: x) * 2.0, lambda: x)
    feeds = [{x: -1.0, p: a, q: b} for a in (True, False) for b in (True, False)]
    assert guarded(y, feeds) == ["cond/cond/deep:0", None, None, None]


def test_a_later_iteration_of_a_loop(guarded):
    x, n = tf.placeholder(tf.float32, []), tf.placeholder(tf.int32, [])
    y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.log(y, name="step")), [0, x])[1]
    y = tf.exp(y, name="after")
    feeds = [{x: 3.0, n: k} for k in (0, 1, 2, 3, 4)]
    assert guarded(y, feeds) == [None, None, None, None, "while/step:0"]


def test_a_condition_of_a_loop(guarded):
    x = tf.placeholder(tf.float32, [])
    y = tf.while_loop(lambda y: tf.log(y, name="test") < 3.0, lambda y: y + 5.0, [x])
    assert guarded(y, [{x: 1.0}, {x: -7.0}]) == [None, "while/test:0"]


def test_loops_and_branches_in_each_other(guarded):
    x = tf.placeholder(tf.float32, [])

    def body(i, y):
        z = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, tf.log(z, name="inner")), [0, y])[1]
        return i + 1, tf.cond(i > 1, lambda: tf.sqrt(z, name="root") + 9.0, lambda: z + 3.0)

    y = tf.while_loop(lambda i, y: i < 3, body, [0, x])[1]
    found = guarded(y, [{x: 20.0}, {x: -2.5}, {x: -3.5}])
    assert found == [None, "while/cond/root:0", "while/while/inner:0"]


def test_a_loop_in_a_branch(guarded):
    x, p = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])

    def loop():
        return tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, tf.log(y, name="step")), [0, x])[1]

    y = tf.cond(p, loop, lambda: x)
    assert guarded(y, [{x: 0.5, p: True}, {x: 0.5, p: False}]) == ["cond/while/step:0", None]


def test_dropout_beside_a_condition(guarded):
    x, training = tf.placeholder(tf.float32, [4]), tf.placeholder(tf.bool, [])
    y = tf.layers.dropout(tf.log(x, name="logarithm"), training=training)
    feeds = [{x: [a, 1.0, 1.0, 1.0], training: t} for a in (1.0, -1.0) for t in (True, False)]
    assert guarded(y, feeds) == [None, None, "logarithm:0", "logarithm:0"]


def test_a_recurrent_net_and_its_gradients(guarded):
    x = tf.placeholder(tf.float32, [2, 3, 4])
    y, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(5), x, dtype=tf.float32)
    loss = tf.reduce_sum(tf.sqrt(tf.nn.relu(y[:, -1, 0]) * 0.0))
    bad = np.ones((2, 3, 4), np.float32)
    bad[0, 1, 2] = np.nan
    found = guarded(y, [{x: np.ones((2, 3, 4))}, {x: bad}])
    assert found[0] is None and found[1].startswith("Placeholder")
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)  # the slope of the root at 0 is infinite
    (named,) = guarded(step, [{x: np.ones((2, 3, 4))}])
    assert "gradients" in named


def test_no_variable_is_assigned():
    v = tf.Variable(1.0)
    add = v.assign_add(1.0)
    guard = tf.add_check_numerics_ops()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(add)
        session.run(guard)
        assert session.run(v) == 2.0


def test_a_graph_that_was_imported(guarded, graph):
    x, p = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.bool, [], name="p")
    y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, tf.cond(p, lambda: tf.log(y), lambda: y)), [0, x])[1]
    tf.identity(y, name="y")
    definition = graph.as_graph_def()
    with tf.Graph().as_default():
        x, p, y = tf.import_graph_def(definition, return_elements=["x:0", "p:0", "y:0"], name="")
        guard = tf.add_check_numerics_ops()
        with tf.Session() as session:
            assert session.run([y, guard], {x: -1.0, p: False})[0] == -1.0
            with pytest.raises(InvalidArgumentError, match=r"while/cond/Log:0 : Tensor had NaN"):
                session.run([y, guard], {x: -1.0, p: True})

"""Graphs that are thousands of nodes deep or wide, through everything that takes a graph: Python allows 1,000 calls.

A function that calls itself for what it reads works on the graphs of examples and fails on those of programs, where a
loss is the sum of a thousand terms.
"""

from __future__ import annotations

import numpy as np
import pytest
from rounds import IS_LONG, rounds

import tfnb as tf

pytestmark = pytest.mark.opencl
N = rounds(1050, 5000)
TERMS = rounds(350, 5000)  # of one kernel's text, in which a term takes several calls
X = np.array([0.5, -0.25], np.float32)


def chain(x):
    y = x
    for _ in range(N):
        y = y + 1.0
    return y, X + N, [1.0, 1.0]


def sum_of_terms(x):
    """As the loss of many examples; the terms share what they read, and so does the gradient."""
    y = tf.add_n([tf.square(x - float(i % 7)) for i in range(TERMS)])
    shifts = [X - i % 7 for i in range(TERMS)]
    return y, sum(s**2 for s in shifts), sum(2 * s for s in shifts)


def running_sum(x):
    y = x
    for i in range(N):
        y = y + x * float(i % 3)
    return y, X * (1 + sum(i % 3 for i in range(N))), [1.0 + sum(i % 3 for i in range(N))] * 2


def tree(x):
    terms = [x * float(i % 3) for i in range(N)]
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)] + terms[len(terms) & ~1 :]
    factor = sum(i % 3 for i in range(N))
    return terms[0], X * factor, [factor] * 2


def nested_scopes(x):
    scopes = [tf.name_scope("s") for _ in range(N)]
    for s in scopes:
        s.__enter__()
    y = x * 2.0
    for s in reversed(scopes):
        s.__exit__(None, None, None)
    return y, X * 2, [2.0, 2.0]


def control_edges(x):
    last = x.op
    for k in range(N):
        with tf.control_dependencies([last]):
            last = tf.no_op() if k % 2 else tf.identity(x).op
    with tf.control_dependencies([last]):
        return tf.identity(x), X, [1.0, 1.0]


def colocated(x):
    y = x
    for _ in range(N):
        with tf.colocate_with(y.op):
            y = -y
    return y, X * (-1.0) ** N, [(-1.0) ** N] * 2


KINDS = [chain, sum_of_terms, nested_scopes, control_edges, colocated, *([running_sum, tree] if IS_LONG else [])]


@pytest.mark.parametrize("kind", KINDS)
def test_every_entry_takes_a_deep_graph(kind, tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2], name="x")
        y, value, slope = kind(x)
        y = tf.identity(y, name="y")
        np.testing.assert_allclose(sess.run(y, {x: X}), value, rtol=1e-4)
        np.testing.assert_allclose(sess.run(tf.gradients(y, x)[0], {x: X}), slope, rtol=1e-4)
        definition = graph.as_graph_def()
        assert len(str(definition)) > TERMS
        tf.graph_util.extract_sub_graph(definition, ["y"])
        tf.graph_util.remove_training_nodes(definition)
        tf.train.export_meta_graph()
        tf.saved_model.simple_save(sess, str(tmp_path / "model"), {"x": x}, {"y": y})
        tf.train.write_graph(definition, str(tmp_path), "graph.pbtxt")
        for shown in (graph, y, y.op):
            assert repr(shown)
            getattr(shown, "_repr_html_", str)()
        with tf.Graph().as_default() as other, tf.Session() as second:
            tf.import_graph_def(definition, name="")
            np.testing.assert_allclose(second.run("y:0", {"x:0": X}), value, rtol=1e-4)
            assert len(other.get_operations()) == len(definition.node)
            if kind in (nested_scopes, control_edges):
                assert tf.compare(sess, second, "y:0", {"x:0": X}, rtol=1e-4).equal


def test_a_loss_of_many_terms_is_trained():
    with tf.Graph().as_default(), tf.Session() as sess:
        w = tf.Variable([0.0] * 4)
        loss = tf.add_n([tf.reduce_sum(tf.square(w - float(i % 5))) for i in range(TERMS)]) / (TERMS)
        train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        np.testing.assert_allclose(sess.run(w), [np.mean([i % 5 for i in range(TERMS)])] * 4, rtol=1e-4)

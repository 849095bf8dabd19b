"""Loops cross over with their contexts: gradients of TensorFlow's loops here, of ours in TensorFlow; and second orders."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tfnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

pytestmark = pytest.mark.opencl
POINT = np.array([0.7, -0.4, 1.1])


@pytest.fixture(autouse=True)
def version_1(monkeypatch):
    """Loops of Switch and Merge in TensorFlow."""
    monkeypatch.setenv("TFNB_OPTIMIZE", "0")
    loops = tf1.control_flow_v2_enabled()
    tf1.disable_control_flow_v2()
    yield
    if loops:
        tf1.enable_control_flow_v2()


def repeat(tf, times, body, start, **options):
    return tf.while_loop(lambda i, *_: i < times, lambda i, a: (i + 1, body(i, a)), [0, start], **options)[1]


def inner(tf, a, x, times):
    return tf.while_loop(lambda j, _: j < times, lambda j, b: (j + 1, tf.sin(b) * a + x * b), [0, a])[1]


def in_branches(tf, x):
    def body(i, a):
        return tf.cond(tf.equal(i % 2, 0), lambda: inner(tf, a, x, 2), lambda: a**2)

    return repeat(tf, 3, body, x)


LOOPS = {
    "captured": lambda tf, x: repeat(tf, 3, lambda i, a: tf.sin(a * x), x),
    "nested": lambda tf, x: repeat(tf, 3, lambda i, a: inner(tf, a, x, i + 1), x),
    "in branches": in_branches,
    "in a branch": lambda tf, x: tf.cond(x[0] > 0, lambda: repeat(tf, 4, lambda i, a: tf.sin(a * a) * x, x), lambda: x),
    "scan": lambda tf, x: tf.scan(lambda a, b: tf.sin(a) * b + a * b, x, tf.constant(np.float64(0.5))),
    "map_fn": lambda tf, x: tf.map_fn(lambda a: a**3, x),
    "limited": lambda tf, x: tf.while_loop(
        lambda a: tf.reduce_sum(a) < 50.0, lambda a: a * a + x, [x], maximum_iterations=3
    ),
    "not to be differentiated": lambda tf, x: x * x + repeat(tf, 3, lambda i, a: a * x, x, back_prop=False),
}


def slope(tf, x, y):
    with tf.Session() as session:
        return session.run([y, tf.gradients(y, x)[0]], {x: POINT})


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("here", [True, False], ids=["from tensorflow", "to tensorflow"])
def test_meta_graphs_cross_over(name, here, tmp_path):
    there, back = (tf1, tfnb) if here else (tfnb, tf1)
    with there.Graph().as_default():
        x = there.placeholder(there.float64, [3], name="x")
        y = there.identity(LOOPS[name](there, x), name="y")
        there.train.export_meta_graph(str(tmp_path / "graph.meta"))
        wanted = slope(there, x, y)
    with back.Graph().as_default() as graph:
        back.train.import_meta_graph(str(tmp_path / "graph.meta"))
        found = slope(back, graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0"))
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


@pytest.mark.parametrize("name", [name for name in LOOPS if name != "not to be differentiated"])
def test_second_order(name):
    """TensorFlow knows second orders only of its later loops."""
    tf1.enable_control_flow_v2()
    found = []
    for tf in (tf1, tfnb):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float64, [3])
            first = tf.gradients(LOOPS[name](tf, x), x)[0]
            found.append(slope(tf, x, tf.reduce_sum(first**2))[1])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10)

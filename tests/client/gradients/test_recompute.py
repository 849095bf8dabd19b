"""tf.recompute: gradients are the same, and are taken from copies made after the forward pass."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl


def network(x, w, scope):
    h = x
    for _ in range(2):
        with scope():
            h = tf.tanh(tf.matmul(h, w)) * tf.sigmoid(h)
            h = h + tf.nn.softmax(h)
    return h


class Nothing:
    def __enter__(self):
        return None

    def __exit__(self, *error):
        return None


def test_gradients_are_the_same_and_of_copies(graph):
    x, w = tf.placeholder(tf.float64, [3, 3]), tf.placeholder(tf.float64, [3, 3])
    plain = tf.gradients(network(x, w, Nothing), [x, w])
    y = network(x, w, tf.recompute)
    before = [op.type for op in graph.get_operations()].count("MatMul")
    again = tf.gradients(y, [x, w])
    # Two products a layer go back, and the layer's own is repeated.
    assert [op.type for op in graph.get_operations()].count("MatMul") == before + 6
    rng = np.random.default_rng(0)
    with tf.Session() as session:
        a, b = session.run([plain, again], {x: rng.normal(size=(3, 3)), w: rng.normal(size=(3, 3))})
    for k in range(2):
        np.testing.assert_allclose(a[k], b[k], rtol=1e-12)


def test_in_a_loop_inputs_are_kept_and_the_rest_is_repeated(graph):
    x = tf.placeholder(tf.float64, [3])
    step = tf.recompute_grad(lambda y: tf.sin(tf.exp(tf.tanh(y)) * y))
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, step(y)], [0, x])[1]
    z = x
    for _ in range(3):
        z = tf.sin(tf.exp(tf.tanh(z)) * z)
    found, wanted = tf.gradients(y, x)[0], tf.gradients(z, x)[0]
    (trigger,) = [op for op in graph.get_operations() if op.type == "ControlTrigger"]
    kept = [op for op in trigger.control_inputs if op.type == "LoopStackPush"]
    assert len(kept) == 1
    with tf.Session() as session:
        a, b = session.run([found, wanted], {x: [0.1, 0.5, -0.7]})
    np.testing.assert_allclose(a, b, rtol=1e-12)


def test_random_numbers_are_not_drawn_again():
    x = tf.ones([1000])
    with tf.recompute():
        y = x * tf.random_uniform([1000])
    (dx,) = tf.gradients(y, x)
    with tf.Session() as session:
        a, b = session.run([y, dx])
    np.testing.assert_array_equal(a, b)

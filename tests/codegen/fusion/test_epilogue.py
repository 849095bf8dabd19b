"""Biases and activations in the stores of library kernels: the values of products that are each other's bias."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

SUMS = {
    "two": lambda p, q, c: p + q,
    "relu": lambda p, q, c: tf.nn.relu(p + q),
    "tanh": lambda p, q, c: tf.tanh(q + p),
    "one after the other": lambda p, q, c: tf.nn.relu(p) + tf.nn.relu(q),
    "with a third": lambda p, q, c: (p + q) + c,
    "of itself": lambda p, q, c: p + p + q,
    "an activation as bias": lambda p, q, c: p + tf.sigmoid(q),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("rows", [1, 2])
def test_products_of_a_row_that_are_added(rows, name, rng):
    """A result of one row is a vector that the kernel of the other product could add; none of both may be lost."""
    a, b = rng.standard_normal((2, 5, 7)).astype("f")
    row, third = rng.standard_normal((rows, 5)).astype("f"), rng.standard_normal((rows, 7)).astype("f")
    with tf.Graph().as_default():
        x, v, w, c = (tf.placeholder(tf.float32, s.shape) for s in (row, a, b, third))
        total = SUMS[name](tf.matmul(x, v), tf.matmul(x, w), c)
        with tf.Session() as session:
            result = session.run(total, {x: row, v: a, w: b, c: third})
    p, q = row.astype(np.float64) @ a, row.astype(np.float64) @ b
    with tf.Graph().as_default(), tf.Session() as session:
        expected = session.run(SUMS[name](tf.constant(p), tf.constant(q), tf.constant(third.astype(np.float64))))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_products_of_a_row_in_a_loop(rng):
    """As in a recurrent cell for a batch of one example."""
    a, b = rng.standard_normal((2, 4, 4)).astype("f") / 2
    inputs = rng.standard_normal((5, 1, 4)).astype("f")
    with tf.Graph().as_default():
        v, w = tf.Variable(a), tf.Variable(b)
        state = tf.zeros([1, 4])
        for x in tf.unstack(tf.constant(inputs)):
            state = tf.tanh(tf.matmul(x, v) + tf.matmul(state, w))
        slopes = tf.gradients(tf.reduce_sum(state), [v, w])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            got, _ = session.run([state, slopes])
    expected = np.zeros((1, 4))
    for x in inputs:
        expected = np.tanh(x @ a + expected @ b)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


PARTS = {
    "rows": lambda y: y[:3],
    "rows, then relu": lambda y: tf.nn.relu(y[:3]),
    "relu, then rows": lambda y: tf.nn.relu(y)[:3],
    "rows and a bias": lambda y: tf.tanh(y[:3] + 0.5 * tf.ones(y.shape.as_list()[-1:])),
    "one row": lambda y: y[0],
    "a prefix": lambda y: tf.reshape(y, [-1])[:5],
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("op", ["product", "products", "convolution"])
def test_a_part_of_a_result_is_not_computed_in_its_place(op, part, monkeypatch):
    """The kernel writes the whole result, for which the memory of its first rows has no room."""
    monkeypatch.setenv("TFNB_GUARD", "1")
    rng = np.random.default_rng(0)
    with tf.Graph().as_default():
        if op == "convolution":
            a = tf.placeholder(tf.float32, [None, 6, 6, 2])
            y = tf.nn.conv2d(a, tf.constant(rng.normal(size=(3, 3, 2, 4)), tf.float32), [1, 1, 1, 1], "SAME")
        elif op == "products":
            a = tf.placeholder(tf.float32, [None, 5, 7])
            y = tf.matmul(a, a, transpose_b=True)
        else:
            a = tf.placeholder(tf.float32, [None, 7])
            y = tf.matmul(a, tf.constant(rng.normal(size=(7, 40)), tf.float32))
        whole = tf.placeholder(tf.float32, y.shape)
        found, wanted = PARTS[part](y), PARTS[part](whole)
        with tf.Session() as sess:
            for n in (70, 5, 300):
                x = rng.normal(size=(n, *a.shape.as_list()[1:])).astype(np.float32)
                right = sess.run(wanted, {whole: sess.run(y, {a: x})})
                np.testing.assert_allclose(sess.run(found, {a: x}), right, rtol=1e-5, atol=1e-5)

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


def layer(h, w, x):
    """Reads a variable, a tensor from outside and constants."""
    for _ in range(3):
        h = tf.tanh(tf.matmul(h, w) * 0.5 + x) * 1.25
    return h


def in_a_loop(scope, w, x):
    def body(i, h):
        with scope():
            h = layer(h, w, x)
        return i + 1, h

    return tf.while_loop(lambda i, h: i < 3, body, [0, x])[1]


def in_a_branch(scope, w, x):
    def taken():
        with scope():
            return layer(x, w, x)

    return tf.cond(tf.reduce_sum(x) > -100.0, taken, lambda: x)


def in_a_branch_in_a_loop(scope, w, x):
    def taken(h):
        with scope():
            return layer(h, w, x)

    return tf.while_loop(
        lambda i, h: i < 3, lambda i, h: (i + 1, tf.cond(i < 2, lambda: taken(h), lambda: h * 2.0)), [0, x]
    )[1]


def in_an_inner_loop(scope, w, x):
    return tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, in_a_loop(scope, w, h + x)), [0, x])[1]


def around_a_loop(scope, w, x):
    with scope():
        return in_a_loop(Nothing, w, x)


def in_scan(scope, w, x):
    def step(h, row):
        with scope():
            return layer(h, w, row)

    return tf.scan(step, tf.stack([x, x * 2.0]), x)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("place", [in_a_loop, in_a_branch, in_a_branch_in_a_loop, in_an_inner_loop, in_scan])
def test_what_comes_into_a_loop_or_branch_is_read_again(graph, place, use_resource):
    rng = np.random.default_rng(1)
    w = tf.get_variable("w", initializer=rng.normal(size=(3, 3)), dtype=tf.float64, use_resource=use_resource)
    x = tf.placeholder(tf.float64, [2, 3])
    feed = {x: rng.normal(size=(2, 3))}

    def slopes(scope):
        """Those of first and second order, and how many tensors of the loops' turns the first ones keep."""
        before = count("LoopStackPush")
        first = tf.gradients(place(scope, w, x), [x, w])
        kept = count("LoopStackPush") - before
        return [*first, tf.gradients(tf.reduce_sum(first[1] ** 2), w)[0]], kept

    def count(kind):
        return [op.type for op in graph.get_operations()].count(kind)

    (plain, kept), (again, kept_again) = slopes(Nothing), slopes(tf.recompute)
    assert kept_again < kept or place is in_a_branch
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for a, b in zip(*session.run([plain, again], feed), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10)


def test_a_scope_around_a_loop_changes_nothing(graph):
    w, x = tf.placeholder(tf.float64, [3, 3]), tf.placeholder(tf.float64, [2, 3])
    slopes = [tf.gradients(around_a_loop(scope, w, x), [x, w]) for scope in (Nothing, tf.recompute)]
    rng = np.random.default_rng(1)
    with tf.Session() as session:
        plain, again = session.run(slopes, {w: rng.normal(size=(3, 3)), x: rng.normal(size=(2, 3))})
        for a, b in zip(plain, again, strict=True):
            np.testing.assert_array_equal(a, b)

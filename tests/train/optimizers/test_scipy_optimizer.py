"""SciPy's minimisers on losses in a graph."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

Interface = tf.contrib.opt.ScipyOptimizerInterface


def test_the_valley_of_rosenbrock():
    x, y = tf.Variable(np.float64(-1.0)), tf.Variable(np.full([1, 1], 2.0))
    scale = tf.placeholder(tf.float64, [])
    loss = tf.square(1.0 - x) + scale * tf.square(tf.reshape(y, []) - tf.square(x))
    seen, steps = [], []
    optimizer = Interface(loss, options={"maxiter": 200})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        result = optimizer.minimize(
            session, {scale: 100.0}, fetches=[loss], loss_callback=seen.append, step_callback=steps.append
        )
        np.testing.assert_allclose(session.run(x), 1, atol=1e-4)
        np.testing.assert_allclose(session.run(y), [[1]], atol=1e-4)
    assert result.success
    assert seen[-1] < 1e-8 < seen[0]
    assert steps


def test_conditions_and_bounds():
    v = tf.Variable([7.0, 3.0])
    w = tf.Variable([5.0])
    loss = tf.reduce_sum(tf.square(v)) + tf.reduce_sum(tf.square(w))
    bounded = Interface(loss, [w], var_to_bounds={w: (2.0, np.inf)})
    bound_to = Interface(loss, [v], equalities=[v[0] - v[1] - 1.0], inequalities=[v[1] - 1.0], method="SLSQP")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        bounded.minimize()
        bound_to.minimize()
        np.testing.assert_allclose(session.run(w), [2], atol=1e-4)
        np.testing.assert_allclose(session.run(v), [2, 1], atol=1e-3)


def test_what_is_refused():
    with pytest.raises(errors.InvalidArgumentError, match="no variables"):
        Interface(tf.constant(1.0))
    v = tf.Variable(1.0)
    with pytest.raises(errors.InvalidArgumentError, match="session"):
        Interface(tf.square(v)).minimize()


def test_a_loss_of_one_element():
    """`tf.image.total_variation` of a batch of one image makes the loss of style transfer a vector."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.Variable([3.0, -2.0])
        loss = tf.reduce_sum(tf.square(tf.reshape(x, [1, 2])), axis=1)
        optimizer = tf.contrib.opt.ScipyOptimizerInterface(loss, method="L-BFGS-B", options={"maxiter": 10})
        sess.run(tf.global_variables_initializer())
        optimizer.minimize(sess)
        np.testing.assert_allclose(sess.run(x), [0, 0], atol=1e-5)

"""tf.contrib.integrate against exact solutions, and the small functions of tf.contrib.nn."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

TIMES = np.linspace(0.0, 2.0, 6)


def spin(y, t):
    return tf.stack([y[1], -y[0]])


def run(*fetches):
    with tf.Session() as session:
        return session.run(fetches)


def test_a_rotation():
    exact = np.stack([np.cos(TIMES), -np.sin(TIMES)], 1)
    y0 = tf.constant([1.0, 0.0], tf.float64)
    chosen, info = tf.contrib.integrate.odeint(spin, y0, TIMES, full_output=True)
    fixed = tf.contrib.integrate.odeint_fixed(spin, y0, TIMES, dt=0.05)
    middle = tf.contrib.integrate.odeint_fixed(spin, y0, TIMES, method="midpoint")
    a, b, c, calls = run(chosen, fixed, middle, info["num_func_evals"])
    np.testing.assert_allclose(a, exact, atol=1e-5)
    np.testing.assert_allclose(b, exact, atol=1e-6)
    assert 1e-4 < np.abs(c - exact).max() < 0.1 and calls > 35


def test_time_and_gradients():
    rate = tf.constant(0.5, tf.float64)
    y = tf.contrib.integrate.odeint_fixed(lambda y, t: -rate * y * t, tf.constant(1.0, tf.float64), TIMES, dt=0.1)
    value, slope = run(y, tf.gradients(y[-1], rate)[0])
    np.testing.assert_allclose(value, np.exp(-0.25 * TIMES**2), rtol=1e-5)
    np.testing.assert_allclose(slope, -2.0 * np.exp(-1.0), rtol=1e-4)
    with pytest.raises(errors.InvalidArgumentError, match="method"):
        tf.contrib.integrate.odeint(spin, [1.0, 0.0], TIMES, method="euler")


def test_functions_of_nn():
    x = tf.constant(np.random.RandomState(0).randn(20000).astype("f"))
    kept, same = tf.contrib.nn.alpha_dropout(x, 0.9, seed=1), tf.contrib.nn.alpha_dropout(x, 1.0)
    soft = tf.contrib.nn.scaled_softplus([1.0, 20.0], 2.0, clip=6.0)
    a, b, c = run(kept, same, soft)
    assert abs(a.mean()) < 0.05 and abs(a.std() - 1) < 0.05 and b.std() == pytest.approx(1, abs=0.02)
    np.testing.assert_allclose(c, [2 * np.log1p(np.exp(0.5)), 6.0], rtol=1e-6)
    assert "Softplus" in tf.contrib.util.ops_used_by_graph_def(tf.get_default_graph().as_graph_def())


def test_names_that_are_others():
    assert tf.contrib.deprecated.scalar_summary is tf.scalar_summary
    assert tf.contrib.optimizer_v2.AdamOptimizer is tf.train.AdamOptimizer

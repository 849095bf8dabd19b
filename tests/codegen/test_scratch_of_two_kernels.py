"""Scratch memory that one kernel of a group writes and the next one reads."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl


def test_partial_sums_live_until_the_kernel_that_joins_them_has_run():
    rng = np.random.default_rng(1)
    values, weights = rng.normal(size=(2, 3, 5, 4)).astype(np.float16), rng.uniform(1, 2, 4).astype(np.float16)
    with tf.Graph().as_default(), tf.Session() as sess:
        x, w = tf.placeholder(tf.float16, [None] * 4), tf.placeholder(tf.float16, [None])
        wide = tf.cast(x, tf.float32)
        spread = tf.cast(w, tf.float32) + tf.zeros_like(wide)
        mean = tf.reduce_sum(spread * wide, [0], keep_dims=True) / tf.reduce_sum(spread, [0], keep_dims=True)
        found = sess.run([tf.cast(mean, tf.float16), wide - mean], {x: values, w: weights})
    exact = values.astype(np.float64)
    spread = np.broadcast_to(weights, exact.shape).astype(np.float64)
    mean = (spread * exact).sum(0, keepdims=True) / spread.sum(0, keepdims=True)
    np.testing.assert_allclose(found[0], mean, atol=2e-3)
    np.testing.assert_allclose(found[1], exact - mean, atol=1e-5)

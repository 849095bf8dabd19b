"""Each operation of a fused kernel rounds its result, as it does in TensorFlow and in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl
ODD = 1003  # vectors of every width, and a rest


def run(fetches, feeds):
    with tf.Session() as sess:
        return sess.run(fetches, feeds)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_difference_of_equal_products_is_zero(rng, dtype):
    with tf.Graph().as_default():
        x, y = (tf.placeholder(dtype, [None]) for _ in range(2))
        values = rng.standard_normal(ODD).astype(dtype)
        roots, rest = run([tf.sqrt(x * x - y * y), x * y - y * x], {x: values, y: values})
    assert not roots.any() and not rest.any()


@pytest.mark.parametrize("shape", [[ODD], [17, 59], [1]])
def test_random_sums_and_products_have_the_bits_of_numpy(rng, shape):
    for _ in range(12):
        feeds = {}
        with tf.Graph().as_default():
            parts = []
            for _ in range(3):
                value = rng.standard_normal(shape).astype(np.float32)
                tensor = tf.placeholder(tf.float32, shape)
                feeds[tensor] = value
                parts.append((tensor, value))
            for _ in range(9):
                (a, av), (b, bv) = (parts[rng.integers(len(parts))] for _ in range(2))
                made = [(a + b, av + bv), (a - b, av - bv), (a * b, av * bv)][rng.integers(3)]
                parts.append(made)
            results = run([t for t, _ in parts[-2:]], feeds)
        for result, (_, want) in zip(results, parts[-2:], strict=True):
            np.testing.assert_array_equal(result, want)


def test_the_sum_of_differences_of_equal_products_is_zero(rng):
    with tf.Graph().as_default():
        x, y = (tf.placeholder(tf.float32, [None, 40]) for _ in range(2))
        values = rng.standard_normal((30, 40)).astype(np.float32)
        sums = [tf.reduce_sum(x * y - y * x, axis) for axis in (0, 1, None)]
        for total in run(sums, {x: values, y: values}):
            assert not np.any(total)


@pytest.mark.parametrize("fused", [None, False])
def test_batch_normalization_of_one_element_is_its_shift(rng, fused):
    """A following relu then passes no gradient, and Adam has nothing to make a step of."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [1, 1, 1, 64])
        y = tf.layers.batch_normalization(x, training=True, fused=fused)
        weights = rng.standard_normal(64).astype(np.float32)
        (gradient,) = tf.gradients(tf.nn.relu(y) * weights, x)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            feeds = {x: rng.standard_normal((1, 1, 1, 64)) * 3 + 5}
            result, gradient = sess.run([y, gradient], feeds)
    assert not result.any() and not gradient.any()

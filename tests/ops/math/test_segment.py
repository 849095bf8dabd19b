"""Gradients of reductions over segments that the cases of the catalogue do not reach: of complex numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_gradient_of_a_mean_of_complex_numbers(dtype):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(dtype, [4, 2])
        mean = tf.segment_mean(x, [0, 0, 0, 2])
        weights = tf.constant(np.array([[3, 6j], [1, 1], [1 + 1j, 2]]), dtype)
        slope = session.run(tf.gradients(mean, x, weights)[0], {x: np.ones((4, 2))})
    np.testing.assert_allclose(slope, [[1, 2j]] * 3 + [[1 + 1j, 2]], rtol=1e-6)

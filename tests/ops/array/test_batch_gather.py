"""`gather` and `gather_nd` within each element of a batch, against NumPy; gradients against those of loops."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl
X = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
ONE = np.int32([[2, 0], [1, 1]])  # per element of the first dimension
TWO = np.int64([[[3], [0], [1]], [[2], [2], [0]]])  # per element of the first two


def run(make):
    with tf.Graph().as_default(), tf.Session() as sess:
        return sess.run(make(tf.constant(X)))


def test_gather_in_a_batch():
    found = run(lambda x: tf.gather(x, ONE, batch_dims=1))
    np.testing.assert_array_equal(found, np.stack([X[b][ONE[b]] for b in range(2)]))
    found = run(lambda x: tf.gather(x, TWO, batch_dims=2))
    np.testing.assert_array_equal(found, np.stack([[X[a, b][TWO[a, b]] for b in range(3)] for a in range(2)]))


@pytest.mark.parametrize("axis", [2, 3, -1])
def test_gather_along_a_later_axis(axis):
    found = run(lambda x: tf.gather(x, ONE, axis=axis, batch_dims=1))
    np.testing.assert_array_equal(found, np.stack([np.take(X[b], ONE[b], axis % 4 - 1) for b in range(2)]))


def test_gather_nd_in_a_batch():
    at = np.int32([[[2, 3], [0, 0]], [[1, 1], [2, 0]]])
    found = run(lambda x: tf.gather_nd(x, at, batch_dims=1))
    np.testing.assert_array_equal(found, np.stack([[X[b][tuple(i)] for i in at[b]] for b in range(2)]))


def test_an_empty_batch():
    with tf.Graph().as_default(), tf.Session() as sess:
        found = tf.gather(np.zeros((0, 3), np.float32), np.zeros((0, 2), np.int32), batch_dims=1)
        assert sess.run(found).shape == (0, 2)


def test_the_gradient_reaches_the_rows():
    grad = run(lambda x: tf.gradients(tf.gather(x, ONE, batch_dims=1) * 2.0, x)[0])
    expected = np.zeros_like(X)
    for b in range(2):
        np.add.at(expected[b], ONE[b], 2.0)
    np.testing.assert_array_equal(grad, expected)


@pytest.mark.parametrize("arguments", [{"batch_dims": 3}, {"batch_dims": 1, "axis": 0}])
def test_what_does_not_fit_is_refused(arguments):
    with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError, match="must be in"):
        tf.gather(X, ONE, **arguments)

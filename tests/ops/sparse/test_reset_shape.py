"""Another shape for the elements of a sparse tensor."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

INDICES = np.array([[0, 0, 0], [0, 1, 3], [1, 3, 2]], np.int64)
VALUE = tf.SparseTensorValue(INDICES, np.array([5, 6, 7], np.int32), np.array([2, 5, 6], np.int64))


@pytest.fixture(autouse=True)
def sess():
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def test_the_shape_grows_or_becomes_the_bounding_box(sess):
    grown = tf.sparse_reset_shape(VALUE, np.array([3, 6, 7]))
    assert grown.shape == (3, 6, 7)
    result = sess.run(grown)
    np.testing.assert_array_equal(result.indices, INDICES)
    np.testing.assert_array_equal(result.values, [5, 6, 7])
    np.testing.assert_array_equal(result.dense_shape, [3, 6, 7])
    np.testing.assert_array_equal(sess.run(tf.sparse_reset_shape(VALUE)).dense_shape, [2, 4, 4])
    nothing = tf.SparseTensorValue(np.zeros((0, 3), np.int64), np.zeros(0, np.int32), np.array([2, 5, 6]))
    np.testing.assert_array_equal(sess.run(tf.sparse_reset_shape(nothing)).dense_shape, [0, 0, 0])


def test_smaller_shapes_and_other_ranks_are_refused(sess):
    with pytest.raises(ValueError, match="same rank"):
        tf.sparse_reset_shape(VALUE, [3, 7])
    with pytest.raises(ValueError, match="should have dimension sizes"):
        tf.sparse_reset_shape(VALUE, [3, 7, 5])
    with pytest.raises(TypeError, match="must be a SparseTensor"):
        tf.sparse_reset_shape(np.ones(3))
    shape = tf.placeholder(tf.int32)
    reset = tf.sparse_reset_shape(VALUE, shape)
    with pytest.raises(tf.errors.InvalidArgumentError, match="x == y did not hold element-wise"):
        sess.run(reset, {shape: [3, 7]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="x <= y did not hold element-wise"):
        sess.run(reset, {shape: [3, 7, 5]})
    np.testing.assert_array_equal(sess.run(reset, {shape: [3, 7, 6]}).dense_shape, [3, 7, 6])

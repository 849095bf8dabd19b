"""Counting: classes that met each other, and numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl


@pytest.mark.parametrize("labels, guesses", [([1, -1], [2, 1]), ([1, 0], [2, 3]), ([3, 0], [2, 0]), ([0, 0], [-1, 0])])
def test_a_class_that_is_none(labels, guesses):
    with tf.Graph().as_default(), tf.Session() as s:
        fed = [tf.placeholder(tf.int32, [2]) for _ in range(2)]
        matrix = tf.confusion_matrix(*fed, 3)
        assert s.run(matrix, {fed[0]: [1, 2], fed[1]: [1, 0]}).tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 0]]
        with pytest.raises(tf.errors.InvalidArgumentError):
            s.run(matrix, {fed[0]: labels, fed[1]: guesses})
        with pytest.raises(tf.errors.InvalidArgumentError):
            s.run(tf.confusion_matrix(labels, guesses, 3))


def test_a_vector_longer_than_any_shape():
    with tf.Graph().as_default(), tf.Session() as s:
        assert s.run(tf.bincount(np.arange(1000), np.zeros(1000))).shape == (1000,)
        with pytest.raises(ValueError, match="1000"):
            tf.zeros(np.ones(1000, np.int32))

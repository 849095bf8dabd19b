"""Dimensions of static shapes where an integer is taken: tf.range(x.shape[0])."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import ShapeError


def test_dimensions_are_integers():
    x = tf.placeholder(tf.float32, [4, 6, 8])
    n, m, k = x.shape
    made = [
        tf.range(n),
        tf.range(1, m, 2),
        tf.pad(tf.ones([1, 1]), [[0, n], [0, 0]]),
        tf.unstack(x, m, 1)[5],
        tf.unstack(x, num=n)[0],
        tf.constant([n, 2]),
        tf.reshape(x, [n, m * k]),
    ]
    assert made[0].dtype is made[5].dtype is tf.int32
    with tf.Session() as sess:
        count, odd, padded, part, first, pair, flat = sess.run(made, {x: np.ones([4, 6, 8])})
    assert count.tolist() == [0, 1, 2, 3] and odd.tolist() == [1, 3, 5] and pair.tolist() == [4, 2]
    assert (padded.shape, part.shape, first.shape, flat.shape) == ((5, 1), (4, 8), (6, 8), (4, 48))


def test_an_unknown_dimension_is_none():
    x = tf.placeholder(tf.float32, [None, 3])
    with pytest.raises(ShapeError, match="an unknown Dimension has no value"):
        tf.range(x.shape[0])


def test_a_mask_of_lengths_that_are_floats():
    """The lengths become integers like the maximum, which may be a dimension."""
    x = tf.placeholder(tf.float32, [2, 4])
    mask = tf.sequence_mask(tf.constant([1.0, 2.5]), x.shape[1])
    with tf.Session() as sess:
        assert sess.run(mask).astype(int).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0]]

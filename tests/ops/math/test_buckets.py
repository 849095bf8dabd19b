"""Buckets of numbers."""

import pytest

import tfnb as tf
from tfnb.ops.math.buckets_norms_bessel import BUCKETIZE


def test_boundaries_are_in_order():
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(BUCKETIZE(tf.constant([-1.0, 0, 2]), boundaries=(0.0, 1.0))).tolist() == [0, 1, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Expected sorted boundaries"):
            BUCKETIZE(tf.constant([-1.0, 0, 2]), boundaries=(1.0, 0.0))

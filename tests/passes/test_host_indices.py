"""Numbers that the host computes because they fix the shapes of a cluster."""

from __future__ import annotations

import numpy as np

import tfnb as tf
from tfnb.caches import list_caches


def compilations():
    return sum(i.misses for i in list_caches() if i.name == "classes of shapes")


def test_batches_of_other_lengths_are_not_compiled_again():
    lengths = tf.placeholder(tf.int32, [None])
    mask = tf.sequence_mask(lengths, dtype=tf.float32)
    with tf.Session() as session:
        before = compilations()
        for batch in ([1, 4, 2], [4, 4, 3], [4, 1, 0]):
            np.testing.assert_array_equal(
                session.run(mask, {lengths: batch}), np.arange(4) < np.reshape(batch, (-1, 1))
            )
        assert compilations() <= before + 1  # none where another test has had the same kernel


def test_the_largest_of_many_lengths_fixes_a_shape():
    lengths = tf.placeholder(tf.int32, [None])
    mask = tf.sequence_mask(lengths)
    batch = np.arange(5000, dtype=np.int32) % 7
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(mask, {lengths: batch}), np.arange(6) < batch[:, None])

"""Margins of blocks."""

import numpy as np

import tfnb as tf


def test_margins_are_int32_for_any_integers():
    with tf.Graph().as_default(), tf.Session() as sess:
        margins = tf.required_space_to_batch_paddings(np.array([10, 4]), np.array([3, 2]), np.array([[1, 0], [0, 1]]))
        assert [t.dtype for t in margins] == [tf.int32, tf.int32]
        paddings, crops = sess.run(margins)
    assert (paddings.tolist(), crops.tolist()) == ([[1, 1], [0, 2]], [[0, 1], [0, 1]])

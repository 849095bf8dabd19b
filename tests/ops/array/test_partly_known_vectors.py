"""Static shapes that follow from vectors of which only some elements are known."""

from __future__ import annotations

import numpy as np

import tfnb as tf


def test_shapes_from_partly_known_vectors():
    with tf.Graph().as_default():
        unknown, scalar = tf.placeholder(tf.int32), tf.placeholder(tf.int32, [])
        assert tf.reshape(tf.placeholder(tf.float32), [unknown, 37]).shape.as_list() == [None, 37]
        assert tf.tile(tf.ones([1, 2]), [unknown, 7]).shape.as_list() == [None, 14]
        table = tf.constant(np.arange(6).reshape(2, 3))
        part = tf.slice(table, [scalar, 0], [-1, 2])
        assert part.shape.as_list() == [None, 2]
        with tf.Session() as sess:
            assert sess.run(part, {scalar: 1}).tolist() == [[3, 4]]
            assert sess.run(tf.tile(tf.ones([1, 2]), [scalar, 2]), {scalar: 3}).shape == (3, 4)

"""What is fed wins, also over a default that the graph could have folded."""

import numpy as np
import pytest

import tfnb as tf


@pytest.mark.opencl
def test_a_fed_default_reaches_its_readers():
    with tf.Graph().as_default():
        keep = tf.placeholder_with_default(1.0, [], name="keep")
        double = keep * 2.0
        x = tf.placeholder(tf.float32, [None, 4])
        dropped = tf.nn.dropout(x, keep)
        with tf.Session() as sess:
            assert sess.run(double) == 2.0
            assert sess.run(double, {keep: 0.25}) == 0.5
            ones = np.ones((100, 4), np.float32)
            np.testing.assert_array_equal(sess.run(dropped, {x: ones}), ones)
            assert set(np.unique(sess.run(dropped, {x: ones, keep: 0.5}))) == {0.0, 2.0}


@pytest.mark.parametrize("shape", [None, [None, 3], [2, None]])
def test_a_default_of_a_shape_that_is_not_all_known(shape):
    with tf.Graph().as_default(), tf.Session() as s:
        x = tf.placeholder_with_default(np.ones((2, 3), np.float32), shape=shape)
        y = tf.reduce_sum(tf.identity(x) * 2.0, 1)
        assert x.shape.as_list() == shape if shape else x.shape.ndims is None
        assert s.run(y).tolist() == [6, 6]
        assert s.run(y, {x: np.ones((2, 3)) * 2}).tolist() == [12, 12]
        assert s.run(y).tolist() == [6, 6]

"""tf.clip_by_norm of nothing but zeros."""

import numpy as np

import tfnb as tf


def test_zeros_stay_zeros_and_no_value_on_the_way_is_infinite():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [3])
        clipped = tf.clip_by_norm(x, 4.0)
        checks = tf.add_check_numerics_ops()
        (gradient,) = tf.gradients(clipped, x)
        value, slope, _ = sess.run([clipped, gradient, checks], {x: np.zeros(3)})
        assert value.tolist() == [0, 0, 0]
        assert slope.tolist() == [1, 1, 1]
        assert sess.run(clipped, {x: [8.0, 0.0, 0.0]}).tolist() == [4, 0, 0]


def test_numbers_are_scaled_by_their_common_norm():
    with tf.Graph().as_default(), tf.Session() as sess:
        clipped, norm = tf.clip_by_global_norm([3.0, None, 4.0], 1.0)
        assert clipped[1] is None
        found = sess.run([clipped[0], clipped[2], norm])
    np.testing.assert_allclose(found, [0.6, 0.8, 5.0])


def test_a_norm_that_is_a_number_of_numpy_takes_the_dtype_of_the_tensor():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant([3.0, 4.0])
        clipped = [tf.clip_by_norm(x, np.float64(1)), tf.clip_by_norm(x, np.int64(1))]
        clipped += [tf.clip_by_global_norm([x], np.float64(1))[0][0], tf.clip_by_average_norm(x, np.float64(0.5))]
        for found in sess.run(clipped):
            np.testing.assert_allclose(found, [0.6, 0.8], rtol=1e-6)

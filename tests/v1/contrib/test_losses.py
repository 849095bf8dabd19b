"""`tf.contrib.losses` and `slim.losses`: predictions before labels; values are TensorFlow 1.15.5's."""

from __future__ import annotations

import numpy as np

import tfnb as tf

X = np.float32([[0.2, 0.9, 0.5], [0.7, 0.4, 0.3]])
Y = np.float32([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
W = np.float32([2.0, 0.5])


def values(losses):
    x, y, w = tf.constant(X), tf.constant(Y), tf.constant(W)
    return {
        "absolute": losses.absolute_difference(x, y, w),
        "squared": losses.mean_squared_error(x, y, w),
        "pairs": losses.mean_pairwise_squared_error(x, y, w),
        "log": losses.log_loss(x, y, w, epsilon=1e-3),
        "sigmoid": losses.sigmoid_cross_entropy(x, y, w, label_smoothing=0.1),
        "softmax": losses.softmax_cross_entropy(x, y, w, label_smoothing=0.1),
        "sparse": losses.sparse_softmax_cross_entropy(x, tf.constant([[1], [0]]), w),
        "cosine": losses.cosine_distance(x, y, 1, w[:, None]),
        "weighted": losses.compute_weighted_loss(x, w),
        "hinge": losses.hinge_loss(x, y),
    }


EXPECTED = {
    "absolute": 0.35,
    "squared": 0.1283333,
    "pairs": 0.3355556,
    "log": 0.4407358,
    "sigmoid": 0.8886697,
    "softmax": 1.0358248,
    "sparse": 0.9933248,
    "cosine": 0.175,
    "weighted": 0.65,
}


def test_values_are_those_of_tensorflow():
    fetches = values(tf.contrib.losses)
    with tf.Session() as sess:
        result = sess.run(fetches)
        total = sess.run(tf.contrib.losses.get_total_loss())
    for name, expected in EXPECTED.items():
        np.testing.assert_allclose(result[name], expected, rtol=1e-5, err_msg=name)
    np.testing.assert_allclose(result["hinge"], np.maximum(0, 1 - X * (2 * Y - 1)))
    np.testing.assert_allclose(total, sum(EXPECTED.values()), rtol=1e-5)
    assert tf.contrib.slim.losses.log_loss is tf.contrib.losses.log_loss

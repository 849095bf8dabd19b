"""tf.keras's layers inside graphs, and its digits."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors


def test_layers():
    x = tf.placeholder(tf.float32, [None, 8, 8, 1])
    h = tf.keras.layers.Conv2D(2, kernel_size=3, activation="relu", input_shape=(8, 8, 1))(x)
    h = tf.keras.layers.MaxPooling2D(pool_size=2)(h)
    h = tf.keras.layers.Activation("tanh")(tf.keras.layers.Flatten()(h))
    y = tf.keras.layers.Dense(5, activation="softmax")(h)
    assert y.shape.as_list() == [None, 5]
    assert [v.op.name for v in tf.trainable_variables()] == [
        "conv2d/kernel",
        "conv2d/bias",
        "dense/kernel",
        "dense/bias",
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(y, {x: np.ones((3, 8, 8, 1))})
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-5)
    with pytest.raises(errors.InvalidArgumentError, match="needed one of linear"):
        tf.keras.layers.Dense(3, activation="bend")


def test_digits():
    (x, y), (x_test, y_test) = tf.keras.datasets.mnist.load_data()
    assert x.shape[1:] == x_test.shape[1:] == (28, 28)
    assert (len(x), len(x_test)) == (len(y), len(y_test))
    assert {a.dtype for a in (x, y, x_test, y_test)} == {np.dtype(np.uint8)}
    assert x.max() == 255
    assert set(y) == set(range(10))

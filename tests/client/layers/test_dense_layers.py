"""tf.layers and tf.contrib.layers: names, shapes, sharing, training and inference. Values: see tests/oracle."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors


def names():
    return [v.name for v in tf.global_variables()]


def test_dense_makes_named_variables():
    x = tf.placeholder(tf.float32, [None, 4])
    h = tf.layers.dense(x, 5, activation=tf.nn.relu)
    with tf.variable_scope("net"):
        y = tf.layers.dense(h, 2, name="out")
        z = tf.layers.dense(h, 2, name="out", reuse=True)
    tf.layers.dense(h, 3)
    assert y.shape.as_list() == z.shape.as_list() == [None, 2]
    expected = [
        "dense/kernel:0",
        "dense/bias:0",
        "net/out/kernel:0",
        "net/out/bias:0",
        "dense_1/kernel:0",
    ]
    assert names()[:5] == expected
    with pytest.raises(ValueError, match="exists already"):
        tf.layers.dense(h, 3, name="dense")


def test_a_layer_that_reuses_needs_no_name():
    x = tf.ones([2, 3])
    tf.layers.dense(x, 4, reuse=tf.AUTO_REUSE)
    tf.layers.dense(x, 4, reuse=tf.AUTO_REUSE)
    for reuse in (tf.AUTO_REUSE, True):
        cell = tf.nn.rnn_cell.BasicLSTMCell(2, reuse=reuse)
        cell(x, cell.zero_state(2, tf.float32))
    # as in TensorFlow 1.15
    assert names() == ["dense/kernel:0", "dense/bias:0", "basic_lstm_cell/kernel:0", "basic_lstm_cell/bias:0"]


def test_a_layer_object_shares_its_variables():
    layer = tf.layers.Dense(3, use_bias=False, kernel_initializer=tf.ones_initializer())
    x = tf.placeholder(tf.float64, [None, 2])
    a, b = layer(x), layer.apply(x * 2.0)
    assert names() == ["dense/kernel:0"]
    assert layer.kernel.dtype is tf.float64
    assert (layer.name, layer.trainable_variables) == ("dense", [layer.kernel])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run([a, b], {x: [[1, 2]]}), [[[3, 3, 3]], [[6, 6, 6]]])


def test_regularisers_and_trainable():
    x = tf.placeholder(tf.float32, [None, 4])
    l2 = tf.contrib.layers.l2_regularizer(0.1)
    tf.layers.dense(x, 2, kernel_regularizer=l2, activity_regularizer=l2, trainable=False)
    assert len(tf.losses.get_regularization_losses()) == 2
    assert tf.trainable_variables() == []


def test_convolution_and_pooling_shapes():
    x = tf.placeholder(tf.float32, [None, 28, 28, 1])
    h = tf.layers.conv2d(x, 32, [5, 5], padding="same", activation=tf.nn.relu)
    p = tf.layers.max_pooling2d(h, [2, 2], 2)
    q = tf.layers.conv2d(inputs=p, filters=8, kernel_size=3, strides=(2, 2), name="c2")
    assert [t.shape.as_list() for t in (h, p, q)] == [
        [None, 28, 28, 32],
        [None, 14, 14, 32],
        [None, 6, 6, 8],
    ]
    assert tf.layers.flatten(p).shape.as_list() == [None, 14 * 14 * 32]
    assert tf.layers.average_pooling2d(h, 4, 4).shape.as_list() == [None, 7, 7, 32]
    assert "c2/kernel:0" in names()
    assert p.op.name == "max_pooling2d/MaxPool"


def test_flatten_of_unknown_sizes():
    x = tf.placeholder(tf.float32, [2, None, 3])
    y = tf.layers.flatten(x)
    assert y.shape.as_list() == [2, None]
    unknown = tf.layers.flatten(tf.placeholder(tf.float32, [None, None, 3], name="u"))
    with tf.Session() as session:
        assert session.run(y, {x: np.zeros((2, 4, 3))}).shape == (2, 12)
        assert session.run(unknown, {"u:0": np.zeros((5, 2, 3))}).shape == (5, 6)


@pytest.mark.parametrize(
    ("build", "error"),
    [
        (lambda: tf.layers.dense(tf.placeholder(tf.float32, [None, None]), 3), errors.ShapeError),
        (
            lambda: tf.layers.conv2d(tf.placeholder(tf.float32, [2, 8, 8, None]), 3, 3),
            errors.ShapeError,
        ),
        (lambda: tf.layers.conv2d(tf.placeholder(tf.float32, [2, 8, 8]), 3, 3), errors.ShapeError),
        (
            lambda: tf.layers.max_pooling2d(tf.zeros([1, 4, 4, 1]), 0, 1),
            errors.InvalidArgumentError,
        ),
        (
            lambda: tf.layers.conv2d(tf.zeros([1, 4, 4, 1]), 3, 3, data_format="NHWC"),
            errors.InvalidArgumentError,
        ),
        (lambda: tf.layers.dropout(tf.zeros([2]), 1.5), errors.InvalidArgumentError),
        (lambda: tf.layers.batch_normalization(tf.zeros([2, 3]), axis=4), errors.ShapeError),
        (
            lambda: tf.layers.batch_normalization(tf.zeros([2, 3]), renorm=True, renorm_clipping={"r": 1}),
            errors.InvalidArgumentError,
        ),
        (lambda: tf.layers.Dense(3, unknown=1), TypeError),
    ],
)
def test_errors(build, error):
    with pytest.raises(error):
        build()


def test_dropout():
    x = tf.ones([2000])
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.dropout(x, 0.25, training=training, seed=3)
    off = tf.layers.dropout(x, 0.25)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(y, {training: False}), 1.0)
        np.testing.assert_array_equal(session.run(off), 1.0)
        kept = session.run(y, {training: True})
    assert set(np.unique(kept)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((kept == 0).mean() - 0.25) < 0.05


def test_batch_normalization_names_and_updates():
    x = tf.placeholder(tf.float32, [None, 3])
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.batch_normalization(x, training=training, momentum=0.5)
    tf.layers.batch_normalization(y, scale=False, center=False)
    assert names() == [
        "batch_normalization/gamma:0",
        "batch_normalization/beta:0",
        "batch_normalization/moving_mean:0",
        "batch_normalization/moving_variance:0",
        "batch_normalization_1/moving_mean:0",
        "batch_normalization_1/moving_variance:0",
    ]
    assert [v.name for v in tf.trainable_variables()] == names()[:2]
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert len(updates) == 2
    data = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], np.float32)
    mean, variance = tf.global_variables()[2:4]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        out = session.run([y, *updates], {x: data, training: True})[0]
        np.testing.assert_allclose(out[:, 0], [-1, 1], rtol=1e-3)
        np.testing.assert_allclose(session.run(mean), [1, 1, 1])
        np.testing.assert_allclose(session.run(variance), [1, 0.5, 1])
        session.run(updates, {x: data, training: False})
        np.testing.assert_allclose(session.run(mean), [1, 1, 1])
        inference = session.run(y, {x: data, training: False})
        np.testing.assert_allclose(inference[:, 0], [0, 2 / np.sqrt(1.001)], rtol=1e-5, atol=1e-6)


def test_contrib_layers():
    x = tf.placeholder(tf.float32, [None, 8, 8, 2])
    h = tf.contrib.layers.conv2d(x, 4, 3, stride=2, normalizer_fn=tf.contrib.layers.batch_norm)
    h = tf.contrib.layers.max_pool2d(h, 2)
    h = tf.contrib.layers.flatten(h)
    y = tf.contrib.layers.fully_connected(h, 5, activation_fn=None, weights_regularizer=_penalty)
    tf.contrib.layers.fully_connected(y, 5, scope="fc2", outputs_collections="ends")
    assert y.shape.as_list() == [None, 5]
    assert [n for n in names() if "moving" not in n] == [
        "Conv/weights:0",
        "Conv/BatchNorm/beta:0",
        "fully_connected/weights:0",
        "fully_connected/biases:0",
        "fc2/weights:0",
        "fc2/biases:0",
    ]
    assert len(tf.get_collection("ends")) == 1
    assert len(tf.losses.get_regularization_losses()) == 1
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y, {x: np.ones((3, 8, 8, 2))}).shape == (3, 5)


def _penalty(w):
    return tf.reduce_sum(tf.abs(w))

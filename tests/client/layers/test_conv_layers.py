"""Convolution and pooling layers: shapes, names, both layouts, equal to the ops on the same variables."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

pytestmark = pytest.mark.opencl
L = tf.layers


def made(layer, shape, *args, **options):
    with tf.Graph().as_default():
        y = layer(tf.placeholder(tf.float32, shape), *args, **options)
        return y.shape.as_list(), [(v.op.name, v.shape.as_list()) for v in tf.global_variables()]


def test_shapes_and_names():
    assert made(L.conv1d, [None, 8, 4], 3, 2) == (
        [None, 7, 3],
        [("conv1d/kernel", [2, 4, 3]), ("conv1d/bias", [3])],
    )
    assert made(L.conv3d, [None, 4, 6, 5, 2], 3, 2, padding="same", strides=(1, 2, 1)) == (
        [None, 4, 3, 5, 3],
        [("conv3d/kernel", [2, 2, 2, 2, 3]), ("conv3d/bias", [3])],
    )
    assert made(L.conv2d_transpose, [None, 7, 6, 2], 3, [3, 4], strides=2) == (
        [None, 15, 14, 3],
        [("conv2d_transpose/kernel", [3, 4, 3, 2]), ("conv2d_transpose/bias", [3])],
    )
    assert made(L.conv3d_transpose, [2, 3, None, 4, 2], 3, 3, strides=2, padding="same", use_bias=False) == (
        [2, 6, None, 8, 3],
        [("conv3d_transpose/kernel", [3, 3, 3, 3, 2])],
    )
    assert made(L.separable_conv2d, [None, 7, 6, 2], 4, 3, depth_multiplier=2) == (
        [None, 5, 4, 4],
        [
            ("separable_conv2d/depthwise_kernel", [3, 3, 2, 2]),
            ("separable_conv2d/pointwise_kernel", [1, 1, 4, 4]),
            ("separable_conv2d/bias", [4]),
        ],
    )
    assert made(L.separable_conv1d, [None, 8, 4], 3, 2, strides=2)[0] == [None, 4, 3]
    for kind in (L.max_pooling1d, L.average_pooling1d):
        assert made(kind, [None, 8, 4], 2, 2)[0] == [None, 4, 4]
        assert made(kind, [None, 4, 8], 3, 2, "same", "channels_first")[0] == [None, 4, 4]
    for kind in (L.max_pooling3d, L.average_pooling3d):
        assert made(kind, [None, 5, 4, 6, 2], (2, 1, 3), 2)[0] == [None, 2, 2, 2, 2]


def test_classes_are_the_functions():
    for name in ("Conv1D", "Conv2DTranspose", "SeparableConv2D", "MaxPooling3D", "Dense"):
        layer = getattr(L, name)
        function = getattr(L, layer.default_name)
        own = [p for p in inspect.signature(layer).parameters if p != "kw"]
        assert list(inspect.signature(function).parameters) == ["inputs", *own, "reuse"]
    x = tf.zeros([2, 8, 4])
    layer = L.Conv1D(3, 2, name="c")
    assert not layer.built
    with pytest.raises(errors.InvalidArgumentError, match="not built"):
        layer.count_params()
    layer(x)
    assert layer.count_params() == 27
    assert layer.non_trainable_variables == []
    with pytest.raises(TypeError):
        L.conv2d(x, 3, 2, colour="red")


def test_a_layer_knows_its_losses():
    l2 = tf.contrib.layers.l2_regularizer(0.1)
    layer = L.Conv1D(3, 2, kernel_regularizer=l2, activity_regularizer=l2)
    L.conv1d(layer(tf.zeros([2, 8, 4])), 2, 2, kernel_regularizer=l2)
    assert len(layer.losses) == 2
    assert len(tf.losses.get_regularization_losses()) == 3


def test_channels_first_equals_channels_last():
    rng = np.random.default_rng(2)
    cases = [
        (L.conv1d, 3, (2, 6, 3), {}),
        (L.conv2d, 4, (2, 5, 6, 3), {"dilation_rate": 2}),
        (L.conv2d_transpose, 4, (2, 3, 4, 3), {"strides": 2}),
        (L.separable_conv2d, 4, (1, 5, 6, 2), {}),
        (L.conv3d, 2, (1, 3, 4, 4, 2), {"strides": (1, 2, 1)}),
    ]
    with tf.Session() as session:
        pairs = []
        for i, (layer, filters, shape, options) in enumerate(cases):
            x = rng.standard_normal(shape).astype(np.float32)
            bias = tf.random_normal_initializer(seed=1)
            options = options | {"name": f"l{i}", "bias_initializer": bias}
            last = layer(x, filters, 2, **options)
            first = layer(np.moveaxis(x, -1, 1), filters, 2, data_format="channels_first", reuse=True, **options)
            pairs.append((last, first))
        session.run(tf.global_variables_initializer())
        for last, first in session.run(pairs):
            np.testing.assert_allclose(np.moveaxis(first, 1, -1), last, rtol=1e-5, atol=1e-5)


def test_transposed_layer_of_unknown_size():
    x = tf.placeholder(tf.float32, [None, None, 4, 2])
    y = L.conv2d_transpose(x, 3, 3, strides=2, kernel_initializer=tf.ones_initializer())
    assert y.shape.as_list() == [None, None, 9, 3]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got = session.run(y, {x: np.ones((1, 2, 4, 2))})
        assert got.shape == (1, 5, 9, 3)
        assert got.sum() == 2 * 4 * 2 * 9 * 3


def test_bad_layers():
    x = tf.placeholder(tf.float32, [None, 8, None])
    with pytest.raises(errors.ShapeError, match="channel dimension of the inputs should be defined"):
        L.conv1d(x, 3, 2)
    with pytest.raises(errors.InvalidArgumentError, match="kernel_size"):
        L.conv2d(tf.zeros([1, 4, 4, 1]), 3, (2, 2, 2))
    with pytest.raises(errors.InvalidArgumentError, match="data_format"):
        L.max_pooling1d(x, 2, 2, data_format="NWC")
    with pytest.raises(errors.ShapeError):
        L.max_pooling2d(x, 2, 2)
    for option in ({"renorm": True, "renorm_clipping": {"r": 1}}, {"virtual_batch_size": 0}):
        with pytest.raises(errors.InvalidArgumentError, match=r"renorm_clipping|positive integer"):
            L.batch_normalization(tf.zeros([2, 3]), **option)


def test_sizes_of_windows_as_a_shape_and_none():
    with tf.Graph().as_default():
        images = tf.zeros([1, 3, 4, 2])
        assert tf.layers.conv2d(images, 5, images.shape[1:3]).shape.as_list() == [1, 1, 1, 5]
        with pytest.raises(ValueError, match="kernel_size must be"):
            tf.layers.conv2d(images, 5, None)


def test_the_last_operation_of_a_separable_convolution_has_its_name():
    x = tf.placeholder(tf.float32, [1, 5, 5, 2])
    y = tf.layers.separable_conv2d(x, 4, 3, use_bias=False, name="s")
    assert (y.op.name, y.op.inputs[0].op.name) == ("s/separable_conv2d", "s/separable_conv2d/depthwise")


def test_names_of_depthwise_convolutions():
    with tf.Graph().as_default():
        x, filters = tf.placeholder(tf.float32, [1, 5, 5, 2]), tf.ones([3, 3, 2, 1])
        y = tf.nn.depthwise_conv2d(x, filters, [1, 1, 1, 1], "SAME")
        z = tf.nn.depthwise_conv2d_native(x, filters, [1, 1, 1, 1], "SAME")
        assert (y.op.name, z.op.name) == ("depthwise", "DepthwiseConv2dNative")
        assert tf.contrib.slim.separable_conv2d(x, None, 3, scope="s", activation_fn=None).op.name == "s/BiasAdd"
        assert tf.get_default_graph().get_operation_by_name("s/depthwise").type == "DepthwiseConv2dNative"


def test_sizes_that_are_integers_of_numpy():
    x = tf.zeros([1, 6, 8, 3])
    assert tf.layers.conv2d(x, 4, np.array([2, 3]), (np.int64(2), np.int32(1))).shape.as_list() == [1, 3, 6, 4]
    assert tf.layers.max_pooling2d(x, [np.int64(2), 2], np.array([2, 2])).shape.as_list() == [1, 3, 4, 3]

"""Layers of `tf.contrib.layers` that load when they are named. Values are computed by hand or are TensorFlow 1.15.5's."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

L = tf.contrib.layers
X = np.random.RandomState(0).randn(2, 4, 6, 8).astype("f")
V = np.random.RandomState(1).randn(2, 4, 5, 6, 3).astype("f")


def run(*tensors):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(tensors)


def normalized(x, axes):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-6)


def names():
    return [v.op.name for v in tf.global_variables()]


def test_instance_and_group_norm():
    a = L.instance_norm(X, param_initializers={"beta": tf.constant_initializer(2.0)})
    b = L.instance_norm(X, data_format="NCHW", center=False, scope="second")
    c = L.group_norm(X, groups=4)
    d = L.group_norm(X, groups=2, channels_axis=1, reduction_axes=(2, 3), mean_close_to_zero=True, scope="fourth")
    assert names() == [
        "InstanceNorm/beta",
        "InstanceNorm/gamma",
        "second/gamma",
        "GroupNorm/beta",
        "GroupNorm/gamma",
        "fourth/beta",
        "fourth/gamma",
    ]
    a, b, c, d = run(a, b, c, d)
    np.testing.assert_allclose(a, normalized(X, (1, 2)) + 2, atol=1e-4)
    np.testing.assert_allclose(b, normalized(X, (2, 3)), atol=1e-4)
    np.testing.assert_allclose(c, normalized(X.reshape(2, 4, 6, 4, 2), (1, 2, 4)).reshape(X.shape), atol=1e-4)
    np.testing.assert_allclose(d, normalized(X.reshape(2, 2, 2, 6, 8), (2, 3, 4)).reshape(X.shape), atol=1e-4)
    with pytest.raises(errors.InvalidArgumentError, match="divide"):
        L.group_norm(X, groups=3)
    with pytest.raises(errors.InvalidArgumentError, match="reduction_axes"):
        L.group_norm(X, groups=4, reduction_axes=(1, 3))
    with pytest.raises(errors.ShapeError, match="channels"):
        L.instance_norm(tf.placeholder(tf.float32, [1, 2, 2, None]))


def test_generalised_divisive_normalisation():
    y = L.gdn(tf.constant(X), gamma_init=0.5)
    z = L.gdn(tf.constant(X), inverse=True, data_format="channels_first", name="second")
    assert names()[:2] == ["gdn/reparam_beta", "gdn/reparam_gamma"]
    grads = tf.gradients(y, tf.trainable_variables()[:2])
    y, z, *grads = run(y, z, *grads)
    np.testing.assert_allclose(y, X / np.sqrt(1 + 0.5 * X**2), rtol=1e-4)
    np.testing.assert_allclose(z, X * np.sqrt(1 + 0.1 * X**2), rtol=1e-4)
    assert all(np.isfinite(g).all() and abs(g).max() > 0 for g in grads)
    with pytest.raises(errors.ShapeError, match="rank 3 to 5"):
        L.gdn(tf.constant(X[0, 0]))


def test_pooling_and_biases():
    top = L.max_pool3d(V, 2)
    mean = L.avg_pool3d(V, [4, 5, 6], 1)
    windows = tf.contrib.slim.pool(X, [2, 3], "AVG", stride=2, padding="VALID")
    shifted = L.bias_add(X, tf.nn.relu, tf.constant_initializer(0.5))
    units = L.maxout(X, 4)
    first = L.maxout(tf.placeholder(tf.float32, [None, 6]), 3)
    assert first.shape.as_list() == [None, 3] and names() == ["BiasAdd/biases"]
    top, mean, windows, shifted, units = run(top, mean, windows, shifted, units)
    np.testing.assert_allclose(top[:, 0, 0, 0], V[:, :2, :2, :2].max((1, 2, 3)))
    np.testing.assert_allclose(mean[:, 0, 0, 0], V.mean((1, 2, 3)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(windows[:, 1, 1], X[:, 2:4, 2:5].mean((1, 2)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(shifted, np.maximum(X + 0.5, 0), rtol=1e-6)
    np.testing.assert_allclose(units, X.reshape(2, 4, 6, 4, 2).max(-1))
    with pytest.raises(errors.InvalidArgumentError, match="multiple"):
        L.maxout(X, 3)
    with pytest.raises(errors.InvalidArgumentError, match="NDHWC"):
        L.max_pool3d(V, 2, data_format="NHWC")


def test_spatial_softmax_points_to_the_peak():
    features = np.zeros([1, 3, 5, 2], np.float32)
    features[0, 2, 0, 0] = features[0, 1, 4, 1] = 50
    (places,) = run(L.spatial_softmax(features))
    np.testing.assert_allclose(places, [[1, -1, 0, 1]], atol=1e-5)
    assert tf.trainable_variables()[0].op.name == "spatial_softmax/temperature"


def test_sequences_and_sparse():
    columns = L.images_to_sequence(X)
    back = L.sequence_to_images(columns, 4)
    sparse = L.dense_to_sparse(np.int32([[1, 0, 2], [0, 0, 3]]))
    columns, back, found = run(columns, back, sparse)
    assert columns.shape == (6, 8, 8)
    np.testing.assert_array_equal(back, X)
    assert found.values.tolist() == [1, 2, 3] and found.indices.tolist() == [[0, 0], [0, 2], [1, 2]]


def test_convolutions():
    ones = tf.ones_initializer()
    plane = L.conv2d_in_plane(tf.constant(X), 3, weights_initializer=ones, activation_fn=None, padding="VALID")
    wide = L.conv3d_transpose(V, 2, 2, stride=2, weights_initializer=ones, activation_fn=None)
    assert wide.shape.as_list() == [2, 8, 10, 12, 2]
    assert names() == [
        "ConvInPlane/weights",
        "ConvInPlane/biases",
        "Conv3d_transpose/weights",
        "Conv3d_transpose/biases",
    ]
    plane, wide = run(plane, wide)
    np.testing.assert_allclose(plane[:, 0, 0], X[:, :3, :3].sum((1, 2)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(wide[:, 3, 4, 5, 0], V[:, 1, 2, 2].sum(-1), rtol=1e-4, atol=1e-5)


def test_legacy_layers_keep_their_collections():
    y = L.legacy_relu(X, 5, weight_init=tf.ones_initializer())
    z = L.legacy_linear(X[0, 0], 2, bias_init=None, name="plain")
    assert names() == ["fully_connected/weights", "fully_connected/bias", "plain/weights"]
    assert [len(tf.get_collection(k)) for k in ("weights", "biases", "activations")] == [2, 1, 2]
    y, z = run(y, z)
    np.testing.assert_allclose(y[..., 0], np.maximum(X.sum(-1), 0), rtol=1e-4, atol=1e-5)
    assert z.shape == (6, 2)


@pytest.mark.parametrize("saves", [True, False])
def test_reversible_blocks(saves):
    x1, x2 = tf.constant(X[0, 0]), tf.constant(X[0, 1])

    def layer(t):
        return tf.layers.dense(t, 8, tf.nn.tanh)

    block = L.RevBlock(layer, layer, num_layers=2, use_efficient_backprop=saves)
    ys = block.forward(x1, x2)
    back = block.backward(*ys)
    assert names()[::2] == [f"revblock/revlayer_{i}/{f}/dense/kernel" for i in range(2) for f in "fg"]
    assert len(block.trainable_variables) == 8
    loss = tf.reduce_sum(tf.square(ys[0]) * ys[1])
    grads = tf.gradients(loss, [x1, tf.trainable_variables()[0]])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        (a, b), g, base = sess.run([back, grads, loss])
        np.testing.assert_allclose(a, X[0, 0], atol=1e-5)
        np.testing.assert_allclose(b, X[0, 1], atol=1e-5)
        step = np.zeros_like(X[0, 0])
        step[0, 0] = 1e-2
        moved = sess.run(loss, {x1: X[0, 0] + step})
    np.testing.assert_allclose((moved - base) / 1e-2, g[0][0, 0], rtol=0.1, atol=0.05)
    assert abs(g[1]).max() > 0


def test_scaled_gradients_and_unique_lookups():
    x = tf.constant([1.0, 2.0])
    table = tf.constant(np.arange(12, dtype="f").reshape(4, 3))
    ids = tf.placeholder(tf.int32, [2, None])
    rows = L.embedding_lookup_unique(table, ids)
    assert rows.shape.as_list() == [2, None, 3]
    with tf.Session() as sess:
        grad, found = sess.run([tf.gradients(L.scale_gradient(x, 3.0), x), rows], {ids: [[1, 2], [1, 3]]})
    np.testing.assert_array_equal(grad, [[3, 3]])
    np.testing.assert_array_equal(found[:, 0, 0], [3, 3])


def test_summaries():
    slim = tf.contrib.slim
    y = tf.nn.relu6(tf.constant([-1.0, 0.5, 7.0, 8.0]), name="y")
    L.summarize_activation(y)
    v = slim.model_variable("v", [2], initializer=tf.zeros_initializer())
    L.summarize_collection(tf.GraphKeys.MODEL_VARIABLES, "v")
    assert L.summarize_tensor(tf.constant("text")) is None
    slim.summaries.add_scalar_summary(tf.constant(3.0, name="three"), prefix="train", print_summary=True)
    slim.summaries.add_zero_fraction_summary(y)
    slim.summaries.add_histogram_summaries([v])
    slim.summaries.add_image_summary(tf.zeros([1, 2, 2, 3]), "picture")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        text = sess.run(tf.summary.merge_all())
    found = {v.tag: v.simple_value for v in tf.Summary.FromString(text).value}
    assert found["y/zeros"] == 0.25 and found["y/sixes"] == 0.5
    assert found["train/three"] == 3 and found["y_Fraction_of_Zero_Values"] == 0.25
    assert {"y/activation", "v_summary", "v_1", "picture/image/0"} <= set(found)


def test_windows_that_are_a_part_of_a_shape():
    """As in `slim.avg_pool2d(net, net.get_shape()[1:3])`, which pools over the whole image."""
    x = tf.placeholder(tf.float32, [2, 8, 6, 3])
    whole, two = x.get_shape()[1:3], tf.TensorShape([2, 2])
    layers = tf.contrib.layers
    made = {
        "average": layers.avg_pool2d(x, whole),
        "largest": layers.max_pool2d(x, two, two),
        "convolved": layers.conv2d(x, 4, two, two),
        "separable": layers.separable_conv2d(x, 4, two, 1, two),
        "transposed": layers.conv2d_transpose(x, 4, two, two),
        "in plane": layers.conv2d_in_plane(x, two, two),
        "pooled": tf.layers.max_pooling2d(x, whole, 1),
        "averaged": tf.layers.average_pooling2d(x, two, two),
        "filtered": tf.layers.conv2d(x, 4, two, two),
    }
    assert {name: y.shape.as_list()[1:3] for name, y in made.items()} == {
        "average": [1, 1],
        "largest": [4, 3],
        "convolved": [4, 3],
        "separable": [4, 3],
        "transposed": [16, 12],
        "in plane": [4, 3],
        "pooled": [1, 1],
        "averaged": [4, 3],
        "filtered": [4, 3],
    }

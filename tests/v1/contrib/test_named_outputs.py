"""Collected outputs of layers by the scopes of the layers, and the small functions of `tf.contrib.layers.utils`."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

slim = tf.contrib.slim
utils = slim.utils


def test_outputs_go_by_the_scopes_of_their_layers():
    x = tf.zeros([2, 8, 8, 3])
    slim.conv2d(x, 4, 3, outputs_collections="c")
    with tf.variable_scope("a"):
        pooled = slim.max_pool2d(x, 2, scope="p", outputs_collections="c")
        slim.dropout(x, scope="d", outputs_collections=["c", "other"])
        slim.flatten(x, outputs_collections="c")
        slim.batch_norm(x, outputs_collections="c")
    assert list(utils.convert_collection_to_dict("c")) == ["Conv", "a/p", "a/d", "a/Flatten", "a/BatchNorm"]
    assert pooled.op.name == "a/p/MaxPool"
    points = utils.convert_collection_to_dict("other", clear_collection=True)
    assert list(points) == ["a/d"] and tf.get_collection("other") == []
    utils.append_tensor_alias(pooled, "again/")
    assert utils.gather_tensors_aliases([pooled, x]) == ["a/p", "again", x.op.name]


def test_variables_of_batch_norm_are_model_variables():
    slim.batch_norm(tf.zeros([2, 3]))
    assert [v.op.name for v in slim.get_model_variables()] == [
        "BatchNorm/beta",
        "BatchNorm/moving_mean",
        "BatchNorm/moving_variance",
    ]


@pytest.mark.parametrize(
    ("shape", "options", "first"),
    [
        ([2, 3], {}, "beta"),
        ([2, 3], {"fused": False}, "gamma"),
        ([2, 4, 5, 3], {}, "gamma"),
        ([2, 4, 5, 3], {"updates_collections": None}, "beta"),
        ([2, 4, 3], {"updates_collections": "mine", "fused": False}, "beta"),
        ([2, 4, 3], {}, "gamma"),
    ],
)
def test_the_order_of_the_variables_of_batch_norm(shape, options, first):
    """Programs take variables by their places, as lists of trained arrays do; TensorFlow has several functions."""
    slim.batch_norm(tf.zeros(shape), scale=True, **options)
    second = {"beta": "gamma", "gamma": "beta"}[first]
    names = [v.op.name.rpartition("/")[2] for v in tf.global_variables()]
    assert names == [first, second, "moving_mean", "moving_variance"]


def test_convolutions_of_each_rank():
    rows, volumes = tf.ones([2, 9, 3]), tf.ones([2, 5, 6, 7, 3])
    one = slim.conv1d(rows, 4, 3, stride=2, activation_fn=None)
    three = slim.conv3d(volumes, 4, [1, 2, 3], padding="VALID", scope="three")
    any_rank = slim.convolution(tf.ones([2, 3, 5, 6]), 4, 3, data_format="NCHW", normalizer_fn=slim.batch_norm)
    assert [t.shape.as_list() for t in (one, three)] == [[2, 5, 4], [2, 5, 5, 5, 4]]
    assert any_rank.shape.as_list()[1] == 4
    assert [(v.op.name, v.shape.as_list()) for v in tf.trainable_variables()][:3] == [
        ("Conv/weights", [3, 3, 4]),
        ("Conv/biases", [4]),
        ("three/weights", [1, 2, 3, 3, 4]),
    ]
    for wrong in (lambda: slim.conv2d(rows, 4, 3), lambda: slim.convolution(tf.ones([2, 3]), 4, 3)):
        with pytest.raises(errors.ShapeError, match="axes"):
            wrong()
    with pytest.raises(errors.InvalidArgumentError, match="NWC or NCW"):
        slim.conv1d(rows, 4, 3, data_format="NHWC")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        weights, value = sess.run([tf.trainable_variables()[0], one])
    np.testing.assert_allclose(value[0, 2], weights.sum((0, 1)), rtol=1e-5, atol=1e-5)


def test_small_functions():
    assert utils.two_element_tuple(3) == (3, 3) and utils.two_element_tuple(tf.TensorShape([1, 2])) == (1, 2)
    assert utils.n_positive_integers(3, 2) == (2, 2, 2) and utils.n_positive_integers(2, [1, 4]) == (1, 4)
    assert utils.last_dimension(tf.TensorShape([None, 5])) == 5
    assert utils.channel_dimension(tf.TensorShape([1, 2, 3]), "channels_first") == 2
    assert utils.get_variable_collections({"weights": ["w"]}, "weights") == ["w"]
    assert utils.constant_value(tf.constant(3)) == 3 and utils.constant_value(True) is True
    assert utils.constant_value(tf.Variable(1.0)) is None
    assert utils.static_cond(False, lambda: 1, lambda: 2) == 2
    for wrong in (
        lambda: utils.two_element_tuple([1, 2, 3]),
        lambda: utils.n_positive_integers(2, [1, 0]),
        lambda: utils.last_dimension(tf.TensorShape([2, None])),
        lambda: utils.constant_value(None),
        lambda: utils.constant_value(tf.constant(3), tf.float32),
        lambda: utils.static_cond(True, 1, 2),
    ):
        with pytest.raises((errors.InvalidArgumentError, errors.DTypeError)):
            wrong()


@pytest.mark.parametrize(("fused", "freedom"), [(None, 3), (False, 4)])
def test_the_moving_variance_of_vectors_is_that_of_the_fused_kernel(fused, freedom):
    x = np.float32([[0.0], [2.0], [4.0], [6.0]])
    y = slim.batch_norm(x, decay=0.0, updates_collections=None, fused=fused)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(y)
        variance = sess.run(slim.get_variables_by_name("moving_variance"))
    np.testing.assert_allclose(variance, [[20 / freedom]], rtol=1e-5)

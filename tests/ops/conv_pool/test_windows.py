"""Functions with windows: what is refused, and what needs no TensorFlow to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError, ShapeError

pytestmark = pytest.mark.opencl
X = np.random.default_rng(1).standard_normal((2, 6, 7, 3)).astype(np.float32)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: tf.nn.pool(X, [2, 2], "MAX", "SAME", dilation_rate=[2, 2]), "VALID"),
        (lambda: tf.nn.pool(X, [2, 2], "MIN", "SAME"), "MIN"),
        (lambda: tf.nn.conv2d(X, X[:1], [1, 1, 1, 1], "SAME", data_format="NDHWC"), "data_format"),
        (lambda: tf.nn.conv3d(X, X, [1, 1], "SAME"), "strides"),
        (lambda: tf.nn.conv3d(X[None], X[None], [1, 2, 2, 2, 2], "SAME"), "batch and channels"),
        (lambda: tf.nn.with_space_to_batch(X, [2, 2], "SAME", lambda x, n, p: x), "filter_shape"),
        (lambda: tf.nn.with_space_to_batch(X, [0, 2], "VALID", lambda x, n, p: x), "at least 1"),
        (lambda: tf.nn.conv1d(X[0], X[0], 1, "SAME", data_format="NWHC"), "NWC"),
    ],
)
def test_refused(build: Any, message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(InvalidArgumentError, match=message):
        build()


def test_the_arguments_of_older_programs() -> None:
    with tf.Graph().as_default():
        y = tf.nn.conv2d(X, X[:1, :2].transpose(1, 2, 3, 0), [1, 1, 1, 1], "SAME", None, None, "mine")
        assert y.op.name == "mine" and y.op.attrs.use_cudnn_on_gpu is True
        assert y.shape.as_list() == [2, 6, 7, 1]


def test_shapes_that_do_not_fit() -> None:
    with tf.Graph().as_default():
        volumes = tf.placeholder(tf.float32, [1, 4, 4, 4, 2])
        with pytest.raises(ShapeError, match="2 channels"):
            tf.nn.conv3d(volumes, np.zeros((2, 2, 2, 3, 1), np.float32), [1] * 5, "SAME")
        with pytest.raises(ShapeError, match="rank 5"):
            tf.nn.max_pool3d(X, 2, 2, "SAME")


FIT = {"x": [1, 8, 8, 2], "w": [3, 3, 2, 3], "dy": [1, 4, 4, 3]}


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(
    "misfit", [{"x": [1, 10, 8, 2]}, {"x": [2, 8, 8, 2]}, {"dy": [1, 4, 4, 4]}, {"dy": [1, 5, 5, 3]}]
)
def test_gradients_of_other_shapes_are_errors_of_the_step(misfit: Any, is_known: bool) -> None:
    """As in TensorFlow 1.15.5, which builds them."""
    shapes = FIT | misfit
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = {k: tf.zeros(s) if is_known else tf.placeholder(tf.float32) for k, s in shapes.items()}
        x, w, dy = tensors.values()
        transposed = tf.nn.conv2d_transpose(dy, w, shapes["x"], [1, 2, 2, 1])
        filters = tf.nn.conv2d_backprop_filter(x, shapes["w"], dy, [1, 2, 2, 1], "SAME")
        assert (transposed.shape, filters.shape) == (tf.TensorShape(shapes["x"]), tf.TensorShape(shapes["w"]))
        feeds = {} if is_known else {tensors[k]: np.zeros(s) for k, s in shapes.items()}
        for t in (transposed, filters):
            with pytest.raises(tf.errors.InvalidArgumentError, match="but out_backprop has shape"):
                session.run(t, feeds)


@pytest.mark.parametrize("is_known", [True, False])
def test_transposed_volumes_of_other_shapes_are_errors_of_the_step(is_known: bool) -> None:
    volumes, taps = np.zeros((1, 4, 4, 4, 2), np.float32), np.zeros((2, 2, 2, 5, 2), np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        dy = tf.constant(volumes) if is_known else tf.placeholder(tf.float32, volumes.shape)
        y = tf.nn.conv3d_transpose(dy, taps, [1, 9, 9, 9, 5], [1, 2, 2, 2, 1])
        assert y.shape.as_list() == [1, 9, 9, 9, 5]
        with pytest.raises(tf.errors.InvalidArgumentError, match="but out_backprop has shape"):
            session.run(y, {} if is_known else {dy: volumes})


def test_channels_first_runs_and_differentiates() -> None:
    taps = np.random.default_rng(2).standard_normal((3, 2, 3, 4)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        last, first = tf.constant(X), tf.constant(np.moveaxis(X, -1, 1))
        y = tf.nn.max_pool(tf.nn.conv2d(last, taps, 1, "SAME"), 2, 2, "SAME")
        z = tf.nn.conv2d(first, taps, 1, "SAME", data_format="NCHW")
        z = tf.nn.max_pool(z, 2, 2, "SAME", data_format="NCHW")
        assert z.shape.as_list() == [2, 4, 3, 4]
        (dy,), (dz,) = tf.gradients(tf.square(y), [last]), tf.gradients(tf.square(z), [first])
        values = session.run([y, z, dy, dz])
    np.testing.assert_allclose(np.moveaxis(values[1], 1, -1), values[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(np.moveaxis(values[3], 1, -1), values[2], rtol=1e-4, atol=1e-4)


def test_16_bit_images_train() -> None:
    taps = np.random.default_rng(2).standard_normal((3, 3, 3, 4)).astype(np.float16)
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.constant(X.astype(np.float16)), tf.constant(taps)
        loss = tf.reduce_sum(tf.nn.avg_pool(tf.nn.conv2d(x, w, 1, "SAME"), 2, 2, "VALID"))
        (dw,) = tf.gradients(loss, [w])
        wide = tf.reduce_sum(tf.nn.avg_pool(tf.nn.conv2d(X, taps.astype("f"), 1, "SAME"), 2, 2, "VALID"))
        assert (loss.dtype, dw.dtype) == (tf.float16, tf.float16)
        half, full, slope = session.run([loss, wide, dw])
    assert abs(half - full) < 0.01 * abs(full) + 0.5
    assert np.isfinite(slope).all()


def test_pooling_is_called_by_its_name():
    with tf.Graph().as_default():
        x = tf.zeros([1, 8, 8, 3])
        names = [
            tf.nn.pool(x, [2, 2], kind, "VALID", name=name).op.name for kind, name in (("MAX", "p"), ("AVG", None))
        ]
        assert names == ["p", "avg_pool"]
        assert tf.nn.pool(x, [2, 2], "MAX", "VALID", [2, 2]).op.name == "max_pool/BatchToSpaceND"


def test_transposes_are_named_as_their_functions():
    with tf.Graph().as_default():
        x, kernel = tf.zeros([2, 5, 5, 3]), tf.zeros([3, 3, 4, 3])
        assert tf.nn.conv2d_transpose(x, kernel, [2, 10, 10, 4], 2).name == "conv2d_transpose:0"
        assert tf.nn.conv2d_transpose(x, kernel, [2, 10, 10, 4], 2, name="up").name == "up:0"
        volumes = tf.nn.conv3d_transpose(x[:, None], kernel[None], [2, 2, 10, 10, 4], 2)
        assert volumes.name == "conv3d_transpose:0"
    with tf.Graph().as_default():
        y = tf.layers.conv2d_transpose(tf.zeros([2, 5, 5, 3]), 4, 3, use_bias=False)
        assert y.name == "conv2d_transpose/conv2d_transpose:0"

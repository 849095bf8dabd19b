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
        with pytest.raises(ShapeError, match="out_backprop"):
            taps = np.zeros((2, 2, 2, 5, 2), np.float32)
            tf.nn.conv3d_transpose(volumes, taps, [1, 9, 9, 9, 5], [1, 2, 2, 2, 1])
        with pytest.raises(ShapeError, match="rank 5"):
            tf.nn.max_pool3d(X, 2, 2, "SAME")


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

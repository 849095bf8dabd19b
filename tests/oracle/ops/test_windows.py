"""Convolution, pooling and moments in one to three dimensions against real TensorFlow, under their public names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pairs import compare, tf1

import tfnb as tf

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def normal(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_volumes(padding: str) -> None:
    x, w = normal(2, 4, 5, 3, 2), normal(2, 3, 2, 2, 3)
    steps = [1, 1, 2, 1, 1]
    compare(lambda tf, x, w: tf.nn.conv3d(x, w, steps, padding), x, w, rtol=1e-4)
    compare(lambda tf, x, w: tf.nn.convolution(x, w, padding, strides=[1, 2, 1]), x, w, order=1, rtol=1e-4)
    y = normal(2, 4, 3, 3, 3) if padding == "SAME" else normal(2, 3, 2, 2, 3)
    compare(lambda tf, y, w: tf.nn.conv3d_transpose(y, w, [2, 4, 5, 3, 2], steps, padding), y, w, order=1, rtol=1e-4)

    def single(name: str) -> Any:  # TensorFlow's kernels take float32 only
        return lambda tf, x: tf.cast(
            getattr(tf.nn, name)(tf.cast(x, "float32"), [1, 2, 2, 3, 1], steps, padding), x.dtype
        )

    compare(single("max_pool3d"), x, order=1, wide=1e-4)
    compare(single("avg_pool3d"), x, order=1, wide=1e-4)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_lines_and_holes(padding: str) -> None:
    w = normal(3, 4, 3)
    y = normal(2, 4, 3) if padding == "SAME" else normal(2, 3, 3)
    compare(lambda tf, y, w: tf.nn.conv1d_transpose(y, w, [2, 8, 4], 2, padding), y, w, order=1, rtol=1e-4)
    y = normal(1, 7, 6, 2) if padding == "SAME" else normal(1, 3, 2, 2)
    compare(
        lambda tf, y, w: tf.nn.atrous_conv2d_transpose(y, w, [1, 7, 6, 3], 2, padding),
        y,
        normal(3, 3, 3, 2),
        order=1,
        rtol=1e-4,
    )
    x = normal(2, 7, 6, 2)
    compare(lambda tf, x: tf.nn.max_pool1d(x, 3, 2, padding), normal(2, 7, 3), order=1)
    compare(lambda tf, x: tf.nn.avg_pool1d(x, 3, 2, padding), normal(2, 7, 3), order=1)
    for kind in ("MAX", "AVG"):
        compare(lambda tf, x: tf.nn.pool(x, [2, 3], kind, padding, strides=[2, 1]), x, order=1)  # noqa: B023
        compare(lambda tf, x: tf.nn.pool(x, [2, 3], kind, "VALID", dilation_rate=[2, 1]), x, order=1)  # noqa: B023

    def op(tf: Any) -> Any:
        return lambda x, _, padding: tf.nn.conv2d(x, normal(3, 3, 2, 1).astype("f"), [1, 1, 1, 1], padding)

    compare(
        lambda tf, x: tf.nn.with_space_to_batch(tf.cast(x, "float32"), [2, 2], padding, op(tf), [3, 3]),
        x,
        order=0,
        rtol=1e-4,
        wide=1e-4,
    )


def test_morphology_and_argmax() -> None:
    x, w = normal(2, 6, 5, 3), normal(2, 3, 3)
    steps, rates = [1, 2, 1, 1], [1, 1, 2, 1]
    for padding in ("SAME", "VALID"):
        how = (steps, rates, padding)
        compare(lambda tf, x, w: tf.nn.dilation2d(x, w, *how), x, w, order=1)  # noqa: B023
        compare(lambda tf, x, w: tf.nn.erosion2d(x, w, *how), x, w, order=1)  # noqa: B023
    compare(lambda tf, x: tf.nn.max_pool_with_argmax(x, [1, 2, 3, 1], steps, "SAME")[0], x, order=1)
    compare(lambda tf, x: tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")[1], x, order=0)


def test_explicit_padding() -> None:
    pads = [[0, 0], [2, 1], [0, 3], [0, 0]]
    compare(
        lambda tf, x, w: tf.nn.conv2d(x, w, [1, 2, 1, 1], pads),
        normal(2, 5, 4, 2),
        normal(2, 3, 2, 2),
        order=1,
        rtol=1e-4,
    )


def test_moments_in_parts() -> None:
    x = normal(3, 4, 5)

    def parts(tf: Any, x: Any, **options: Any) -> Any:
        count, *sums = tf.nn.sufficient_statistics(x, [0, 2], **options)
        found = tf.nn.normalize_moments(count, *sums)
        return [count, *(s for s in sums if s is not None), *found]

    compare(lambda tf, x: parts(tf, x), x, order=1)
    compare(lambda tf, x: parts(tf, x, shift=tf.cast(0.3, x.dtype), keep_dims=True), x, order=1)
    weights = np.abs(normal(3, 1, 5))
    compare(lambda tf, x, w: tf.nn.weighted_moments(x, [0, 2], w), x, weights, order=1, rtol=1e-4)
    compare(lambda tf, x, w: tf.nn.weighted_moments(x, [1], w, keep_dims=True), x, weights, order=1, rtol=1e-4)
    compare(lambda tf, x: tf.nn.swish(x), x, order=1)


def test_pairwise_loss() -> None:
    labels, found = normal(3, 4, 2).astype("f"), normal(3, 2, 4).reshape(3, 4, 2).astype("f")
    for weights in (1.0, np.float32([[[2.0]], [[0.0]], [[0.5]]])):
        values = []
        for t in (tf, tf1):
            with t.Graph().as_default(), t.Session() as session:
                loss = t.losses.mean_pairwise_squared_error(labels, found, weights)
                values.append(session.run(loss))
        np.testing.assert_allclose(*values, rtol=1e-5)

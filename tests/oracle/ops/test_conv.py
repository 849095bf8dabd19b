"""Convolution and pooling functions against real TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pairs import compare

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
SIZES = [
    ((2, 5, 6, 3), (3, 2, 3, 4), (1, 1), "SAME"),
    ((2, 5, 6, 3), (3, 2, 3, 4), (2, 1), "VALID"),
    ((1, 7, 7, 1), (3, 3, 1, 2), (2, 2), "SAME"),
    ((1, 6, 5, 2), (5, 5, 2, 2), (3, 2), "SAME"),
]


def normal(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


@pytest.mark.parametrize(("image", "taps", "steps", "padding"), SIZES)
def test_convolution(image: Any, taps: Any, steps: Any, padding: str) -> None:
    strides = [1, *steps, 1]
    compare(
        lambda tf, x, w: tf.nn.conv2d(x, w, strides=strides, padding=padding),
        normal(*image),
        normal(*taps),
        rtol=1e-4,
    )


@pytest.mark.parametrize(("image", "taps", "steps", "padding"), SIZES)
def test_transposed_convolution(image: Any, taps: Any, steps: Any, padding: str) -> None:
    strides = [1, *steps, 1]
    lengths = [
        -(-d // s) if padding == "SAME" else -(-(d - k + 1) // s)
        for d, k, s in zip(image[1:3], taps[:2], steps, strict=True)
    ]
    value = normal(image[0], *lengths, taps[3])
    compare(
        lambda tf, x, w: tf.nn.conv2d_transpose(x, w, list(image), strides, padding),
        value,
        normal(*taps),
        rtol=1e-4,
    )


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_dilated_and_one_dimensional(padding: str) -> None:
    x, w = normal(2, 8, 7, 2), normal(3, 3, 2, 3)
    compare(lambda tf, x, w: tf.nn.atrous_conv2d(x, w, 2, padding), x, w, order=1, rtol=1e-4)
    compare(
        lambda tf, x, w: tf.nn.convolution(x, w, padding, dilation_rate=[2, 2]),
        x,
        w,
        order=1,
        rtol=1e-4,
    )
    compare(lambda tf, x, w: tf.nn.conv1d(x, w, 2, padding), normal(2, 8, 3), normal(3, 3, 4), rtol=1e-4)
    compare(
        lambda tf, x, w: tf.nn.convolution(x, w, padding, strides=[2]),
        normal(2, 8, 2),
        normal(3, 2, 3),
        rtol=1e-4,
    )


@pytest.mark.parametrize(("image", "taps", "steps", "padding"), SIZES)
def test_pooling(image: Any, taps: Any, steps: Any, padding: str) -> None:
    windows = {"ksize": [1, *taps[:2], 1], "strides": [1, *steps, 1], "padding": padding}
    # TensorFlow's second gradient of overlapping max-pools is not the derivative of its first
    compare(lambda tf, x: tf.nn.max_pool(x, **windows), normal(*image), order=1)
    compare(lambda tf, x: tf.nn.avg_pool(x, **windows), normal(*image))


def test_channels_first() -> None:
    def last(tf: Any, x: Any) -> Any:
        return tf.transpose(x, [0, 2, 3, 1])

    def first(tf: Any, x: Any) -> Any:
        return tf.transpose(x, [0, 3, 1, 2])

    x, w = normal(2, 3, 5, 6), normal(3, 3, 3, 4)
    compare(
        lambda tf, x, w: tf.nn.conv2d(x, w, [1, 1, 2, 1], "SAME", data_format="NCHW"),
        x,
        w,
        rtol=1e-4,
        theirs=lambda tf, x, w: first(tf, tf.nn.conv2d(last(tf, x), w, [1, 2, 1, 1], "SAME")),
    )
    compare(
        lambda tf, x: tf.nn.max_pool(x, [1, 1, 2, 3], [1, 1, 2, 1], "SAME", data_format="NCHW"),
        x,
        theirs=lambda tf, x: first(tf, tf.nn.max_pool(last(tf, x), [1, 2, 3, 1], [1, 2, 1, 1], "SAME")),
    )
    compare(
        lambda tf, x, w: tf.nn.conv2d_transpose(x, w, [2, 3, 5, 6], [1, 1, 2, 1], "SAME", data_format="NCHW"),
        normal(2, 4, 3, 6),
        w,
        rtol=1e-4,
        theirs=lambda tf, x, w: first(tf, tf.nn.conv2d_transpose(last(tf, x), w, [2, 5, 6, 3], [1, 2, 1, 1], "SAME")),
    )


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_depthwise_and_separable(padding: str) -> None:
    x, w, p = normal(2, 6, 5, 3), normal(3, 2, 3, 2), normal(1, 1, 6, 4)
    strides = [1, 2, 2, 1]
    compare(lambda tf, x, w: tf.nn.depthwise_conv2d(x, w, strides, padding), x, w, rtol=1e-4)
    compare(lambda tf, x, w, p: tf.nn.separable_conv2d(x, w, p, strides, padding), x, w, p, order=1, rtol=1e-4)
    compare(lambda tf, x, w: tf.nn.depthwise_conv2d(x, w, [1] * 4, padding, [2, 2]), x, w, order=1, rtol=1e-4)

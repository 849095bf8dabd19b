"""tf.contrib.layers: transposed and separable convolutions, normalisers, stacks, encoders."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

pytestmark = pytest.mark.opencl
C = tf.contrib.layers
X = np.random.default_rng(3).standard_normal((2, 5, 6, 3)).astype(np.float32)


def names():
    return [v.op.name for v in tf.global_variables()]


def run(*fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(list(fetches))


def test_convolutions():
    up = C.conv2d_transpose(X, 4, 3, stride=2)
    apart = C.separable_conv2d(X, 4, 3, depth_multiplier=2, normalizer_fn=C.batch_norm)
    each = C.separable_conv2d(X, None, [3, 3], stride=2, scope="each")
    assert [t.shape.as_list() for t in (up, apart, each)] == [[2, 10, 12, 4], [2, 5, 6, 4], [2, 3, 3, 3]]
    assert names()[:5] == [
        "Conv2d_transpose/weights",
        "Conv2d_transpose/biases",
        "SeparableConv2d/depthwise_weights",
        "SeparableConv2d/pointwise_weights",
        "SeparableConv2d/BatchNorm/beta",
    ]
    values = run(up, apart, each)
    assert all(np.isfinite(v).all() and v.min() >= 0 for v in values)
    with pytest.raises(errors.ShapeError, match="channel dimension"):
        C.conv2d_transpose(tf.placeholder(tf.float32, [1, 2, 2, None]), 4, 3)


def test_layer_norm_and_unit_norm():
    y = C.layer_norm(X)
    rows = C.layer_norm(X, begin_norm_axis=3, scale=False, scope="rows")
    unit = C.unit_norm(X, 3)
    assert names() == ["LayerNorm/beta", "LayerNorm/gamma", "rows/beta"]
    assert tf.trainable_variables()[1].shape.as_list() == [3]
    a, b, c = run(y, rows, unit)
    np.testing.assert_allclose(a.mean((1, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(a.std((1, 2, 3)), 1, rtol=1e-4)
    np.testing.assert_allclose(b, (X - X.mean(3, keepdims=True)) / X.std(3, keepdims=True), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(c, axis=3), 1, rtol=1e-5)
    with pytest.raises(errors.ShapeError):
        C.layer_norm(tf.placeholder(tf.float32, [2, None]))


def test_stacks():
    flat = tf.reshape(X, [2, 90])
    y = C.stack(flat, C.fully_connected, [8, 4], scope="fc")
    z = C.repeat(X, 2, C.conv2d, 4, [3, 3], scope="conv")
    pairs = C.stack(X, C.conv2d, [(4, [3, 3]), (2, 1)])
    assert (y.shape.as_list(), z.shape.as_list(), pairs.shape.as_list()) == (
        [2, 4],
        [2, 5, 6, 4],
        [2, 5, 6, 2],
    )
    assert names()[::2] == [
        "fc/fully_connected_1/weights",
        "fc/fully_connected_2/weights",
        "conv/conv_1/weights",
        "conv/conv_2/weights",
        "Stack/convolution2d_1/weights",
        "Stack/convolution2d_2/weights",
    ]
    with pytest.raises(errors.InvalidArgumentError, match="scope"):
        C.stack(flat, C.fully_connected, [8], reuse=True)


def test_encoders():
    ids = np.array([[1, 2, 0], [0, 0, 0]], np.int32)
    rows = C.embed_sequence(ids, vocab_size=4, embed_dim=3, scope="words")
    mean = C.bow_encoder(ids, 4, 3, scope="words", reuse=True)
    dense = C.bow_encoder(ids, 4, 3, sparse_lookup=False, scope="words", reuse=True)
    hot = C.one_hot_encoding(ids[0], 3)
    assert names() == ["words/embeddings"]
    r, m, d, h = run(rows, mean, dense, hot)
    np.testing.assert_allclose(m, [(r[0, 0] + r[0, 1]) / 2, r[1, 0]], rtol=1e-6)
    np.testing.assert_allclose(d, r.mean(1), rtol=1e-6)
    np.testing.assert_array_equal(h, np.eye(3)[[1, 2, 0]])
    with pytest.raises(errors.InvalidArgumentError, match="vocab_size"):
        C.embed_sequence(ids)

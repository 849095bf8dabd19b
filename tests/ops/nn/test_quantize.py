"""A small quantised network in a session against the floats it stands for, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.ops import CATALOG

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (2, 8, 8, 3)).astype(np.float32)
W = RNG.uniform(-1, 1, (3, 3, 3, 5)).astype(np.float32)
M = RNG.uniform(-1, 1, (80, 4)).astype(np.float32)


def eight(x, low=-1.0, high=1.0):
    return tf.quantize_v2(x, low, high, tf.quint8, mode="MIN_FIRST")


def down(made):
    return CATALOG["QuantizeDownAndShrinkRange"](*made, out_type=tf.quint8)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_a_network_of_eight_bits_is_near_the_floats():
    x, w, m = eight(X), eight(W), eight(M)
    conv = CATALOG["QuantizedConv2D"](
        x[0], w[0], *x[1:], *w[1:], out_type=tf.qint32, strides=[1, 1, 1, 1], padding="SAME"
    )
    relu = CATALOG["QuantizedRelu"](*down(conv), out_type=tf.quint8)
    pool = CATALOG["QuantizedMaxPool"](*relu, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    flat = CATALOG["QuantizedReshape"](pool[0], [2, 80], *pool[1:])
    product = CATALOG["QuantizedMatMul"](flat[0], m[0], *flat[1:], *m[1:], Toutput=tf.qint32, Tactivation=tf.quint8)
    small = down(product)
    made = tf.dequantize(*small, mode="MIN_FIRST")
    plain = tf.nn.max_pool(tf.nn.relu(tf.nn.conv2d(X, W, [1, 1, 1, 1], "SAME")), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    wanted = tf.matmul(tf.reshape(plain, [2, 80]), M)
    with tf.Session() as session:
        got, floats, raw = session.run([made, wanted, small[0]])
    assert raw.dtype == np.uint8 and small[0].dtype == tf.quint8
    assert small[0].shape.as_list() == [2, 4]
    np.testing.assert_allclose(got, floats, atol=0.03 * np.abs(floats).max())


def test_zero_is_exact_and_the_ends_are_clipped():
    q = tf.quantize_v2([-5.0, 0.0, 9.0], -1.3, 2.1, tf.quint8, mode="MIN_FIRST")
    with tf.Session() as session:
        whole, back = session.run([q[0], tf.dequantize(*q, mode="MIN_FIRST")])
    assert whole.tolist() == [0, 98, 255]
    assert abs(back[1]) < 1e-6


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.quantize_v2([1.0], 2.0, -1.0, tf.quint8), "is no range"),
        (lambda: tf.quantize_v2([1.0], float("nan"), 1.0, tf.quint8), "is no range"),
        (lambda: tf.quantize_v2([1.0], 0.0, 1.0, tf.quint8, mode="OTHER"), "mode must be"),
        (lambda: tf.quantize_v2([1.0], 0.0, 1.0, tf.uint8), "cannot be uint8"),
        (lambda: CATALOG["QuantizedReshape"](*_reshape_args()), "reshape"),
        (lambda: tf.fake_quant_with_min_max_args([1.0], num_bits=1), "num_bits"),
        (lambda: tf.fake_quant_with_min_max_args([1.0], min=1.0, max=0.0), "below max"),
        (
            lambda: tf.fake_quant_with_min_max_vars_per_channel([1.0, 2.0], [0.0] * 3, [1.0] * 3),
            "fit",
        ),
    ],
)
def test_refused(call, words):
    with pytest.raises(tf.errors.InvalidArgumentError, match=words), tf.Session() as session:
        session.run(call())


def _reshape_args():
    q = eight([1.0, 0.5])
    return q[0], [3], q[1], q[2]


def test_a_narrow_range_has_no_part_in_unsigned_numbers():
    q = eight([0.0, 0.5, 1.0])
    plain, narrow = (tf.dequantize(*q, mode="SCALED", narrow_range=n) for n in (False, True))
    with tf.Session() as session:
        np.testing.assert_array_equal(*session.run([plain, narrow]))


def test_the_static_shape_of_a_quantised_convolution_and_pool_is_known():
    with tf.Graph().as_default():
        images = tf.placeholder(tf.quint8, [1, 4, 5, 3])
        filters = tf.placeholder(tf.quint8, [2, 2, 3, 6])
        conv = tf.nn.quantized_conv2d(images, filters, 0.0, 1.0, 0.0, 1.0, strides=[1, 2, 2, 1], padding="SAME")
        pool = tf.raw_ops.QuantizedMaxPool(
            input=images, min_input=0.0, max_input=1.0, ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="VALID"
        )
        assert conv[0].shape == (1, 2, 3, 6)
        assert pool[0].shape == (1, 3, 4, 3)

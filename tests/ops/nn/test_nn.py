"""Functions of tf.nn: argument orders of both generations, dropout, static shapes, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ops.conv_pool.conv import CONV2D
from tfnb.types import Shape

pytestmark = pytest.mark.opencl


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


LOGITS = np.array([[1.0, 2.0, -1.0], [0.0, 0.5, 3.0]], np.float32)
LABELS = np.array([[0.0, 1.0, 0.0], [0.2, 0.3, 0.5]], np.float32)


def cross_entropy(x: np.ndarray, p: np.ndarray) -> np.ndarray:
    return -(p * (x - np.log(np.exp(x).sum(-1, keepdims=True)))).sum(-1)


def test_cross_entropy_in_both_generations(session: Any) -> None:
    loss = tf.nn.softmax_cross_entropy_with_logits
    wanted = cross_entropy(LOGITS, LABELS)
    for made in (
        loss(LOGITS, LABELS),
        loss(LOGITS, LABELS, "name"),
        loss(labels=LABELS, logits=LOGITS),
        loss(LOGITS, LABELS, dim=1, name="name"),
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=LABELS, logits=LOGITS),
    ):
        np.testing.assert_allclose(session.run(made), wanted, rtol=1e-5)
    with pytest.raises(InvalidArgumentError, match="both"):
        loss(LOGITS)
    with pytest.raises(ShapeError, match=r"\(2, 3\).*\(1, 3\)"):
        loss(LOGITS, LABELS[:1])
    whole = tf.constant([[0, 1, 0], [0, 0, 1]])  # labels are cast
    wanted = cross_entropy(LOGITS, np.eye(3)[[1, 2]])
    np.testing.assert_allclose(session.run(loss(LOGITS, whole)), wanted, rtol=1e-5)


def test_sparse_cross_entropy(session: Any) -> None:
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits
    wanted = cross_entropy(LOGITS, np.eye(3)[[1, 2]])
    np.testing.assert_allclose(session.run(loss(LOGITS, [1, 2])), wanted, rtol=1e-5)
    np.testing.assert_allclose(session.run(loss(labels=np.array([1, 2]), logits=LOGITS)), wanted, rtol=1e-5)
    with pytest.raises(ShapeError, match="one dimension less"):
        loss(LOGITS, [[1], [2]])
    fed = tf.placeholder(tf.int32, [2])
    with pytest.raises(InvalidArgumentError, match="label value of 3"):
        session.run(loss(LOGITS, fed), {fed: [1, 3]})
    np.testing.assert_allclose(session.run(loss(LOGITS, fed), {fed: [1, 2]}), wanted, rtol=1e-5)


def test_sigmoid_cross_entropy(session: Any) -> None:
    loss = tf.nn.sigmoid_cross_entropy_with_logits
    p = 1 / (1 + np.exp(-LOGITS))
    wanted = -LABELS * np.log(p) - (1 - LABELS) * np.log(1 - p)
    for made in (
        loss(LOGITS, LABELS),
        loss(LOGITS, targets=LABELS),
        loss(labels=LABELS, logits=LOGITS),
    ):
        np.testing.assert_allclose(session.run(made), wanted, rtol=1e-4, atol=1e-6)
    with pytest.raises(ShapeError):
        loss(LOGITS, LABELS[:1])
    big = session.run(loss(np.array([-1e3, 1e3], np.float32), np.array([1.0, 0.0], np.float32)))
    np.testing.assert_array_equal(big, [1000, 1000])


def test_softmax_arguments(session: Any) -> None:
    e = np.exp(LOGITS)
    np.testing.assert_allclose(session.run(tf.nn.softmax(LOGITS, "name")), e / e.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(session.run(tf.nn.softmax(LOGITS, dim=0)), e / e.sum(0), rtol=1e-5)
    np.testing.assert_allclose(session.run(tf.nn.softmax(LOGITS, axis=0)), e / e.sum(0), rtol=1e-5)
    with pytest.raises(InvalidArgumentError, match="axis 2"):
        tf.nn.softmax(LOGITS, 2)
    with pytest.raises(ShapeError, match="scalar"):
        tf.nn.softmax(tf.constant(1.0))


def test_dropout(session: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 100])
    keep = tf.placeholder(tf.float32, [])
    ones = np.ones((200, 100), np.float32)
    for made, feeds, p in (
        (tf.nn.dropout(x, 0.25, seed=1), {}, 0.25),
        (tf.nn.dropout(x, keep, seed=1), {keep: 0.25}, 0.25),
        (tf.nn.dropout(x, rate=0.25, seed=1), {}, 0.75),
    ):
        got = session.run(made, feeds | {x: ones})
        assert made.shape.as_list() == [None, 100]
        assert set(np.unique(got)) == {0.0, np.float32(1 / p)}
        assert abs((got > 0).mean() - p) < 0.02
    np.testing.assert_array_equal(session.run(tf.nn.dropout(x, 1.0), {x: ones}), ones)
    np.testing.assert_array_equal(session.run(tf.nn.dropout(x, keep), {x: ones, keep: 1.0}), ones)
    rows = session.run(tf.nn.dropout(x, 0.5, noise_shape=[None, 1], seed=1), {x: ones})
    assert (rows == rows[:, :1]).all() and 0 < (rows > 0).mean() < 1
    for bad in (0.0, 1.5):
        with pytest.raises(InvalidArgumentError, match="keep_prob"):
            tf.nn.dropout(x, bad)
    with pytest.raises(InvalidArgumentError, match="one of"):
        tf.nn.dropout(x)


def test_gradient_of_dropout_uses_the_same_noise(session: Any) -> None:
    x = tf.placeholder(tf.float32, [50])
    y = tf.nn.dropout(x, 0.5, seed=2)
    (dx,) = tf.gradients(y, x)
    got, slope = session.run([y, dx], {x: np.full(50, 3.0)})
    np.testing.assert_array_equal(got, 3 * slope)


def test_convolution_shapes() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 28, None, 3])
        w = tf.placeholder(tf.float32, [5, 5, 3, 8])
        assert tf.nn.conv2d(x, w, [1, 2, 2, 1], "SAME").shape == Shape((None, 14, None, 8))
        assert tf.nn.conv2d(x, w, [1, 1, 1, 1], "VALID").shape == Shape((None, 24, None, 8))
        assert tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME").shape == Shape((None, 14, None, 3))
        unknown = tf.placeholder(tf.float32)
        assert tf.nn.conv2d(unknown, w, [1, 1, 1, 1], "SAME").shape == Shape((None, None, None, 8))
        assert tf.nn.avg_pool(unknown, [1, 2, 2, 1], [1, 2, 2, 1], "VALID").shape == Shape((None,) * 4)
        up = tf.nn.conv2d_transpose(tf.placeholder(tf.float32, [2, 7, 7, 8]), w, [2, 14, 14, 3], [1, 2, 2, 1])
        assert up.shape == Shape((2, 14, 14, 3))


def test_convolution_errors() -> None:
    with tf.Graph().as_default():
        x, w = tf.placeholder(tf.float32, [1, 8, 8, 3]), tf.placeholder(tf.float32, [3, 3, 4, 8])
        with pytest.raises(ShapeError, match=r"3 channels.*the filter 4"):
            tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")
        good = tf.placeholder(tf.float32, [3, 3, 3, 8])
        with pytest.raises(InvalidArgumentError, match="padding"):
            tf.nn.conv2d(x, good, [1, 1, 1, 1], "FULL")
        with pytest.raises(InvalidArgumentError, match="4 integers"):
            tf.nn.conv2d(x, good, [1, 1, 1], "SAME")
        with pytest.raises(InvalidArgumentError, match="batch and channels"):
            tf.nn.conv2d(x, good, [2, 1, 1, 1], "SAME")
        with pytest.raises(InvalidArgumentError, match="data_format"):
            tf.nn.conv2d(x, good, [1, 1, 1, 1], "SAME", data_format="NWHC")
        with pytest.raises(ShapeError, match="rank 4"):
            tf.nn.max_pool(tf.placeholder(tf.float32, [8, 8]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        with pytest.raises(InvalidArgumentError, match="explicit_paddings"):
            CONV2D(x, good, padding="EXPLICIT", explicit_paddings=[0, 1, 1, 1, 1, 1, 0, 0])
        misfit = tf.nn.conv2d_transpose(tf.ones([1, 8, 8, 3]), tf.ones([3, 3, 5, 3]), [1, 9, 9, 5], [1, 2, 2, 1])
        with tf.Session() as session, pytest.raises(InvalidArgumentError, match="out_backprop"):
            session.run(misfit)


def test_transposed_convolution_with_a_fed_shape(session: Any) -> None:
    sizes = tf.placeholder(tf.int32, [4])
    x, w = np.ones((1, 2, 2, 1), np.float32), np.ones((2, 2, 1, 1), np.float32)
    y = tf.nn.conv2d_transpose(x, w, sizes, [1, 2, 2, 1])
    for side in (3, 4):
        got = session.run(y, {sizes: [1, side, side, 1]})
        np.testing.assert_array_equal(got, np.ones((1, side, side, 1)))


def test_small_functions(session: Any) -> None:
    np.testing.assert_array_equal(session.run(tf.nn.crelu(LOGITS)).shape, (2, 6))
    assert session.run(tf.nn.zero_fraction(np.array([0.0, 1.0, 0.0, 2.0], np.float32))) == 0.5
    with pytest.raises(ShapeError, match="channels"):
        tf.nn.bias_add(LOGITS, [1.0, 2.0])
    biased = session.run(tf.nn.bias_add(LOGITS, [1.0, 2.0, 3.0], name="biased"))
    np.testing.assert_array_equal(biased, LOGITS + np.float32([1, 2, 3]))
    old = session.run(
        tf.nn.batch_norm_with_global_normalization(
            LOGITS, [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0] * 3, [9.0] * 3, 0.0, False
        )
    )
    np.testing.assert_allclose(old, LOGITS + 1, rtol=1e-6)
    mean, variance = session.run(tf.nn.moments(LOGITS, [0], keep_dims=True))
    np.testing.assert_allclose(mean, LOGITS.mean(0, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(variance, LOGITS.var(0, keepdims=True), rtol=1e-5)


def test_the_axis_of_a_norm_may_be_a_tensor(session):
    x = tf.constant([[3.0, 4.0], [0.0, 2.0]])
    np.testing.assert_allclose(session.run(tf.nn.l2_normalize(x, tf.range(1, 2))), [[0.6, 0.8], [0, 1]], rtol=1e-6)


def test_statistics_of_another_dtype_than_the_input():
    x = np.array([[1.0, 2.0], [3.0, 6.0]])
    with tf.Graph().as_default(), tf.Session() as session:
        half = tf.constant(x.astype(np.float16))
        single = tf.constant(x.astype(np.float32))
        statistics = np.array([2.0, 4.0]), np.array([1.0, 4.0]), np.array([1.0, 0.0]), np.array([2.0, 1.0])
        a = tf.nn.batch_normalization(single, *statistics, np.float64(0))
        mean, variance, offset, scale = (tf.constant(s.astype(np.float32)) for s in statistics)
        b = tf.nn.batch_normalization(half, mean, variance, offset, scale, 0.0)
        c = tf.nn.batch_normalization(half, mean, variance, None, None, 0.0)
        assert (a.dtype, b.dtype, c.dtype) == (tf.float32, tf.float16, tf.float16)
        a, b, c = session.run([a, b, c])
        assert a.tolist() == b.tolist() == [[-1, -1], [3, 1]]
        assert c.tolist() == [[-1, -1], [1, 1]]


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64])
def test_slopes_end_at_zero(dtype):
    """Far to the left the functions are flat: no rest of a constant that the dtype cannot hold stays."""
    x = np.array([-1000, -np.inf, -60000]).astype(dtype.as_numpy_dtype)
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.placeholder(dtype, [3])
        functions = (tf.nn.selu, tf.nn.elu, tf.sigmoid, tf.tanh, tf.nn.softplus, tf.nn.relu, tf.nn.relu6)
        slopes = [tf.gradients(f(a), a)[0] for f in functions]
        folded = [tf.gradients(f(b), b)[0] for f in functions for b in [tf.constant(x)]]
        for found in session.run(slopes + folded, {a: x}):
            np.testing.assert_array_equal(found.astype(np.float64), np.zeros(3))

"""Cosine transforms against their sums of cosines, and shifts of spectra against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl
X = np.random.default_rng(0).standard_normal((2, 6)).astype(np.float32)


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def summed(x, kind):
    n = x.shape[-1]
    i, k = np.arange(n), np.arange(n)[:, None]
    if kind == 1:
        ends = x[..., :1] + (-1.0) ** np.arange(n) * x[..., -1:]
        return ends + 2 * (x[..., None, 1:-1] * np.cos(np.pi * k * i[1:-1] / (n - 1))).sum(-1)
    if kind == 2:
        return 2 * (x[..., None, :] * np.cos(np.pi * k * (2 * i + 1) / (2 * n))).sum(-1)
    return x[..., :1] + 2 * (x[..., None, 1:] * np.cos(np.pi * (2 * k + 1) * i[1:] / (2 * n))).sum(-1)


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("n", [None, 4, 9])
def test_a_cosine_transform(sess, kind, n):
    full = X if n is None else X[:, :n] if n < 6 else np.pad(X, [[0, 0], [0, n - 6]])
    np.testing.assert_allclose(sess.run(tf.signal.dct(X, kind, n)), summed(full, kind), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [2, 3])
def test_the_orthogonal_transform_is_undone(sess, kind):
    there = tf.spectral.dct(X, kind, norm="ortho")
    np.testing.assert_allclose(sess.run(tf.spectral.idct(there, kind, norm="ortho")), X, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose((sess.run(there) ** 2).sum(-1), (X**2).sum(-1), rtol=1e-4)


def test_a_gradient_flows_through(sess):
    x = tf.constant(X)
    grad = tf.gradients(tf.reduce_sum(tf.signal.dct(x, norm="ortho") ** 2), x)[0]
    np.testing.assert_allclose(sess.run(grad), 2 * X, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axes", [None, 1, [0, 1]])
@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(sess, name, axes):
    x = np.arange(15).reshape(3, 5)
    np.testing.assert_array_equal(sess.run(getattr(tf.signal, name)(x, axes)), getattr(np.fft, name)(x, axes))


@pytest.mark.parametrize("arguments", [{"axis": 0}, {"type": 4}, {"type": 1, "norm": "ortho"}, {"n": 0}])
def test_what_is_not_there_is_refused(arguments):
    with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError):
        tf.signal.dct(X, **arguments)

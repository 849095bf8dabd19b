"""Second derivatives of smooth functions that the catalogue's own check leaves out: those differentiable by some inputs
only, of complex numbers, or in float32 alone.
"""

from __future__ import annotations

import numpy as np
import pytest
from evaluate import evaluate

import tfnb as tf
from tfnb.ops import CATALOG

RNG = np.random.default_rng(8)
_STEEP = np.array([[2.0, 0.3], [0.1, 3.0], [0.5, 0.2]])
_I = np.int32


def _labels(x):
    return tf.nn.softmax(tf.constant(np.arange(12.0).reshape(3, 4)))


def _spectrum(z):
    return tf.real(z) ** 3 + tf.imag(z) * tf.real(z)


def _norm(version):
    def f(x):
        scale, offset = tf.constant([0.7, 1.3]), tf.constant([0.1, -0.2])
        empty = tf.zeros([0])
        return CATALOG[f"FusedBatchNorm{version}"](x, scale, offset, empty, empty, epsilon=0.1)[0] ** 3

    return f


# name: (function of one tensor, the point)
SMOOTH = {
    "Zeta": (lambda x: tf.zeta(tf.constant([2.5, 3.0, 4.5, 2.0], x.dtype), x), RNG.uniform(1, 3, 4)),
    "Polygamma": (lambda x: tf.polygamma(tf.constant([1.0, 2.0, 3.0], x.dtype), x), RNG.uniform(1, 3, 3)),
    "Betainc": (
        lambda x: tf.betainc(tf.constant([2.0, 3.0], x.dtype), tf.constant([1.5, 2.5], x.dtype), x),
        np.array([0.3, 0.6]),
    ),
    "SoftmaxCrossEntropyWithLogits": (
        lambda x: tf.nn.softmax_cross_entropy_with_logits(labels=_labels(x), logits=x),
        RNG.normal(size=(3, 4)),
    ),
    "PadV2": (lambda x: tf.pad(x * x, [[1, 0], [0, 2]], constant_values=3.0) ** 2, RNG.normal(size=(2, 3))),
    "MatrixDiagV3": (
        lambda x: CATALOG["MatrixDiagV3"](x * x, _I(0), _I(-1), _I(-1), np.float64(0)) ** 2,
        RNG.normal(size=3),
    ),
    "MatrixDiagV2": (
        lambda x: CATALOG["MatrixDiagV2"](x * x, np.array([-1, 1], _I), _I(4), _I(4), np.float64(7)) ** 2,
        RNG.normal(size=(2, 3, 4)),
    ),
    "MatrixDiagPartV2": (
        lambda x: CATALOG["MatrixDiagPartV2"](x * x, np.array([-1, 2], _I), np.float64(9)) ** 2,
        RNG.normal(size=(2, 3, 4)),
    ),
    "Cholesky": (
        lambda x: tf.cholesky(tf.matmul(x, x, transpose_b=True) + tf.eye(3, dtype=x.dtype) * 3.0),
        RNG.normal(size=(3, 3)),
    ),
    "MatrixSolveLs": (
        lambda x: tf.matrix_solve_ls(x, tf.constant(RNG.normal(size=(3, 2)), x.dtype), fast=True),
        _STEEP,
    ),
    "ComplexAbs": (lambda x: tf.abs(tf.complex(x, x * x + 1.0)), RNG.normal(size=4)),
    "Angle": (lambda x: tf.angle(tf.complex(x, x * x + 1.0)), RNG.normal(size=4)),
    "Conj": (lambda x: _spectrum(tf.conj(tf.complex(x * x, x)) * tf.complex(x, x)), RNG.normal(size=4)),
    "Complex": (lambda x: _spectrum(tf.sqrt(tf.complex(x, x + 2.0))), RNG.normal(size=4)),
    "complex Reciprocal": (lambda x: _spectrum(tf.reciprocal(tf.complex(x, x + 2.0))), RNG.normal(size=4)),
    "complex Rsqrt": (lambda x: _spectrum(tf.rsqrt(tf.complex(x, x + 2.0))), RNG.normal(size=4)),
    "FFT": (lambda x: _spectrum(tf.fft(tf.complex(x, x * x))), RNG.normal(size=5)),
    "IFFT2D": (lambda x: _spectrum(tf.ifft2d(tf.complex(x, x * x))), RNG.normal(size=(2, 3))),
    "FFT3D": (lambda x: _spectrum(tf.fft3d(tf.complex(x, x * x))), RNG.normal(size=(2, 2, 2))),
    "RFFT": (lambda x: _spectrum(tf.signal.rfft(x * x)), RNG.normal(size=6)),
    "IRFFT": (lambda x: tf.signal.irfft(tf.complex(x, x * x)) ** 2, RNG.normal(size=4)),
}
# in float32 only
SINGLE = {
    "SparseMatMul": (lambda x: CATALOG["SparseMatMul"](x, x * x + 1.0), RNG.normal(size=(2, 2))),
    "FusedBatchNormV2": (_norm("V2"), RNG.normal(size=(2, 2, 2, 2))),
    "FusedBatchNormV3": (_norm("V3"), RNG.normal(size=(2, 2, 2, 2))),
    "AdjustContrastv2": (
        lambda x: tf.image.adjust_contrast(x * x, 1.5) ** 2,
        RNG.normal(size=(1, 2, 3, 1)),
    ),
    "CropAndResize": (
        lambda x: tf.image.crop_and_resize(x * x, [[0.1, 0.2, 0.8, 0.9]], [0], [2, 3]) ** 2,
        RNG.normal(size=(1, 4, 4, 1)),
    ),
    "ResizeBilinear": (lambda x: tf.image.resize_bilinear(x * x, [5, 4]) ** 2, RNG.normal(size=(1, 3, 3, 1))),
    "ResizeBicubic": (lambda x: tf.image.resize_bicubic(x * x, [5, 4]) ** 2, RNG.normal(size=(1, 3, 3, 1))),
}


def _check(f, point, dtype, step, rtol, atol):
    with tf.Graph().as_default():
        x = tf.placeholder(dtype, point.shape)
        y = f(x)
        outer = tf.constant(RNG.uniform(0.5, 1.5, y.shape.as_list()), y.dtype)
        first = tf.gradients(tf.reduce_sum(y * outer), x)[0]
        inner = RNG.uniform(0.5, 1.5, point.shape)
        second = tf.gradients(tf.reduce_sum(first * tf.constant(inner, dtype)), x)[0]
        point = point.astype(dtype.as_numpy_dtype)
        slopes = np.empty(point.shape)
        for k in range(point.size):
            sides = []
            for sign in (1, -1):
                moved = point.copy()
                moved.flat[k] += sign * step
                sides.append((evaluate(first, {x: moved}).astype(np.float64) * inner).sum())
            slopes.flat[k] = (sides[0] - sides[1]) / (2 * step)
        found = evaluate(second, {x: point})
    assert np.abs(slopes).max() > 10 * atol  # curved, so that the check says something
    np.testing.assert_allclose(found, slopes, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", SMOOTH)
def test_float64(name):
    _check(*SMOOTH[name], tf.float64, 1e-5, 1e-4, 1e-5)


@pytest.mark.parametrize("name", SINGLE)
def test_float32(name):
    _check(*SINGLE[name], tf.float32, 1e-2, 2e-2, 2e-2)

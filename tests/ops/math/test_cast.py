"""Casts that cut off bits: the bits that TensorFlow 2.21 gave, on the host and on the device."""

from __future__ import annotations

import numpy as np
import pytest
from evaluate import evaluate

import tfnb as tf
from tfnb.ops.math.cast import CAST

FLOAT32 = [1 / 3, -1 / 3, 65520.0, 3.4028235e38, 1e-5, 1e-40, np.inf, -np.inf, -0.0]
CASES = [
    (tf.float32, tf.bfloat16, FLOAT32, [0x3EAA, 0xBEAA, 0x477F, 0x7F7F, 0x3727, 1, 0x7F80, 0xFF80, 0x8000]),
    (tf.float32, tf.float16, [65520, 2051, 255.999, 7e4, 5.97e-8, -0.1], [0x7BFF, 0x6801, 0x5BFF, 0x7C00, 1, 0xAE66]),
    (tf.float64, tf.float16, [65520, 2051, 255.999, 7e4, 5.97e-8, -0.1], [0x7BFF, 0x6801, 0x5BFF, 0x7C00, 1, 0xAE66]),
    (
        tf.float64,
        tf.float32,
        [1 / 3, -1 / 3, 0.1, 1e300, -np.inf],
        [0x3EAAAAAA, 0xBEAAAAAA, 0x3DCCCCCC, 0x7F800000, 0xFF800000],
    ),
    (tf.float64, tf.bfloat16, [1 / 3, 0.1, 255.999], [0x3EAB, 0x3DCD, 0x4380]),  # rounded, as TensorFlow does
    (tf.float16, tf.bfloat16, [1 / 3, 255.999], [0x3EAB, 0x4380]),
]


@pytest.mark.opencl
@pytest.mark.parametrize(("have", "wanted", "values", "bits"), CASES, ids=lambda v: getattr(v, "name", ""))
def test_truncate_cuts_bits_off(have, wanted, values, bits):
    x = np.array(values, have.as_numpy_dtype)
    with tf.Graph().as_default():
        given = tf.placeholder(have, [None])
        y = CAST(given, DstT=wanted, Truncate=True)
        for found in (evaluate(y, {given: x}), tf.Session().run(y, {given: x})):
            assert found.view(f"u{found.itemsize}").tolist() == bits
        word = np.dtype(f"u{x.itemsize}")
        nan = (np.array([np.inf, -np.inf], x.dtype).view(word) + word.type(1)).view(x.dtype)  # the lowest bit tells
        for found in (evaluate(y, {given: nan}), tf.Session().run(y, {given: nan})):
            assert np.isnan(found.astype(np.float32)).all()


def test_truncate_of_complex_numbers():
    with tf.Graph().as_default():
        x = np.array([complex(1 / 3, -0.1)])
        y = evaluate(CAST(tf.constant(x), DstT=tf.complex64, Truncate=True))
        assert y.view(np.uint32).tolist() == [0x3EAAAAAA, 0xBDCCCCCC]
        real = evaluate(CAST(tf.constant(x), DstT=tf.float32, Truncate=True))
        assert real.view(np.uint32).tolist() == [0x3EAAAAAA]
        assert evaluate(CAST(tf.constant(x[0]), DstT=tf.complex64, Truncate=True)).shape == ()


@pytest.mark.opencl
def test_cast_of_a_sparse_tensor_casts_its_values():
    with tf.Graph().as_default(), tf.Session() as sess:
        sparse = tf.SparseTensor([[0, 1]], [2], [1, 3])
        value = sess.run(tf.cast(sparse, tf.float32))
        assert value.values.dtype == np.float32 and value.indices.tolist() == [[0, 1]]
        assert tf.cast(sparse, tf.int32) is sparse

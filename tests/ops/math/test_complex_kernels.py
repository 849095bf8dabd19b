"""Complex numbers in powers, segments and scatters, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl

Z = np.array([1 + 1j, 2, -1j], np.complex64)


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def test_power_and_its_gradient(sess):
    x, y = tf.constant(Z), tf.constant(np.array([2, 0.5, 3], np.complex64))
    power = tf.pow(x, y)
    np.testing.assert_allclose(sess.run(power), Z ** np.array([2, 0.5, 3]), rtol=1e-5)
    dx = sess.run(tf.gradients(power, x, grad_ys=[tf.ones_like(power)])[0])
    np.testing.assert_allclose(dx, np.conj(np.array([2, 0.5, 3]) * Z ** np.array([1, -0.5, 2])), rtol=1e-5)


def test_the_gradient_of_an_absolute_value_is_zero_at_zero(sess):
    x = tf.constant(np.array([0, 3 + 4j, -2], np.complex64))
    np.testing.assert_allclose(sess.run(tf.gradients(tf.abs(x), x)[0]), [0, 0.6 + 0.8j, -1], rtol=1e-6)


def test_the_conjugate_of_real_numbers_is_the_same_tensor_and_texts_have_none(sess):
    x = tf.placeholder(tf.int32)
    assert tf.conj(x) is x
    with pytest.raises(TypeError, match=r"Expected numeric or variant tensor, got dtype tf\.string"):
        tf.conj(tf.placeholder(tf.string))


def test_segments(sess):
    for op, expected in ((tf.segment_sum, [3 + 1j, -1j]), (tf.segment_prod, [2 + 2j, -1j])):
        np.testing.assert_allclose(sess.run(op(tf.constant(Z), [0, 0, 1])), expected)


def test_scatter_nd_of_a_variable(sess):
    v = tf.Variable(Z)
    sess.run(tf.global_variables_initializer())
    np.testing.assert_allclose(sess.run(tf.scatter_nd_add(v, [[1]], tf.constant([1j], tf.complex64))), Z + [0, 1j, 0])
    np.testing.assert_allclose(sess.run(tf.scatter_nd_sub(v, [[0]], tf.constant([1j], tf.complex64))), [1, 2 + 1j, -1j])

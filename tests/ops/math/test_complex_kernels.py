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


@pytest.mark.parametrize("name", ["asinh", "acosh", "atanh"])
def test_inverse_hyperbolic_functions_and_their_gradients(sess, name):
    z = np.array([0.3 + 0.2j, 1.5 - 0.5j, -2 + 1j], np.complex128)
    slopes = {"asinh": 1 / np.sqrt(z * z + 1), "acosh": 1 / np.sqrt(z - 1) / np.sqrt(z + 1), "atanh": 1 / (1 - z * z)}
    x = tf.constant(z)
    y = getattr(tf, name)(x)
    np.testing.assert_allclose(sess.run(y), getattr(np, f"arc{name[1:]}")(z), rtol=1e-12)
    dx = sess.run(tf.gradients(y, x, grad_ys=tf.ones_like(y))[0])
    np.testing.assert_allclose(dx, np.conj(slopes[name]), rtol=1e-12)


def test_the_sign_of_a_complex_number_has_its_direction(sess):
    for dtype in (np.complex64, np.complex128):
        z = np.array([3 + 4j, 0, -2], dtype)
        np.testing.assert_allclose(sess.run(tf.sign(tf.constant(z))), [0.6 + 0.8j, 0, -1], rtol=1e-6)


@pytest.mark.parametrize(
    ("op", "expected"), [(tf.abs, 5), (tf.real, 3), (tf.imag, -4), (tf.angle, np.angle(3 - 4j)), (tf.conj, 3 + 4j)]
)
@pytest.mark.parametrize("shape", [None, []])
def test_a_part_of_one_number_is_one_number(sess, op, expected, shape):
    z = tf.placeholder(tf.complex64, shape)
    value, double = sess.run([op(z), op(z) * 2], {z: 3 - 4j})
    assert np.shape(value) == np.shape(double) == ()
    np.testing.assert_allclose([value, double], [expected, 2 * expected], rtol=1e-6)

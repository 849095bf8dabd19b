"""Initialisers: distributions, seeds, shapes; regularisers."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors


def value(initializer, shape, dtype=tf.float32):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(initializer(shape, dtype=dtype))


def test_constants():
    np.testing.assert_array_equal(value(tf.zeros_initializer(), [2, 3]), np.zeros((2, 3)))
    np.testing.assert_array_equal(value(tf.ones_initializer(), [2], tf.int32), [1, 1])
    np.testing.assert_array_equal(value(tf.constant_initializer([1, 2, 3, 4]), [2, 2]), [[1, 2], [3, 4]])
    with pytest.raises(errors.ShapeError):
        tf.constant_initializer([1, 2], verify_shape=True)([3])


@pytest.mark.parametrize(
    ("make", "mean", "deviation", "limit"),
    [
        (lambda: tf.random_uniform_initializer(-2.0, 4.0, seed=1), 1.0, 6 / 12**0.5, 4.0),
        (lambda: tf.random_normal_initializer(1.0, 2.0, seed=1), 1.0, 2.0, np.inf),
        (lambda: tf.truncated_normal_initializer(0.0, 2.0, seed=1), 0.0, 2 * 0.8796, 4.0),
        (
            lambda: tf.contrib.layers.xavier_initializer(seed=1),
            0.0,
            (2 / 300) ** 0.5,
            (6 / 300) ** 0.5,
        ),
        (lambda: tf.glorot_normal_initializer(seed=1), 0.0, (2 / 300) ** 0.5, 1.0),
        (lambda: tf.initializers.he_normal(seed=1), 0.0, (2 / 100) ** 0.5, 1.0),
        (
            lambda: tf.variance_scaling_initializer(2.0, "fan_out", "uniform", seed=1),
            0.0,
            0.1,
            0.3**0.5,
        ),
        (lambda: tf.uniform_unit_scaling_initializer(seed=1), 0.0, 0.1, 0.03**0.5),
    ],
)
def test_distributions(make, mean, deviation, limit):
    got = value(make(), [100, 200])
    assert got.dtype == np.float32
    np.testing.assert_allclose(got.mean(), mean, atol=4 * deviation / 100)
    np.testing.assert_allclose(got.std(), deviation, rtol=0.03)
    assert np.abs(got).max() <= limit * 1.0001
    np.testing.assert_array_equal(got, value(make(), [100, 200]))


def test_orthogonal_and_identity():
    q = value(tf.orthogonal_initializer(gain=2.0, seed=5), [3, 3, 20])
    flat = q.reshape(9, 20)
    np.testing.assert_allclose(flat @ flat.T, 4 * np.eye(9), atol=1e-5)
    np.testing.assert_array_equal(value(tf.initializers.identity(3.0), [2, 3]), 3 * np.eye(2, 3))
    with pytest.raises(errors.ShapeError):
        tf.orthogonal_initializer()([3])


def test_bad_arguments():
    for bad in ({"scale": -1.0}, {"mode": "fan"}, {"distribution": "cauchy"}):
        with pytest.raises(errors.InvalidArgumentError):
            tf.variance_scaling_initializer(**bad)


def test_regularizers():
    w = tf.constant([[1.0, -2.0], [3.0, 0.0]])
    l1, l2 = tf.contrib.layers.l1_regularizer(0.5), tf.contrib.layers.l2_regularizer(0.5)
    both = tf.contrib.layers.l1_l2_regularizer(0.5, 0.5)
    total = tf.contrib.layers.apply_regularization(both, [w, w])
    with tf.Session() as session:
        assert session.run([l1(w), l2(w), both(w), total]) == [3.0, 3.5, 6.5, 13.0]
    assert tf.contrib.layers.l1_regularizer(0.0)(w) is None
    for bad in (-1.0, "x", True):
        with pytest.raises(errors.InvalidArgumentError):
            tf.contrib.layers.l2_regularizer(bad)


def test_the_dtype_before_the_seed_as_up_to_0_12():
    early, later = tf.orthogonal_initializer(2.0, tf.float64, 5), tf.orthogonal_initializer(2.0, 5, tf.float64)
    assert (early.seed, early.dtype) == (later.seed, later.dtype) == (5, tf.float64)
    assert np.array_equal(value(early, [3, 4]), value(later, [3, 4]))
    assert tf.orthogonal_initializer(1.0, tf.float64).seed is None


def test_each_orthogonal_matrix_is_drawn_anew():
    with tf.Graph().as_default(), tf.Session() as s:
        tf.set_random_seed(1)
        make = tf.orthogonal_initializer()
        a, b = s.run([make([4, 3]), make([4, 3])])
        seeded = [s.run(tf.orthogonal_initializer(2.0, seed=5)([2, 6])) for _ in range(2)]
    np.testing.assert_allclose(a.T @ a, np.eye(3), atol=1e-5)
    assert not np.allclose(a, b)
    np.testing.assert_array_equal(*seeded)
    np.testing.assert_allclose(seeded[0] @ seeded[0].T, 4 * np.eye(2), atol=1e-4)

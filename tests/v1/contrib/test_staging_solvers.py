"""StagingArea, iterative solvers, and the sampling of images between pixels."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

solvers = tf.contrib.solvers


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def value(*fetches):
    with tf.Session() as session:
        return session.run(list(fetches))


def test_a_staging_area_gives_values_in_their_order():
    area = tf.contrib.staging.StagingArea([tf.float32, tf.int32], shapes=[[2], []], names=["a", "b"])
    x = tf.placeholder(tf.float32, [2])
    put, got, size, clear = area.put({"a": x, "b": 7}), area.get(), area.size(), area.clear()
    with tf.Session() as session:
        for i in range(3):
            session.run(put, {x: [i, i]})
        assert session.run(size) == 3
        found = session.run(got)
        np.testing.assert_array_equal(found["a"], [0, 0])
        assert found["b"] == 7
        session.run(clear)
        assert session.run(size) == 0
    assert (area.names, area.shapes, area.capacity) == (["a", "b"], [[2], []], 0)
    with pytest.raises(errors.InvalidArgumentError, match="memory_limit"):
        tf.contrib.staging.StagingArea([tf.float32], memory_limit=10)
    with pytest.raises(errors.InvalidArgumentError, match="dictionary"):
        area.put([x, 7])


def test_a_full_area_waits():
    area = tf.contrib.staging.StagingArea(tf.float32, capacity=1)
    put = area.put(1.0)
    with tf.Session() as session:
        session.run(put)
        with pytest.raises(errors.DeadlineExceededError):
            session.run(put, options=tf.RunOptions(timeout_in_ms=200))


def test_conjugate_gradients_solve_equations(rng):
    root = rng.random((6, 6))
    matrix, right = root @ root.T + np.eye(6), rng.random(6)
    operator = solvers.util.create_operator(matrix)
    found = solvers.linear_equations.conjugate_gradient(operator, right, tol=1e-8, max_iter=30)
    better = solvers.linear_equations.conjugate_gradient(
        operator, right, solvers.util.create_operator(np.linalg.inv(matrix)), x=np.ones(6), tol=1e-8
    )
    x, steps, z, few = value(found.x, found.i, better.x, better.i)
    np.testing.assert_allclose(x, np.linalg.solve(matrix, right), rtol=1e-5)
    np.testing.assert_allclose(z, x, rtol=1e-5)
    assert few < steps <= 30


def test_least_squares(rng):
    matrix, right = rng.random((8, 3)), rng.random(8)
    found = solvers.least_squares.cgls(solvers.util.create_operator(matrix), right, tol=1e-10)
    (x,) = value(found.x)
    np.testing.assert_allclose(x, np.linalg.lstsq(matrix, right, rcond=None)[0], rtol=1e-5)


def test_bidiagonalisation(rng):
    matrix = rng.random((7, 5))
    found = solvers.lanczos.lanczos_bidiag(solvers.util.create_operator(matrix), 4, starting_vector=rng.random(7))
    product = solvers.lanczos.bidiag_matmul(found.u, found.alpha, found.beta)
    back = solvers.lanczos.bidiag_matmul(found.v, found.alpha, found.beta, adjoint_b=True)
    u, v, left, right, alpha, beta = value(found.u, found.v, product, back, found.alpha, found.beta)
    np.testing.assert_allclose(u.T @ u, np.eye(5), atol=1e-9)
    np.testing.assert_allclose(matrix @ v, left, atol=1e-9)
    bidiagonal = np.zeros((5, 4))
    bidiagonal[range(4), range(4)], bidiagonal[range(1, 5), range(4)] = alpha, beta
    np.testing.assert_allclose(right, v @ bidiagonal.T, atol=1e-9)


def test_vectors_and_operators():
    with pytest.raises(errors.ShapeError, match="matrix"):
        solvers.util.create_operator([1.0])
    v = tf.constant([3.0, 4.0])
    unit, length = solvers.util.l2normalize(v)
    same = solvers.util.identity_operator(tf.eye(2)).apply(v)
    found = value(unit, length, solvers.util.dot(v, v), solvers.util.l2norm(v), same)
    np.testing.assert_allclose(np.hstack(found), [0.6, 0.8, 5, 25, 5, 3, 4], rtol=1e-6)


def test_images_between_pixels(rng):
    image = rng.random((2, 4, 5, 3)).astype("float32")
    points = np.array([[[1, 2], [0.5, 1.25], [-0.5, 0], [4, 3.5], [9, 9]]] * 2, "float32")
    data, warp = tf.constant(image), tf.constant(points)
    sampled = tf.contrib.resampler.resampler(data, warp)
    gradients = tf.gradients(tf.reduce_sum(sampled), [data, warp])
    found, of_data, of_warp = value(sampled, *gradients)
    np.testing.assert_allclose(found[:, 0], image[:, 2, 1], rtol=1e-6)
    between = 0.75 * image[:, 1, :2].mean(1) + 0.25 * image[:, 2, :2].mean(1)
    np.testing.assert_allclose(found[:, 1], between, rtol=1e-5)
    np.testing.assert_allclose(found[:, 2], image[:, 0, 0] / 2, rtol=1e-5)
    np.testing.assert_allclose(found[:, 3], image[:, 3, 4] / 2, rtol=1e-5)
    np.testing.assert_array_equal(found[:, 4], 0)
    np.testing.assert_allclose(of_data.sum(), 2 * 3 * (1 + 1 + 0.5 + 0.5), rtol=1e-5)
    slope = 0.75 * (image[0, 1, 1] - image[0, 1, 0]) + 0.25 * (image[0, 2, 1] - image[0, 2, 0])
    np.testing.assert_allclose(of_warp[0, 1, 0], slope.sum(), rtol=1e-4, atol=1e-5)
    with pytest.raises(errors.ShapeError, match="points"):
        tf.contrib.resampler.resampler(data, tf.zeros([2, 3]))

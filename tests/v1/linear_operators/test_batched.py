"""Linear algebra whose batches broadcast, and the sum of operators."""

from __future__ import annotations

import numpy as np
import pytest
from tfnb.python.ops.linalg import linear_operator_addition
from tfnb.python.ops.linalg import linear_operator_util as util

import tfnb as tf
from tfnb.errors import InvalidArgumentError


def run(fetch, feeds=None):
    with tf.Session() as session:
        return session.run(fetch, feeds)


@pytest.fixture
def pair(rng):
    triangle = np.tril(rng.normal(size=(2, 1, 3, 3))) + 3 * np.eye(3)
    return triangle, rng.normal(size=(4, 3, 2))


def test_products_and_solutions(pair):
    a, b = pair
    assert np.allclose(run(util.matmul_with_broadcast(a, b)), a @ b)
    assert np.allclose(run(util.matmul_with_broadcast(a, b, transpose_a=True)), np.swapaxes(a, -1, -2) @ b)
    wide = np.broadcast_to(a, (2, 4, 3, 3))
    assert np.allclose(run(util.matrix_solve_with_broadcast(a, b)), np.linalg.solve(wide, b))
    found = run(util.matrix_triangular_solve_with_broadcast(a, b, adjoint=True))
    assert np.allclose(found, np.linalg.solve(np.swapaxes(wide, -1, -2), b))
    found = run(util.cholesky_solve_with_broadcast(a, b))
    assert np.allclose(found, np.linalg.solve(wide @ np.swapaxes(wide, -1, -2), b))


def test_batches_that_are_known_in_a_step():
    x, y = tf.placeholder(tf.float32), tf.ones([3, 2, 2])
    first, second = util.broadcast_matrix_batch_dims([x, y])
    found = run([first, second], {x: np.ones([2, 1, 4, 5])})
    assert found[0].shape == (2, 3, 4, 5) and found[1].shape == (2, 3, 2, 2)
    (alone,) = util.broadcast_matrix_batch_dims([y])
    assert alone is y
    with pytest.raises(InvalidArgumentError, match="at least two dimensions"):
        util.broadcast_matrix_batch_dims([tf.zeros([3])])


def test_checks():
    operator = tf.linalg.LinearOperatorFullMatrix(tf.ones([2, 3]))
    run(util.assert_compatible_matrix_dimensions(operator, tf.zeros([3, 1])))
    run([util.assert_zero_imag_part([1.0]), util.assert_zero_imag_part([1 + 0j])])
    run(util.assert_no_entries_with_modulus_zero([1.0, -2.0]))
    x = tf.placeholder(tf.complex64, [1])
    with pytest.raises(InvalidArgumentError, match="not real"):
        run(util.assert_zero_imag_part(x, message="not real"), {x: [1j]})
    with pytest.raises(InvalidArgumentError, match="is zero"):
        run(util.assert_no_entries_with_modulus_zero(x, message="is zero"), {x: [0]})


def test_the_shape_of_a_scalar_is_int32():
    assert util.shape_tensor([]).dtype is tf.int32 and run(util.shape_tensor((2, 3))).tolist() == [2, 3]


def test_a_sum_has_the_narrowest_structure():
    eye, scaled = tf.linalg.LinearOperatorIdentity(2), tf.linalg.LinearOperatorScaledIdentity(2, 3.0)
    triangle = tf.linalg.LinearOperatorLowerTriangular([[1.0, 0.0], [2.0, 1.0]])
    full = tf.linalg.LinearOperatorFullMatrix([[0.0, 1.0], [1.0, 0.0]])
    (diagonal,) = linear_operator_addition.add_operators([eye, scaled])
    (lower,) = linear_operator_addition.add_operators([triangle, eye], operator_name="sum")
    (whole,) = linear_operator_addition.add_operators([triangle, full])
    assert linear_operator_addition.add_operators([eye]) == [eye]
    assert type(diagonal) is tf.linalg.LinearOperatorDiag and diagonal.name == "Add"
    assert type(lower) is tf.linalg.LinearOperatorLowerTriangular and lower.name == "sum"
    assert type(whole) is tf.linalg.LinearOperatorFullMatrix
    found = run([o.to_dense() for o in (diagonal, lower, whole)])
    assert [f.tolist() for f in found] == [[[4, 0], [0, 4]], [[2, 0], [2, 2]], [[1, 1], [3, 1]]]

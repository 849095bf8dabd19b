"""Linear operators against the matrices that they stand for: products, solutions, determinants, checks."""

from __future__ import annotations

import numpy as np
import pytest
from evaluate import evaluate
from operator_programs import OPERATORS, floats

import tfnb as tf


def run(*fetches):
    """The values by host kernels alone, since the kernels of devices have tests of their own."""
    return evaluate(list(fetches))


@pytest.mark.parametrize("name", OPERATORS)
def test_every_method_is_that_of_the_matrix(name):
    operator = OPERATORS[name](tf)
    x = floats(2, 3, 4).astype(operator.dtype.as_numpy_dtype)
    fetches = (
        operator.to_dense(),
        operator.matmul(x),
        operator.matmul(x, adjoint=True),
        operator.matmul(np.swapaxes(x, -1, -2), adjoint_arg=True),
        operator.matvec(x[..., 0]),
        operator.solve(x),
        operator.solve(x, adjoint=True),
        operator.solvevec(x[..., 0]),
        operator.determinant(),
        operator.log_abs_determinant(),
        operator.trace(),
        operator.diag_part(),
        operator.add_to_tensor(np.ones([3, 3], x.dtype)),
        operator.adjoint().to_dense(),
        operator.inverse().to_dense(),
        operator.shape_tensor(),
    )
    dense, *found, sizes = run(*fetches)
    adjoint = np.conj(np.swapaxes(dense, -1, -2))
    diagonal = np.diagonal(dense, axis1=-2, axis2=-1)
    expected = (
        dense @ x,
        adjoint @ x,
        dense @ np.conj(x),
        (dense @ x[..., :1])[..., 0],
        np.linalg.solve(np.broadcast_to(dense, (2, 3, 3)), x),
        np.linalg.solve(np.broadcast_to(adjoint, (2, 3, 3)), x),
        np.linalg.solve(np.broadcast_to(dense, (2, 3, 3)), x[..., :1])[..., 0],
        np.linalg.det(dense),
        np.log(np.abs(np.linalg.det(dense))),
        diagonal.sum(-1),
        diagonal,
        dense + 1,
        adjoint,
        np.linalg.inv(dense),
    )
    for k, (mine, wanted) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(mine, wanted, rtol=1e-9, atol=1e-9, err_msg=f"number {k}")
    assert tuple(sizes) == dense.shape and operator.shape.is_compatible_with(dense.shape)


def test_products_of_operators_are_operators():
    left, right = OPERATORS["full"](tf), OPERATORS["diagonal"](tf)
    a, b, product, solution = run(
        left.to_dense(), right.to_dense(), left.matmul(right).to_dense(), right.solve(left).to_dense()
    )
    np.testing.assert_allclose(product, a @ b, rtol=1e-12)
    np.testing.assert_allclose(solution, np.linalg.solve(b, a), rtol=1e-12)


@pytest.mark.parametrize("name", ["full definite", "diagonal", "scaled", "identity"])
def test_cholesky(name):
    operator = OPERATORS[name](tf)
    dense, lower = run(operator.to_dense(), operator.cholesky().to_dense())
    np.testing.assert_allclose(lower @ np.swapaxes(lower, -1, -2), dense, rtol=1e-12, atol=1e-12)


def test_zeros_of_any_sides():
    operator = tf.linalg.LinearOperatorZeros(2, 3, batch_shape=[4], is_square=False, is_self_adjoint=False)
    x = np.ones([4, 3, 5], np.float32)
    product, dense = run(operator.matmul(x), operator.adjoint().to_dense())
    assert product.shape == (4, 2, 5) and not product.any() and dense.shape == (4, 3, 2) and not dense.any()


@pytest.mark.parametrize(
    ("make", "check"),
    [
        (lambda x: tf.linalg.LinearOperatorDiag(x), "assert_non_singular"),
        (lambda x: tf.linalg.LinearOperatorDiag(x), "assert_positive_definite"),
        (lambda x: tf.linalg.LinearOperatorFullMatrix(tf.linalg.diag(x)), "assert_non_singular"),
        (lambda x: tf.linalg.LinearOperatorLowerTriangular(tf.linalg.diag(x)), "assert_non_singular"),
        (lambda x: tf.linalg.LinearOperatorCirculant(x), "assert_non_singular"),
    ],
)
def test_checks(make, check):
    values = tf.placeholder(tf.float32, [2])
    operation = getattr(make(values), check)()
    with tf.Session() as session:
        session.run(operation, {values: [1.0, 2.0]})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(operation, {values: [1.0, 0.0]})


def test_a_matrix_that_is_not_self_adjoint_is_found():
    matrix = tf.placeholder(tf.float32, [2, 2])
    operation = tf.linalg.LinearOperatorFullMatrix(matrix).assert_self_adjoint()
    with tf.Session() as session:
        session.run(operation, {matrix: [[1.0, 2.0], [2.0, 3.0]]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="not equal to its adjoint"):
            session.run(operation, {matrix: [[1.0, 2.0], [4.0, 3.0]]})


def test_properties_follow_from_each_other_and_contradictions_are_refused():
    definite = tf.linalg.LinearOperatorFullMatrix([[1.0]], is_positive_definite=True)
    assert (definite.is_non_singular, definite.is_square) == (True, True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="always non-singular"):
        tf.linalg.LinearOperatorFullMatrix([[1.0]], is_positive_definite=True, is_non_singular=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="always self adjoint"):
        tf.linalg.LinearOperatorDiag([1.0], is_self_adjoint=False)


def test_sizes_that_do_not_fit_are_refused():
    operator = OPERATORS["full"](tf)
    with pytest.raises(tf.errors.InvalidArgumentError, match="needs 3, got 4"):
        operator.matmul(floats(4, 2))
    with pytest.raises(tf.errors.UnimplementedError, match="square"):
        tf.linalg.LinearOperatorFullMatrix(floats(2, 3)).determinant()


@pytest.mark.parametrize("name", ["full", "blocks", "kronecker", "composition", "update"])
def test_sizes_may_be_known_in_a_step_alone(name):
    operator = OPERATORS[name](tf)
    matrix = tf.placeholder(tf.float64, [None, None, None])
    unknown = tf.linalg.LinearOperatorFullMatrix(matrix)
    both = unknown.matmul(operator)
    (dense,) = run(operator.to_dense())
    x = floats(2, 3, 1)
    dense = np.broadcast_to(dense, (2, 3, 3))
    with tf.Session() as session:
        found, sizes = session.run([both.matmul(x), both.shape_tensor()], {matrix: dense})
    np.testing.assert_allclose(found, dense @ (dense @ x), rtol=1e-12)
    assert tuple(sizes) == dense.shape


def test_gradients_flow_to_the_parts():
    diagonal = tf.constant(floats(3))
    operator = tf.linalg.LinearOperatorDiag(diagonal)
    value = operator.log_abs_determinant() + tf.reduce_sum(operator.solvevec(floats(3, seed=4)))
    (slope,) = run(*tf.gradients(value, diagonal))
    np.testing.assert_allclose(slope, 1 / floats(3) - floats(3, seed=4) / floats(3) ** 2, rtol=1e-9)

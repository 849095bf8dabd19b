"""`tf.linalg.LinearOperator` and its kinds, against NumPy with the dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

rng = np.random.RandomState(3)
FULL = rng.randn(2, 3, 3) + 4 * np.eye(3)
LOWER = np.tril(FULL)
DIAG = rng.rand(2, 3) + 0.5
X, V = rng.randn(2, 3, 4), rng.randn(2, 3)


def _dense(diag):
    return diag[..., None] * np.eye(diag.shape[-1], dtype=diag.dtype)


KINDS = {
    "full": (lambda: tf.linalg.LinearOperatorFullMatrix(FULL), FULL),
    "fed": (lambda: tf.linalg.LinearOperatorFullMatrix(tf.placeholder_with_default(FULL, None)), FULL),
    "lower": (lambda: tf.linalg.LinearOperatorLowerTriangular(FULL), LOWER),
    "diag": (lambda: tf.linalg.LinearOperatorDiag(DIAG), _dense(DIAG)),
    "complex": (lambda: tf.linalg.LinearOperatorDiag(DIAG * (1 + 2j)), _dense(DIAG * (1 + 2j))),
    "scaled": (
        lambda: tf.linalg.LinearOperatorScaledIdentity(3, [2.0, -1.5]),
        _dense(np.float32([[2] * 3, [-1.5] * 3])),
    ),
    "identity": (lambda: tf.linalg.LinearOperatorIdentity(3, [2], tf.float64), np.stack([np.eye(3)] * 2)),
    "product": (
        lambda: tf.linalg.LinearOperatorComposition(
            [tf.linalg.LinearOperatorFullMatrix(FULL), tf.linalg.LinearOperatorDiag(DIAG)]
        ),
        FULL @ _dense(DIAG),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_those_of_the_matrix(kind):
    make, dense = KINDS[kind]
    with tf.Graph().as_default(), tf.Session() as sess:
        o = make()
        x, v, adjoint = X.astype(dense.dtype), V.astype(dense.dtype), np.conj(np.swapaxes(dense, -1, -2))
        wanted = {
            "to_dense": (o.to_dense(), dense),
            "matmul": (o.matmul(x), dense @ x),
            "adjoint": (o.matmul(x, adjoint=True), adjoint @ x),
            "of adjoint": (o.matmul(np.conj(np.swapaxes(x, -1, -2)), adjoint_arg=True), dense @ x),
            "matvec": (o.matvec(v), (dense @ v[..., None])[..., 0]),
            "solve": (o.solve(x), np.linalg.solve(dense, x)),
            "solve adjoint": (o.solve(x, adjoint=True), np.linalg.solve(adjoint, x)),
            "solvevec": (o.solvevec(v), np.linalg.solve(dense, v[..., None])[..., 0]),
            "determinant": (o.determinant(), np.linalg.det(dense)),
            "log_abs_determinant": (o.log_abs_determinant(), np.log(np.abs(np.linalg.det(dense)))),
            "diag_part": (o.diag_part(), np.diagonal(dense, axis1=-2, axis2=-1)),
            "trace": (o.trace(), np.trace(dense, axis1=-2, axis2=-1)),
            "add_to_tensor": (o.add_to_tensor(np.ones((3, 3), dense.dtype)), dense + 1),
            "shape": (o.shape_tensor(), [2, 3, 3]),
            "rank": (o.tensor_rank_tensor(), 3),
            "batch": (o.batch_shape_tensor(), [2]),
            "domain": (o.domain_dimension_tensor(), 3),
            "range": (o.range_dimension_tensor(), 3),
        }
        got = sess.run({name: tensor for name, (tensor, _) in wanted.items()})
        sess.run(o.assert_non_singular())
    for name, (_, value) in wanted.items():
        np.testing.assert_allclose(got[name], value, rtol=2e-5, atol=1e-6, err_msg=name)
    if kind != "fed":
        assert o.shape == [2, 3, 3] and o.batch_shape == [2] and o.tensor_rank == 3 and o.is_square
    side = None if kind == "fed" else 3
    assert o.domain_dimension.value == o.range_dimension.value == side


def test_by_cholesky():
    matrix = FULL @ np.swapaxes(FULL, -1, -2)
    o = tf.linalg.LinearOperatorFullMatrix(matrix, is_self_adjoint=True, is_positive_definite=True)
    assert o.is_non_singular and o.is_square
    with tf.Session() as sess:
        solved, determinant, _, _ = sess.run(
            [o.solve(X), o.determinant(), o.assert_positive_definite(), o.assert_self_adjoint()]
        )
    np.testing.assert_allclose(solved, np.linalg.solve(matrix, X), rtol=1e-6)
    np.testing.assert_allclose(determinant, np.linalg.det(matrix), rtol=1e-6)


def test_what_a_step_checks():
    singular = tf.linalg.LinearOperatorFullMatrix([[1.0, 1.0], [1.0, 1.0]])
    zero, minus = tf.linalg.LinearOperatorDiag([1.0, 0.0]), tf.linalg.LinearOperatorDiag([1.0, -1.0])
    other = tf.linalg.LinearOperatorFullMatrix([[1.0, 1.0], [0.0, 1.0]])
    rows = tf.placeholder(tf.int32, [])
    identity = tf.linalg.LinearOperatorIdentity(rows, assert_proper_shapes=True)
    with tf.Session() as sess:
        for check, match in (
            (singular.assert_non_singular, "Singular matrix"),
            (zero.assert_non_singular, "zero values"),
            (minus.assert_positive_definite, "not positive definite"),
            (other.assert_self_adjoint, "not equal to its adjoint"),
            (identity.to_dense, "must be non-negative"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=match):
                sess.run(check(), {rows: -1})  # what constants show is raised at once


def test_what_is_refused():
    full = tf.linalg.LinearOperatorFullMatrix(np.ones((2, 3), np.float32))
    assert full.is_square is False
    for call in (full.determinant, full.log_abs_determinant, lambda: full.solve(np.ones((2, 2), np.float32))):
        with pytest.raises(NotImplementedError, match="expected to not be square"):
            call()
    with pytest.raises(NotImplementedError, match="expected to be singular"):
        tf.linalg.LinearOperatorDiag([1.0], is_non_singular=False).solve([[1.0]])
    with pytest.raises(ValueError, match="not compatible"):
        full.matmul(np.ones((2, 3), np.float32))
    with pytest.raises(ValueError, match="is always square"):
        tf.linalg.LinearOperatorFullMatrix([[1.0]], is_non_singular=True, is_square=False)
    with pytest.raises(ValueError, match="but the operator was square"):
        _ = tf.linalg.LinearOperatorFullMatrix([[1.0]], is_square=False).is_square
    with pytest.raises(ValueError, match="always non-singular"):
        tf.linalg.LinearOperatorDiag([1.0], is_positive_definite=True, is_non_singular=False)
    with pytest.raises(ValueError, match="always self adjoint"):
        tf.linalg.LinearOperatorDiag([1.0], is_self_adjoint=False)
    with pytest.raises(ValueError, match="at least 2 dimensions"):
        tf.linalg.LinearOperatorFullMatrix([1.0])
    with pytest.raises(ValueError, match="non-empty"):
        tf.linalg.LinearOperatorComposition([])
    with pytest.raises(ValueError, match="num_rows"):
        tf.linalg.LinearOperatorIdentity(-1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="float64"):
        full.matmul(tf.ones((3, 1), tf.float64))


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ({"u": (5, 3, 2)}, "Incompatible shapes for broadcasting"),
        ({"u": (3, 2), "v": (5, 3, 2)}, "Incompatible shapes for broadcasting"),
        ({"u": (3, 2), "diag_update": (5, 2)}, "Incompatible shapes for broadcasting"),
        ({"u": (4, 3, 2), "diag_update": (4, 5)}, "2 and 5 are not compatible"),
        ({"u": (4, 7, 2)}, "3 and 7 are not compatible"),
        ({"u": (3, 2), "v": (7, 2)}, "3 and 7 are not compatible"),
        ({"u": (3, 2), "v": (3, 4)}, "2 and 4 are not compatible"),
    ],
)
def test_an_update_of_shapes_that_do_not_fit_is_refused(parts, what):
    base = tf.linalg.LinearOperatorIdentity(3, batch_shape=[4], dtype=tf.float64)
    with pytest.raises(ValueError, match=what):
        tf.linalg.LinearOperatorLowRankUpdate(base, **{name: np.ones(shape) for name, shape in parts.items()})


def test_an_update_of_unknown_shapes():
    base = tf.linalg.LinearOperatorIdentity(3, dtype=tf.float32)
    u, diag = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [None])
    assert tf.linalg.LinearOperatorLowRankUpdate(base, u, diag).shape.ndims is None


def test_an_operator_of_a_program():
    class Twice(tf.linalg.LinearOperator):
        def _shape(self):
            return tf.TensorShape([2, 2])

        def _matmul(self, x, adjoint=False, adjoint_arg=False):
            return 2.0 * (tf.matrix_transpose(x) if adjoint_arg else x)

    o = Twice(tf.float32)
    with tf.Session() as sess:
        assert sess.run(o.to_dense()).tolist() == [[2.0, 0.0], [0.0, 2.0]]
        assert sess.run(o.determinant()) == pytest.approx(4.0)
        y = sess.run(tf.contrib.distributions.bijectors.AffineLinearOperator([1.0, 1.0], o).forward([1.0, 2.0]))
    assert y.tolist() == [3.0, 5.0]


@pytest.mark.parametrize(
    ("rows", "batch", "message"),
    [
        (-2, None, "num_rows must be non-negative"),
        ([2], None, "num_rows must be a 0-D Tensor"),
        (2, [-2], "batch_shape must be non-negative"),
        (2, 2, "batch_shape must be a 1-D Tensor"),
    ],
)
def test_sizes_of_an_identity_are_checked(rows, batch, message):
    identity = tf.linalg.LinearOperatorIdentity
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(ValueError, match=message):
            identity(rows, batch)
        fed = [tf.placeholder(tf.int32), None if batch is None else tf.placeholder(tf.int32)]
        dense = identity(*fed, assert_proper_shapes=True).to_dense()
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            sess.run(dense, {t: value for t, value in zip(fed, (rows, batch), strict=True) if t is not None})
        with pytest.raises(TypeError, match="batch_shape must be integer"):
            identity(2, [2.0])


def test_an_update_is_solved_whatever_properties_it_is_given():
    dense = np.array([[-2.0, 1.0], [0.5, 1.0]])
    operator = tf.linalg.LinearOperatorLowRankUpdate(
        tf.linalg.LinearOperatorFullMatrix(dense),
        u=np.array([[1.0], [2.0]]),
        is_non_singular=True,
        is_self_adjoint=True,
        is_positive_definite=True,
    )
    whole = dense + np.array([[1.0, 2.0], [2.0, 4.0]])
    with tf.Session() as session:
        found, size = session.run([operator.solvevec([1.0, 2.0]), operator.log_abs_determinant()])
    np.testing.assert_allclose(found, np.linalg.solve(whole, [1.0, 2.0]))
    np.testing.assert_allclose(size, np.log(abs(np.linalg.det(whole))))


def test_an_operator_of_a_program_uses_the_scope_and_the_check():
    class Doubled(tf.linalg.LinearOperatorDiag):
        def matmul(self, x, adjoint=False, adjoint_arg=False, name="matmul"):
            with self._name_scope(name):
                x = tf.identity(x, name="x")
                self._check_input_dtype(x)
                return 2.0 * self._matmul(x, adjoint, adjoint_arg)

    operator = Doubled([1.0, 2.0], name="doubled")
    product = operator.matmul([[1.0], [1.0]])
    assert product.op.name.startswith("doubled/matmul/")
    with operator._name_scope() as scope:
        assert scope.startswith("doubled")
    with tf.Session() as session:
        assert session.run(product).tolist() == [[2.0], [4.0]]
    with pytest.raises(TypeError, match="Expected argument to have dtype"):
        operator.matmul(np.ones([2, 1], np.float64))

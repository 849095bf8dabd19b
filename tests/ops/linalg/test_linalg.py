"""Public functions of linear algebra, Fourier transforms and einsum, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError, ShapeError

RNG = np.random.default_rng(3)
EQUATIONS = {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)],
    "ij,ij->": [(3, 4), (3, 4)],
    "ij->ji": [(2, 3)],
    "abc,cd,de->abe": [(2, 3, 4), (4, 5), (5, 6)],
    "i,j": [(2,), (3,)],
    "ab,ab->a": [(2, 3), (2, 3)],
    "ijk->j": [(2, 3, 4)],
    "bhqd,bhkd->bhqk": [(2, 3, 4, 5), (2, 3, 6, 5)],
    "ij,jk->ki": [(0, 3), (3, 2)],
}


def evaluate(build, *arrays, known=True):
    with tf.Graph().as_default(), tf.Session() as session:
        feeds = [tf.placeholder(a.dtype, a.shape if known else [None] * a.ndim) for a in arrays]
        return session.run(build(*feeds), dict(zip(feeds, arrays, strict=True)))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation, known):
    arrays = [RNG.normal(size=s) for s in EQUATIONS[equation]]
    got = evaluate(lambda *x: tf.einsum(equation, *x), *arrays, known=known)
    np.testing.assert_allclose(got, np.einsum(equation, *arrays), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("equation", ["ij,jk", "ii->i", "ij->k", "i.j->i", "ij,jk->ik,l"])
def test_equations_that_do_not_fit(equation):
    with pytest.raises((InvalidArgumentError, ShapeError), match="einsum"), tf.Graph().as_default():
        tf.einsum(equation, tf.ones([2, 3]))


def test_sizes_of_a_shared_letter_must_agree():
    with pytest.raises(ShapeError, match=r"axis 'j' .* 3 and 4"), tf.Graph().as_default():
        tf.einsum("ij,jk->ik", tf.ones([2, 3]), tf.ones([4, 2]))


def test_decompositions_multiply_to_the_matrix():
    a = RNG.normal(size=(2, 4, 3))
    s, u, v = evaluate(tf.svd, a)
    np.testing.assert_allclose(u * s[:, None, :] @ v.swapaxes(-1, -2), a, atol=1e-12)
    q, r = evaluate(tf.qr, a)
    np.testing.assert_allclose(q @ r, a, atol=1e-12)
    b = a.swapaxes(-1, -2) @ a
    e, w = evaluate(tf.self_adjoint_eig, b)
    np.testing.assert_allclose(w * e[:, None, :] @ w.swapaxes(-1, -2), b, atol=1e-12)
    np.testing.assert_allclose(evaluate(tf.self_adjoint_eigvals, b), e, atol=1e-12)
    np.testing.assert_allclose(evaluate(lambda x: tf.svd(x, compute_uv=False), a), s, atol=1e-12)


def test_equations_are_solved():
    a = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
    b = RNG.normal(size=(3, 2))
    positive = a @ a.T
    np.testing.assert_allclose(a @ evaluate(tf.matrix_solve, a, b), b, atol=1e-12)
    solved = evaluate(lambda x, y: tf.cholesky_solve(tf.cholesky(x), y), positive, b)
    np.testing.assert_allclose(positive @ solved, b, atol=1e-12)
    log = evaluate(tf.linalg.logdet, positive)
    np.testing.assert_allclose(log, np.linalg.slogdet(positive)[1])
    sign, size = evaluate(tf.linalg.slogdet, -a)
    np.testing.assert_allclose(sign * np.exp(size), evaluate(tf.matrix_determinant, -a))
    tall, right = RNG.normal(size=(5, 2)), RNG.normal(size=(5, 1))
    expected = np.linalg.lstsq(tall, right, rcond=None)[0]
    np.testing.assert_allclose(evaluate(tf.matrix_solve_ls, tall, right), expected)


@pytest.mark.parametrize(
    "build, matrix, message",
    [
        (tf.matrix_inverse, [[1.0, 1.0], [1.0, 1.0]], "not invertible"),
        (tf.cholesky, [[-1.0, 0.0], [0.0, 1.0]], "positive definite"),
        (lambda x: tf.matrix_solve(x, tf.ones([2, 1])), [[0.0, 0.0], [0.0, 0.0]], "not invertible"),
        (lambda x: tf.matrix_triangular_solve(x, tf.ones([2, 1])), [[0.0, 0.0], [1.0, 1.0]], "not invertible"),
    ],
)
def test_matrices_without_a_solution(build, matrix, message):
    with pytest.raises(InvalidArgumentError, match=message):
        evaluate(build, np.array(matrix))


def test_matrices_must_be_square_at_construction_and_at_run():
    with pytest.raises(ShapeError, match="square"), tf.Graph().as_default():
        tf.matrix_inverse(tf.ones([2, 3]))
    with pytest.raises(InvalidArgumentError, match="square"):
        evaluate(tf.matrix_inverse, np.ones((2, 3)), known=False)


def test_fourier_transforms_undo_each_other():
    x = RNG.normal(size=(2, 4, 6)).astype(np.float32)
    for forward, back, rank in (
        (tf.spectral.rfft, tf.spectral.irfft, 1),
        (tf.spectral.rfft2d, tf.spectral.irfft2d, 2),
        (tf.spectral.rfft3d, tf.spectral.irfft3d, 3),
    ):
        found = evaluate(lambda t, f=forward: f(t), x)
        np.testing.assert_allclose(found, np.fft.rfftn(x, axes=range(-rank, 0)), rtol=1e-4, atol=1e-4)
        both = evaluate(lambda t, f=forward, b=back: b(f(t)), x)
        np.testing.assert_allclose(both, x, atol=1e-5)
    z = x.astype(np.complex64) * 1j
    np.testing.assert_allclose(evaluate(lambda t: tf.ifft2d(tf.fft2d(t)), z), z, atol=1e-5)


@pytest.mark.parametrize("n", [4, 6, 7, 9])
def test_gradients_of_real_transforms(n):
    x = RNG.normal(size=7)

    def loss(t):
        y = tf.spectral.rfft(t, [n])
        return tf.reduce_sum(tf.square(tf.abs(y) + 1.0)) + tf.reduce_sum(tf.spectral.irfft(y * y, [n]) ** 2)

    slope = evaluate(lambda t: tf.gradients(loss(t), t)[0], x)
    for i in range(7):
        h = 1e-6 * np.eye(7)[i]
        numeric = (evaluate(loss, x + h) - evaluate(loss, x - h)) / 2e-6
        np.testing.assert_allclose(slope[i], numeric, rtol=1e-4, atol=1e-5)


def test_complex_descent():
    """The gradient of a real loss is TensorFlow's: along it the loss falls."""
    z = np.array([1 + 2j, -0.5 + 0.3j], np.complex128)
    grad = evaluate(lambda t: tf.gradients(tf.reduce_sum(tf.square(tf.abs(t * t - 1.0))), t)[0], z)
    f = lambda w: float((np.abs(w * w - 1) ** 2).sum())  # noqa: E731
    assert f(z - 1e-3 * grad) < f(z)
    slopes = [(f(z + d) - f(z - d)) / 2e-6 for d in (1e-6 * np.array([1, 0]), 1e-6j * np.array([1, 0]))]
    np.testing.assert_allclose([grad[0].real, grad[0].imag], slopes, rtol=1e-5)


def test_parts_of_complex_numbers():
    z = np.array([3 - 4j, -1 + 0j], np.complex64)
    parts = evaluate(lambda t: [tf.real(t), tf.imag(t), tf.abs(t), tf.conj(t), tf.angle(t)], z)
    for got, want in zip(parts, [z.real, z.imag, abs(z), z.conj(), np.angle(z)], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    with pytest.raises(tf.errors.OpError, match="float32"), tf.Graph().as_default():
        tf.complex(tf.constant(1), 2)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axis", [(-2, -1), (0, 1), (2, 0)])
@pytest.mark.parametrize("order", ["fro", 1, 2, np.inf])
def test_norms_of_matrices(order, axis, keep):
    x = np.random.default_rng(1).standard_normal((3, 4, 5)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as s:
        found = s.run(tf.norm(x, ord=order, axis=axis, keepdims=keep))
    np.testing.assert_allclose(found, np.linalg.norm(x, order, axis, keep), rtol=1e-5)


def test_norms_that_there_are_not():
    for order, axis in (("foo", -1), (-7, -1), (1.1, [-2, -1]), ("fro", 0), (0, None)):
        with pytest.raises(ValueError, match="ord"):
            tf.norm([[0.0, 1.0], [2.0, 3.0]], ord=order, axis=axis)


def test_a_transpose_of_conjugates():
    with tf.Graph().as_default(), tf.Session() as s:
        found = s.run(tf.matrix_transpose(tf.constant([[1 + 1j, 2]]), conjugate=True))
    assert found.tolist() == [[1 - 1j], [2]]


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("...kd,...qd->...qk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("...a,...b", [(2, 3), (2, 4)]),
        ("...a,ab->...b", [(2, 6, 3), (3, 4)]),
        ("...a,...b->...ab", [(4, 3), (2, 4, 5)]),
        ("b...,a->...ba", [(2, 3), (4,)]),
        ("...,...", [(2,), (2,)]),
    ],
)
def test_einsum_with_axes_that_have_no_letters(equation, shapes, rng):
    inputs = [rng.random(s) for s in shapes]
    expected = np.einsum(equation, *inputs)
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.einsum(equation, *inputs)
        assert y.shape.as_list() == list(expected.shape)
        np.testing.assert_allclose(session.run(y), expected)


def test_einsum_with_too_few_axes():
    with tf.Graph().as_default():
        for equation in ("...abc,a->a", "...a...,a->a"):
            with pytest.raises(ValueError, match="more letters than its input has axes"):
                tf.einsum(equation, np.ones((2, 3)), np.ones(3))
        with pytest.raises(ValueError, match="has sizes 2 and 1"):
            tf.einsum("...a,...b->...ab", np.ones((2, 3)), np.ones((1, 5)))


@pytest.mark.parametrize("shapes", [((3, 3), (2, 4, 3, 2)), ((1, 4, 3, 5), (2, 1, 5, 3)), ((2, 4, 3, 5), (5, 2))])
def test_products_of_stacks_broadcast(shapes):
    a, b = (RNG.random(s) for s in shapes)
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.constant(a), tf.constant(b)
        product = tf.matmul(x, y)
        gradients = tf.gradients(product, [x, y])
        swapped = tf.matmul(np.swapaxes(b, -1, -2), x, transpose_b=True)
        found, dx, dy, back = session.run([product, *gradients, swapped])
    np.testing.assert_allclose(found, a @ b)
    np.testing.assert_allclose(back, np.swapaxes(a @ b, -1, -2))
    assert (dx.shape, dy.shape) == shapes and product.shape.as_list() == list((a @ b).shape)
    np.testing.assert_allclose(
        dx.sum(), np.broadcast_to(b.sum(-1)[..., None, :], (a @ b).shape[:-1] + b.shape[-2:-1]).sum()
    )


def test_stacks_that_do_not_broadcast():
    with tf.Graph().as_default(), pytest.raises(ShapeError, match="leading dimensions"):
        tf.matmul(tf.zeros([2, 3, 3]), tf.zeros([4, 3, 3]))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_many_small_triangles(lower, adjoint):
    full = RNG.normal(size=(20, 3, 3)) + 1j * RNG.normal(size=(20, 3, 3)) + 4 * np.eye(3)
    b = RNG.normal(size=(20, 3, 2)) + 0j
    triangle = np.tril(full) if lower else np.triu(full)
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.matrix_triangular_solve(tf.constant(full), b, lower=lower, adjoint=adjoint))
    np.testing.assert_allclose(found, np.linalg.solve(np.conj(np.swapaxes(triangle, 1, 2)) if adjoint else triangle, b))


def test_a_check_runs_before_an_operation_that_fails_for_constants():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[0.0, 0.0], [1.0, 1.0]])
        with tf.control_dependencies([tf.assert_none_equal(tf.matrix_diag_part(x), 0.0, message="a zero")]):
            solution = tf.matrix_triangular_solve(x, tf.eye(2))
        assert tf.contrib.util.constant_value(solution) is None
        with pytest.raises(InvalidArgumentError, match="a zero"):
            session.run(solution)

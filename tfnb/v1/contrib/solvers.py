"""`tf.contrib.solvers`: linear equations and least squares by iteration, of operators given as functions.

An operator has a shape, a dtype and functions of vectors (Golub and Van Loan, Matrix Computations, chapters 10 and 11).
Invariant: an iteration ends when the residual is small against the right side, or at its last step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tfnb.client.control_flow.while_loop import while_loop
from tfnb.client.graph.default_graph import name_scope
from tfnb.errors import ShapeError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import constant, convert_to_tensor, zeros_like
from tfnb.ops.array.shape_ops import EXPAND_DIMS, squeeze
from tfnb.ops.array.tile_reverse_mirror import pad
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.math.unary import SQRT
from tfnb.ops.random.functions import random_normal

__all__ = ["cgls", "conjugate_gradient", "create_operator", "lanczos_bidiag"]


class Operator(NamedTuple):
    """A linear operator. apply, apply_adjoint: from columns to the products with them."""

    shape: Any
    dtype: Any
    apply: Callable[[Any], Any]
    apply_adjoint: Callable[[Any], Any]


class CGState(NamedTuple):
    """The state of conjugate gradients: i steps, the solution x, the residual r, the direction p, and gamma = r . r."""

    i: Any
    x: Any
    r: Any
    p: Any
    gamma: Any


class CGLSState(NamedTuple):
    """The state of `cgls`: i steps, the solution x, the residual r, the direction p, and gamma = |A^H r|^2."""

    i: Any
    x: Any
    r: Any
    p: Any
    gamma: Any


class LanczosBidiagState(NamedTuple):
    """A bidiagonalisation A V = U B: u [rows, k + 1], v [columns, k], and the diagonals alpha and beta [k] of B."""

    u: Any
    v: Any
    alpha: Any
    beta: Any


def create_operator(matrix: Any) -> Operator:
    """Returns the operator of a matrix. Raises `ShapeError` for another rank."""
    matrix = convert_to_tensor(matrix, name="matrix")
    if matrix.shape.ndims != 2:
        raise ShapeError(f"create_operator: needed a matrix, got shape {matrix.shape}")
    return Operator(
        matrix.shape, matrix.dtype, lambda v: matmul(matrix, v), lambda v: matmul(matrix, v, adjoint_a=True)
    )


def identity_operator(matrix: Any) -> Operator:
    """Returns the operator that returns its argument, of the size of a square matrix."""
    matrix = convert_to_tensor(matrix, name="matrix")
    return Operator(matrix.shape, matrix.dtype, lambda v: v, lambda v: v)


def dot(x: TensorLike, y: TensorLike) -> Tensor:
    """Returns the product of two vectors, a scalar."""
    return reduce_sum(convert_to_tensor(x) * y)


def l2norm_squared(v: TensorLike) -> Tensor:
    """Returns the sum of the squares of a vector, a scalar."""
    return dot(v, v)


def l2norm(v: TensorLike) -> Tensor:
    """Returns the length of a vector, a scalar."""
    return SQRT(l2norm_squared(v))


def l2normalize(v: Tensor) -> tuple[Any, Any]:
    """Returns (a vector divided by its length, the length)."""
    length = l2norm(v)
    return v / length, length


def conjugate_gradient(
    operator: Operator,
    rhs: TensorLike,
    preconditioner: Operator | None = None,
    x: TensorLike | None = None,
    tol: float = 1e-4,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> CGState:
    """Returns the `CGState` with the solution x of A x = rhs, for a symmetric, positive definite operator A.

    rhs: a vector. preconditioner: an operator that is about the inverse of A. x: where to begin, by default zeros. tol:
    the length of the residual against that of `rhs`. max_iter: the most steps.
    """
    with name_scope(name):
        right = EXPAND_DIMS(convert_to_tensor(rhs), -1)
        begin = zeros_like(right) if x is None else EXPAND_DIMS(convert_to_tensor(x), -1)
        residual = right if x is None else right - operator.apply(begin)
        limit = tol * l2norm(right)

        def smoothed(r: Tensor) -> Tensor:
            return r if preconditioner is None else preconditioner.apply(r)

        def unfinished(i: Tensor, x: Tensor, r: Tensor, p: Tensor, gamma: Tensor) -> Tensor:
            return (i < max_iter) & (l2norm(r) > limit)

        def step(i: Tensor, x: Tensor, r: Tensor, p: Tensor, gamma: Tensor) -> CGState:
            z = operator.apply(p)
            alpha = gamma / dot(p, z)
            new = r - alpha * z
            q = smoothed(new)
            gamma_new = dot(new, q)
            return CGState(i + 1, x + alpha * p, new, q + gamma_new / gamma * p, gamma_new)

        first = smoothed(residual)
        start = CGState(constant(0), begin, residual, first, dot(residual, first))
        found = CGState(*while_loop(unfinished, step, start))
        return found._replace(x=squeeze(found.x, [-1]), r=squeeze(found.r, [-1]), p=squeeze(found.p, [-1]))


def cgls(operator: Operator, rhs: TensorLike, tol: float = 1e-6, max_iter: int = 20, name: str = "cgls") -> CGLSState:
    """Returns the `CGLSState` with the x that makes |A x - rhs| smallest, by conjugate gradients.

    rhs: a vector. tol: the length of A^H r against what it is at the beginning. max_iter: the most steps.
    """
    with name_scope(name):
        right = EXPAND_DIMS(convert_to_tensor(rhs), -1)
        slope = operator.apply_adjoint(right)
        limit = tol * l2norm(slope)

        def unfinished(i: Tensor, x: Tensor, r: Tensor, p: Tensor, gamma: Tensor) -> Tensor:
            return (i < max_iter) & (SQRT(gamma) > limit)

        def step(i: Tensor, x: Tensor, r: Tensor, p: Tensor, gamma: Tensor) -> CGLSState:
            q = operator.apply(p)
            alpha = gamma / l2norm_squared(q)
            new = r - alpha * q
            s = operator.apply_adjoint(new)
            gamma_new = l2norm_squared(s)
            return CGLSState(i + 1, x + alpha * p, new, s + gamma_new / gamma * p, gamma_new)

        start = CGLSState(constant(0), zeros_like(slope), right, slope, l2norm_squared(slope))
        found = CGLSState(*while_loop(unfinished, step, start))
        return found._replace(x=squeeze(found.x, [-1]), r=squeeze(found.r, [-1]), p=squeeze(found.p, [-1]))


def bidiag_matmul(
    matrix: Any, alpha: TensorLike, beta: TensorLike, adjoint_b: bool = False, name: str = "bidiag_matmul"
) -> Tensor:
    """Returns matrix @ B, where B [k + 1, k] has the diagonal `alpha` and `beta` below it.

    matrix: [rows, k + 1]; with `adjoint_b`, where the product is with the transpose of B, [rows, k].
    """
    with name_scope(name):
        matrix = convert_to_tensor(matrix)
        if adjoint_b:
            left, right = matrix * alpha, matrix * beta
            return pad(left, [[0, 0], [0, 1]]) + pad(right, [[0, 0], [1, 0]])
        return matrix[:, :-1] * alpha + matrix[:, 1:] * beta


def lanczos_bidiag(
    operator: Operator,
    k: int,
    orthogonalize: bool = True,
    starting_vector: TensorLike | None = None,
    name: str = "lanczos_bidiag",
) -> LanczosBidiagState:
    """Returns the `LanczosBidiagState` of k steps of Golub and Kahan's bidiagonalisation of an operator.

    orthogonalize: new vectors are made orthogonal to all former ones, which rounding would undo. starting_vector: of
    as many elements as the operator has rows, by default random.
    """
    with name_scope(name):
        rows = operator.shape.as_list()[0]
        start = random_normal([rows], dtype=operator.dtype) if starting_vector is None else starting_vector
        u, _ = l2normalize(EXPAND_DIMS(convert_to_tensor(start), -1))
        us, vs, alphas, betas = [u], [], [], []  # type: ignore[var-annotated]
        for i in range(k):
            v = operator.apply_adjoint(us[-1])
            v = v if i == 0 else v - betas[-1] * vs[-1]
            v, alpha = l2normalize(_orthogonal(v, vs) if orthogonalize else v)
            vs.append(v)
            alphas.append(alpha)
            u = operator.apply(v) - alpha * us[-1]
            u, beta = l2normalize(_orthogonal(u, us) if orthogonalize else u)
            us.append(u)
            betas.append(beta)
        diagonals = [concat([EXPAND_DIMS(value, 0) for value in column], 0) for column in (alphas, betas)]
        return LanczosBidiagState(concat(us, 1), concat(vs, 1), *diagonals)


def _orthogonal(vector: Tensor, basis: list[Any]) -> Tensor:
    """Returns a column without its parts along an orthonormal basis; twice, since once leaves rounding errors."""
    if not basis:
        return vector
    matrix = concat(basis, 1)
    for _ in range(2):
        vector = vector - matmul(matrix, matmul(matrix, vector, adjoint_a=True))
    return vector

"""QR, singular values and self-adjoint eigenvalues of stacks of matrices, and the public names of linear algebra.

LAPACK computes them on the host, through NumPy. Invariant: the product of the factors is the matrix. LAPACK chooses the
signs (phases) of vectors, so only quantities that do not depend on these have a meaningful gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.linalg.band_part import MATRIX_BAND_PART, MATRIX_SET_DIAG
from tfnb.ops.linalg.diag import MATRIX_DIAG, MATRIX_DIAG_PART
from tfnb.ops.linalg.inverse_solve import (
    CHOLESKY,
    LOG_MATRIX_DETERMINANT,
    MATRIX_DETERMINANT,
    MATRIX_INVERSE,
    MATRIX_SOLVE,
    MATRIX_SOLVE_LS,
    MATRIX_TRIANGULAR_SOLVE,
    adjoint,
    matrices,
    product,
    square,
)
from tfnb.ops.math.binary import MUL
from tfnb.ops.math.compare import EQUAL, SELECT
from tfnb.ops.math.complex_numbers import real
from tfnb.ops.math.reduce_sum import SUM
from tfnb.ops.math.unary import LOG
from tfnb.types import COMPLEX, Shape, float32, float64, scalar, unknown_shape

__all__ = ["API", "OPS", "QR", "SELF_ADJOINT_EIG", "SVD"]

NUMBERS = (float32, float64, *COMPLEX)
DTYPES = "float32, float64, complex64 or complex128"
_LOWER = (np.int64(-1), np.int64(0))


@record
class QrAttrs:
    """`full_matrices`: q is square; otherwise it has min(m, n) columns."""

    full_matrices: bool = False


@record
class SvdAttrs:
    """`compute_uv`: compute u and v, which are a single zero otherwise; `full_matrices`: u and v are square."""

    compute_uv: bool = True
    full_matrices: bool = False


@record
class EigAttrs:
    """`compute_v`: compute the eigenvectors, which are a single zero otherwise."""

    compute_v: bool = True


def _low(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else min(a, b)


def _stack(lead: Shape, *tail: int | None) -> Shape:
    return Shape((*lead.sizes, *tail))  # type: ignore[misc]


# ---- QR ------------------------------------------------------------------------------------------


def _qr_shapes(c: Infer) -> tuple[Shape, Shape]:
    shapes = matrices(c)
    if shapes is None:
        return unknown_shape, unknown_shape
    lead, (m, n) = shapes
    inner = m if c.attrs.full_matrices else _low(m, n)
    return _stack(lead, m, inner), _stack(lead, inner, n)


def _qr_host(call: HostCall, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    m, n = x.shape[-2:]
    full = call.attrs.full_matrices
    inner = m if full else min(m, n)
    if x.size == 0:
        q = np.broadcast_to(np.eye(m, inner, dtype=x.dtype), (*x.shape[:-2], m, inner)).copy()
        return q, np.zeros((*x.shape[:-2], inner, n), x.dtype)
    q, r = np.linalg.qr(x, mode="complete" if full else "reduced")
    return q, r


def _from_right(x: Tensor, r: Tensor) -> Any:
    """x r^-H for an upper triangular matrix r."""
    return adjoint(MATRIX_TRIANGULAR_SOLVE(r, adjoint(x), lower=False, adjoint=False))


def _grad_qr(op: Operation, dq: Tensor, dr: Tensor) -> Any:
    q, r = op.outputs
    dims = r.shape.sizes
    if dims is None or None in dims[-2:] or q.shape.sizes is None or None in q.shape.sizes[-2:]:
        raise InvalidArgumentError("the gradient of qr needs known matrix sizes", op)
    if dims[-2] != dims[-1] or q.shape.sizes[-1] != dims[-2]:
        raise InvalidArgumentError(
            "the gradient of qr needs at least as many rows as columns, and full_matrices false", op
        )
    qdq = product(q, dq, adjoint_a=True)
    rdr = product(r, dr, adjoint_b=True)
    inner = MATRIX_BAND_PART(qdq - adjoint(qdq) + rdr - adjoint(rdr), *_LOWER)
    return product(q, dr + _from_right(inner, r)) + _from_right(dq - product(q, qdq), r)


QR: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "Qr",
    inputs="input: T",
    outputs="q: T, r: T",
    types={"T": NUMBERS},
    attrs=QrAttrs,
    doc=f"""The factors of input = q r, with orthonormal columns of q and upper triangular r, for each matrix.

    input: {DTYPES}, shape (..., m, n). q: (..., m, p), r: (..., p, n); p = min(m, n), or m with `full_matrices`.
    Runs on the host.""",
    infer=_qr_shapes,
    host=_qr_host,
    grad=_grad_qr,
)

# ---- singular values -----------------------------------------------------------------------------


def _svd_shapes(c: Infer) -> tuple[Shape, Shape, Shape]:
    shapes = matrices(c)
    if shapes is None:
        return unknown_shape, unknown_shape, unknown_shape
    lead, (m, n) = shapes
    p = _low(m, n)
    if not c.attrs.compute_uv:
        return _stack(lead, p), scalar, scalar
    full = c.attrs.full_matrices
    return _stack(lead, p), _stack(lead, m, m if full else p), _stack(lead, n, n if full else p)


def _svd_host(call: HostCall, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    try:
        if not call.attrs.compute_uv:
            s = np.linalg.svd(x, compute_uv=False)
            return s.astype(x.dtype), np.zeros((), x.dtype), np.zeros((), x.dtype)
        u, s, vh = np.linalg.svd(x, full_matrices=call.attrs.full_matrices)
    except np.linalg.LinAlgError as e:
        raise InvalidArgumentError(f"the singular values did not converge: {e}", call.op) from None
    v = np.ascontiguousarray(np.conj(np.swapaxes(vh, -1, -2)))
    return s.astype(x.dtype), u, v


def _reciprocal_gaps(values: Tensor) -> Tensor:
    """1 / (x_j - x_i) for each pair of elements of a vector; 0 where they are equal."""
    gap = values[..., None, :] - values[..., :, None]
    none = EQUAL(gap, ZEROS_LIKE(gap))
    return SELECT(none, ZEROS_LIKE(gap), 1.0 / SELECT(none, gap + 1.0, gap))


def _grad_svd(op: Operation, ds: Tensor, du: Tensor, dv: Tensor) -> Any:
    a = op.inputs[0]
    if a.dtype in COMPLEX:
        raise InvalidArgumentError("svd has no gradient for complex matrices", op)
    if not op.attrs.compute_uv:
        _, u, v = SVD(a, compute_uv=True)
        return product(u * ds[..., None, :], v, adjoint_b=True)
    s, u, v = op.outputs
    if op.attrs.full_matrices and (a.shape.sizes is None or a.shape.sizes[-1] != a.shape.sizes[-2]):
        raise InvalidArgumentError("the gradient of svd needs full_matrices=False, or square matrices", op)
    f = _reciprocal_gaps(s * s)
    udu, vdv = product(u, du, adjoint_a=True), product(v, dv, adjoint_a=True)
    row, column = s[..., None, :], s[..., :, None]
    inner = (f * (udu - adjoint(udu))) * row + column * (f * (vdv - adjoint(vdv)))
    inner = MATRIX_SET_DIAG(inner, MATRIX_DIAG_PART(inner) + ds)
    grad = product(product(u, inner), v, adjoint_b=True)
    grad = grad + product((du - product(u, udu)) / row, v, adjoint_b=True)
    return grad + product(u, (dv - product(v, vdv)) / row, adjoint_b=True)


SVD: OpDef[tuple[Tensor, Tensor, Tensor]] = OpDef(
    "Svd",
    inputs="input: T",
    outputs="s: T, u: T, v: T",
    types={"T": NUMBERS},
    attrs=SvdAttrs,
    doc=f"""The factors of input = u diag(s) v^H, with orthonormal columns of u and v, for each matrix.

    input: {DTYPES}, shape (..., m, n). s: (..., p), descending, with p = min(m, n); u: (..., m, p), v: (..., n, p), or
    square with `full_matrices`, or a single zero without `compute_uv`. Errors: the algorithm does not converge. Runs
    on the host.""",
    infer=_svd_shapes,
    host=_svd_host,
    grad=_grad_svd,
)

# ---- eigenvalues ---------------------------------------------------------------------------------


def _eig_shapes(c: Infer) -> tuple[Shape, Shape]:
    shapes = square(c)
    if shapes is None:
        return unknown_shape, unknown_shape
    lead, n = shapes
    return _stack(lead, n), (_stack(lead, n, n) if c.attrs.compute_v else scalar)


def _eig_host(call: HostCall, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidArgumentError(f"input must be square matrices, got shape {x.shape}", call.op)
    try:
        if call.attrs.compute_v:
            e, v = np.linalg.eigh(x, UPLO="L")
            return e.astype(x.dtype), v
        return np.linalg.eigvalsh(x, UPLO="L").astype(x.dtype), np.zeros((), x.dtype)
    except np.linalg.LinAlgError as e:
        raise InvalidArgumentError(f"the eigenvalues did not converge: {e}", call.op) from None


def _grad_eig(op: Operation, de: Tensor, dv: Tensor) -> Tensor:
    """Only the lower triangle is read, so only the lower triangle gets a gradient."""
    e, v = op.outputs
    if op.attrs.compute_v:
        inner = MATRIX_DIAG(de) + _reciprocal_gaps(e) * product(v, dv, adjoint_a=True)
    else:
        _, v = SELF_ADJOINT_EIG(op.inputs[0], compute_v=True)
        inner = MATRIX_DIAG(de)
    grad = product(v, product(inner, v, adjoint_b=True))
    grad = MATRIX_BAND_PART(grad + adjoint(grad), *_LOWER)
    return MATRIX_SET_DIAG(grad, 0.5 * MATRIX_DIAG_PART(grad))


SELF_ADJOINT_EIG: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "SelfAdjointEigV2",
    inputs="input: T",
    outputs="e: T, v: T",
    types={"T": NUMBERS},
    attrs=EigAttrs,
    doc=f"""The eigenvalues and eigenvectors of symmetric (Hermitian) matrices: input v = v diag(e).

    input: {DTYPES}, shape (..., m, m), of which the lower triangle is read. e: (..., m), ascending; v: (..., m, m),
    with eigenvectors as columns, or a single zero without `compute_v`. Errors: a matrix is not square, or the algorithm
    does not converge. Runs on the host.""",
    infer=_eig_shapes,
    host=_eig_host,
    grad=_grad_eig,
)

OPS: tuple[OpDef, ...] = (QR, SVD, SELF_ADJOINT_EIG)

# ---- public functions ----------------------------------------------------------------------------


def _tensor(x: TensorLike) -> Any:
    return graph_of([x]).to_tensor(x)


def _real(x: Tensor) -> Any:
    return real(x) if x.dtype in COMPLEX else x


def matrix_inverse(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Returns the inverse of each matrix of input (..., m, m): see the op MatrixInverse.

    adjoint: return the inverses of the (conjugate) transposes. Errors at run time: a matrix is singular.
    """
    return MATRIX_INVERSE(_tensor(input), adjoint=adjoint, name=name)


def matrix_determinant(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the determinant of each matrix of input (..., m, m), with shape (...): see the op MatrixDeterminant."""
    return MATRIX_DETERMINANT(_tensor(input), name=name)


def slogdet(input: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns (the sign, the logarithm of the absolute value) of the determinant of each matrix (..., m, m).

    Both results have shape (...): see the op LogMatrixDeterminant.
    """
    return LOG_MATRIX_DETERMINANT(_tensor(input), name=name)


def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Returns the logarithm of the determinant of each positive definite matrix (..., m, m), with shape (...).

    The logarithm is real. Errors at run time: a matrix is not positive definite.
    """
    factor = CHOLESKY(_tensor(matrix))
    logs = LOG(_real(MATRIX_DIAG_PART(factor)))
    return MUL(SUM(logs, np.asarray([-1], np.int32), keep_dims=False), 2.0, name=name)


def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the Cholesky factor of each matrix of input (..., m, m): see the op Cholesky."""
    return CHOLESKY(_tensor(input), name=name)


def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Solves A X = B, where chol (..., m, m) is the Cholesky factor of A and rhs (..., m, k) is B."""
    chol = _tensor(chol)
    y = MATRIX_TRIANGULAR_SOLVE(chol, rhs, lower=True, adjoint=False)
    return MATRIX_TRIANGULAR_SOLVE(chol, y, lower=True, adjoint=True, name=name)


def matrix_solve(matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Solves linear equations, given as matrix (..., m, m) and rhs (..., m, k): see the op MatrixSolve."""
    return MATRIX_SOLVE(_tensor(matrix), rhs, adjoint=adjoint, name=name)


def matrix_triangular_solve(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solves linear equations with triangular matrices: see the op MatrixTriangularSolve.

    matrix: (..., m, m). rhs: (..., m, k), the shape of the result.
    """
    return MATRIX_TRIANGULAR_SOLVE(_tensor(matrix), rhs, lower=lower, adjoint=adjoint, name=name)


def matrix_solve_ls(
    matrix: TensorLike, rhs: TensorLike, l2_regularizer: float = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """Solves `matrix` @ x = `rhs` in the sense of least squares: see the op MatrixSolveLs.

    matrix: (..., m, n). rhs: (..., m, k). The result has shape (..., n, k).
    """
    return MATRIX_SOLVE_LS(_tensor(matrix), rhs, np.float64(l2_regularizer), fast=fast, name=name)


def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns the factors (q, r) of each matrix of input (..., m, n): see the op Qr."""
    return QR(_tensor(input), full_matrices=full_matrices, name=name)


def svd(tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Returns (s, u, v) for each matrix (..., m, n), or s alone without `compute_uv`: see the op Svd.

    s: the singular values, real, of shape (..., min(m, n)).
    """
    x = _tensor(tensor)
    s, u, v = SVD(x, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    s = _real(s)
    return (s, u, v) if compute_uv else s


def self_adjoint_eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns (eigenvalues, eigenvectors) of each symmetric (Hermitian) matrix: see the op SelfAdjointEigV2.

    tensor: (..., m, m). The eigenvalues have shape (..., m), the eigenvectors (..., m, m).
    """
    e, v = SELF_ADJOINT_EIG(_tensor(tensor), compute_v=True, name=name)
    return e, v


def self_adjoint_eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Returns the eigenvalues (..., m) of each symmetric (Hermitian) matrix (..., m, m), in ascending order."""
    return SELF_ADJOINT_EIG(_tensor(tensor), compute_v=False, name=name)[0]


API: dict[str, Any] = {}
for _fn, _names in (
    (matrix_inverse, "matrix_inverse linalg.inv batch_matrix_inverse"),
    (matrix_determinant, "matrix_determinant linalg.det batch_matrix_determinant"),
    (slogdet, "linalg.slogdet"),
    (logdet, "linalg.logdet"),
    (cholesky, "cholesky linalg.cholesky batch_cholesky"),
    (cholesky_solve, "cholesky_solve linalg.cholesky_solve batch_cholesky_solve"),
    (matrix_solve, "matrix_solve linalg.solve batch_matrix_solve"),
    (
        matrix_triangular_solve,
        "matrix_triangular_solve linalg.triangular_solve batch_matrix_triangular_solve",
    ),
    (matrix_solve_ls, "matrix_solve_ls linalg.lstsq batch_matrix_solve_ls"),
    (qr, "qr linalg.qr"),
    (svd, "svd linalg.svd batch_svd"),
    (self_adjoint_eig, "self_adjoint_eig linalg.eigh batch_self_adjoint_eig"),
    (self_adjoint_eigvals, "self_adjoint_eigvals linalg.eigvalsh batch_self_adjoint_eigvals"),
):
    API.update(dict.fromkeys(_names.split(), _fn))

"""Inverses, determinants, Cholesky factors and linear equations of stacks of matrices (white paper, Table 1).

LAPACK computes them on the host, through NumPy and SciPy; there are no OpenCL kernels. Invariant: leading dimensions
are a stack of independent matrices, and a singular matrix raises an error that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.opdef import GRADIENT_MISSING, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import RESHAPE, shape_of
from tfnb.ops.linalg.band_part import MATRIX_BAND_PART, MATRIX_SET_DIAG, matrix_transpose
from tfnb.ops.linalg.diag import MATRIX_DIAG_PART
from tfnb.ops.linalg.matmul import BATCH_MAT_MUL, matmul
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.complex_numbers import conj
from tfnb.types import COMPLEX, Shape, float32, float64, unknown_shape

__all__ = [
    "CHOLESKY",
    "LOG_MATRIX_DETERMINANT",
    "MATRIX_DETERMINANT",
    "MATRIX_INVERSE",
    "MATRIX_SOLVE",
    "MATRIX_SOLVE_LS",
    "MATRIX_TRIANGULAR_SOLVE",
    "OPS",
    "adjoint",
    "matrices",
    "product",
    "scaled_up",
    "square",
]

NUMBERS = (float32, float64, *COMPLEX)
DTYPES = "float32, float64, complex64 or complex128"


@record
class AdjointAttrs:
    """`adjoint`: use the (conjugate) transpose of each matrix."""

    adjoint: bool = False


@record
class TriangularAttrs:
    """`lower`: read the lower instead of the upper triangle; `adjoint`: use the (conjugate) transpose."""

    lower: bool = True
    adjoint: bool = False


@record
class LeastSquaresAttrs:
    """`fast`: use the normal equations; otherwise an orthogonal decomposition, which also allows a deficient rank."""

    fast: bool = True


# ---- shared by the decompositions ----------------------------------------------------------------


def matrices(c: Infer, i: int = 0) -> tuple[Shape, tuple[int | None, int | None]] | None:
    """Returns (leading shape, (rows, columns)) of input i, or None if the rank is unknown.

    Raises `ShapeError` for a rank below 2.
    """
    x = c.shapes[i]
    if x.sizes is None:
        return None
    if len(x.sizes) < 2:
        raise ShapeError(
            f"{c.op_name}: Shape must be at least rank 2 but is rank {x.ndims} for input {i}, got shape {x}"
        )
    return Shape(x.sizes[:-2]), (x.sizes[-2], x.sizes[-1])


def square(c: Infer, i: int = 0) -> tuple[Shape, int | None] | None:
    """Returns (leading shape, size) of the square matrices in input i, or None if the rank is unknown."""
    shapes = matrices(c, i)
    if shapes is None:
        return None
    lead, (m, n) = shapes
    if None not in (m, n) and m != n:
        raise ShapeError(f"{c.op_name}: input {i} must be square matrices, got shape {c.shapes[i]}")
    return lead, n if m is None else m


def adjoint(x: TensorLike) -> Any:
    """Returns the (conjugate) transpose of each matrix."""
    return conj(matrix_transpose(x))


def product(a: Tensor, b: Tensor, adjoint_a: bool = False, adjoint_b: bool = False) -> Any:
    """Returns the product of matrices, or of their (conjugate) transposes where requested."""
    if a.shape.ndims is None or b.shape.ndims is None:
        return BATCH_MAT_MUL(a, b, adj_x=adjoint_a, adj_y=adjoint_b)
    return matmul(a, b, adjoint_a=adjoint_a, adjoint_b=adjoint_b)


def scaled_up(x: Tensor, like: Tensor) -> Tensor:
    """Reshapes a stack of numbers, such as one factor for each matrix, so that it multiplies the matrices `like`.

    Each number becomes a 1 x 1 matrix.
    """
    shape = shape_of(x)
    if isinstance(shape, np.ndarray):
        return RESHAPE(x, np.asarray([*shape, 1, 1], np.int32))
    return x[..., None, None]


def _adjoint(x: np.ndarray, asked: bool = True) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2)) if asked else x


def _checked_square(call: HostCall, x: np.ndarray) -> None:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidArgumentError(f"input must be square matrices, got shape {x.shape}", call.op)


def _guarded(call: HostCall, why: str, fn: Callable[[], Any]) -> Any:
    try:
        return fn()
    except np.linalg.LinAlgError:
        raise InvalidArgumentError(why, call.op) from None


def _same_square(c: Infer) -> Shape:
    shapes = square(c)
    return unknown_shape if shapes is None else Shape((*shapes[0].sizes, shapes[1], shapes[1]))  # type: ignore[misc]


def _leading(c: Infer) -> Shape:
    shapes = square(c)
    return unknown_shape if shapes is None else shapes[0]


# ---- inverse and determinant ---------------------------------------------------------------------


def _inverse_host(call: HostCall, x: np.ndarray) -> np.ndarray:
    _checked_square(call, x)
    inverse = _guarded(call, "Input is not invertible.", lambda: np.linalg.inv(x))
    return np.ascontiguousarray(_adjoint(inverse, call.attrs.adjoint))


def _grad_inverse(op: Operation, dy: Tensor) -> Any:
    y = op.outputs[0]
    flag = op.attrs.adjoint
    if flag:
        return -product(product(y, adjoint(dy)), y)
    return -product(product(y, dy, adjoint_a=True), y, adjoint_b=True)


MATRIX_INVERSE: OpDef[Tensor] = OpDef(
    "MatrixInverse",
    inputs="input: T",
    outputs="output: T",
    types={"T": NUMBERS},
    attrs=AdjointAttrs,
    doc=f"""The inverse of each matrix, or of its (conjugate) transpose with `adjoint`; runs on the host.

    input: {DTYPES}, shape (..., m, m). output: dtype and shape of input. Errors: a matrix is not square or is
    singular.""",
    infer=_same_square,
    host=_inverse_host,
    grad=_grad_inverse,
)


def _grad_determinant(op: Operation, dy: Tensor) -> Any:
    inverse = MATRIX_INVERSE(op.inputs[0], adjoint=True)
    return scaled_up(dy * conj(op.outputs[0]), inverse) * inverse


def _determinant_host(call: HostCall, x: np.ndarray) -> np.ndarray:
    _checked_square(call, x)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.linalg.det(x), x.dtype)


MATRIX_DETERMINANT: OpDef[Tensor] = OpDef(
    "MatrixDeterminant",
    inputs="input: T",
    outputs="output: T",
    types={"T": NUMBERS},
    doc=f"""The determinant of each matrix; runs on the host.

    input: {DTYPES}, shape (..., m, m). output: dtype of input, shape (...). Errors: a matrix is not square.""",
    infer=_leading,
    host=_determinant_host,
    grad=_grad_determinant,
)


def _log_determinant_host(call: HostCall, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    _checked_square(call, x)
    with np.errstate(all="ignore"):
        sign, log = np.linalg.slogdet(x)
    return np.asarray(sign, x.dtype), np.asarray(log, x.dtype)


LOG_MATRIX_DETERMINANT: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "LogMatrixDeterminant",
    inputs="input: T",
    outputs="sign: T, log_abs_determinant: T",
    types={"T": NUMBERS},
    doc=f"""The sign and the logarithm of the absolute value of each matrix's determinant; runs on the host.

    input: {DTYPES}, shape (..., m, m). Outputs: dtype of input, shape (...). Errors: a matrix is not square.""",
    infer=lambda c: (_leading(c), _leading(c)),
    host=_log_determinant_host,
    grad=lambda op, dsign, dlog: scaled_up(dlog, op.inputs[0]) * MATRIX_INVERSE(op.inputs[0], adjoint=True),
)

# ---- Cholesky ------------------------------------------------------------------------------------


def _cholesky_host(call: HostCall, x: np.ndarray) -> np.ndarray:
    _checked_square(call, x)
    why = (
        "Cholesky decomposition was not successful. The input might not be valid, or not be positive definite "
        "(LLT decomposition was not successful. The input might not be valid.)"
    )
    return _guarded(call, why, lambda: np.linalg.cholesky(x)).astype(x.dtype, copy=False)


def _cholesky_gradient(l: Tensor, dy: Tensor) -> Any:  # noqa: E741
    """Computes the gradient by Iain Murray's formula.

    It is half the diagonal plus the lower part of l^T dy, between two inverses of l.
    """
    middle = product(l, dy, adjoint_a=True)
    middle = MATRIX_SET_DIAG(middle, 0.5 * MATRIX_DIAG_PART(middle))
    middle = MATRIX_BAND_PART(middle, np.int64(-1), np.int64(0))
    left = MATRIX_TRIANGULAR_SOLVE(l, middle, lower=True, adjoint=True)
    grad = adjoint(MATRIX_TRIANGULAR_SOLVE(l, adjoint(left), lower=True, adjoint=True))
    return 0.5 * (grad + adjoint(grad))


CHOLESKY: OpDef[Tensor] = OpDef(
    "Cholesky",
    inputs="input: T",
    outputs="output: T",
    types={"T": NUMBERS},
    doc=f"""The lower triangular L with L L^H = A for each positive definite matrix A; runs on the host.

    input: {DTYPES}, shape (..., m, m); its lower triangle is read. output: dtype and shape of input. Errors: a matrix
    is not square or not positive definite.""",
    infer=_same_square,
    host=_cholesky_host,
    grad=lambda op, dy: _cholesky_gradient(op.outputs[0], dy),
)

CHOLESKY_GRAD: OpDef[Tensor] = OpDef(
    "CholeskyGrad",
    inputs="l: T, grad: T",
    outputs="output: T",
    types={"T": (float32, float64)},
    doc="""The gradient of a Cholesky factor with respect to its matrix; runs on the host.

    l: the factor. grad: the gradient of the factor. Both have the same float type and shape (..., m, m), which output
    has too.""",
    infer=_same_square,
    host=lambda call, l, dy: _host_cholesky_grad(l, dy),  # noqa: E741
    grad=GRADIENT_MISSING,
)


def _host_cholesky_grad(l: np.ndarray, dy: np.ndarray) -> np.ndarray:  # noqa: E741
    middle = np.tril(np.matmul(_adjoint(l), dy))
    middle = middle - 0.5 * np.eye(l.shape[-1], dtype=l.dtype) * middle
    inverse = np.linalg.inv(l)
    grad = _adjoint(inverse) @ middle @ inverse
    return (0.5 * (grad + _adjoint(grad))).astype(l.dtype)


# ---- equations -----------------------------------------------------------------------------------


def _solution_shape(c: Infer) -> Shape:
    a, b = square(c), matrices(c, 1)
    if a is None or b is None:
        return unknown_shape
    n, rows = a[1], b[1][0]
    if None not in (n, rows) and n != rows:
        raise ShapeError(f"{c.op_name}: {n} x {n} matrices do not fit right-hand sides of {rows} rows")
    return Shape((*a[0].merge_with(b[0]).sizes, n if rows is None else rows, b[1][1]))  # type: ignore[misc]


def _checked_pair(call: HostCall, a: np.ndarray, b: np.ndarray) -> None:
    _checked_square(call, a)
    if b.ndim != a.ndim or a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2]:
        raise InvalidArgumentError(
            f"matrices of shape {a.shape} do not fit right-hand sides of shape {b.shape}", call.op
        )


def _solve_host(call: HostCall, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    _checked_pair(call, a, b)
    left = _adjoint(a, call.attrs.adjoint)
    return _guarded(call, "Input matrix is not invertible.", lambda: np.linalg.solve(left, b))


def _grad_solve(op: Operation, dy: Tensor) -> tuple[Any, Any]:
    a, x = op.inputs[0], op.outputs[0]
    flag = op.attrs.adjoint
    db = MATRIX_SOLVE(a, dy, adjoint=not flag)
    da = -product(x, db, adjoint_b=True) if flag else -product(db, x, adjoint_b=True)
    return da, db


MATRIX_SOLVE: OpDef[Tensor] = OpDef(
    "MatrixSolve",
    inputs="matrix: T, rhs: T",
    outputs="output: T",
    types={"T": NUMBERS},
    attrs=AdjointAttrs,
    doc=f"""Solves A X = B, or A^H X = B with `adjoint`, for each matrix; runs on the host.

    matrix: {DTYPES}, shape (..., m, m); rhs: (..., m, k). output: (..., m, k). Errors: the shapes do not match, or a
    matrix is singular.""",
    infer=_solution_shape,
    host=_solve_host,
    grad=_grad_solve,
)


def _triangular_host(call: HostCall, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    _checked_pair(call, a, b)
    if (np.diagonal(a, axis1=-2, axis2=-1) == 0).any():
        raise InvalidArgumentError("Input matrix is not invertible.", call.op)
    lower, size = call.attrs.lower, a.shape[-1]
    if prod(a.shape[:-2]) > 2 * size:
        return _substituted(_adjoint(a), b, not lower) if call.attrs.adjoint else _substituted(a, b, lower)
    solve = import_module("scipy.linalg").solve_triangular
    out = np.empty(b.shape, b.dtype)
    for i in np.ndindex(a.shape[:-2]):
        if b[i].size:
            out[i] = solve(a[i], b[i], lower=lower, trans="C" if call.attrs.adjoint else "N", check_finite=False)
    return out


def _substituted(a: np.ndarray, b: np.ndarray, lower: bool) -> np.ndarray:
    """Solves many small systems: a row of all of them at a time, where a call of LAPACK for each takes longer."""
    out, size = np.empty(b.shape, b.dtype), a.shape[-1]
    for i in range(size) if lower else reversed(range(size)):
        solved = slice(0, i) if lower else slice(i + 1, size)
        known = a[..., i : i + 1, solved] @ out[..., solved, :]
        out[..., i, :] = (b[..., i, :] - known[..., 0, :]) / a[..., i, i, None]
    return out


def _grad_triangular(op: Operation, dy: Tensor) -> tuple[Any, Any]:
    a, x = op.inputs[0], op.outputs[0]
    lower, flag = op.attrs.lower, op.attrs.adjoint
    db = MATRIX_TRIANGULAR_SOLVE(a, dy, lower=lower, adjoint=not flag)
    da = -product(x, db, adjoint_b=True) if flag else -product(db, x, adjoint_b=True)
    band = (np.int64(-1), np.int64(0)) if lower else (np.int64(0), np.int64(-1))
    return MATRIX_BAND_PART(da, *band), db


MATRIX_TRIANGULAR_SOLVE: OpDef[Tensor] = OpDef(
    "MatrixTriangularSolve",
    inputs="matrix: T, rhs: T",
    outputs="output: T",
    types={"T": NUMBERS},
    attrs=TriangularAttrs,
    doc=f"""Solves A X = B, or A^H X = B with `adjoint`, for triangular matrices; runs on the host.

    matrix: {DTYPES}, shape (..., m, m), of which the `lower` or the upper triangle is read; rhs: (..., m, k).
    output: (..., m, k). Errors: the shapes do not match, or the diagonal contains a zero.""",
    infer=_solution_shape,
    host=_triangular_host,
    grad=_grad_triangular,
)


def _least_squares_shape(c: Infer) -> Shape:
    a, b = matrices(c), matrices(c, 1)
    if a is None or b is None:
        return unknown_shape
    if None not in (a[1][0], b[1][0]) and a[1][0] != b[1][0]:
        raise ShapeError(f"{c.op_name}: {a[1][0]} equations, right-hand sides of {b[1][0]} rows")
    return Shape((*a[0].merge_with(b[0]).sizes, a[1][1], b[1][1]))  # type: ignore[misc]


def _least_squares_host(call: HostCall, a: np.ndarray, b: np.ndarray, weight: np.ndarray) -> np.ndarray:
    m, n = a.shape[-2:]
    if b.ndim != a.ndim or a.shape[:-2] != b.shape[:-2] or m != b.shape[-2]:
        raise InvalidArgumentError(f"{a.shape} and right-hand sides {b.shape} do not fit", call.op)
    if not call.attrs.fast:
        return (np.linalg.pinv(a) @ b).astype(a.dtype)
    adjoint_a, ridge = _adjoint(a), a.dtype.type(weight)
    if m >= n:
        normal = adjoint_a @ a + ridge * np.eye(n, dtype=a.dtype)
        fn = lambda: np.linalg.solve(normal, adjoint_a @ b)  # noqa: E731
    else:
        normal = a @ adjoint_a + ridge * np.eye(m, dtype=a.dtype)
        fn = lambda: adjoint_a @ np.linalg.solve(normal, b)  # noqa: E731
    return _guarded(call, "the equations' rank is deficient", fn)


def _grad_least_squares(op: Any, dy: Tensor) -> tuple[Any, Any, None]:
    """Differentiates (A^T A + w I)^-1 A^T b, or A^T (A A^T + w I)^-1 b for fewer rows than columns."""
    a, b, weight = op.inputs
    x = op.outputs[0]
    dims = a.shape.sizes
    if dims is None or None in dims[-2:]:
        raise InvalidArgumentError("the gradient of matrix_solve_ls needs known matrix sizes", op)
    m, n = dims[-2:]
    ridge = RESHAPE(weight, np.zeros(0, np.int32))
    size = min(m, n)
    eye = np.eye(size, dtype=a.dtype.np)
    from_weight = a.graph.constant(eye) * cast_to(ridge, a.dtype)
    if m >= n:
        normal = product(a, a, adjoint_a=True) + from_weight
        z = MATRIX_SOLVE(normal, dy)
        db = matmul(a, z)
        residual = b - matmul(a, x)
        da = product(residual, z, adjoint_b=True) - product(db, x, adjoint_b=True)
        return da, db, None
    normal = product(a, a, adjoint_b=True) + from_weight
    db = MATRIX_SOLVE(normal, matmul(a, dy))
    y = MATRIX_SOLVE(normal, b)
    da = product(y, dy - product(a, db, adjoint_a=True), adjoint_b=True) - product(db, x, adjoint_b=True)
    return da, db, None


MATRIX_SOLVE_LS: OpDef[Tensor] = OpDef(
    "MatrixSolveLs",
    inputs="matrix: T, rhs: T, l2_regularizer: float64",
    outputs="output: T",
    types={"T": NUMBERS},
    attrs=LeastSquaresAttrs,
    doc=f"""The X that minimises |A X - B|^2 + l2_regularizer |X|^2 for each matrix; runs on the host.

    matrix: {DTYPES}, shape (..., m, n); rhs: (..., m, k); l2_regularizer: a float64 scalar, used only if `fast`.
    output: (..., n, k); among several minima the one of least norm. Errors: the shapes do not match, or the rank is
    deficient.""",
    infer=_least_squares_shape,
    host=_least_squares_host,
    grad=_grad_least_squares,
)

OPS: tuple[OpDef, ...] = (
    MATRIX_INVERSE,
    MATRIX_DETERMINANT,
    LOG_MATRIX_DETERMINANT,
    CHOLESKY,
    CHOLESKY_GRAD,
    MATRIX_SOLVE,
    MATRIX_TRIANGULAR_SOLVE,
    MATRIX_SOLVE_LS,
)

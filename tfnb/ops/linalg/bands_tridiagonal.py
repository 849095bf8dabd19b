"""Diagonals beside the main one by TensorFlow 1.15's functions, tridiagonal matrices, and einsum as one operation.

Invariant: bands are packed to the left (LEFT_LEFT), as in the operations of 1.15; those on the main diagonal alone are
the operations without bands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import merged
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.concat import CONCAT_V2, stack
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.array.shape_ops import EXPAND_DIMS
from tfnb.ops.linalg.band_part import MATRIX_SET_DIAG, matrix_transpose
from tfnb.ops.linalg.diag import MATRIX_DIAG, MATRIX_DIAG_PART
from tfnb.ops.linalg.diag_band import MATRIX_DIAG_PART_V3, MATRIX_DIAG_V3, MATRIX_SET_DIAG_V3
from tfnb.ops.math.complex_numbers import CONJ
from tfnb.ops.math.reduce_sum import SUM
from tfnb.types import COMPLEX, Shape, float32, float64, unknown_shape

__all__ = ["API", "OPS"]


@record
class LeftAttrs:
    """No attributes: diagonals begin at the left of their rows."""

    @property
    def align(self) -> str:
        return "LEFT_LEFT"


def _left(op: OpDef, name: str) -> OpDef[Tensor]:
    return replace(op, name=name, attrs=LeftAttrs, doc=f"{op.doc} Diagonals begin at the left of their rows.")


MATRIX_DIAG_V2 = _left(MATRIX_DIAG_V3, "MatrixDiagV2")
MATRIX_DIAG_PART_V2 = _left(MATRIX_DIAG_PART_V3, "MatrixDiagPartV2")
MATRIX_SET_DIAG_V2 = _left(MATRIX_SET_DIAG_V3, "MatrixSetDiagV2")

# ---- tridiagonal matrices -----------------------------------------------------------------------------------------

_FIELDS = (float64, float32, *COMPLEX)


def _check_product(name: str, diagonal: Shape, rhs: Shape) -> None:
    """Raises `ShapeError` unless diagonals of one shape (..., 1, m) fit a right side of shape (..., m, n)."""
    d, r = (shape.as_list() if shape.ndims is not None else None for shape in (diagonal, rhs))
    if any(dims is not None and len(dims) < 2 for dims in (d, r)):
        raise ShapeError(f"{name}: diagonals and rhs need a rank >= 2, got shapes {diagonal} and {rhs}")
    expected = unknown_shape if r is None else Shape((*r[:-2], 1, r[-2]))
    if not diagonal.is_compatible_with(expected) or (d is not None and d[-2] not in (None, 1)):
        raise ShapeError(f"{name}: rhs of shape {rhs} needs diagonals of shape {expected}, got {diagonal}")


def _infer_product(c: Infer) -> Shape:
    _check_product(c.op_name, merged(c, 0, 1, 2), c.shapes[3])
    return c.shapes[3]


def _shifted(x: Tensor, rows: int) -> Tensor:
    """The rows of x moved by one: up for 1, down for -1; zeros come in."""
    zeros = ZEROS_LIKE(x[..., :1, :])
    parts = [x[..., 1:, :], zeros] if rows > 0 else [zeros, x[..., :-1, :]]
    return CONCAT_V2(parts, np.int32(-2))


def _column(diagonal: Tensor) -> Tensor:
    """A diagonal (..., 1, m) as a column (..., m, 1)."""
    return EXPAND_DIMS(diagonal[..., 0, :], np.int32(-1))


def _expand_product(op: Operation, upper: Tensor, main: Tensor, lower: Tensor, rhs: Tensor) -> Any:
    above, below = _shifted(rhs, 1), _shifted(rhs, -1)
    return _column(main) * rhs + _column(upper) * above + _column(lower) * below


def _host_product(call: HostCall, upper: np.ndarray, main: np.ndarray, lower: np.ndarray, rhs: np.ndarray) -> Any:
    for diagonal in (upper, main, lower):
        _check_product("TridiagonalMatMul", Shape(diagonal.shape), Shape(rhs.shape))
    u, d, low = (x.swapaxes(-1, -2) for x in (upper, main, lower))
    result = d * rhs
    result[..., :-1, :] += u[..., :-1, :] * rhs[..., 1:, :]
    result[..., 1:, :] += low[..., 1:, :] * rhs[..., :-1, :]
    return result


def _row_sums(x: Tensor) -> Tensor:
    """(..., m, n) summed over n, as a diagonal (..., 1, m)."""
    return EXPAND_DIMS(SUM(x, np.asarray([-1], np.int32)), np.int32(-2))


def _grad_product(op: Operation, dy: Tensor) -> Any:
    upper, main, lower, rhs = op.inputs
    conj = CONJ if rhs.dtype in COMPLEX else lambda x: x
    above, below = conj(_shifted(rhs, 1)), conj(_shifted(rhs, -1))
    by_diagonals = (_row_sums(above * dy), _row_sums(conj(rhs) * dy), _row_sums(below * dy))
    up, middle, down = (conj(_column(d)) for d in (upper, main, lower))
    return *by_diagonals, middle * dy + _shifted(up * dy, -1) + _shifted(down * dy, 1)


TRIDIAGONAL_MAT_MUL: OpDef[Tensor] = OpDef(
    "TridiagonalMatMul",
    "superdiag: T, maindiag: T, subdiag: T, rhs: T",
    "output: T",
    """The product of tridiagonal matrices and matrices.

    superdiag, maindiag, subdiag: shape (..., 1, m), of which the last element of the first and the first element of the
    last do not count. rhs, output: (..., m, n). Errors: the shapes do not match.""",
    types={"T": _FIELDS},
    infer=_infer_product,
    host=_host_product,
    expand=_expand_product,
    grad=_grad_product,
)


@record
class PivotAttrs:
    """`partial_pivoting`: exchange rows where that is more exact; without it a zero on the diagonal is an error."""

    partial_pivoting: bool = True


def _infer_solution(c: Infer) -> Shape:
    diagonals, rhs = c.shapes[:2]
    for shape in (diagonals, rhs):
        if shape.ndims is not None and shape.ndims < 2:
            raise ShapeError(f"{c.op_name}: needs a rank >= 2, got shape {shape}")
    if diagonals.sizes is not None and diagonals.sizes[-2] not in (None, 3):
        raise ShapeError(f"{c.op_name}: expected 3 diagonals, got shape {diagonals}")
    return rhs


def _dense(diagonals: np.ndarray) -> np.ndarray:
    m = diagonals.shape[-1]
    full = np.zeros((*diagonals.shape[:-2], m, m), diagonals.dtype)
    at = np.arange(m)
    full[..., at, at] = diagonals[..., 1, :]
    full[..., at[:-1], at[1:]] = diagonals[..., 0, :-1]
    full[..., at[1:], at[:-1]] = diagonals[..., 2, 1:]
    return full


def _host_solution(call: HostCall, diagonals: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    if not call.attrs.partial_pivoting:
        return _eliminated(call, diagonals, rhs)
    try:
        return np.asarray(np.linalg.solve(_dense(diagonals), rhs), rhs.dtype)
    except np.linalg.LinAlgError:
        raise InvalidArgumentError("TridiagonalSolve: a matrix is not invertible", call.op) from None


def _eliminated(call: HostCall, diagonals: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Thomas's algorithm."""
    m = rhs.shape[-2]
    upper, main, lower = (diagonals[..., i, :].copy() for i in range(3))
    x = rhs.copy()
    for i in range(m):
        if i:
            factor = lower[..., i] / main[..., i - 1]
            main[..., i] -= factor * upper[..., i - 1]
            x[..., i, :] -= factor[..., None] * x[..., i - 1, :]
        if (main[..., i] == 0).any():
            raise InvalidArgumentError("TridiagonalSolve: a zero on the diagonal without partial_pivoting", call.op)
    for i in reversed(range(m)):
        if i + 1 < m:
            x[..., i, :] -= upper[..., i][..., None] * x[..., i + 1, :]
        x[..., i, :] /= main[..., i][..., None]
    return x


def _transposed(diagonals: Tensor) -> Tensor:
    """The diagonals of the transposed matrices."""
    upper, main, lower = (diagonals[..., i : i + 1, :] for i in range(3))
    zero = ZEROS_LIKE(main[..., :1])
    up = CONCAT_V2([lower[..., 1:], zero], np.int32(-1))
    down = CONCAT_V2([zero, upper[..., :-1]], np.int32(-1))
    return CONCAT_V2([up, main, down], np.int32(-2))


def _grad_solution(op: Operation, dy: Tensor) -> tuple[Tensor, Tensor]:
    diagonals, x = op.inputs[0], op.outputs[0]
    is_complex = x.dtype in COMPLEX
    matrix = _transposed(diagonals)
    adjoint = TRIDIAGONAL_SOLVE(CONJ(matrix) if is_complex else matrix, dy, partial_pivoting=op.attrs.partial_pivoting)
    conj = CONJ(x) if is_complex else x
    parts = [_row_sums(_shifted(conj, 1) * adjoint), _row_sums(conj * adjoint), _row_sums(_shifted(conj, -1) * adjoint)]
    return -CONCAT_V2(parts, np.int32(-2)), adjoint


TRIDIAGONAL_SOLVE: OpDef[Tensor] = OpDef(
    "TridiagonalSolve",
    "diagonals: T, rhs: T",
    "output: T",
    """The solutions x of A x = rhs, with tridiagonal matrices A.

    diagonals: shape (..., 3, m): the upper, main and lower diagonal, of which the last element of the first and the
    first element of the last do not count. rhs, output: (..., m, n). Errors: a matrix is not invertible, or has a zero
    on the diagonal without `partial_pivoting`. Runs on the host.""",
    types={"T": _FIELDS},
    attrs=PivotAttrs,
    infer=_infer_solution,
    host=_host_solution,
    grad=_grad_solution,
)

OPS: tuple[OpDef, ...] = (
    MATRIX_DIAG_V2,
    MATRIX_DIAG_PART_V2,
    MATRIX_SET_DIAG_V2,
    TRIDIAGONAL_MAT_MUL,
    TRIDIAGONAL_SOLVE,
)

# ---- public functions ---------------------------------------------------------------------------------------------


def _main(k: object) -> bool:
    return isinstance(k, (int, np.integer)) and int(k) == 0


def _band(k: TensorLike) -> Any:
    return k if is_tensor_like(k) else np.asarray(k, np.int32)


def _padding(value: TensorLike, like: Tensor) -> Any:
    return like.graph.to_tensor(value, like.dtype)


def matrix_diag(
    diagonal: TensorLike,
    name: str | None = None,
    k: TensorLike | Sequence[int] = 0,
    num_rows: TensorLike = -1,
    num_cols: TensorLike = -1,
    padding_value: TensorLike = 0,
) -> Tensor:
    """Returns matrices with the given diagonals, and `padding_value` elsewhere.

    diagonal: shape (..., n) for one diagonal, or (..., diagonals, n) for a band, whose diagonals begin at the left of
    their rows. k: the number of the diagonal, or the lowest and the highest one; 0 is the main one. num_rows, num_cols:
    -1 for the smallest that fit. Raises `ShapeError` when they do not fit.
    """
    if _main(k) and all(isinstance(n, int) and n == -1 for n in (num_rows, num_cols)) and _main(padding_value):
        return MATRIX_DIAG(diagonal, name=name)
    x = graph_of((diagonal,)).to_tensor(diagonal)
    sizes = (n if is_tensor_like(n) else np.asarray(n, np.int32) for n in (num_rows, num_cols))
    return MATRIX_DIAG_V2(x, _band(k), *sizes, _padding(padding_value, x), name=name)


def matrix_diag_part(
    input: TensorLike,
    name: str | None = None,
    k: TensorLike | Sequence[int] = 0,
    padding_value: TensorLike = 0,
) -> Tensor:
    """Returns one diagonal of each matrix (..., m, n), or a band of them as rows filled up with `padding_value`.

    k: the number of the diagonal, or the lowest and the highest one; 0 is the main one. Raises `ShapeError` for one
    that does not exist.
    """
    if _main(k):
        return MATRIX_DIAG_PART(input, name=name)
    x = graph_of((input,)).to_tensor(input)
    return MATRIX_DIAG_PART_V2(x, _band(k), _padding(padding_value, x), name=name)


def matrix_set_diag(
    input: TensorLike, diagonal: TensorLike, name: str | None = None, k: TensorLike | Sequence[int] = 0
) -> Tensor:
    """Returns the matrices `input` (..., m, n) with one diagonal, or a band of them, replaced by `diagonal`.

    diagonal: the dtype of input, shape (..., length), or (..., diagonals, length) for a band. k: the number of the
    diagonal, or the lowest and the highest one. Raises `ShapeError` when the shapes do not match.
    """
    if _main(k):
        return MATRIX_SET_DIAG(input, diagonal, name=name)
    return MATRIX_SET_DIAG_V2(input, diagonal, _band(k), name=name)


def _diagonals(diagonals: TensorLike, form: str, name: str) -> tuple[Any, Any, Any]:
    """The three diagonals, shape (..., m) each; those beside the main one have a place that does not count."""
    if form == "sequence":
        if not isinstance(diagonals, (list, tuple)) or len(diagonals) != 3:
            raise InvalidArgumentError(f"{name}: needed a list of three diagonals")
        graph = graph_of(diagonals)
        upper, main, lower = (graph.to_tensor(d) for d in diagonals)
        short = _shorter(upper, main), _shorter(lower, main)
        zero = ZEROS_LIKE(main[..., :1])
        upper = CONCAT_V2([upper, zero], np.int32(-1)) if short[0] else upper
        lower = CONCAT_V2([zero, lower], np.int32(-1)) if short[1] else lower
        return upper, main, lower
    x: Any = graph_of((diagonals,)).to_tensor(diagonals)
    if form == "compact":
        return x[..., 0, :], x[..., 1, :], x[..., 2, :]
    if form == "matrix":
        parts = [matrix_diag_part(x, k=k) for k in (1, 0, -1)]
        zero = ZEROS_LIKE(parts[1][..., :1])
        return CONCAT_V2([parts[0], zero], np.int32(-1)), parts[1], CONCAT_V2([zero, parts[2]], np.int32(-1))
    raise InvalidArgumentError(f"{name}: diagonals_format must be matrix, sequence or compact, got {form!r}")


def _shorter(beside: Tensor, main: Tensor) -> bool:
    a, b = beside.shape, main.shape
    if a.sizes is None or b.sizes is None or a.sizes[-1] is None or b.sizes[-1] is None:
        raise ShapeError(f"diagonals need a known length, got shapes {a} and {b}")
    return bool(a.sizes[-1] == b.sizes[-1] - 1)


def tridiagonal_matmul(
    diagonals: TensorLike, rhs: TensorLike, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """Returns the product of tridiagonal matrices and `rhs` (..., m, n).

    diagonals: with the format "compact" a tensor (..., 3, m): upper, main, lower diagonal; with "sequence" a list of
    three; with "matrix" the whole matrices. Raises `InvalidArgumentError` for another format.
    """
    graph = graph_of((rhs,))
    with graph.as_default(), graph.name_scope(name or "tridiagonal_matmul"):
        parts = _diagonals(diagonals, diagonals_format, "tridiagonal_matmul")
        rows = (EXPAND_DIMS(d, np.int32(-2)) for d in parts)
        return TRIDIAGONAL_MAT_MUL(*rows, graph.to_tensor(rhs, parts[1].dtype))


def tridiagonal_solve(
    diagonals: TensorLike,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
) -> Tensor:
    """Returns the solutions x of A x = rhs, with tridiagonal matrices A.

    diagonals, diagonals_format: see `tridiagonal_matmul`. rhs: (..., m) or (..., m, n), as the result; with
    `transpose_rhs` or `conjugate_rhs` it is transposed or conjugated first. Errors at run time: A is not invertible.
    """
    graph = graph_of((rhs,))
    with graph.as_default(), graph.name_scope(name or "tridiagonal_solve"):
        upper, main, lower = _diagonals(diagonals, diagonals_format, "tridiagonal_solve")
        b = graph.to_tensor(rhs, main.dtype)
        if b.shape.ndims is None or main.shape.ndims is None:
            raise ShapeError("tridiagonal_solve needs diagonals and rhs of known rank")
        packed = stack([upper, main, lower], axis=-2)
        b = CONJ(b) if conjugate_rhs and b.dtype in COMPLEX else b
        if b.shape.ndims == main.shape.ndims:
            columns = EXPAND_DIMS(b, np.int32(-1))
            return TRIDIAGONAL_SOLVE(packed, columns, partial_pivoting=partial_pivoting)[..., 0]
        b = matrix_transpose(b) if transpose_rhs else b
        return TRIDIAGONAL_SOLVE(packed, b, partial_pivoting=partial_pivoting)


API: dict[str, Any] = {
    "matrix_diag": matrix_diag,
    "linalg.diag": matrix_diag,
    "matrix_diag_part": matrix_diag_part,
    "linalg.diag_part": matrix_diag_part,
    "matrix_set_diag": matrix_set_diag,
    "linalg.set_diag": matrix_set_diag,
    "linalg.tridiagonal_matmul": tridiagonal_matmul,
    "linalg.tridiagonal_solve": tridiagonal_solve,
}

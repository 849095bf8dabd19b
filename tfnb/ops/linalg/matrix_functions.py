"""Functions of square matrices (exponential, logarithm, square root), LU factors, and functions based on factors.

LAPACK and SciPy compute them on the host. The derivative of f at A in the direction E is the upper right block of f of
the block matrix [[A, E], [0, A]] (Mathias 1996), so one gradient function serves all. Invariant: leading dimensions are
a stack of independent matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import ONES_LIKE, ZEROS_LIKE
from tfnb.ops.array.gather import GATHER
from tfnb.ops.array.shape_ops import IDENTITY, SHAPE, expand_dims, squeeze
from tfnb.ops.array.transpose_pad_tile import INVERT_PERMUTATION, TRANSPOSE
from tfnb.ops.linalg.band_part import MATRIX_BAND_PART, MATRIX_SET_DIAG
from tfnb.ops.linalg.decompositions import SVD
from tfnb.ops.linalg.diag import one_hot
from tfnb.ops.linalg.inverse_solve import MATRIX_TRIANGULAR_SOLVE, NUMBERS, adjoint, product, square
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import GREATER, SELECT
from tfnb.ops.math.complex_numbers import real
from tfnb.ops.math.reduce_functions import reduce_max, reduce_sum
from tfnb.ops.math.unary import RECIPROCAL, SQRT, SQUARE
from tfnb.types import COMPLEX, INDEX, DType, DTypeLike, Shape, int32, unknown_shape

__all__ = ["API", "OPS"]


def _same(c: Infer) -> Shape:
    shapes = square(c)
    return unknown_shape if shapes is None else Shape((*(shapes[0].sizes or ()), shapes[1], shapes[1]))


def _function(what: str) -> Callable[[HostCall, np.ndarray], np.ndarray]:
    """A host kernel that applies SciPy's function to each matrix in double precision."""

    def run(call: HostCall, x: np.ndarray) -> np.ndarray:
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise InvalidArgumentError(f"{call.op.type}: needed square matrices, got shape {x.shape}", call.op)
        if not np.isfinite(x).all():
            return np.full_like(x, np.nan)
        compute = getattr(import_module("scipy.linalg"), what)
        wide_x = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
        out = np.empty_like(x)
        with np.errstate(all="ignore"):
            for place in np.ndindex(*x.shape[:-2]):
                result = compute(wide_x[place]) if x.shape[-1] else wide_x[place]
                if result.dtype.kind == "c" and x.dtype.kind != "c":
                    is_real = np.abs(result.imag).max() <= 1e-9 * max(1.0, np.abs(result).max())
                    result = result.real if is_real else np.full(result.shape, np.nan)
                out[place] = result
        return out

    return run


def _grad(op: Operation, dy: Tensor) -> Any:
    a = adjoint(op.inputs[0])
    size = a.shape.sizes[-1] if a.shape.sizes is not None else None
    upper, lower = concat([a, dy], -1), concat([ZEROS_LIKE(a), a], -1)
    block_function = op.opdef(concat([upper, lower], -2))
    if size is None:
        size = _last_size(a)
    return block_function[..., :size, size:]


def _last_size(x: Tensor) -> Any:
    """The size of the last dimension of a tensor, as a scalar."""
    sizes: Any = SHAPE(x, out_type=int32)
    return sizes[-1]


def _matrix_function(name: str, host: str, what: str, types: tuple[DType, ...] = NUMBERS) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs="input: T",
        outputs="output: T",
        types={"T": types},
        doc=f"""{what} of each square matrix.

        input: (..., n, n). output: the same shape and dtype; NaN where the result is not real, or an element is not
        finite. Errors: a matrix is not square. Runs on the host.""",
        infer=_same,
        host=_function(host),
        grad=_grad,
    )


MATRIX_EXPONENTIAL = _matrix_function("MatrixExponential", "expm", "The exponential sum A^k / k!")
MATRIX_LOGARITHM = _matrix_function("MatrixLogarithm", "logm", "The principal logarithm", COMPLEX)
MATRIX_SQUARE_ROOT = _matrix_function("MatrixSquareRoot", "sqrtm", "The principal square root")


def _lu_host(call: HostCall, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidArgumentError(f"Lu: needed square matrices, got shape {x.shape}", call.op)
    lapack = import_module("scipy.linalg")
    out, order = np.empty_like(x), np.empty(x.shape[:-1], call.types["output_idx_type"].np)
    for place in np.ndindex(*x.shape[:-2]):
        n = x.shape[-1]
        rows = np.arange(n)
        if n:
            if not np.linalg.matrix_rank(x[place]) == n:
                raise InvalidArgumentError("Lu: the input is not invertible", call.op)
            out[place], pivots = lapack.lu_factor(x[place])
            for k, p in enumerate(pivots):
                rows[[k, p]] = rows[[p, k]]
        order[place] = rows
    return out, order


def _grad_lu(op: Operation, dy: Tensor, _: Tensor) -> Any:
    """L^-H (strictly lower part of L^H dL + upper part of dU U^H) U^-H, with its rows in the order of the input."""
    packed, order = op.outputs
    low, up = _factors(packed)
    inner = MATRIX_BAND_PART(product(low, _strictly_lower(dy), adjoint_a=True), -1, 0)
    inner = _strictly_lower(inner) + MATRIX_BAND_PART(product(MATRIX_BAND_PART(dy, 0, -1), up, adjoint_b=True), 0, -1)
    left = MATRIX_TRIANGULAR_SOLVE(low, inner, lower=True, adjoint=True)
    permuted = adjoint(MATRIX_TRIANGULAR_SOLVE(up, adjoint(left), lower=False, adjoint=False))
    return _rows_back(permuted, order)


def _strictly_lower(x: Tensor) -> Tensor:
    return x - MATRIX_BAND_PART(x, 0, -1)


def _factors(packed: Tensor) -> tuple[Any, Any]:
    """Returns (L with ones on its diagonal, U), from the packed output of `Lu`."""
    low = MATRIX_BAND_PART(packed, -1, 0)
    diagonal = ONES_LIKE(low[..., 0])
    return MATRIX_SET_DIAG(low, diagonal), MATRIX_BAND_PART(packed, 0, -1)


def _by_matrix(x: Tensor, order: Tensor) -> Any:
    """Permutes the rows of each matrix of x by the corresponding row of `order`, as a product with a permutation."""
    n = order.shape.sizes[-1] if order.shape.sizes is not None else None
    permutation = one_hot(order, _last_size(order) if n is None else n)
    return product(cast_to(permutation, x.dtype), x)


def _rows_back(x: Tensor, order: Tensor) -> Any:
    n = order.shape.sizes[-1] if order.shape.sizes is not None else None
    if order.shape.ndims == 1:
        return GATHER(x, INVERT_PERMUTATION(order))
    permutation = one_hot(order, _last_size(order) if n is None else n)
    return product(cast_to(permutation, x.dtype), x, adjoint_a=True)


LU: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "Lu",
    inputs="input: T",
    outputs="lu: T, p: output_idx_type",
    types={"T": NUMBERS, "output_idx_type": INDEX},
    defaults={"output_idx_type": int32},
    doc="""The factors of each square matrix whose rows are permuted by p: input[p] = L U.

    input: (..., n, n). lu: the same shape; U in and above the diagonal, L (with ones on its diagonal) below. p: (...,
    n). Errors: a matrix is singular. Runs on the host.""",
    infer=lambda c: (_same(c), Shape((_same(c).sizes or ())[:-1]) if _same(c).sizes is not None else unknown_shape),
    host=_lu_host,
    grad=_grad_lu,
)


# ---- public functions ----------------------------------------------------------------------------


def _tensor(x: TensorLike) -> Tensor:
    return graph_of([x]).to_tensor(x)


def _real(x: Tensor) -> Any:
    return real(x) if x.dtype in COMPLEX else x


def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the exponential of each square matrix (..., n, n), with the same shape: see the op MatrixExponential."""
    return MATRIX_EXPONENTIAL(_tensor(input), name=name)


def logm(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the principal logarithm of each square complex matrix (..., n, n): see the op MatrixLogarithm."""
    return MATRIX_LOGARITHM(_tensor(input), name=name)


def sqrtm(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the principal square root of each square matrix (..., n, n): see the op MatrixSquareRoot."""
    return MATRIX_SQUARE_ROOT(_tensor(input), name=name)


def lu(input: TensorLike, output_idx_type: DTypeLike = int32, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns (the packed factors, the permutation of the rows) of each square matrix: see the op Lu.

    input: (..., n, n), the shape of the packed factors. The permutation has shape (..., n) and dtype `output_idx_type`.
    Errors at run time: a matrix is singular.
    """
    return LU(_tensor(input), output_idx_type=output_idx_type, name=name)


def lu_solve(
    lower_upper: TensorLike, perm: TensorLike, rhs: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Returns the solution x (..., n, k) of A x = rhs, where `lower_upper` and `perm` are the outputs of `lu` for A.

    lower_upper: (..., n, n). perm: (..., n). rhs: (..., n, k). `validate_args` has no effect.
    """
    low, up = _factors(_tensor(lower_upper))
    order = _tensor(perm)
    rhs = _tensor(rhs)
    rows = GATHER(rhs, order) if order.shape.ndims == 1 and rhs.shape.ndims == 2 else _by_matrix(rhs, order)
    y = MATRIX_TRIANGULAR_SOLVE(low, rows, lower=True, adjoint=False)
    return MATRIX_TRIANGULAR_SOLVE(up, y, lower=False, adjoint=False, name=name)


def lu_reconstruct(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Returns the matrices (..., n, n) for which `lu` returned the factors and the permutation."""
    low, up = _factors(_tensor(lower_upper))
    return IDENTITY(_rows_back(product(low, up), _tensor(perm)), name=name)


def lu_matrix_inverse(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Any:
    """Returns the inverses (..., n, n) of the matrices for which `lu` returned the factors and the permutation."""
    packed = _tensor(lower_upper)
    ones = MATRIX_SET_DIAG(ZEROS_LIKE(packed), ONES_LIKE(packed[..., 0]))
    return lu_solve(packed, perm, ones, validate_args, name)


def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the product (..., m) of each matrix of a (..., m, n) and the corresponding vector of b (..., n).

    a: transposed with `transpose_a`, and also conjugated with `adjoint_a`. b has the dtype of a. The sparse flags are
    hints without effect.
    """
    a = _tensor(a)
    column = a.graph.to_tensor(b, a.dtype)[..., None]
    return IDENTITY(matmul(a, column, transpose_a=transpose_a, adjoint_a=adjoint_a)[..., 0], name=name)


def pinv(a: Any, rcond: TensorLike | None = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Returns the pseudo-inverse (..., n, m) of each matrix (..., m, n).

    Singular values up to `rcond` (by default 10 max(m, n) eps) times the largest one count as 0. Raises
    `InvalidArgumentError` when rcond is missing and m or n is unknown.
    """
    a = _tensor(a)
    s, u, v = SVD(a, compute_uv=True, full_matrices=False)
    s = _real(s)
    if rcond is None:
        dims = a.shape.sizes
        if dims is None or None in dims[-2:]:
            raise InvalidArgumentError("pinv: give rcond for matrices of unknown size")
        rcond = 10.0 * max(dims[-2:]) * float(np.finfo(s.dtype.np).eps)
    significant = GREATER(s, rcond * reduce_max(s, axis=-1, keepdims=True))
    inverse = SELECT(significant, RECIPROCAL(SELECT(significant, s, ONES_LIKE(s))), ZEROS_LIKE(s))
    return IDENTITY(product(v * cast_to(inverse, v.dtype)[..., None, :], u, adjoint_b=True), name=name)


def matrix_rank(a: Any, tol: TensorLike | None = None, validate_args: bool = False, name: str | None = None) -> Any:
    """Returns the number (int32) of singular values above `tol` of each matrix (..., m, n), with shape (...).

    tol: by default eps max(m, n) times the largest singular value of the matrix. Raises `InvalidArgumentError` when tol
    is missing and m or n is unknown.
    """
    a = _tensor(a)
    s = _real(SVD(a, compute_uv=False, full_matrices=False)[0])
    if tol is None:
        dims = a.shape.sizes
        if dims is None or None in dims[-2:]:
            raise InvalidArgumentError("matrix_rank: give tol for matrices of unknown size")
        tol = float(np.finfo(s.dtype.np).eps) * max(dims[-2:]) * reduce_max(s, axis=-1, keepdims=True)
    return reduce_sum(cast_to(GREATER(s, tol), int32), axis=-1, name=name)


def norm(
    tensor: TensorLike,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Any:
    """Returns the norm of vectors along `axis`, of matrices along a pair of axes, or by default of all elements.

    ord: "euclidean"; for vectors also 1, 2, infinity or another positive number; for matrices also "fro", 1 (largest
    sum of a column), 2 (the largest singular value) or infinity (the largest sum of a row). Errors: another order.
    """
    x = graph_of((tensor, axis)).to_tensor(tensor)
    keep = bool(keep_dims if keepdims is None else keepdims)
    pair = isinstance(axis, (list, tuple)) and len(axis) == 2
    named = isinstance(ord, str)
    if axis is not None and not (_is_axis(axis) or (pair and all(map(_is_axis, axis)) and axis[0] != axis[1])):
        raise InvalidArgumentError(
            f"norm: 'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis!r}"
        )
    if pair and ord not in ("euclidean", "fro", 1, 2, np.inf):
        raise InvalidArgumentError(
            f"norm: 'ord' must be a supported matrix norm: 'euclidean', 'fro', 1, 2 or inf, got {ord!r}"
        )
    if not pair and (ord != "euclidean" if named else not ord > 0):
        raise InvalidArgumentError(
            f"norm: 'ord' must be a supported vector norm: 'euclidean' or a number > 0, got {ord!r}"
        )
    with x.graph.name_scope(name or "norm"):
        if pair and not named:
            return _matrix_norm(x, ord, int(axis[0]), int(axis[1]), keep)
        size = abs(x)
        if named or ord == 2:
            return SQRT(reduce_sum(SQUARE(size), axis, keepdims=keep))
        if ord == 1:
            return reduce_sum(size, axis, keepdims=keep)
        if np.isinf(ord):
            return reduce_max(size, axis, keepdims=keep)
        return reduce_sum(size**ord, axis, keepdims=keep) ** (1.0 / ord)


def _is_axis(axis: object) -> bool:
    return isinstance(axis, (int, np.integer)) and not isinstance(axis, bool)


def _matrix_norm(x: Tensor, ord: str | float, row: int, column: int, keep: bool) -> Any:
    if ord == 2:
        rank = x.shape.ndims
        if rank is None:
            raise InvalidArgumentError("norm: the 2-norm of matrices needs a tensor of known rank")
        pair = [a % rank for a in (row, column)]
        order = [a for a in range(rank) if a not in pair] + pair
        s = _real(SVD(TRANSPOSE(x, np.asarray(order, np.int32)), compute_uv=False, full_matrices=False)[0])
        largest = reduce_max(s, axis=-1)
        for a in sorted(pair) if keep else ():
            largest = expand_dims(largest, a)
        return largest
    summed, maximised = (row, column) if ord == 1 else (column, row)
    largest = reduce_max(reduce_sum(abs(x), summed, keepdims=True), maximised, keepdims=True)
    return largest if keep else squeeze(largest, [row, column])


def normalize(
    tensor: TensorLike, ord: str = "euclidean", axis: TensorLike | None = None, name: str | None = None
) -> tuple[Any, Any]:
    """Returns (tensor / its norm, the norm), with the norm taken along `axis`: see `norm`.

    The first result has the shape of the tensor; the norm keeps the reduced axes with size 1.
    """
    tensor = _tensor(tensor)
    length = norm(tensor, ord=ord, axis=axis, keepdims=True)
    return IDENTITY(tensor / length, name=name), length


def adjoint_of(matrix: TensorLike, name: str | None = None) -> Any:
    """Returns the (conjugate) transpose of each matrix (..., m, n). Raises `ShapeError` for a rank below two."""
    graph = graph_of((matrix,))
    with graph.as_default(), graph.name_scope(name or "adjoint"):
        return adjoint(graph.to_tensor(matrix))


OPS: tuple[OpDef, ...] = (MATRIX_EXPONENTIAL, MATRIX_LOGARITHM, MATRIX_SQUARE_ROOT, LU)
API: dict[str, Any] = {
    "linalg.expm": expm,
    "linalg.logm": logm,
    "linalg.sqrtm": sqrtm,
    "matrix_square_root": sqrtm,
    "linalg.lu": lu,
    "linalg.lu_solve": lu_solve,
    "linalg.lu_reconstruct": lu_reconstruct,
    "linalg.lu_matrix_inverse": lu_matrix_inverse,
    "linalg.adjoint": adjoint_of,
    "linalg.matvec": matvec,
    "linalg.pinv": pinv,
    "linalg.matrix_rank": matrix_rank,
    "linalg.normalize": normalize,
    "norm": norm,
}

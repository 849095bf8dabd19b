"""Bands and diagonals of matrices, transposition, and cross products (white paper, Table 1, matrix operations).

Invariant: elements outside the band are zero, and elements outside a replaced diagonal keep their value; the innermost
two dimensions are matrices, the others a batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.bounds import Bound
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import merged
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import CONCAT
from tfnb.ops.array.constants import RANGE, ZEROS_LIKE
from tfnb.ops.array.shape_ops import RANK
from tfnb.ops.array.transpose_pad_tile import TRANSPOSE
from tfnb.ops.linalg.diag import MATRIX_DIAG_PART
from tfnb.ops.math.complex_numbers import conj
from tfnb.sizes import smallest
from tfnb.types import FIXED_SIZE, INDEX, REALS, Shape, bracketed, int32, int64

__all__ = ["API", "MATRIX_BAND_PART", "MATRIX_SET_DIAG", "OPS", "matrix_transpose"]


def _matrices(c: Infer) -> Shape:
    x = c.shapes[0]
    if x.ndims is not None and x.ndims < 2:
        raise ShapeError(
            f"{c.op_name}: Shape must be at least rank 2 but is rank {x.ndims}: input must be at "
            f"least 2-dim, got shape {x}"
        )
    return x


def _host_band(call: HostCall, x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    for n, limit in zip((lower, upper), x.shape[-2:], strict=True):
        if n > limit:
            raise InvalidArgumentError(f"MatrixBandPart: {n} diagonals of matrices of shape {x.shape[-2:]}", call.op)
    below = np.arange(x.shape[-2])[:, None] - np.arange(x.shape[-1])
    keep = ((lower < 0) | (below <= lower)) & ((upper < 0) | (-below <= upper))
    return np.where(keep, x, np.zeros((), x.dtype))


def _lower_band(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    lower, upper = (s.cast(site.load(i, ()), int32) for i in (1, 2))
    below = idx[-2] - idx[-1]
    keep = s.and_(
        s.or_(s.lt(lower, 0), s.le(below, lower)),
        s.or_(s.lt(upper, 0), s.le(s.sub(0, below), upper)),
    )
    return s.where(keep, site.load(0, idx), s.const(0, site.outputs[0].dtype))


MATRIX_BAND_PART: OpDef[Tensor] = OpDef(
    "MatrixBandPart",
    inputs="input: T, num_lower: Tindex, num_upper: Tindex",
    outputs="band: T",
    types={"T": FIXED_SIZE, "Tindex": INDEX},
    defaults={"Tindex": int64},
    doc="""Keeps the elements at most num_lower below and num_upper above the diagonal, and sets the others to 0.

    input: a number type or bool, shape (..., m, n). num_lower, num_upper: integer scalars; a negative number keeps that
    whole triangle. band: shape of input. Errors: a number exceeds the matrix (not checked when a device computed
    it).""",
    infer=_matrices,
    host=_host_band,
    lower=_lower_band,
    bounds=lambda c: [Bound(i, c.shapes[0].known()[i - 3] + 1, None, "number of diagonals") for i in (1, 2)],
    grad=lambda op, dy: (MATRIX_BAND_PART(dy, op.inputs[1], op.inputs[2]), None, None),
    api="matrix_band_part linalg.band_part",
)


def _set_shape(c: Infer) -> Shape:
    x, d = _matrices(c), c.shapes[1]
    if x.sizes is None or d.sizes is None:
        return x
    m, n = x.sizes[-2:]
    expected = Shape((*x.sizes[:-2], None if m is None or n is None else smallest(m, n)))
    if not d.sizes:
        raise ShapeError(
            "MatrixSetDiag: Shape must be at least rank 1 but is rank 0: must have diagonal.shape == input.shape[:-2] "
            f"+ min(input.shape[-2:]), but received input shape: {bracketed(x.sizes)} and diagonal shape: []"
        )
    if not expected.is_compatible_with(d):
        raise ShapeError(f"MatrixSetDiag: input of shape {x} needs diagonals of shape {expected}, got {d}")
    return x


def _host_set(call: HostCall, x: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    k = min(x.shape[-2:])
    if diagonal.shape != (*x.shape[:-2], k):
        raise InvalidArgumentError(
            f"must have diagonal.shape == input.shape[:-2] + min(input.shape[-2:]), but received input shape: "
            f"{bracketed(x.shape)} and diagonal shape: {bracketed(diagonal.shape)}",
            call.op,
        )
    out = x.copy()
    out[..., np.arange(k), np.arange(k)] = diagonal
    return out


def _lower_set(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    if 0 in site.inputs[1].shape:
        return site.load(0, idx)
    at = s.minimum(idx[-2], site.inputs[1].shape[-1] - 1)
    return s.where(s.eq(idx[-2], idx[-1]), site.load(1, (*idx[:-2], at)), site.load(0, idx))


def _grad_set(op: Operation, dy: Tensor) -> tuple[Tensor, Tensor]:
    return MATRIX_SET_DIAG(dy, ZEROS_LIKE(op.inputs[1])), MATRIX_DIAG_PART(dy)


MATRIX_SET_DIAG: OpDef[Tensor] = OpDef(
    "MatrixSetDiag",
    inputs="input: T, diagonal: T",
    outputs="output: T",
    types={"T": FIXED_SIZE},
    doc="""Replaces the diagonals of matrices.

    input: a number type or bool, shape (..., m, n). diagonal: the same dtype, shape (..., min(m, n)). output: shape
    of input. Errors: the shapes do not match.""",
    infer=_set_shape,
    host=_host_set,
    lower=_lower_set,
    grad=_grad_set,
)


def matrix_transpose(a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """Swaps the last two axes of `a`, and takes the complex conjugate too if `conjugate`.

    Raises `ShapeError` for a rank below two.
    """
    graph = graph_of((a,))
    with graph.as_default(), graph.name_scope(name):
        x = graph.to_tensor(a)
        x = conj(x) if conjugate else x
        rank = x.shape.ndims
        if rank is not None and rank < 2:
            raise ShapeError(f"matrix_transpose: the argument should be a (batch) matrix, got shape {x.shape}")
        if rank is not None:
            return TRANSPOSE(x, np.asarray([*range(rank - 2), rank - 1, rank - 2], np.int32))
        n = RANK(x)
        batch = RANGE(np.int32(0), n - 2, np.int32(1))
        return TRANSPOSE(x, CONCAT(np.int32(0), [batch, graph.to_tensor([n - 1, n - 2])]))


def _cross_shape(c: Infer) -> Shape:
    shape = merged(c, 0, 1)
    if shape.sizes is not None and (not shape.sizes or shape.sizes[-1] not in (3, None)):
        raise ShapeError(f"Cross: the last dimension must be 3, got shape {shape}")
    return shape


def _lower_cross(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    rest, k = idx[:-1], idx[-1]
    after, before = s.floormod(k + 1, 3), s.floormod(k + 2, 3)
    a, b = (lambda i: site.load(0, (*rest, i))), (lambda i: site.load(1, (*rest, i)))
    return a(after) * b(before) - a(before) * b(after)


def _host_cross(call: HostCall, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    (x, y, z), (u, v, w) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], -1).astype(a.dtype)


CROSS: OpDef[Tensor] = OpDef(
    "Cross",
    inputs="a: T, b: T",
    outputs="product: T",
    types={"T": REALS},
    doc="""The cross products of vectors of three elements.

    a, b: the same number type and shape (..., 3). product: that dtype and shape. Errors: the shapes differ, or the
    last dimension is not 3.""",
    infer=_cross_shape,
    host=_host_cross,
    lower=_lower_cross,
    grad=lambda op, dy: (CROSS(op.inputs[1], dy), CROSS(dy, op.inputs[0])),
    api="cross linalg.cross",
)

OPS: tuple[OpDef, ...] = (MATRIX_BAND_PART, MATRIX_SET_DIAG, CROSS)
API: dict[str, Any] = {
    "matrix_transpose": matrix_transpose,
    "linalg.transpose": matrix_transpose,
}

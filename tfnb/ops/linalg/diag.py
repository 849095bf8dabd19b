"""Diagonals of matrices, and one-hot rows (white paper, Table 1, array operations).

Invariant: elements off the diagonal are zero; extracting a diagonal and creating a diagonal matrix are each other's
gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import normalize_axis
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.pack import PACK
from tfnb.ops.array.shape_ops import SHAPE
from tfnb.ops.array.transpose_pad_tile import PAD
from tfnb.sizes import integer, smallest
from tfnb.types import (
    ALL,
    FIXED_SIZE,
    DTypeLike,
    Shape,
    as_dtype,
    float32,
    int32,
    int64,
    uint8,
    unknown_shape,
)

__all__ = ["API", "ONE_HOT", "OPS"]


def _all_equal(left: tuple[Expr, ...], right: tuple[Expr, ...]) -> Expr:
    equal = s.eq(left[0], right[0])
    for a, b in zip(left[1:], right[1:], strict=True):
        equal = s.and_(equal, s.eq(a, b))
    return equal


def _diag_shape(c: Infer) -> Shape:
    d = c.shapes[0]
    if d.ndims == 0:
        raise ShapeError("Diag: Shape must be at least rank 1 but is rank 0: needs a tensor, got a scalar")
    return d.concatenate(d)


def _host_diag(call: HostCall, diagonal: np.ndarray) -> np.ndarray:
    return np.diag(diagonal.reshape(-1)).reshape(diagonal.shape * 2)


def _lower_diag(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    k = len(idx) // 2
    zero = s.const(0, site.outputs[0].dtype)
    return s.where(_all_equal(idx[:k], idx[k:]), site.load(0, idx[:k]), zero)


DIAG: OpDef[Tensor] = OpDef(
    "Diag",
    inputs="diagonal: T",
    outputs="output: T",
    types={"T": FIXED_SIZE},
    doc="""A tensor with the given diagonal and zeros elsewhere: output[i, ..., i, ...] = diagonal[i, ...].

    diagonal: any number type, rank k >= 1. output: rank 2 k; its shape is the shape of diagonal twice.""",
    infer=_diag_shape,
    host=_host_diag,
    lower=_lower_diag,
    grad=lambda op, dy: DIAG_PART(dy),
    api="diag",
)


def _diag_part_shape(c: Infer) -> Shape:
    x = c.shapes[0]
    if x.sizes is None:
        return unknown_shape
    k = len(x.sizes) // 2
    if len(x.sizes) % 2 or not k:
        raise ShapeError(f"DiagPart: needs an even rank >= 2, got shape {x}")
    return Shape(x.sizes[:k]).merge_with(Shape(x.sizes[k:]))


def _host_diag_part(call: HostCall, x: np.ndarray) -> np.ndarray:
    half = x.shape[: x.ndim // 2]
    if x.shape[x.ndim // 2 :] != half:
        raise InvalidArgumentError(f"DiagPart: shape {x.shape} is not a shape twice", call.op)
    n = int(np.prod(half, dtype=np.int64))
    return np.diagonal(x.reshape(n, n)).reshape(half)


DIAG_PART: OpDef[Tensor] = OpDef(
    "DiagPart",
    inputs="input: T",
    outputs="diagonal: T",
    types={"T": FIXED_SIZE},
    doc="""The diagonal of a tensor: diagonal[i, ...] = input[i, ..., i, ...].

    input: any number type, rank 2 k, with two equal halves of the shape. diagonal: rank k. Errors: the two halves of
    the shape differ.""",
    infer=_diag_part_shape,
    host=_host_diag_part,
    lower=lambda site, idx, port: site.load(0, (*idx, *idx)),
    grad=lambda op, dy: DIAG(dy),
    api="diag_part",
)


def _matrix_diag_shape(c: Infer) -> Shape:
    d = c.shapes[0]
    if d.ndims == 0:
        raise ShapeError(
            "MatrixDiag: Shape must be at least rank 1 but is rank 0: input must be at least 1-dim, got a scalar"
        )
    return d if d.sizes is None else Shape((*d.sizes, d.sizes[-1]))


def _host_matrix_diag(call: HostCall, diagonal: np.ndarray) -> np.ndarray:
    n = diagonal.shape[-1]
    out = np.zeros((*diagonal.shape, n), diagonal.dtype)
    out[..., np.arange(n), np.arange(n)] = diagonal
    return out


def _lower_matrix_diag(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    zero = s.const(0, site.outputs[0].dtype)
    return s.where(s.eq(idx[-1], idx[-2]), site.load(0, idx[:-1]), zero)


MATRIX_DIAG: OpDef[Tensor] = OpDef(
    "MatrixDiag",
    inputs="diagonal: T",
    outputs="output: T",
    types={"T": FIXED_SIZE},
    doc="""Square matrices with the given diagonals and zeros elsewhere.

    diagonal: any number type, shape (..., n). output: shape (..., n, n).""",
    infer=_matrix_diag_shape,
    host=_host_matrix_diag,
    lower=_lower_matrix_diag,
    grad=lambda op, dy: MATRIX_DIAG_PART(dy),
)


def _matrix_part_shape(c: Infer) -> Shape:
    x = c.shapes[0]
    if x.sizes is None:
        return unknown_shape
    if len(x.sizes) < 2:
        raise ShapeError(
            f"MatrixDiagPart: Shape must be at least rank 2 but is rank {len(x.sizes)}: input must "
            f"be at least 2-dim, got {x}"
        )
    m, n = x.sizes[-2:]
    return Shape((*x.sizes[:-2], None if m is None or n is None else smallest(m, n)))


def _grad_matrix_part(op: Operation, dy: Tensor) -> Tensor:
    square = MATRIX_DIAG(dy)
    dims = op.x.shape.sizes
    if dims is not None and None not in dims[-2:] and dims[-2] == dims[-1]:
        return square
    shape = SHAPE(op.x, out_type=int32) - SHAPE(square, out_type=int32)
    return PAD(square, PACK([shape * 0, shape], axis=1))


MATRIX_DIAG_PART: OpDef[Tensor] = OpDef(
    "MatrixDiagPart",
    inputs="input: T",
    outputs="diagonal: T",
    types={"T": FIXED_SIZE},
    doc="""The diagonals of matrices.

    input: any number type, shape (..., m, n). diagonal: shape (..., min(m, n)).""",
    infer=_matrix_part_shape,
    host=lambda call, x: np.ascontiguousarray(np.diagonal(x, axis1=-2, axis2=-1)),
    lower=lambda site, idx, port: site.load(0, (*idx, idx[-1])),
    grad=_grad_matrix_part,
)


@record
class OneHotAttrs:
    """`axis`: the position of the new dimension; -1 means last."""

    axis: int = -1


def _one_hot_axis(axis: int, rank: int) -> int:
    if axis < -1:
        raise InvalidArgumentError(f"OneHot: axis must be -1 or in [0, {rank}), got {axis}")
    return normalize_axis(axis, rank, "OneHot: axis")


def _one_hot_shape(c: Infer) -> Shape:
    x, depth = c.shapes[0], c.value(1)
    if x.sizes is None:
        return unknown_shape
    a = _one_hot_axis(c.attrs.axis, len(x.sizes) + 1)
    n = None if depth is None else integer(depth.reshape(()))
    if n is not None and n < 0:
        raise InvalidArgumentError(f"OneHot: depth must be >= 0, got {n}")
    return Shape((*x.sizes[:a], n, *x.sizes[a:]))


def _host_one_hot(
    call: HostCall, indices: np.ndarray, depth: np.ndarray, on: np.ndarray, off: np.ndarray
) -> np.ndarray:
    a = _one_hot_axis(call.attrs.axis, indices.ndim + 1)
    levels = np.arange(int(depth)).reshape([-1 if i == a else 1 for i in range(indices.ndim + 1)])
    return np.where(np.expand_dims(indices, a) == levels, on, off).astype(on.dtype)


def _lower_one_hot(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    a = _one_hot_axis(site.attrs.axis, len(idx))
    label = site.load(0, (*idx[:a], *idx[a + 1 :]))
    return s.where(s.eq(label, s.cast(idx[a], label.dtype)), site.load(2, ()), site.load(3, ()))


ONE_HOT: OpDef[Tensor] = OpDef(
    "OneHot",
    inputs="indices: TI, depth: int32, on_value: T, off_value: T",
    outputs="output: T",
    types={"TI": (int64, int32, uint8), "T": ALL},
    defaults={"TI": int64},
    attrs=OneHotAttrs,
    doc="""Rows with `on_value` at the given index and `off_value` elsewhere.

    indices: integers, any shape; a row whose index is outside [0, depth) has no on_value. depth: an int32 scalar, the
    length of a row. on_value, off_value: scalars of the same dtype. output: the shape of indices with a dimension of
    size `depth` inserted at `axis`. Errors: depth < 0, or the axis is out of range.""",
    infer=_one_hot_shape,
    host=_host_one_hot,
    lower=_lower_one_hot,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(1,),
)


def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Rows of length `depth` with `on_value` (by default 1) at the index and `off_value` (by default 0) elsewhere.

    indices: integers, any shape; a row whose index is outside [0, depth) has no on_value. axis: the position of the
    new dimension, by default last. dtype: the dtype of the values, by default float32. Errors: the values do not have
    this dtype.
    """
    graph = graph_of((indices, depth, on_value, off_value))
    target_dtype = None if dtype is None else as_dtype(dtype)
    if target_dtype is None:
        values = [v for v in (on_value, off_value) if v is not None]
        target_dtype = graph.to_tensor(values[0]).dtype if values else float32
    for what, value in (("on_value", on_value), ("off_value", off_value)):
        given = getattr(value, "dtype", None)
        if given is not None and as_dtype(given) is not target_dtype:
            raise DTypeError(f"dtype {as_dtype(given)} of {what} does not match dtype parameter {target_dtype}")
    with graph.name_scope(name or "one_hot") as scope:
        on = graph.to_tensor(target_dtype.np.type(1) if on_value is None else on_value, target_dtype, name="on_value")
        off = graph.to_tensor(
            target_dtype.np.type(0) if off_value is None else off_value, target_dtype, name="off_value"
        )
        return ONE_HOT(indices, depth, on, off, axis=-1 if axis is None else axis, name=scope)


OPS: tuple[OpDef, ...] = (DIAG, DIAG_PART, MATRIX_DIAG, MATRIX_DIAG_PART, ONE_HOT)
API: dict[str, Any] = {"one_hot": one_hot}

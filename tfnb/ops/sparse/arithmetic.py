"""Arithmetic of sparse with dense tensors: products, sums, elementwise operations (OSDI'16, section 3.1).

The ops take a sparse tensor as its three dense components. Invariant: absent elements count as zero, except where the
documentation of an op says otherwise; gradients exist for the values, not for the indices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.const import constant_shape, constant_value
from tfnb.ir.opdef import GradFn, GradientMissing, HostCall, Infer, NotDifferentiable, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import CONCAT
from tfnb.ops.array.constants import FILL
from tfnb.ops.array.gather import GATHER, GATHER_V2, UNSORTED_SEGMENT_SUM
from tfnb.ops.array.gather_nd import GATHER_ND, SCATTER_ND
from tfnb.ops.array.pack import PACK
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RANK, RESHAPE, SHAPE, SIZE
from tfnb.ops.array.transpose_pad_tile import TRANSPOSE
from tfnb.ops.linalg.matmul import MAT_MUL
from tfnb.ops.math.binary import DIV, FLOOR_DIV
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.complex_numbers import conj
from tfnb.ops.math.reduce_sum import SUM, all_axes
from tfnb.ops.math.unary import SQUARE
from tfnb.types import (
    INDEX,
    NUMBERS,
    REALS,
    Shape,
    bfloat16,
    float32,
    int32,
    int64,
)

__all__ = [
    "OPS",
    "SPARSE_DENSE_CWISE",
    "SPARSE_TENSOR_DENSE_ADD",
    "SPARSE_TENSOR_DENSE_MATMUL",
    "check_places",
    "places",
    "rank_of",
    "room_for",
]


def check_places(call: HostCall, indices: np.ndarray, shape: np.ndarray) -> None:
    """Raises `InvalidArgumentError` for an index outside `shape`, or of another rank."""
    if indices.ndim != 2 or indices.shape[1:] != shape.shape:
        raise InvalidArgumentError(f"indices of shape {indices.shape} for a dense shape {shape.tolist()}", call.op)
    bad = ((indices < 0) | (indices >= shape)).any(1)
    if bad.any():
        where = indices[bad][0].tolist()
        raise InvalidArgumentError(f"invalid index: {where} is not inside shape {shape.tolist()}", call.op)


def room_for(call: HostCall, shape: np.ndarray, *indices: np.ndarray) -> np.ndarray:
    """Returns `shape`, made larger where indices lie beyond it, so that `places` tells them apart.

    Ops that only compare and sort indices take those too. Raises `InvalidArgumentError` for a negative index, and one
    of another rank.
    """
    room = shape
    for rows in indices:
        if rows.ndim == 2 and rows.shape[1:] == shape.shape and rows.size:
            room = np.maximum(room, rows.max(0) + 1)
    for rows in indices:
        check_places(call, rows, room)
    return room


def places(indices: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Returns the row-major numbers of the indices in a tensor of `shape`."""
    strides = np.cumprod([1, *shape[:0:-1].tolist()])[::-1] if shape.size else np.zeros(0)
    return (indices * strides.astype(np.int64)).sum(1).astype(np.int64)


def rank_of(shape: Tensor) -> int | None:
    """Returns the static rank of the sparse tensor with this dense shape, or None."""
    return shape.shape.sizes[0] if shape.shape.sizes else None


# product with a dense matrix


@record
class AdjointAttrs:
    """`adjoint_a`, `adjoint_b`: use the (conjugate) transpose of that matrix."""

    adjoint_a: bool = False
    adjoint_b: bool = False


def _product_shape(c: Infer) -> Shape:
    a, b = c.as_shape(2).with_rank(2).sizes, with_rank(c, 3, 2).sizes
    rows, inner = a[::-1] if c.attrs.adjoint_a else a  # type: ignore[index,misc]
    depth, columns = b[::-1] if c.attrs.adjoint_b else b  # type: ignore[index,misc]
    if inner is not None and depth is not None and inner != depth:
        raise ShapeError(f"{c.op_name}: Dimensions must be equal, but are {inner} (columns) and {depth} (rows)")
    return Shape((rows, columns))


def _check_product(call: HostCall, indices: np.ndarray, shape: np.ndarray, flip: bool) -> None:
    """Raises `InvalidArgumentError` for an index outside the sparse matrix, in the words of TensorFlow."""
    bad = _outsiders(indices, shape.tolist()) if indices.shape[1:] == shape.shape else np.zeros(0, np.int64)
    if bad.size:
        row, column = (int(n) for n in bad[0])
        of = "km"[column == (1 if flip else 0)]
        raise InvalidArgumentError(
            f"{of} ({indices[row, column]}) from index[{row},{column}] out of bounds (>={shape[column]})", call.op
        )
    check_places(call, indices, shape)


def _outsiders(indices: np.ndarray, sizes: Sequence[int | None]) -> np.ndarray:
    """Returns the places of the numbers in `indices`, (n, rank), that are outside of a tensor of these sizes."""
    return np.argwhere((indices < 0) | (indices >= np.asarray(sizes)))


def _host_product(
    call: HostCall, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, b: np.ndarray
) -> np.ndarray:
    flip = call.attrs.adjoint_a
    _check_product(call, indices, shape, flip)
    right = b.conj().T if call.attrs.adjoint_b else b
    values = values.conj() if flip else values
    if shape[0 if flip else 1] != right.shape[0]:
        raise InvalidArgumentError(f"shapes {shape.tolist()} and {right.shape} do not fit", call.op)
    wide_dtype = np.float32 if b.dtype.itemsize == 2 else b.dtype
    out = np.zeros((int(shape[1 if flip else 0]), right.shape[1]), wide_dtype)
    target_rows, at = (indices[:, 1], indices[:, 0]) if flip else (indices[:, 0], indices[:, 1])
    np.add.at(out, target_rows, values[:, None].astype(wide_dtype) * right[at].astype(wide_dtype))
    return out.astype(b.dtype)


def _terms(op: Operation, indices: Tensor, b: Tensor) -> tuple[Any, Any, Any]:
    """Returns (for each value the row of the product, the row of the dense matrix that it multiplies, that matrix)."""
    at = [GATHER_V2(indices, np.int32(k), np.int32(1)) for k in (0, 1)]
    target_rows, row = at[::-1] if op.attrs.adjoint_a else at
    return target_rows, row, conj(TRANSPOSE(b, np.asarray([1, 0], np.int32))) if op.attrs.adjoint_b else b


def _expand_product(op: Operation, indices: Tensor, values: Tensor, shape: Tensor, b: Tensor) -> Tensor | None:
    if _is_known_outside(constant_value(indices), constant_shape(shape).sizes):
        return None  # the host refuses it
    target_rows, row, right = _terms(op, indices, b)
    terms = GATHER(right, row) * EXPAND_DIMS(conj(values) if op.attrs.adjoint_a else values, np.int32(1))
    return UNSORTED_SEGMENT_SUM(terms, target_rows, shape[1 if op.attrs.adjoint_a else 0])


def _grad_product(op: Operation, dy: Tensor) -> Any:
    indices, values, shape, b = op.inputs
    target_rows, row, right = _terms(op, indices, b)
    d_values = SUM(GATHER(dy, target_rows) * conj(GATHER(right, row)), np.asarray([1], np.int32))
    db = SPARSE_TENSOR_DENSE_MATMUL(indices, values, shape, dy, adjoint_a=not op.attrs.adjoint_a)
    return (
        None,
        conj(d_values) if op.attrs.adjoint_a else d_values,
        None,
        conj(TRANSPOSE(db, np.asarray([1, 0], np.int32))) if op.attrs.adjoint_b else db,
    )


SPARSE_TENSOR_DENSE_MATMUL: OpDef[Tensor] = OpDef(
    "SparseTensorDenseMatMul",
    inputs="a_indices: Tindices, a_values: T, a_shape: int64, b: T",
    outputs="product: T",
    types={"T": NUMBERS, "Tindices": INDEX},
    attrs=AdjointAttrs,
    doc="""The product of a sparse and a dense matrix.

    a_indices (n, 2), a_values (n,), a_shape (2,): the sparse matrix, m x k. b: k x n, of the values' dtype.
    product: m x n. Each matrix is replaced by its adjoint first if its attribute is set. Errors: the shapes do not
    match, or an index is outside the matrix (a device drops one that it computed itself).""",
    infer=_product_shape,
    host=_host_product,
    expand=_expand_product,
    grad=_grad_product,
    shape_inputs=(2,),
)


@record
class SparseMatMulAttrs:
    """`transpose_a`, `transpose_b`: use the transpose; `a_is_sparse`, `b_is_sparse`: hints without effect."""

    transpose_a: bool = False
    transpose_b: bool = False
    a_is_sparse: bool = False
    b_is_sparse: bool = False


def _dense_product_shape(c: Infer) -> Shape:
    a, b = with_rank(c, 0, 2).sizes, with_rank(c, 1, 2).sizes
    rows, inner = a[::-1] if c.attrs.transpose_a else a  # type: ignore[index,misc]
    depth, columns = b[::-1] if c.attrs.transpose_b else b  # type: ignore[index,misc]
    if inner is not None and depth is not None and inner != depth:
        raise ShapeError(f"{c.op_name}: shapes {c.shapes[0]} and {c.shapes[1]} do not fit")
    return Shape((rows, columns))


def _host_dense_product(call: HostCall, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    left, right = a.astype(np.float32), b.astype(np.float32)
    return (left.T if call.attrs.transpose_a else left) @ (right.T if call.attrs.transpose_b else right)


def _expand_dense_product(op: Operation, a: Tensor, b: Tensor) -> Tensor:
    flags = {"transpose_a": op.attrs.transpose_a, "transpose_b": op.attrs.transpose_b}
    return MAT_MUL(cast_to(a, float32), cast_to(b, float32), **flags)


def _grad_dense_product(op: Operation, dy: Tensor) -> Any:
    (a, b), ta, tb = op.inputs, op.attrs.transpose_a, op.attrs.transpose_b
    x, y = cast_to(a, float32), cast_to(b, float32)
    da = MAT_MUL(y, dy, transpose_a=tb, transpose_b=True) if ta else MAT_MUL(dy, y, transpose_b=not tb)
    db = MAT_MUL(dy, x, transpose_a=True, transpose_b=ta) if tb else MAT_MUL(x, dy, transpose_a=not ta)
    return cast_to(da, a.dtype), cast_to(db, b.dtype)


SPARSE_MAT_MUL: OpDef[Tensor] = OpDef(
    "SparseMatMul",
    inputs="a: Ta, b: Tb",
    outputs="product: float32",
    types={"Ta": (float32, bfloat16), "Tb": (float32, bfloat16)},
    attrs=SparseMatMulAttrs,
    doc="""The product of two dense matrices with many zeros; computed as `MatMul` in float32.

    a: m x k, b: k x n, float32 or bfloat16. product: float32, m x n. Errors: the shapes do not match.""",
    infer=_dense_product_shape,
    host=_host_dense_product,
    expand=_expand_dense_product,
    grad=_grad_dense_product,
    api="sparse_matmul",
)

# elementwise with a dense tensor


def _host_dense_add(
    call: HostCall, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, b: np.ndarray
) -> np.ndarray:
    if tuple(shape.tolist()) != b.shape:
        raise InvalidArgumentError(
            f"the sparse tensor's shape {shape.tolist()} and the dense one's {list(b.shape)} differ", call.op
        )
    check_places(call, indices, shape)
    out = b.astype(b.dtype)
    np.add.at(out, tuple(indices.T), values)
    return out


def _is_wrong_sum(indices: np.ndarray | None, sizes: tuple[int | None, ...] | None, dense: Shape) -> bool:
    """Returns whether the shapes are known to differ, or an index is known to be outside of them."""
    if sizes is None or None in sizes:
        return False
    return sizes != dense.sizes or _is_known_outside(indices, sizes)


def _is_known_outside(indices: np.ndarray | None, sizes: tuple[int | None, ...] | None) -> bool:
    return indices is not None and sizes is not None and None not in sizes and bool(_outsiders(indices, sizes).size)


def _expand_dense_add(op: Operation, indices: Tensor, values: Tensor, shape: Tensor, b: Tensor) -> Tensor | None:
    if not b.shape.ndims or _is_wrong_sum(constant_value(indices), constant_shape(shape).sizes, b.shape):
        return None  # the host refuses it
    rows = RESHAPE(indices, np.asarray([-1, b.shape.ndims], np.int32))
    return b + SCATTER_ND(rows, values, SHAPE(b, out_type=rows.dtype))


SPARSE_TENSOR_DENSE_ADD: OpDef[Tensor] = OpDef(
    "SparseTensorDenseAdd",
    inputs="a_indices: Tindices, a_values: T, a_shape: Tindices, b: T",
    outputs="output: T",
    types={"T": NUMBERS, "Tindices": INDEX},
    doc="""The dense sum of a sparse and a dense tensor of the same shape.

    a_indices (n, rank), a_values (n,), a_shape (rank,): the sparse tensor. b, output: dense, of that shape and
    dtype. Errors: the shapes differ (a device compares only a constant a_shape), or an index is outside the shape (a
    device drops one that it computed itself).""",
    infer=lambda c: c.shapes[3],
    host=_host_dense_add,
    expand=_expand_dense_add,
    grad=lambda op, dy: (None, GATHER_ND(dy, op.inputs[0]), None, dy),
)


def _host_cwise(fn: Callable[[Any, Any], Any]) -> Callable[..., np.ndarray]:
    def kernel(
        call: HostCall,
        indices: np.ndarray,
        values: np.ndarray,
        shape: np.ndarray,
        dense: np.ndarray,
    ) -> np.ndarray:
        check_places(call, indices, shape)
        skip = shape.size - dense.ndim
        tail = shape[skip:].tolist() if skip >= 0 else []
        if skip < 0 or any(d not in (1, n) for d, n in zip(dense.shape, tail, strict=True)):
            raise InvalidArgumentError(f"{dense.shape} does not broadcast to {shape.tolist()}", call.op)
        at = tuple(indices[:, skip + k] * (d != 1) for k, d in enumerate(dense.shape))
        operands = dense[at] if at else dense
        with np.errstate(all="ignore"):
            return np.asarray(fn(values, operands)).astype(values.dtype)

    return kernel


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind not in "iu":
        return a / b
    divisor = np.where(b == 0, 1, b)
    return np.where(b == 0, 0, np.trunc(a / divisor)).astype(a.dtype)


def _own_places(indices: Tensor, shape: Tensor, dense: Tensor) -> Any | None:
    """The index in `dense` that broadcasts to each index of the sparse tensor; None if a rank is not known."""
    rank, size = dense.shape.ndims, shape.shape.sizes
    sparse_rank = size[0] if size else None
    if rank is None or sparse_rank is None or sparse_rank < rank:
        return None
    tail, dense_tail = shape[sparse_rank - rank :], SHAPE(dense, out_type=int64)
    rows = RESHAPE(indices, np.asarray([-1, sparse_rank], np.int32))
    return FLOOR_DIV(rows[:, sparse_rank - rank :], FLOOR_DIV(tail, dense_tail))


def _picked(indices: Tensor, shape: Tensor, dense: Tensor) -> Any | None:
    """The element of `dense` that belongs to each value, or None if a rank is not known."""
    if dense.shape.ndims == 0:
        return dense
    at = _own_places(indices, shape, dense)
    return None if at is None else GATHER_ND(dense, at)


def _unknown_places(indices: Tensor, shape: Tensor, dense: Tensor) -> tuple[Any, Any]:
    """As `_own_places` for ranks known only at run time: (indices, shape) in `dense` with leading dimensions of 1."""
    leading_ones = FILL(PACK([SIZE(shape, out_type=int32) - RANK(dense)]), np.int64(1))
    padded_shape = CONCAT(np.int32(0), [leading_ones, SHAPE(dense, out_type=int64)])
    return FLOOR_DIV(indices, FLOOR_DIV(shape, padded_shape)), padded_shape


def _expand_cwise(fn: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def expand(op: Operation, indices: Tensor, values: Tensor, shape: Tensor, dense: Tensor) -> Any:
        rank, sparse_rank = dense.shape.ndims, rank_of(shape)
        if rank is None or sparse_rank is None or sparse_rank < rank:
            return None
        return fn(values, _picked(indices, shape, dense))

    return expand


def _grad_cwise(slopes: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Callable[..., Any]:
    """A gradient function from `slopes` of (dy, values, their dense elements), which returns both gradients."""

    def grad(op: Operation, dy: Tensor) -> Any:
        indices, values, shape, dense = op.inputs
        operand, at, padded_shape = _picked(indices, shape, dense), None, None
        if operand is None:
            at, padded_shape = _unknown_places(indices, shape, dense)
            operand = GATHER_ND(RESHAPE(dense, padded_shape), at)
        dx, terms = slopes(dy, values, operand)
        if dense.shape.ndims == 0:
            return None, dx, None, SUM(terms, all_axes(terms))
        if padded_shape is not None:
            return None, dx, None, RESHAPE(SCATTER_ND(at, terms, padded_shape), SHAPE(dense, out_type=int32))
        at = _own_places(indices, shape, dense)
        return None, dx, None, SCATTER_ND(at, terms, SHAPE(dense, out_type=int64))

    return grad


def _cwise(
    name: str,
    what: str,
    host: Callable[..., Any],
    fn: Callable[..., Any],
    grad: GradFn | NotDifferentiable | GradientMissing,
) -> OpDef:
    return OpDef(
        f"SparseDenseCwise{name}",
        inputs="sp_indices: int64, sp_values: T, sp_shape: int64, dense: T",
        outputs="output: T",
        types={"T": REALS},
        doc=f"""The values of a sparse tensor {what} the corresponding elements of a dense tensor.

        sp_indices (n, rank), sp_values (n,), sp_shape (rank,): the sparse tensor. dense: the same dtype; it broadcasts
        to the sparse tensor's shape, which is not broadcast itself. output: (n,), the new values. Errors: the shapes do
        not match, or, on the host, an index is outside the shape.""",
        infer=lambda c: c.shapes[1],
        host=_host_cwise(host),
        expand=_expand_cwise(fn),
        grad=grad,
    )


SPARSE_DENSE_CWISE = {
    "Mul": _cwise("Mul", "times", np.multiply, lambda a, b: a * b, _grad_cwise(lambda dy, x, y: (dy * y, dy * x))),
    "Div": _cwise(
        "Div",
        "divided by",
        _quotient,
        lambda a, b: DIV(a, b),
        _grad_cwise(lambda dy, x, y: (dy / y, dy * (-x / SQUARE(y)))),
    ),
    "Add": _cwise("Add", "plus", np.add, lambda a, b: a + b, _grad_cwise(lambda dy, x, y: (dy, dy))),
}

OPS: tuple[OpDef, ...] = (
    SPARSE_TENSOR_DENSE_MATMUL,
    SPARSE_MAT_MUL,
    SPARSE_TENSOR_DENSE_ADD,
    *SPARSE_DENSE_CWISE.values(),
)
API: dict[str, Any] = {}

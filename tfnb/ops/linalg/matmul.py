"""Products of matrices and of stacks of matrices (white paper, Table 1, matrix operations).

Invariant: transposition is a flag of the product and never a copy; each gradient is again one product with flags.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import broadcast_shapes, with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import CONCAT_V2
from tfnb.ops.array.select_broadcast import BROADCAST_ARGS
from tfnb.ops.array.shape_ops import RESHAPE, shape_of
from tfnb.ops.linalg.matmul_recipes import matmul_calls, matmul_product
from tfnb.ops.math.binary import operands
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.complex_numbers import conj, holomorphic
from tfnb.ops.math.reduce_sum import BROADCAST_TO, unbroadcast
from tfnb.types import NUMBERS, Shape, bfloat16, float32, unknown_shape

__all__ = ["API", "BATCH_MAT_MUL", "MAT_MUL", "OPS", "batch_matmul", "host_batch_product", "matmul"]


@record
class MatMulAttrs:
    """`transpose_a`, `transpose_b`: use the transpose of that matrix."""

    transpose_a: bool = False
    transpose_b: bool = False


@record
class BatchMatMulAttrs:
    """`adj_x`, `adj_y`: use the (conjugate) transpose of that stack of matrices."""

    adj_x: bool = False
    adj_y: bool = False


def _product_dims(c: Infer, a: Shape, b: Shape, ta: bool, tb: bool) -> tuple[int | None, int | None]:
    (m, k), (rows, n) = (x.sizes[-2:][::-1] if t else x.sizes[-2:] for x, t in ((a, ta), (b, tb)))  # type: ignore[index]
    if None not in (k, rows) and k != rows:
        flags = f" (transposed: {ta}, {tb})" if ta or tb else ""
        raise ShapeError(
            f"{c.op_name}: Matrix size-incompatible: {a} times {b}{flags}: "
            f"Dimensions must be equal, but are {k} and {rows}" + _transposition(k, rows, m, n)
        )
    return m, n


def _transposition(k: int | None, rows: int | None, m: int | None, n: int | None) -> str:
    """A hint on which matrix to transpose, or to swap both, so that an (m, k) and a (rows, n) matrix have a product."""
    if n is not None and n == k:
        return "; the second one transposed fits (transpose_b)"
    if m is not None and m == rows:
        return "; the first one transposed fits (transpose_a)"
    if m is not None and m == n:
        return "; they fit in the other order"
    return ""


def _matmul_shape(c: Infer) -> Shape:
    a, b = with_rank(c, 0, 2), with_rank(c, 1, 2)
    return Shape(_product_dims(c, a, b, c.attrs.transpose_a, c.attrs.transpose_b))


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x


def _host_product(call: HostCall, a: np.ndarray, b: np.ndarray, ta: bool, tb: bool) -> np.ndarray:
    left, right = (np.swapaxes(_wide(x), -1, -2) if t else _wide(x) for x, t in ((a, ta), (b, tb)))
    if left.shape[-1] != right.shape[-2] or left.shape[:-2] != right.shape[:-2]:
        raise InvalidArgumentError(f"matrices of shapes {a.shape} and {b.shape} cannot be multiplied", call.op)
    with np.errstate(all="ignore"):
        return np.matmul(left, right).astype(a.dtype)


def _host_matmul(call: HostCall, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _host_product(call, a, b, call.attrs.transpose_a, call.attrs.transpose_b)


def _grads(times: Callable[..., Any], op: Operation, ta: bool, tb: bool, g: Tensor) -> tuple[Any, Any]:
    """`times(x, y, tx, ty)` multiplies; ta and tb are the transposition flags of the inputs of `op`."""
    a, b = op.inputs
    ga = times(b, g, tb, True) if ta else times(g, b, False, not tb)
    gb = times(g, a, True, ta) if tb else times(a, g, not ta, False)
    return ga, gb


def _times(x: Tensor, y: Tensor, tx: bool, ty: bool) -> Tensor:
    return MAT_MUL(x, y, transpose_a=tx, transpose_b=ty)


def _batch_times(x: Tensor, y: Tensor, tx: bool, ty: bool) -> Tensor:
    return BATCH_MAT_MUL(x, y, adj_x=tx, adj_y=ty)


MAT_MUL: OpDef[Tensor] = OpDef(
    "MatMul",
    inputs="a: T, b: T",
    outputs="product: T",
    types={"T": NUMBERS},
    attrs=MatMulAttrs,
    doc="""The product of two matrices.

    a: shape (m, k), or (k, m) with `transpose_a`. b: shape (k, n), or (n, k) with `transpose_b`; the same number
    type. product: shape (m, n). Errors: an input is not a matrix, or the inner dimensions differ.""",
    infer=_matmul_shape,
    host=_host_matmul,
    opencl=matmul_calls,
    takes_formulas=True,
    epilogue=True,
    product=matmul_product,
    grad=holomorphic(lambda op, g: _grads(_times, op, op.attrs.transpose_a, op.attrs.transpose_b, g)),
    defaults={"grad_a": None, "grad_b": None},
)


def _batch_shape(c: Infer) -> Shape:
    x, y = c.shapes
    if x.sizes is None or y.sizes is None:
        return unknown_shape
    if len(x.sizes) < 2 or len(x.sizes) != len(y.sizes):
        raise ShapeError(f"BatchMatMul: needs stacks of matrices of one rank, got shapes {x} and {y}")
    try:
        batch = Shape(x.sizes[:-2]).merge_with(Shape(y.sizes[:-2]))
    except ShapeError:
        raise ShapeError(f"BatchMatMul: the leading dimensions of {x} and {y} differ") from None
    return Shape((*batch.as_list(), *_product_dims(c, x, y, c.attrs.adj_x, c.attrs.adj_y)))


def host_batch_product(call: HostCall, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Multiplies stacks of matrices on the host; adjoint matrices are conjugated, then transposed."""
    tx, ty = call.attrs.adj_x, call.attrs.adj_y
    return _host_product(call, np.conj(x) if tx else x, np.conj(y) if ty else y, tx, ty)


BATCH_MAT_MUL: OpDef[Tensor] = OpDef(
    "BatchMatMul",
    inputs="x: T, y: T",
    outputs="output: T",
    types={"T": NUMBERS},
    attrs=BatchMatMulAttrs,
    doc="""The products of corresponding matrices of two stacks.

    x: shape (..., m, k), or (..., k, m) with `adj_x`. y: shape (..., k, n), or (..., n, k) with `adj_y`; the same
    number type and equal leading dimensions. output: shape (..., m, n). Errors: the shapes do not match.""",
    infer=_batch_shape,
    host=host_batch_product,
    opencl=matmul_calls,
    takes_formulas=True,
    epilogue=True,
    grad=lambda op, g: _grads(_batch_times, op, op.attrs.adj_x, op.attrs.adj_y, g),
    defaults={"grad_x": None, "grad_y": None},
)


def _stacks(c: Infer) -> Shape:
    x, y = c.shapes
    if x.sizes is None or y.sizes is None:
        return unknown_shape
    if len(x.sizes) < 2 or len(y.sizes) < 2:
        raise ShapeError(f"BatchMatMulV2: needs stacks of matrices, got shapes {x} and {y}")
    dims = _product_dims(c, x, y, c.attrs.adj_x, c.attrs.adj_y)
    return broadcast_shapes(Shape(x.sizes[:-2]), Shape(y.sizes[:-2])).concatenate(dims)


def _is_one_matrix(y: Tensor, x: Tensor) -> bool:
    """Returns whether `y` is known to be one matrix, with leading dimensions of 1 that change no shape of `x`."""
    dims, others = y.shape.sizes, x.shape.sizes
    if dims is None or others is None:
        return False
    return len(dims) <= len(others) and all(d == 1 for d in dims[:-2])


def _rows(x: Tensor) -> Tensor:
    """Returns the rows of all matrices of a stack as one matrix."""
    width = x.shape.as_list()[-1]
    return RESHAPE(x, np.asarray([-1, width], np.int32) if width is not None else _sizes([-1], shape_of(x)[-1:]))


def _sizes(*parts: Sequence[int | None] | Tensor | np.ndarray) -> Tensor | np.ndarray:
    """Returns the vector of the sizes in all parts, each a list of numbers or a vector: an array if all are known."""
    if not any(isinstance(p, Tensor) for p in parts):
        return np.concatenate([np.asarray(p, np.int32) for p in parts])
    return CONCAT_V2([p if isinstance(p, Tensor) else np.asarray(p, np.int32) for p in parts], np.int32(0))


def _matrix(y: Tensor) -> Tensor:
    return y if y.shape.ndims == 2 else RESHAPE(y, shape_of(y)[-2:])


def _one_product(x: Tensor, y: Tensor, adj_x: bool, adj_y: bool) -> Tensor:
    return MAT_MUL(conj(x) if adj_x else x, conj(y) if adj_y else y, transpose_a=adj_x, transpose_b=adj_y)


def _widened_stacks(x: Tensor, y: Tensor) -> tuple[Any, Any]:
    """Returns both stacks of matrices, with their leading dimensions broadcast to the common shape."""
    a, b = x.shape, y.shape
    if a.is_fully_defined() and b.is_fully_defined():
        known = broadcast_shapes(a[:-2], b[:-2]).known()
        return _spread(x, known), _spread(y, known)
    dims_x, dims_y = shape_of(x), shape_of(y)
    lead = BROADCAST_ARGS(dims_x[:-2], dims_y[:-2])
    return BROADCAST_TO(x, _sizes(lead, dims_x[-2:])), BROADCAST_TO(y, _sizes(lead, dims_y[-2:]))


def _spread(x: Tensor, lead: tuple[int, ...]) -> Tensor:
    dims = x.shape.known()
    return x if dims[:-2] == lead else BROADCAST_TO(x, np.asarray((*lead, *dims[-2:]), np.int32))


def _expand_stacks(op: Operation, x: Tensor, y: Tensor) -> Tensor:
    """One product of the rows of all matrices where one matrix multiplies them, else that of widened stacks."""
    adj_x, adj_y = op.attrs.adj_x, op.attrs.adj_y
    if not adj_x and _is_one_matrix(y, x):
        product = _one_product(_rows(x), _matrix(y), False, adj_y)
        return RESHAPE(product, _sizes(shape_of(x)[:-1], shape_of(product)[-1:]))
    x, y = _widened_stacks(x, y)
    return BATCH_MAT_MUL(x, y, adj_x=adj_x, adj_y=adj_y)


def _stacks_times(x: Tensor, y: Tensor, tx: bool, ty: bool) -> Tensor:
    return BATCH_MAT_MUL_V2(x, y, adj_x=tx, adj_y=ty)


def _grad_stacks(op: Operation, g: Tensor) -> tuple[Any, Any]:
    x, y = op.inputs
    adj_x, adj_y = op.attrs.adj_x, op.attrs.adj_y
    if not adj_x and _is_one_matrix(y, x):
        left, right = (g, x) if adj_y else (x, g)
        matrix = _one_product(_rows(left), _rows(right), True, False)
        return _stacks_times(g, y, False, not adj_y), matrix if y.shape.ndims == 2 else RESHAPE(matrix, shape_of(y))
    dx, dy = _grads(_stacks_times, op, adj_x, adj_y, g)
    return unbroadcast(x, dx, dx, None)[0], unbroadcast(y, dy, dy, None)[0]


def _host_stacks(call: HostCall, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return host_batch_product(call, *(np.broadcast_to(v, lead + v.shape[-2:]) for v in (x, y)))


BATCH_MAT_MUL_V2: OpDef[Tensor] = OpDef(
    "BatchMatMulV2",
    inputs="x: T, y: T",
    outputs="output: T",
    types=BATCH_MAT_MUL.types,
    attrs=BatchMatMulAttrs,
    doc="""The products of corresponding matrices of two stacks, whose leading dimensions broadcast.

    x: shape (..., m, k), or (..., k, m) with `adj_x`. y: shape (..., k, n), or (..., n, k) with `adj_y`; the same
    number type. output: shape (..., m, n). Errors: the shapes do not match.""",
    infer=_stacks,
    host=_host_stacks,
    expand=_expand_stacks,
    grad=_grad_stacks,
    defaults={"grad_x": None, "grad_y": None},
)


def _broadcast(a: Shape, b: Shape) -> bool:
    """Returns whether the leading dimensions of two stacks may differ, as far as they are known."""
    if a.sizes is None or b.sizes is None:
        return False
    first, second = a.sizes[:-2], b.sizes[:-2]
    return len(first) != len(second) or any(1 in pair and pair != (1, 1) for pair in zip(first, second, strict=True))


def _widened(a: TensorLike, b: TensorLike, is_sparse: bool, name: str) -> tuple[Tensor, Tensor, str]:
    """Returns the factors of a product as tensors, those of bfloat16 as float32 if the other is, or `is_sparse`; and
    the name of the product.
    """
    if {bfloat16, float32} == {getattr(x, "dtype", None) for x in (a, b)} or is_sparse:
        graph = graph_of((a, b))
        a, b = (cast_to(x, float32) if x.dtype is bfloat16 else x for x in map(graph.to_tensor, (a, b)))
    return operands(a, b, name, ("a", "b"))


def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the product of matrices, or of stacks of matrices of rank > 2.

    a: (..., m, k), or (..., k, m) if transposed; b: (..., k, n), or (..., n, k); the same number type. The result is
    (..., m, n); leading dimensions of which one is known to be 1, or to be missing, broadcast. A product of bfloat16
    and float32 is of float32. The sparse flags are hints; with one a product of two matrices of bfloat16 is of float32,
    too. Errors: the shapes or dtypes do not match, or a matrix is both transposed and adjoint.
    """
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise InvalidArgumentError("matmul: give transpose or adjoint of a matrix, not both")
    a, b, name = _widened(a, b, a_is_sparse or b_is_sparse, name or "MatMul")
    ta, tb = transpose_a or adjoint_a, transpose_b or adjoint_b
    ranks = {a.shape.ndims, b.shape.ndims}
    if ranks == {None} or max(rank or 0 for rank in ranks) > 2:
        a, b = (conj(a) if transpose_a else a), (conj(b) if transpose_b else b)
        times = BATCH_MAT_MUL_V2 if _broadcast(a.shape, b.shape) else BATCH_MAT_MUL
        return times(a, b, adj_x=ta, adj_y=tb, name=name)
    a, b = (conj(a) if adjoint_a else a), (conj(b) if adjoint_b else b)
    return MAT_MUL(a, b, transpose_a=ta, transpose_b=tb, name=name)


def batch_matmul(
    x: TensorLike, y: TensorLike, adj_x: bool = False, adj_y: bool = False, name: str | None = None
) -> Tensor:
    """Returns the products of corresponding matrices of two stacks: see the op BatchMatMul.

    x: (..., m, k). y: (..., k, n), of the same dtype. adj_x, adj_y: use the (conjugate) transposes. The result has
    shape (..., m, n).
    """
    return BATCH_MAT_MUL(x, y, adj_x=adj_x, adj_y=adj_y, name=name)


OPS: tuple[OpDef, ...] = (MAT_MUL, BATCH_MAT_MUL, BATCH_MAT_MUL_V2)
API: dict[str, Any] = {
    "matmul": matmul,
    "batch_matmul": batch_matmul,
}

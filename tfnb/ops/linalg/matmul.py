"""Products of matrices and of stacks of matrices (white paper, Table 1, matrix operations).

Invariant: transposition is a flag of the product and never a copy; each gradient is again one product with flags.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.linalg.matmul_recipes import matmul_calls, matmul_product
from tfnb.ops.math.binary import operands
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.complex_numbers import conj, holomorphic
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
            f"{c.op_name}: Dimensions must be equal, but are {k} and {rows}: Matrix size-incompatible: "
            f"matrices of shapes {a} and {b}{flags} do not fit: {k} columns, {rows} rows"
            + _transposition(k, rows, m, n)
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


def _times(x: Any, y: Tensor, tx: bool, ty: bool) -> Any:
    return MAT_MUL(x, y, transpose_a=tx, transpose_b=ty)


def _batch_times(x: Tensor, y: Tensor, tx: bool, ty: bool) -> Any:
    return BATCH_MAT_MUL(x, y, adj_x=tx, adj_y=ty)


MAT_MUL = OpDef(
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


BATCH_MAT_MUL = OpDef(
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


def _widened(a: Any, b: Any, is_sparse: bool, name: str) -> tuple[Any, Any, str]:
    """Returns the factors of a product as tensors, those of bfloat16 as float32 if the other is, or `is_sparse`; and
    the name of the product.
    """
    if {bfloat16, float32} == {getattr(x, "dtype", None) for x in (a, b)} or is_sparse:
        graph = graph_of((a, b))
        a, b = (cast_to(x, float32) if x.dtype is bfloat16 else x for x in map(graph.to_tensor, (a, b)))
    return operands(a, b, name, ("a", "b"))


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the product of matrices, or of stacks of matrices of rank > 2.

    a: (..., m, k), or (..., k, m) if transposed; b: (..., k, n), or (..., n, k); the same number type. The result is
    (..., m, n). A product of bfloat16 and float32 is of float32. The sparse flags are hints; with one a product of two
    matrices of bfloat16 is of float32, too. Errors: the shapes or dtypes do not match, or a matrix is
    both transposed and adjoint.
    """
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise InvalidArgumentError("matmul: give transpose or adjoint of a matrix, not both")
    a, b, name = _widened(a, b, a_is_sparse or b_is_sparse, name or "MatMul")
    ta, tb = transpose_a or adjoint_a, transpose_b or adjoint_b
    ranks = {a.shape.ndims, b.shape.ndims}
    if ranks == {None} or max(rank or 0 for rank in ranks) > 2:
        a, b = (conj(a) if transpose_a else a), (conj(b) if transpose_b else b)
        return BATCH_MAT_MUL(a, b, adj_x=ta, adj_y=tb, name=name)
    a, b = (conj(a) if adjoint_a else a), (conj(b) if adjoint_b else b)
    return MAT_MUL(a, b, transpose_a=ta, transpose_b=tb, name=name)


def batch_matmul(
    x: TensorLike, y: TensorLike, adj_x: bool = False, adj_y: bool = False, name: str | None = None
) -> Any:
    """Returns the products of corresponding matrices of two stacks: see the op BatchMatMul.

    x: (..., m, k). y: (..., k, n), of the same dtype. adj_x, adj_y: use the (conjugate) transposes. The result has
    shape (..., m, n).
    """
    return BATCH_MAT_MUL(x, y, adj_x=adj_x, adj_y=adj_y, name=name)


OPS: tuple[OpDef, ...] = (MAT_MUL, BATCH_MAT_MUL)
API: dict[str, Any] = {
    "matmul": matmul,
    "batch_matmul": batch_matmul,
}

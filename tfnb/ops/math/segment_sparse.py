"""Reductions over segments of selected rows of a table, which are not copied out first (white paper, Table 1).

Embedding lookups with several ids per example are built from these ops. Invariant: the result equals gathering the
rows and reducing over sorted segments; the gradient is summed into the rows that were read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import ONES_LIKE
from tfnb.ops.array.gather import GATHER, UNSORTED_SEGMENT_SUM
from tfnb.ops.array.shape_ops import RESHAPE, SHAPE
from tfnb.ops.math.binary import MAXIMUM
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.segment import check_sorted, reduce_rows
from tfnb.ops.math.unary import SQRT
from tfnb.types import FLOATS, INDEX, REALS, DType, DTypeLike, Shape, int32, unknown_shape

__all__ = ["API", "OPS", "SPARSE_SEGMENT_MEAN", "SPARSE_SEGMENT_SQRT_N", "SPARSE_SEGMENT_SUM"]

KINDS = ("Sum", "Mean", "SqrtN")
_WORDS = {"Sum": "sum", "Mean": "mean", "SqrtN": "sum over the root of the count"}


@record
class SparseSegmentAttrs:
    """`sparse_gradient`: accepted for compatibility with TensorFlow; it has no effect."""

    sparse_gradient: bool = False


def _divisors(kind: str, sizes: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    n = np.maximum(sizes, 1)
    return (n if kind == "Mean" else np.sqrt(n)).astype(dtype)


def _rows_shape(c: Infer, count: int | None) -> Shape:
    with_rank(c, 1, 1).merge_with(with_rank(c, 2, 1))
    data = c.shapes[0]
    if data.ndims == 0:
        raise ShapeError(f"{c.op_name}: data must have rows, got a scalar")
    return unknown_shape if data.sizes is None else Shape((count, *data.sizes[1:]))


def _host(
    call: HostCall,
    data: np.ndarray,
    indices: np.ndarray,
    ids: np.ndarray,
    num: np.ndarray | None = None,
    kind: str = "Sum",
) -> np.ndarray:
    needed_count = check_sorted(call, ids)
    count = needed_count if num is None else int(num)
    if count < needed_count:
        raise InvalidArgumentError(
            f"segment id {needed_count - 1} is not below the number of segments, {count}", call.op
        )
    _check_rows(call, indices, data.shape[0])
    wide_dtype = np.float32 if data.dtype.itemsize == 2 and data.dtype.kind not in "iu" else data.dtype
    rows = data.take(indices, axis=0).astype(wide_dtype, copy=False)
    total = reduce_rows(rows, ids, count, np.add, 0)
    if kind != "Sum":
        sizes = np.bincount(ids, minlength=count).reshape(-1, *(1,) * (data.ndim - 1))
        total /= _divisors(kind, sizes, wide_dtype)
    return total.astype(data.dtype, copy=False)


def _check_rows(call: HostCall, indices: np.ndarray, rows: int) -> None:
    if indices.size and (indices.min() < 0 or indices.max() >= rows):
        where = int(np.flatnonzero((indices < 0) | (indices >= rows))[0])
        raise InvalidArgumentError(f"indices[{where}] == {indices[where]} out of range [0, {rows})", call.op)


def _scales(kind: str, ids: Tensor, count: Tensor, like: Tensor) -> Tensor:
    """The divisors of the sums of the segments, of shape (count, 1, ...)."""
    if like.shape.ndims is None:
        raise ShapeError(f"SparseSegment{kind}: the rank of data must be known")
    sizes = UNSORTED_SEGMENT_SUM(cast_to(ONES_LIKE(ids), like.dtype), ids, count)
    sizes = RESHAPE(sizes, np.asarray([-1, *(1,) * (like.shape.ndims - 1)], np.int32))
    sizes = MAXIMUM(sizes, like.dtype.np.type(1))
    return sizes if kind == "Mean" else SQRT(sizes)


def _expand(op: Operation, data: Tensor, indices: Tensor, ids: Tensor, num: Tensor, kind: str) -> Any:
    total = UNSORTED_SEGMENT_SUM(GATHER(data, indices), ids, num)
    return total if kind == "Sum" else total / _scales(kind, ids, num, data)


def _grad(op: Operation, dy: Tensor, kind: str) -> Any:
    data, indices, ids = op.inputs[:3]
    rest = (None,) * (len(op.inputs) - 1)
    rows = SHAPE(data, out_type=int32)[0]
    if kind == "Sum" and not data.dtype.is_floating:
        return UNSORTED_SEGMENT_SUM(GATHER(dy, ids), indices, rows), *rest
    return GRADS[kind](dy, indices, ids, rows), *rest


_DOC = """The {what} of each segment of selected rows: output[k] combines the data[indices[i]] with segment_ids[i] = k.

    data: {types}, shape (rows, ...). indices: integers in [0, rows), shape (n,). segment_ids: n integers in ascending
    order.{more} A segment without rows gives 0. Errors: ids that decrease or are negative, a wrong index{where}."""


def _op(kind: str, types: tuple[DType, ...]) -> OpDef:
    words = "a number type" if types is REALS else "a float type"
    where = ". Runs on the host: the size depends on the data"
    return OpDef(
        f"SparseSegment{kind}",
        inputs="data: T, indices: Tidx, segment_ids: Tsegmentids",
        outputs="output: T",
        types={"T": types, "Tidx": INDEX, "Tsegmentids": INDEX},
        defaults={"Tidx": int32, "Tsegmentids": int32},
        attrs=SparseSegmentAttrs,
        doc=_DOC.format(what=_WORDS[kind], types=words, more=" output: last id + 1 rows.", where=where),
        infer=lambda c: _rows_shape(c, None),
        host=partial(_host, kind=kind),
        grad=partial(_grad, kind=kind),
        dynamic=True,
    )


def _with_count(c: Infer) -> Shape:
    value = c.value(3)
    return _rows_shape(c, None if value is None else int(value.reshape(())))


def _counted(kind: str, types: tuple[DType, ...]) -> OpDef:
    words = "a number type" if types is REALS else "a float type"
    argument_doc, host_note = " num_segments: an integer scalar, the rows of the output.", " (on the host)"
    return OpDef(
        f"SparseSegment{kind}WithNumSegments",
        inputs="data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments",
        outputs="output: T",
        types={"T": types, "Tidx": INDEX, "Tnumsegments": INDEX, "Tsegmentids": INDEX},
        defaults={"Tidx": int32, "Tnumsegments": int32, "Tsegmentids": int32},
        attrs=SparseSegmentAttrs,
        doc=_DOC.format(what=_WORDS[kind], types=words, more=argument_doc, where=host_note),
        infer=_with_count,
        host=partial(_host, kind=kind),
        expand=partial(_expand, kind=kind),
        grad=partial(_grad, kind=kind),
        shape_inputs=(3,),
    )


def _host_grad(
    call: HostCall,
    grad: np.ndarray,
    indices: np.ndarray,
    ids: np.ndarray,
    rows: np.ndarray,
    kind: str,
) -> np.ndarray:
    check_sorted(call, ids)
    _check_rows(call, ids, grad.shape[0])
    _check_rows(call, indices, int(rows))
    wide_dtype = np.float32 if grad.dtype.itemsize == 2 else grad.dtype
    share = grad.astype(wide_dtype)
    if kind != "Sum":
        sizes = np.bincount(ids, minlength=grad.shape[0]).reshape(-1, *(1,) * (grad.ndim - 1))
        share = share / _divisors(kind, sizes, wide_dtype)
    return reduce_rows(share[ids], indices, int(rows), np.add, 0).astype(grad.dtype)


def _expand_grad(op: Operation, grad: Tensor, indices: Tensor, ids: Tensor, rows: Tensor, kind: str) -> Tensor:
    share = grad
    if kind != "Sum":
        share = grad / _scales(kind, ids, SHAPE(grad, out_type=int32)[0], grad)
    return UNSORTED_SEGMENT_SUM(GATHER(share, ids), indices, rows)


def _grad_grad(op: Operation, g: Tensor, kind: str) -> Any:
    grad, indices, ids, _ = op.inputs
    return COUNTED[kind](g, indices, ids, SHAPE(grad, out_type=int32)[0]), None, None, None


def _gradient(kind: str) -> OpDef:
    return OpDef(
        f"SparseSegment{kind}Grad",
        inputs="grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32",
        outputs="output: T",
        types={"T": FLOATS, "Tidx": INDEX, "Tsegmentids": INDEX},
        defaults={"Tidx": int32, "Tsegmentids": int32},
        doc=f"""The gradient of SparseSegment{kind} with respect to its data: shares of `grad` summed into rows.

        grad: a float type, one row per segment. indices, segment_ids: the inputs of the forward op. output_dim0: an
        int32 scalar, the number of rows of the data. Errors: an index or an id is out of range (on the host).""",
        infer=_with_count,
        host=partial(_host_grad, kind=kind),
        expand=partial(_expand_grad, kind=kind),
        grad=partial(_grad_grad, kind=kind),
        shape_inputs=(3,),
    )


GRADS = {kind: _gradient(kind) for kind in KINDS}
COUNTED = {kind: _counted(kind, REALS if kind == "Sum" else FLOATS) for kind in KINDS}
SPARSE_SEGMENT_SUM, SPARSE_SEGMENT_MEAN, SPARSE_SEGMENT_SQRT_N = (
    _op(kind, REALS if kind == "Sum" else FLOATS) for kind in KINDS
)


def _function(op: OpDef, counted: OpDef, what: str) -> Callable[..., Any]:
    def call(
        data: Tensor, indices: Tensor, segment_ids: Tensor, name: str | None = None, num_segments: Tensor | None = None
    ) -> Any:
        if num_segments is None:
            return op(data, indices, segment_ids, name=name)
        return counted(data, indices, segment_ids, num_segments, name=name)

    call.__doc__ = (
        f"The {what} of each segment of the rows `indices` of `data`; `segment_ids` must not fall. The result has "
        "`num_segments` rows, by default the last id + 1.\n\nErrors: ids that fall, an index out of range."
    )
    return call


OPS: tuple[OpDef, ...] = (
    SPARSE_SEGMENT_SUM,
    SPARSE_SEGMENT_MEAN,
    SPARSE_SEGMENT_SQRT_N,
    *COUNTED.values(),
    *GRADS.values(),
)
API: dict[str, Any] = {
    "sparse_segment_sum": _function(SPARSE_SEGMENT_SUM, COUNTED["Sum"], _WORDS["Sum"]),
    "sparse_segment_mean": _function(SPARSE_SEGMENT_MEAN, COUNTED["Mean"], _WORDS["Mean"]),
    "sparse_segment_sqrt_n": _function(SPARSE_SEGMENT_SQRT_N, COUNTED["SqrtN"], _WORDS["SqrtN"]),
}

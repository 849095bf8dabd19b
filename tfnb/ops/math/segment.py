"""Reductions over segments: rows with the same segment number are combined (white paper, Table 1, array operations).

For sorted segment numbers, the last number determines how many segments there are; the output size depends on data, so
these ops run on the host. The unsorted ops get the number of segments as an input and have kernels. Invariant: a
segment without rows has the op's neutral element, and a gradient reaches only rows that contributed to the output.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import graph_of
from tfnb.ir.kernelcall import I32, In, KernelCall, KernelSite, Out
from tfnb.ir.opdef import GradFn, GradientMissing, HostCall, Infer, NotDifferentiable, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ONES_LIKE, ZEROS_LIKE
from tfnb.ops.array.gather import (
    GATHER,
    UNSORTED_SEGMENT_SUM,
    check_below,
    gather_kept,
    segment_bounds,
    segment_bytes,
    segment_groups,
    segmented_shape,
)
from tfnb.ops.array.shape_ops import RESHAPE, SHAPE
from tfnb.ops.kernel_dtypes import signed_defines
from tfnb.ops.math.binary import MAXIMUM, REAL_DIV
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import EQUAL, GREATER, LOGICAL_AND, SELECT
from tfnb.ops.math.unary import SQRT
from tfnb.types import INDEX, NUMBERS, REALS, DType, DTypeLike, Shape, as_dtype, int32, unknown_shape

__all__ = [
    "API",
    "OPS",
    "SEGMENT_SUM",
    "UNSORTED_SEGMENT_MAX",
    "check_sorted",
    "reduce_rows",
]

_MANY = 64  # the ratio of segments to rows of the largest segment from which it is faster to go by rows


def check_sorted(call: HostCall, ids: np.ndarray) -> int:
    """Returns the number of segments, which is the last id plus one, or 0 if there are no ids.

    Raises `InvalidArgumentError` when the ids are negative or decrease.
    """
    if not ids.size:
        return 0
    if ids[-1] < 0:
        raise InvalidArgumentError("segment ids must be >= 0", call.op)
    if ids[0] < 0 or (np.diff(ids) < 0).any():
        high = next((i for i in ids.tolist() if not 0 <= i <= ids[-1]), ids.max())
        raise InvalidArgumentError(
            f"segment ids are not increasing by 1 or more, or staying the same. Segment id {high} out of range "
            f"[0, {ids[-1] + 1}), possibly because 'segment_ids' input is not sorted.",
            call.op,
        )
    return int(ids[-1]) + 1


def reduce_rows(
    rows: np.ndarray, ids: np.ndarray, count: int, ufunc: np.ufunc, start: float | np.generic
) -> np.ndarray:
    """`count` rows; row k combines `start` and those of `rows` whose id is k, in their order, by `ufunc`."""
    dtype = rows.dtype
    narrow = dtype.itemsize == 2 and dtype.kind not in "iu"
    wide_dtype = np.dtype(np.float32) if narrow else dtype
    out = np.full((count, *rows.shape[1:]), start, wide_dtype)
    if not rows.size:
        return out.astype(dtype, copy=False)
    if (ids[1:] < ids[:-1]).any():
        order = np.argsort(ids, kind="stable")
        ids, rows = ids[order], rows[order]
    first = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    sizes = np.diff(first, append=len(ids))
    rows = rows.astype(wide_dtype, copy=False)
    with np.errstate(all="ignore"):
        if len(first) > _MANY * sizes.max():  # step k combines the k-th rows of all segments at once
            totals = np.full((len(first), *rows.shape[1:]), start, wide_dtype)
            for k in range(int(sizes.max())):
                has = np.flatnonzero(sizes > k)
                totals[has] = ufunc(totals[has], rows.take(first[has] + k, axis=0))
            out[ids[first]] = totals
        else:
            ends = (first + sizes).tolist()
            for at, i, end in zip(ids[first].tolist(), first.tolist(), ends, strict=True):
                out[at] = ufunc.reduce(rows[i:end], axis=0, dtype=wide_dtype, initial=start)
    return out.astype(dtype, copy=False)


def _sorted_shape(c: Infer) -> Shape:
    with_rank(c, 1, 1)
    data = c.shapes[0]
    return unknown_shape if data.sizes is None else Shape((None, *data.sizes[1:]))


def _host_sorted(call: HostCall, data: np.ndarray, ids: np.ndarray, reduce: Callable[..., Any]) -> np.ndarray:
    count = check_sorted(call, ids)
    if data.shape[:1] != ids.shape:
        raise InvalidArgumentError(
            f"segment_ids should be the same size as dimension 0 of data: {ids.size} ids, data {data.shape}", call.op
        )
    return reduce(data, ids, count)


def _extreme(rows: np.ndarray, ids: np.ndarray, count: int, ufunc: np.ufunc) -> np.ndarray:
    """Combines the rows of each segment by `ufunc`; segments without rows are 0."""
    out = reduce_rows(rows, ids, count, ufunc, _worst(rows.dtype, ufunc is np.maximum))
    out[np.bincount(ids, minlength=count) == 0] = 0
    return out


def _worst(dtype: DTypeLike, highest: bool) -> Any:
    """The start value of a maximum (or minimum): the lowest (highest) finite number of the type."""
    limits = as_dtype(dtype)
    return limits.min if highest else limits.max


def _mean_rows(rows: np.ndarray, ids: np.ndarray, count: int) -> np.ndarray:
    total = reduce_rows(rows, ids, count, np.add, 0)
    sizes = np.maximum(np.bincount(ids, minlength=count), 1).reshape(-1, *(1,) * (rows.ndim - 1))
    if rows.dtype.kind in "iu":
        return (np.sign(total) * (np.abs(total) // sizes)).astype(rows.dtype)
    return (total / sizes.astype(total.dtype)).astype(rows.dtype)


def _counts_like(ids: Tensor, values: Tensor) -> Tensor:
    """Returns the number of rows in each segment of `values`, 1 for none, with trailing dimensions of size 1.

    The result has the dtype and rank of `values`. The rows are counted as integers: complex numbers have no maximum.
    """
    sizes = UNSORTED_SEGMENT_SUM(cast_to(ONES_LIKE(ids), int32), ids, SHAPE(values, out_type=int32)[0])
    counts = cast_to(MAXIMUM(sizes, 1), values.dtype)
    if values.shape.ndims is None:
        raise InvalidArgumentError("the gradient of a segment mean needs a known rank")
    return RESHAPE(counts, np.asarray([-1, *(1,) * (values.shape.ndims - 1)], np.int32))


def _grad_mean(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    return GATHER(REAL_DIV(dy, _counts_like(op.inputs[1], dy)), op.inputs[1]), None


def _grad_extreme(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    """All rows that have the extreme value get equal shares of the gradient."""
    data, ids = op.inputs
    is_extreme = EQUAL(data, GATHER(op.outputs[0], ids))
    share = REAL_DIV(dy, SEGMENT_SUM(cast_to(is_extreme, dy.dtype), ids))
    return SELECT(is_extreme, GATHER(share, ids), ZEROS_LIKE(data)), None


def _without_zeros(data: Tensor) -> tuple[Any, Any]:
    """Returns (a mask of the elements that are 0, the data with those elements replaced by 1)."""
    zero = EQUAL(data, ZEROS_LIKE(data))
    return zero, SELECT(zero, ONES_LIKE(data), data)


def _grad_prod(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    """Multiplies the gradient by the product of the other elements of the segment.

    For a nonzero element, this product is found by division. For a zero element it is the product of the nonzero ones,
    or 0 if the segment has several zeros.
    """
    data, ids = op.inputs
    zero, rest = _without_zeros(data)
    several = GREATER(SEGMENT_SUM(cast_to(zero, int32), ids), 1)
    dy = SELECT(several, ZEROS_LIKE(dy), dy)
    product_of_others = SELECT(zero, GATHER(SEGMENT_PROD(rest, ids), ids), REAL_DIV(GATHER(op.outputs[0], ids), rest))
    return GATHER(dy, ids) * product_of_others, None


def _sorted(
    name: str,
    what: str,
    reduce: Callable[..., Any],
    grad: GradFn | NotDifferentiable | GradientMissing | None,
    empty: int,
    api: str,
    types: tuple[DType, ...] = REALS,
) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs="data: T, segment_ids: Tindices",
        outputs="output: T",
        types={"T": types, "Tindices": INDEX},
        doc=f"""The {what} of the rows of each segment: output[k] combines all data[i] with segment_ids[i] = k.

        data: a number type, shape (n, ...). segment_ids: n integers in ascending order. output: last id + 1 rows; a
        segment without rows gives {empty}. Errors: ids that decrease or are negative. Runs on the host, since the
        size depends on the data.""",
        infer=_sorted_shape,
        host=lambda call, data, ids: _host_sorted(call, data, ids, reduce),
        grad=grad,
        dynamic=True,
        api=api,
    )


SEGMENT_SUM = _sorted(
    "SegmentSum",
    "sum",
    partial(reduce_rows, ufunc=np.add, start=0),
    lambda op, dy: (GATHER(dy, op.inputs[1]), None),
    0,
    "segment_sum",
    NUMBERS,
)
SEGMENT_MEAN = _sorted("SegmentMean", "mean", _mean_rows, _grad_mean, 0, "segment_mean", NUMBERS)
SEGMENT_PROD = _sorted(
    "SegmentProd",
    "product",
    partial(reduce_rows, ufunc=np.multiply, start=1),
    _grad_prod,
    1,
    "segment_prod",
    NUMBERS,
)
SEGMENT_MAX = _sorted("SegmentMax", "maximum", partial(_extreme, ufunc=np.maximum), _grad_extreme, 0, "segment_max")
SEGMENT_MIN = _sorted("SegmentMin", "minimum", partial(_extreme, ufunc=np.minimum), _grad_extreme, 0, "segment_min")


def _host_unsorted(
    call: HostCall,
    data: np.ndarray,
    ids: np.ndarray,
    num: np.ndarray,
    ufunc: np.ufunc,
    start: Callable[[Any], Any],
) -> np.ndarray:
    n, flat = int(num.reshape(())), ids.reshape(-1)
    check_below(call, ids, n)
    keep = flat >= 0
    rows = data.reshape((flat.size, *data.shape[ids.ndim :]))
    return reduce_rows(rows[keep], flat[keep], n, ufunc, start(data.dtype))


def _calls(site: KernelSite, entry: str, start: Callable[[Any], Any]) -> tuple[KernelCall, ...]:
    data, ids = site.inputs[:2]
    out = site.outputs[0]
    if out.size == 0:
        return ()
    args = (In(0), In(1), Out(0), I32(ids.size), I32(out.size // out.shape[0]), I32(out.shape[0]))
    first = _literal(start(data.dtype.np), data.dtype)
    defines = (*signed_defines(data.dtype), ("ID", ids.dtype.cl), ("START", first))
    groups = (segment_groups(site), 1, 1)
    return (KernelCall("math/segment.cl", entry, args, groups, (1, 1, 1), defines, nbytes=segment_bytes(site)),)


def _literal(value: float, dtype: DType) -> str:
    """The number as a literal of OpenCL C."""
    if dtype.is_floating:
        return f"{float(value).hex()}{'' if dtype.size == 8 else 'f'}"
    if dtype.size < 8:
        return f"({int(value)}{'u' if dtype.is_unsigned else ''})"
    if dtype.is_unsigned:
        return f"({int(value)}ul)"
    return f"({int(value)}l)" if value > -(2**63) else "(-9223372036854775807l-1)"  # compilers split options at spaces


def _grad_unsorted_extreme(op: Operation, dy: Tensor) -> tuple[Tensor, None, None]:
    data, ids, count = op.inputs
    best, in_segment = gather_kept(op.outputs[0], ids, data)
    is_extreme = LOGICAL_AND(EQUAL(data, best), in_segment)
    share = REAL_DIV(dy, UNSORTED_SEGMENT_SUM(cast_to(is_extreme, dy.dtype), ids, count))
    return SELECT(is_extreme, gather_kept(share, ids, data)[0], ZEROS_LIKE(data)), None, None


def _grad_unsorted_prod(op: Operation, dy: Tensor) -> Any:
    data, ids, count = op.inputs
    zero, rest = _without_zeros(data)
    several = GREATER(UNSORTED_SEGMENT_SUM(cast_to(zero, int32), ids, count), 1)
    dy = SELECT(several, ZEROS_LIKE(dy), dy)
    at = MAXIMUM(ids, 0)
    product = GATHER(UNSORTED_SEGMENT_PROD(rest, ids, count), at)
    product_of_others = SELECT(zero, product, REAL_DIV(GATHER(op.outputs[0], at), rest))
    return gather_kept(dy, ids, data)[0] * product_of_others, None, None


def _unsorted(
    name: str,
    what: str,
    entry: str,
    ufunc: np.ufunc,
    start: Callable[[Any], Any],
    grad: GradFn | NotDifferentiable | GradientMissing | None,
    api: str,
    empty: str,
) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs="data: T, segment_ids: Tindices, num_segments: Tnumsegments",
        outputs="output: T",
        types={"T": REALS, "Tindices": INDEX, "Tnumsegments": INDEX},
        defaults={"Tnumsegments": int32},
        doc=f"""The {what} of the rows with the same number: output[k] combines all data[i] with segment_ids[i] = k.

        data: a number type; its shape begins with that of segment_ids. segment_ids: integers below num_segments;
        rows with a negative number are dropped. num_segments: an integer scalar. output: shape (num_segments, the
        rest of data's shape); a segment without rows gives {empty}. Errors: an id is too large (when the ids were
        computed on a device, the device drops such rows instead).""",
        infer=segmented_shape,
        host=lambda call, data, ids, num: _host_unsorted(call, data, ids, num, ufunc, start),
        opencl=lambda site: _calls(site, entry, start),
        bounds=segment_bounds,
        grad=grad,
        shape_inputs=(2,),
        api=api,
    )


UNSORTED_SEGMENT_MAX = _unsorted(
    "UnsortedSegmentMax",
    "maximum",
    "segment_max",
    np.maximum,
    lambda t: _worst(np.dtype(t), True),
    _grad_unsorted_extreme,
    "unsorted_segment_max",
    "the lowest number of the dtype",
)
UNSORTED_SEGMENT_MIN = _unsorted(
    "UnsortedSegmentMin",
    "minimum",
    "segment_min",
    np.minimum,
    lambda t: _worst(np.dtype(t), False),
    _grad_unsorted_extreme,
    "unsorted_segment_min",
    "the highest number of the dtype",
)
UNSORTED_SEGMENT_PROD = _unsorted(
    "UnsortedSegmentProd",
    "product",
    "segment_prod",
    np.multiply,
    lambda t: 1,
    _grad_unsorted_prod,
    "unsorted_segment_prod",
    "1",
)


def _sizes(data: Tensor, segment_ids: Tensor, num_segments: TensorLike) -> Tensor:
    """The number of rows in each segment, at least 1, as a divisor for sums."""
    ones = cast_to(ONES_LIKE(segment_ids), data.dtype)
    counts = MAXIMUM(UNSORTED_SEGMENT_SUM(ones, segment_ids, num_segments), data.dtype.np.type(1))
    if data.shape.ndims is None or segment_ids.shape.ndims is None:
        raise InvalidArgumentError("a mean over segments needs known ranks")
    rest = data.shape.ndims - segment_ids.shape.ndims
    return RESHAPE(counts, np.asarray([-1, *(1,) * rest], np.int32))


def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Any:
    """Returns the mean of the rows with the same number; 0 for a segment without rows.

    The arguments, errors and the shape of the result are those of `unsorted_segment_sum`.
    """
    return _averaged(data, segment_ids, num_segments, name or "UnsortedSegmentMean", lambda n: n)


def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Any:
    """Returns the sum of each segment's rows divided by the square root of their count.

    The arguments, errors and the shape of the result are those of `unsorted_segment_sum`.
    """
    return _averaged(data, segment_ids, num_segments, name or "UnsortedSegmentSqrtN", SQRT)


def _averaged(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str, by: Callable[[Any], Any]
) -> Any:
    x = graph_of((data, segment_ids)).to_tensor(data)
    with x.graph.as_default(), x.graph.name_scope(name):
        ids = x.graph.to_tensor(segment_ids)
        return UNSORTED_SEGMENT_SUM(x, ids, num_segments) / by(_sizes(x, ids, num_segments))


OPS: tuple[OpDef, ...] = (
    SEGMENT_SUM,
    SEGMENT_MEAN,
    SEGMENT_PROD,
    SEGMENT_MAX,
    SEGMENT_MIN,
    UNSORTED_SEGMENT_MAX,
    UNSORTED_SEGMENT_MIN,
    UNSORTED_SEGMENT_PROD,
)
API: dict[str, Any] = {
    "unsorted_segment_mean": unsorted_segment_mean,
    "unsorted_segment_sqrt_n": unsorted_segment_sqrt_n,
}

"""Counting: histograms, distinct elements with their counts, and differences of lists.

Invariant: counts are exact integers; ops whose output size depends on the data run on the host.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.bounds import Bound
from tfnb.ir.default import graph_of
from tfnb.ir.kernelcall import I32, In, KernelCall, KernelSite, Out
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import normalize_axis
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import RANGE, ZEROS_LIKE
from tfnb.ops.array.gather import segment_groups
from tfnb.ops.array.pack import PACK
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE, SHAPE, SIZE
from tfnb.ops.array.where_partition import distinct
from tfnb.ops.kernel_dtypes import element_defines
from tfnb.ops.math.binary import MAXIMUM, MINIMUM
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import LESS, NOT_EQUAL, SELECT
from tfnb.ops.math.reduce import MAX
from tfnb.ops.math.reduce_sum import all_axes
from tfnb.ops.math.unary import FLOOR
from tfnb.sizes import integer
from tfnb.types import (
    ALL,
    INDEX,
    DTypeLike,
    Shape,
    as_dtype,
    float32,
    float64,
    int32,
    int64,
    unknown_shape,
)

__all__ = ["API", "BINCOUNT", "OPS"]


def _bins(c: Infer) -> Shape:
    size = c.value(1)
    n = None if size is None else integer(size.reshape(()))
    if n is not None and n < 0:
        raise InvalidArgumentError(f"{c.op_name}: size must be >= 0, got {n}")
    return Shape((n,))


def _host_bincount(call: HostCall, arr: np.ndarray, size: np.ndarray, weights: np.ndarray) -> np.ndarray:
    n, flat = int(size), arr.reshape(-1)
    if flat.size and flat.min() < 0:
        raise InvalidArgumentError(f"the number {flat.min()} is negative", call.op)
    if weights.size and weights.shape != arr.shape:
        raise InvalidArgumentError(f"weights of shape {weights.shape} for numbers of shape {arr.shape}", call.op)
    out, keep = np.zeros(n, weights.dtype), flat < n
    np.add.at(out, flat[keep], weights.reshape(-1)[keep] if weights.size else weights.dtype.type(1))
    return out


def _bincount_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    arr, _, weights = site.inputs
    if site.outputs[0].size == 0:
        return ()
    if weights.size and weights.shape != arr.shape:
        raise InvalidArgumentError(f"weights of shape {weights.shape} for numbers of shape {arr.shape}")
    defines = (*element_defines(weights.dtype), ("ID", arr.dtype.cl))
    entry = "bin_weights" if weights.size else "bin_count"
    args = (In(2), In(0), Out(0), I32(arr.size), I32(1), I32(site.outputs[0].size))
    return (KernelCall("math/segment.cl", entry, args, (segment_groups(site), 1, 1), (1, 1, 1), defines),)


BINCOUNT: OpDef[Tensor] = OpDef(
    "Bincount",
    inputs="arr: int32, size: int32, weights: T",
    outputs="bins: T",
    types={"T": (int32, int64, float32, float64)},
    doc="""Counts each number: bins[k] is the count, or the sum of the weights, of the elements that equal k.

    arr: int32, any shape, not negative; numbers from size on are dropped. size: an int32 scalar. weights: the
    shape of arr, or empty, in which case each element counts 1. bins: dtype of weights, shape (size,). Errors: a
    negative number (when arr was computed on a device, the device drops it instead).""",
    infer=_bins,
    host=_host_bincount,
    opencl=_bincount_calls,
    bounds=lambda c: [Bound(0, 2**31, what="number")],
    grad=GRADIENT_MISSING,
    shape_inputs=(1,),
)


@record
class DenseBincountAttrs:
    """`binary_output`: each number that occurs counts as 1, however often it occurs."""

    binary_output: bool = False


def _dense_bins(c: Infer) -> Shape:
    x, size = c.shapes[0], c.value(1)
    n = None if size is None else integer(size.reshape(()))
    if x.sizes is None:
        return unknown_shape
    if len(x.sizes) > 2:
        raise ShapeError(f"DenseBincount: needs a vector or rows of numbers, got shape {x}")
    weights = c.shapes[2]
    if not weights.is_compatible_with(x) and weights.num_elements() not in (0, None):
        raise ShapeError(f"DenseBincount: weights of shape {weights} for numbers of shape {x}")
    return Shape((*x.sizes[:-1], n) if len(x.sizes) == 2 else (n,))


def _host_dense_bincount(call: HostCall, x: np.ndarray, size: np.ndarray, weights: np.ndarray) -> np.ndarray:
    rows = np.atleast_2d(x) if x.ndim < 2 else x
    row_weights = weights.reshape(rows.shape) if weights.size else [weights] * len(rows)
    counts = [_host_bincount(call, row, size, w) for row, w in zip(rows, row_weights, strict=True)]
    out = np.asarray(counts, weights.dtype).reshape(len(rows), int(size))
    out = (out != 0).astype(out.dtype) if call.attrs.binary_output else out
    return out if x.ndim == 2 else out[0]


def _expand_dense_bincount(op: Operation, x: Tensor, size: Tensor, weights: Tensor) -> Any:
    """Counts all rows at once: row r uses numbers of its own range, and numbers that are too large fall outside all."""
    if x.shape.ndims not in (1, 2) or x.dtype is int64:
        return None
    if x.shape.ndims == 1:
        counts = BINCOUNT(x, size, weights)
    else:
        rows = SHAPE(x, out_type=int32)[0]
        start = EXPAND_DIMS(RANGE(np.int32(0), rows, np.int32(1)), np.int32(1)) * size
        number = SELECT(LESS(x, size), x + start, ZEROS_LIKE(x) + rows * size)
        counts = RESHAPE(BINCOUNT(number, rows * size, weights), PACK([rows, size]))
    if not op.attrs.binary_output:
        return counts
    return cast_to(NOT_EQUAL(counts, ZEROS_LIKE(counts)), counts.dtype)


DENSE_BINCOUNT: OpDef[Tensor] = OpDef(
    "DenseBincount",
    inputs="input: Tidx, size: Tidx, weights: T",
    outputs="output: T",
    types={"Tidx": INDEX, "T": (int32, int64, float32, float64)},
    attrs=DenseBincountAttrs,
    doc="""Counts each number in a vector, or in each row of a matrix, as `Bincount` does.

    input: integers, not negative; numbers from size on are dropped. size: a scalar. weights: the shape of
    input, or empty. output: dtype of weights, shape (size,) or (rows, size). Errors: a negative number (on the
    host).""",
    infer=_dense_bins,
    host=_host_dense_bincount,
    expand=_expand_dense_bincount,
    grad=GRADIENT_MISSING,
    shape_inputs=(1,),
)


def _host_histogram(call: HostCall, values: np.ndarray, limits: np.ndarray, nbins: np.ndarray) -> np.ndarray:
    if limits.shape != (2,):
        raise InvalidArgumentError(f"value_range must be two numbers, got shape {limits.shape}", call.op)
    n, (low, high) = int(nbins), limits
    if n <= 0 or not low < high:
        raise InvalidArgumentError(f"{n} bins in [{low}, {high}]; needed at least one and a rising range", call.op)
    step = (float(high) - float(low)) / n
    at = (np.maximum(values, low) - low).astype(np.float64) / step
    counts = np.bincount(np.minimum(at, n - 1).astype(np.int64).reshape(-1), minlength=n)
    return counts.astype(call.types["dtype"].np)


def _expand_histogram(op: Operation, values: Tensor, limits: Tensor, nbins: Tensor) -> Tensor:
    low, high = limits[0], limits[1]
    offsets = cast_to(MAXIMUM(values, low) - low, float64)
    step = (cast_to(high, float64) - cast_to(low, float64)) / cast_to(nbins, float64)
    top = cast_to(nbins - 1, float64)
    at = cast_to(MINIMUM(FLOOR(offsets / step), top), int32)
    return BINCOUNT(at, nbins, np.zeros(0, op.types["dtype"].np))


def _histogram_shape(c: Infer) -> Shape:
    if not c.shapes[1].is_compatible_with(Shape((2,))):
        raise ShapeError(f"HistogramFixedWidth: value_range must be two numbers, got {c.shapes[1]}")
    n = c.value(2)
    return Shape((None if n is None else int(n.reshape(())),))


HISTOGRAM_FIXED_WIDTH: OpDef[Tensor] = OpDef(
    "HistogramFixedWidth",
    inputs="values: T, value_range: T, nbins: int32",
    outputs="out: dtype",
    types={"T": (int32, int64, float32, float64), "dtype": INDEX},
    doc="""A histogram with bins of equal width: the number of values in each of nbins parts of a range.

    values: a number type, any shape; values outside the range count in the first or last bin. value_range: (2,), of
    the same dtype, ascending. nbins: an int32 scalar. out: shape (nbins,). Errors (on the host): the range does not
    ascend, or there are no bins.""",
    infer=_histogram_shape,
    host=_host_histogram,
    expand=_expand_histogram,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(2,),
    defaults={"dtype": int32},
)


def _host_distinct(call: HostCall, x: np.ndarray, axis: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """Returns (the distinct elements in the order of first occurrence, each element's index there, the counts)."""
    if axis is not None and axis.size > 1:
        raise ShapeError(f"axis must be one number or none, got {axis.tolist()}", call.op)
    if axis is not None and axis.size:
        a = normalize_axis(int(axis.reshape(-1)[0]), x.ndim)
    else:
        a = 0
    if x.ndim != 1 and (axis is None or not axis.size):
        raise ShapeError(f"needs a vector, got shape {x.shape}", call.op)
    if x.ndim == 1 and x.dtype.kind in "iu":
        first, idx = distinct(x)
    else:
        rows = np.moveaxis(x, a, 0)
        flat = rows.reshape(rows.shape[0], math.prod(rows.shape[1:]))
        numbers: dict[Any, int] = {}
        idx = np.asarray([numbers.setdefault(tuple(r.tolist()), len(numbers)) for r in flat], np.int64)
        first = np.unique(idx, return_index=True)[1]
    kind = call.types["out_idx"].np
    counts = np.bincount(idx, minlength=len(first))
    return np.take(x, first, a), idx.astype(kind), counts.astype(kind)


def _distinct_shapes(c: Infer, outputs: int) -> tuple[Shape, ...]:
    x, axis = c.shapes[0], c.value(1) if len(c.shapes) > 1 else np.zeros(0, np.int64)
    if x.sizes is None or axis is None:
        return (unknown_shape, *[Shape((None,))] * (outputs - 1))
    if not axis.size and len(x.sizes) != 1:
        raise ShapeError(f"{c.op_name}: needs a vector, got shape {x}")
    a = normalize_axis(int(axis.reshape(-1)[0]), len(x.sizes)) if axis.size else 0
    y = Shape((*x.sizes[:a], None, *x.sizes[a + 1 :]))
    return (y, Shape((x.sizes[a],)), Shape((None,)))[:outputs]


def _distinct(name: str, along: bool, counted: bool, api: str = "") -> OpDef:
    n = 3 if counted else 2
    things = "slices along an axis" if along else "elements of a vector"
    axis_doc = " axis: an integer vector of one number, or empty for a vector x." if along else ""
    return OpDef(
        name,
        inputs="x: T" + (", axis: Taxis" if along else ""),
        outputs="y: T, idx: out_idx" + (", count: out_idx" if counted else ""),
        types={"T": ALL, **({"Taxis": INDEX} if along else {}), "out_idx": INDEX},
        doc=f"""The distinct {things}, in the order of first occurrence, and the index of each of x's among them.

        x: any dtype.{axis_doc} y: without repetition. idx: integers.{
            " count: how often each of y occurs." if counted else ""
        } Runs on the host, since the size depends on the data.""",
        infer=lambda c: _distinct_shapes(c, n),
        host=lambda call, *arrays: _host_distinct(call, *arrays)[:n],
        grad=GRADIENT_MISSING,
        dynamic=True,
        api=api,
        defaults={"out_idx": int32},
    )


UNIQUE_WITH_COUNTS: OpDef[tuple[Tensor, Tensor, Tensor]] = _distinct("UniqueWithCounts", False, True)
UNIQUE_V2: OpDef[tuple[Tensor, Tensor]] = _distinct("UniqueV2", True, False)
UNIQUE_WITH_COUNTS_V2: OpDef[tuple[Tensor, Tensor, Tensor]] = _distinct("UniqueWithCountsV2", True, True)


def _host_difference(call: HostCall, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    excluded = set(y.tolist())
    idx = np.asarray([i for i, v in enumerate(x.tolist()) if v not in excluded], np.int64)
    return x[idx], idx.astype(call.types["out_idx"].np)


LIST_DIFF: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "ListDiff",
    inputs="x: T, y: T",
    outputs="out: T, idx: out_idx",
    types={"T": ALL, "out_idx": INDEX},
    doc="""The elements of x that are not in y, in their order, and their positions in x.

    x, y: vectors of the same dtype. out: that dtype. idx: integers. Runs on the host, since the size depends on the
    data.""",
    infer=lambda c: (Shape((None,)), Shape((None,))),
    host=_host_difference,
    grad=GRADIENT_MISSING,
    dynamic=True,
    defaults={"out_idx": int32},
)


def unique_with_counts(
    x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the distinct elements of a vector in the order of first occurrence, each element's index, and the counts.

    x: a vector. idx (the shape of x) and count (the shape of y) have the dtype `out_idx`, int32 or int64.
    """
    return UNIQUE_WITH_COUNTS(x, out_idx=out_idx, name=name)


def setdiff1d(
    x: TensorLike,
    y: TensorLike,
    index_dtype: DTypeLike = int32,
    name: str | None = None,
    out_idx: DTypeLike | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns the elements of the vector x that are not in the vector y, and their positions in x.

    x, y: one dtype. The positions have `index_dtype` (`out_idx`), int32 or int64.
    """
    return LIST_DIFF(x, y, out_idx=index_dtype if out_idx is None else out_idx, name=name)


def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Counts how often each number of `arr` (int32, not negative) occurs, or sums its weights.

    The result is a vector whose length is the largest number plus one, at least `minlength` and at most `maxlength`.
    dtype: the dtype of the counts when there are no weights.
    """
    graph = graph_of((arr, weights))
    with graph.as_default(), graph.name_scope(name or "bincount"):
        x = graph.to_tensor(arr, None if hasattr(arr, "dtype") else int32)
        x = cast_to(x, int32)
        at_least_one = MINIMUM(SIZE(x, out_type=int32), np.int32(1))
        size = at_least_one * (MAX(x, all_axes(x)) + 1)
        if minlength is not None:
            size = MAXIMUM(graph.to_tensor(minlength, int32), size)
        if maxlength is not None:
            size = MINIMUM(graph.to_tensor(maxlength, int32), size)
        row_weights = np.zeros(0, as_dtype(dtype).np) if weights is None else weights
        return BINCOUNT(x, size, row_weights)


def histogram_fixed_width(
    values: TensorLike, value_range: TensorLike, nbins: int = 100, dtype: DTypeLike = int32, name: str | None = None
) -> Tensor:
    """Counts the values in each of `nbins` equal parts of `value_range`; outer values count in the end bins.

    values: a number type, any shape. value_range: (lower, upper) in the dtype of values. The result is a vector of
    shape (nbins,) and dtype `dtype`.
    """
    graph = graph_of((values, value_range))
    v = graph.to_tensor(values)
    return HISTOGRAM_FIXED_WIDTH(v, graph.to_tensor(value_range, v.dtype), nbins, dtype=as_dtype(dtype), name=name)


def histogram_fixed_width_bins(
    values: TensorLike, value_range: TensorLike, nbins: int = 100, dtype: DTypeLike = int32, name: str | None = None
) -> Any:
    """Returns the number of the bin that each value falls in, from 0 to nbins - 1.

    The arguments are those of `histogram_fixed_width`. The result has `dtype` and the shape of `values`.
    """
    graph = graph_of((values, value_range))
    with graph.as_default(), graph.name_scope(name or "histogram_bins"):
        v = graph.to_tensor(values)
        limits = graph.to_tensor(value_range, v.dtype)
        wide_dtype = v.dtype if v.dtype.is_floating else float64
        scaled = cast_to(v - limits[0], wide_dtype) / cast_to(limits[1] - limits[0], wide_dtype)
        n = cast_to(graph.to_tensor(nbins, int32), wide_dtype)
        at = FLOOR(n * scaled)
        return cast_to(MINIMUM(MAXIMUM(at, n * 0), n - 1), as_dtype(dtype))


OPS: tuple[OpDef, ...] = (
    BINCOUNT,
    DENSE_BINCOUNT,
    HISTOGRAM_FIXED_WIDTH,
    UNIQUE_WITH_COUNTS,
    UNIQUE_V2,
    UNIQUE_WITH_COUNTS_V2,
    LIST_DIFF,
)
API: dict[str, Any] = {
    "unique_with_counts": unique_with_counts,
    "setdiff1d": setdiff1d,
    "listdiff": setdiff1d,
    "list_diff": setdiff1d,
    "bincount": bincount,
    "math.bincount": bincount,
    "histogram_fixed_width": histogram_fixed_width,
    "histogram_fixed_width_bins": histogram_fixed_width_bins,
}

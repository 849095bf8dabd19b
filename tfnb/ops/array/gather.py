"""Rows selected by index: gather, its inverse the segment sum, and the sparse gradient between them (OSDI'16, section
4.2).

An index out of range raises an error when the host holds the indices. A device cannot raise an error, so it gives 0 for
an invalid index that it computed itself. Invariant: the gradient of a gather along axis 0 is an `IndexedSlices`, and
touches only the rows that were read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.bounds import Bound
from tfnb.ir.const import constant_shape, constant_value
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.kernelcall import I32, In, KernelCall, KernelSite, Out
from tfnb.ir.opdef import HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import normalize_axis, with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import CONCAT
from tfnb.ops.array.constants import FILL, RANGE, ZEROS_LIKE
from tfnb.ops.array.pack import PACK
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RANK, RESHAPE, SHAPE, SIZE, shape_of, size_of
from tfnb.ops.array.transpose_pad_tile import TRANSPOSE
from tfnb.ops.kernel_dtypes import element_defines
from tfnb.ops.math.binary import MAXIMUM
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import GREATER_EQUAL, LESS, SELECT
from tfnb.ops.math.complex_numbers import COMPLEX_OF, IMAG, REAL
from tfnb.ops.math.reduce import PROD
from tfnb.ops.math.reduce_sum import BROADCAST_TO
from tfnb.sizes import integer
from tfnb.types import (
    ANY,
    INDEX,
    NUMBERS,
    Shape,
    bracketed,
    complex128,
    float32,
    float64,
    int32,
    resource,
    unknown_shape,
)

__all__ = [
    "API",
    "GATHER",
    "GATHER_V2",
    "OPERATORS",
    "OPS",
    "UNSORTED_SEGMENT_SUM",
    "densify",
    "gather",
    "gather_kept",
    "indexed_shape",
    "segment_bounds",
    "segment_bytes",
    "segment_groups",
    "segmented_shape",
]


@record
class GatherAttrs:
    """`validate_indices`: accepted for compatibility with TensorFlow; indices are checked wherever possible."""

    validate_indices: bool = True


@record
class GatherV2Attrs:
    """`batch_dims`: the leading dimensions that params and indices share; a negative one counts from indices' end."""

    batch_dims: int = 0


def _gathered(c: Infer, axis: int | None, batch_dims: int = 0) -> Shape:
    params, indices = c.shapes[:2]
    if params.sizes is None or indices.sizes is None:
        return unknown_shape
    batch = _batch_dims(c.op_name, batch_dims, len(indices.sizes))
    if axis is None:
        return Shape((None,) * (len(params.sizes) + len(indices.sizes) - 1 - batch))
    if not params.sizes:
        raise ShapeError(f"{c.op_name}: cannot take rows of a scalar")
    a = _axis(c.op_name, axis, len(params.sizes))
    if a < batch:
        raise InvalidArgumentError(f"{c.op_name}: batch_dims ({batch}) must be less than or equal to axis ({a})")
    if not params[:batch].is_compatible_with(indices[:batch]):
        raise ShapeError(f"{c.op_name}: the batch dimensions of {params} and {indices} differ")
    return Shape((*params.sizes[:a], *indices.sizes[batch:], *params.sizes[a + 1 :]))


def _batch_dims(name: str, batch_dims: int, rank: int) -> int:
    """Returns `batch_dims` as a number from 0. Raises `InvalidArgumentError` if indices have fewer dimensions."""
    if not -rank <= batch_dims <= rank:
        raise InvalidArgumentError(f"{name}: batch_dims must be in [{-rank}, {rank}], got {batch_dims}")
    return batch_dims + rank if batch_dims < 0 else batch_dims


def _axis(name: str, axis: int, rank: int) -> int:
    """Returns `axis` as a number from 0. Raises `InvalidArgumentError` if the tensor of that rank has no such axis."""
    if not -rank <= axis < rank:
        least = axis + 1 if axis >= 0 else -axis
        raise InvalidArgumentError(
            f"{name}: Shape must be at least rank {least} but is rank {rank}. "
            f"Expected axis in the range [{-rank}, {rank}), but got {axis}"
        )
    return axis % rank


def _gather_values(c: Infer) -> Shape | None:
    """The gathered dimensions, when the input is itself a shape."""
    if not c.dtypes[0].is_integer or c.shapes[0].ndims != 1 or c.value(1) is None:
        return None
    dims, positions = c.as_shape(0).sizes, c.value(1)
    if dims is None or positions.ndim > 1 or (positions < 0).any() or (positions >= len(dims)).any():
        return None
    selected = [dims[int(i)] for i in positions.reshape(-1)]
    return None if positions.ndim == 0 and selected[0] is None else Shape(tuple(selected))


def _host_gather(call: HostCall, params: np.ndarray, indices: np.ndarray, axis: int) -> np.ndarray:
    size = params.shape[axis]
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        where = np.argwhere((indices < 0) | (indices >= size))[0].tolist()
        index = bracketed(where) if where else ""
        of_list = "Index must be in the range of the list: " if call.types["Tparams"] is resource else ""
        raise InvalidArgumentError(f"{of_list}indices{index} = {indices[tuple(where)]} is not in [0, {size})", call.op)
    batch = _batch_dims(call.op.type, getattr(call.attrs, "batch_dims", 0), indices.ndim)
    if not batch:
        return np.take(params, indices, axis=axis)
    if params.shape[:batch] != indices.shape[:batch]:
        raise InvalidArgumentError(
            f"{call.op.type}: the batch dimensions of {params.shape} and {indices.shape} differ", call.op
        )
    grid = np.ogrid[tuple(slice(n) for n in params.shape[:batch])]
    places = tuple(p.reshape((*p.shape, *[1] * (indices.ndim - batch))) for p in grid)
    picked = (*places, indices)
    rows = np.moveaxis(params, axis, batch)[picked]  # batch, indices, the others
    between, inner = axis - batch, indices.ndim - batch
    for i in range(between):
        rows = np.moveaxis(rows, batch + inner + i, batch + i)
    return np.ascontiguousarray(rows)


def _lower_gather(site: LowerSite, idx: tuple[Expr, ...], axis: int, batch_dims: int = 0) -> Expr:
    params, indices = site.inputs[:2]
    a = normalize_axis(axis, len(params.shape))
    batch = _batch_dims("GatherV2", batch_dims, len(indices.shape))
    after = a + len(indices.shape) - batch
    zero = s.const(0, site.outputs[0].dtype)
    size = params.shape[a]
    if size == 0 or params.size == 0:
        return zero
    row = site.load(1, (*idx[:batch], *idx[a:after]))
    row = row if size <= row.dtype.max else s.position(row, size)
    inside = s.and_(s.ge(row, 0), s.lt(row, size))
    at = s.position(s.minimum(s.maximum(row, 0), size - 1), size)
    return s.where(inside, site.load(0, (*idx[:a], at, *idx[after:])), zero)


def _gather_bounds(c: Infer, axis: int) -> list[Bound]:
    dims = c.shapes[0].known()
    return [Bound(1, dims[normalize_axis(axis, len(dims))])]


def _row_shape(params: Tensor, indices: Tensor) -> Tensor | np.ndarray:
    """Returns (the number of indices, the shape of a row of `params`): a NumPy vector if it is known, else a tensor."""
    dims = params.shape.sizes
    if dims is not None and None not in dims[1:]:
        count = size_of(indices) if 0 in dims[1:] else -1
        if isinstance(count, int):
            return np.asarray([count, *dims[1:]], np.int32)
    rows = RESHAPE(SIZE(indices, out_type=int32), np.asarray([1], np.int32))
    return CONCAT(np.int32(0), [rows, SHAPE(params, out_type=int32)[1:]])


def _rows_gradient(params: Tensor, indices: Tensor, dy: Tensor) -> IndexedSlices:
    """The gradient of gathering whole rows of `params`, as indexed slices."""
    values = RESHAPE(dy, _row_shape(params, indices))
    flat = RESHAPE(indices, np.asarray([-1], np.int32))
    return IndexedSlices(values, flat, params.graph.to_tensor(shape_of(params)))


GATHER: OpDef[Tensor] = OpDef(
    "Gather",
    inputs="params: Tparams, indices: Tindices",
    outputs="output: Tparams",
    types={"Tparams": ANY, "Tindices": INDEX},
    attrs=GatherAttrs,
    doc="""Gathers rows of a tensor by their indices: output[i, ..., j, ...] = params[indices[i, ...], j, ...].

    params: any dtype, rank >= 1. indices: integers in [0, size of params' first axis), any shape. output: the shape
    of indices followed by the shape of a row. Errors: an index is out of range (a device gives 0 for an index that it
    computed itself).""",
    infer=lambda c: _gathered(c, 0),
    host=lambda call, params, indices: _host_gather(call, params, indices, 0),
    lower=lambda site, idx, port: _lower_gather(site, idx, 0),
    grad=lambda op, dy: (_rows_gradient(op.inputs[0], op.inputs[1], dy), None),
    partial=_gather_values,
    takes_rows=True,
    bounds=lambda c: _gather_bounds(c, 0),
)


def _grad_gather(op: Any, dy: Tensor) -> Any:
    params, indices, axis = op.inputs
    if op.attrs.batch_dims:
        return _grad_gather_batch(params, indices, cast_to(axis, int32), op.attrs.batch_dims, dy), None, None
    static_axis, rank = constant_value(axis), params.shape.ndims
    if static_axis is None or rank is None or indices.shape.ndims is None:
        return _grad_gather_unknown(params, indices, cast_to(axis, int32), dy), None, None
    a = normalize_axis(int(static_axis.reshape(())), rank)
    if a == 0:
        return _rows_gradient(params, indices, dy), None, None
    k = indices.shape.ndims  # moves the gathered axes to the front, sums the rows, and moves the axis back
    front = [*range(a, a + k), *range(a), *range(a + k, rank + k - 1)]
    rows = TRANSPOSE(dy, np.asarray(front, np.int32))
    size = params.shape.sizes[a]
    total = UNSORTED_SEGMENT_SUM(rows, indices, SHAPE(params, out_type=int32)[a] if size is None else np.int32(size))
    back = [*range(1, a + 1), 0, *range(a + 1, rank)]
    return TRANSPOSE(total, np.asarray(back, np.int32)), None, None


def _grad_gather_batch(params: Tensor, indices: Tensor, axis: Tensor, batch_dims: int, dy: Tensor) -> Tensor:
    """The gradient for params, as (batch, before the axis, axis, behind it), where all rows are summed at once.

    The rows of an element of the batch have the numbers behind those of the element before.
    """
    first, sizes = np.asarray([0], np.int32), SHAPE(params, out_type=int32)
    batch = np.int32(batch_dims) if batch_dims >= 0 else RANK(indices) + np.int32(batch_dims)
    at = SELECT(GREATER_EQUAL(axis, np.int32(0)), axis, axis + RANK(params))
    count, before, behind = (PROD(sizes[i:j], first) for i, j in ((None, batch), (batch, at), (at + 1, None)))
    number, inner = sizes[at], PROD(SHAPE(indices, out_type=int32)[batch:], first)
    rows = TRANSPOSE(RESHAPE(dy, PACK([count, before, inner, behind])), np.asarray([0, 2, 1, 3], np.int32))
    ids = cast_to(RESHAPE(indices, PACK([count, inner])), int32)
    ids += EXPAND_DIMS(RANGE(np.int32(0), count, np.int32(1)), np.int32(1)) * number
    total = RESHAPE(UNSORTED_SEGMENT_SUM(rows, ids, count * number), PACK([count, number, before, behind]))
    return RESHAPE(TRANSPOSE(total, np.asarray([0, 2, 1, 3], np.int32)), sizes)


def _gathered_v2(c: Infer) -> Shape:
    axis = c.value(2)
    return _gathered(c, None if axis is None else int(axis.reshape(())), c.attrs.batch_dims)


GATHER_V2: OpDef[Tensor] = OpDef(
    "GatherV2",
    inputs="params: Tparams, indices: Tindices, axis: Taxis",
    outputs="output: Tparams",
    types={"Tparams": ANY, "Tindices": INDEX, "Taxis": INDEX},
    attrs=GatherV2Attrs,
    doc="""Gathers slices of a tensor along one axis by their indices.

    params: any dtype. indices: integers in [0, size of the axis), any shape. axis: an integer scalar; a negative one
    counts from the end. output: the shape of params with the axis replaced by the shape of indices, without the
    dimensions that `batch_dims` says they share. Errors: the axis or an index is out of range (a device gives 0 for an
    index that it computed itself), the shared dimensions differ or are behind the axis.""",
    infer=_gathered_v2,
    host=lambda call, params, indices, axis: _host_gather(
        call, params, indices, _axis(call.op.type, int(axis.reshape(())), params.ndim)
    ),
    lower=lambda site, idx, port: _lower_gather(site, idx, int(site.value(2).reshape(())), site.attrs.batch_dims),
    grad=_grad_gather,
    shape_inputs=(2,),
    partial=_gather_values,
    takes_rows=True,
    bounds=lambda c: _gather_bounds(c, int(c.value(2).reshape(()))),
)


def segmented_shape(c: Infer) -> Shape:
    """Returns the static output shape of an unsorted segment reduction."""
    with_rank(c, 2, 0, "num_segments should be a scalar")
    data, ids, count = c.shapes[0], c.shapes[1], c.value(2)
    n = None if count is None else integer(count.reshape(()))
    if n is not None and n < 0:
        raise InvalidArgumentError(f"{c.op_name}: num_segments must be >= 0, got {n}")
    if data.sizes is None or ids.sizes is None:
        return unknown_shape
    if not Shape(data.sizes[: len(ids.sizes)]).is_compatible_with(ids):
        raise ShapeError(f"{c.op_name}: data of shape {data} must begin with the shape {ids} of segment_ids")
    return Shape((n, *data.sizes[len(ids.sizes) :]))


def check_below(call: HostCall, ids: np.ndarray, n: int) -> None:
    """Raises `InvalidArgumentError` for a segment id that is not below the number `n` of segments."""
    if ids.size and ids.max() >= n:
        at = np.unravel_index(int(ids.argmax()), ids.shape)
        place = ",".join(str(int(i)) for i in at)
        raise InvalidArgumentError(
            f"segment_ids[{place}] = {ids.max()} is out of range [0, {n}), the numbers of segments", call.op
        )


def _host_segment_sum(call: HostCall, data: np.ndarray, ids: np.ndarray, num: np.ndarray) -> np.ndarray:
    n, rest = int(num.reshape(())), data.shape[ids.ndim :]
    flat = ids.reshape(-1)
    check_below(call, ids, n)
    wide_dtype = np.float32 if data.dtype.itemsize == 2 and data.dtype.kind not in "iu" else data.dtype
    out = np.zeros((n, *rest), wide_dtype)
    keep = flat >= 0
    with np.errstate(all="ignore"):
        np.add.at(out, flat[keep], data.reshape((flat.size, *rest))[keep].astype(wide_dtype, copy=False))
    return out.astype(data.dtype)


def _segment_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    data, ids = site.inputs[:2]
    out = site.outputs[0]
    if out.size == 0:
        return ()
    row = out.size // out.shape[0]
    args = (In(0), In(1), Out(0), I32(ids.size), I32(row), I32(out.shape[0]))
    defines = (*element_defines(data.dtype), ("ID", ids.dtype.cl))
    groups = (segment_groups(site), 1, 1)
    nbytes = segment_bytes(site)
    return (KernelCall("math/segment.cl", "segment_sum", args, groups, (1, 1, 1), defines, nbytes=nbytes),)


def segment_bounds(c: Infer) -> list[Bound]:
    """Returns the bounds of the ids of an unsorted segment reduction; rows with a negative id are dropped."""
    return [Bound(1, integer(c.value(2).reshape(())), None, "segment id")]


def segment_groups(site: KernelSite) -> int:
    """Returns the number of work groups among which the segments are divided."""
    return min(max(1, site.units), site.outputs[0].shape[0])


def segment_bytes(site: KernelSite) -> int:
    """Returns the bytes that an unsorted segment reduction accesses."""
    data, ids = site.inputs[:2]
    return 3 * data.nbytes + 2 * site.outputs[0].nbytes + ids.nbytes * segment_groups(site)


def gather_kept(values: TensorLike, ids: Tensor, data: Tensor) -> tuple[Any, Any]:
    """Returns (for each row of `data`, the row of `values` that its segment id selects; a mask of the used elements).

    Rows with a negative id are not used, so they get zeros.
    """
    rows = GATHER(values, MAXIMUM(ids, 0))
    mask = GREATER_EQUAL(ids, 0)
    if ids.shape.ndims is None or data.shape.ndims is None:
        more = FILL(PACK([RANK(data) - RANK(ids)]), np.int32(1))
        mask = RESHAPE(mask, CONCAT(np.int32(0), [SHAPE(ids, out_type=int32), more]))
    else:
        for _ in range(data.shape.ndims - ids.shape.ndims):
            mask = EXPAND_DIMS(mask, np.int32(-1))
    mask = BROADCAST_TO(mask, shape_of(rows))
    return SELECT(mask, rows, ZEROS_LIKE(rows)), mask


def _grad_gather_unknown(params: Tensor, indices: Tensor, axis: TensorLike, dy: Tensor) -> Tensor:
    """As `_grad_gather`, for an axis or ranks that are known only when the graph runs."""
    zero, one = np.int32(0), np.int32(1)
    rank, k = RANK(params), RANK(indices)
    a = SELECT(LESS(axis, zero), axis + rank, axis)
    runs = [RANGE(a, a + k, one), RANGE(zero, a, one), RANGE(a + k, rank + k - one, one)]
    rows = TRANSPOSE(dy, CONCAT(zero, runs))
    total = UNSORTED_SEGMENT_SUM(rows, indices, SHAPE(params, out_type=int32)[a])
    return TRANSPOSE(total, CONCAT(zero, [RANGE(one, a + one, one), PACK([zero * a]), RANGE(a + one, rank, one)]))


def _expand_complex(op: Operation, data: Tensor, ids: Tensor, count: Tensor) -> Tensor | None:
    """The sums of complex numbers, of which the kernel of reals computes one part after the other."""
    if not data.dtype.is_complex:
        return None
    half = float64 if data.dtype is complex128 else float32
    parts = (UNSORTED_SEGMENT_SUM(part(data, Tout=half), ids, count) for part in (REAL, IMAG))
    return COMPLEX_OF(*parts, Tout=data.dtype)


UNSORTED_SEGMENT_SUM: OpDef[Tensor] = OpDef(
    "UnsortedSegmentSum",
    inputs="data: T, segment_ids: Tindices, num_segments: Tnumsegments",
    outputs="output: T",
    types={"T": NUMBERS, "Tindices": INDEX, "Tnumsegments": INDEX},
    defaults={"Tnumsegments": int32},
    doc="""Sums rows that have the same number: output[k] is the sum of all data[i] with segment_ids[i] = k.

    data: a number type; its shape begins with that of segment_ids. segment_ids: integers below num_segments;
    rows with a negative number are dropped. num_segments: an integer scalar. output: shape (num_segments, the rest
    of data's shape). Errors: an id is too large (when the ids were computed on a device, the device drops such rows
    instead).""",
    infer=segmented_shape,
    host=_host_segment_sum,
    opencl=_segment_calls,
    expand=_expand_complex,
    grad=lambda op, dy: (gather_kept(dy, op.inputs[1], op.inputs[0])[0], None, None),
    bounds=segment_bounds,
    shape_inputs=(2,),
    api="unsorted_segment_sum",
)


def densify(slices: IndexedSlices) -> Tensor:
    """Converts indexed slices to a dense tensor; slices with the same index are added."""
    if slices.dense_shape is None:
        raise InvalidArgumentError("indexed slices without a dense shape cannot become a tensor", slices.values.op)
    shape = slices.graph.to_tensor(slices.dense_shape)
    rows = constant_shape(shape).sizes
    static_count = rows[0] if rows else None
    count = shape[0] if static_count is None else np.asarray(static_count, shape.dtype.np)
    dense = UNSORTED_SEGMENT_SUM(slices.values, slices.indices, count)
    dense.set_shape(constant_shape(shape))
    return dense


def indexed_shape(slices: IndexedSlices) -> Shape:
    """Returns the static shape of the dense tensor that the indexed slices represent."""
    if slices.dense_shape is None:
        return unknown_shape
    return constant_shape(slices.graph.to_tensor(slices.dense_shape))


def gather(params: TensorLike, indices: TensorLike, name: str | None = None, axis: TensorLike = 0) -> Tensor:
    """Gathers rows (or slices along `axis`) of `params` by their indices.

    params: any dtype. indices: integers, any shape. The result has the dtype of params, and its shape with the axis
    replaced by the shape of indices. Errors: an index is out of range (a device gives 0 for an index that it computed
    itself).
    """
    if isinstance(axis, (int, np.integer)) and axis == 0:
        return GATHER(params, indices, name=name)
    return GATHER_V2(params, indices, axis, name=name)


OPS: tuple[OpDef, ...] = (GATHER, GATHER_V2, UNSORTED_SEGMENT_SUM)
API: dict[str, Any] = {"IndexedSlices": IndexedSlices}
OPERATORS: dict[str, Any] = {"densify": densify, "indexed_shape": indexed_shape}

"""Gather and scatter by index tuples, and dense tensors given by a few of their elements (white paper, Table 1).

An index tuple of k numbers selects the first k dimensions. Invariant: gather and scatter are each other's gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.bounds import Bound
from tfnb.ir.const import constant_shape, constant_value
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import RANGE, ZEROS_LIKE
from tfnb.ops.array.gather import UNSORTED_SEGMENT_SUM
from tfnb.ops.array.pack import PACK
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RANK, RESHAPE, SHAPE, SIZE, shape_of
from tfnb.ops.math.compare import GREATER, GREATER_EQUAL, LESS, LOGICAL_AND, SELECT
from tfnb.ops.math.reduce_sum import BROADCAST_TO, SUM, all_axes
from tfnb.sizes import integer
from tfnb.types import ALL, ALL_AND_QUANTIZED, INDEX, NUMBERS, REALS, Shape, bracketed, int32, unknown_shape

__all__ = [
    "GATHER_ND",
    "OPS",
    "SCATTER_ND",
    "SCATTER_ROWS",
    "SPARSE_TO_DENSE",
    "check_updates",
    "nd_bounds",
    "row_numbers",
]


def _nd_shape(c: Infer) -> Shape:
    params, indices = c.shapes
    if params.sizes is None or indices.sizes is None or not indices.sizes or indices.sizes[-1] is None:
        return unknown_shape
    k = indices.sizes[-1]
    if k > len(params.sizes):
        raise ShapeError(f"GatherNd: indices of {k} numbers are too long for a tensor of shape {params}")
    return Shape((*indices.sizes[:-1], *params.sizes[k:]))


def _host_gather_nd(call: HostCall, params: np.ndarray, indices: np.ndarray) -> np.ndarray:
    k = indices.shape[-1]
    bad = (indices < 0) | (indices >= np.asarray(params.shape[:k], indices.dtype))
    if bad.any():
        if not params.size:
            raise InvalidArgumentError(
                f"Requested more than 0 entries, but params is empty. Params shape: {bracketed(params.shape)}", call.op
            )
        where = int(np.flatnonzero(bad.any(-1).reshape(-1))[0])
        raise InvalidArgumentError(
            f"flat indices[{where}, :] = {bracketed(indices.reshape(-1, k)[where])} does not index into param "
            f"(shape: {bracketed(params.shape)})",
            call.op,
        )
    return (
        params[tuple(np.moveaxis(indices, -1, 0))]
        if k
        else np.broadcast_to(params, (*indices.shape[:-1], *params.shape))
    )


def _lower_gather_nd(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    params, indices = site.inputs
    lead, k = len(indices.shape) - 1, indices.shape[-1]
    zero = s.const(0, site.outputs[0].dtype)
    if params.size == 0:
        return zero
    position: list[Any] = []
    inside: Expr | None = None
    for j in range(k):
        i, size = site.load(1, (*idx[:lead], j)), params.shape[j]
        i = i if size <= i.dtype.max else s.position(i, size)
        test = s.and_(s.ge(i, 0), s.lt(i, size))
        inside = test if inside is None else s.and_(inside, test)
        position.append(s.position(s.minimum(s.maximum(i, 0), size - 1), size))
    element = site.load(0, (*position, *idx[lead:]))
    return element if inside is None else s.where(inside, element, zero)


def nd_bounds(c: Infer) -> list[Bound]:
    """Returns the bounds of the indices, input 1: they index the first dimensions of input 0."""
    depth = c.shapes[1].known()[-1]
    return [Bound(1, c.shapes[0].known()[:depth])] if depth else []


def _grad_gather_nd(op: Operation, dy: Tensor) -> tuple[IndexedSlices, None] | tuple[Tensor, None]:
    params, indices = op.inputs
    shape = SHAPE(params, out_type=indices.dtype)
    if indices.shape.ndims == 2 and indices.shape.as_list()[-1] == 1:  # whole rows, as of Gather
        return IndexedSlices(dy, RESHAPE(indices, np.asarray([-1], np.int32)), shape), None
    return SCATTER_ND(indices, dy, shape), None


GATHER_ND: OpDef[Tensor] = OpDef(
    "GatherNd",
    inputs="params: Tparams, indices: Tindices",
    outputs="output: Tparams",
    types={"Tparams": ALL_AND_QUANTIZED, "Tindices": INDEX},
    doc="""Gathers elements or slices of a tensor by index tuples: output[i, ...] = params[indices[i, ..., :]].

    params: any dtype, rank n. indices: integers, last dimension k <= n; each row selects an element (k = n) or a
    slice. output: the shape of indices without its last dimension, followed by params' dimensions from k on. Errors:
    an index is outside params (a device gives 0 for an index that it computed itself).""",
    infer=_nd_shape,
    host=_host_gather_nd,
    lower=_lower_gather_nd,
    bounds=nd_bounds,
    grad=_grad_gather_nd,
)


def check_updates(name: str, indices: Shape, updates: Shape, shape: Shape) -> None:
    """Raises `ShapeError` unless the updates hold, for each index, one slice of a tensor of the given shape."""
    lead, dims = indices.sizes, shape.sizes
    if shape.num_elements() == 0 and (indices.num_elements() or updates.num_elements()):
        raise ShapeError(f"{name}: Indices and updates specified for empty output shape {shape}")
    if lead is None:
        return
    if not lead:
        raise ShapeError(f"{name}: indices must have rank 1 or more, got a scalar")
    k = lead[-1]
    if k is not None and dims is not None and k > len(dims):
        raise ShapeError(f"{name}: indices of {k} numbers are too long for shape {shape}")
    if updates.sizes is None:
        return
    slices = None if k is None or dims is None else dims[k:]
    expected = (*lead[:-1], *(updates.sizes[len(lead) - 1 :] if slices is None else slices))
    if not Shape(expected).is_compatible_with(updates):
        fits = Shape(expected[: len(lead) - 1]).is_compatible_with(Shape(updates.sizes[: len(lead) - 1]))
        n, which = (len(expected) - len(lead) + 1, "inner") if fits else (len(lead) - 1, "outer")
        of = f"input.shape={shape}" if fits else f"indices.shape={indices}"
        raise ShapeError(
            f"{name}: The {which} {n} dimensions of {of} must match those of updates: for indices of shape {indices} "
            f"and a tensor of shape {shape} they have shape "
            f"{Shape(expected)}, got {updates}"
        )


def _scattered_shape(c: Infer) -> Shape:
    shape = c.as_shape(2)
    check_updates(c.op_name, c.shapes[0], c.shapes[1], shape)
    return shape


def _check_inside(call: HostCall, indices: np.ndarray, shape: np.ndarray) -> None:
    """Raises `InvalidArgumentError` for an index tuple that is outside of the first dimensions of `shape`."""
    k = indices.shape[-1]
    bad = ((indices < 0) | (indices >= shape[:k])).any(-1)
    if bad.any():
        words = "Indices and updates specified for empty output: " if not shape.all() else ""
        where = [int(n) for n in np.argwhere(bad)[0]]
        index = bracketed(indices[tuple(where)])
        raise InvalidArgumentError(
            f"{words}indices{bracketed(where) if where else ''} = {index} does not index into shape {bracketed(shape)}",
            call.op,
        )


def _host_scatter_nd(call: HostCall, indices: np.ndarray, updates: np.ndarray, shape: np.ndarray) -> np.ndarray:
    check_updates("ScatterNd", Shape(indices.shape), Shape(updates.shape), Shape(tuple(shape.tolist())))
    _check_inside(call, indices, shape)
    out, k = np.zeros(shape.tolist(), updates.dtype), indices.shape[-1]
    if not k:  # an empty index selects the whole tensor
        return np.asarray(out + updates.sum(tuple(range(indices.ndim - 1)), dtype=out.dtype))
    np.add.at(out, tuple(np.moveaxis(indices, -1, 0)), updates)
    return out


def row_numbers(indices: Tensor, sizes: Sequence[Any]) -> Tensor:
    """Returns the row-major number of each index tuple in the dimensions `sizes`; -1 for an index outside of them."""
    if len(sizes) == 1:
        return indices[..., 0]
    number = inside = None
    for j, size in enumerate(sizes):
        i = indices[..., j]
        in_range = LOGICAL_AND(GREATER_EQUAL(i, ZEROS_LIKE(i)), LESS(i, size))
        inside = in_range if inside is None else LOGICAL_AND(inside, in_range)
        number = i if number is None else number * size + i
    return SELECT(inside, number, ZEROS_LIKE(number) - 1)


def _expand_scatter_nd(op: Operation, indices: Tensor, updates: Tensor, shape: Tensor) -> Tensor | None:
    """Converts each index tuple to one row number, which turns the scatter into a segment sum."""
    dims, depth = constant_shape(shape).sizes, indices.shape.sizes
    if dims is None or not depth or not depth[-1] or updates.dtype not in REALS:
        return None
    k = depth[-1]
    sizes = [shape[i] if d is None else d for i, d in enumerate(dims)]
    number = row_numbers(indices, sizes[:k])
    flat = SCATTER_ROWS(indices, updates, shape)
    sums = UNSORTED_SEGMENT_SUM(flat, RESHAPE(number, np.asarray([-1], np.int32)), math.prod(sizes[:k]))
    return RESHAPE(sums, shape)


def _rows_shape(c: Infer) -> Shape:
    shape = _scattered_shape(c)
    lead = c.shapes[0].sizes
    count = None if lead is None or None in lead[:-1] else math.prod(lead[:-1])  # type: ignore[arg-type]
    rest = None if lead is None or shape.sizes is None or lead[-1] is None else shape.sizes[lead[-1] :]
    width = None if rest is None or None in rest else math.prod(rest)  # type: ignore[arg-type]
    return Shape((count, width))


def _host_rows(call: HostCall, indices: np.ndarray, updates: np.ndarray, shape: np.ndarray) -> np.ndarray:
    dims = tuple(shape.tolist())
    check_updates("ScatterRows", Shape(indices.shape), Shape(updates.shape), Shape(dims))
    _check_inside(call, indices, shape)
    return updates.reshape(math.prod(indices.shape[:-1]), math.prod(dims[indices.shape[-1] :]))


def _row_bounds(c: Infer) -> list[Bound]:
    depth, shape = c.shapes[0].known()[-1], tuple(integer(d) for d in c.value(2))
    return [Bound(0, shape[:depth])] if depth else []


SCATTER_ROWS: OpDef[Tensor] = OpDef(
    "ScatterRows",
    inputs="indices: Tindices, updates: T, shape: Tindices",
    outputs="rows: T",
    types={"T": ALL, "Tindices": INDEX},
    doc="""The updates of a scatter as rows, one per index; the part of the scatter's expansion that checks them.

    indices: integers, last dimension k. updates: any dtype; their shape is that of indices without its last dimension,
    followed by shape[k:]. shape: an integer vector. rows: shape (number of indices, product of shape[k:]), in the same
    memory. Errors: the updates have another shape, or an index is outside the shape (a device lets an index pass that
    it computed itself).""",
    infer=_rows_shape,
    host=_host_rows,
    bounds=_row_bounds,
    alias=1,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(2,),
)


SCATTER_ND: OpDef[Tensor] = OpDef(
    "ScatterNd",
    inputs="indices: Tindices, updates: T, shape: Tindices",
    outputs="output: T",
    types={"T": NUMBERS, "Tindices": INDEX},
    doc="""A tensor of zeros to which updates are added, each at its own index; the inverse of GatherNd.

    indices: integers, last dimension k. updates: a number type; their shape is that of indices without its last
    dimension, followed by that of a slice. shape: an integer vector, the output's shape. Updates with equal indices
    are added. Errors: the updates have another shape, or an index is outside the shape (a device drops such an update
    when it computed the index itself).""",
    infer=_scattered_shape,
    host=_host_scatter_nd,
    expand=_expand_scatter_nd,
    grad=lambda op, dy: (None, GATHER_ND(dy, op.inputs[0]), None),
    shape_inputs=(2,),
    api="scatter_nd",
)


@record
class SparseToDenseAttrs:
    """`validate_indices`: the host raises an error for an index that occurs twice."""

    validate_indices: bool = True


def _dense_shape(c: Infer) -> Shape:
    indices = c.shapes[0]
    if indices.sizes is not None and len(indices.sizes) > 2:
        raise ShapeError(f"SparseToDense: sparse_indices must have rank 0, 1 or 2, got shape {indices}")
    with_rank(c, 1, 1, "output_shape should be a vector")
    return c.as_shape(1)


def _check_dense(indices: Shape, shape: Shape, values: Shape) -> None:
    """Raises `ShapeError` unless each index has the rank of the shape, and there is one value per index."""
    if indices.sizes is None:
        return
    length = indices.sizes[1] if len(indices.sizes) == 2 else 1
    if shape.sizes is not None and length not in (None, len(shape.sizes)):
        raise ShapeError(f"SparseToDense: indices of {length} numbers for {len(shape.sizes)} dimensions")
    count = indices.sizes[0] if indices.sizes else 1
    if values.sizes != () and not values.is_compatible_with(Shape((count,))):
        raise ShapeError(
            f"sparse_values has incorrect shape {bracketed(values.sizes)}, should be [] or [{count}]: SparseToDense of "
            f"{count} indices"
        )


def _check_rows(op: Operation, validate: bool, rows: np.ndarray, shape: np.ndarray) -> None:
    """Raises `InvalidArgumentError` for an index outside `shape`, and one that is repeated or out of order."""

    def refuse(k: int, what: str) -> InvalidArgumentError:
        return InvalidArgumentError(f"indices[{k}] = {bracketed(rows[k])} is {what}", op)

    outside = ((rows < 0) | (rows >= shape)).any(axis=1)
    if outside.any():
        raise refuse(int(outside.argmax()), f"out of bounds: need 0 <= index < {bracketed(shape)}")
    if not validate or len(rows) < 2:
        return
    places = rows @ np.append(np.cumprod(shape[:0:-1].astype(np.int64))[::-1], 1)
    steps = np.diff(places)
    if (steps <= 0).any():
        k = int((steps <= 0).argmax())
        raise refuse(k + 1, "repeated" if steps[k] == 0 else "out of order")


def _host_dense(
    call: HostCall, indices: np.ndarray, shape: np.ndarray, values: np.ndarray, default: np.ndarray
) -> np.ndarray:
    if shape.ndim != 1:
        raise ShapeError(f"SparseToDense: output_shape should be a vector, got shape {shape.shape}", call.op)
    _check_dense(Shape(indices.shape), Shape(tuple(shape.tolist())), Shape(values.shape))
    if default.ndim:
        raise InvalidArgumentError(f"default_value should be a scalar, got shape {default.shape}", call.op)
    rows = indices.reshape(-1, 1) if indices.ndim < 2 else indices
    _check_rows(call.op, call.attrs.validate_indices, rows, shape)
    out = np.full(shape.tolist(), default, values.dtype)
    if shape.size:
        out[tuple(rows.T)] = values
    elif len(rows):  # a scalar
        out[...] = values.reshape(-1)[-1]
    return out


def _index_rows(indices: Tensor, shape: TensorLike) -> Tensor:
    """The indices into a tensor of the given shape as rows: one row per element."""
    if indices.shape.ndims is None:
        return RESHAPE(indices, PACK([np.int32(-1), SIZE(shape, out_type=int32)]))
    if indices.shape.ndims == 0:
        return RESHAPE(indices, np.asarray([1, 1], np.int32))
    return EXPAND_DIMS(indices, np.int32(-1)) if indices.shape.ndims == 1 else indices


def _may_fit(op: Operation, indices: Tensor, shape: Tensor, values: Tensor) -> bool:
    """Returns whether nothing that is known statically must be refused."""
    try:
        _check_dense(indices.shape, constant_shape(shape), values.shape)
        rows = constant_value(indices)
        if rows is not None:
            rows = rows.reshape(-1, 1) if rows.ndim < 2 else rows
            _check_rows(op, op.attrs.validate_indices, rows, np.asarray(constant_shape(shape).known()))
    except InvalidArgumentError:
        return False
    return True


def _expand_dense(op: Operation, indices: Any, shape: Tensor, values: Tensor, default: Tensor) -> Tensor | None:
    is_static = constant_shape(shape).sizes is not None and indices.shape.sizes is not None
    if values.dtype not in REALS or not is_static or None in indices.shape.sizes[1:]:
        return None
    if default.shape.ndims != 0 or not _may_fit(op, indices, shape, values):
        return None  # the host refuses it
    rows = _index_rows(indices, shape)
    count = SHAPE(rows, out_type=int32)[:1]
    ones = BROADCAST_TO(np.asarray([1], np.int32), count)
    total = SCATTER_ND(rows, BROADCAST_TO(values, count), shape)
    return SELECT(GREATER(SCATTER_ND(rows, ones, shape), 0), total, BROADCAST_TO(default, shape))


def _grad_dense(op: Operation, dy: Tensor) -> tuple[None, None, Tensor, Tensor]:
    rows, values = _index_rows(op.inputs[0], op.inputs[1]), op.inputs[2]
    d_values = GATHER_ND(dy, rows)
    rest = SUM(dy, all_axes(dy)) - SUM(d_values, all_axes(d_values))
    if values.shape.ndims is None:  # either a scalar or one value per row
        d_values = SUM(d_values, RANGE(np.int32(0), np.int32(1) - RANK(values), np.int32(1)))
    elif values.shape.ndims == 0:
        d_values = RESHAPE(SUM(d_values, all_axes(d_values)), shape_of(values))
    return None, None, d_values, rest


SPARSE_TO_DENSE: OpDef[Tensor] = OpDef(
    "SparseToDense",
    inputs="sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T",
    outputs="dense: T",
    types={"T": ALL, "Tindices": INDEX},
    attrs=SparseToDenseAttrs,
    doc="""A dense tensor that has the given values at the given indices, and `default_value` elsewhere.

    sparse_indices: integers, shape (n, rank): one index tuple per row; or (n,) or a scalar for vectors. output_shape:
    an integer vector. sparse_values: n values of any dtype, or one for all indices. default_value: a scalar. dense:
    shape output_shape. Errors: an index is outside the shape (a device drops an index that it computed itself), or,
    on the host, occurs twice.""",
    infer=_dense_shape,
    host=_host_dense,
    expand=_expand_dense,
    grad=_grad_dense,
    shape_inputs=(1,),
)


def sparse_to_dense(
    sparse_indices: TensorLike,
    output_shape: TensorLike,
    sparse_values: TensorLike,
    default_value: int = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Returns a dense tensor that has `sparse_values` at `sparse_indices`, and `default_value` elsewhere.

    sparse_indices: shape (n, rank), or (n,) for vectors. sparse_values: n values, or one for all indices. output_shape:
    the shape of the result. Errors: an index is outside the shape (a device drops an index that it computed itself),
    or, on the host, occurs twice.
    """
    return SPARSE_TO_DENSE(
        sparse_indices,
        output_shape,
        sparse_values,
        default_value,
        validate_indices=validate_indices,
        name=name,
    )


OPS: tuple[OpDef, ...] = (GATHER_ND, SCATTER_ROWS, SCATTER_ND, SPARSE_TO_DENSE)
API: dict[str, Any] = {"sparse_to_dense": sparse_to_dense}

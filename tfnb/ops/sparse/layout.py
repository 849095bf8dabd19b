"""Changes of sparse tensors: reduction, reordering, reshaping, joining, splitting (OSDI'16, section 3.1).

The number of values in the result depends on the data, so all ops except `SparseReshape` run on the host. Invariant:
inputs in row-major order give outputs in row-major order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import normalize_axis, with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import RANGE
from tfnb.ops.array.gather import GATHER
from tfnb.ops.array.shape_ops import SHAPE, constant_lookup
from tfnb.ops.array.transpose_pad_tile import INVERT_PERMUTATION
from tfnb.ops.sparse.arithmetic import check_places, places, room_for
from tfnb.ops.sparse.pairs import any_number, columns, unraveled, values_at
from tfnb.ops.sparse.rows import ReduceAttrs, reduce_groups
from tfnb.types import ALL, NUMBERS, REALS, Shape, bracketed, int32, int64

__all__ = [
    "OPS",
    "SPARSE_CONCAT",
    "SPARSE_FILL_EMPTY_ROWS",
    "SPARSE_REORDER",
    "SPARSE_RESHAPE",
]

_NONE = Shape((None,))


def _reduction(name: str, what: str, ufunc: np.ufunc) -> OpDef[tuple[Tensor, Tensor, Tensor]]:
    def kernel(call: HostCall, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        indices, values, shape, axes = inputs
        at, totals = reduce_groups(call, indices, values, shape, axes, ufunc)
        reduced = {normalize_axis(int(a), shape.size) for a in axes.reshape(-1)}
        dims = [
            1 if a in reduced else d for a, d in enumerate(shape.tolist()) if call.attrs.keep_dims or a not in reduced
        ]
        return at, totals, np.asarray(dims, np.int64)

    return OpDef(
        name,
        inputs="input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32",
        outputs="output_indices: int64, output_values: T, output_shape: int64",
        types={"T": REALS if ufunc is np.maximum else NUMBERS},
        attrs=ReduceAttrs,
        doc=f"""The {what} along dimensions of a sparse tensor, as a sparse tensor.

        input_indices (n, rank), input_values (n,), input_shape (rank,): the sparse tensor. reduction_axes: integers, a
        negative one counts from the end. Errors: an axis or an index is out of range. Runs on the host.""",
        infer=lambda c: (Shape((None, None)), _NONE, _NONE),
        host=kernel,
        grad=GRADIENT_MISSING,
        dynamic=True,
    )


SPARSE_REDUCE_SUM_SPARSE = _reduction("SparseReduceSumSparse", "sum", np.add)
SPARSE_REDUCE_MAX_SPARSE = _reduction("SparseReduceMaxSparse", "maximum", np.maximum)

# reordering and reshaping


def _host_reorder(
    call: HostCall, indices: np.ndarray, values: np.ndarray, shape: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(places(indices, room_for(call, shape, indices)), kind="stable")
    return indices[order], values[order]


def _grad_reorder(op: Operation, d_indices: Tensor, dy: Tensor) -> tuple[None, Tensor, None]:
    indices, _, shape = op.inputs
    count = SHAPE(indices, out_type=int32)[0]
    order = SPARSE_REORDER(indices, RANGE(np.int32(0), count, np.int32(1)), shape)[1]
    return None, GATHER(dy, INVERT_PERMUTATION(order)), None


SPARSE_REORDER: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "SparseReorder",
    inputs="input_indices: int64, input_values: T, input_shape: int64",
    outputs="output_indices: int64, output_values: T",
    types={"T": ALL},
    doc="""The same sparse tensor with its indices in row-major order.

    input_indices (n, rank), input_values (n,) of any dtype, input_shape (rank,). Errors: an index is negative (one
    beyond the shape is taken as it is). Runs on the host.""",
    infer=lambda c: (with_rank(c, 0, 2), with_rank(c, 1, 1)),
    host=_host_reorder,
    grad=_grad_reorder,
)


def _reshape_target(name: str, old: Sequence[int], new: Sequence[int]) -> list[int]:
    """`new` with its -1 replaced. Raises `InvalidArgumentError` when the numbers of elements differ."""
    size, dims = int(np.prod(old, dtype=np.int64)), [int(d) for d in new]
    rest = int(np.prod([d for d in dims if d != -1], dtype=np.int64))
    if dims.count(-1) == 1 and rest and size % rest == 0:
        dims[dims.index(-1)] = size // rest
    if -1 in dims or any(d < 0 for d in dims) or int(np.prod(dims, dtype=np.int64)) != size:
        why = f"{name}: a tensor of shape {list(old)} cannot have shape {list(new)}"
        if dims.count(-1) > 1:
            words = "only one output dimension may be -1; only one output shape size may be -1"
            raise InvalidArgumentError(f"{words}: {why}")
        if -1 in dims:
            raise InvalidArgumentError(
                f"Input to reshape is a SparseTensor with {size} dense values, but the requested shape requires a "
                f"multiple of {rest}: {why}"
            )
        raise InvalidArgumentError(
            f"Input to reshape is a tensor with {size} dense values, but the requested shape has {rest}: {why}"
        )
    return dims


def _reshaped(c: Infer) -> tuple[Shape, Shape]:
    count, new_rank = with_rank(c, 0, 2).sizes[0], with_rank(c, 2, 1).sizes[0]  # type: ignore[index]
    old, new = c.value(1), c.value(2)
    if old is not None and new is not None and -1 not in new and np.prod(old) != np.prod(new):
        raise ShapeError(
            f"SparseReshape: Cannot reshape a tensor with {np.prod(old)} elements to shape {bracketed(new)} "
            f"({np.prod(new)} elements): Input to reshape is a tensor with {np.prod(old)} dense values, but the "
            f"requested shape has {np.prod(new)}"
        )
    return Shape((count, new_rank)), Shape((new_rank,))


def _host_reshape(
    call: HostCall, indices: np.ndarray, shape: np.ndarray, new: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    check_places(call, indices, shape)
    target = np.asarray(_reshape_target("SparseReshape", shape.tolist(), new.tolist()), np.int64)
    return unraveled(places(indices, shape), target), target


def _strides(dims: Sequence[int]) -> list[int]:
    strides = [1]
    for d in reversed(dims[1:]):
        strides.insert(0, strides[0] * d)
    return strides[-len(dims) :] if dims else []


def _lower_reshape(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    old = site.value(1).tolist()
    new_dims = _reshape_target("SparseReshape", old, site.value(2).tolist())
    if port == 1:
        return constant_lookup(new_dims, idx[0], int64)
    number: Expr = s.const(0, int64)
    for k, stride in enumerate(_strides(old)):
        number = number + site.load(0, (idx[0], k)) * stride
    steps, sizes = (constant_lookup(v, idx[1], int64) for v in (_strides(new_dims), [max(d, 1) for d in new_dims]))
    return s.floormod(s.floordiv(number, steps), sizes)


SPARSE_RESHAPE: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "SparseReshape",
    inputs="input_indices: int64, input_shape: int64, new_shape: int64",
    outputs="output_indices: int64, output_shape: int64",
    doc="""The indices of a sparse tensor's values after reshaping.

    input_indices (n, rank), input_shape (rank,). new_shape: a vector, one entry may be -1. output_indices (n,
    new rank), output_shape (new rank,). Errors: the numbers of elements differ.""",
    infer=_reshaped,
    host=_host_reshape,
    lower=_lower_reshape,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(1, 2),
)

# joining and splitting


@record
class ConcatAttrs:
    """`concat_dim`: the axis; a negative one counts from the end."""

    concat_dim: int


def _host_concat(call: HostCall, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    n = len(inputs) // 3
    indices, values, shapes = inputs[:n], inputs[n : 2 * n], inputs[2 * n :]
    a = normalize_axis(call.attrs.concat_dim, shapes[0].size, "SparseConcat: axis")
    offset, shifted_parts = 0, []
    for at, size in zip(indices, shapes, strict=True):
        check_places(call, at, size)
        if np.delete(size, a).tolist() != np.delete(shapes[0], a).tolist():
            raise InvalidArgumentError(
                f"Input shapes must match: {shapes[0].tolist()} and {size.tolist()} do not", call.op
            )
        shifted = at.copy()
        shifted[:, a] += offset
        shifted_parts.append(shifted)
        offset += int(size[a])
    total = shapes[0].copy()
    total[a] = offset
    moved_indices = np.concatenate(shifted_parts)
    order = np.argsort(places(moved_indices, total), kind="stable")
    return moved_indices[order], np.concatenate(values)[order], total


def _concat_shapes(c: Infer) -> tuple[Shape, Shape, Shape]:
    n = len(c.shapes) // 3
    rank = next((r for i in range(n) if (r := columns(c, i, 2 * n + i)) is not None), None)
    counts = [c.shapes[i].sizes[0] if c.shapes[i].sizes else None for i in range(n)]  # type: ignore[index]
    total = None if None in counts else sum(counts)  # type: ignore[arg-type]
    return Shape((total, rank)), Shape((total,)), Shape((rank,))


SPARSE_CONCAT: OpDef[tuple[Tensor, Tensor, Tensor]] = OpDef(
    "SparseConcat",
    inputs="indices: N*int64, values: N*T, shapes: N*int64",
    outputs="output_indices: int64, output_values: T, output_shape: int64",
    types={"T": ALL},
    attrs=ConcatAttrs,
    doc="""Joins sparse tensors along an axis; the result is in row-major order.

    indices, values, shapes: N sparse tensors of the same rank and dtype, whose shapes differ in this axis only.
    Errors: the shapes differ elsewhere, or the axis is out of range. Runs on the host.""",
    infer=_concat_shapes,
    host=_host_concat,
    grad=NOT_DIFFERENTIABLE,
)


@record
class SplitAttrs:
    """`num_split`: the number of parts."""

    num_split: int

    def __post_init__(self) -> None:
        if self.num_split < 1:
            raise InvalidArgumentError(f"num_split must be at least 1, got {self.num_split}")


def _split_shapes(c: Infer) -> tuple[Shape, ...]:
    n, (at, values, size) = c.attrs.num_split, any_number(c, 1, 3)
    return (at,) * n + (values,) * n + (size,) * n


def _host_split(
    call: HostCall, axis: np.ndarray, indices: np.ndarray, values: np.ndarray, shape: np.ndarray
) -> tuple[np.ndarray, ...]:
    check_places(call, indices, shape)
    n, a = (
        call.attrs.num_split,
        normalize_axis(int(axis.reshape(())), shape.size, "SparseSplit: axis"),
    )
    size = int(shape[a])
    if not 1 <= n <= size:
        raise InvalidArgumentError(f"{n} parts of dimension {a} of shape {shape.tolist()}", call.op)
    part_size, extra = divmod(size, n)  # the first `extra` parts are longer by one
    starts = np.cumsum([0] + [part_size + (k < extra) for k in range(n)])
    pieces: list[tuple[np.ndarray, ...]] = []
    for low, high in zip(starts[:-1], starts[1:], strict=True):
        inside = (indices[:, a] >= low) & (indices[:, a] < high)
        at, dims = indices[inside].copy(), shape.copy()
        at[:, a] -= low
        dims[a] = high - low
        pieces.append((at, values[inside], dims))
    return tuple(part[k] for k in range(3) for part in pieces)


SPARSE_SPLIT: OpDef[tuple[list[Tensor], list[Tensor], list[Tensor]]] = OpDef(
    "SparseSplit",
    inputs="split_dim: int64, indices: int64, values: T, shape: int64",
    outputs="output_indices: num_split*int64, output_values: num_split*T, output_shape: num_split*int64",
    types={"T": ALL},
    attrs=SplitAttrs,
    doc="""Splits a sparse tensor into num_split parts along an axis; the first parts are longer by one if needed.

    split_dim: an int64 scalar. indices (n, rank), values (n,), shape (rank,): the sparse tensor. Errors: the axis is
    out of range, or there are more parts than elements. Runs on the host, since the sizes depend on the data.""",
    infer=_split_shapes,
    host=_host_split,
    grad=GRADIENT_MISSING,
    dynamic=True,
)


def _host_slice(
    call: HostCall,
    indices: np.ndarray,
    values: np.ndarray,
    shape: np.ndarray,
    start: np.ndarray,
    size: np.ndarray,
) -> tuple[np.ndarray, ...]:
    check_places(call, indices, shape)
    if start.shape != shape.shape or size.shape != shape.shape or (size < 0).any():
        raise InvalidArgumentError(f"start {start.tolist()}, size {size.tolist()} in {shape.tolist()}", call.op)
    inside = ((indices >= start) & (indices < start + size)).all(1)
    return indices[inside] - start, values[inside], np.maximum(np.minimum(size, shape - start), 0)


def _grad_slice(op: Operation, d_indices: Tensor, dy: Tensor, d_shape: Tensor) -> tuple[None, Tensor, None, None, None]:
    return None, SPARSE_SLICE_GRAD(dy, op.inputs[0], op.inputs[3], op.outputs[0]), None, None, None


SPARSE_SLICE: OpDef[tuple[Tensor, Tensor, Tensor]] = OpDef(
    "SparseSlice",
    inputs="indices: int64, values: T, shape: int64, start: int64, size: int64",
    outputs="output_indices: int64, output_values: T, output_shape: int64",
    types={"T": ALL},
    doc="""The part of a sparse tensor from `start` on, of at most `size` elements in each dimension.

    indices (n, rank), values (n,), shape, start, size (rank,). A start below 0 is allowed; there are no elements
    before 0. Errors: a size is negative. Runs on the host, since the size depends on the data.""",
    infer=lambda c: any_number(c, 0, 2),
    host=_host_slice,
    grad=_grad_slice,
    dynamic=True,
)


def _host_slice_grad(
    call: HostCall, dy: np.ndarray, indices: np.ndarray, start: np.ndarray, sliced: np.ndarray
) -> np.ndarray:
    if dy.shape[:1] != sliced.shape[:1]:
        raise InvalidArgumentError(f"{call.op.type}: {dy.size} gradients for {len(sliced)} indices", call.op)
    shifted = indices - start
    if missing := {*map(tuple, sliced.tolist())} - {*map(tuple, shifted.tolist())}:
        raise InvalidArgumentError(f"{call.op.type}: the input has no element for {min(missing)} of the slice", call.op)
    return values_at(dy, shifted, sliced)


SPARSE_SLICE_GRAD: OpDef[Tensor] = OpDef(
    "SparseSliceGrad",
    inputs="backprop_val_grad: T, input_indices: int64, input_start: int64, output_indices: int64",
    outputs="val_grad: T",
    types={"T": NUMBERS},
    doc="""The gradient of SparseSlice with respect to the values: 0 for values outside the slice.

    backprop_val_grad (m,), output_indices (m, rank): those of the slice. input_indices (n, rank), input_start
    (rank,). val_grad (n,). Errors: an index of the slice is not in the input. Runs on the host.""",
    infer=lambda c: Shape((with_rank(c, 1, 2).sizes[0],)),  # type: ignore[index]
    host=_host_slice_grad,
    grad=GRADIENT_MISSING,
)


def _filled_shapes(c: Infer) -> tuple[Shape, ...]:
    at, values, _ = any_number(c, 0, 2)
    dims, value_dims = c.as_shape(2).sizes, c.shapes[1].sizes
    return at, values, Shape((dims[0] if dims else None,)), Shape((value_dims[0] if value_dims else None,))


def _host_fill(
    call: HostCall, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, default: np.ndarray
) -> tuple[np.ndarray, ...]:
    check_places(call, indices, shape)
    if not shape.size:
        raise InvalidArgumentError("SparseFillEmptyRows: needs rows, got a scalar", call.op)
    rows = int(shape[0])
    empty = np.bincount(indices[:, 0], minlength=rows) == 0
    added = np.zeros((int(empty.sum()), shape.size), np.int64)
    added[:, 0] = np.flatnonzero(empty)
    extra = np.empty(len(added), values.dtype)
    extra[:] = default
    all_indices = np.concatenate([indices, added])
    order = np.argsort(all_indices[:, 0], kind="stable")
    reverse_map = np.argsort(order, kind="stable")[: len(indices)]
    return all_indices[order], np.concatenate([values, extra])[order], empty, reverse_map.astype(np.int64)


def _grad_fill(
    op: Operation, d_indices: Tensor, dy: Tensor, d_empty: Tensor, d_map: Tensor
) -> tuple[None, Tensor, None, Tensor]:
    d_values, d_default = SPARSE_FILL_EMPTY_ROWS_GRAD(op.outputs[3], dy)
    return None, d_values, None, d_default


SPARSE_FILL_EMPTY_ROWS: OpDef[tuple[Tensor, Tensor, Tensor, Tensor]] = OpDef(
    "SparseFillEmptyRows",
    inputs="indices: int64, values: T, dense_shape: int64, default_value: T",
    outputs="output_indices: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64",
    types={"T": ALL},
    doc="""Inserts `default_value` at the start of each row of a sparse tensor that has no values.

    indices (n, rank), values (n,), dense_shape (rank,): the sparse tensor. default_value: a scalar.
    empty_row_indicator: bool, (rows,). reverse_index_map (n,): the new position of each value. Runs on the host, since
    the size depends on the data.""",
    infer=_filled_shapes,
    host=_host_fill,
    grad=_grad_fill,
    dynamic=True,
)


def _host_fill_grad(call: HostCall, back: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if ((back < 0) | (back >= dy.size)).any():
        raise InvalidArgumentError(f"reverse_index_map {back.tolist()} for {dy.size} gradients", call.op)
    d_values = dy[back]
    rest = np.ones(dy.size, np.bool_)
    rest[back] = False
    return d_values, np.asarray(dy[rest].sum(), dy.dtype)


SPARSE_FILL_EMPTY_ROWS_GRAD: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "SparseFillEmptyRowsGrad",
    inputs="reverse_index_map: int64, grad_values: T",
    outputs="d_values: T, d_default_value: T",
    types={"T": NUMBERS},
    doc="""The gradients of SparseFillEmptyRows for the values, and for the default: the sum over the filled rows.

    reverse_index_map (n,): the position of each value in the output. grad_values (m,). d_values (n,), d_default_value:
    a scalar. Runs on the host.""",
    infer=lambda c: (c.shapes[0], Shape(())),
    host=_host_fill_grad,
    grad=GRADIENT_MISSING,
)

OPS: tuple[OpDef, ...] = (
    SPARSE_REDUCE_SUM_SPARSE,
    SPARSE_REDUCE_MAX_SPARSE,
    SPARSE_REORDER,
    SPARSE_RESHAPE,
    SPARSE_CONCAT,
    SPARSE_SPLIT,
    SPARSE_SLICE,
    SPARSE_SLICE_GRAD,
    SPARSE_FILL_EMPTY_ROWS,
    SPARSE_FILL_EMPTY_ROWS_GRAD,
)
API: dict[str, Any] = {}

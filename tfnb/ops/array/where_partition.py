"""Ops whose output size depends on the data (white paper, Table 1, array operations).

The host finds what has such a size. Invariant: the results are in the order of the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import CONCAT
from tfnb.ops.array.constants import RANGE
from tfnb.ops.array.gather import GATHER, GATHER_V2
from tfnb.ops.array.row_selection import (
    PARTITION_ROWS,
    STITCH_ROWS,
    TAKE_ROWS,
    DynamicPartitionAttrs,
    rows_of_parts,
)
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RANK, RESHAPE, SHAPE, SQUEEZE, reshape_like
from tfnb.ops.math.binary import MAXIMUM
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import LESS, SELECT
from tfnb.ops.math.reduce import MAX, PROD
from tfnb.ops.math.reduce_sum import BROADCAST_TO
from tfnb.types import ALL, ALL_AND_QUANTIZED, INDEX, NUMBERS, DTypeLike, Shape, as_dtype, bool_, int32, unknown_shape

__all__ = ["API", "DYNAMIC_PARTITION", "DYNAMIC_STITCH", "OPS", "UNIQUE", "WHERE", "distinct", "product"]


def _places(x: np.ndarray) -> np.ndarray:
    """The index tuples of the true elements, computed from their flat indices by division."""
    flat = np.flatnonzero(x)
    out = np.empty((flat.size, x.ndim), np.int64)
    number = flat.astype(np.uint32) if x.size < 1 << 32 else flat  # dividing 32-bit numbers takes half the time
    for i in reversed(range(1, x.ndim)):
        size = number.dtype.type(x.shape[i])
        lines = number // size
        np.subtract(number, lines * size, out=out[:, i], casting="unsafe")
        number = lines
    if x.ndim:
        out[:, 0] = number
    return out


WHERE: OpDef[Tensor] = OpDef(
    "Where",
    inputs="input: T",
    outputs="index: int64",
    types={"T": (bool_, *NUMBERS)},
    doc="""The indices of the elements that are true (not zero), in row-major order.

    input: bool or a number type, rank n. index: int64, shape (count, n). Runs on the host.""",
    infer=lambda c: Shape((None, c.shapes[0].ndims)),
    host=lambda call, x: _places(x),
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)


def distinct(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Finds the distinct elements of a vector.

    Returns the ascending indices where they first occur, and for each element of the vector its index among them.
    """
    whole = x.dtype.kind in "iu" and x.size > 0
    low, high = (int(x.min()), int(x.max())) if whole else (0, 0)
    if whole and high - low < 16 * x.size:  # there are few possible numbers, so a table of all of them is small
        wide_x = x if x.itemsize == 8 else x.astype(np.int64)
        number = (wide_x - low).astype(np.int64, copy=False)
        table = np.empty(high - low + 1, np.int64)
        table[number[::-1]] = np.arange(x.size - 1, -1, -1)  # the last write wins: it is the first occurrence in x
        first = table[number]
        is_first = first == np.arange(x.size)
        place = np.cumsum(is_first) - 1
        return np.flatnonzero(is_first), place[first]
    _, start, inverse = np.unique(x, return_index=True, return_inverse=True)
    order = np.argsort(start)  # in the order of first occurrence
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return start[order], rank[inverse.reshape(-1)]


def _host_unique(call: HostCall, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, place = distinct(x)
    return x[first], place.astype(call.outputs[1].dtype.np)


UNIQUE: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "Unique",
    inputs="x: T",
    outputs="y: T, idx: out_idx",
    types={"T": ALL, "out_idx": INDEX},
    doc="""The distinct elements of a vector, in the order of their first occurrence.

    x: a vector of any dtype. y: the distinct elements. idx: for each element of x its index in y (`out_idx`: int32 or
    int64). Runs on the host.""",
    infer=lambda c: (Shape((None,)), with_rank(c, 0, 1)),
    host=_host_unique,
    grad=GRADIENT_MISSING,
    dynamic=True,
    defaults={"out_idx": int32},
)


def _partition_shapes(c: Infer) -> tuple[Shape, ...]:
    data, partitions = c.shapes
    if data.sizes is None or partitions.sizes is None:
        return (unknown_shape,) * c.attrs.num_partitions
    if not Shape(data.sizes[: len(partitions.sizes)]).is_compatible_with(partitions):
        raise ShapeError(f"DynamicPartition: data of shape {data} must begin with the shape {partitions} of partitions")
    return (Shape((None, *data.sizes[len(partitions.sizes) :])),) * c.attrs.num_partitions


def _host_partition(call: HostCall, data: np.ndarray, which: np.ndarray) -> list[np.ndarray]:
    order, ends = rows_of_parts(call, which)
    rows = data.reshape(which.size, *data.shape[which.ndim :]).take(order, axis=0)
    begins = [0, *ends.tolist()]
    return [rows[begin:end] for begin, end in pairwise(begins)]


def _expand_partition(op: Operation, data: Tensor, partitions: Tensor) -> list[Any] | None:
    """Takes the rows where they are; numbers of the host, such as the indices of a lookup, stay there."""
    rank = partitions.shape.ndims
    if rank is None or not _is_moved(data):
        return None
    rows = PARTITION_ROWS(partitions, num_partitions=op.attrs.num_partitions)
    flat = _with_rows(data, rank)
    return [TAKE_ROWS(flat, r) for r in rows]


def _is_moved(data: Tensor) -> bool:
    """Returns whether rows of this dtype are moved on their device. Integers and bools are mostly on the host."""
    return data.dtype.is_floating and bool(data.dtype.cl)


def _with_rows(data: Tensor, rank: int) -> Tensor:
    """Returns `data` with one dimension, that of rows, instead of the first `rank`."""
    if rank == 1:
        return data
    if rank == 0:
        return EXPAND_DIMS(data, np.int32(0))
    dims = data.shape.sizes
    if dims is not None and None not in dims[rank:] and 0 not in dims[rank:]:
        return RESHAPE(data, np.asarray([-1, *dims[rank:]], np.int32))
    shape = SHAPE(data, out_type=int32)
    rows = RESHAPE(product(shape[:rank]), np.asarray([1], np.int32))
    return RESHAPE(data, CONCAT(np.int32(0), [rows, shape[rank:]]))


def _grad_partition(op: Operation, *dys: Tensor | None) -> Any:
    """Partitions the row numbers in the same way, and stitches the gradients by them, which restores the order."""
    data, partitions = op.inputs
    shape = SHAPE(partitions, out_type=int32)
    number = RESHAPE(RANGE(np.int32(0), product(shape), np.int32(1)), shape)
    parts = DYNAMIC_PARTITION(number, partitions, num_partitions=op.attrs.num_partitions)
    return reshape_like(DYNAMIC_STITCH(parts, list(dys)), data), None


def product(vector: Tensor) -> Tensor:
    """Returns the product of the elements of a vector, as a scalar tensor."""
    return PROD(vector, np.int32(0))


DYNAMIC_PARTITION: OpDef[list[Tensor]] = OpDef(
    "DynamicPartition",
    inputs="data: T, partitions: int32",
    outputs="outputs: num_partitions*T",
    types={"T": ALL},
    attrs=DynamicPartitionAttrs,
    doc="""Distributes the rows of a tensor to `num_partitions` outputs: row i goes to outputs[partitions[i]].

    data: any dtype; its shape begins with that of partitions. partitions: int32 in [0, num_partitions). Each
    output: the rows in their order, shape (count, the rest of data's shape). Errors: a partition is out of range.
    Its row numbers are found on the host, and rows of floats are taken on their device.""",
    infer=_partition_shapes,
    host=_host_partition,
    expand=_expand_partition,
    grad=_grad_partition,
    dynamic=True,
    api="dynamic_partition",
)


def _stitched(c: Infer) -> Shape:
    n = len(c.shapes) // 2
    rest = unknown_shape
    top: int | None = -1
    for i in range(n):
        index, data, value = c.shapes[i], c.shapes[n + i], c.value(i)
        if index.sizes is not None and data.sizes is not None:
            k = len(index.sizes)
            if not index.is_compatible_with(Shape(data.sizes[:k])):
                raise ShapeError(f"{c.op_name}: data of shape {data} must begin with the shape {index} of its indices")
            rest = rest.merge_with(Shape(data.sizes[len(index.sizes) :]))
        top = None if top is None or value is None else max(top, int(value.max()) if value.size else -1)
    return unknown_shape if rest.sizes is None else Shape((None if top is None else top + 1, *rest.sizes))


def _host_stitch(call: HostCall, *inputs: np.ndarray) -> np.ndarray:
    n = len(inputs) // 2
    indices, data = inputs[:n], inputs[n:]
    size = max((int(i.max()) for i in indices if i.size), default=-1) + 1
    rest = data[0].shape[indices[0].ndim :]
    blank = b"" if data[0].dtype.kind == "O" else 0
    out = np.full((size, *rest), blank, data[0].dtype)
    for i, d in zip(indices, data, strict=True):
        if i.size and i.min() < 0:
            raise InvalidArgumentError(f"the index {i.min()} is negative", call.op)
        out[i.reshape(-1)] = d.reshape((i.size, *rest))
    return out


def _expand_stitch(op: Operation, *inputs: Tensor) -> Tensor | None:
    """Takes the rows from the joined data where they are, see `_is_moved`."""
    n = len(inputs) // 2
    indices, data = inputs[:n], inputs[n:]
    ranks = [i.shape.ndims for i in indices]
    if not _is_moved(data[0]) or None in ranks:
        return None
    parts = [_with_rows(d, rank or 0) for d, rank in zip(data, ranks, strict=True)]
    joined = parts[0] if n == 1 else CONCAT(np.int32(0), parts)
    return TAKE_ROWS(joined, STITCH_ROWS(list(indices)))


def _grad_stitch(op: Operation, dy: Tensor) -> Any:
    n = len(op.inputs) // 2
    return (*(None,) * n, *(GATHER(dy, i) for i in op.inputs[:n]))


DYNAMIC_STITCH: OpDef[Tensor] = OpDef(
    "DynamicStitch",
    inputs="indices: N*int32, data: N*T",
    outputs="merged: T",
    types={"T": ALL_AND_QUANTIZED},
    doc="""Puts rows from several tensors into one: merged[indices[m][i]] = data[m][i]; a later one wins.

    indices: int32 tensors. data: as many tensors of one dtype; the shape of each begins with that of its indices, and
    the rest is equal. merged: the number of rows is the largest index plus one. Errors: an index is negative. Indices
    are read on the host, and rows of floats are taken on their device.""",
    infer=_stitched,
    host=_host_stitch,
    expand=_expand_stitch,
    grad=_grad_stitch,
    dynamic=True,
    api="dynamic_stitch",
)


def unique(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns the distinct elements of a vector in the order of first occurrence, and each element's index among them.

    out_idx: the dtype of the indices, int32 or int64.
    """
    return UNIQUE(x, out_idx=out_idx, name=name)


def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Selects elements of x where the condition is true and of y elsewhere (see `Select`).

    Without x and y the result holds the indices of the true elements, int64 of shape (count, rank). Errors: only one
    of x and y is given, or the shapes do not match.
    """
    if (x is None) != (y is None):
        raise InvalidArgumentError("where takes both x and y, or neither")
    return WHERE(condition, name=name) if x is None else SELECT(condition, x, y, name=name)


def boolean_mask(tensor: TensorLike, mask: TensorLike, name: str = "boolean_mask", axis: int | None = None) -> Tensor:
    """Returns the elements (or slices) of `tensor` where `mask` is true, in their order.

    mask: bool of known rank k >= 1; its shape equals that of tensor's dimensions from `axis` (by default 0) on. In the
    result, one dimension replaces these k dimensions. Errors: the shapes do not match.
    """
    graph = graph_of((tensor, mask))
    x, m = graph.to_tensor(tensor), graph.to_tensor(mask)
    a, k = axis or 0, m.shape.ndims
    if k is None:
        raise ShapeError("boolean_mask: the number of mask dimensions must be specified, even if some are None")
    if k == 0:
        raise ShapeError("boolean_mask: mask cannot be scalar")
    if x.shape.sizes is not None:
        Shape(x.shape.sizes[a : a + k]).assert_is_compatible_with(m.shape)
    with graph.name_scope(name):
        flat = _flattened(x, a, k)
        rows = SQUEEZE(WHERE(RESHAPE(m, np.asarray([-1], np.int32))), squeeze_dims=(1,))
        return GATHER(flat, rows) if a == 0 else GATHER_V2(flat, rows, np.int32(a))


def _flattened(x: Tensor, axis: int, count: int) -> Tensor:
    """`x` reshaped so that one dimension replaces the `count` dimensions from `axis` on."""
    if count == 1:
        return x
    dims = x.shape.sizes
    if dims is not None and sum(d is None for d in (*dims[:axis], *dims[axis + count :])) == 0 and 0 not in dims:
        return RESHAPE(x, np.asarray([*dims[:axis], -1, *dims[axis + count :]], np.int32))
    shape = SHAPE(x, out_type=int32)
    middle = RESHAPE(product(shape[axis : axis + count]), np.asarray([1], np.int32))
    return RESHAPE(x, CONCAT(np.int32(0), [shape[:axis], middle, shape[axis + count :]]))


def sequence_mask(lengths: TensorLike, maxlen: Any = None, dtype: DTypeLike = bool_, name: str | None = None) -> Any:
    """Returns rows that are true up to the given length: mask[..., j] = j < lengths[...].

    lengths: integers, any shape. maxlen: the size of the last dimension; by default the largest length. The result has
    `dtype` (bool by default) and the shape of lengths followed by maxlen.
    """
    t = graph_of((lengths, maxlen)).to_tensor(lengths)
    if not hasattr(maxlen, "dtype") and np.ndim(0 if maxlen is None else maxlen):
        raise ShapeError(f"maxlen must be scalar for sequence_mask, got {maxlen!r}")
    with t.graph.name_scope(name or "SequenceMask"):
        if maxlen is not None and t.dtype.is_floating:  # as the maximum, which is an integer
            t = cast_to(t, getattr(maxlen, "dtype", int32))
        zero, one = t.dtype.np.type(0), t.dtype.np.type(1)
        if maxlen is None:
            rank = t.shape.ndims
            axes = RANGE(np.int32(0), RANK(t), np.int32(1)) if rank is None else np.arange(rank, dtype=np.int32)
            maxlen = MAXIMUM(MAX(t, axes), zero)
        limit = t.graph.to_tensor(maxlen, None if hasattr(maxlen, "dtype") else t.dtype)
        mask = LESS(RANGE(zero, cast_to(limit, t.dtype), one), EXPAND_DIMS(t, np.int32(-1)))
        target_dtype = as_dtype(dtype)
        return mask if target_dtype.is_bool else cast_to(mask, target_dtype)


def meshgrid(*args: TensorLike, **kwargs: Any) -> list[Any]:
    """Returns coordinate grids: N vectors become N tensors of rank N and of one shape.

    indexing: "xy" (the first two axes swapped, as in plots) or "ij". Raises `InvalidArgumentError` for another value of
    indexing, or another keyword than indexing and name.
    """
    indexing, name = kwargs.pop("indexing", "xy"), kwargs.pop("name", "meshgrid")
    if kwargs or indexing not in ("xy", "ij"):
        raise InvalidArgumentError(
            f"meshgrid: takes indexing 'xy' or 'ij' and name, got {indexing!r}, {sorted(kwargs)}"
        )
    graph = graph_of(args)
    with graph.name_scope(name):
        vectors = [RESHAPE(graph.to_tensor(a), np.asarray([-1], np.int32)) for a in args]
        order = list(range(len(vectors)))
        if indexing == "xy" and len(order) > 1:
            order[:2] = 1, 0
        shape = _grid_shape([vectors[order.index(i)] for i in range(len(order))])
        grids = []
        for v, axis in zip(vectors, order, strict=True):
            column = np.asarray([-1 if i == axis else 1 for i in range(len(order))], np.int32)
            grids.append(BROADCAST_TO(RESHAPE(v, column), shape))
    return grids


def _grid_shape(vectors: Sequence[Any]) -> Tensor | np.ndarray:
    sizes = [v.shape.sizes[0] for v in vectors]
    if None not in sizes:
        return np.asarray(sizes, np.int32)
    return CONCAT(np.int32(0), [SHAPE(v, out_type=int32) for v in vectors])


PARALLEL_DYNAMIC_STITCH: OpDef[Tensor] = replace(
    DYNAMIC_STITCH,
    name="ParallelDynamicStitch",
    doc=DYNAMIC_STITCH.doc.replace("a later one wins", "of two rows for one index, here the later one wins"),
    api="python.ops.data_flow_ops.parallel_dynamic_stitch",
)


OPS: tuple[OpDef, ...] = (
    WHERE,
    UNIQUE,
    DYNAMIC_PARTITION,
    DYNAMIC_STITCH,
    PARALLEL_DYNAMIC_STITCH,
)
API: dict[str, Any] = {
    "where": where,
    "unique": unique,
    "boolean_mask": boolean_mask,
    "sequence_mask": sequence_mask,
    "meshgrid": meshgrid,
}

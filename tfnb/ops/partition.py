"""Ops whose result's size depends on the data, and choosing the largest (white paper, Table 1, array
operations).

They run on the host, but for `InTopK`. Invariant: the order of results is that of the input, unless the doc
says sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.shapes import with_rank
from tfnb.ops.compare import EQUAL, GREATER, LESS, LOGICAL_AND, SELECT
from tfnb.ops.concat import CONCAT
from tfnb.ops.constants import RANGE, ZEROS_LIKE
from tfnb.ops.convert import cast_to
from tfnb.ops.gather import GATHER, GATHER_V2, UNSORTED_SEGMENT_SUM
from tfnb.ops.math_binary import MAXIMUM
from tfnb.ops.math_unary import IS_FINITE
from tfnb.ops.pack import PACK
from tfnb.ops.reduce import ALL_OF, ANY_OF, MAX, PROD
from tfnb.ops.reduce_sum import BROADCAST_TO, SUM
from tfnb.ops.shaping import EXPAND_DIMS, RANK, RESHAPE, SHAPE, SQUEEZE, reshape_like, shape_of
from tfnb.types import ALL, INDEX, REALS, Shape, as_dtype, bool_, int32, unknown_shape

__all__ = ["API", "DYNAMIC_PARTITION", "DYNAMIC_STITCH", "OPS", "TOP_K_V2", "UNIQUE", "WHERE"]

WHERE = OpDef(
    "Where",
    inputs="input: T",
    outputs="index: int64",
    types={"T": (bool_, *REALS)},
    doc="""The indices of the elements that are true (not zero), in row-major order.

    input: bool or a number type, rank n. index: int64, shape (how many, n). Runs on the host.""",
    infer=lambda c: Shape((None, c.shapes[0].ndims)),
    host=lambda call, x: np.argwhere(x).astype(np.int64).reshape(-1, x.ndim),
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)


def _host_unique(call: HostCall, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    _, first, inverse = np.unique(x, return_index=True, return_inverse=True)
    order = np.argsort(first)  # by first occurrence
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return x[first[order]], rank[inverse.reshape(-1)].astype(call.outputs[1].dtype.np)


UNIQUE = OpDef(
    "Unique",
    inputs="x: T",
    outputs="y: T, idx: out_idx",
    types={"T": ALL, "out_idx": INDEX},
    doc="""The different elements of a vector, in the order of their first occurrence.

    x: a vector of any dtype. y: the elements; idx: for each element of x its place in y (`out_idx`: int32 or
    int64). Runs on the host.""",
    infer=lambda c: (Shape((None,)), with_rank(c, 0, 1)),
    host=_host_unique,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
    defaults={"out_idx": int32},
)


@dataclass(frozen=True, slots=True)
class DynamicPartitionAttrs:
    """`num_partitions`: how many tensors come out."""

    num_partitions: int


def _partition_shapes(c: Infer) -> tuple[Shape, ...]:
    data, which = c.shapes
    if data.dims is None or which.dims is None:
        return (unknown_shape,) * c.attrs.num_partitions
    if not Shape(data.dims[: len(which.dims)]).is_compatible_with(which):
        raise ShapeError(
            f"DynamicPartition: data of shape {data} must begin with the shape {which} of partitions"
        )
    return (Shape((None, *data.dims[len(which.dims) :])),) * c.attrs.num_partitions


def _host_partition(call: HostCall, data: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, ...]:
    n = call.attrs.num_partitions
    if which.size and (which.min() < 0 or which.max() >= n):
        raise InvalidArgumentError(
            f"the partitions {which.min()}..{which.max()} are not in [0, {n})", call.op
        )
    return tuple(data[which == k] for k in range(n))


def _grad_partition(op: Any, *dys: Any) -> Any:
    """The rows' numbers go through the same partition, so stitching by them undoes it."""
    data, which = op.inputs
    shape = SHAPE(which, out_type=int32)
    number = RESHAPE(RANGE(np.int32(0), _product(shape), np.int32(1)), shape)
    parts = DYNAMIC_PARTITION(number, which, num_partitions=op.attrs.num_partitions)
    return reshape_like(DYNAMIC_STITCH(parts, list(dys)), data), None


def _product(vector: Any) -> Any:
    return PROD(vector, np.int32(0))


DYNAMIC_PARTITION = OpDef(
    "DynamicPartition",
    inputs="data: T, partitions: int32",
    outputs="outputs: num_partitions*T",
    types={"T": ALL},
    attrs=DynamicPartitionAttrs,
    doc="""Deals the rows of a tensor out to `num_partitions` tensors: row i goes to outputs[partitions[i]].

    data: any dtype; its shape begins with that of partitions. partitions: int32 in [0, num_partitions). Each
    output: rows in their order, shape (how many, the rest of data's shape). Errors: a partition out of range.
    Runs on the host.""",
    infer=_partition_shapes,
    host=_host_partition,
    grad=_grad_partition,
    dynamic=True,
    api="dynamic_partition",
)


def _stitched(c: Infer) -> Shape:
    n = len(c.shapes) // 2
    rest, top = unknown_shape, -1
    for i in range(n):
        index, data, value = c.shapes[i], c.shapes[n + i], c.value(i)
        if index.dims is not None and data.dims is not None:
            rest = rest.merge_with(Shape(data.dims[len(index.dims) :]))
        top = (
            None
            if top is None or value is None
            else max(top, int(value.max()) if value.size else -1)
        )  # type: ignore[assignment]
    return (
        unknown_shape
        if rest.dims is None
        else Shape((None if top is None else top + 1, *rest.dims))
    )


def _host_stitch(call: HostCall, *inputs: np.ndarray) -> np.ndarray:
    n = len(inputs) // 2
    indices, data = inputs[:n], inputs[n:]
    size = max((int(i.max()) for i in indices if i.size), default=-1) + 1
    rest = data[0].shape[indices[0].ndim :]
    out = np.zeros((size, *rest), data[0].dtype)
    for i, d in zip(indices, data, strict=True):
        if i.size and i.min() < 0:
            raise InvalidArgumentError(f"the index {i.min()} is negative", call.op)
        out[i.reshape(-1)] = d.reshape((i.size, *rest))
    return out


def _grad_stitch(op: Any, dy: Any) -> Any:
    n = len(op.inputs) // 2
    return (*(None,) * n, *(GATHER(dy, i) for i in op.inputs[:n]))


DYNAMIC_STITCH = OpDef(
    "DynamicStitch",
    inputs="indices: N*int32, data: N*T",
    outputs="merged: T",
    types={"T": ALL},
    doc="""Puts rows from several tensors into one: merged[indices[m][i]] = data[m][i]; a later one wins.

    indices: int32 tensors. data: as many of one dtype, each shape beginning with that of its indices, the rest
    equal. merged: as many rows as the largest index says. Errors: a negative index. Runs on the host.""",
    infer=_stitched,
    host=_host_stitch,
    grad=_grad_stitch,
    dynamic=True,
    api="dynamic_stitch",
)


@dataclass(frozen=True, slots=True)
class TopKV2Attrs:
    """`sorted`: accepted for TensorFlow's sake; the result is always sorted."""

    sorted: bool = True


@dataclass(frozen=True, slots=True)
class TopKAttrs:
    """`k`: how many; `sorted`: accepted for TensorFlow's sake; the result is always sorted."""

    k: int
    sorted: bool = True


def _top_shapes(c: Infer, k: int | None) -> tuple[Shape, Shape]:
    x = c.shapes[0]
    if x.dims is None:
        return unknown_shape, unknown_shape
    if not x.dims or (k is not None and (k < 0 or (x.dims[-1] is not None and k > x.dims[-1]))):
        raise ShapeError(f"{c.op_name}: needs a last dimension of at least k = {k}, got shape {x}")
    return (Shape((*x.dims[:-1], k)),) * 2


def _host_top(x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    if x.ndim == 0 or k > x.shape[-1]:
        raise InvalidArgumentError(
            f"needs a last dimension of at least k = {k}, got shape {x.shape}"
        )
    keys = x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x
    flipped = (
        -keys if keys.dtype.kind == "f" else ~keys
    )  # descending, the lower index first among equals
    order = np.argsort(flipped, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, order, -1), order.astype(np.int32)


def _grad_top(op: Any, dy: Any, d_indices: Any) -> Any:
    """Each value's gradient goes back to the place it came from: a segment sum over (row, place)."""
    x, places = op.inputs[0], op.outputs[1]
    flat_shape = SHAPE(x, out_type=int32)
    last, width = flat_shape[-1], SHAPE(places, out_type=int32)[-1]
    rows = RESHAPE(places, PACK([_product(flat_shape[:-1]), width]))
    starts = RANGE(np.int32(0), SHAPE(rows, out_type=int32)[0], np.int32(1)) * last
    number = RESHAPE(
        rows + RESHAPE(starts, np.asarray([-1, 1], np.int32)), np.asarray([-1], np.int32)
    )
    total = UNSORTED_SEGMENT_SUM(
        RESHAPE(dy, np.asarray([-1], np.int32)), number, _product(flat_shape)
    )
    gradient = RESHAPE(total, shape_of(x))
    return gradient if len(op.inputs) == 1 else (gradient, None)


_TOP_DOC = """The k largest elements of each row, in descending order, and their places.

    input: a real number type, rank >= 1; rows lie along the last dimension, of size >= k. {k} values: shape
    (..., k); indices: int32, the lower place first among equals. Errors: k is larger than a row. Runs on the
    host."""

TOP_K_V2 = OpDef(
    "TopKV2",
    inputs="input: T, k: int32",
    outputs="values: T, indices: int32",
    types={"T": REALS},
    attrs=TopKV2Attrs,
    doc=_TOP_DOC.format(k="k: an int32 scalar."),
    infer=lambda c: _top_shapes(c, None if c.value(1) is None else int(c.value(1).reshape(()))),
    host=lambda call, x, k: _host_top(x, int(k.reshape(()))),
    grad=_grad_top,
    shape_inputs=(1,),
    defaults={"Tk": int32, "index_type": int32},
)

TOP_K = OpDef(
    "TopK",
    inputs="input: T",
    outputs="values: T, indices: int32",
    types={"T": REALS},
    attrs=TopKAttrs,
    doc=_TOP_DOC.format(k="k: an attribute."),
    infer=lambda c: _top_shapes(c, c.attrs.k),
    host=lambda call, x: _host_top(x, call.attrs.k),
    grad=_grad_top,
)


@dataclass(frozen=True, slots=True)
class InTopKAttrs:
    """`k`: among how many."""

    k: int


def _in_top_shape(c: Infer) -> Shape:
    predictions, targets = with_rank(c, 0, 2), with_rank(c, 1, 1)
    return Shape(predictions.dims[:1]).merge_with(targets)  # type: ignore[index]


def _in_top(predictions: np.ndarray, targets: np.ndarray, k: int) -> np.ndarray:
    n = predictions.shape[1]
    valid = (targets >= 0) & (targets < n)
    if not n:
        return np.zeros(targets.shape, np.bool_)
    own = np.take_along_axis(predictions, np.where(valid, targets, 0)[:, None], 1)
    better = (predictions > own).sum(1)
    return valid & (better < k) & np.isfinite(predictions).all(1)


def _expand_in_top(op: Any, predictions: Any, targets: Any) -> Any:
    return _in_top_mask(predictions, targets, np.int32(op.attrs.k))


def _in_top_mask(predictions: Any, targets: Any, k: Any) -> Any:
    n = SHAPE(predictions, out_type=int32)[1]
    hot = EQUAL(
        RESHAPE(targets, np.asarray([-1, 1], np.int32)),
        cast_to(RANGE(np.int32(0), n, np.int32(1)), targets.dtype),
    )
    own = SUM(
        SELECT(hot, predictions, ZEROS_LIKE(predictions)), np.asarray([1], np.int32), keep_dims=True
    )
    better = SUM(cast_to(GREATER(predictions, own), int32), np.asarray([1], np.int32))
    fine = ALL_OF(IS_FINITE(predictions), np.asarray([1], np.int32))
    valid = LOGICAL_AND(fine, ANY_OF(hot, np.asarray([1], np.int32)))
    return LOGICAL_AND(valid, LESS(better, k))


IN_TOP_K = OpDef(
    "InTopK",
    inputs="predictions: float32, targets: T",
    outputs="precision: bool",
    types={"T": INDEX},
    attrs=InTopKAttrs,
    doc="""Is the target's prediction among the k largest of its row? Ties with the k-th count as in.

    predictions: float32, shape (batch, classes). targets: integers, shape (batch,). precision: bool, shape
    (batch,); False where the target is out of range or a prediction is not finite.""",
    infer=_in_top_shape,
    host=lambda call, predictions, targets: _in_top(predictions, targets, call.attrs.k),
    expand=_expand_in_top,
    grad=NOT_DIFFERENTIABLE,
    api="nn.in_top_k",
)


def _host_in_top_k(call: HostCall, predictions: np.ndarray, targets: np.ndarray, k: np.ndarray) -> np.ndarray:
    return _in_top(predictions, targets, int(k))


IN_TOP_K_V2 = OpDef(
    "InTopKV2",
    inputs="predictions: float32, targets: T, k: T",
    outputs="precision: bool",
    types={"T": INDEX},
    doc="""`InTopK` with a scalar input `k`. Shapes, dtypes and errors are those of `InTopK`.""",
    infer=_in_top_shape,
    host=_host_in_top_k,
    expand=lambda op, predictions, targets, k: _in_top_mask(predictions, targets, cast_to(k, int32)),
    grad=NOT_DIFFERENTIABLE,
)


class Unique(NamedTuple):
    """The different elements, and for each input its place among them."""

    y: Any
    idx: Any


class TopK(NamedTuple):
    """The largest elements of each row and their places."""

    values: Any
    indices: Any


def unique(x: Any, out_idx: Any = int32, name: str | None = None) -> Unique:
    """The different elements of a vector in the order of first occurrence, and each element's place among them."""
    return Unique(*UNIQUE(x, out_idx=out_idx, name=name))


def top_k(input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> TopK:
    """The k largest elements of each row (along the last dimension), descending, and their places (int32).

    Errors: k is larger than a row.
    """
    return TopK(*TOP_K_V2(input, k, sorted=sorted, name=name))


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """With x and y: elements of x where the condition holds, of y elsewhere (see `Select`). Without: the
    indices of the true elements, int64 of shape (how many, rank). Errors: only one of x and y; shapes that do
    not fit.
    """
    if (x is None) != (y is None):
        raise InvalidArgumentError("where takes both x and y, or neither")
    return WHERE(condition, name=name) if x is None else SELECT(condition, x, y, name=name)


def boolean_mask(
    tensor: Any, mask: Any, name: str = "boolean_mask", axis: int | None = None
) -> Any:
    """The elements (or slices) of `tensor` where `mask` is true, one after the other.

    mask: bool of known rank k >= 1; its shape must be that of tensor's dimensions from `axis` (0) on. Result:
    those k dimensions become one. Errors: the shapes do not fit.
    """
    graph = graph_of((tensor, mask))
    x, m = graph.to_tensor(tensor), graph.to_tensor(mask)
    a, k = axis or 0, m.shape.ndims
    if not k:
        raise ShapeError(f"boolean_mask: the mask must be of known rank >= 1, got shape {m.shape}")
    if x.shape.dims is not None:
        Shape(x.shape.dims[a : a + k]).merge_with(m.shape)
    with graph.name_scope(name):
        flat = _flattened(x, a, k)
        rows = SQUEEZE(WHERE(RESHAPE(m, np.asarray([-1], np.int32))), squeeze_dims=(1,))
        return GATHER(flat, rows) if a == 0 else GATHER_V2(flat, rows, np.int32(a))


def _flattened(x: Any, axis: int, count: int) -> Any:
    """`x` with `count` dimensions from `axis` on made one."""
    if count == 1:
        return x
    dims = x.shape.dims
    if (
        dims is not None
        and sum(d is None for d in (*dims[:axis], *dims[axis + count :])) == 0
        and 0 not in dims
    ):
        return RESHAPE(x, np.asarray([*dims[:axis], -1, *dims[axis + count :]], np.int32))
    shape = SHAPE(x, out_type=int32)
    middle = RESHAPE(_product(shape[axis : axis + count]), np.asarray([1], np.int32))
    return RESHAPE(x, CONCAT(np.int32(0), [shape[:axis], middle, shape[axis + count :]]))


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = bool_, name: str | None = None
) -> Any:
    """Rows that are true up to their length: mask[..., j] = j < lengths[...].

    lengths: integers, any shape. maxlen: the size of the last dimension, by default the largest length.
    """
    t = graph_of((lengths, maxlen)).to_tensor(lengths)
    with t.graph.name_scope(name or "SequenceMask"):
        zero, one = t.dtype.np.type(0), t.dtype.np.type(1)
        if maxlen is None:
            rank = t.shape.ndims
            axes = (
                RANGE(np.int32(0), RANK(t), np.int32(1))
                if rank is None
                else np.arange(rank, dtype=np.int32)
            )
            maxlen = MAXIMUM(MAX(t, axes), zero)
        limit = t.graph.to_tensor(maxlen, None if hasattr(maxlen, "dtype") else t.dtype)
        mask = LESS(RANGE(zero, cast_to(limit, t.dtype), one), EXPAND_DIMS(t, np.int32(-1)))
        wanted = as_dtype(dtype)
        return mask if wanted.is_bool else cast_to(mask, wanted)


def meshgrid(*args: Any, **kwargs: Any) -> list[Any]:
    """Grids of coordinates: N vectors make N tensors of rank N.

    indexing: "xy" (the first two axes swapped, as in plots) or "ij". Errors: another indexing.
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


def _grid_shape(vectors: Sequence[Any]) -> Any:
    sizes = [v.shape.dims[0] for v in vectors]
    if None not in sizes:
        return np.asarray(sizes, np.int32)
    return CONCAT(np.int32(0), [SHAPE(v, out_type=int32) for v in vectors])


OPS: tuple[OpDef, ...] = (
    WHERE,
    UNIQUE,
    DYNAMIC_PARTITION,
    DYNAMIC_STITCH,
    TOP_K_V2,
    TOP_K,
    IN_TOP_K,
    IN_TOP_K_V2,
)
API: dict[str, Any] = {
    "where": where,
    "unique": unique,
    "nn.top_k": top_k,
    "boolean_mask": boolean_mask,
    "sequence_mask": sequence_mask,
    "meshgrid": meshgrid,
}

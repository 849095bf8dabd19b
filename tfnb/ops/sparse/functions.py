"""The public functions on sparse tensors (OSDI'16, section 3.1): the ops, applied to and returning `SparseTensor`s.

Invariant: inputs in row-major order give results in row-major order; static shapes are kept where they are known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.opdef import OpDef
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import RANGE
from tfnb.ops.array.gather import GATHER, GATHER_V2
from tfnb.ops.array.gather_nd import GATHER_ND, SPARSE_TO_DENSE
from tfnb.ops.array.shape_ops import RESHAPE, SHAPE, SIZE
from tfnb.ops.array.where_partition import WHERE
from tfnb.ops.math.binary import MAXIMUM, quotient_dtype
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import EQUAL, NOT_EQUAL
from tfnb.ops.math.unique_bincount import LIST_DIFF
from tfnb.ops.sparse.arithmetic import (
    SPARSE_DENSE_CWISE,
    SPARSE_TENSOR_DENSE_ADD,
    SPARSE_TENSOR_DENSE_MATMUL,
)
from tfnb.ops.sparse.layout import (
    SPARSE_CONCAT,
    SPARSE_FILL_EMPTY_ROWS,
    SPARSE_REDUCE_MAX_SPARSE,
    SPARSE_REDUCE_SUM_SPARSE,
    SPARSE_REORDER,
    SPARSE_RESHAPE,
    SPARSE_SLICE,
    SPARSE_SPLIT,
)
from tfnb.ops.sparse.pairs import SPARSE_ADD, SPARSE_SPARSE_MAXIMUM, SPARSE_SPARSE_MINIMUM
from tfnb.ops.sparse.rows import SPARSE_REDUCE_MAX, SPARSE_REDUCE_SUM, SPARSE_SOFTMAX
from tfnb.types import Shape, bool_, int32, int64

__all__ = ["API", "OPS", "sparse_divide", "sparse_fill_empty_rows", "sparse_multiply", "sparse_retain"]


def _sparse(value: object, what: str) -> SparseTensor:
    if not isinstance(value, (SparseTensor, SparseTensorValue)):
        raise DTypeError(f"{what}: needs a SparseTensor, got {type(value).__name__}")
    return SparseTensor.from_value(value)


def _with_shape(tensor: SparseTensor, shape: Shape) -> SparseTensor:
    tensor.set_shape(shape)
    return tensor


def sparse_tensor_dense_matmul(
    sp_a: SparseTensor | SparseTensorValue,
    b: TensorLike,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiplies a sparse matrix by a dense one.

    sp_a: shape (m, k), or (k, m) with `adjoint_a`. b: shape (k, n), or (n, k) with `adjoint_b`, of the same dtype. An
    adjoint matrix is transposed, and conjugated if complex. The result is a dense tensor of shape (m, n).
    """
    a = _sparse(sp_a, "sparse_tensor_dense_matmul")
    return SPARSE_TENSOR_DENSE_MATMUL(
        a.indices, a.values, a.dense_shape, b, adjoint_a=adjoint_a, adjoint_b=adjoint_b, name=name
    )


def sparse_add(
    a: Any,
    b: Any,
    threshold: TensorLike | None = None,
    thresh: TensorLike | None = None,
    name: str | None = None,
) -> Tensor | SparseTensor:
    """Returns a + b, where at least one is sparse: a SparseTensor if both are, otherwise a dense tensor.

    threshold (0.x: `thresh`): sums of two sparse elements with a smaller absolute value are left out. Raises
    `DTypeError` when neither is sparse.
    """
    limit = threshold if threshold is not None else 0 if thresh is None else thresh
    sides = [SparseTensor.from_value(x) if isinstance(x, (SparseTensor, SparseTensorValue)) else x for x in (a, b)]
    if not any(isinstance(x, SparseTensor) for x in sides):
        raise DTypeError("sparse_add: at least one operand must be a SparseTensor")
    if all(isinstance(x, SparseTensor) for x in sides):
        x, y = sides
        limit = x.graph.to_tensor(limit if hasattr(limit, "dtype") else x.dtype.np.type(limit))
        parts = SPARSE_ADD(x.indices, x.values, x.dense_shape, y.indices, y.values, y.dense_shape, limit, name=name)
        return _with_shape(SparseTensor(*parts), x.shape.merge_with(y.shape))
    x, dense = sides if isinstance(sides[0], SparseTensor) else sides[::-1]
    return SPARSE_TENSOR_DENSE_ADD(x.indices, x.values, x.dense_shape, dense, name=name)


def _cwise(kind: str, sp: SparseTensor | SparseTensorValue, dense: TensorLike, name: str | None) -> SparseTensor:
    x = _sparse(sp, "sparse elementwise")
    y = x.graph.to_tensor(dense, None if hasattr(dense, "dtype") else x.dtype)
    values = SPARSE_DENSE_CWISE[kind](x.indices, x.values, x.dense_shape, y, name=name)
    return _with_shape(SparseTensor(x.indices, values, x.dense_shape), x.shape)


def sparse_multiply(x: SparseTensor | SparseTensorValue, y: TensorLike, name: str | None = None) -> SparseTensor:
    """Multiplies the sparse tensor x by the dense tensor y, which has its dtype and broadcasts to its shape.

    The result is a SparseTensor with the indices and shape of x.
    """
    return _cwise("Mul", x, y, name)


def sparse_divide(x: SparseTensor | SparseTensorValue, y: TensorLike, name: str | None = None) -> SparseTensor:
    """Divides the sparse tensor x by the dense tensor y, which has its dtype and broadcasts to its shape.

    The result is a SparseTensor with the indices and shape of x. Integers become floats first, as in `tf.truediv`.
    """
    x = _sparse(x, "sparse division")
    divisor = x.graph.to_tensor(y, None if hasattr(y, "dtype") else x.dtype)
    quotient = quotient_dtype(x.dtype)
    return _cwise("Div", x.with_values(cast_to(x.values, quotient)), cast_to(divisor, quotient), name)


def sparse_reshape(
    sp_input: SparseTensor | SparseTensorValue, shape: TensorLike, name: str | None = None
) -> SparseTensor:
    """Reshapes a sparse tensor; the number of elements stays the same, and one dimension may be -1."""
    x = _sparse(sp_input, "sparse_reshape")
    new_shape = x.graph.to_tensor(shape, None if hasattr(shape, "dtype") else int64)
    indices, size = SPARSE_RESHAPE(x.indices, x.dense_shape, cast_to(new_shape, int64), name=name)
    return SparseTensor(indices, x.values, size)


def sparse_concat(
    axis: int | None = None,
    sp_inputs: Any = None,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: Any = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Joins sparse tensors of one dtype and rank along `axis` (0.x: `concat_dim`).

    expand_nonconcat_dim: the other dimensions may differ; the result has the largest. Raises `InvalidArgumentError`
    without inputs, and `ShapeError` when dimensions are to be expanded and the rank is unknown.
    """
    dim = concat_dim if axis is None else axis
    tensors = [_sparse(x, "sparse_concat") for x in sp_inputs]
    if not tensors:
        raise InvalidArgumentError("sparse_concat needs at least one sparse tensor")
    if len(tensors) == 1:
        return tensors[0]
    sizes = [x.dense_shape for x in tensors]
    common = Shape(None)
    for x in tensors:
        common = common.merge_with(Shape(None) if x.shape.ndims is None else Shape((None,) * x.shape.ndims))
    if expand_nonconcat_dim or expand_nonconcat_dims:
        rank = tensors[0].shape.ndims
        if rank is None:
            raise ShapeError("sparse_concat: to expand dimensions, the rank must be known")
        largest = sizes[0]
        for size in sizes[1:]:
            largest = MAXIMUM(largest, size)
        a = int(dim) % rank
        sizes = [concat([largest[:a], s[a : a + 1], largest[a + 1 :]], 0) for s in sizes]
    parts = [x.indices for x in tensors], [x.values for x in tensors], sizes
    return SparseTensor(*SPARSE_CONCAT(*parts, concat_dim=int(dim), name=name))


def sparse_split(
    keyword_required: object = None,
    sp_input: SparseTensor | SparseTensorValue | None = None,
    num_split: Any = None,
    axis: int | None = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """Splits a sparse tensor into `num_split` parts along `axis`; in 0.x (split_dim, num_split, sp_input)."""
    if isinstance(num_split, (SparseTensor, SparseTensorValue)):
        split_dim, num_split, sp_input = keyword_required, sp_input, num_split
    elif keyword_required is not None:
        raise InvalidArgumentError(
            "sparse_split: Keyword arguments are required for this function, or (split_dim, num_split, sp_input)"
        )
    dim = split_dim if axis is None else axis
    for argument, value in (("sp_input", sp_input), ("num_split", num_split), ("axis", dim)):
        if value is None:
            raise InvalidArgumentError(f"sparse_split: {argument} is required")
    x, n = _sparse(sp_input, "sparse_split"), int(num_split)
    out = SPARSE_SPLIT(np.int64(dim), x.indices, x.values, x.dense_shape, num_split=n, name=name)
    return [SparseTensor(*part) for part in zip(*out, strict=True)]


def sparse_slice(
    sp_input: SparseTensor | SparseTensorValue, start: TensorLike, size: TensorLike, name: str | None = None
) -> SparseTensor:
    """Returns the part of a sparse tensor from `start` on, of at most `size` elements in each dimension.

    start, size: vectors of integers, one for each dimension. The indices of the result count from `start`.
    """
    x = _sparse(sp_input, "sparse_slice")
    at, n = (x.graph.to_tensor(v, None if is_tensor_like(v) else int64) for v in (start, size))
    return SparseTensor(*SPARSE_SLICE(x.indices, x.values, x.dense_shape, at, n, name=name))


def sparse_reorder(sp_input: SparseTensor | SparseTensorValue, name: str | None = None) -> SparseTensor:
    """Returns the same sparse tensor with its indices in row-major order."""
    x = _sparse(sp_input, "sparse_reorder")
    indices, values = SPARSE_REORDER(x.indices, x.values, x.dense_shape, name=name)
    return _with_shape(SparseTensor(indices, values, x.dense_shape), x.shape)


def sparse_tensor_to_dense(
    sp_input: Any,
    default_value: TensorLike | None = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Converts a sparse tensor to a dense one of the same dtype and shape.

    default_value: the value of absent elements, by default 0 or an empty string. validate_indices: raise an error at
    run time for an index that occurs twice.
    """
    x = _sparse(sp_input, "sparse_tensor_to_dense")
    default: Any = (b"" if x.dtype.is_string else 0) if default_value is None else default_value
    if not hasattr(default, "graph"):
        default = np.asarray(default, object if x.dtype.is_string else x.dtype.np)
    dense = SPARSE_TO_DENSE(x.indices, x.dense_shape, x.values, default, validate_indices=validate_indices, name=name)
    dense.set_shape(x.shape)
    return dense


def sparse_to_indicator(
    sp_input: SparseTensor | SparseTensorValue, vocab_size: TensorLike, name: str | None = None
) -> Any:
    """Returns a bool tensor that marks the integers that each row of a sparse tensor contains.

    sp_input: a SparseTensor of integers in [0, vocab_size). In the shape of the result, vocab_size replaces the last
    dimension; the element at position i of that dimension is true if the row contains i.
    """
    x = _sparse(sp_input, "sparse_to_indicator")
    with x.graph.as_default(), x.graph.name_scope(name or "SparseToIndicator"):
        marks = EQUAL(x.values, x.values)
        marked = sparse_merge(x, SparseTensor(x.indices, marks, x.dense_shape), vocab_size)
        return sparse_tensor_to_dense(marked, default_value=False, validate_indices=False)


def sparse_merge(
    sp_ids: Any,
    sp_values: SparseTensor | SparseTensorValue,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Returns a sparse tensor of the values in sp_values whose index in the last dimension is the id in sp_ids.

    sp_ids: a SparseTensor of integers with the indices of sp_values, or a list of them, which replace the last
    dimension by as many. vocab_size: the size of that dimension, or a list of sizes. already_sorted: leave out the
    sorting into row-major order.
    """
    is_single = not isinstance(sp_ids, (list, tuple)) or isinstance(sp_ids, SparseTensorValue)
    ids = [_sparse(x, "sparse_merge") for x in ([sp_ids] if is_single else sp_ids)]
    sizes = [vocab_size] if is_single else list(vocab_size)
    values = _sparse(sp_values, "sparse_merge")
    graph = values.graph
    with graph.as_default(), graph.name_scope(name or "SparseMerge"):
        columns = [RESHAPE(cast_to(x.values, int64), np.asarray([-1, 1], np.int32)) for x in ids]
        indices = concat([ids[0].indices[:, :-1], *columns], 1)
        sizes = [cast_to(graph.to_tensor(n), int64) for n in sizes]
        tail = [RESHAPE(n, np.asarray([1], np.int32)) for n in sizes]
        merged = SparseTensor(indices, values.values, concat([ids[0].dense_shape[:-1], *tail], 0))
        return merged if already_sorted else sparse_reorder(merged)


def sparse_retain(sp_input: SparseTensor | SparseTensorValue, to_retain: TensorLike) -> SparseTensor:
    """Returns a sparse tensor with only those values for which the bool vector `to_retain` is true.

    Raises `ShapeError` if it has another length than the values.
    """
    x = _sparse(sp_input, "sparse_retain")
    mask = x.graph.to_tensor(to_retain, bool_)
    if not mask.shape.is_compatible_with(Shape(x.values.shape.sizes)):
        raise ShapeError(f"sparse_retain: to_retain has the shape {mask.shape}, the values have {x.values.shape}")
    rows = RESHAPE(WHERE(mask), np.asarray([-1], np.int32))
    retained = SparseTensor(GATHER(x.indices, rows), GATHER(x.values, rows), x.dense_shape)
    return _with_shape(retained, x.shape)


def sparse_fill_empty_rows(
    sp_input: SparseTensor | SparseTensorValue, default_value: TensorLike, name: str | None = None
) -> tuple[SparseTensor, Any]:
    """Puts `default_value` at the start of each empty row of a sparse tensor; rows are numbered by the first dimension.

    Returns (the filled SparseTensor, a bool vector with one element per row that marks the rows that were empty).
    """
    x = _sparse(sp_input, "sparse_fill_empty_rows")
    default = x.graph.to_tensor(default_value, None if hasattr(default_value, "dtype") else x.dtype)
    indices, values, empty, _ = SPARSE_FILL_EMPTY_ROWS(x.indices, x.values, x.dense_shape, default, name=name)
    return _with_shape(SparseTensor(indices, values, x.dense_shape), x.shape), empty


def _axes(x: SparseTensor, axis: TensorLike | None) -> Any:
    if axis is not None:
        return x.graph.to_tensor(axis, int32)
    rank = x.shape.ndims
    if rank is None:
        return RANGE(np.int32(0), SIZE(x.dense_shape, out_type=int32), np.int32(1))
    return np.arange(rank, dtype=np.int32)


def _reduction(dense: OpDef, sparse: OpDef, what: str) -> tuple[Any, Any]:
    def arguments(
        sp_input: SparseTensor | SparseTensorValue,
        axis: TensorLike | None,
        keepdims: bool | None,
        reduction_axes: TensorLike | None,
        keep_dims: bool | None,
    ) -> Any:
        x = _sparse(sp_input, what)
        axes = _axes(x, reduction_axes if axis is None else axis)
        return (x.indices, x.values, x.dense_shape, axes), bool(keep_dims if keepdims is None else keepdims)

    def to_dense(
        sp_input: SparseTensor | SparseTensorValue,
        axis: TensorLike | None = None,
        keepdims: bool | None = None,
        reduction_axes: TensorLike | None = None,
        keep_dims: bool | None = None,
        name: str | None = None,
    ) -> Any:
        inputs, keep = arguments(sp_input, axis, keepdims, reduction_axes, keep_dims)
        return dense(*inputs, keep_dims=keep, name=name)

    def to_sparse(
        sp_input: SparseTensor,
        axis: TensorLike | None = None,
        keepdims: bool | None = None,
        reduction_axes: TensorLike | None = None,
        keep_dims: bool | None = None,
        name: str | None = None,
    ) -> SparseTensor:
        inputs, keep = arguments(sp_input, axis, keepdims, reduction_axes, keep_dims)
        return SparseTensor(*sparse(*inputs, keep_dims=keep, name=name))

    for function, form in ((to_dense, "dense"), (to_sparse, "sparse")):
        function.__doc__ = (
            f"The {what} along dimensions (`axis`, by default all) of a sparse tensor, as a {form} tensor.\n\n"
            "`reduction_axes` and `keep_dims` are the older names of `axis` and `keepdims`."
        )
    return to_dense, to_sparse


def sparse_softmax(sp_input: SparseTensor | SparseTensorValue, name: str | None = None) -> SparseTensor:
    """Returns the softmax of the values in each row along the last dimension; absent elements do not take part.

    sp_input: a float type, rank at least 2. The result has its indices and shape.
    """
    x = _sparse(sp_input, "sparse_softmax")
    values = SPARSE_SOFTMAX(x.indices, x.values, x.dense_shape, name=name)
    return _with_shape(SparseTensor(x.indices, values, x.dense_shape), x.shape)


def _pair(
    op: OpDef, a: SparseTensor | SparseTensorValue, b: SparseTensor | SparseTensorValue, name: str | None
) -> SparseTensor:
    x, y = _sparse(a, op.name), _sparse(b, op.name)
    if None not in (x.shape.ndims, y.shape.ndims) and x.shape.ndims != y.shape.ndims:
        raise ShapeError(f"{op.name}: Operands do not have the same ranks; got shapes: {x.shape} and {y.shape}")
    if not x.shape.is_compatible_with(y.shape):
        raise ShapeError(f"{op.name}: Operands' shapes do not match: got {x.shape} and {y.shape}")
    at, values = op(x.indices, x.values, x.dense_shape, y.indices, y.values, y.dense_shape, name=name)
    return _with_shape(SparseTensor(at, values, x.dense_shape), x.shape.merge_with(y.shape))


def sparse_maximum(
    sp_a: SparseTensor | SparseTensorValue, sp_b: SparseTensor | SparseTensorValue, name: str | None = None
) -> SparseTensor:
    """Returns the elementwise maximum of two sparse tensors of one dtype and shape; absent elements count as 0."""
    return _pair(SPARSE_SPARSE_MAXIMUM, sp_a, sp_b, name)


def sparse_minimum(
    sp_a: SparseTensor | SparseTensorValue, sp_b: SparseTensor | SparseTensorValue, name: str | None = None
) -> SparseTensor:
    """Returns the elementwise minimum of two sparse tensors of one dtype and shape; absent elements count as 0."""
    return _pair(SPARSE_SPARSE_MINIMUM, sp_a, sp_b, name)


def sparse_transpose(
    sp_input: SparseTensor | SparseTensorValue, perm: TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """Reorders the dimensions of a sparse tensor; without `perm` their order is reversed.

    perm: a permutation of the dimensions, as in `tf.transpose`.
    """
    x = _sparse(sp_input, "sparse_transpose")
    with x.graph.as_default(), x.graph.name_scope(name or "SparseTranspose"):
        if perm is None:
            if x.shape.ndims is None:
                perm = RANGE(SIZE(x.dense_shape, out_type=int32) - 1, np.int32(-1), np.int32(-1))
            else:
                perm = np.arange(x.shape.ndims, dtype=np.int32)[::-1].copy()
        order = x.graph.to_tensor(perm, None if hasattr(perm, "dtype") else int32)
        transposed = SparseTensor(GATHER_V2(x.indices, order, np.int32(1)), x.values, GATHER(x.dense_shape, order))
        return sparse_reorder(transposed)


def sparse_mask(a: IndexedSlices, mask_indices: TensorLike, name: str | None = None) -> IndexedSlices:
    """Returns the indexed slices without those whose index is in the vector `mask_indices`."""
    with a.graph.as_default(), a.graph.name_scope(name or "sparse_mask"):
        left, at = LIST_DIFF(a.indices, mask_indices, out_idx=int32)
        return IndexedSlices(GATHER(a.values, at), left, a.dense_shape)


def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """Converts a dense tensor to the sparse tensor of its nonzero elements (for strings: of those that are not empty).

    The result has the dtype and shape of `tensor`, and its indices are in row-major order.
    """
    graph = graph_of((tensor,))
    with graph.as_default(), graph.name_scope(name or "dense_to_sparse"):
        x = graph.to_tensor(tensor)
        zero = np.asarray(b"", object) if x.dtype.is_string else x.dtype.np.type(0)
        at = WHERE(NOT_EQUAL(x, graph.to_tensor(zero, x.dtype)))
        return _with_shape(SparseTensor(at, GATHER_ND(x, at), SHAPE(x, out_type=int64)), x.shape)


sparse_reduce_sum, sparse_reduce_sum_sparse = _reduction(SPARSE_REDUCE_SUM, SPARSE_REDUCE_SUM_SPARSE, "sum")
sparse_reduce_max, sparse_reduce_max_sparse = _reduction(SPARSE_REDUCE_MAX, SPARSE_REDUCE_MAX_SPARSE, "maximum")

_FUNCTIONS = {
    "sparse_tensor_dense_matmul": sparse_tensor_dense_matmul,
    "sparse_add": sparse_add,
    "sparse_reshape": sparse_reshape,
    "sparse_concat": sparse_concat,
    "sparse_split": sparse_split,
    "sparse_slice": sparse_slice,
    "sparse_reorder": sparse_reorder,
    "sparse_tensor_to_dense": sparse_tensor_to_dense,
    "sparse_to_indicator": sparse_to_indicator,
    "sparse_merge": sparse_merge,
    "sparse_retain": sparse_retain,
    "sparse_fill_empty_rows": sparse_fill_empty_rows,
    "sparse_reduce_sum": sparse_reduce_sum,
    "sparse_reduce_sum_sparse": sparse_reduce_sum_sparse,
    "sparse_reduce_max": sparse_reduce_max,
    "sparse_reduce_max_sparse": sparse_reduce_max_sparse,
    "sparse_softmax": sparse_softmax,
    "sparse_maximum": sparse_maximum,
    "sparse_minimum": sparse_minimum,
    "sparse_transpose": sparse_transpose,
    "sparse_mask": sparse_mask,
}
_RENAMED = {"sparse_tensor_dense_matmul": "matmul", "sparse_tensor_to_dense": "to_dense"}
OPS: tuple[OpDef, ...] = ()
API: dict[str, Any] = {
    **_FUNCTIONS,
    **{f"sparse.{_RENAMED.get(n, n.removeprefix('sparse_'))}": f for n, f in _FUNCTIONS.items()},
    "sparse.from_dense": from_dense,
}

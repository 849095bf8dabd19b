"""`tf.gather` and `tf.gather_nd`, also within each element of a batch.

With batch dimensions the numbers of the batch's elements become indices themselves, so that one GatherNd picks
everything. Invariant: without batch dimensions a call adds one node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import OpDef
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import CONCAT_V2
from tfnb.ops.array.constants import RANGE, ZEROS_LIKE
from tfnb.ops.array.gather import gather as rows_of
from tfnb.ops.array.gather_nd import GATHER_ND
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE, SHAPE
from tfnb.ops.array.transpose_pad_tile import TRANSPOSE
from tfnb.ops.math.cast import cast_to
from tfnb.types import int32

__all__ = ["API", "OPS", "gather", "gather_nd", "places"]


def places(x: Tensor, like: Tensor, batch_dims: int) -> list[Any]:
    """Returns for each batch dimension the number of the element, in the shape and dtype of `like`."""
    sizes, zeros = SHAPE(x, out_type=int32), ZEROS_LIKE(like)
    found = []
    for i in range(batch_dims):
        numbers = cast_to(RANGE(np.int32(0), sizes[i], np.int32(1)), like.dtype)
        shape = np.asarray([1] * i + [-1] + [1] * (_rank(like) - i - 1), np.int32)
        found.append(zeros + RESHAPE(numbers, shape))
    return found


def _rank(x: Tensor) -> int:
    if x.shape.ndims is None:
        raise ShapeError("gather with batch_dims needs tensors of known rank")
    return x.shape.ndims


def _check(batch_dims: int, limits: Sequence[int]) -> None:
    if not 0 <= batch_dims <= min(limits):
        raise InvalidArgumentError(f"batch_dims must be in [0, {min(limits)}], got {batch_dims}")


def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: TensorLike | None = None,
    batch_dims: int = 0,
) -> Any:
    """Gathers slices of `params` along `axis` by their indices, within each element of `batch_dims` dimensions.

    params: any dtype. indices: integers, any shape, whose first `batch_dims` dimensions are those of params. axis: by
    default `batch_dims`, and not before it. The result has the dtype of params and shape params.shape[:axis] +
    indices.shape[batch_dims:] + params.shape[axis + 1:]. `validate_indices` has no effect, as in TensorFlow. Errors: an
    index is out of range (a device gives 0 for an index that it computed itself), batch_dims does not fit.
    """
    if not batch_dims:
        return rows_of(params, indices, name, 0 if axis is None else axis)
    graph = graph_of((params, indices))
    with graph.as_default(), graph.name_scope(name or "Gather"):
        x, at = graph.to_tensor(params), graph.to_tensor(indices)
        rank, at_rank = _rank(x), _rank(at)
        first = batch_dims + at_rank if batch_dims < 0 else batch_dims
        _check(first, (at_rank, rank - 1))
        place = first if axis is None else int(np.asarray(axis))
        place += rank if place < 0 else 0
        if not first <= place < rank:
            raise InvalidArgumentError(f"axis must be in [{first}, {rank}), got {axis}")
        order = [*range(first), place, *(i for i in range(first, rank) if i != place)]
        rows = TRANSPOSE(x, np.asarray(order, np.int32)) if place > first else x
        index = CONCAT_V2([EXPAND_DIMS(p, np.int32(-1)) for p in (*places(x, at, first), at)], np.int32(-1))
        found = GATHER_ND(rows, index)
        middle, width = place - first, at_rank - first
        back = [*range(first), *range(at_rank, at_rank + middle), *range(first, at_rank)]
        back += range(at_rank + middle, rank + width - 1)
        return TRANSPOSE(found, np.asarray(back, np.int32)) if middle else found


def gather_nd(params: TensorLike, indices: TensorLike, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """Gathers slices of `params` by tuples of indices, within each element of `batch_dims` dimensions.

    params: any dtype. indices: integers, shape (batch..., ..., k), whose rows index the k dimensions of params after
    the batch dimensions. The result has the dtype of params and shape indices.shape[:-1] +
    params.shape[batch_dims + k:]. Errors: an index is out of range, batch_dims does not fit.
    """
    if not batch_dims:
        return GATHER_ND(params, indices, name=name)
    graph = graph_of((params, indices))
    with graph.as_default(), graph.name_scope(name or "GatherNd"):
        x, at = graph.to_tensor(params), graph.to_tensor(indices)
        _check(batch_dims, (_rank(at) - 1, _rank(x)))
        first = at[..., :1]
        return GATHER_ND(x, CONCAT_V2([*places(x, first, batch_dims), at], np.int32(-1)))


OPS: tuple[OpDef, ...] = ()
API: dict[str, Any] = {"gather": gather, "gather_nd": gather_nd, "manip.gather_nd": gather_nd}

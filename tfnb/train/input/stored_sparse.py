"""Sparse tensors as elements of the queues of batches (`tf.train.batch` and related functions).

A queue stores a sparse tensor as a vector of 3 strings; a batch of them becomes one sparse tensor with one more
dimension. Invariant: other tensors are not changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tfnb.client.graph.nest import flatten
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ops.io.serialized_tensors import (
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)
from tfnb.types import DType, ShapeLike

__all__ = ["Kind", "restored", "stored", "stored_shapes"]


class Kind(NamedTuple):
    """The kind of a sparse component: the dtype of its values, and the rank of one example if it is known."""

    dtype: DType
    rank: int | None


def stored(tensors: object, enqueue_many: bool) -> tuple[Any, list[Kind | None]]:
    """Returns the structure (a dict, a list or one tensor) with strings in place of sparse tensors, and the kind of
    each leaf.

    With `enqueue_many` each row is an example. A step raises `InvalidArgumentError` for a sparse vector, which has no
    rows.
    """
    kinds: dict[int, Kind] = {}

    def one(value: object) -> Any:
        if not isinstance(value, (SparseTensor, SparseTensorValue)):
            return value
        sparse = SparseTensor.from_value(value)
        rank = sparse.shape.ndims
        text = serialize_many_sparse(sparse) if enqueue_many else serialize_sparse(sparse)
        kinds[id(text)] = Kind(sparse.dtype, rank if rank is None or not enqueue_many else rank - 1)
        return text

    if isinstance(tensors, Mapping):
        result: Any = {key: one(value) for key, value in tensors.items()}
    elif isinstance(tensors, (list, tuple)) and not isinstance(tensors, SparseTensorValue):
        result = [one(value) for value in tensors]
    else:
        result = one(tensors)
    return result, [kinds.get(id(leaf)) for leaf in flatten(result)]


def stored_shapes(shapes: Sequence[ShapeLike] | None, kinds: Sequence[Kind | None]) -> Any:
    """Returns the shapes that the caller gave, in which sparse components have the shape of their strings."""
    if shapes is None or not any(kinds):
        return shapes
    return [s if kind is None else (3,) for s, kind in zip(shapes, kinds, strict=True)]


def restored(components: Sequence[Any], kinds: Sequence[Kind | None]) -> list[Any]:
    """Returns the components of a batch, with sparse tensors in place of strings."""
    return [
        x if kind is None else deserialize_many_sparse(x, kind.dtype, kind.rank)
        for x, kind in zip(components, kinds, strict=True)
    ]

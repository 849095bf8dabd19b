"""Embedding lookups: rows of one table, or of a table that is cut into shards (OSDI'16, section 4.2, Figure 3).

Invariant: a lookup reads only the rows that it needs, each on the device of its shard. The gradient is sparse, so an
optimizer updates only those rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.variables.partitioned import PartitionedVariable
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import range_
from tfnb.ops.array.gather import gather
from tfnb.ops.array.shape_ops import RESHAPE, shape, size
from tfnb.ops.array.where_partition import DYNAMIC_PARTITION, DYNAMIC_STITCH, unique
from tfnb.ops.math.binary import FLOOR_DIV, FLOOR_MOD, MAXIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.clip import clip_by_norm
from tfnb.ops.math.compare import GREATER, GREATER_EQUAL, LESS, LOGICAL_AND, SELECT
from tfnb.ops.math.segment import SEGMENT_SUM
from tfnb.ops.math.segment_sparse import (
    SPARSE_SEGMENT_MEAN,
    SPARSE_SEGMENT_SQRT_N,
    SPARSE_SEGMENT_SUM,
)
from tfnb.ops.math.unary import SQRT
from tfnb.ops.sparse.functions import sparse_fill_empty_rows, sparse_retain
from tfnb.types import int32

__all__ = ["API", "embedding_lookup", "embedding_lookup_sparse"]


def embedding_lookup(
    params: TensorLike,
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """Returns the rows `ids` of the table `params`, with the shape of `ids` followed by the shape of a row.

    `params` is a tensor, a variable, a list of shards or a partitioned variable. With several shards, strategy "mod"
    puts row i into shard i % n; "div" gives each shard a block of consecutive rows, as a partitioned variable does.
    `ids` is an int32 or int64 tensor of any shape. `max_norm` clips the norm of each row. Raises `InvalidArgumentError`
    for an empty list or an unknown strategy.
    """
    shards = list(params) if isinstance(params, (list, tuple, PartitionedVariable)) else [params]
    if not shards:
        raise InvalidArgumentError("embedding_lookup needs at least one tensor of parameters")
    if partition_strategy not in ("mod", "div"):
        raise InvalidArgumentError(f"embedding_lookup: strategy {partition_strategy!r}; needed 'mod' or 'div'")
    graph = graph_of([*shards, ids])
    with graph.as_default(), graph.name_scope(name or "embedding_lookup"):
        id_tensor = graph.to_tensor(ids)
        if len(shards) == 1:
            return _clipped(_rows(graph, shards[0], id_tensor), max_norm, id_tensor.shape.ndims)
        return _sharded(graph, shards, id_tensor, partition_strategy, max_norm)


def _rows(graph: GraphLike, shard: TensorLike, ids: Tensor) -> Tensor:
    """Returns rows of one shard. They are gathered on the shard's device, so that only the rows are transferred."""
    if not hasattr(shard, "op"):
        return gather(shard, ids)
    with graph.colocate_with(shard.op):
        return gather(shard, ids)


def _sharded(graph: GraphLike, shards: Sequence[Any], ids: Tensor, strategy: str, max_norm: float | None) -> Tensor:
    n = len(shards)
    flat = RESHAPE(ids, [-1])
    if strategy == "mod":
        shard_numbers, rows = FLOOR_MOD(flat, n), FLOOR_DIV(flat, n)
    else:
        shard_numbers, rows = _in_blocks(graph, shards, flat)
    shard_numbers = cast(shard_numbers, int32)
    parts = DYNAMIC_PARTITION(rows, shard_numbers, num_partitions=n)
    positions = DYNAMIC_PARTITION(range_(size(flat)), shard_numbers, num_partitions=n)
    shard_rows = [_rows(graph, p, r) for p, r in zip(shards, parts, strict=True)]
    row = graph.to_tensor(shards[0]).shape[1:]
    stitched = DYNAMIC_STITCH(list(positions), shard_rows)
    tail = row.known() if row.is_fully_defined() else shape(shards[0])[1:]
    result = RESHAPE(stitched, concat([shape(ids), graph.to_tensor(tail, int32)], 0))
    result.set_shape(ids.shape.concatenate(row))
    return _clipped(result, max_norm, ids.shape.ndims)


def _in_blocks(graph: GraphLike, shards: Sequence[Any], flat: Tensor) -> tuple[Tensor, Tensor]:
    """Returns shard and row numbers for "div": where n does not divide the rows, the first shards hold one row more."""
    n = len(shards)
    sizes = [cast(shape(graph.to_tensor(s))[0], flat.dtype) for s in shards]
    total = sizes[0]
    for s in sizes[1:]:
        total = total + s
    rows_per_shard, extra = FLOOR_DIV(total, n), FLOOR_MOD(total, n)
    shard_numbers = MAXIMUM(FLOOR_DIV(flat, rows_per_shard + 1), FLOOR_DIV(flat - extra, rows_per_shard))
    in_long = LESS(shard_numbers, extra)
    return shard_numbers, SELECT(in_long, FLOOR_MOD(flat, rows_per_shard + 1), FLOOR_MOD(flat - extra, rows_per_shard))


def _clipped(rows: Tensor, max_norm: float | None, ids_rank: int | None) -> Tensor:
    if max_norm is None:
        return rows
    if ids_rank is None or rows.shape.ndims is None:
        raise InvalidArgumentError("embedding_lookup: max_norm needs ids and rows of known rank")
    return clip_by_norm(rows, max_norm, axes=list(range(ids_rank, rows.shape.ndims)))


_COMBINED: dict[str, Any] = {
    "sum": SPARSE_SEGMENT_SUM,
    "mean": SPARSE_SEGMENT_MEAN,
    "sqrtn": SPARSE_SEGMENT_SQRT_N,
}


def embedding_lookup_sparse(
    params: TensorLike,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Any:
    """Returns one row per example: a combination of the rows of `params` that the ids of the example select.

    `sp_ids` is a SparseTensor of shape (examples, any) in which no example before the last is empty. `sp_weights` is
    None, or a SparseTensor of float weights with the same indices. `combiner` is "sum", "mean" (the default), or
    "sqrtn": the sum divided by the root of the sum of the squared weights. Only the selected rows are read. Raises
    `DTypeError` for arguments that are not sparse, and `InvalidArgumentError` for another combiner.
    """
    kind = combiner or "mean"
    if kind not in _COMBINED:
        raise InvalidArgumentError(f"embedding_lookup_sparse: combiner {combiner!r}; needed {sorted(_COMBINED)}")
    ids = SparseTensor.from_value(sp_ids)
    graph = ids.graph
    with graph.as_default(), graph.name_scope(name or "embedding_lookup_sparse"):
        examples = cast(ids.indices[:, 0], int32)
        different, positions = unique(ids.values)
        rows = embedding_lookup(params, different, partition_strategy, max_norm=max_norm)
        if sp_weights is None:
            return _COMBINED[kind](rows, positions, examples)
        weights = cast(SparseTensor.from_value(sp_weights).values, rows.dtype)
        return _weighted(gather(rows, positions), weights, examples, kind)


def _weighted(rows: Tensor, weights: Tensor, examples: Tensor, kind: str) -> Tensor:
    if rows.shape.ndims is None:
        raise InvalidArgumentError("embedding_lookup_sparse: weights need rows of known rank")
    weights = RESHAPE(weights, [-1] + [1] * (rows.shape.ndims - 1))
    total = SEGMENT_SUM(rows * weights, examples)
    if kind == "sum":
        return total
    if kind == "mean":
        return total / SEGMENT_SUM(weights, examples)
    return total / SQRT(SEGMENT_SUM(weights * weights, examples))


def _check_lengths(ids: SparseTensor, weights: SparseTensor) -> None:
    """Raises `ShapeError` when the known numbers of ids and of weights differ."""
    if not ids.values.shape.is_compatible_with(weights.values.shape):
        n, m = ids.values.shape.num_elements(), weights.values.shape.num_elements()
        raise ShapeError(f"Dimensions {n} and {m} are not compatible: there are {n} ids, but {m} weights")


def safe_embedding_lookup_sparse(
    embedding_weights: TensorLike,
    sparse_ids: SparseTensor,
    sparse_weights: SparseTensor | None = None,
    combiner: str = "mean",
    default_id: TensorLike | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Any:
    """Does what `embedding_lookup_sparse` does, for ids that may be missing or invalid.

    Negative ids, and ids whose weight is not positive, are dropped. An example without ids gets the row `default_id` of
    `embedding_weights`, or zeros. `sparse_ids` has shape (examples, any).
    """
    ids = SparseTensor.from_value(sparse_ids)
    with ids.graph.as_default(), ids.graph.name_scope(name or "embedding_lookup"):
        is_valid = GREATER_EQUAL(ids.values, 0)
        weights = None if sparse_weights is None else SparseTensor.from_value(sparse_weights)
        if weights is not None:
            _check_lengths(ids, weights)
            is_valid = LOGICAL_AND(is_valid, GREATER(weights.values, 0))
            weights = sparse_fill_empty_rows(sparse_retain(weights, is_valid), 1.0)[0]
        ids, is_empty = sparse_fill_empty_rows(sparse_retain(ids, is_valid), default_id or 0)
        embeddings: Any = embedding_lookup_sparse(
            embedding_weights,
            ids,
            weights,
            partition_strategy,
            combiner=combiner,
            max_norm=max_norm,
        )
        return embeddings if default_id is not None else SELECT(is_empty, embeddings * 0, embeddings)


API: dict[str, Any] = {
    "nn.embedding_lookup": embedding_lookup,
    "nn.embedding_lookup_sparse": embedding_lookup_sparse,
    "nn.safe_embedding_lookup_sparse": safe_embedding_lookup_sparse,
    "contrib.layers.safe_embedding_lookup_sparse": safe_embedding_lookup_sparse,
}

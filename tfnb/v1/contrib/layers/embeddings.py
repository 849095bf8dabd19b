"""Lookups of embeddings: each id once, and embeddings whose every component is a hashed weight (Chen et al. 2015).

Invariant: the values are those of `embedding_lookup`; only how they are found differs.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.graph.default_graph import name_scope
from tfnb.client.variables.embedding import embedding_lookup, embedding_lookup_sparse
from tfnb.ir.default import graph_of
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.gather import gather
from tfnb.ops.array.shape_ops import RESHAPE, shape_of
from tfnb.ops.array.where_partition import unique

__all__ = ["embedding_lookup_unique"]


def embedding_lookup_unique(
    params: Any, ids: TensorLike, partition_strategy: str = "mod", name: str | None = None
) -> Tensor:
    """Does what `tf.nn.embedding_lookup` does; an id that occurs several times is looked up once."""
    with name_scope(name, "EmbeddingLookupUnique", [ids]):
        t = graph_of([ids]).to_tensor(ids)
        flat, places = unique(RESHAPE(t, [-1]))
        rows = gather(embedding_lookup(params, flat, partition_strategy), places)
        result = RESHAPE(rows, concat([shape_of(t), shape_of(rows)[1:]], 0))
        if t.shape.ndims is not None and rows.shape.ndims is not None:
            result.set_shape([*t.shape.as_list(), *rows.shape.as_list()[1:]])
        return result


def embedding_lookup_sparse_with_distributed_aggregation(
    params: Any,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Tensor:
    """Does what `tf.nn.embedding_lookup_sparse` does; rows are read where their part of the variable lives."""
    kind = combiner or "mean"
    return embedding_lookup_sparse(params, sp_ids, sp_weights, partition_strategy, name, kind, max_norm)

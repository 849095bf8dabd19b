"""Dense columns of categories: one-hot vectors and rows of a table.

Invariant: an example without a category gives zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfnb.client.graph.default_graph import add_to_collection, get_collection
from tfnb.client.variables.embedding import safe_embedding_lookup_sparse
from tfnb.client.variables.initializers import TruncatedNormal
from tfnb.client.variables.scope import get_variable
from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import concat, stack
from tfnb.ops.array.constants import constant
from tfnb.ops.array.gather import gather
from tfnb.ops.array.gather_nd import SCATTER_ND
from tfnb.ops.array.shape_ops import RESHAPE
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.where_partition import WHERE
from tfnb.ops.checkpoint.save_restore import RESTORE_V2
from tfnb.ops.linalg.diag import one_hot
from tfnb.ops.math.cast import cast
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.sparse.functions import sparse_reshape, sparse_tensor_to_dense
from tfnb.types import DTypeLike, Shape, ShapeLike, as_dtype, float32, int32, int64
from tfnb.v1.feature_columns.categorical import WeightedColumn
from tfnb.v1.feature_columns.columns import CategoricalColumn, DenseColumn, Features, Variables

__all__ = [
    "EmbeddingColumn",
    "IndicatorColumn",
    "embedding_column",
    "indicator_column",
    "shared_embedding_columns",
    "looked_up",
]


@dataclass(frozen=True)
class IndicatorColumn(DenseColumn):
    """How often each category occurs in an example, or the weight of it."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """The name of the categories' column and "_indicator"."""
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the categories' column."""
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> Shape:
        """The number of categories."""
        return Shape((self.categorical_column.num_buckets,))

    def transform(self, features: Features) -> Tensor:
        """Returns the counts or weights: [batch, categories]."""
        ids, weights = self.categorical_column.sparse(features)
        n = self.categorical_column.num_buckets
        if weights is not None:
            batch = ids.dense_shape[0]
            at = stack([ids.indices[:, 0], ids.values], 1)
            inside = WHERE(ids.values >= 0)[:, 0]
            return SCATTER_ND(gather(at, inside), gather(weights.values, inside), stack([batch, constant(n, int64)]))
        dense = sparse_tensor_to_dense(ids, default_value=-1)
        counts = reduce_sum(one_hot(dense, n, dtype=float32), -2)
        counts.set_shape([*ids.shape.as_list()[:-1], n] if ids.shape.ndims else [None, n])
        return counts

    def dense(self, features: Features, variables: Variables) -> Tensor:
        """Returns the counts or weights. There are no `variables`."""
        return features.made_by(self)


@dataclass(frozen=True)
class EmbeddingColumn(DenseColumn):
    """The rows of a table for the categories of an example, combined to one row."""

    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: Callable[..., Any]
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool
    shared_name: str | None = None

    @property
    def name(self) -> str:
        """The name of the categories' column and "_embedding" or "_shared_embedding"."""
        return f"{self.categorical_column.name}_{'embedding' if self.shared_name is None else 'shared_embedding'}"

    @property
    def scope_name(self) -> str:
        """The column's name, or the name that all columns of a shared table have."""
        return self.name if self.shared_name is None else self.shared_name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the categories' column."""
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> Shape:
        """The length of a row."""
        return Shape((self.dimension,))

    @property
    def table_initializer(self) -> Callable[..., Any]:
        """The given initializer, or one that reads the tensor of the checkpoint."""
        if self.ckpt_to_load_from is None:
            return self.initializer
        return _restoring(self.ckpt_to_load_from, self.tensor_name_in_ckpt)

    def transform(self, features: Features) -> tuple[SparseTensor, SparseTensor | None]:
        """Returns the ids and weights of the categories of the `features`."""
        return self.categorical_column.sparse(features)

    def table(self, variables: Variables) -> Any:
        """Returns the variable, which is made or shared: [categories, dimension]."""
        shape = [self.categorical_column.num_buckets, self.dimension]
        key = f"{self.shared_name}_shared_embedding_variable"
        if self.shared_name is not None and (present := get_collection(key)):
            if present[0].shape.as_list() != shape:
                raise InvalidArgumentError(
                    f"Shared embedding collection {self.shared_name} contains variable {present[0].name} of "
                    f"unexpected shape {present[0].shape}. Expected shape is {shape}."
                )
            return present[0]
        table = get_variable(
            "embedding_weights",
            shape,
            float32,
            self.table_initializer,
            trainable=self.trainable and variables.trainable,
            collections=list(variables.collections),
        )
        if self.shared_name is not None:
            add_to_collection(key, table)
        return table

    def dense(self, features: Features, variables: Variables) -> Tensor:
        """Returns the combined rows: [batch, dimension]."""
        ids, weights = features.made_by(self)
        return looked_up(self.table(variables), ids, weights, self.combiner, self.max_norm)


def looked_up(table: Any, ids: Any, weights: Any, combiner: str, max_norm: float | None = None) -> Tensor:
    """Returns the combined rows of `table` for the ids along the last axis: [..., row]."""
    if ids.shape.ndims in (None, 2):
        return safe_embedding_lookup_sparse(table, ids, weights, combiner, max_norm=max_norm)
    last = ids.dense_shape[-1]
    flat_ids = sparse_reshape(ids, stack([constant(-1, int64), last]))
    flat_weights = None if weights is None else sparse_reshape(weights, stack([constant(-1, int64), last]))
    rows = safe_embedding_lookup_sparse(table, flat_ids, flat_weights, combiner, max_norm=max_norm)
    full = concat([cast(ids.dense_shape[:-1], int32), shape_op(rows)[1:]], 0)
    result = RESHAPE(rows, full)
    result.set_shape([*ids.shape.as_list()[:-1], *rows.shape.as_list()[1:]])
    return result


def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """Returns the column of how often each category of `categorical_column` occurs in an example."""
    return IndicatorColumn(categorical_column)


def _restoring(checkpoint: str, name: str | None) -> Callable[..., Any]:
    """Returns an initializer that reads the tensor `name` of a checkpoint."""

    def restored(shape: ShapeLike, dtype: DTypeLike = float32, partition_info: object = None) -> Tensor:
        if partition_info is not None:
            raise UnimplementedError("an embedding that is loaded from a checkpoint cannot be partitioned")
        value = RESTORE_V2(checkpoint, [name], [""], dtypes=(as_dtype(dtype),))[0]
        value.set_shape(shape)
        return value

    return restored


def embedding_column(
    categorical_column: CategoricalColumn,
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> EmbeddingColumn:
    """Returns the column of the rows of a table, of `dimension` numbers, for the categories of an example.

    combiner: "mean", "sqrtn" or "sum" of the rows. initializer: by default truncated normal numbers with the deviation
    1 / sqrt(dimension). ckpt_to_load_from, tensor_name_in_ckpt: a checkpoint and the name of the tensor that is the
    initial table. max_norm: larger rows are scaled to it. trainable: whether the table is. Raises
    `InvalidArgumentError` for a dimension below 1, an initializer that is no function, or half of a checkpoint.
    """
    return _embedding(
        categorical_column,
        dimension,
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
        None,
    )


def _embedding(
    column: CategoricalColumn,
    dimension: int,
    combiner: str,
    initializer: Callable[..., Any] | None,
    checkpoint: str | None,
    name: str | None,
    max_norm: float | None,
    trainable: bool,
    shared: str | None,
) -> EmbeddingColumn:
    if dimension is None or dimension < 1:
        raise InvalidArgumentError(f"Invalid dimension {dimension}.")
    if initializer is not None and not callable(initializer):
        raise InvalidArgumentError(
            f"initializer must be callable if specified. Embedding of column_name: {column.name}"
        )
    if (checkpoint is None) != (name is None):
        raise InvalidArgumentError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
    return EmbeddingColumn(
        column,
        int(dimension),
        combiner,
        initializer or TruncatedNormal(0.0, 1 / math.sqrt(dimension)),
        checkpoint,
        name,
        max_norm,
        trainable,
        shared,
    )


def shared_embedding_columns(
    categorical_columns: Sequence[CategoricalColumn],
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> list[EmbeddingColumn]:
    """Returns a column for each of `categorical_columns`, which all take their rows of one table.

    shared_embedding_collection_name: the name of the table's scope, by default made of the columns' names. For the
    other arguments see `embedding_column`. Raises `InvalidArgumentError` for columns of different kinds or numbers of
    categories.
    """
    columns = list(categorical_columns)
    inner = [c.categorical_column if isinstance(c, WeightedColumn) else c for c in columns]
    kinds = {(type(c), c.num_buckets) for c in inner}
    if len(kinds) != 1:
        raise InvalidArgumentError(
            f"To use shared_embedding_column, all categorical_columns must have the same type and number of "
            f"buckets. Given: {sorted(c.name for c in columns)}"
        )
    names = sorted(c.name for c in columns)
    shared = shared_embedding_collection_name or "_".join(names) + "_shared_embedding"
    made = initializer or TruncatedNormal(0.0, 1 / math.sqrt(dimension))
    return [
        _embedding(c, dimension, combiner, made, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable, shared)
        for c in columns
    ]

"""Columns of sequences: each example is a series of steps, all of which become one tensor [batch, steps, columns].

Invariant: all columns of one layer have the same lengths; steps after an example's last one are zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfnb.client.graph.default_graph import control_dependencies
from tfnb.client.variables.scope import variable_scope
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import constant
from tfnb.ops.array.shape_ops import EXPAND_DIMS, IDENTITY, RESHAPE
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.io.example_functions import VarLenFeature
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.binary import MAXIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL
from tfnb.ops.math.reduce_functions import reduce_all, reduce_prod
from tfnb.ops.math.segment import UNSORTED_SEGMENT_MAX
from tfnb.ops.sparse.functions import sparse_reshape, sparse_tensor_to_dense
from tfnb.types import DType, DTypeLike, Shape, float32, int32, int64, string
from tfnb.v1.feature_columns.categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from tfnb.v1.feature_columns.columns import CategoricalColumn, Column, DenseColumn, Features, Variables, numeric_column
from tfnb.v1.feature_columns.layers import sorted_columns

__all__ = [
    "sequence_categorical_column_with_hash_bucket",
    "sequence_categorical_column_with_identity",
    "sequence_categorical_column_with_vocabulary_file",
    "sequence_categorical_column_with_vocabulary_list",
    "sequence_input_layer",
    "sequence_numeric_column",
]


def _lengths(values: SparseTensor, elements: int = 1) -> Tensor:
    """Returns the number of steps of each example, int64, of a matrix that has `elements` columns for each step."""
    rows, steps = values.indices[:, 0], values.indices[:, 1] // elements + 1
    batch = cast(values.dense_shape[0], int32)
    return MAXIMUM(UNSORTED_SEGMENT_MAX(steps, cast(rows, int32), batch), constant(0, int64))


@dataclass(frozen=True)
class SequenceCategoricalColumn(CategoricalColumn):
    """The categories of each step of a sequence."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """That of the categories' column."""
        return self.categorical_column.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the categories' column."""
        return self.categorical_column.parse_example_spec

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        return self.categorical_column.num_buckets

    def transform(self, features: Features) -> tuple[Any, ...]:
        """Returns (ids, weights), each [batch, steps, any] or None."""
        return tuple(None if x is None else self._steps(x) for x in self.categorical_column.sparse(features))

    def sparse(self, features: Features) -> tuple[SparseTensor, SparseTensor | None]:
        """Returns the ids and weights: [batch, steps, any]."""
        ids, weights = features.made_by(self)
        return ids, weights

    @staticmethod
    def _steps(values: Any) -> SparseTensor:
        shape = values.dense_shape
        wide = concat([shape[:2], EXPAND_DIMS(reduce_prod(shape[2:]), 0)], 0)
        result = sparse_reshape(values, wide)
        result.set_shape([None, None, None])
        return result


@dataclass(frozen=True)
class SequenceNumericColumn(DenseColumn):
    """The numbers of each step of a sequence, from a sparse feature."""

    key: str
    shape: tuple[int, ...]
    default_value: float
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        """The key of the feature."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The feature with any number of values."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> Shape:
        """The shape of the numbers of one step."""
        return Shape(self.shape)

    def transform(self, features: Features) -> Any:
        """Returns the numbers of the feature. Raises `DTypeError` for a dense feature."""
        value = features.of_key(self.key)
        if not isinstance(value, SparseTensor):
            raise DTypeError(f"sequence_numeric_column: the feature {self.key!r} must be a SparseTensor")
        value = value.with_values(cast(value.values, float32))
        return value if self.normalizer_fn is None else self.normalizer_fn(value)

    def dense(self, features: Features, variables: Variables) -> Tensor:
        """Returns the numbers, padded with the default value: [batch, steps, *shape]. There are no `variables`."""
        value = features.made_by(self)
        dense = sparse_tensor_to_dense(value, default_value=self.default_value)
        return RESHAPE(dense, concat([shape_op(dense)[:1], [-1], list(self.shape)], 0))


def _sequence(column: DenseColumn, features: Features, variables: Variables) -> tuple[Any, Any]:
    """(values [batch, steps, elements], lengths) of a dense column over sequences."""
    if isinstance(column, SequenceNumericColumn):
        made = features.made_by(column)
        elements = 1 if made.shape.ndims == 3 else column.num_elements
        return column.dense(features, variables), _lengths(made, elements)
    inner = getattr(column, "categorical_column", None)
    if not isinstance(inner, SequenceCategoricalColumn):
        raise InvalidArgumentError(
            f"All feature_columns must be of type _SequenceDenseColumn. You can wrap a "
            f"sequence_categorical_column with an embedding_column or indicator_column. Given: {column}"
        )
    return column.dense(features, variables), _lengths(inner.sparse(features)[0])


def sequence_input_layer(
    features: Mapping[str, Any],
    feature_columns: Column | Iterable[Column],
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
) -> tuple[Tensor, Tensor]:
    """Returns (inputs, lengths): all columns side by side, [batch, steps, columns] float32, and the number of steps of
    each example, [batch] int64.

    features: SparseTensors by key. weight_collections: further collections of the tables' variables. trainable:
    whether these are trained. A step fails when the columns have different lengths. Raises `InvalidArgumentError` for
    columns that are not of sequences.
    """
    columns = sorted_columns(feature_columns, DenseColumn, "All feature_columns must be of type _SequenceDenseColumn.")
    made, variables = Features(features), Variables.of(weight_collections, trainable)
    parts, lengths = [], []
    with variable_scope(None, default_name="sequence_input_layer", values=list(features.values())):
        for column in columns:
            with variable_scope(None, default_name=column.scope_name):
                values, length = _sequence(column, made, variables)
                parts.append(RESHAPE(values, concat([shape_op(values)[:2], [column.num_elements]], 0)))
                lengths.append(length)
        message = ["the columns have sequences of different lengths"]
        checks = [assert_that(reduce_all(EQUAL(lengths[0], n)), message) for n in lengths[1:]]
        with control_dependencies(checks):
            inputs, total = concat(parts, -1), IDENTITY(lengths[0])
        inputs.set_shape([None, None, sum(c.num_elements for c in columns)])
    return inputs, total


def sequence_numeric_column(
    key: str,
    shape: int | Sequence[int] = (1,),
    default_value: float = 0.0,
    dtype: DTypeLike = float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> SequenceNumericColumn:
    """Returns the column of numbers of `shape` for each step of the sequences of the sparse feature `key`.

    default_value: fills the steps after an example's last one. normalizer_fn: takes and returns the SparseTensor.
    Raises as `numeric_column` does.
    """
    checked = numeric_column(key, shape, None, dtype, normalizer_fn)
    return SequenceNumericColumn(checked.key, checked.shape, float(default_value), checked.dtype, normalizer_fn)


def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DTypeLike = string
) -> SequenceCategoricalColumn:
    """Returns the column of the hash buckets of each step; see `categorical_column_with_hash_bucket`."""
    return SequenceCategoricalColumn(categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """Returns the column of the ids of each step; see `categorical_column_with_identity`."""
    return SequenceCategoricalColumn(categorical_column_with_identity(key, num_buckets, default_value))


def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:
    """Returns the column of the words of each step; see `categorical_column_with_vocabulary_list`."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_list(key, vocabulary_list, dtype, default_value, num_oov_buckets)
    )


def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DTypeLike = string,
) -> SequenceCategoricalColumn:
    """Returns the column of the words of each step; see `categorical_column_with_vocabulary_file`."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )

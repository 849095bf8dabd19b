"""The first feature columns, `tf.contrib.layers.real_valued_column` and its kin, made of those of `tf.feature_column`.

A sparse column here also says how the weights of several categories of an example are combined. Invariant: columns have
the names, and layers the variables and the order, that they have in TensorFlow's contrib.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfnb.client.variables.initializers import Zeros
from tfnb.client.variables.scope import ScopeLike, get_variable, variable_scope
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError, refuse_given
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.array.placeholder import placeholder, sparse_placeholder
from tfnb.ops.array.shape_ops import RESHAPE
from tfnb.ops.io.example_functions import VarLenFeature, parse_example
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.binary import add_n
from tfnb.ops.nn.bias_dropout_moments import bias_add
from tfnb.ops.sparse.functions import sparse_concat
from tfnb.types import DTypeLike, as_dtype, float32, int64, string
from tfnb.v1.feature_columns.categorical import (
    CrossedColumn,
    FileColumn,
    HashedColumn,
    IdentityColumn,
    ListColumn,
    WeightedColumn,
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
    weighted_categorical_column,
)
from tfnb.v1.feature_columns.columns import (
    BucketizedColumn,
    CategoricalColumn,
    DenseColumn,
    Features,
    NumericColumn,
    Variables,
    numeric_column,
)
from tfnb.v1.feature_columns.columns import bucketized_column as make_bucketized
from tfnb.v1.feature_columns.embedding import (
    EmbeddingColumn,
    IndicatorColumn,
    embedding_column,
    indicator_column,
    looked_up,
)
from tfnb.v1.feature_columns.layers import make_parse_example_spec

__all__ = ["input_from_feature_columns", "real_valued_column", "weighted_sum_from_feature_columns"]

_KINDS: Mapping[type, str] = {
    HashedColumn: "_SparseColumnHashed",
    IdentityColumn: "_SparseColumnIntegerized",
    ListColumn: "_SparseColumnKeys",
    FileColumn: "_SparseColumnVocabulary",
}


@dataclass(frozen=True)
class SparseColumn(CategoricalColumn):
    """Categories, and how the weights of those of one example are combined."""

    categories: CategoricalColumn
    combiner: str

    @property
    def name(self) -> str:
        """The name of the categories' column."""
        return self.categories.name

    @property
    def length(self) -> int:
        """The number of categories."""
        return self.categories.num_buckets

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        return self.categories.num_buckets

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features that the column reads, as `tf.parse_example` takes them."""
        return self.categories.parse_example_spec

    def transform(self, features: Features) -> SparseTensor:
        """Returns the ids of the categories, of the batch's `features`."""
        return self.categories.transform(features)

    def sparse(self, features: Features) -> tuple[SparseTensor, SparseTensor | None]:
        """Returns the ids and weights of the categories, of the batch's `features`."""
        return self.categories.sparse(features)


def _sparse(categories: CategoricalColumn, combiner: str) -> SparseColumn:
    if combiner not in ("sum", "mean", "sqrtn"):
        raise InvalidArgumentError(f"combiner must be sum, mean or sqrtn, got {combiner!r}")
    return SparseColumn(categories, combiner)


def _order(column: Any) -> str:
    """Returns the text by which TensorFlow sorts columns: the kind of the column, and what it is made of."""
    if isinstance(column, SparseColumn):
        inner = column.categories
        if isinstance(inner, CrossedColumn):
            return f"_CrossedColumn(columns={[_order(c) for c in inner.keys]}"
        if isinstance(inner, WeightedColumn):
            return f"_WeightedSparseColumn(sparse_id_column={_order(inner.categorical_column)}"
        return f"{_KINDS[type(inner)]}(column_name='{column.name}'"
    if isinstance(column, EmbeddingColumn):
        return f"_EmbeddingColumn(sparse_id_column={_order(column.categorical_column)}"
    if isinstance(column, IndicatorColumn):
        return f"_OneHotColumn(sparse_id_column={_order(column.categorical_column)}"
    if isinstance(column, BucketizedColumn):
        return f"_BucketizedColumn(source_column={_order(column.source_column)}"
    return f"_RealValuedColumn(column_name='{column.name}'"


def real_valued_column(
    column_name: str,
    dimension: int = 1,
    default_value: TensorLike | None = None,
    dtype: DTypeLike = float32,
    normalizer: Callable[[Any], Any] | None = None,
) -> NumericColumn:
    """Returns the column of `dimension` numbers of a feature; see `tf.feature_column.numeric_column`."""
    return numeric_column(column_name, (dimension,), default_value, dtype, normalizer)


def sparse_column_with_hash_bucket(
    column_name: str,
    hash_bucket_size: int,
    combiner: str = "sum",
    dtype: DTypeLike = string,
    hash_keys: Sequence[int] | None = None,
) -> SparseColumn:
    """Returns the column of categories that are hashes of the feature `column_name`, below `hash_bucket_size`.

    combiner: "sum", "mean" or "sqrtn", of the weights of one example. Raises `InvalidArgumentError` for `hash_keys`,
    several hashes of a value.
    """
    refuse_given("sparse_column_with_hash_bucket", "give one column for each hash", hash_keys=hash_keys)
    return _sparse(categorical_column_with_hash_bucket(column_name, hash_bucket_size, dtype), combiner)


def sparse_column_with_keys(
    column_name: str, keys: Sequence[Any], default_value: int = -1, combiner: str = "sum", dtype: DTypeLike = string
) -> SparseColumn:
    """Returns the column of categories that are positions of the feature's values in `keys`.

    column_name: the feature. default_value: the category of other values, -1 for none. combiner: as of
    `sparse_column_with_hash_bucket`.
    """
    return _sparse(categorical_column_with_vocabulary_list(column_name, keys, dtype, default_value), combiner)


def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: DTypeLike = int64
) -> SparseColumn:
    """Returns the column of categories that are the integers of the feature `column_name`, below `bucket_size`.

    Raises `DTypeError` for a dtype that is no integer.
    """
    if not as_dtype(dtype).is_integer:
        raise DTypeError(f"dtype must be an integer. dtype: {as_dtype(dtype).name}, column_name: {column_name}")
    return _sparse(categorical_column_with_identity(column_name, bucket_size), combiner)


def sparse_column_with_vocabulary_file(
    column_name: str,
    vocabulary_file: str,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: DTypeLike = string,
) -> SparseColumn:
    """Returns the column of categories that are lines of a file; the arguments are those of
    `tf.feature_column.categorical_column_with_vocabulary_file`.

    column_name: the feature. Raises `InvalidArgumentError` without vocab_size.
    """
    if vocab_size is None:
        raise InvalidArgumentError(f"vocab_size should be defined. column_name: {column_name}")
    default = None if num_oov_buckets else default_value
    column = categorical_column_with_vocabulary_file(
        column_name, vocabulary_file, vocab_size, num_oov_buckets, default, dtype
    )
    return _sparse(column, combiner)


def weighted_sparse_column(
    sparse_id_column: SparseColumn, weight_column_name: str, dtype: DTypeLike = float32
) -> SparseColumn:
    """Returns `sparse_id_column` with weights, those of the feature of the name `weight_column_name`."""
    return _sparse(weighted_categorical_column(sparse_id_column, weight_column_name, dtype), sparse_id_column.combiner)


def one_hot_column(sparse_id_column: SparseColumn) -> IndicatorColumn:
    """Returns the dense column of how often each category of `sparse_id_column` occurs."""
    return indicator_column(sparse_id_column)


def bucketized_column(source_column: NumericColumn, boundaries: Sequence[float]) -> BucketizedColumn:
    """Returns the column of the interval between `boundaries` that a number of `source_column` is in."""
    return make_bucketized(source_column, boundaries)


def crossed_column(
    columns: Sequence[Any],
    hash_bucket_size: int,
    combiner: str = "sum",
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    hash_key: int | None = None,
) -> SparseColumn:
    """Returns the column of hashes, below `hash_bucket_size`, of combinations of the categories of `columns`.

    Raises `InvalidArgumentError` for weights from a checkpoint.
    """
    refuse_given(
        "crossed_column",
        "restore the variable after it is made",
        ckpt_to_load_from=ckpt_to_load_from,
        tensor_name_in_ckpt=tensor_name_in_ckpt,
    )
    parts = [
        c.categories if isinstance(c, SparseColumn) and isinstance(c.categories, CrossedColumn) else c for c in columns
    ]
    return _sparse(CrossedColumn(tuple(parts), hash_bucket_size, hash_key), combiner)


def shared_embedding_columns(
    sparse_id_columns: Sequence[SparseColumn],
    dimension: int,
    combiner: str = "mean",
    shared_embedding_name: str | None = None,
    initializer: Callable[..., Any] | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> list[Any]:
    """Returns embedding columns of `sparse_id_columns` with one table; see `embedding_column` for the arguments.

    Raises `InvalidArgumentError` without columns.
    """
    columns = list(sparse_id_columns)
    if not columns:
        raise InvalidArgumentError("sparse_id_columns should have at least one element")
    names = "_".join(c.name for c in sorted(columns, key=lambda c: c.name)[:3])
    more = f"_plus_{len(columns) - 3}_others" if len(columns) > 3 else ""
    shared = shared_embedding_name or f"{names}{more}_shared_embedding"
    made = [
        embedding_column(
            c, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable
        )
        for c in columns
    ]
    return [replace(c, shared_name=shared) for c in made]


def _checked(feature_columns: Iterable[Any]) -> list[Any]:
    check_feature_columns(feature_columns)
    return sorted(dict.fromkeys(feature_columns), key=_order)


def check_feature_columns(feature_columns: Iterable[Any]) -> None:
    """Raises `InvalidArgumentError` when `feature_columns` are a dict, or have two that are nearly the same."""
    if isinstance(feature_columns, Mapping):
        raise InvalidArgumentError("Expected feature_columns to be iterable, found dict.")
    seen: set[str] = set()
    for column in feature_columns:
        key = _order(column)
        if key in seen:
            raise InvalidArgumentError(f"Duplicate feature column key found for column: {column.name}")
        seen.add(key)


def create_feature_spec_for_parsing(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """Returns the features that columns, a list or the values of a dict, read: a dict for `tf.parse_example`."""
    columns = feature_columns.values() if isinstance(feature_columns, Mapping) else feature_columns
    return make_parse_example_spec(columns)


def make_place_holder_tensors_for_base_features(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """Returns placeholders of the features that `feature_columns` read, by name."""
    result: dict[str, Any] = {}
    for key, feature in create_feature_spec_for_parsing(feature_columns).items():
        if isinstance(feature, VarLenFeature):
            result[key] = sparse_placeholder(feature.dtype, name=f"Placeholder_{key}")
        else:
            result[key] = placeholder(feature.dtype, [None, *feature.shape], f"Placeholder_{key}")
    return result


def parse_feature_columns_from_examples(
    serialized: TensorLike,
    feature_columns: Iterable[Any],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[Any, Any]:
    """Returns the features of serialized tf.Examples, [batch], by key, and what `feature_columns` make of them."""
    columns = list(feature_columns)
    parsed = parse_example(serialized, create_feature_spec_for_parsing(columns), name, example_names)
    return {**parsed, **transform_features(parsed, columns)}


def transform_features(features: Mapping[Any, Any], feature_columns: Iterable[Any]) -> dict[Any, Any]:
    """Returns what each of `feature_columns` makes of `features`, a dict of tensors, by column."""
    made = Features(features)
    return {column: made.made_by(column) for column in _checked(list(feature_columns))}


def infer_real_valued_columns(features: TensorLike | Mapping[str, Any]) -> list[Any]:
    """Returns a real-valued column for each tensor of `features`, a dict, or for one tensor [batch, n].

    Raises `ShapeError` for tensors of another rank, `DTypeError` for those that are no numbers.
    """
    named = features if isinstance(features, Mapping) else {"": features}
    columns = []
    for key, value in named.items():
        t = convert_to_tensor(value)
        if not (t.dtype.is_integer or t.dtype.is_floating):
            raise DTypeError(f"Expected integer or floating types. Found dtype={t.dtype.name}, feature={key!r}")
        dims = t.shape.as_list() if t.shape.ndims is not None else []
        if len(dims) not in (1, 2) or (len(dims) == 2 and dims[1] is None):
            raise ShapeError(f"Feature {key!r} should be two dimensional with a known size, got shape {t.shape}")
        columns.append(NumericColumn(key, (dims[1] if len(dims) == 2 else 1,), None, t.dtype, None))
    return columns


def input_from_feature_columns(
    columns_to_tensors: Mapping[str, Any],
    feature_columns: Iterable[Any],
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    scope: ScopeLike | None = None,
    cols_to_outs: dict[Any, Any] | None = None,
) -> Tensor:
    """Returns all dense columns side by side: [batch, columns], float32.

    columns_to_tensors: the features by key. The tables of embeddings are "weights" in the columns' scopes.
    cols_to_outs: a dict to which the matrix of each column is added. Raises `InvalidArgumentError` for a column of
    categories, which needs an embedding or `one_hot_column` around it.
    """
    made, variables = Features(columns_to_tensors), Variables.of(weight_collections, trainable)
    outputs = []
    with variable_scope(scope, "input_from_feature_columns", list(columns_to_tensors.values())):
        for column in _checked(list(feature_columns)):
            if not isinstance(column, DenseColumn):
                raise InvalidArgumentError(f"{column.name} is a sparse column; wrap it by embedding or one_hot_column")
            with variable_scope(None, default_name=column.scope_name):
                outputs.append(_dense(column, made, variables))
            if cols_to_outs is not None:
                cols_to_outs[column] = outputs[-1]
        return concat(outputs, 1)


def _dense(column: Any, features: Features, variables: Variables) -> Tensor:
    if isinstance(column, EmbeddingColumn) and column.shared_name is None:
        table = get_variable(
            "weights",
            [column.categorical_column.num_buckets, column.dimension],
            float32,
            column.table_initializer,
            trainable=column.trainable and variables.trainable,
            collections=list(variables.collections),
        )
        ids, weights = features.made_by(column)
        return looked_up(table, ids, weights, column.combiner, column.max_norm)
    return RESHAPE(column.dense(features, variables), [-1, column.num_elements])


def _linear(name: str, rows: int, outputs: int, variables: Variables) -> Any:
    return get_variable(
        name, [rows, outputs], float32, Zeros(), trainable=variables.trainable, collections=list(variables.collections)
    )


def weighted_sum_from_feature_columns(
    columns_to_tensors: Mapping[str, Any],
    feature_columns: Iterable[Any],
    num_outputs: int,
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    scope: ScopeLike | None = None,
) -> tuple[Any, dict[Any, list[Any]], Any]:
    """Returns a linear model of the columns: (predictions [batch, num_outputs], variables by column, the bias).

    columns_to_tensors: the features by key. Weights begin at zero.
    """
    made, variables = Features(columns_to_tensors), Variables.of(weight_collections, trainable)
    parts, found = [], {}
    with variable_scope(scope, "weighted_sum_from_feature_columns", list(columns_to_tensors.values())):
        for column in _checked(list(feature_columns)):
            with variable_scope(None, default_name=column.name):
                if isinstance(column, CategoricalColumn):
                    weights = _linear("weights", column.num_buckets, num_outputs, variables)
                    ids, of_ids = column.sparse(made)
                    part = looked_up(weights, ids, of_ids, getattr(column, "combiner", "sum"))
                else:
                    matrix = RESHAPE(column.dense(made, variables), [-1, column.num_elements])
                    weights = _linear("weight", column.num_elements, num_outputs, variables)
                    part = matmul(matrix, weights)
            parts.append(RESHAPE(part, [-1, num_outputs]))
            found[column] = [weights]
        bias = _bias(num_outputs, variables)
        return bias_add(add_n(parts), bias), found, bias


def _bias(num_outputs: int, variables: Variables) -> Any:
    return get_variable(
        "bias_weight",
        [num_outputs],
        float32,
        Zeros(),
        trainable=variables.trainable,
        collections=list(variables.collections),
    )


def joint_weighted_sum_from_feature_columns(
    columns_to_tensors: Mapping[str, Any],
    feature_columns: Iterable[Any],
    num_outputs: int,
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    scope: ScopeLike | None = None,
) -> tuple[Any, Any, Any]:
    """Returns a linear model of sparse columns with one variable: (predictions [batch, num_outputs], [it], the bias).

    columns_to_tensors: the features by key. Raises `InvalidArgumentError` for real-valued columns, weighted ones, and
    combiners other than "sum".
    """
    made, variables = Features(columns_to_tensors), Variables.of(weight_collections, trainable)
    ids: list[Any] = []
    size = 0
    name = "joint_weighted_sum_from_feature_columns"
    with variable_scope(scope, name, list(columns_to_tensors.values())):
        for column in _checked(list(feature_columns)):
            if not isinstance(column, CategoricalColumn) or getattr(column, "combiner", "sum") != "sum":
                raise InvalidArgumentError(f"{column.name}: a joint sum takes sparse columns with the combiner sum")
            own, weights = column.sparse(made)
            if weights is not None:
                raise InvalidArgumentError(f"{column.name}: a joint sum takes no weights")
            ids.append(own.with_values(own.values + size))
            size += column.num_buckets
        with variable_scope(None, default_name="linear_weights"):
            table = _linear("weights", size, num_outputs, variables)
            predictions = looked_up(table, sparse_concat(1, ids), None, "sum")
        bias = _bias(num_outputs, variables)
        return bias_add(RESHAPE(predictions, [-1, num_outputs]), bias), [table], bias

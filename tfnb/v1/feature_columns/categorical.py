"""Columns of categories: words and numbers become the ids 0 to `num_buckets` - 1.

Invariant: the ids of an example are in the order of its values. What is outside of a vocabulary is -1, which lookups
leave out, unless the column has a default or buckets for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.client.graph.default_graph import control_dependencies
from tfnb.client.lookup.vocabularies import index_table_from_file, index_table_from_tensor
from tfnb.client.platform.gfile import GFile
from tfnb.errors import DTypeError, InvalidArgumentError, UnimplementedError
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import constant, zeros_like
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.array.where_partition import where
from tfnb.ops.io.example_functions import VarLenFeature
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import LOGICAL_AND
from tfnb.ops.math.reduce_functions import reduce_all
from tfnb.ops.sparse.cross import DEFAULT_HASH_KEY, SPARSE_CROSS
from tfnb.ops.strings.convert import AS_STRING
from tfnb.ops.strings.hashing import STRING_TO_HASH_BUCKET_FAST
from tfnb.types import DType, DTypeLike, as_dtype, float32, int64, string
from tfnb.v1.feature_columns.columns import CategoricalColumn, Features, checked_key, sparse_feature

__all__ = [
    "CrossedColumn",
    "categorical_column_with_hash_bucket",
    "categorical_column_with_identity",
    "categorical_column_with_vocabulary_file",
    "categorical_column_with_vocabulary_list",
    "crossed_column",
    "weighted_categorical_column",
]


@dataclass(frozen=True)
class _OfKey(CategoricalColumn):
    """A column of the categories of one feature."""

    key: str

    @property
    def name(self) -> str:
        """The key of the feature."""
        return self.key

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values in tf.Examples."""
        return string

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The feature with any number of values."""
        return {self.key: VarLenFeature(self.value_dtype)}

    def transform(self, features: Features) -> SparseTensor:
        """Returns the ids of the feature. Raises `DTypeError` for values of another kind."""
        given = sparse_feature(features, self.key)
        if (given.dtype is string) != (self.value_dtype is string) or not (
            given.dtype is string or given.dtype.is_integer
        ):
            raise DTypeError(
                f"Column dtype and SparseTensors dtype must be compatible. key: {self.key}, column dtype: "
                f"{self.value_dtype.name}, tensor dtype: {given.dtype.name}"
            )
        return given.with_values(self.ids(given.values))

    def ids(self, values: Tensor) -> Tensor:
        """Returns the ids of the `values`, a vector."""
        raise NotImplementedError


@dataclass(frozen=True)
class HashedColumn(_OfKey):
    """The bucket of a hash of each value."""

    hash_bucket_size: int
    dtype: DType

    @property
    def value_dtype(self) -> DType:
        """The given dtype."""
        return self.dtype

    @property
    def num_buckets(self) -> int:
        """The number of buckets."""
        return self.hash_bucket_size

    def ids(self, values: Tensor) -> Tensor:
        """Returns the hash of each value, or of an integer's text."""
        text = values if values.dtype is string else AS_STRING(values)
        return STRING_TO_HASH_BUCKET_FAST(text, num_buckets=self.hash_bucket_size)


@dataclass(frozen=True)
class IdentityColumn(_OfKey):
    """Values that are ids already."""

    number_buckets: int
    default_value: int | None

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values, an integer one."""
        return int64

    @property
    def num_buckets(self) -> int:
        """The given number."""
        return self.number_buckets

    def ids(self, values: Tensor) -> Tensor:
        """Returns the values; those outside of the ids become the default, without which the step fails."""
        ids = cast(values, int64)
        inside = LOGICAL_AND(ids >= 0, ids < self.num_buckets)
        if self.default_value is not None:
            return where(inside, ids, zeros_like(ids) + self.default_value)
        check = assert_that(
            reduce_all(inside),
            [f"assert_less_than_num_buckets: an id of {self.key!r} is not in [0, {self.num_buckets}):", ids],
        )
        with control_dependencies([check]):
            return IDENTITY(ids)


@dataclass(frozen=True)
class ListColumn(_OfKey):
    """The position of each value in a vocabulary."""

    vocabulary_list: tuple[Any, ...]
    dtype: DType
    default_value: int
    num_oov_buckets: int

    @property
    def value_dtype(self) -> DType:
        """That of the vocabulary."""
        return self.dtype

    @property
    def num_buckets(self) -> int:
        """The number of words, and of buckets for other words."""
        return len(self.vocabulary_list) + self.num_oov_buckets

    def ids(self, values: Tensor) -> Tensor:
        """Returns the positions of the `values`."""
        dtype = int64 if self.dtype.is_integer else self.dtype
        words = constant(list(self.vocabulary_list), dtype)
        table = index_table_from_tensor(
            words, self.num_oov_buckets, self.default_value, dtype=dtype, name=f"{self.key}_lookup"
        )
        return table.lookup(cast(values, int64) if self.dtype.is_integer else values)


@dataclass(frozen=True)
class FileColumn(_OfKey):
    """The line of each value in a file."""

    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: DType
    default_value: int

    @property
    def value_dtype(self) -> DType:
        """The given dtype."""
        return self.dtype

    @property
    def num_buckets(self) -> int:
        """The number of words, and of buckets for other words."""
        return self.vocabulary_size + self.num_oov_buckets

    def ids(self, values: Tensor) -> Tensor:
        """Returns the numbers of the lines, from 0 on."""
        dtype = int64 if self.dtype.is_integer else self.dtype
        table = index_table_from_file(
            self.vocabulary_file,
            self.num_oov_buckets,
            self.vocabulary_size,
            self.default_value,
            key_dtype=dtype,
            name=f"{self.key}_lookup",
        )
        return table.lookup(cast(values, int64) if self.dtype.is_integer else values)


@dataclass(frozen=True)
class WeightedColumn(CategoricalColumn):
    """Categories whose weights are another feature."""

    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: DType

    @property
    def name(self) -> str:
        """The names of the categories and of the weights."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features of the categories and the weights."""
        spec = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in spec:
            raise InvalidArgumentError(
                f"Parse config {spec[self.weight_feature_key]} already exists for {self.weight_feature_key}: the "
                "feature gives categories and weights"
            )
        return {**spec, self.weight_feature_key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        return self.categorical_column.num_buckets

    def transform(self, features: Features) -> SparseTensor:
        """Returns the weights. Raises `DTypeError` for those that are no numbers."""
        weights = sparse_feature(features, self.weight_feature_key, ignored=0)
        if not (weights.dtype.is_floating or weights.dtype.is_integer):
            raise DTypeError(f"Bad dtype, expected {self.dtype.name}, but got {weights.dtype.name}.")
        return weights.with_values(cast(weights.values, float32))

    def sparse(self, features: Features) -> tuple[SparseTensor, SparseTensor | None]:
        """Returns the ids and the weights of the `features`."""
        return self.categorical_column.sparse(features)[0], features.made_by(self)


@dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    """A hash of each combination of the categories of several columns."""

    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None

    @property
    def name(self) -> str:
        """The names of all columns, sorted, joined by "_X_"."""
        return "_X_".join(sorted(k if isinstance(k, str) else k.name for k in self._leaves()))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features of all columns."""
        spec: dict[str, Any] = {}
        for key in self.keys:
            spec.update({key: VarLenFeature(string)} if isinstance(key, str) else key.parse_example_spec)
        return spec

    @property
    def num_buckets(self) -> int:
        """The number of buckets."""
        return self.hash_bucket_size

    def _leaves(self) -> list[Any]:
        parts = (k._leaves() if isinstance(k, CrossedColumn) else [k] for k in self.keys)
        return [leaf for part in parts for leaf in part]

    def transform(self, features: Features) -> SparseTensor:
        """Returns the bucket of each combination of the `features`. Raises `UnimplementedError` for weighted ones."""
        # As in TensorFlow, dense features come after sparse columns, and keep their empty values.
        columns: list[SparseTensor] = []
        dense: list[Tensor] = []
        for leaf in self._leaves():
            if isinstance(leaf, str):
                given = features.of_key(leaf)
                values = given.values if isinstance(given, SparseTensor) else given
                values = values if values.dtype is string else cast(values, int64)
                if isinstance(given, SparseTensor):
                    columns.append(given.with_values(values))
                else:
                    dense.append(values)
                continue
            ids, weights = leaf.sparse(features)
            if weights is not None:
                raise UnimplementedError(
                    "crossed_column does not support weight_tensor, but the given column populates weight_tensor. "
                    f"Given column: {leaf.name}"
                )
            columns.append(ids)
        at, crossed, shape = SPARSE_CROSS(
            [c.indices for c in columns],
            [c.values for c in columns],
            [c.dense_shape for c in columns],
            dense,
            hashed_output=True,
            num_buckets=self.hash_bucket_size,
            out_type=int64,
            internal_type=int64,
            hash_key=DEFAULT_HASH_KEY if self.hash_key is None else self.hash_key,
        )
        return SparseTensor(at, crossed, shape)


def _checked_dtype(dtype: DTypeLike, key: str, what: str = "dtype") -> DType:
    given = as_dtype(dtype)
    if given is not string and not given.is_integer:
        raise InvalidArgumentError(f"{what} must be string or integer. dtype: {given.name}, column_name: {key}")
    return given


def categorical_column_with_hash_bucket(key: str, hash_bucket_size: int, dtype: DTypeLike = string) -> HashedColumn:
    """Returns the column of the hash buckets of the feature `key`, of strings or integers (`dtype`).

    Raises `InvalidArgumentError` for another dtype, or fewer than one bucket.
    """
    if hash_bucket_size is None:
        raise InvalidArgumentError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise InvalidArgumentError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    return HashedColumn(checked_key(key), int(hash_bucket_size), _checked_dtype(dtype, key))


def categorical_column_with_identity(key: str, num_buckets: int, default_value: int | None = None) -> IdentityColumn:
    """Returns the column of the feature `key` whose values are ids below `num_buckets`.

    default_value: replaces other values; without it they make a step fail. Raises `InvalidArgumentError` for no
    buckets, or a default that is no id.
    """
    if num_buckets < 1:
        raise InvalidArgumentError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise InvalidArgumentError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    return IdentityColumn(checked_key(key), num_buckets, default_value)


def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> ListColumn:
    """Returns the column of the positions of the feature `key` in `vocabulary_list`, of strings or integers.

    Other values get `default_value`, or one of `num_oov_buckets` further ids by a hash. Raises `InvalidArgumentError`
    for an empty vocabulary or one with duplicates, for both a default and buckets, and for another dtype.
    """
    words = tuple(np.asarray(vocabulary_list).tolist()) if vocabulary_list is not None else ()
    if not words:
        raise InvalidArgumentError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(words)) != len(words):
        raise InvalidArgumentError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    own = string if isinstance(words[0], (str, bytes)) else as_dtype(np.asarray(vocabulary_list).dtype)
    _check_buckets(key, num_oov_buckets, default_value)
    _checked_dtype(own, key, "vocabulary dtype")
    given = _checked_dtype(own if dtype is None else dtype, key)
    if given.is_integer != own.is_integer:
        raise InvalidArgumentError(
            f"dtype {given.name} and vocabulary dtype {own.name} do not match, column_name: {key}"
        )
    return ListColumn(checked_key(key), words, given, default_value, num_oov_buckets)


def _check_buckets(key: str, num_oov_buckets: int, default_value: int | None) -> None:
    if num_oov_buckets and default_value not in (-1, None):
        raise InvalidArgumentError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if num_oov_buckets < 0:
        raise InvalidArgumentError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DTypeLike = string,
) -> FileColumn:
    """Returns the column of the line numbers, from 0 on, of the feature `key` in a file with one word on each line.

    vocabulary_size: how many lines count, by default all. Other values get `default_value` (-1 if None), or one of
    `num_oov_buckets` further ids by a hash. Raises `InvalidArgumentError` without a file, for both a default and
    buckets, and for another dtype; `NotFoundError` for a file that is missing when its lines are counted.
    """
    if not vocabulary_file:
        raise InvalidArgumentError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        with GFile(vocabulary_file, "rb") as file:
            vocabulary_size = sum(1 for _ in file)
    if vocabulary_size < 1:
        raise InvalidArgumentError(f"Invalid vocabulary_size in {key}.")
    _check_buckets(key, num_oov_buckets, default_value)
    default = -1 if default_value is None else default_value
    return FileColumn(
        checked_key(key), str(vocabulary_file), vocabulary_size, num_oov_buckets, _checked_dtype(dtype, key), default
    )


def weighted_categorical_column(
    categorical_column: CategoricalColumn, weight_feature_key: str, dtype: DTypeLike = float32
) -> WeightedColumn:
    """Returns the categories of a column, whose weights are the feature `weight_feature_key`.

    dtype: of the weights in tf.Examples. Raises `InvalidArgumentError` for a dtype that is no number.
    """
    given = None if dtype is None else as_dtype(dtype)
    if given is None or not (given.is_integer or given.is_floating):
        raise InvalidArgumentError(f"dtype {given and given.name} is not convertible to float.")
    return WeightedColumn(categorical_column, checked_key(weight_feature_key), given)


def crossed_column(keys: Sequence[Any], hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """Returns the column of the hash bucket of each combination of values of several columns.

    keys: names of features, or categorical columns without hashes. hash_key: mixed into the hash. Raises
    `InvalidArgumentError` for fewer than two keys, other columns, or fewer than one bucket.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise InvalidArgumentError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise InvalidArgumentError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn)):
            raise InvalidArgumentError(
                f"Unsupported key type. All keys must be either string, or categorical column except "
                f"HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, HashedColumn):
            raise InvalidArgumentError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before crossing "
                "will increase probability of collision. Instead, use the feature name as a string. Given: " + key.name
            )
    return CrossedColumn(tuple(keys), int(hash_bucket_size), hash_key)

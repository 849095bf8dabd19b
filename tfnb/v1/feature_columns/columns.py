"""What a feature column is, and the columns of numbers.

A column says which features it reads, how they are parsed, and what it makes of them. A dense column makes a matrix, a
categorical column makes sparse ids, and a bucketized column either. Invariant: a column is immutable and equal to any
other with the same arguments; what it computed of a dict of features is kept in `Features`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.client.control_flow.primitives import with_dependencies
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.errors import DTypeError, InvalidArgumentError, NotFoundError, ShapeError
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat, stack
from tfnb.ops.array.constants import FILL, constant, convert_to_tensor
from tfnb.ops.array.constants import range_ as range_op
from tfnb.ops.array.gather_nd import GATHER_ND
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.shape_ops import size as size_of
from tfnb.ops.array.tile_reverse_mirror import TILE
from tfnb.ops.array.where_partition import WHERE
from tfnb.ops.io.example_functions import FixedLenFeature
from tfnb.ops.linalg.diag import one_hot
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.binary import MAXIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import GREATER, GREATER_EQUAL, NOT_EQUAL
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.sparse.functions import sparse_reshape
from tfnb.types import DType, DTypeLike, Shape, as_dtype, float32, int64, string

__all__ = [
    "BucketizedColumn",
    "CategoricalColumn",
    "Column",
    "DenseColumn",
    "Features",
    "NumericColumn",
    "bucketized_column",
    "by_rows",
    "numeric_column",
    "sparse_feature",
]


class Features:
    """The features of a batch by key, and what columns have made of them."""

    def __init__(self, raw: Mapping[Any, Any]) -> None:
        self.raw = raw
        self._made: dict[Any, Any] = {}

    def of_key(self, key: str) -> Any:
        """Returns the tensor or SparseTensor of the feature `key`, with at least two dimensions.

        Raises `NotFoundError` when there is none, `ShapeError` for a scalar.
        """
        if key not in self.raw:
            raise NotFoundError(
                f"Feature {key!r} is not in features dictionary; there are {', '.join(map(repr, self.raw))}"
            )
        value = self.raw[key]
        if isinstance(value, (SparseTensor, SparseTensorValue)):
            sparse: Any = SparseTensor.from_value(value)
            rank = sparse.dense_shape.shape.sizes[0] if sparse.dense_shape.shape.sizes else None
            return sparse if rank is not None and rank > 1 else sparse_reshape(sparse, _wide(key, sparse.dense_shape))
        tensor = convert_to_tensor(value)
        if tensor.shape.ndims == 0:
            raise ShapeError(f"Feature (key: {key}) cannot have rank 0. Given: {tensor}")
        if tensor.shape.ndims is None:
            return RESHAPE(tensor, _wide(key, shape_op(tensor)))
        return EXPAND_DIMS(tensor, -1) if tensor.shape.ndims == 1 else tensor

    def made_by(self, column: Column) -> Any:
        """Returns what `column` makes of the features, which it does once."""
        if column not in self._made:
            self._made[column] = column.transform(self)
        return self._made[column]


def _wide(key: str, dims: Tensor) -> Tensor:
    """Returns the shape `dims` of a feature, in which 1 follows a single dimension. A scalar fails in the step."""
    rank = size_of(dims)
    check = assert_that(GREATER(rank, 0), [f"Feature (key: {key}) cannot have rank 0. Given shape:", dims])
    ones = FILL(stack([MAXIMUM(2 - rank, 0)]), cast(1, dims.dtype))
    return with_dependencies([check], concat([dims, ones], 0))


def by_rows(values: Tensor, width: int) -> Tensor:
    """Returns the values of a batch as a matrix of `width` columns; in a step, another number of values is an error."""
    rows = values.shape.sizes[0] if values.shape.sizes else None
    return RESHAPE(values, stack([shape_op(values)[0], width]) if rows is None else [rows, width])


@dataclass(frozen=True)
class Column:
    """What all columns have: a name, by which they are sorted, and the features that they read."""

    @property
    def name(self) -> str:
        """The name by which columns are sorted, and their variables called."""
        raise NotImplementedError

    @property
    def scope_name(self) -> str:
        """The name of the scope of the column's variables."""
        return self.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features that the column reads, as `tf.parse_example` takes them."""
        raise NotImplementedError

    def transform(self, features: Features) -> Any:
        """Returns what the column makes of the features."""
        raise NotImplementedError


class DenseColumn(Column):
    """A column whose values are an array of `variable_shape` for each example."""

    @property
    def variable_shape(self) -> Shape:
        """The shape of the values of one example."""
        raise NotImplementedError

    @property
    def num_elements(self) -> int:
        """The number of values of one example."""
        return math.prod(self.variable_shape.known())

    def dense(self, features: Features, variables: Variables) -> Tensor:
        """Returns the values: [batch, ...], with the last dimensions of `variable_shape`."""
        raise NotImplementedError


class CategoricalColumn(Column):
    """A column whose values are numbers of categories, any number of them for each example."""

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        raise NotImplementedError

    def sparse(self, features: Features) -> tuple[SparseTensor, SparseTensor | None]:
        """Returns the int64 ids of the categories, and their weights or None: [batch, any]."""
        return features.made_by(self), None


@dataclass(frozen=True)
class Variables:
    """How a column makes its variables: whether they are trained, and in which collections they are."""

    trainable: bool = True
    collections: tuple[str, ...] = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES)

    @classmethod
    def of(cls, weight_collections: Iterable[str] | None, trainable: bool) -> Variables:
        """The variables that are in `weight_collections` too."""
        more = [c for c in weight_collections or () if c not in cls.collections]
        return cls(trainable, (*cls.collections, *more))


def sparse_feature(features: Features, key: str, ignored: TensorLike | None = None) -> SparseTensor:
    """Returns the feature `key` as a SparseTensor; of a dense one "", -1 or `ignored` are left out."""
    value = features.of_key(key)
    if isinstance(value, SparseTensor):
        return value
    if ignored is None:
        ignored = "" if value.dtype is string else -1
    at = WHERE(NOT_EQUAL(value, constant(ignored, value.dtype)))
    return SparseTensor(at, GATHER_ND(value, at), shape_op(value, out_type=int64))


@dataclass(frozen=True)
class NumericColumn(DenseColumn):
    """Unchanged numbers: an array of shape `shape` for each example."""

    key: str
    shape: tuple[int, ...]
    default_value: Any
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        """The key of the feature."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The feature with a fixed number of values."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> Shape:
        """The given shape."""
        return Shape(self.shape)

    def transform(self, features: Features) -> Tensor:
        """Returns the numbers as float32, after the normalizer. Raises `DTypeError` for a sparse feature."""
        value = features.of_key(self.key)
        if isinstance(value, SparseTensor):
            raise DTypeError(
                f"The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not "
                f"supported. key: {self.key}"
            )
        if self.normalizer_fn is not None:
            value = self.normalizer_fn(value)
        return cast(value, float32)

    def dense(self, features: Features, variables: Variables) -> Tensor:
        """Returns the numbers. There are no `variables`."""
        return features.made_by(self)


@dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """The interval between `boundaries` in which a number lies."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        """The name of the numbers' column and "_bucketized"."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the numbers' column."""
        return self.source_column.parse_example_spec

    @property
    def variable_shape(self) -> Shape:
        """The shape of the numbers, followed by the number of intervals."""
        return Shape((*self.source_column.shape, len(self.boundaries) + 1))

    @property
    def num_buckets(self) -> int:
        """The number of intervals, of all numbers of an example together."""
        return (len(self.boundaries) + 1) * self.source_column.num_elements

    def transform(self, features: Features) -> Tensor:
        """Returns the number of the interval of each number, int64."""
        x = features.made_by(self.source_column)
        reached = GREATER_EQUAL(EXPAND_DIMS(x, -1), constant(list(self.boundaries), float32))
        return reduce_sum(cast(reached, int64), -1)

    def dense(self, features: Features, variables: Variables) -> Tensor:
        """Returns 1 at the interval of each number, else 0. There are no `variables`."""
        return one_hot(features.made_by(self), len(self.boundaries) + 1, dtype=float32)

    def sparse(self, features: Features) -> tuple[SparseTensor, SparseTensor | None]:
        """Returns the intervals as categories; those of further numbers of an example come after those of the first."""
        numbers, width = self.source_column.num_elements, len(self.boundaries) + 1
        ids = by_rows(features.made_by(self), numbers)
        ids = ids + constant([i * width for i in range(numbers)], int64)
        batch = shape_op(ids)[0]
        rows = TILE(EXPAND_DIMS(range_op(batch), 1), [1, numbers])
        places = TILE(EXPAND_DIMS(range_op(numbers), 0), stack([batch, 1]))
        at = cast(stack([RESHAPE(rows, [-1]), RESHAPE(places, [-1])], 1), int64)
        return SparseTensor(at, RESHAPE(ids, [-1]), cast(stack([batch, numbers]), int64)), None


def _dims(shape: int | Sequence[int]) -> tuple[int, ...]:
    dims = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if not all(isinstance(n, (int, np.integer)) for n in dims):
        raise DTypeError(f"shape dimensions must be integer. shape: {shape}")
    if any(n < 1 for n in dims):
        raise InvalidArgumentError(f"shape dimensions must be greater than 0. shape: {shape}")
    return tuple(int(n) for n in dims)


def checked_key(key: str) -> str:
    """Returns the key of a feature. Raises `InvalidArgumentError` when it is no text."""
    if not isinstance(key, str):
        raise InvalidArgumentError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")
    return key


def _as_tuples(values: object) -> Any:
    return tuple(map(_as_tuples, values)) if isinstance(values, list) else values


def numeric_column(
    key: str,
    shape: int | Sequence[int] = (1,),
    default_value: TensorLike | None = None,
    dtype: DTypeLike = float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> NumericColumn:
    """Returns the column of the feature `key`: numbers of `shape` per example, after `normalizer_fn` if it is given.

    `default_value` replaces the feature in examples without it, when they are parsed with the result of
    `make_parse_example_spec`: a number, or an array of `shape`. Raises `InvalidArgumentError` for a key that is not
    text, a shape that is not positive or that a default does not have, `DTypeError` for a dtype, shape or default that
    is not numeric, or a normalizer that is no function.
    """
    dims, given = _dims(shape), as_dtype(dtype)
    if not (given.is_integer or given.is_floating):
        raise InvalidArgumentError(f"dtype must be convertible to float. dtype: {given.name}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise DTypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    default = default_value
    if default is not None:
        values = np.asarray(default)
        if values.ndim and values.shape != dims:
            raise InvalidArgumentError(
                f"The shape of default_value must be equal to given shape. default_value: {default!r}, shape: {dims}, "
                f"default_value_shape: {values.shape}, key: {key}"
            )
        if values.dtype.kind not in "iufb" or (given.is_integer and values.dtype.kind == "f"):
            raise DTypeError(
                f"default_value must be compatible with dtype. default_value: {default!r}, dtype: "
                f"{given.name}, key: {key}"
            )
        default = _as_tuples(np.broadcast_to(values, dims).tolist())
    return NumericColumn(checked_key(key), dims, default, given, normalizer_fn)


def bucketized_column(source_column: NumericColumn, boundaries: Sequence[float]) -> BucketizedColumn:
    """Returns the column of the interval in which a number of `source_column` lies.

    Raises `InvalidArgumentError` unless the column is numeric, of one dimension, and `boundaries` are numbers that
    rise.
    """
    if not isinstance(source_column, NumericColumn):
        raise InvalidArgumentError(
            f"source_column must be a column generated with numeric_column(). Given: {source_column}"
        )
    if len(source_column.shape) > 1:
        raise InvalidArgumentError(f"source_column must be one-dimensional column. Given: {source_column}")
    try:
        limits = tuple(float(b) for b in boundaries)
    except (TypeError, ValueError):
        limits = ()
    if not limits or any(a >= b for a, b in zip(limits, limits[1:], strict=False)):
        raise InvalidArgumentError(f"boundaries must be a sorted list. Got {limits or boundaries!r}")
    return BucketizedColumn(source_column, limits)

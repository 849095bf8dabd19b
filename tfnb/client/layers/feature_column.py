"""`tf.feature_column`: the entries of a dict of features become the columns of one matrix.

Invariant: the columns are in the order of their names, not in the order in which they were given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfnb.errors import InvalidArgumentError, NotFoundError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import constant
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE
from tfnb.ops.io.example_functions import FixedLenFeature
from tfnb.ops.linalg.diag import one_hot
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import GREATER_EQUAL
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.types import DType, DTypeLike, as_dtype, float32, int32

__all__ = ["API", "input_layer", "numeric_column"]


@dataclass(frozen=True)
class NumericColumn:
    """Unchanged numbers: an array of shape `shape` for each example."""

    key: str
    shape: tuple[int, ...]
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None
    default_value: Any = None

    @property
    def name(self) -> str:
        """The name of the feature, by which columns are sorted."""
        return self.key

    def matrix(self, features: Mapping[str, Any]) -> Tensor:
        """Returns the numbers of the features as a matrix: [batch, number of elements], float32."""
        if self.key not in features:
            raise NotFoundError(f"there is no feature {self.key!r}, only {', '.join(map(repr, features))}")
        x = cast(features[self.key], float32)
        x = x if self.normalizer_fn is None else self.normalizer_fn(x)
        result: Tensor = RESHAPE(x, [-1, math.prod(self.shape)])
        return result


@dataclass(frozen=True)
class BucketizedColumn:
    """The interval between `boundaries` in which a number lies, as one-hot columns."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        """The name by which columns are sorted."""
        return f"{self.source_column.name}_bucketized"

    def matrix(self, features: Mapping[str, Any]) -> Tensor:
        """Returns the one-hot columns of the features: [batch, elements * (boundaries + 1)], float32."""
        x = self.source_column.matrix(features)
        reached_boundaries = GREATER_EQUAL(EXPAND_DIMS(x, -1), constant(list(self.boundaries), float32))
        n = len(self.boundaries) + 1
        width = math.prod(self.source_column.shape) * n
        result: Tensor = RESHAPE(one_hot(reduce_sum(cast(reached_boundaries, int32), -1), n), [-1, width])
        return result


def numeric_column(
    key: str,
    shape: int | Sequence[int] = (1,),
    default_value: TensorLike | None = None,
    dtype: DTypeLike = float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> NumericColumn:
    """Returns the column of the feature `key`: numbers of `shape` per example, after `normalizer_fn` if it is given.

    `default_value` replaces the feature in examples without it, when they are parsed with the result of
    `make_parse_example_spec`. Raises `InvalidArgumentError` for a key that is not text or a shape that is not positive.
    """
    dims = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    if not isinstance(key, str) or any(n < 1 for n in dims):
        raise InvalidArgumentError(f"numeric_column: key {key!r} and shape {shape!r}; needed text and positive numbers")
    return NumericColumn(key, dims, as_dtype(dtype), normalizer_fn, default_value)


def bucketized_column(source_column: NumericColumn, boundaries: Sequence[float]) -> BucketizedColumn:
    """Returns one-hot columns for the interval in which a number of `source_column` lies.

    Raises `InvalidArgumentError` unless `boundaries` increase.
    """
    limits = tuple(float(b) for b in boundaries)
    if not limits or any(a >= b for a, b in zip(limits, limits[1:], strict=False)):
        raise InvalidArgumentError(f"bucketized_column: boundaries must rise, got {list(boundaries)}")
    return BucketizedColumn(source_column, limits)


def make_parse_example_spec(feature_columns: Iterable[Any]) -> dict[str, FixedLenFeature]:
    """Returns the features that the columns read, as a dict that `tf.parse_example` takes.

    Raises `InvalidArgumentError` when two columns read one feature in different ways.
    """
    features: dict[str, FixedLenFeature] = {}
    for column in feature_columns:
        source = column.source_column if isinstance(column, BucketizedColumn) else column
        feature = FixedLenFeature(list(source.shape), source.dtype, source.default_value)
        if features.setdefault(source.key, feature) != feature:
            raise InvalidArgumentError(f"two columns read the feature {source.key!r} in different ways")
    return features


def input_layer(features: Mapping[str, Any], feature_columns: Any) -> Tensor:
    """Returns all columns side by side: [batch, columns], float32.

    Raises `InvalidArgumentError` without columns.
    """
    columns = [feature_columns] if hasattr(feature_columns, "matrix") else list(feature_columns)
    if not columns:
        raise InvalidArgumentError("input_layer needs at least one column")
    graph = graph_of(list(features.values()))
    with graph.as_default(), graph.name_scope("input_layer"):
        matrix: Tensor = concat([c.matrix(features) for c in sorted(columns, key=lambda c: c.name)], 1)
    return matrix


API: dict[str, Any] = {
    "feature_column.numeric_column": numeric_column,
    "feature_column.bucketized_column": bucketized_column,
    "feature_column.input_layer": input_layer,
    "feature_column.make_parse_example_spec": make_parse_example_spec,
}

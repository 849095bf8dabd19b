"""The public functions that declare and parse features of tf.Example, such as `tf.parse_example`.

They accept the feature dictionaries of TensorFlow 0.8 and later, and the lists of keys and types of 0.6. Invariant:
features are parsed in the order of their sorted names, so a graph does not depend on the order of a dictionary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.bind import flatten, to_numpy
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import OpDef
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import TensorLike, is_tensor_like
from tfnb.ops.array.concat import concat
from tfnb.ops.array.gather import gather
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE, SHAPE, SIZE
from tfnb.ops.array.top_k import top_k
from tfnb.ops.io.example_parse import (
    PARSE_EXAMPLE,
    PARSE_SINGLE_EXAMPLE,
    PARSE_SINGLE_SEQUENCE_EXAMPLE,
)
from tfnb.ops.nn.losses import scope
from tfnb.types import DType, DTypeLike, Shape, ShapeLike, as_dtype, as_shape, int64

__all__ = [
    "API",
    "OPS",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "SparseFeature",
    "VarLenFeature",
]


class FixedLenFeature(NamedTuple):
    """A feature with a fixed number of values: `shape`, `dtype`, and a `default_value` unless it is required."""

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values of `dtype`, parsed to a SparseTensor."""

    dtype: Any


class FixedLenSequenceFeature(NamedTuple):
    """A feature of any number of steps of `shape`, padded with `default_value`; optional if `allow_missing`."""

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class SparseFeature(NamedTuple):
    """A sparse vector of `size`, stored as two features: indices under `index_key`, values under `value_key`."""

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


class _Plan:
    """The features in the form of the ops' arguments: sparse keys, and dense keys with dtypes, shapes, defaults."""

    def __init__(self) -> None:
        self.sparse: dict[str, Any] = {}
        self.dense: dict[str, tuple[Any, Shape, Any]] = {}
        self.merged: dict[str, SparseFeature] = {}
        self.may_lack: list[str] = []

    def add_sparse(self, key: str, dtype: DTypeLike) -> None:
        if self.sparse.setdefault(key, as_dtype(dtype)) is not as_dtype(dtype):
            raise InvalidArgumentError(f"the feature {key!r} is declared with two dtypes")

    def add(self, key: str, feature: object, steps: bool) -> None:
        """Adds a feature. steps: it is a list of a sequence example, with one feature per step."""
        if isinstance(feature, VarLenFeature):
            self.add_sparse(key, feature.dtype)
        elif isinstance(feature, SparseFeature) and not steps:
            for index_key in index_keys(feature):
                self.add_sparse(index_key, int64)
            self.add_sparse(feature.value_key, feature.dtype)
            self.merged[key] = feature
        elif isinstance(feature, FixedLenFeature) and not steps:
            if feature.shape is None:
                raise ShapeError(f"Missing shape for feature {key}: FixedLenFeature needs a shape that is fully known")
            dtype, shape = as_dtype(feature.dtype), _known_shape(key, feature.shape)
            self.dense[key] = (dtype, shape, _default(feature.default_value, dtype, shape))
        elif isinstance(feature, FixedLenSequenceFeature):
            dtype, shape = as_dtype(feature.dtype), as_shape(feature.shape)
            if feature.allow_missing:
                self.may_lack.append(key)
            elif not steps:
                raise InvalidArgumentError(
                    f"Unsupported: FixedLenSequenceFeature requires allow_missing to be True. Feature {key!r} has False"
                )
            padded = shape if steps else Shape((None,)).concatenate(shape)
            self.dense[key] = (dtype, padded, _padding(feature.default_value, dtype))
        else:
            raise InvalidArgumentError(f"feature {key!r}: {feature!r} is no feature that can be parsed here")

    def outputs(self, flat: Sequence[Any]) -> dict[str, Any]:
        """Returns the tensors by key, from the flat outputs of an op."""
        n = len(self.sparse)
        features: dict[str, Any] = {
            key: SparseTensor(flat[i], flat[n + i], flat[2 * n + i]) for i, key in enumerate(self.sparse)
        }
        merged = {
            key: _merged([features[k] for k in index_keys(f)], features[f.value_key], sizes_of(f))
            for key, f in self.merged.items()
        }
        parts = {k for f in self.merged.values() for k in (*index_keys(f), f.value_key)}
        declared = {k: v for k, v in features.items() if k not in parts or k in self.declared}
        declared.update(zip(self.dense, flat[3 * n :], strict=True))
        return declared | merged

    declared: frozenset[str] = frozenset()


def _known_shape(key: str, shape: ShapeLike) -> Shape:
    """Returns the shape of a feature with a fixed number of values. Raises `ShapeError` unless it is fully known."""
    static = as_shape(shape)
    if static.sizes and static.sizes[0] is None:
        raise ShapeError(
            f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature. Got {static}"
        )
    if not static.is_fully_defined():
        raise ShapeError(f"All dimensions of shape for feature {key} need to be known but received {shape}.")
    return static


def _default(value: TensorLike, dtype: DType, shape: Shape) -> Any:
    if value is None:
        return np.empty(0, dtype.np)
    if is_tensor_like(value):
        return RESHAPE(value, np.asarray(shape.known(), np.int32))
    array = to_numpy(value, dtype)
    if array.size != shape.num_elements():
        raise InvalidArgumentError(f"a default of shape {array.shape} does not fit a feature of shape {shape}")
    return array.reshape(shape.known())


def _padding(value: TensorLike, dtype: DType) -> Any:
    if value is None:
        return np.asarray(b"" if dtype.is_string else 0, dtype.np)
    if is_tensor_like(value):
        return value
    array = to_numpy(value, dtype)
    if array.size != 1:
        raise ShapeError(
            f"Cannot reshape a tensor with {array.size} elements to shape [] (1 elements), which the padding of a "
            "FixedLenSequenceFeature has"
        )
    return array.reshape(())


def index_keys(feature: SparseFeature) -> list[str]:
    """Returns the keys of the features that hold a sparse feature's indices, one for each dimension."""
    return [feature.index_key] if isinstance(feature.index_key, str) else list(feature.index_key)


def sizes_of(feature: SparseFeature) -> list[int]:
    """Returns the sizes of a sparse feature. Raises `InvalidArgumentError` unless there is one for each index key."""
    sizes = [int(n) for n in np.atleast_1d(np.asarray(feature.size))]
    if len(sizes) != len(index_keys(feature)):
        raise InvalidArgumentError(f"SparseFeature: {len(index_keys(feature))} index keys and {len(sizes)} sizes")
    return sizes


def _merged(places: Sequence[SparseTensor], values: SparseTensor, sizes: Sequence[int]) -> SparseTensor:
    """Places the values at the indices in `places`, one for each of the dimensions of `sizes`.

    The result is a sparse tensor per example, in the order of the indices.
    """
    first = places[0]
    # these reshapes fail unless there are as many values as indices of each dimension
    flat = [RESHAPE(p.values, SHAPE(first.values, out_type=np.int32)) for p in (*places, values)]
    rows, last = first.indices[:, :-1], [EXPAND_DIMS(p, np.int32(1)) for p in flat[:-1]]
    in_batch = first.indices.shape.sizes and first.indices.shape.sizes[1] == 2
    order_of: Any = first.indices[:, 0] if in_batch else np.int64(0)
    for p, size in zip(flat[:-1], sizes, strict=True):
        order_of = order_of * np.int64(size) + p
    order = top_k(-order_of, k=SIZE(order_of, out_type=np.int32))[1]
    shape = concat([first.dense_shape[:-1], np.asarray(sizes, np.int64)], 0)
    return SparseTensor(gather(concat([rows, *last], 1), order), gather(flat[-1], order), shape)


def _planned(features: Mapping[str, Any] | None, steps: bool = False) -> _Plan:
    plan = _Plan()
    plan.declared = frozenset(k for k, f in (features or {}).items() if isinstance(f, VarLenFeature))
    for key in sorted(features or {}):
        plan.add(key, (features or {})[key], steps)
    return plan


def _listed(
    sparse_keys: Sequence[str] | None,
    sparse_types: Sequence[DTypeLike] | None,
    dense_keys: Sequence[str] | None,
    dense_types: Sequence[DTypeLike] | None,
    defaults: Mapping[str, Any] | None,
    shapes: Sequence[ShapeLike] | None,
) -> dict[str, Any]:
    """The features of a call with the arguments of TensorFlow 0.6."""
    names, kinds = list(dense_keys or ()), list(dense_types or ())
    sparse = list(sparse_keys or ())
    sizes = [[] for _ in names] if shapes is None else list(shapes)
    if len(kinds) != len(names) or len(sizes) != len(names) or len(sparse) != len(sparse_types or ()):
        raise InvalidArgumentError("parsing: there must be as many types (and shapes) as keys")
    features: dict[str, Any] = {k: VarLenFeature(t) for k, t in zip(sparse, sparse_types or (), strict=True)}
    for key, dtype, shape in zip(names, kinds, sizes, strict=True):
        features[key] = FixedLenFeature(shape, dtype, (defaults or {}).get(key))
    if not features:
        raise InvalidArgumentError("parsing: no features are given")
    return features


def _dense(plan: _Plan) -> tuple[list[Any], list[Shape], list[Any]]:
    """Returns (dtypes, shapes, defaults) of the dense features."""
    columns = list(plan.dense.values())
    return [c[0] for c in columns], [c[1] for c in columns], [c[2] for c in columns]


def parse_example(
    serialized: TensorLike,
    features: Mapping[str, Any] | None = None,
    name: str | None = None,
    example_names: TensorLike | None = None,
    *,
    names: TensorLike | None = None,
    sparse_keys: Sequence[str] | None = None,
    sparse_types: Sequence[DTypeLike] | None = None,
    dense_keys: Sequence[str] | None = None,
    dense_types: Sequence[DTypeLike] | None = None,
    dense_defaults: dict[str, Any] | None = None,
    dense_shapes: Sequence[ShapeLike] | None = None,
) -> dict[str, Any]:
    """Parses a vector of serialised tf.Example messages to a dictionary of features by name.

    features: name -> FixedLenFeature (a tensor (batch, *shape)), FixedLenSequenceFeature (padded), VarLenFeature or
    SparseFeature (SparseTensors). The last keywords are those of 0.6. At run time, a message that is damaged or does
    not match the features raises `InvalidArgumentError` with its number.
    """
    if features is None:
        features = _listed(sparse_keys, sparse_types, dense_keys, dense_types, dense_defaults, dense_shapes)
    plan = _planned(features)
    dtypes, shapes, defaults = _dense(plan)
    labels = names if example_names is None else example_names
    with scope(name, "ParseExample", serialized):
        result = PARSE_EXAMPLE(
            serialized,
            np.empty(0, object) if labels is None else labels,
            list(plan.sparse),
            list(plan.dense),
            defaults,
            sparse_types=list(plan.sparse.values()),
            Tdense=dtypes,
            dense_shapes=shapes,
            graph=graph_of((serialized, labels, *defaults)),
        )
        return plan.outputs(list(flatten(result)))


def parse_single_example(
    serialized: TensorLike,
    features: Mapping[str, Any] | None = None,
    name: str | None = None,
    example_names: TensorLike | None = None,
    *,
    names: TensorLike | None = None,
    sparse_keys: Sequence[str] | None = None,
    sparse_types: Sequence[DTypeLike] | None = None,
    dense_keys: Sequence[str] | None = None,
    dense_types: Sequence[DTypeLike] | None = None,
    dense_defaults: dict[str, Any] | None = None,
    dense_shapes: Sequence[ShapeLike] | None = None,
) -> dict[str, Any]:
    """Parses one serialised tf.Example message to a dictionary of features by name; see `parse_example`.

    serialized: one string. Dense features have their declared shapes, sparse ones are SparseTensors of rank 1.
    """
    if features is None:
        features = _listed(sparse_keys, sparse_types, dense_keys, dense_types, dense_defaults, dense_shapes)
    plan = _planned(features)
    dtypes, shapes, defaults = _dense(plan)
    with scope(name, "ParseSingleExample", serialized):
        result = PARSE_SINGLE_EXAMPLE(
            serialized,
            defaults,
            num_sparse=len(plan.sparse),
            sparse_keys=list(plan.sparse),
            dense_keys=list(plan.dense),
            sparse_types=list(plan.sparse.values()),
            Tdense=dtypes,
            dense_shapes=shapes,
            graph=graph_of((serialized, *defaults)),
        )
        return plan.outputs(list(flatten(result)))


def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parses one serialised tf.SequenceExample message; returns (context, lists), each a dictionary by name.

    context_features: as for `parse_single_example`. sequence_features: name -> FixedLenSequenceFeature (a tensor
    (steps, *shape)) or VarLenFeature (a sparse matrix with one row per step). Raises the errors of `parse_example`.
    """
    if not context_features and not sequence_features:
        raise InvalidArgumentError("parse_single_sequence_example: no features are given")
    context, lists = _planned(context_features), _planned(sequence_features, steps=True)
    types, shapes, defaults = _dense(context)
    list_types, list_shapes, _ = _dense(lists)
    with scope(name, "ParseSingleSequenceExample", serialized):
        result = PARSE_SINGLE_SEQUENCE_EXAMPLE(
            serialized,
            np.array([k.encode() for k in lists.may_lack], object),
            list(context.sparse),
            list(context.dense),
            list(lists.sparse),
            list(lists.dense),
            defaults,
            "" if example_name is None else example_name,
            context_sparse_types=list(context.sparse.values()),
            Tcontext_dense=types,
            context_dense_shapes=shapes,
            feature_list_sparse_types=list(lists.sparse.values()),
            feature_list_dense_types=list_types,
            feature_list_dense_shapes=list_shapes,
            graph=graph_of((serialized, *defaults)),
        )
        outputs = list(flatten(result))
        split = 3 * len(context.sparse) + len(context.dense)
        return context.outputs(outputs[:split]), lists.outputs(outputs[split:])


OPS: tuple[OpDef, ...] = ()
API: dict[str, Any] = {
    "FixedLenFeature": FixedLenFeature,
    "VarLenFeature": VarLenFeature,
    "FixedLenSequenceFeature": FixedLenSequenceFeature,
    "SparseFeature": SparseFeature,
    "parse_example": parse_example,
    "parse_single_example": parse_single_example,
    "parse_single_sequence_example": parse_single_sequence_example,
    "io.FixedLenFeature": FixedLenFeature,
    "io.VarLenFeature": VarLenFeature,
    "io.FixedLenSequenceFeature": FixedLenSequenceFeature,
    "io.SparseFeature": SparseFeature,
    "io.parse_example": parse_example,
    "io.parse_single_example": parse_single_example,
    "io.parse_single_sequence_example": parse_single_sequence_example,
}

"""The layers over feature columns: all columns side by side, a linear model of them, and how examples are parsed.

Invariant: columns come in the order of their names, not in the order in which they were given, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import get_collection
from tfnb.client.variables.initializers import Zeros
from tfnb.client.variables.partitioned import PartitionedVariable
from tfnb.client.variables.scope import get_variable, get_variable_scope, variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.io.example_functions import FixedLenFeature
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.binary import add_n
from tfnb.ops.nn.bias_dropout_moments import bias_add
from tfnb.types import DTypeLike, as_dtype, float32, int64
from tfnb.v1.feature_columns.columns import (
    CategoricalColumn,
    Column,
    DenseColumn,
    Features,
    NumericColumn,
    Variables,
    by_rows,
    numeric_column,
)
from tfnb.v1.feature_columns.embedding import looked_up

__all__ = [
    "NEEDS_DENSE",
    "classifier_parse_example_spec",
    "input_layer",
    "linear_model",
    "make_parse_example_spec",
    "regressor_parse_example_spec",
    "sorted_columns",
]

NEEDS_DENSE = (
    "Items of feature_columns must be a _DenseColumn, a dense column; you can wrap a categorical column with an "
    "embedding_column or indicator_column."
)


def sorted_columns(feature_columns: Any, kind: type | tuple[type, ...], needed: str) -> list[Any]:
    """Returns the columns by name. Raises `InvalidArgumentError` for none, two of one name, or another kind."""
    columns = [feature_columns] if isinstance(feature_columns, Column) else list(feature_columns or ())
    if isinstance(feature_columns, Mapping):
        raise InvalidArgumentError("Expected feature_columns to be iterable, found dict.")
    if not columns:
        raise InvalidArgumentError("feature_columns must not be empty.")
    for column in columns:
        if not isinstance(column, Column):
            raise InvalidArgumentError(
                f"Items of feature_columns must be a _FeatureColumn, that is, made by a function of tf.feature_column. "
                f"Given (type {type(column)}): {column}"
            )
        if not isinstance(column, kind):
            raise InvalidArgumentError(f"{needed} Given: {column}")
    names = [c.name for c in columns]
    for name in names:
        if names.count(name) > 1:
            raise InvalidArgumentError(f"Duplicate feature column name found for columns: {name}")
    return sorted(columns, key=lambda c: c.name)


def _check_batches(columns: list[Any], parts: list[Any]) -> None:
    """Raises `ShapeError` when the known numbers of rows of the columns' parts differ."""
    rows = {c.name: p.shape.sizes[0] for c, p in zip(columns, parts, strict=True) if p.shape.sizes}
    known = {name: n for name, n in rows.items() if n is not None}
    if len(set(known.values())) > 1:
        raise ShapeError(
            "Batch size (first dimension) of each feature must be same. Batch size of columns: "
            + ", ".join(f"{name}: {n}" for name, n in known.items())
        )


def input_layer(
    features: Mapping[str, Any],
    feature_columns: Column | Iterable[Column],
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Tensor:
    """Returns all dense columns side by side: [batch, columns], float32.

    features: tensors or SparseTensors by key. weight_collections: further collections of the tables' variables.
    trainable: whether these are trained. cols_to_vars: a dict to which the variables of each column are added,
    cols_to_output_tensors: one to which its matrix is. Raises `InvalidArgumentError` without columns, or for a
    categorical column, which needs an embedding or an indicator around it, `ShapeError` for different batch sizes.
    """
    columns = sorted_columns(feature_columns, DenseColumn, NEEDS_DENSE)
    made, variables = Features(features), Variables.of(weight_collections, trainable)
    matrices = []
    with variable_scope(None, default_name="input_layer", values=list(features.values())):
        for column in columns:
            with variable_scope(None, default_name=column.scope_name or "features"):
                matrix = column.dense(made, variables)
                matrix = by_rows(matrix, column.num_elements)
                matrices.append(matrix)
                if cols_to_vars is not None:
                    present = get_collection(GraphKeys.GLOBAL_VARIABLES, scope=get_variable_scope().name + "/")
                    cols_to_vars[column] = present
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = matrix
        _check_batches(columns, matrices)
        result: Tensor = concat(matrices, 1)
    return result


def _weighted(column: Any, features: Features, units: int, combiner: str, variables: Variables) -> tuple[Any, Any]:
    """(the column's part of a linear model, its variable)."""
    sparse = isinstance(column, CategoricalColumn)
    rows = column.num_buckets if sparse else column.num_elements
    weights = get_variable(
        "weights",
        [rows, units],
        float32,
        Zeros(),
        trainable=variables.trainable,
        collections=list(variables.collections),
    )
    if sparse:
        ids, of_ids = column.sparse(features)
        return looked_up(weights, ids, of_ids, combiner), weights
    matrix = by_rows(column.dense(features, variables), rows)
    return matmul(matrix, convert_to_tensor(weights)), weights


def linear_model(
    features: Mapping[str, Any],
    feature_columns: Column | Iterable[Column],
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Tensor:
    """Returns the sum of weighted columns and a bias: [batch, units], float32.

    features: tensors or SparseTensors by key. sparse_combiner: how the weights of several categories of an example are
    combined, "sum", "mean" or "sqrtn". weight_collections: further collections of the variables. trainable: whether
    they are trained. cols_to_vars: a dict to which the variables of each column, and of "bias", are added. Raises
    `InvalidArgumentError` without columns, `ShapeError` for different batch sizes.
    """
    columns = sorted_columns(
        feature_columns,
        (DenseColumn, CategoricalColumn),
        "Items of feature_columns must be either a _DenseColumn or _CategoricalColumn.",
    )
    made, variables = Features(features), Variables.of(weight_collections, trainable)
    parts = []
    with variable_scope(None, default_name="linear_model", values=list(features.values())):
        for column in columns:
            with variable_scope(None, default_name=column.scope_name or "features"):
                part, weights = _weighted(column, made, units, sparse_combiner, variables)
            parts.append(part)
            if cols_to_vars is not None:
                cols_to_vars[column] = _listed(weights)
        _check_batches(columns, parts)
        bias = get_variable(
            "bias_weights",
            [units],
            float32,
            Zeros(),
            trainable=trainable,
            collections=list(variables.collections),
        )
        if cols_to_vars is not None:
            cols_to_vars["bias"] = _listed(bias)
        result: Tensor = bias_add(add_n(parts), convert_to_tensor(bias), name="weighted_sum")
    return result


def _listed(variable: object) -> list[Any]:
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def make_parse_example_spec(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """Returns the features that the columns read, as a dict that `tf.parse_example` takes.

    Raises `InvalidArgumentError` when two columns read one feature in different ways.
    """
    features: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, Column):
            raise InvalidArgumentError(f"All feature_columns must be FeatureColumn instances. Given: {column}")
        for key, feature in column.parse_example_spec.items():
            if features.setdefault(key, feature) != feature:
                raise InvalidArgumentError(
                    f"feature_columns contain different parse_spec for key {key}. Given {feature} and {features[key]}"
                )
    return features


def _with_label(
    columns: Iterable[Any], label_key: str, label: object, weight_column: str | NumericColumn | None
) -> dict[str, Any]:
    spec = make_parse_example_spec(columns)
    if label_key in spec:
        raise InvalidArgumentError(
            f"label should not be used as feature. label_key: {label_key}, features: {sorted(spec)}"
        )
    spec[label_key] = label
    if weight_column is None:
        return spec
    weight = numeric_column(weight_column) if isinstance(weight_column, str) else weight_column
    return {**spec, **weight.parse_example_spec}


def classifier_parse_example_spec(
    feature_columns: Iterable[Any],
    label_key: str,
    label_dtype: DTypeLike = int64,
    label_default: object = None,
    weight_column: str | NumericColumn | None = None,
) -> dict[str, Any]:
    """Returns the features of tf.Examples for a classifier: those of the columns, the label and the weight.

    label_key, label_dtype, label_default: the feature with the label, one number or string. weight_column: the name or
    column of the examples' weights. Raises `InvalidArgumentError` when the label is a feature of a column.
    """
    label = FixedLenFeature((1,), as_dtype(label_dtype), label_default)
    return _with_label(feature_columns, label_key, label, weight_column)


def regressor_parse_example_spec(
    feature_columns: Iterable[Any],
    label_key: str,
    label_dtype: DTypeLike = float32,
    label_default: object = None,
    label_dimension: int = 1,
    weight_column: str | NumericColumn | None = None,
) -> dict[str, Any]:
    """Returns the features of tf.Examples for a regressor: those of the columns, the label and the weight.

    label_key, label_dtype, label_default: the feature with the label, of `label_dimension` numbers. weight_column: the
    name or column of the examples' weights. Raises `InvalidArgumentError` when the label is a feature of a column.
    """
    label = FixedLenFeature((label_dimension,), as_dtype(label_dtype), label_default)
    return _with_label(feature_columns, label_key, label, weight_column)

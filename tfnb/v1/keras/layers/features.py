"""DenseFeatures and SequenceFeatures: columns of features (`tf.feature_column`) as the first layer of a model.

Invariant: a column's variables are made by the first call, named "layer/column/...", and shared by later calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.types import Shape, ShapeLike
from tfnb.v1.feature_columns.columns import DenseColumn, Features, Variables
from tfnb.v1.feature_columns.layers import NEEDS_DENSE, sorted_columns
from tfnb.v1.feature_columns.sequence import sequence_input_layer
from tfnb.v1.keras.engine.base_layer import Layer
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.layer_registry import register


class _OfColumns(Layer):
    """A layer over a dictionary of features. Raises `InvalidArgumentError` for columns that are not dense."""

    def __init__(self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._columns = sorted_columns(feature_columns, DenseColumn, NEEDS_DENSE)

    def _name_scope(self) -> str:
        return f"{self.name}/"  # the scope of variables opens the layer's scope by itself

    def _in_scope(self, features: object, make: Callable[[dict[str, Any]], Any]) -> Any:
        """Returns what `make` makes of the features, and remembers the variables that it made."""
        if not isinstance(features, Mapping):
            raise InvalidArgumentError(f"We expected a dictionary here. Instead we got: {features}")
        scope = tf.variable_scope(self.name, reuse=tf.AUTO_REUSE, auxiliary_name_scope=False)
        with scope:
            result = make(dict(features))
        for variable in tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope=f"{self.name}/"):
            self._remember(variable)
        return result

    def get_config(self) -> dict[str, Any]:
        """Raises `NotImplementedError`: columns have no configuration."""
        raise NotImplementedError(f"{type(self).__name__}: feature columns have no configuration; save the weights")


@register()
class DenseFeatures(_OfColumns):
    """All columns side by side, [batch, columns], in the order of their names.

    It is called with a dictionary of tensors by feature.
    """

    def call(self, inputs: Mapping[str, Any], cols_to_output_tensors: dict[Any, Any] | None = None) -> Tensor:  # type: ignore[override]
        """Returns the columns; the matrix of each is added to the dictionary `cols_to_output_tensors`."""

        def make(features: dict[str, Any]) -> Tensor:
            made, parts = Features(features), []
            for column in self._columns:
                with tf.variable_scope(column.scope_name or "features"):
                    matrix = column.dense(made, Variables.of(None, self.trainable))
                    rows = matrix.shape.as_list()[0] if matrix.shape.ndims else None
                    parts.append(tf.reshape(matrix, [-1 if rows is None else rows, column.num_elements]))
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = parts[-1]
            return tf.concat(parts, 1)

        return self._in_scope(inputs, make)

    def compute_output_shape(self, input_shape: ShapeLike) -> Shape:
        return tf.TensorShape([None, sum(column.num_elements for column in self._columns)])


@register()
class SequenceFeatures(_OfColumns):
    """All columns of sequences side by side, [batch, steps, columns], and the number of steps of each example."""

    def call(self, inputs: Mapping[str, Any]) -> Any:  # type: ignore[override]
        """Returns (columns, lengths)."""

        def make(features: dict[str, Any]) -> Any:
            with tf.variable_scope("columns"):
                return sequence_input_layer(features, self._columns, None, self.trainable)

        return self._in_scope(inputs, make)

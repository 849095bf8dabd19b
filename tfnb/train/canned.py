"""Ready estimators: linear models and networks of dense layers, for classes and for numbers (`tf.estimator`).

Invariant: each is an `Estimator` over one model function; they differ in hidden layers and head only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client import losses, metrics
from tfnb.client.feature_column import input_layer
from tfnb.client.layers import dense
from tfnb.client.norm_layers import dropout as dropped
from tfnb.client.variable_scope import variable_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ops.activations import RELU
from tfnb.ops.convert import cast
from tfnb.ops.losses import softmax
from tfnb.ops.reduce_api import argmax
from tfnb.ops.shaping import EXPAND_DIMS, RESHAPE
from tfnb.ops.string_convert import AS_STRING
from tfnb.train.estimator import Estimator, EstimatorSpec, ModeKeys
from tfnb.train.global_step import get_global_step
from tfnb.train.optimize_loss import OPTIMIZERS
from tfnb.types import float32, int64

__all__ = ["DNNClassifier", "DNNRegressor", "LinearClassifier", "LinearRegressor"]


class _Canned(Estimator):
    """A network over feature columns; `n_classes` None estimates `label_dimension` numbers."""

    def __init__(self, hidden_units: Sequence[int], feature_columns: Any, n_classes: int | None,
                 label_dimension: int, optimizer: Any, activation_fn: Any, dropout: float | None,
                 model_dir: str | None, config: Any) -> None:  # fmt: skip
        if n_classes is not None and n_classes < 2:
            raise InvalidArgumentError(f"{type(self).__name__}: needed at least 2 classes, got {n_classes}")
        self._hidden, self._columns = list(hidden_units), feature_columns
        self._classes, self._dimension = n_classes, label_dimension
        self._optimizer, self._activation, self._dropout = optimizer, activation_fn, dropout
        super().__init__(self._model, model_dir, config)

    def _model(self, features: Any, labels: Any, mode: str) -> EstimatorSpec:
        size = self._dimension if self._classes is None else self._classes
        with variable_scope("dnn" if self._hidden else "linear"):
            h = input_layer(features, self._columns)
            for i, n in enumerate(self._hidden):
                h = dense(h, n, self._activation, name=f"hiddenlayer_{i}")
                if self._dropout:
                    h = dropped(h, self._dropout, training=mode == ModeKeys.TRAIN)
            y = dense(h, size, name="logits")
        return self._numbers(y, labels, mode) if self._classes is None else self._kinds(y, labels, mode)

    def _kinds(self, logits: Any, labels: Any, mode: str) -> EstimatorSpec:
        ids = argmax(logits, 1)
        predictions = {
            "logits": logits, "probabilities": softmax(logits), "class_ids": EXPAND_DIMS(ids, -1),
            "classes": EXPAND_DIMS(AS_STRING(ids), -1),
        }  # fmt: skip
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions)
        y = RESHAPE(cast(labels, int64), [-1])
        loss = losses.sparse_softmax_cross_entropy(y, logits)
        found = {"accuracy": metrics.accuracy(y, ids), "average_loss": metrics.mean(loss)}
        return self._trained(mode, predictions, loss, found)

    def _numbers(self, y: Any, labels: Any, mode: str) -> EstimatorSpec:
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, {"predictions": y})
        wanted = RESHAPE(cast(labels, float32), [-1, self._dimension])
        loss = losses.mean_squared_error(wanted, y)
        return self._trained(mode, {"predictions": y}, loss, {"average_loss": metrics.mean_squared_error(wanted, y)})

    def _trained(self, mode: str, predictions: Any, loss: Any, found: Any) -> EstimatorSpec:
        optimizer = self._optimizer
        if isinstance(optimizer, str):
            if optimizer not in OPTIMIZERS:
                raise InvalidArgumentError(
                    f"{type(self).__name__}: the optimizer {optimizer!r}; needed one of {', '.join(sorted(OPTIMIZERS))}"
                )
            optimizer = OPTIMIZERS[optimizer](0.05)
        train = optimizer.minimize(loss, get_global_step()) if mode == ModeKeys.TRAIN else None
        return EstimatorSpec(mode, predictions, loss, train, found)


class DNNClassifier(_Canned):
    """Dense layers of `hidden_units` and a softmax over `n_classes`; labels are class numbers."""

    def __init__(self, hidden_units: Sequence[int], feature_columns: Any, model_dir: str | None = None,
                 n_classes: int = 2, weight_column: Any = None, label_vocabulary: Any = None,
                 optimizer: Any = "Adagrad", activation_fn: Any = RELU, dropout: float | None = None,
                 input_layer_partitioner: Any = None, config: Any = None) -> None:  # fmt: skip
        super().__init__(hidden_units, feature_columns, n_classes, 1, optimizer, activation_fn, dropout, model_dir,
                         config)  # fmt: skip


class DNNRegressor(_Canned):
    """Dense layers of `hidden_units` and `label_dimension` numbers, by their squared error."""

    def __init__(self, hidden_units: Sequence[int], feature_columns: Any, model_dir: str | None = None,
                 label_dimension: int = 1, weight_column: Any = None, optimizer: Any = "Adagrad",
                 activation_fn: Any = RELU, dropout: float | None = None, input_layer_partitioner: Any = None,
                 config: Any = None) -> None:  # fmt: skip
        super().__init__(hidden_units, feature_columns, None, label_dimension, optimizer, activation_fn, dropout,
                         model_dir, config)  # fmt: skip


class LinearClassifier(_Canned):
    """A softmax over `n_classes` of a linear function of the columns."""

    def __init__(self, feature_columns: Any, model_dir: str | None = None, n_classes: int = 2,
                 weight_column: Any = None, label_vocabulary: Any = None, optimizer: Any = "Ftrl",
                 config: Any = None, partitioner: Any = None) -> None:  # fmt: skip
        super().__init__((), feature_columns, n_classes, 1, optimizer, None, None, model_dir, config)


class LinearRegressor(_Canned):
    """`label_dimension` linear functions of the columns, by their squared error."""

    def __init__(self, feature_columns: Any, model_dir: str | None = None, label_dimension: int = 1,
                 weight_column: Any = None, optimizer: Any = "Ftrl", config: Any = None,
                 partitioner: Any = None) -> None:  # fmt: skip
        super().__init__((), feature_columns, None, label_dimension, optimizer, None, None, model_dir, config)

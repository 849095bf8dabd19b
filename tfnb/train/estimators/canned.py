"""Ready-made estimators: linear models and networks of dense layers, for classification and regression.

Invariant: each one is an `Estimator` with the same model function; they differ only in hidden layers and head.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tfnb.client.graph.default_graph import control_dependencies
from tfnb.client.layers.dense_layers import dense
from tfnb.client.layers.feature_column import BucketizedColumn, NumericColumn, input_layer, numeric_column
from tfnb.client.layers.norm_layers import dropout as dropped
from tfnb.client.losses_metrics import losses, metrics
from tfnb.client.variables.scope import variable_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import constant
from tfnb.ops.array.gather import gather
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE, shape
from tfnb.ops.array.tile_reverse_mirror import TILE
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL
from tfnb.ops.math.reduce_functions import argmax, reduce_all, reduce_any
from tfnb.ops.nn.activations import RELU
from tfnb.ops.nn.losses import softmax
from tfnb.ops.strings.convert import AS_STRING
from tfnb.train.estimators.estimator import Estimator
from tfnb.train.estimators.spec import EstimatorSpec, ModeKeys, RunConfig
from tfnb.train.optimizers.base import Optimizer
from tfnb.train.optimizers.global_step import get_global_step
from tfnb.train.optimizers.optimize_loss import OPTIMIZERS
from tfnb.train.saving.signatures import ClassificationOutput, PredictOutput, RegressionOutput
from tfnb.types import float32, int64

__all__ = ["DNNClassifier", "DNNRegressor", "LinearClassifier", "LinearRegressor"]

Column: TypeAlias = NumericColumn | BucketizedColumn


class _Canned(Estimator):
    """A network over feature columns; if `n_classes` is None it estimates `label_dimension` numbers."""

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Sequence[Column] | Column,
        n_classes: int | None,
        label_dimension: int,
        optimizer: str | Optimizer,
        activation_fn: Callable[[Tensor], Tensor] | None,
        dropout: float | None,
        model_dir: str | None,
        config: RunConfig | None,
        weight_column: str | NumericColumn | None = None,
        label_vocabulary: Sequence[str] | None = None,
        partitioner: Callable[..., Sequence[int]] | None = None,
    ) -> None:
        if n_classes is not None and n_classes < 2:
            raise InvalidArgumentError(f"{type(self).__name__}: needed at least 2 classes, got {n_classes}")
        if label_vocabulary is not None and len(label_vocabulary) != n_classes:
            raise InvalidArgumentError(
                f"{type(self).__name__}: label_vocabulary has {len(label_vocabulary)} words; needed one for each of "
                f"the {n_classes} classes"
            )
        self._hidden, self._columns = list(hidden_units), feature_columns
        self._classes, self._dimension = n_classes, label_dimension
        self._optimizer, self._activation, self._dropout = optimizer, activation_fn, dropout
        self._weights = numeric_column(weight_column) if isinstance(weight_column, str) else weight_column
        self._vocabulary, self._partitioner = label_vocabulary, partitioner
        super().__init__(self._model, model_dir, config)

    def _model(self, features: Mapping[str, Tensor], labels: Tensor, mode: str) -> EstimatorSpec:
        size = self._dimension if self._classes is None else self._classes
        with variable_scope("dnn" if self._hidden else "linear", partitioner=self._partitioner):
            h = input_layer(features, self._columns)
            for i, n in enumerate(self._hidden):
                h = dense(h, n, self._activation, name=f"hiddenlayer_{i}")
                if self._dropout:
                    h = dropped(h, self._dropout, training=mode == ModeKeys.TRAIN)
            y = dense(h, size, name="logits")
        weights = None
        if self._weights is not None and mode != ModeKeys.PREDICT:
            weights = self._weights.matrix(features)  # [batch, 1]
        build = self._numbers if self._classes is None else self._kinds
        return build(y, labels, mode, weights)

    def _kinds(self, logits: Tensor, labels: Tensor, mode: str, weights: Tensor | None) -> EstimatorSpec:
        ids, probabilities = argmax(logits, 1), softmax(logits)
        words = AS_STRING(ids) if self._vocabulary is None else gather(constant(list(self._vocabulary)), ids)
        predictions = {
            "logits": logits,
            "probabilities": probabilities,
            "class_ids": EXPAND_DIMS(ids, -1),
            "classes": EXPAND_DIMS(words, -1),
        }
        if mode == ModeKeys.PREDICT:
            class_names = list(self._vocabulary or map(str, range(self._classes or 0)))
            all_classes = TILE(constant([class_names]), [shape(probabilities)[0], 1])
            classification = ClassificationOutput(probabilities, all_classes)
            outputs = {
                "serving_default": classification,
                "classification": classification,
                "predict": PredictOutput(predictions),
            }
            return EstimatorSpec(mode, predictions, export_outputs=outputs)
        y = self._label_ids(labels)
        flat = None if weights is None else RESHAPE(weights, [-1])
        loss = losses.sparse_softmax_cross_entropy(y, logits, 1.0 if flat is None else flat)
        example_losses = losses.sparse_softmax_cross_entropy(
            y, logits, loss_collection=None, reduction=losses.Reduction.NONE
        )
        metric = {"accuracy": metrics.accuracy(y, ids, flat), "average_loss": metrics.mean(example_losses, flat)}
        return self._trained(mode, predictions, loss, metric)

    def _label_ids(self, labels: Tensor) -> Any:
        """Returns the class numbers of the labels. The step fails for a label that is not in `label_vocabulary`."""
        if self._vocabulary is None:
            return RESHAPE(cast(labels, int64), [-1])
        equal = EQUAL(RESHAPE(labels, [-1, 1]), constant([list(self._vocabulary)]))
        check = assert_that(reduce_all(reduce_any(equal, 1)), ["a label is not in label_vocabulary:", labels])
        with control_dependencies([check]):
            return argmax(cast(equal, float32), 1)

    def _numbers(self, y: Tensor, labels: Tensor, mode: str, weights: Tensor | None) -> EstimatorSpec:
        if mode == ModeKeys.PREDICT:
            outputs = {"serving_default": RegressionOutput(y), "predict": PredictOutput({"predictions": y})}
            return EstimatorSpec(mode, {"predictions": y}, export_outputs=outputs)
        targets = RESHAPE(cast(labels, float32), [-1, self._dimension])
        loss = losses.mean_squared_error(targets, y, 1.0 if weights is None else weights)
        metric = metrics.mean_squared_error(targets, y, weights)
        return self._trained(mode, {"predictions": y}, loss, {"average_loss": metric})

    def _trained(
        self,
        mode: str,
        predictions: Mapping[str, Tensor],
        loss: Tensor,
        eval_metrics: Mapping[str, tuple[Tensor, Operation | Tensor]],
    ) -> EstimatorSpec:
        optimizer = self._optimizer
        if isinstance(optimizer, str):
            if optimizer not in OPTIMIZERS:
                raise InvalidArgumentError(
                    f"{type(self).__name__}: the optimizer {optimizer!r}; needed one of {', '.join(sorted(OPTIMIZERS))}"
                )
            optimizer = OPTIMIZERS[optimizer](0.05)
        train = optimizer.minimize(loss, get_global_step()) if mode == ModeKeys.TRAIN else None
        return EstimatorSpec(mode, predictions, loss, train, eval_metrics)


class DNNClassifier(_Canned):
    """Dense layers of `hidden_units` and a softmax over `n_classes` classes.

    feature_columns: the inputs. weight_column: the name or the column of example weights. optimizer: a name or an
    optimizer. label_vocabulary: the labels in the order of their class numbers, by default labels are class numbers.
    activation_fn, dropout: of hidden layers. Raises `InvalidArgumentError` for fewer than 2 classes, a vocabulary of
    another size or an unknown optimizer.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Sequence[Column] | Column,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: str | NumericColumn | None = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: str | Optimizer = "Adagrad",
        activation_fn: Callable[[Tensor], Tensor] | None = RELU,
        dropout: float | None = None,
        input_layer_partitioner: Callable[..., Sequence[int]] | None = None,
        config: RunConfig | None = None,
    ) -> None:
        super().__init__(
            hidden_units,
            feature_columns,
            n_classes,
            1,
            optimizer,
            activation_fn,
            dropout,
            model_dir,
            config,
            weight_column,
            label_vocabulary,
            input_layer_partitioner,
        )


class DNNRegressor(_Canned):
    """Dense layers of `hidden_units` that estimate `label_dimension` numbers; the loss is the squared error.

    feature_columns: the inputs. weight_column: the name or the column of example weights. optimizer: a name or an
    optimizer. activation_fn, dropout: of hidden layers. Raises `InvalidArgumentError` for an unknown optimizer.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Sequence[Column] | Column,
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: str | NumericColumn | None = None,
        optimizer: str | Optimizer = "Adagrad",
        activation_fn: Callable[[Tensor], Tensor] | None = RELU,
        dropout: float | None = None,
        input_layer_partitioner: Callable[..., Sequence[int]] | None = None,
        config: RunConfig | None = None,
    ) -> None:
        super().__init__(
            hidden_units,
            feature_columns,
            None,
            label_dimension,
            optimizer,
            activation_fn,
            dropout,
            model_dir,
            config,
            weight_column,
            None,
            input_layer_partitioner,
        )


class LinearClassifier(_Canned):
    """A softmax over `n_classes` linear functions of the feature columns.

    feature_columns: the inputs. weight_column: the name or the column of example weights. optimizer: a name or an
    optimizer. label_vocabulary: the labels in the order of their class numbers, by default labels are class numbers.
    Raises `InvalidArgumentError` for fewer than 2 classes, a vocabulary of another size or an unknown optimizer.
    """

    def __init__(
        self,
        feature_columns: Sequence[Column] | Column,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: str | NumericColumn | None = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: str | Optimizer = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Callable[..., Sequence[int]] | None = None,
    ) -> None:
        super().__init__(
            (),
            feature_columns,
            n_classes,
            1,
            optimizer,
            None,
            None,
            model_dir,
            config,
            weight_column,
            label_vocabulary,
            partitioner,
        )


class LinearRegressor(_Canned):
    """`label_dimension` linear functions of the feature columns; the loss is the squared error.

    feature_columns: the inputs. weight_column: the name or the column of example weights. optimizer: a name or an
    optimizer. Raises `InvalidArgumentError` for an unknown optimizer.
    """

    def __init__(
        self,
        feature_columns: Sequence[Column] | Column,
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: str | NumericColumn | None = None,
        optimizer: str | Optimizer = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Callable[..., Sequence[int]] | None = None,
    ) -> None:
        super().__init__(
            (),
            feature_columns,
            None,
            label_dimension,
            optimizer,
            None,
            None,
            model_dir,
            config,
            weight_column,
            None,
            partitioner,
        )

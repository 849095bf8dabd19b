"""Heads: what an estimator does with the logits of a model, from the loss to metrics and signatures.

A head gives predictions of logits, the loss of each example, and the metrics of an evaluation; `Head` makes an
`EstimatorSpec` of them. Invariant: heads build no variables beside those of metrics, so models may swap them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import control_dependencies, get_collection, name_scope
from tfnb.client.losses_metrics import losses, metrics
from tfnb.client.losses_metrics.losses import Reduction
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import RESHAPE
from tfnb.ops.math.binary import add_n
from tfnb.ops.math.cast import cast
from tfnb.ops.math.unary import EXP, SIGMOID
from tfnb.ops.nn.losses import log_poisson_loss, sigmoid_cross_entropy_with_logits
from tfnb.train.optimizers.base import Optimizer
from tfnb.train.optimizers.global_step import get_global_step
from tfnb.train.saving.signatures import PredictOutput, RegressionOutput
from tfnb.types import float32
from tfnb.v1.estimators.spec import EstimatorSpec, ModeKeys
from tfnb.v1.feature_columns.columns import Features, NumericColumn, numeric_column

__all__ = ["Head", "Losses", "PoissonRegressionHead", "RegressionHead", "LogisticRegressionHead"]


class Losses(NamedTuple):
    """The losses of a batch: the total, those of the examples, and the weights by which these count."""

    total: Tensor
    each: Tensor
    weights: Any
    labels: Any


class Head:
    """The part of a model after its logits.

    logits_dimension: how many logits an example needs. loss_reduction: how the losses of examples become one, as in
    `tf.losses`. weight_column: the key or column of the examples' weights. name: is added to the names of metrics.
    """

    logits_dimension: int = 1

    def __init__(
        self,
        weight_column: str | NumericColumn | None,
        loss_reduction: str,
        name: str | None,
        loss_fn: Callable[..., Any] | None,
    ) -> None:
        Reduction.validate(loss_reduction)
        self.name, self.loss_reduction, self._loss_fn = name, loss_reduction, loss_fn
        self._weights = numeric_column(weight_column) if isinstance(weight_column, str) else weight_column

    # ---- what a head defines -----------------------------------------------------------------------

    def predictions(self, logits: Tensor) -> dict[str, Any]:
        """Returns the predictions of the `logits` [batch, logits_dimension], tensors by name."""
        raise NotImplementedError

    def _each(self, labels: Any, logits: Tensor) -> tuple[Any, Any]:
        """(labels as the metrics take them, loss of each example [batch, 1] or [batch, dimension])."""
        raise NotImplementedError

    def _metrics(self, predictions: Mapping[str, Any], found: Losses) -> dict[str, Any]:
        raise NotImplementedError

    def _outputs(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    # ---- what all heads do -------------------------------------------------------------------------

    def losses_of(self, features: Mapping[str, Any], logits: Tensor, labels: Any) -> Losses:
        """Returns the losses of a batch; `labels` are of the kind that the head needs."""
        if labels is None:
            raise InvalidArgumentError(
                "You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check that "
                "your data contain your label feature. Check that your input_fn properly parses and returns labels."
            )
        processed, each = self._each(labels, logits)
        weights: Any = 1.0
        if self._weights is not None:
            columns = Features(features if isinstance(features, Mapping) else {"": features})
            weights = RESHAPE(columns.made_by(self._weights), [-1, 1])
        total = losses.compute_weighted_loss(each, weights, reduction=self.loss_reduction)
        return Losses(total, each, weights, processed)

    def create_loss(self, features: Mapping[str, Any], mode: str, logits: Tensor, labels: Any) -> Losses:
        """Returns the losses of a batch, which are the same in each `mode`."""
        if mode == ModeKeys.PREDICT:
            raise InvalidArgumentError("create_loss: predictions have no loss")
        return self.losses_of(features, self.checked(logits), labels)

    def checked(self, logits: TensorLike) -> Tensor:
        """Returns the logits as floats. Raises `InvalidArgumentError` for another last dimension than the head's."""
        tensor = cast(logits, float32)
        last = tensor.shape.sizes[-1] if tensor.shape.sizes else None
        if last is not None and last != self.logits_dimension:
            raise InvalidArgumentError(
                f"logits shape {tensor.shape}; needed {self.logits_dimension} as the last dimension"
            )
        return tensor

    def key(self, name: str) -> str:
        """Returns the name of a metric or loss, with that of the head."""
        return name if not self.name else f"{name}/{self.name}"

    def create_estimator_spec(
        self,
        features: Mapping[str, Any],
        mode: str,
        logits: Tensor,
        labels: Any = None,
        optimizer: Optimizer | None = None,
        trainable_variables: Sequence[Any] | None = None,
        train_op_fn: Callable[[Tensor], Any] | None = None,
        update_ops: Sequence[Any] | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> EstimatorSpec:
        """Returns the EstimatorSpec of a model with these `logits` [batch, logits_dimension], for one mode.

        optimizer, train_op_fn: how the loss becomes a train op, one of them. trainable_variables: what is trained, by
        default all. update_ops: run with the train op, beside those of the graph's collection. regularization_losses:
        added to the loss. Raises `InvalidArgumentError` for both or none of optimizer and train_op_fn in training.
        """
        with name_scope(self.name or "head"):
            made = self.checked(logits)
            predictions = self.predictions(made)
            if mode == ModeKeys.PREDICT:
                return EstimatorSpec(mode, predictions, export_outputs=self._outputs(predictions))
            found = self.losses_of(features, made, labels)
            penalty = add_n(list(regularization_losses)) if regularization_losses else None
            loss = found.total if penalty is None else found.total + penalty
            if mode == ModeKeys.EVAL:
                metric_ops = {self.key(k): v for k, v in self._metrics(predictions, found).items()}
                if penalty is not None:
                    metric_ops[self.key("loss/regularization")] = metrics.mean(penalty)
                return EstimatorSpec(mode, predictions, loss, eval_metric_ops=metric_ops)
            train = train_operation(loss, optimizer, trainable_variables, train_op_fn, update_ops)
        return EstimatorSpec(mode, predictions, loss, train)

    def _mean(self, values: Tensor, found: Losses) -> tuple[Tensor, Tensor]:
        weights = None if isinstance(found.weights, float) else found.weights
        return metrics.mean(values, weights)

    @staticmethod
    def weights_of(found: Losses) -> Tensor | None:
        """Returns the weights of the examples of the losses `found`, or None where all count the same."""
        return None if isinstance(found.weights, float) else found.weights


def train_operation(
    loss: Tensor,
    optimizer: Any,
    trainable_variables: Sequence[Any] | None,
    train_op_fn: Callable[[Tensor], Any] | None,
    update_ops: Sequence[Any] | None,
) -> Any:
    """Returns the train op of `loss`. Raises `InvalidArgumentError` unless optimizer or train_op_fn is given."""
    if (optimizer is None) == (train_op_fn is None):
        raise InvalidArgumentError("train_op_fn and optimizer cannot both be None or both be given.")
    updates = [*(update_ops or ()), *get_collection(GraphKeys.UPDATE_OPS)]
    with control_dependencies(list(dict.fromkeys(updates))):
        if train_op_fn is not None:
            return train_op_fn(loss)
        variables = list(trainable_variables) if trainable_variables is not None else None
        return optimizer.minimize(loss, get_global_step(), var_list=variables)


class RegressionHead(Head):
    """Estimates `label_dimension` numbers; the loss is the squared error, or `loss_fn(labels, logits)`.

    inverse_link_fn: from the logits to the predictions. weight_column, loss_reduction, name: see `Head`.
    """

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: str | NumericColumn | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None,
        inverse_link_fn: Callable[[Tensor], Any] | None = None,
        name: str | None = None,
    ) -> None:
        if label_dimension < 1:
            raise InvalidArgumentError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(weight_column, loss_reduction, name, loss_fn)
        self.logits_dimension = label_dimension
        self._inverse = inverse_link_fn

    def predictions(self, logits: Tensor) -> dict[str, Any]:
        """Returns the "predictions", with an inverse link function also the "logits"."""
        if self._inverse is None:
            return {"predictions": logits}
        return {"predictions": self._inverse(logits), "logits": logits}

    def _each(self, labels: TensorLike, logits: Tensor) -> tuple[Any, Any]:
        targets = RESHAPE(cast(labels, float32), [-1, self.logits_dimension])
        if self._loss_fn is not None:
            return targets, self._loss_fn(targets, logits)
        return targets, losses.mean_squared_error(targets, logits, reduction=Reduction.NONE, loss_collection=None)

    def _metrics(self, predictions: Mapping[str, Any], found: Losses) -> dict[str, Any]:
        made, weights = predictions["predictions"], self.weights_of(found)
        return {
            "average_loss": metrics.mean(found.each, weights),
            "prediction/mean": metrics.mean(made, weights),
            "label/mean": metrics.mean(found.labels, weights),
        }

    def _outputs(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        value = RegressionOutput(predictions["predictions"])
        return {"serving_default": value, "regression": value, "predict": PredictOutput(predictions)}


class PoissonRegressionHead(RegressionHead):
    """Estimates `label_dimension` counts, whose logarithms are the logits; the loss is that of a Poisson distribution.

    compute_full_loss: whether the loss has the term that depends on the labels only. For the rest see `RegressionHead`.
    """

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: str | NumericColumn | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        compute_full_loss: bool = True,
        name: str | None = None,
    ) -> None:
        def loss(labels: Tensor, logits: Tensor) -> Tensor:
            return log_poisson_loss(labels, logits, compute_full_loss=compute_full_loss)

        super().__init__(label_dimension, weight_column, loss_reduction, loss, EXP, name)


class LogisticRegressionHead(RegressionHead):
    """Estimates a number between 0 and 1; the loss is the cross entropy with labels of that range.

    weight_column, loss_reduction, name: see `Head`.
    """

    def __init__(
        self,
        weight_column: str | NumericColumn | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        name: str | None = None,
    ) -> None:
        def loss(labels: Tensor, logits: Tensor) -> Tensor:
            return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

        super().__init__(1, weight_column, loss_reduction, loss, SIGMOID, name)

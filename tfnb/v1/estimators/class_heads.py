"""Heads of classifiers: one class of two or of several, any number of classes at once, and several heads in one.

Invariant: labels are class numbers, or words of the vocabulary, which the head turns into numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfnb.client.graph.default_graph import control_dependencies
from tfnb.client.lookup.vocabularies import index_table_from_tensor
from tfnb.client.losses_metrics import metrics, metrics_confusion
from tfnb.client.losses_metrics.losses import Reduction
from tfnb.client.variables.variable import group
from tfnb.errors import InvalidArgumentError
from tfnb.ir.operation import Operation
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat, split
from tfnb.ops.array.constants import constant, convert_to_tensor, zeros_like
from tfnb.ops.array.constants import range_ as range_op
from tfnb.ops.array.gather import gather
from tfnb.ops.array.shape_ops import EXPAND_DIMS, IDENTITY, RESHAPE
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.tile_reverse_mirror import TILE
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.binary import MAXIMUM, add_n
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL, LOGICAL_AND
from tfnb.ops.math.reduce_functions import argmax, reduce_all, reduce_any, reduce_mean
from tfnb.ops.math.unary import SIGMOID
from tfnb.ops.nn.losses import sigmoid_cross_entropy_with_logits, softmax, sparse_softmax_cross_entropy_with_logits
from tfnb.ops.sparse.functions import sparse_to_indicator
from tfnb.ops.strings.convert import AS_STRING
from tfnb.train.optimizers.base import Optimizer
from tfnb.train.saving.signatures import ClassificationOutput, PredictOutput, RegressionOutput
from tfnb.types import float32, int64
from tfnb.v1.estimators.heads import Head, Losses, train_operation
from tfnb.v1.estimators.spec import EstimatorSpec, ModeKeys
from tfnb.v1.feature_columns.columns import NumericColumn

__all__ = ["BinaryClassHead", "MultiClassHead", "MultiHead", "MultiLabelHead"]


class _Classes(Head):
    """A head whose labels are `n_classes` classes, or the words of `label_vocabulary`."""

    def __init__(
        self,
        n_classes: int,
        weight_column: str | NumericColumn | None,
        label_vocabulary: Sequence[str] | None,
        loss_reduction: str,
        loss_fn: Callable[..., Any] | None,
        name: str | None,
    ) -> None:
        if n_classes is None or n_classes < 2:
            raise InvalidArgumentError(f"n_classes must be > 1: {n_classes}. Needed at least 2 classes.")
        if label_vocabulary is not None and len(label_vocabulary) != n_classes:
            raise InvalidArgumentError(
                f"Length of label_vocabulary must be n_classes ({n_classes}). Given: {len(label_vocabulary)}."
            )
        super().__init__(weight_column, loss_reduction, name, loss_fn)
        self._n, self._vocabulary = n_classes, label_vocabulary

    def _ids(self, labels: TensorLike) -> Tensor:
        """Returns the class numbers [batch, 1], int64. A step fails for other labels."""
        flat = RESHAPE(convert_to_tensor(labels), [-1, 1])
        if self._vocabulary is None:
            ids = cast(flat, int64)
            check = assert_that(
                reduce_all(LOGICAL_AND(ids >= 0, ids < self._n)), [f"Labels must be in [0, {self._n - 1}]", labels]
            )
            with control_dependencies([check]):
                return IDENTITY(ids)
        equal = EQUAL(flat, constant([list(self._vocabulary)]))
        check = assert_that(reduce_all(reduce_any(equal, 1)), ["a label is not in label_vocabulary:", labels])
        with control_dependencies([check]):
            return EXPAND_DIMS(argmax(cast(equal, float32), 1), 1)

    def _named(self, ids: Tensor, probabilities: Tensor) -> dict[str, Any]:
        """Returns the ids and names of the predicted class and of all classes."""
        batch = shape_op(probabilities)[0]
        names = constant([list(self._vocabulary or map(str, range(self._n)))])
        words = AS_STRING(ids) if self._vocabulary is None else gather(names[0], ids)
        return {
            "class_ids": ids,
            "classes": words,
            "all_class_ids": TILE(EXPAND_DIMS(range_op(self._n), 0), [batch, 1]),
            "all_classes": TILE(names, [batch, 1]),
        }

    def _outputs(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        classes = predictions.get("all_classes")
        if classes is None:
            classes = TILE(
                constant([list(self._vocabulary or map(str, range(self._n)))]),
                [shape_op(predictions["probabilities"])[0], 1],
            )
        made = ClassificationOutput(predictions["probabilities"], classes)
        return {"serving_default": made, "classification": made, "predict": PredictOutput(predictions)}


class MultiClassHead(_Classes):
    """One of `n_classes` classes; the loss is the cross entropy of softmax, or `loss_fn(labels, logits)`.

    label_vocabulary: the labels in the order of their class numbers. weight_column, loss_reduction, name: see `Head`.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: str | NumericColumn | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)
        self.logits_dimension = n_classes

    def predictions(self, logits: Tensor) -> dict[str, Any]:
        """Returns "logits", "probabilities", and the ids and names of classes."""
        probabilities = softmax(logits)
        ids = EXPAND_DIMS(argmax(logits, -1), -1)
        return {"logits": logits, "probabilities": probabilities, **self._named(ids, probabilities)}

    def _each(self, labels: TensorLike, logits: Tensor) -> tuple[Any, Any]:
        ids = self._ids(labels)
        if self._loss_fn is not None:
            return ids, self._loss_fn(ids, logits)
        each = sparse_softmax_cross_entropy_with_logits(labels=RESHAPE(ids, [-1]), logits=logits)
        return ids, EXPAND_DIMS(each, -1)

    def _metrics(self, predictions: Mapping[str, Any], found: Losses) -> dict[str, Any]:
        weights = self.weights_of(found)
        return {
            "average_loss": metrics.mean(found.each, weights),
            "accuracy": metrics.accuracy(found.labels, predictions["class_ids"], weights),
        }


class BinaryClassHead(_Classes):
    """One of two classes by a single logit; the loss is the cross entropy of the sigmoid, or `loss_fn(labels, logits)`.

    thresholds: for accuracy, precision and recall at other probabilities than 0.5. label_vocabulary: the two labels.
    weight_column, loss_reduction, name: see `Head`.
    """

    def __init__(
        self,
        weight_column: str | NumericColumn | None = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(2, weight_column, label_vocabulary, loss_reduction, loss_fn, name)
        self._thresholds = checked_thresholds(thresholds)

    def predictions(self, logits: Tensor) -> dict[str, Any]:
        """Returns "logits", "logistic", "probabilities" of both classes, and the ids and names of classes."""
        two = concat([zeros_like(logits), logits], -1)
        probabilities = softmax(two)
        ids = EXPAND_DIMS(argmax(two, -1), -1)
        named = self._named(ids, probabilities)
        return {"logits": logits, "logistic": SIGMOID(logits), "probabilities": probabilities, **named}

    def _each(self, labels: TensorLike, logits: Tensor) -> tuple[Any, Any]:
        targets = cast(self._ids(labels), float32)
        if self._loss_fn is not None:
            return targets, self._loss_fn(targets, logits)
        return targets, sigmoid_cross_entropy_with_logits(labels=targets, logits=logits)

    def _metrics(self, predictions: Mapping[str, Any], found: Losses) -> dict[str, Any]:
        labels, ids, logistic = found.labels, cast(predictions["class_ids"], float32), predictions["logistic"]
        weights = self.weights_of(found)
        mean, update = metrics.mean(labels, weights)
        made = {
            "average_loss": metrics.mean(found.each, weights),
            "accuracy": metrics.accuracy(labels, ids, weights),
            "precision": metrics_confusion.precision(labels, ids, weights),
            "recall": metrics_confusion.recall(labels, ids, weights),
            "prediction/mean": metrics.mean(logistic, weights),
            "label/mean": (mean, update),
            "accuracy_baseline": (MAXIMUM(mean, 1.0 - mean), MAXIMUM(update, 1.0 - update)),
            "auc": metrics_confusion.auc(labels, logistic, weights),
            "auc_precision_recall": metrics_confusion.auc(
                labels, logistic, weights, curve="PR", summation_method="careful_interpolation"
            ),
        }
        for limit in self._thresholds:
            above = cast(logistic > limit, float32)
            made[f"accuracy/positive_threshold_{limit:g}"] = metrics.accuracy(labels, above, weights)
            made[f"precision/positive_threshold_{limit:g}"] = metrics_confusion.precision(labels, above, weights)
            made[f"recall/positive_threshold_{limit:g}"] = metrics_confusion.recall(labels, above, weights)
        return made

    def _outputs(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        return {**super()._outputs(predictions), "regression": RegressionOutput(predictions["logistic"])}


def checked_thresholds(thresholds: Sequence[float] | None) -> tuple[float, ...]:
    """Returns the thresholds. Raises `InvalidArgumentError` for one that is not between 0 and 1."""
    limits = tuple(thresholds or ())
    for limit in limits:
        if not 0 < limit < 1:
            raise InvalidArgumentError(f"thresholds not in (0, 1): {limits}.")
    return limits


class MultiLabelHead(_Classes):
    """Any number of `n_classes` classes at once; the loss is the mean cross entropy of a sigmoid for each class.

    Labels are numbers 0 or 1 [batch, n_classes], or SparseTensors of class numbers or words. thresholds: for accuracy,
    precision and recall. classes_for_class_based_metrics: classes, by number or word, that get metrics of their own.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: str | NumericColumn | None = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None,
        classes_for_class_based_metrics: Sequence[Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)
        self.logits_dimension = n_classes
        self._thresholds, self._watched = checked_thresholds(thresholds), tuple(classes_for_class_based_metrics or ())

    def predictions(self, logits: Tensor) -> dict[str, Any]:
        """Returns "logits" and "probabilities"."""
        return {"logits": logits, "probabilities": SIGMOID(logits)}

    def _indicator(self, labels: TensorLike | SparseTensor | SparseTensorValue) -> Tensor:
        if not isinstance(labels, (SparseTensor, SparseTensorValue)):
            return cast(RESHAPE(labels, [-1, self._n]), float32)
        sparse = SparseTensor.from_value(labels)
        if self._vocabulary is not None:
            table = index_table_from_tensor(list(self._vocabulary), name="class_id_lookup")
            sparse = table.lookup(sparse)
        return cast(sparse_to_indicator(sparse.with_values(cast(sparse.values, int64)), self._n), float32)

    def _each(self, labels: TensorLike | SparseTensor | SparseTensorValue, logits: Tensor) -> tuple[Any, Any]:
        targets = self._indicator(labels)
        if self._loss_fn is not None:
            return targets, self._loss_fn(targets, logits)
        of_classes = sigmoid_cross_entropy_with_logits(labels=targets, logits=logits)
        return targets, reduce_mean(of_classes, -1, keepdims=True)

    def _metrics(self, predictions: Mapping[str, Any], found: Losses) -> dict[str, Any]:
        labels, made, weights = found.labels, predictions["probabilities"], self.weights_of(found)
        result = {
            "average_loss": metrics.mean(found.each, weights),
            "auc": metrics_confusion.auc(labels, made, weights),
            "auc_precision_recall": metrics_confusion.auc(
                labels, made, weights, curve="PR", summation_method="careful_interpolation"
            ),
        }
        for limit in self._thresholds:
            above = cast(made > limit, float32)
            result[f"accuracy/positive_threshold_{limit:g}"] = metrics.accuracy(labels, above, weights)
            result[f"precision/positive_threshold_{limit:g}"] = metrics_confusion.precision(labels, above, weights)
            result[f"recall/positive_threshold_{limit:g}"] = metrics_confusion.recall(labels, above, weights)
        for watched in self._watched:
            known = isinstance(watched, str) and self._vocabulary is not None
            i = list(self._vocabulary or ()).index(watched) if known else int(watched)
            name = watched if known else f"class{i}"
            of_class = made[:, i : i + 1]
            result[f"probability_mean/{name}"] = metrics.mean(of_class, weights)
            result[f"auc/{name}"] = metrics_confusion.auc(labels[:, i : i + 1], of_class, weights)
            result[f"auc_precision_recall/{name}"] = metrics_confusion.auc(
                labels[:, i : i + 1], of_class, weights, curve="PR", summation_method="careful_interpolation"
            )
        return result


class MultiHead(Head):
    """Several heads, each with its own logits and labels, in dicts by the name of the head.

    head_weights: how much the loss of each head counts. Raises `InvalidArgumentError` without heads or names, or for
    another number of weights.
    """

    def __init__(self, heads: Sequence[Head], head_weights: Sequence[float] | None = None) -> None:
        if not heads or any(not h.name for h in heads) or len({h.name for h in heads}) != len(heads):
            raise InvalidArgumentError("MultiHead: All given heads must have name specified, each another one.")
        if head_weights is not None and len(head_weights) != len(heads):
            raise InvalidArgumentError(
                f"heads and head_weights must have the same size. Given len(heads): {len(heads)}. Given "
                f"len(head_weights): {len(head_weights)}."
            )
        super().__init__(None, Reduction.SUM, None, None)
        self._heads, self._shares = list(heads), list(head_weights or [1.0] * len(heads))
        self.logits_dimension = sum(h.logits_dimension for h in heads)

    def _split(self, logits: TensorLike | Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(logits, Mapping):
            return dict(logits)
        parts = split(logits, [h.logits_dimension for h in self._heads], axis=-1)
        return {str(h.name): part for h, part in zip(self._heads, parts, strict=True)}

    def create_estimator_spec(
        self,
        features: Mapping[str, Any],
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Optimizer | None = None,
        trainable_variables: Sequence[Any] | None = None,
        train_op_fn: Callable[[Tensor], Any] | None = None,
        update_ops: Sequence[Any] | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> EstimatorSpec:
        """Returns the EstimatorSpec of all heads; `logits` and `labels` are dicts by head, or logits side by side.

        For the arguments see `Head.create_estimator_spec`.
        """
        made = self._split(logits)
        specs = [
            h.create_estimator_spec(
                features, mode, made[str(h.name)], None if labels is None else labels[h.name], train_op_fn=_nothing_yet
            )
            for h in self._heads
        ]
        predictions = {
            (h.name, k): v for h, s in zip(self._heads, specs, strict=True) for k, v in s.predictions.items()
        }
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions, export_outputs=self._all_outputs(specs, predictions))
        loss = add_n([s.loss * w for s, w in zip(specs, self._shares, strict=True)] + list(regularization_losses or ()))
        if mode == ModeKeys.EVAL:
            found = {k: v for s in specs for k, v in (s.eval_metric_ops or {}).items()}
            found.update({f"loss/{h.name}": metrics.mean(s.loss) for h, s in zip(self._heads, specs, strict=True)})
            return EstimatorSpec(mode, predictions, loss, eval_metric_ops=found)
        train = train_operation(loss, optimizer, trainable_variables, train_op_fn, update_ops)
        return EstimatorSpec(mode, predictions, loss, train)

    def _all_outputs(self, specs: Sequence[EstimatorSpec], predictions: Mapping[Any, Any]) -> dict[str, Any]:
        outputs: dict[str, Any] = {"predict": PredictOutput({"/".join(k): v for k, v in predictions.items()})}
        for k, (head, spec) in enumerate(zip(self._heads, specs, strict=True)):
            for name, output in (spec.export_outputs or {}).items():
                if name == "serving_default":
                    outputs[str(head.name)] = output
                    if k == 0:
                        outputs[name] = output
                else:
                    outputs[f"{head.name}/{name}"] = output
        return outputs


def _nothing_yet(_: Tensor) -> Operation:
    return group()

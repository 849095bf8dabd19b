"""`tf.contrib.estimator`: heads by functions, features passed on to predictions, clipped gradients.

Invariant: a head of a function is the head of the class of the same kind.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tfnb.client.losses_metrics.losses import Reduction
from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError
from tfnb.ir.operation import Operation
from tfnb.ir.sparse import SparseTensor
from tfnb.ops.math.clip import clip_by_norm
from tfnb.ops.sparse.functions import sparse_tensor_to_dense
from tfnb.train.optimizers.base import Optimizer
from tfnb.train.saving.signatures import PredictOutput
from tfnb.v1.estimators.class_heads import BinaryClassHead, MultiClassHead, MultiHead, MultiLabelHead
from tfnb.v1.estimators.estimator import Estimator
from tfnb.v1.estimators.heads import Head, LogisticRegressionHead, PoissonRegressionHead, RegressionHead
from tfnb.v1.estimators.spec import EstimatorSpec
from tfnb.v1.feature_columns.columns import NumericColumn

__all__ = [
    "TowerOptimizer",
    "binary_classification_head",
    "clip_gradients_by_norm",
    "forward_features",
    "logistic_regression_head",
    "multi_class_head",
    "multi_head",
    "multi_label_head",
    "poisson_regression_head",
    "regression_head",
    "replicate_model_fn",
]

_MEAN = Reduction.SUM_OVER_BATCH_SIZE


def binary_classification_head(
    weight_column: str | NumericColumn | None = None,
    thresholds: Sequence[float] | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> BinaryClassHead:
    """Returns the head of two classes; see `tf.estimator.BinaryClassHead`."""
    return BinaryClassHead(weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name)


def multi_class_head(
    n_classes: int,
    weight_column: str | NumericColumn | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> MultiClassHead:
    """Returns the head of one of `n_classes` classes; see `tf.estimator.MultiClassHead`."""
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)


def multi_label_head(
    n_classes: int,
    weight_column: str | NumericColumn | None = None,
    thresholds: Sequence[float] | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    classes_for_class_based_metrics: Sequence[Any] | None = None,
    name: str | None = None,
) -> MultiLabelHead:
    """Returns the head of any of `n_classes` classes; see `tf.estimator.MultiLabelHead`."""
    return MultiLabelHead(
        n_classes,
        weight_column,
        thresholds,
        label_vocabulary,
        loss_reduction,
        loss_fn,
        classes_for_class_based_metrics,
        name,
    )


def regression_head(
    weight_column: str | NumericColumn | None = None,
    label_dimension: int = 1,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    inverse_link_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> RegressionHead:
    """Returns the head of `label_dimension` numbers; see `tf.estimator.RegressionHead`."""
    return RegressionHead(label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name)


def poisson_regression_head(
    weight_column: str | NumericColumn | None = None,
    label_dimension: int = 1,
    loss_reduction: str = _MEAN,
    compute_full_loss: bool = True,
    name: str | None = None,
) -> PoissonRegressionHead:
    """Returns the head of `label_dimension` counts; see `tf.estimator.PoissonRegressionHead`."""
    return PoissonRegressionHead(label_dimension, weight_column, loss_reduction, compute_full_loss, name)


def logistic_regression_head(
    weight_column: str | NumericColumn | None = None, loss_reduction: str = _MEAN, name: str | None = None
) -> LogisticRegressionHead:
    """Returns the head of a number between 0 and 1; see `tf.estimator.LogisticRegressionHead`."""
    return LogisticRegressionHead(weight_column, loss_reduction, name)


def multi_head(heads: Sequence[Head], head_weights: Sequence[float] | None = None) -> MultiHead:
    """Returns the head of several heads; see `tf.estimator.MultiHead`."""
    return MultiHead(heads, head_weights)


def forward_features(
    estimator: Estimator,
    keys: Sequence[str] | str | None = None,
    sparse_default_values: Mapping[str, Any] | None = None,
) -> Estimator:
    """Returns an estimator of the same model and folder whose predictions have features, too.

    keys: the features, by default all. sparse_default_values: what missing elements of sparse features become. Raises
    `InvalidArgumentError` for a key that is no feature or is a prediction already.
    """
    names = [keys] if isinstance(keys, str) else keys

    def model_fn(features: Any, labels: object, mode: str) -> EstimatorSpec:
        spec = estimator.spec_of(features, labels, mode)
        if not isinstance(spec.predictions, Mapping):
            raise InvalidArgumentError("Predictions should be a dict to be able to forward features.")
        predictions = dict(spec.predictions)
        for key in list(features) if names is None else names:
            if key not in features or key in predictions:
                raise InvalidArgumentError(
                    f"Cannot forward feature key {key}: needed a feature that is no prediction, of {sorted(features)}"
                )
            value = features[key]
            if isinstance(value, SparseTensor):
                value = sparse_tensor_to_dense(value, default_value=(sparse_default_values or {}).get(key))
            predictions[key] = value
        outputs = dict(spec.export_outputs or {})
        added = {k: v for k, v in predictions.items() if k not in spec.predictions}
        for name, output in outputs.items():
            if isinstance(output, PredictOutput):
                outputs[name] = PredictOutput({**dict[str, Any](output.outputs), **added})
        return spec._replace(predictions=predictions, export_outputs=outputs or None)

    return Estimator(model_fn, estimator.model_dir, estimator.config, warm_start_from=estimator.warm_start_from)


def clip_gradients_by_norm(optimizer: Optimizer, clip_norm: float) -> Optimizer:
    """Returns an optimizer that does what `optimizer` does with gradients whose norm is at most `clip_norm` each."""

    class Clipped(type(optimizer)):  # type: ignore[misc]
        """The optimizer with clipped gradients."""

        def apply_gradients(
            self,
            grads_and_vars: Iterable[tuple[Any, Any]],
            global_step: Variable | None = None,
            name: str | None = None,
        ) -> Operation:
            """Clips each gradient and applies all; for the arguments see `tf.train.Optimizer`."""
            pairs = [(None if g is None else clip_by_norm(g, clip_norm), v) for g, v in grads_and_vars]
            return optimizer.apply_gradients(pairs, global_step, name)

    clipped = copy.copy(optimizer)
    clipped.__class__ = Clipped
    return clipped


class TowerOptimizer(Optimizer):
    """An optimizer for a model of `replicate_model_fn`: with the one tower of this process it is the given optimizer.

    optimizer_or_optimizer_fn: an optimizer, or a function that returns one.
    """

    def __init__(self, optimizer_or_optimizer_fn: Optimizer | Callable[[], Optimizer]) -> None:
        made = optimizer_or_optimizer_fn
        self._inner: Any = made if isinstance(made, Optimizer) else made()

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> Any:
        """Returns pairs of gradients of `loss` and variables; see `tf.train.Optimizer`."""
        return self._inner.compute_gradients(loss, *args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Operation:
        """Returns the operation that applies the gradients; see `tf.train.Optimizer`."""
        return self._inner.apply_gradients(grads_and_vars, global_step, name)


def replicate_model_fn(
    model_fn: Callable[..., Any], loss_reduction: str = _MEAN, devices: Sequence[str] | None = None
) -> Callable[..., Any]:
    """Returns `model_fn`, as a model on one device. Raises `InvalidArgumentError` for several `devices`.

    loss_reduction: how the losses of towers become one; with one tower it is checked only.
    """
    Reduction.validate(loss_reduction)
    if devices is not None and len(devices) > 1:
        raise InvalidArgumentError(
            f"replicate_model_fn: devices={list(devices)}; several towers are tf.distribute.MirroredStrategy's"
        )
    return model_fn

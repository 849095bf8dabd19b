"""Ready-made estimators: linear models, networks of dense layers, both together, and baselines without features.

An estimator is a function of features to logits and a head. Invariant: variables have the names that they have in
TensorFlow 1.15, so checkpoints pass from one to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from tfnb.client.losses_metrics.losses import Reduction
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.ops.math.binary import add_n
from tfnb.ops.nn.activations import RELU
from tfnb.train.optimizers.base import Optimizer
from tfnb.v1.estimators.class_heads import BinaryClassHead, MultiClassHead
from tfnb.v1.estimators.estimator import Estimator
from tfnb.v1.estimators.heads import Head, RegressionHead
from tfnb.v1.estimators.model_parts import BaselinePart, DnnPart, LinearPart, Part, trained
from tfnb.v1.estimators.spec import EstimatorSpec, RunConfig
from tfnb.v1.estimators.warm_start import WarmStartSettings
from tfnb.v1.feature_columns.columns import Column, NumericColumn

__all__ = [
    "BaselineClassifier",
    "BaselineEstimator",
    "BaselineRegressor",
    "DNNClassifier",
    "DNNEstimator",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedEstimator",
    "DNNLinearCombinedRegressor",
    "DNNRegressor",
    "LinearClassifier",
    "LinearEstimator",
    "LinearRegressor",
]

OptimizerLike: TypeAlias = str | Optimizer | Callable[[], Optimizer]
Activation: TypeAlias = Callable[[Tensor], Tensor]
Partitioner: TypeAlias = Callable[..., Sequence[int]]
Weights: TypeAlias = str | NumericColumn


class _Canned(Estimator):
    """An estimator whose model function builds logits by `parts` and gives them to `head`."""

    def __init__(
        self,
        head: Head,
        parts: Sequence[Part],
        model_dir: str | None,
        config: RunConfig | None,
        warm_start_from: str | WarmStartSettings | None = None,
    ) -> None:
        def model_fn(features: object, labels: object, mode: str) -> EstimatorSpec:
            if not isinstance(features, Mapping):
                raise InvalidArgumentError(
                    f"features should be a dictionary of `Tensor`s. Given type: {type(features)}"
                )
            logits = [part.logits(features, mode, head.logits_dimension) for part in parts]
            total = logits[0] if len(logits) == 1 else add_n(logits)
            return head.create_estimator_spec(
                features, mode, total, labels, train_op_fn=lambda loss: trained(loss, parts)
            )

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


def class_head(
    n_classes: int, weight_column: Weights | None, label_vocabulary: Sequence[str] | None, loss_reduction: str
) -> Head:
    """Returns the head of one of `n_classes` classes. Raises `InvalidArgumentError` for fewer than 2."""
    if n_classes == 2:
        return BinaryClassHead(weight_column, None, label_vocabulary, loss_reduction)
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction)


class DNNEstimator(_Canned):
    """Dense layers of `hidden_units` under a `head`; see `DNNClassifier` for the other arguments."""

    def __init__(
        self,
        head: Head,
        hidden_units: Sequence[int],
        feature_columns: Iterable[Column],
        model_dir: str | None = None,
        optimizer: OptimizerLike = "Adagrad",
        activation_fn: Activation | None = RELU,
        dropout: float | None = None,
        input_layer_partitioner: Partitioner | None = None,
        config: RunConfig | None = None,
        warm_start_from: str | WarmStartSettings | None = None,
        batch_norm: bool = False,
    ) -> None:
        part = DnnPart(
            hidden_units, feature_columns, optimizer, 0.05, activation_fn, dropout, input_layer_partitioner, batch_norm
        )
        super().__init__(head, [part], model_dir, config, warm_start_from)


class DNNClassifier(DNNEstimator):
    """Dense layers of `hidden_units` and a choice among `n_classes` classes.

    feature_columns: the dense columns of the input. weight_column: the name or the column of example weights.
    label_vocabulary: the labels in the order of their class numbers, by default labels are class numbers. optimizer: a
    name, an optimizer, or a function that returns one. activation_fn, dropout, batch_norm: of hidden layers.
    input_layer_partitioner: cuts the tables of embeddings. warm_start_from: a checkpoint, or `WarmStartSettings`.
    loss_reduction: how the losses of a batch become one. Raises `InvalidArgumentError` for fewer than 2 classes, a
    vocabulary of another size or an unknown optimizer.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Iterable[Column],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Weights | None = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: OptimizerLike = "Adagrad",
        activation_fn: Activation | None = RELU,
        dropout: float | None = None,
        input_layer_partitioner: Partitioner | None = None,
        config: RunConfig | None = None,
        warm_start_from: str | WarmStartSettings | None = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(
            head,
            hidden_units,
            feature_columns,
            model_dir,
            optimizer,
            activation_fn,
            dropout,
            input_layer_partitioner,
            config,
            warm_start_from,
            batch_norm,
        )


class DNNRegressor(DNNEstimator):
    """Dense layers of `hidden_units` that estimate `label_dimension` numbers; the loss is the squared error.

    For the other arguments see `DNNClassifier`.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Iterable[Column],
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Weights | None = None,
        optimizer: OptimizerLike = "Adagrad",
        activation_fn: Activation | None = RELU,
        dropout: float | None = None,
        input_layer_partitioner: Partitioner | None = None,
        config: RunConfig | None = None,
        warm_start_from: str | WarmStartSettings | None = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        super().__init__(
            head,
            hidden_units,
            feature_columns,
            model_dir,
            optimizer,
            activation_fn,
            dropout,
            input_layer_partitioner,
            config,
            warm_start_from,
            batch_norm,
        )


class LinearEstimator(_Canned):
    """A linear function of feature columns under a `head`; see `LinearClassifier` for the other arguments."""

    def __init__(
        self,
        head: Head,
        feature_columns: Iterable[Column],
        model_dir: str | None = None,
        optimizer: OptimizerLike = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Partitioner | None = None,
        sparse_combiner: str = "sum",
        warm_start_from: str | WarmStartSettings | None = None,
    ) -> None:
        part = LinearPart(feature_columns, optimizer, 0.2, partitioner, sparse_combiner)
        super().__init__(head, [part], model_dir, config, warm_start_from)


class LinearClassifier(LinearEstimator):
    """A choice among `n_classes` classes by linear functions of the feature columns.

    feature_columns: dense or categorical columns. sparse_combiner: of the weights of an example's categories.
    partitioner: cuts the weights. For the other arguments see `DNNClassifier`.
    """

    def __init__(
        self,
        feature_columns: Iterable[Column],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Weights | None = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: OptimizerLike = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Partitioner | None = None,
        warm_start_from: str | WarmStartSettings | None = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(
            head, feature_columns, model_dir, optimizer, config, partitioner, sparse_combiner, warm_start_from
        )


class LinearRegressor(LinearEstimator):
    """`label_dimension` linear functions of the feature columns; the loss is the squared error.

    For the other arguments see `LinearClassifier`.
    """

    def __init__(
        self,
        feature_columns: Iterable[Column],
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Weights | None = None,
        optimizer: OptimizerLike = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Partitioner | None = None,
        warm_start_from: str | WarmStartSettings | None = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        super().__init__(
            head, feature_columns, model_dir, optimizer, config, partitioner, sparse_combiner, warm_start_from
        )


class DNNLinearCombinedEstimator(_Canned):
    """A linear function of some columns plus dense layers over others, under a `head`.

    See `DNNLinearCombinedClassifier` for the other arguments.
    """

    def __init__(
        self,
        head: Head,
        model_dir: str | None = None,
        linear_feature_columns: Iterable[Column] | None = None,
        linear_optimizer: OptimizerLike = "Ftrl",
        dnn_feature_columns: Iterable[Column] | None = None,
        dnn_optimizer: OptimizerLike = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Activation | None = RELU,
        dnn_dropout: float | None = None,
        input_layer_partitioner: Partitioner | None = None,
        config: RunConfig | None = None,
        linear_sparse_combiner: str = "sum",
        warm_start_from: str | WarmStartSettings | None = None,
        batch_norm: bool = False,
    ) -> None:
        if not linear_feature_columns and not dnn_feature_columns:
            raise InvalidArgumentError("Either linear_feature_columns or dnn_feature_columns must be defined.")
        if dnn_feature_columns and not dnn_hidden_units:
            raise InvalidArgumentError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")
        parts: list[Part] = []
        if dnn_feature_columns:
            parts.append(
                DnnPart(
                    list(dnn_hidden_units or ()),
                    dnn_feature_columns,
                    dnn_optimizer,
                    0.05,
                    dnn_activation_fn,
                    dnn_dropout,
                    input_layer_partitioner,
                    batch_norm,
                )
            )
        if linear_feature_columns:
            parts.append(
                LinearPart(
                    linear_feature_columns, linear_optimizer, 0.005, input_layer_partitioner, linear_sparse_combiner
                )
            )
        super().__init__(head, parts, model_dir, config, warm_start_from)


class DNNLinearCombinedClassifier(DNNLinearCombinedEstimator):
    """A choice among `n_classes` classes by a linear function of some columns plus dense layers over others.

    Arguments that begin with linear_ and dnn_ are those of `LinearClassifier` and `DNNClassifier`, as are the rest.
    Raises `InvalidArgumentError` without any columns, or for dnn_feature_columns without dnn_hidden_units.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        linear_feature_columns: Iterable[Column] | None = None,
        linear_optimizer: OptimizerLike = "Ftrl",
        dnn_feature_columns: Iterable[Column] | None = None,
        dnn_optimizer: OptimizerLike = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Activation | None = RELU,
        dnn_dropout: float | None = None,
        n_classes: int = 2,
        weight_column: Weights | None = None,
        label_vocabulary: Sequence[str] | None = None,
        input_layer_partitioner: Partitioner | None = None,
        config: RunConfig | None = None,
        warm_start_from: str | WarmStartSettings | None = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        super().__init__(
            class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            model_dir,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            config,
            linear_sparse_combiner,
            warm_start_from,
            batch_norm,
        )


class DNNLinearCombinedRegressor(DNNLinearCombinedEstimator):
    """`label_dimension` numbers from a linear function of some columns plus dense layers over others.

    For the arguments see `DNNLinearCombinedClassifier`.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        linear_feature_columns: Iterable[Column] | None = None,
        linear_optimizer: OptimizerLike = "Ftrl",
        dnn_feature_columns: Iterable[Column] | None = None,
        dnn_optimizer: OptimizerLike = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Activation | None = RELU,
        dnn_dropout: float | None = None,
        label_dimension: int = 1,
        weight_column: Weights | None = None,
        input_layer_partitioner: Partitioner | None = None,
        config: RunConfig | None = None,
        warm_start_from: str | WarmStartSettings | None = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        super().__init__(
            RegressionHead(label_dimension, weight_column, loss_reduction),
            model_dir,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            config,
            linear_sparse_combiner,
            warm_start_from,
            batch_norm,
        )


class BaselineEstimator(_Canned):
    """A bias under a `head`, whatever the features are; see `BaselineClassifier` for the other arguments."""

    def __init__(
        self,
        head: Head,
        model_dir: str | None = None,
        optimizer: OptimizerLike = "Ftrl",
        config: RunConfig | None = None,
    ) -> None:
        super().__init__(head, [BaselinePart(optimizer, 0.3)], model_dir, config)


class BaselineClassifier(BaselineEstimator):
    """The frequencies of `n_classes` classes, whatever the features are. For the arguments see `DNNClassifier`."""

    def __init__(
        self,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Weights | None = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: OptimizerLike = "Ftrl",
        config: RunConfig | None = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        super().__init__(
            class_head(n_classes, weight_column, label_vocabulary, loss_reduction), model_dir, optimizer, config
        )


class BaselineRegressor(BaselineEstimator):
    """The mean of the labels, `label_dimension` numbers. For the arguments see `DNNClassifier`."""

    def __init__(
        self,
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Weights | None = None,
        optimizer: OptimizerLike = "Ftrl",
        config: RunConfig | None = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        super().__init__(RegressionHead(label_dimension, weight_column, loss_reduction), model_dir, optimizer, config)

"""Ready-made estimators of `tf.contrib.learn`: linear models, dense layers, both together.

Invariant: each is a canned estimator of `tf.estimator` under the older methods and argument names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.argument_types import Activation
from tfnb.client.losses_metrics.losses import Reduction
from tfnb.errors import InvalidArgumentError, refuse_given
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.tensor import Tensor
from tfnb.ops.math.binary import add_n
from tfnb.ops.nn.activations import RELU
from tfnb.v1.estimators.canned import class_head
from tfnb.v1.estimators.heads import Head, RegressionHead
from tfnb.v1.estimators.model_parts import DnnPart, LinearPart, trained
from tfnb.v1.estimators.spec import EstimatorSpec, RunConfig
from tfnb.v1.feature_columns.columns import NumericColumn, numeric_column
from tfnb.v1.learn.estimator import BaseEstimator

__all__ = [
    "DNNClassifier",
    "DNNEstimator",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedEstimator",
    "DNNLinearCombinedRegressor",
    "DNNRegressor",
    "LinearClassifier",
    "LinearEstimator",
    "LinearRegressor",
    "infer_real_valued_columns_from_input",
    "infer_real_valued_columns_from_input_fn",
]

_EXTRA = "embedding_lr_multipliers and min_slice sizes are not implemented; leave them out"


class _Old(BaseEstimator):
    """A model of parts and a head, with the older methods."""

    def __init__(
        self,
        head: Head,
        parts: Sequence[Any],
        model_dir: str | None,
        config: RunConfig | None,
        gradient_clip_norm: float | None,
        engineer: Callable[[Any, Any], Any] | None,
        **refused: object,
    ) -> None:
        refuse_given(type(self).__name__, _EXTRA, **refused)
        self._head, self._parts, self._clip, self._engineer = head, list(parts), gradient_clip_norm, engineer
        super().__init__(model_dir, config)

    def _spec(self, features: object, labels: object, mode: str, params: object, config: object) -> EstimatorSpec:
        if self._engineer is not None:
            features, labels = self._engineer(features, labels)
        given = features if isinstance(features, Mapping) else {"": features}
        logits = [p.logits(given, mode, self._head.logits_dimension) for p in self._parts]
        total = logits[0] if len(logits) == 1 else add_n(logits)
        return self._head.create_estimator_spec(given, mode, total, labels, train_op_fn=lambda loss: self._train(loss))

    def _train(self, loss: Tensor) -> Any:
        return trained(loss, self._parts, self._clip)

    def _predicted(
        self, key: str, x: object, input_fn: Callable[..., Any] | None, batch_size: int | None, as_iterable: bool
    ) -> Any:
        rows = self.predict(x, input_fn, batch_size, [key], True)
        values = (np.squeeze(r[key]) if key in ("classes", "class_ids", "predictions") else r[key] for r in rows)
        return values if as_iterable else np.array(list(values))


class _Classifier(_Old):
    def predict_classes(
        self,
        x: object = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """Returns the class of each example; see `Estimator.predict`."""
        named = getattr(self._head, "_vocabulary", None) is not None
        return self._predicted("classes" if named else "class_ids", x, input_fn, batch_size, as_iterable)

    def predict_proba(
        self,
        x: object = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """Returns the probabilities of the classes of each example; see `Estimator.predict`."""
        return self._predicted("probabilities", x, input_fn, batch_size, as_iterable)

    def predict(
        self,
        x: object = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        outputs: Sequence[str] | None = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """Returns the classes, or the predictions `outputs`; see `Estimator.predict`."""
        if outputs is None and not iterate_batches:
            return self.predict_classes(x, input_fn, batch_size, as_iterable)
        return super().predict(x, input_fn, batch_size, outputs, as_iterable, iterate_batches)


class _Regressor(_Old):
    def predict_scores(
        self,
        x: object = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """Returns the number of each example; see `Estimator.predict`."""
        return self._predicted("predictions", x, input_fn, batch_size, as_iterable)

    def predict(
        self,
        x: object = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        outputs: Sequence[str] | None = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """Returns the numbers, or the predictions `outputs`; see `Estimator.predict`."""
        if outputs is None and not iterate_batches:
            return self.predict_scores(x, input_fn, batch_size, as_iterable)
        return super().predict(x, input_fn, batch_size, outputs, as_iterable, iterate_batches)


def _classes(n: int, weights: str | None, keys: Sequence[str] | None) -> Head:
    return class_head(n, weights, keys, Reduction.SUM_OVER_BATCH_SIZE)


def _numbers(n: int, weights: str | None) -> Head:
    return RegressionHead(n, weights, Reduction.SUM_OVER_BATCH_SIZE)


def _dnn(
    units: Sequence[int], columns: Iterable[Any], optimizer: object, activation: Activation, dropout: float | None
) -> DnnPart:
    return DnnPart(units, list(columns), optimizer or "Adagrad", 0.05, activation, dropout, None, False)


def _linear(columns: Iterable[Any], optimizer: object, most: float = 0.2) -> LinearPart:
    return LinearPart(list(columns), optimizer or "Ftrl", most, None, "sum")


_DOC = """feature_columns: of `tf.feature_column`. weight_column_name: of the examples' weights. optimizer: an
    optimizer, or None for the usual one. gradient_clip_norm: the largest norm of all gradients together.
    feature_engineering_fn: (features, labels) to those that the model gets. Other arguments are refused."""


class DNNEstimator(_Old):
    __doc__ = f"""Dense layers of `hidden_units` under a `head` of `tf.estimator`.

    {_DOC}"""

    def __init__(
        self,
        head: Head,
        hidden_units: Sequence[int],
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        optimizer: object = None,
        activation_fn: Activation = RELU,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        config: RunConfig | None = None,
        feature_engineering_fn: Callable[[Any, Any], Any] | None = None,
        embedding_lr_multipliers: object = None,
        input_layer_min_slice_size: object = None,
    ) -> None:
        part = _dnn(hidden_units, feature_columns, optimizer, activation_fn, dropout)
        super().__init__(
            head,
            [part],
            model_dir,
            config,
            gradient_clip_norm,
            feature_engineering_fn,
            embedding_lr_multipliers=embedding_lr_multipliers,
            input_layer_min_slice_size=input_layer_min_slice_size,
        )


class DNNClassifier(_Classifier):
    __doc__ = f"""Dense layers of `hidden_units` and a choice among `n_classes` classes, or the words of `label_keys`.

    {_DOC}"""

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: object = None,
        activation_fn: Activation = RELU,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: RunConfig | None = None,
        feature_engineering_fn: Callable[[Any, Any], Any] | None = None,
        embedding_lr_multipliers: object = None,
        input_layer_min_slice_size: object = None,
        label_keys: Sequence[str] | None = None,
    ) -> None:
        part = _dnn(hidden_units, feature_columns, optimizer, activation_fn, dropout)
        super().__init__(
            _classes(n_classes, weight_column_name, label_keys),
            [part],
            model_dir,
            config,
            gradient_clip_norm,
            feature_engineering_fn,
            enable_centered_bias=enable_centered_bias,
            embedding_lr_multipliers=embedding_lr_multipliers,
            input_layer_min_slice_size=input_layer_min_slice_size,
        )


class DNNRegressor(_Regressor):
    __doc__ = f"""Dense layers of `hidden_units` that estimate `label_dimension` numbers.

    {_DOC}"""

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        optimizer: object = None,
        activation_fn: Activation = RELU,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: RunConfig | None = None,
        feature_engineering_fn: Callable[[Any, Any], Any] | None = None,
        label_dimension: int = 1,
        embedding_lr_multipliers: object = None,
        input_layer_min_slice_size: object = None,
    ) -> None:
        part = _dnn(hidden_units, feature_columns, optimizer, activation_fn, dropout)
        super().__init__(
            _numbers(label_dimension, weight_column_name),
            [part],
            model_dir,
            config,
            gradient_clip_norm,
            feature_engineering_fn,
            enable_centered_bias=enable_centered_bias,
            embedding_lr_multipliers=embedding_lr_multipliers,
            input_layer_min_slice_size=input_layer_min_slice_size,
        )


class LinearEstimator(_Old):
    __doc__ = f"""A linear function of the feature columns under a `head` of `tf.estimator`.

    {_DOC}"""

    def __init__(
        self,
        feature_columns: Iterable[Any],
        head: Head,
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        optimizer: object = None,
        gradient_clip_norm: float | None = None,
        config: RunConfig | None = None,
        feature_engineering_fn: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        super().__init__(
            head,
            [_linear(feature_columns, optimizer)],
            model_dir,
            config,
            gradient_clip_norm,
            feature_engineering_fn,
            weight_column_name=weight_column_name,
        )


class LinearClassifier(_Classifier):
    __doc__ = f"""A choice among `n_classes` classes, or the words of `label_keys`, by linear functions.

    {_DOC}"""

    def __init__(
        self,
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: object = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: RunConfig | None = None,
        feature_engineering_fn: Callable[[Any, Any], Any] | None = None,
        label_keys: Sequence[str] | None = None,
    ) -> None:
        head = _classes(n_classes, weight_column_name, label_keys)
        super().__init__(
            head,
            [_linear(feature_columns, optimizer)],
            model_dir,
            config,
            gradient_clip_norm,
            feature_engineering_fn,
            enable_centered_bias=enable_centered_bias,
        )


class LinearRegressor(_Regressor):
    __doc__ = f"""`label_dimension` linear functions of the feature columns.

    {_DOC}"""

    def __init__(
        self,
        feature_columns: Iterable[Any],
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        optimizer: object = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        config: RunConfig | None = None,
        feature_engineering_fn: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        head = _numbers(label_dimension, weight_column_name)
        super().__init__(
            head,
            [_linear(feature_columns, optimizer)],
            model_dir,
            config,
            gradient_clip_norm,
            feature_engineering_fn,
            enable_centered_bias=enable_centered_bias,
        )


def _both(
    linear: Iterable[Any] | None,
    linear_optimizer: object,
    columns: Iterable[Any] | None,
    optimizer: object,
    units: Sequence[int] | None,
    activation: Activation,
    dropout: float | None,
) -> list[Any]:
    parts: list[Any] = []
    if columns:
        if not units:
            raise InvalidArgumentError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")
        parts.append(_dnn(units, columns, optimizer, activation, dropout))
    if linear:
        parts.append(_linear(linear, linear_optimizer, 0.2))
    if not parts:
        raise InvalidArgumentError("Either linear_feature_columns or dnn_feature_columns must be defined.")
    return parts


class DNNLinearCombinedEstimator(_Old):
    __doc__ = f"""A linear function of some columns plus dense layers over others, under a `head` of `tf.estimator`.

    {_DOC}"""

    def __init__(
        self,
        head: Head,
        model_dir: str | None = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: object = None,
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: object = None,
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Activation = RELU,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        config: RunConfig | None = None,
        feature_engineering_fn: Callable[[Any, Any], Any] | None = None,
        embedding_lr_multipliers: object = None,
        fix_global_step_increment_bug: bool = True,
        input_layer_partitioner: object = None,
    ) -> None:
        parts = _both(
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
        )
        super().__init__(
            head,
            parts,
            model_dir,
            config,
            gradient_clip_norm,
            feature_engineering_fn,
            embedding_lr_multipliers=embedding_lr_multipliers,
            input_layer_partitioner=input_layer_partitioner,
            the_bug_of_two_steps=not fix_global_step_increment_bug,
        )


class DNNLinearCombinedClassifier(_Classifier):
    __doc__ = f"""A choice among `n_classes` classes by a linear function of columns plus dense layers over others.

    The global step is increased once for each step, as with `fix_global_step_increment_bug`. {_DOC}"""

    def __init__(
        self,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: object = None,
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: object = None,
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Activation = RELU,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: RunConfig | None = None,
        feature_engineering_fn: Callable[[Any, Any], Any] | None = None,
        embedding_lr_multipliers: object = None,
        input_layer_min_slice_size: object = None,
        label_keys: Sequence[str] | None = None,
        fix_global_step_increment_bug: bool = True,
    ) -> None:
        parts = _both(
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
        )
        super().__init__(
            _classes(n_classes, weight_column_name, label_keys),
            parts,
            model_dir,
            config,
            gradient_clip_norm,
            feature_engineering_fn,
            enable_centered_bias=enable_centered_bias,
            embedding_lr_multipliers=embedding_lr_multipliers,
            input_layer_min_slice_size=input_layer_min_slice_size,
            the_bug_of_two_steps=not fix_global_step_increment_bug,
        )


class DNNLinearCombinedRegressor(_Regressor):
    __doc__ = f"""`label_dimension` numbers from a linear function of some columns plus dense layers over others.

    The global step is increased once for each step, as with `fix_global_step_increment_bug`. {_DOC}"""

    def __init__(
        self,
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: object = None,
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: object = None,
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Activation = RELU,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        config: RunConfig | None = None,
        feature_engineering_fn: Callable[[Any, Any], Any] | None = None,
        embedding_lr_multipliers: object = None,
        input_layer_min_slice_size: object = None,
        fix_global_step_increment_bug: bool = True,
    ) -> None:
        parts = _both(
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
        )
        super().__init__(
            _numbers(label_dimension, weight_column_name),
            parts,
            model_dir,
            config,
            gradient_clip_norm,
            feature_engineering_fn,
            enable_centered_bias=enable_centered_bias,
            embedding_lr_multipliers=embedding_lr_multipliers,
            input_layer_min_slice_size=input_layer_min_slice_size,
            the_bug_of_two_steps=not fix_global_step_increment_bug,
        )


def infer_real_valued_columns_from_input(x: Any) -> list[NumericColumn]:
    """Returns the numeric columns of an array, which is the feature "", or of a dict of arrays."""
    arrays = x if isinstance(x, Mapping) else {"": x}
    return [_column(key, np.shape(a)) for key, a in sorted(arrays.items())]


def infer_real_valued_columns_from_input_fn(input_fn: Callable[[], Any]) -> list[NumericColumn]:
    """Returns the numeric columns of the features that `input_fn` gives."""
    with GraphBuilder().as_default():
        features = input_fn()[0]
        tensors = features if isinstance(features, Mapping) else {"": features}
        return [_column(key, t.shape.as_list()) for key, t in sorted(tensors.items())]


def _column(key: str, shape: Sequence[Any]) -> NumericColumn:
    return numeric_column(key, [int(n) for n in shape[1:]] or 1)

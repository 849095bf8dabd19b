"""The parts of ready-made models: each computes logits of features in a scope of its own, with its own optimizer.

Invariant: an optimizer trains only the variables of its part's scope; the global step is increased once for all.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import control_dependencies, get_collection
from tfnb.client.layers.dense_layers import dense
from tfnb.client.layers.norm_layers import batch_normalization, dropout
from tfnb.client.logging.summaries import histogram, scalar
from tfnb.client.variables.initializers import Zeros
from tfnb.client.variables.scope import get_variable, variable_scope
from tfnb.client.variables.variable import group
from tfnb.errors import InvalidArgumentError
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import stack
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.array.shape_ops import EXPAND_DIMS
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.tile_reverse_mirror import TILE
from tfnb.ops.math.cast import cast
from tfnb.ops.math.clip import clip_by_global_norm
from tfnb.ops.nn.bias_dropout_moments import zero_fraction
from tfnb.ops.state.variables import assign_add
from tfnb.train.optimizers.global_step import get_global_step
from tfnb.train.optimizers.optimize_loss import OPTIMIZERS
from tfnb.types import float32, int32
from tfnb.v1.estimators.spec import ModeKeys
from tfnb.v1.feature_columns.columns import Column
from tfnb.v1.feature_columns.layers import input_layer, linear_model

__all__ = [
    "BaselinePart",
    "DnnPart",
    "LinearPart",
    "Part",
    "dnn_logit_fn_builder",
    "linear_logit_fn_builder",
    "call_logit_fn",
    "trained",
    "optimizer_of",
]


class Part(Protocol):
    """Logits of features, and how their variables are trained."""

    scope: str
    optimizer: Any
    rate: float

    def logits(self, features: Mapping[str, Any], mode: str, units: int) -> Tensor:
        """Returns the logits [batch, units]."""


def optimizer_of(optimizer: Any, rate: float) -> Any:
    """Returns the optimizer, or that of the name with the `rate`. Raises `InvalidArgumentError` for another name."""
    if not isinstance(optimizer, str):
        return optimizer() if callable(optimizer) and not hasattr(optimizer, "minimize") else optimizer
    if optimizer not in OPTIMIZERS:
        raise InvalidArgumentError(
            f"Unsupported optimizer name: {optimizer}; needed one of {', '.join(sorted(OPTIMIZERS))}"
        )
    return OPTIMIZERS[optimizer](rate)


def trained(loss: Tensor, parts: Sequence[Part], clip_norm: float | None = None) -> Tensor:
    """Returns the operation that trains the variables of all parts and increases the global step.

    clip_norm: the largest norm of the gradients of a part together, None for any.
    """
    ops = []
    for part in parts:
        variables = get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=f"{part.scope}/")
        optimizer = optimizer_of(part.optimizer, part.rate)
        pairs = optimizer.compute_gradients(loss, variables)
        if clip_norm is not None:
            clipped, _ = clip_by_global_norm([g for g, _ in pairs], clip_norm)
            pairs = list(zip(clipped, [v for _, v in pairs], strict=True))
        ops.append(optimizer.apply_gradients(pairs))
    with control_dependencies([group(*ops)]):
        return assign_add(get_global_step(), 1)


class DnnPart:
    """Dense layers over dense columns, in the scope "dnn"."""

    scope = "dnn"

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Iterable[Column],
        optimizer: object,
        rate: float,
        activation_fn: Callable[[Any], Any] | None,
        dropout: float | None,
        partitioner: Callable[..., Sequence[int]] | None,
        batch_norm: bool,
    ) -> None:
        self.optimizer, self.rate = optimizer, rate
        self._hidden, self._columns, self._activation = list(hidden_units), feature_columns, activation_fn
        self._dropout, self._partitioner, self._norm = dropout, partitioner, batch_norm

    def logits(self, features: Mapping[str, Any], mode: str, units: int) -> Tensor:
        """Returns the logits [batch, units]."""
        with variable_scope(self.scope):
            return self.inner(features, mode, units)

    def inner(self, features: Mapping[str, Any], mode: str, units: int) -> Tensor:
        """Returns the logits [batch, units], in the present scope."""
        training = mode == ModeKeys.TRAIN
        with variable_scope("input_from_feature_columns", partitioner=self._partitioner):
            h = input_layer(features, self._columns)
        for i, n in enumerate(self._hidden):
            with variable_scope(f"hiddenlayer_{i}") as scope:
                h = dense(h, n, self._activation, name=scope)
                if self._dropout and training:
                    h = dropout(h, self._dropout, training=True)
                if self._norm:
                    h = batch_normalization(h, momentum=0.999, training=training, name=f"batchnorm_{i}")
            self._summarise(h, f"hiddenlayer_{i}")
        with variable_scope("logits") as scope:
            y = dense(h, units, name=scope)
        self._summarise(y, "logits")
        return y

    def _summarise(self, value: Tensor, name: str) -> None:
        scalar(f"dnn/{name}/fraction_of_zero_values", zero_fraction(value))
        histogram(f"dnn/{name}/activation", value)


class LinearPart:
    """A linear function of columns, in the scope "linear"; a rate that depends on the number of columns."""

    scope = "linear"

    def __init__(
        self,
        feature_columns: Column | Iterable[Column],
        optimizer: object,
        most: float,
        partitioner: Callable[..., Sequence[int]] | None,
        sparse_combiner: str,
    ) -> None:
        self._columns = [feature_columns] if isinstance(feature_columns, Column) else list(feature_columns)
        if not self._columns:
            raise InvalidArgumentError("feature_columns must not be empty: a linear model needs at least one column.")
        self.optimizer, self.rate = optimizer, min(most, 1 / math.sqrt(len(self._columns)))
        self._partitioner, self._combiner = partitioner, sparse_combiner

    def logits(self, features: Mapping[str, Any], mode: str, units: int) -> Tensor:
        """Returns the logits [batch, units], which are the same in each `mode`."""
        if mode not in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT):
            raise InvalidArgumentError(f"the mode {mode!r} is none of tf.estimator.ModeKeys")
        with variable_scope(self.scope, partitioner=self._partitioner):
            y = linear_model(features, self._columns, units, self._combiner)
        scalar("linear/fraction_of_zero_weights", zero_fraction(y))
        return y


class BaselinePart:
    """A bias for each logit, in the scope "baseline"."""

    scope = "baseline"

    def __init__(self, optimizer: object, rate: float) -> None:
        self.optimizer, self.rate = optimizer, rate

    def logits(self, features: Mapping[str, Any], mode: str, units: int) -> Tensor:
        """Returns the bias for each example of the batch: [batch, units]; the same in each `mode`."""
        if mode not in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT):
            raise InvalidArgumentError(f"the mode {mode!r} is none of tf.estimator.ModeKeys")
        first = next(iter(features.values()))
        batch = cast(first.dense_shape[0], int32) if isinstance(first, SparseTensor) else shape_op(first)[0]
        with variable_scope(self.scope):
            bias = get_variable("bias", [units], float32, Zeros())
            return TILE(EXPAND_DIMS(convert_to_tensor(bias), 0), stack([batch, 1]))


def dnn_logit_fn_builder(
    units: int,
    hidden_units: Sequence[int],
    feature_columns: Iterable[Column],
    activation_fn: Callable[[Any], Any] | None,
    dropout: float | None,
    input_layer_partitioner: Callable[..., Sequence[int]] | None,
    batch_norm: bool = False,
) -> Callable[..., Any]:
    """Returns a function (features, mode) to the logits [batch, units] of dense layers; see `DNNClassifier`.

    Raises `InvalidArgumentError` for a number of units that is not positive.
    """
    if not isinstance(units, int) or units < 1:
        raise InvalidArgumentError(f"units must be an int. Given type: {type(units)}")
    part = DnnPart(
        hidden_units, feature_columns, None, 0.0, activation_fn, dropout, input_layer_partitioner, batch_norm
    )

    def dnn_logit_fn(features: Mapping[str, Any], mode: str) -> Tensor:
        return part.inner(features, mode, units)

    return dnn_logit_fn


def linear_logit_fn_builder(
    units: int, feature_columns: Iterable[Column], sparse_combiner: str = "sum"
) -> Callable[..., Any]:
    """Returns a function (features) to the logits [batch, units] of a linear model; see `LinearClassifier`."""

    def linear_logit_fn(features: Mapping[str, Any]) -> Tensor:
        return linear_model(features, feature_columns, units, sparse_combiner)

    return linear_logit_fn


def call_logit_fn(
    logit_fn: Callable[..., Any], features: Mapping[str, Any], mode: str, params: object, config: object
) -> Tensor | Mapping[str, Any]:
    """Returns the logits of `logit_fn(features, ...)`, which gets those of mode, params and config that it takes.

    Raises `InvalidArgumentError` when the result is neither a tensor nor a dict of tensors.
    """
    parameters = inspect.signature(logit_fn).parameters
    given = {"mode": mode, "params": params, "config": config}
    result = logit_fn(features=features, **{k: v for k, v in given.items() if k in parameters})
    if not isinstance(result, (Tensor, Mapping)):
        raise InvalidArgumentError("logit_fn should return a Tensor or a dictionary mapping strings to Tensors.")
    return result

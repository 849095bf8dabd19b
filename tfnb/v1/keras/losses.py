"""`tf.keras.losses`: functions of labels and predictions, one value per row, and classes that also weight and average.

Invariant: a function returns [batch, ...] without the last dimension; a class reduces that to a scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.argument_types import Identifier
from tfnb.v1.keras.backend import nn
from tfnb.v1.keras.backend.settings import epsilon
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.serialization import deserialize_keras_object, serialize_keras_object


def _pair(y_true: TensorLike, y_pred: TensorLike) -> tuple[Tensor, Tensor]:
    y_pred = tf.convert_to_tensor(y_pred)
    if not y_pred.dtype.is_floating:
        y_pred = tf.cast(y_pred, tf.float32)
    y_true = tf.convert_to_tensor(y_true)
    return tf.cast(y_true, y_pred.dtype.base_dtype), y_pred


def _mean(x: Tensor) -> Tensor:
    return tf.reduce_mean(x, -1)


def mean_squared_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of the squared differences over the last dimension."""
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(tf.squared_difference(y_pred, y_true))


def mean_absolute_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of the absolute differences over the last dimension."""
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(tf.abs(y_pred - y_true))


def mean_absolute_percentage_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of the differences in per cent of the labels."""
    y_true, y_pred = _pair(y_true, y_pred)
    return 100.0 * _mean(tf.abs((y_true - y_pred) / tf.maximum(tf.abs(y_true), epsilon())))


def mean_squared_logarithmic_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of the squared differences of log(1 + x)."""
    y_true, y_pred = _pair(y_true, y_pred)
    first, second = (tf.log(tf.maximum(v, epsilon()) + 1.0) for v in (y_pred, y_true))
    return _mean(tf.squared_difference(first, second))


def _signs(y_true: Tensor) -> Tensor:
    """Returns labels of -1 and 1: labels that are all 0 or 1 are converted."""
    binary = tf.reduce_all(tf.logical_or(tf.equal(y_true, 0), tf.equal(y_true, 1)))
    return tf.cond(binary, lambda: 2.0 * y_true - 1.0, lambda: tf.identity(y_true))


def squared_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of max(1 - y_true * y_pred, 0) squared, for labels of -1 and 1."""
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(tf.square(tf.maximum(1.0 - _signs(y_true) * y_pred, 0.0)))


def hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of max(1 - y_true * y_pred, 0), for labels of -1 and 1."""
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(tf.maximum(1.0 - _signs(y_true) * y_pred, 0.0))


def categorical_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns max(1 + the largest wrong prediction - the right one, 0), for one-hot labels."""
    y_true, y_pred = _pair(y_true, y_pred)
    right = tf.reduce_sum(y_true * y_pred, -1)
    wrong = tf.reduce_max((1.0 - y_true) * y_pred, -1)
    return tf.maximum(0.0, wrong - right + 1.0)


def huber_loss(y_true: TensorLike, y_pred: TensorLike, delta: float = 1.0) -> Tensor:
    """Returns for each element half the squared difference up to `delta`, and linear growth beyond."""
    y_true, y_pred = _pair(y_true, y_pred)
    error = tf.abs(y_pred - y_true)
    quadratic = tf.minimum(error, delta)
    return 0.5 * quadratic * quadratic + delta * (error - quadratic)


def logcosh(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of log(cosh(difference))."""
    y_true, y_pred = _pair(y_true, y_pred)
    x = y_pred - y_true
    return _mean(x + tf.nn.softplus(-2.0 * x) - 0.6931471805599453)


def categorical_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False, label_smoothing: float = 0
) -> Tensor:
    """Returns the cross entropies of one-hot labels; with `label_smoothing` a share of them is spread evenly."""
    y_true, y_pred = _pair(y_true, y_pred)
    if label_smoothing:
        classes = tf.cast(tf.shape(y_true)[1], y_pred.dtype)
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / classes
    return nn.categorical_crossentropy(y_true, y_pred, from_logits)


def sparse_categorical_crossentropy(
    y_true: TensorLike, y_pred: TensorOrVariable, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """Returns the cross entropies of labels that are class numbers."""
    return nn.sparse_categorical_crossentropy(y_true, y_pred, from_logits, axis)


def binary_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False, label_smoothing: float = 0
) -> Tensor:
    """Returns the mean of the cross entropies of independent labels over the last dimension."""
    y_true, y_pred = _pair(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    return _mean(nn.binary_crossentropy(y_true, y_pred, from_logits))


def kullback_leibler_divergence(y_true: Any, y_pred: Any) -> Tensor:
    """Returns the sum of y_true * log(y_true / y_pred) over the last dimension."""
    y_true, y_pred = _pair(y_true, y_pred)
    y_true, y_pred = (tf.clip_by_value(v, epsilon(), 1.0) for v in (y_true, y_pred))
    return tf.reduce_sum(y_true * tf.log(y_true / y_pred), -1)


def poisson(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of y_pred - y_true * log(y_pred)."""
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(y_pred - y_true * tf.log(y_pred + epsilon()))


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """Returns the cosine of the angle between labels and predictions. TensorFlow 2 and Keras 2 negate it."""
    y_true, y_pred = (tf.nn.l2_normalize(v, axis) for v in _pair(y_true, y_pred))
    return tf.reduce_sum(y_true * y_pred, axis)


bce = BCE = binary_crossentropy
mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kullback_leibler_divergence
cosine = cosine_proximity = cosine_similarity


class Reduction:
    """How the losses of the rows are reduced: by the mean, by the sum, or not."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Returns the names of all reductions."""
        return (cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE)


def weighted(losses: Tensor, sample_weight: TensorLike | None) -> Tensor:
    """Returns losses [batch, ...] times weights, which have fewer dimensions, or a last one of size 1."""
    if sample_weight is None:
        return losses
    weight = tf.cast(tf.convert_to_tensor(sample_weight), losses.dtype)
    rank, mine = losses.shape.ndims, weight.shape.ndims
    if rank is not None and mine is not None:
        if mine == rank + 1 and weight.shape.as_list()[-1] == 1:
            weight, mine = tf.squeeze(weight, [-1]), mine - 1
        for _ in range(rank - mine):
            weight = tf.expand_dims(weight, -1)
    return losses * weight


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """Returns the losses reduced; the mean is over all elements, also those of weight 0."""
    if reduction == Reduction.NONE:
        return losses
    total = tf.reduce_sum(losses)
    if reduction == Reduction.SUM:
        return total
    return tf.div_no_nan(total, tf.cast(tf.size(losses), losses.dtype))


class Loss:
    """The base of losses: `call` returns one value per row, and calling the loss weights and reduces them.

    Raises `InvalidArgumentError` for an unknown reduction.
    """

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = None) -> None:
        if reduction not in Reduction.all():
            raise InvalidArgumentError(f"Invalid Reduction Key {reduction}.")
        self.reduction, self.name = reduction, name

    def __call__(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Tensor:
        """Returns the weighted and reduced loss."""
        with get_default_graph().name_scope(self.name or type(self).__name__.lower()):
            return reduced(weighted(self.call(y_true, y_pred), sample_weight), self.reduction)

    def call(self, y_true: TensorLike, y_pred: TensorLike) -> Tensor:
        """Returns one value per row. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define `call`")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Any:
        """Returns the loss of a configuration."""
        return cls(**config)


class LossFunctionWrapper(Loss):
    """A loss of a function with fixed further arguments."""

    def __init__(
        self, fn: Callable[..., Any], reduction: str = Reduction.AUTO, name: str | None = None, **kwargs: object
    ) -> None:
        super().__init__(reduction, name)
        self.fn, self._arguments = fn, kwargs

    def call(self, y_true: TensorLike, y_pred: TensorLike) -> Any:
        if is_tensor_like(y_pred) and is_tensor_like(y_true):
            y_true, y_pred = squeezed(y_true, y_pred, self.fn)
        return self.fn(y_true, y_pred, **self._arguments)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._arguments}


def squeezed(y_true: Any, y_pred: Any, fn: Callable[..., Any]) -> tuple[Any, Any]:
    """Returns labels and predictions without a last dimension of size 1 that only one of them has."""
    if fn is sparse_categorical_crossentropy:
        return y_true, y_pred
    first, second = y_true.shape.ndims, y_pred.shape.ndims
    if first is not None and second is not None:
        if first == second + 1 and y_true.shape.as_list()[-1] == 1:
            y_true = tf.squeeze(y_true, [-1])
        elif second == first + 1 and y_pred.shape.as_list()[-1] == 1:
            y_pred = tf.squeeze(y_pred, [-1])
    return y_true, y_pred


class MeanSquaredError(LossFunctionWrapper):
    """The mean of squared differences."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "mean_squared_error") -> None:
        super().__init__(mean_squared_error, reduction, name)


class MeanAbsoluteError(LossFunctionWrapper):
    """The mean of absolute differences."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "mean_absolute_error") -> None:
        super().__init__(mean_absolute_error, reduction, name)


class MeanAbsolutePercentageError(LossFunctionWrapper):
    """The mean of differences in per cent."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "mean_absolute_percentage_error") -> None:
        super().__init__(mean_absolute_percentage_error, reduction, name)


class MeanSquaredLogarithmicError(LossFunctionWrapper):
    """The mean of squared differences of logarithms."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "mean_squared_logarithmic_error") -> None:
        super().__init__(mean_squared_logarithmic_error, reduction, name)


class BinaryCrossentropy(LossFunctionWrapper):
    """The cross entropy of independent labels."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0,
        reduction: str = Reduction.AUTO,
        name: str = "binary_crossentropy",
    ) -> None:
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(binary_crossentropy, reduction, name, **options)


class CategoricalCrossentropy(LossFunctionWrapper):
    """The cross entropy of one-hot labels."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0,
        reduction: str = Reduction.AUTO,
        name: str = "categorical_crossentropy",
    ) -> None:
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(categorical_crossentropy, reduction, name, **options)


class SparseCategoricalCrossentropy(LossFunctionWrapper):
    """The cross entropy of class numbers."""

    def __init__(
        self,
        from_logits: bool = False,
        reduction: str = Reduction.AUTO,
        name: str = "sparse_categorical_crossentropy",
    ) -> None:
        super().__init__(sparse_categorical_crossentropy, reduction, name, from_logits=from_logits)


class Hinge(LossFunctionWrapper):
    """The hinge loss."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "hinge") -> None:
        super().__init__(hinge, reduction, name)


class SquaredHinge(LossFunctionWrapper):
    """The squared hinge loss."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "squared_hinge") -> None:
        super().__init__(squared_hinge, reduction, name)


class CategoricalHinge(LossFunctionWrapper):
    """The hinge loss of one-hot labels."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "categorical_hinge") -> None:
        super().__init__(categorical_hinge, reduction, name)


class Poisson(LossFunctionWrapper):
    """The Poisson loss."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "poisson") -> None:
        super().__init__(poisson, reduction, name)


class LogCosh(LossFunctionWrapper):
    """The mean of log(cosh(difference))."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "logcosh") -> None:
        super().__init__(logcosh, reduction, name)


class KLDivergence(LossFunctionWrapper):
    """The Kullback-Leibler divergence."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str = "kullback_leibler_divergence") -> None:
        super().__init__(kullback_leibler_divergence, reduction, name)


class Huber(LossFunctionWrapper):
    """Half the squared difference up to `delta`, linear beyond."""

    def __init__(self, delta: float = 1.0, reduction: str = Reduction.AUTO, name: str = "huber_loss") -> None:
        super().__init__(huber_loss, reduction, name, delta=delta)


class CosineSimilarity(LossFunctionWrapper):
    """The cosine of the angle between labels and predictions. As in 1.15, minimising it makes them unlike."""

    def __init__(self, axis: int = -1, reduction: str = Reduction.AUTO, name: str = "cosine_similarity") -> None:
        super().__init__(cosine_similarity, reduction, name, axis=axis)


_KNOWN: Mapping[str, Any] = {
    name: value for name, value in globals().items() if not name.startswith("_") and callable(value)
}


def serialize(loss: object) -> Any:
    """Returns the name of a loss function, or the configuration of a loss."""
    return serialize_keras_object(loss)


def deserialize(name: str | Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the loss of a name or configuration."""
    return deserialize_keras_object(name, _KNOWN, custom_objects, "loss function")


def get(identifier: Identifier | None) -> Any:
    """Returns the loss of a name or configuration; None and callables are returned unchanged.

    Raises `InvalidArgumentError` for anything else.
    """
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, (str, Mapping)):
        return deserialize(identifier)
    raise InvalidArgumentError(f"Could not interpret loss function identifier: {identifier!r}")

"""Metrics that average a function of labels and predictions, and means of other kinds.

Invariant: names and defaults are TensorFlow's.
"""

from __future__ import annotations

from typing import Any

from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.types import DTypeLike
from tfnb.v1.keras import losses
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.metrics import functions
from tfnb.v1.keras.metrics.base import Mean, MeanMetricWrapper, Metric


class Accuracy(MeanMetricWrapper):
    """The share of predictions that equal the labels."""

    def __init__(self, name: str = "accuracy", dtype: DTypeLike | None = None) -> None:
        super().__init__(functions.accuracy, name, dtype)


class BinaryAccuracy(MeanMetricWrapper):
    """The share of predictions on the right side of `threshold`."""

    def __init__(self, name: str = "binary_accuracy", dtype: DTypeLike | None = None, threshold: float = 0.5) -> None:
        super().__init__(functions.binary_accuracy, name, dtype, threshold=threshold)


class CategoricalAccuracy(MeanMetricWrapper):
    """The share of rows whose largest prediction is that of the one-hot label."""

    def __init__(self, name: str = "categorical_accuracy", dtype: DTypeLike | None = None) -> None:
        super().__init__(functions.categorical_accuracy, name, dtype)


class SparseCategoricalAccuracy(MeanMetricWrapper):
    """The share of rows whose largest prediction is that of the class number."""

    def __init__(self, name: str = "sparse_categorical_accuracy", dtype: DTypeLike | None = None) -> None:
        super().__init__(functions.sparse_categorical_accuracy, name, dtype)


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """The share of rows whose one-hot label is among the `k` largest predictions."""

    def __init__(self, k: int = 5, name: str = "top_k_categorical_accuracy", dtype: DTypeLike | None = None) -> None:
        super().__init__(functions.top_k_categorical_accuracy, name, dtype, k=k)


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """The share of rows whose class number is among the `k` largest predictions."""

    def __init__(
        self, k: int = 5, name: str = "sparse_top_k_categorical_accuracy", dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(functions.sparse_top_k_categorical_accuracy, name, dtype, k=k)


class CosineSimilarity(MeanMetricWrapper):
    """The average cosine of the angle between labels and predictions."""

    def __init__(self, name: str = "cosine_similarity", dtype: DTypeLike | None = None, axis: int = -1) -> None:
        super().__init__(functions.cosine_similarity, name, dtype, axis=axis)


class MeanAbsoluteError(MeanMetricWrapper):
    """The average absolute difference."""

    def __init__(self, name: str = "mean_absolute_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.mean_absolute_error, name, dtype)


class MeanAbsolutePercentageError(MeanMetricWrapper):
    """The average difference in per cent."""

    def __init__(self, name: str = "mean_absolute_percentage_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.mean_absolute_percentage_error, name, dtype)


class MeanSquaredError(MeanMetricWrapper):
    """The average squared difference."""

    def __init__(self, name: str = "mean_squared_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.mean_squared_error, name, dtype)


class MeanSquaredLogarithmicError(MeanMetricWrapper):
    """The average squared difference of logarithms."""

    def __init__(self, name: str = "mean_squared_logarithmic_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.mean_squared_logarithmic_error, name, dtype)


class Hinge(MeanMetricWrapper):
    """The average hinge loss."""

    def __init__(self, name: str = "hinge", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.hinge, name, dtype)


class SquaredHinge(MeanMetricWrapper):
    """The average squared hinge loss."""

    def __init__(self, name: str = "squared_hinge", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.squared_hinge, name, dtype)


class CategoricalHinge(MeanMetricWrapper):
    """The average hinge loss of one-hot labels."""

    def __init__(self, name: str = "categorical_hinge", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.categorical_hinge, name, dtype)


class LogCoshError(MeanMetricWrapper):
    """The average of log(cosh(difference))."""

    def __init__(self, name: str = "logcosh", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.logcosh, name, dtype)


class Poisson(MeanMetricWrapper):
    """The average Poisson loss."""

    def __init__(self, name: str = "poisson", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.poisson, name, dtype)


class KLDivergence(MeanMetricWrapper):
    """The average Kullback-Leibler divergence."""

    def __init__(self, name: str = "kullback_leibler_divergence", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.kullback_leibler_divergence, name, dtype)


class BinaryCrossentropy(MeanMetricWrapper):
    """The average cross entropy of independent labels."""

    def __init__(
        self,
        name: str = "binary_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(losses.binary_crossentropy, name, dtype, **options)


class CategoricalCrossentropy(MeanMetricWrapper):
    """The average cross entropy of one-hot labels."""

    def __init__(
        self,
        name: str = "categorical_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(losses.categorical_crossentropy, name, dtype, **options)


class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """The average cross entropy of class numbers."""

    def __init__(
        self,
        name: str = "sparse_categorical_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(losses.sparse_categorical_crossentropy, name, dtype, from_logits=from_logits, axis=axis)


class RootMeanSquaredError(Mean):
    """The square root of the average squared difference."""

    def __init__(self, name: str = "root_mean_squared_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(name, dtype)

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Operation:
        """Returns the operation that adds the squared differences."""
        y_true, y_pred = (tf.cast(tf.convert_to_tensor(v), tf.as_dtype(self.dtype)) for v in (y_true, y_pred))
        y_true, y_pred = losses.squeezed(y_true, y_pred, losses.mean_squared_error)
        return super().update_state(tf.squared_difference(y_pred, y_true), sample_weight)

    def result(self) -> Tensor:
        return tf.sqrt(super().result())


class MeanRelativeError(Mean):
    """The average of the absolute difference over `normalizer`."""

    def __init__(self, normalizer: TensorLike, name: str | None = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(name or "mean_relative_error", dtype)
        self.normalizer = normalizer

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Operation:
        """Returns the operation that adds the relative differences."""
        kind = tf.as_dtype(self.dtype)
        y_true, y_pred = (tf.cast(tf.convert_to_tensor(v), kind) for v in (y_true, y_pred))
        relative = tf.div_no_nan(tf.abs(y_true - y_pred), tf.cast(tf.convert_to_tensor(self.normalizer), kind))
        return super().update_state(relative, sample_weight)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "normalizer": self.normalizer}


class MeanIoU(Metric):
    """The mean over the classes of intersection over union of labels and predicted class numbers."""

    def __init__(self, num_classes: int, name: str | None = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        self.total_cm = self.add_weight("total_confusion_matrix", shape=(num_classes, num_classes))

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Operation:
        """Returns the operation that adds the confusion matrix of the batch."""
        y_true, y_pred = (tf.reshape(tf.cast(tf.convert_to_tensor(v), tf.int64), [-1]) for v in (y_true, y_pred))
        if sample_weight is not None:
            sample_weight = tf.reshape(tf.cast(sample_weight, tf.as_dtype(self.dtype)), [-1])
        matrix = tf.confusion_matrix(
            y_true, y_pred, self.num_classes, weights=sample_weight, dtype=tf.as_dtype(self.dtype)
        )
        return tf.assign_add(self.total_cm, matrix).op

    def result(self) -> Tensor:
        """Returns the mean over the classes that occur."""
        matrix = self.total_cm.value()
        diagonal = tf.matrix_diag_part(matrix)
        union = tf.reduce_sum(matrix, 0) + tf.reduce_sum(matrix, 1) - diagonal
        present = tf.reduce_sum(tf.cast(tf.not_equal(union, 0.0), matrix.dtype))
        return tf.div_no_nan(tf.reduce_sum(tf.div_no_nan(diagonal, union)), present)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_classes": self.num_classes}

"""Metrics of true and false positives and negatives at thresholds: counts, precision, recall, areas under curves.

Invariant: a state is a vector with one element per threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tfnb.errors import InvalidArgumentError
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.types import DTypeLike
from tfnb.v1.keras.backend.settings import epsilon
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.metrics.base import Metric


def _counts(
    y_true: Any,
    y_pred: Any,
    thresholds: Sequence[float],
    weight: TensorLike | None,
    top_k: int | None = None,
    class_id: int | None = None,
) -> dict[str, Any]:
    """Returns the weighted numbers of true and false positives ("tp", "fp") and negatives by threshold."""
    y_pred = tf.cast(tf.convert_to_tensor(y_pred), tf.float32)
    y_true = tf.cast(tf.convert_to_tensor(y_true), tf.float32)
    if y_true.shape.ndims == (y_pred.shape.ndims or 0) + 1:
        y_true = tf.squeeze(y_true, [-1])
    if top_k is not None:
        least = tf.nn.top_k(y_pred, top_k).values[..., -1:]
        y_pred = tf.where(y_pred >= least, y_pred, tf.fill(tf.shape(y_pred), -1e30))
    if class_id is not None:
        y_true, y_pred = y_true[..., class_id], y_pred[..., class_id]
    label = tf.reshape(tf.cast(y_true, tf.bool), [1, -1])
    limits = tf.reshape(tf.constant(list(thresholds), tf.float32), [-1, 1])
    positive = tf.reshape(y_pred, [1, -1]) > limits
    weights = tf.ones_like(y_pred)
    if weight is not None:
        w = tf.cast(tf.convert_to_tensor(weight), tf.float32)
        for _ in range((y_pred.shape.ndims or 1) - (w.shape.ndims or 0)):
            w = tf.expand_dims(w, -1)
        weights = weights * w
    flat = tf.reshape(weights, [1, -1])
    no, negative = tf.logical_not(label), tf.logical_not(positive)

    def count(first: Tensor, second: Tensor) -> Tensor:
        return tf.reduce_sum(tf.cast(tf.logical_and(first, second), tf.float32) * flat, 1)

    return {
        "tp": count(positive, label),
        "fp": count(positive, no),
        "tn": count(negative, no),
        "fn": count(negative, label),
    }


def _thresholds(given: Any, default: float) -> list[float]:
    values = [default] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
    if any(v is None or v < 0 or v > 1 for v in values):
        raise InvalidArgumentError(f"Threshold values must be in [0, 1]. Invalid values: {values}")
    return values


class _AtThresholds(Metric):
    """A metric of counts at thresholds; subclasses name the counts that they need."""

    needed: tuple[str, ...] = ()
    names: ClassVar[dict[str, str]] = {
        "tp": "true_positives",
        "fp": "false_positives",
        "tn": "true_negatives",
        "fn": "false_negatives",
    }

    def __init__(
        self, thresholds: Sequence[float], name: str | None, dtype: DTypeLike | None, state: str | None = None
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self._limits = list(thresholds)
        self._counters = {
            key: self.add_weight(state or self.names[key], shape=(len(self._limits),)) for key in self.needed
        }
        self._options: dict[str, Any] = {}

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Operation:
        """Returns the operation that counts a batch."""
        counts = _counts(y_true, y_pred, self._limits, sample_weight, **self._options)
        return tf.group(*(tf.assign_add(v, counts[key]).op for key, v in self._counters.items()))

    def _value(self, key: str) -> Tensor:
        return self._counters[key].value()

    def _shown(self, value: Tensor) -> Tensor:
        return value[0] if len(self._limits) == 1 else value


class _Count(_AtThresholds):
    def __init__(
        self, thresholds: float | Sequence[float] | None = None, name: str | None = None, dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(_thresholds(thresholds, 0.5), name, dtype, "accumulator")
        self.init_thresholds = thresholds

    def result(self) -> Tensor:
        """Returns the count, or one per threshold."""
        return self._shown(self._value(self.needed[0]))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "thresholds": self.init_thresholds}


class TruePositives(_Count):
    """The number of positive predictions of positive labels."""

    needed = ("tp",)


class TrueNegatives(_Count):
    """The number of negative predictions of negative labels."""

    needed = ("tn",)


class FalsePositives(_Count):
    """The number of positive predictions of negative labels."""

    needed = ("fp",)


class FalseNegatives(_Count):
    """The number of negative predictions of positive labels."""

    needed = ("fn",)


class _Ratio(_AtThresholds):
    def __init__(
        self,
        thresholds: float | Sequence[float] | None = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        default = 0.5 if top_k is None else -1e29
        limits = [default] if thresholds is None else _thresholds(thresholds, default)
        super().__init__(limits, name, dtype)
        self.init_thresholds, self.top_k, self.class_id = thresholds, top_k, class_id
        self._options = {"top_k": top_k, "class_id": class_id}

    def result(self) -> Tensor:
        """Returns the ratio, or one per threshold."""
        right, wrong = (self._value(key) for key in self.needed)
        return self._shown(tf.div_no_nan(right, right + wrong))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "thresholds": self.init_thresholds,
            "top_k": self.top_k,
            "class_id": self.class_id,
        }


class Precision(_Ratio):
    """The share of true ones among positive predictions, at each threshold."""

    needed = ("tp", "fp")


class Recall(_Ratio):
    """The share of positive labels that were predicted, at each threshold."""

    needed = ("tp", "fn")


def _spread(n: int) -> list[float]:
    return [0.0 - epsilon(), *((i + 1) / (n - 1) for i in range(n - 2)), 1.0 + epsilon()]


class _AtValue(_AtThresholds):
    needed = ("tp", "fp", "tn", "fn")

    def __init__(self, value: float, num_thresholds: int, name: str | None, dtype: DTypeLike | None, what: str) -> None:
        if not 0 <= value <= 1:
            raise InvalidArgumentError(f"`{what}` must be in the range [0, 1], got {value}.")
        if num_thresholds <= 0:
            raise InvalidArgumentError(f"`num_thresholds` must be > 0, got {num_thresholds}.")
        limits = [0.5] if num_thresholds == 1 else [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
        super().__init__(limits if num_thresholds == 1 else [0.0, *limits, 1.0], name, dtype)
        self.value, self.num_thresholds, self._what = value, num_thresholds, what

    def _sensitivities(self) -> tuple[Any, Any]:
        sensitivity = tf.div_no_nan(self._value("tp"), self._value("tp") + self._value("fn"))
        return sensitivity, tf.div_no_nan(self._value("tn"), self._value("tn") + self._value("fp"))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), self._what: self.value, "num_thresholds": self.num_thresholds}


class SensitivityAtSpecificity(_AtValue):
    """The sensitivity at the threshold whose specificity is nearest to the given one."""

    def __init__(
        self, specificity: float, num_thresholds: int = 200, name: str | None = None, dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(specificity, num_thresholds, name, dtype, "specificity")

    def result(self) -> Tensor:
        """Returns the sensitivity."""
        sensitivities, specificities = self._sensitivities()
        return tf.gather(sensitivities, tf.argmin(tf.abs(specificities - self.value), 0))


class SpecificityAtSensitivity(_AtValue):
    """The specificity at the threshold whose sensitivity is nearest to the given one."""

    def __init__(
        self, sensitivity: float, num_thresholds: int = 200, name: str | None = None, dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(sensitivity, num_thresholds, name, dtype, "sensitivity")

    def result(self) -> Tensor:
        """Returns the specificity."""
        sensitivities, specificities = self._sensitivities()
        return tf.gather(specificities, tf.argmin(tf.abs(sensitivities - self.value), 0))


class AUC(_AtThresholds):
    """The area under the curve "ROC" or "PR", by sums over thresholds.

    summation_method: "interpolation", "minoring" or "majoring". Raises `InvalidArgumentError` for other names.
    """

    needed = ("tp", "tn", "fp", "fn")

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: DTypeLike | None = None,
        thresholds: Sequence[float] | None = None,
    ) -> None:
        if curve not in ("ROC", "PR") or summation_method not in ("interpolation", "minoring", "majoring"):
            raise InvalidArgumentError(f"AUC: the curve {curve!r} or the summation_method {summation_method!r}")
        if thresholds is not None:
            inner = sorted(thresholds)
            num_thresholds = len(inner) + 2
            limits = [0.0 - epsilon(), *inner, 1.0 + epsilon()]
        elif num_thresholds <= 1:
            raise InvalidArgumentError("`num_thresholds` must be > 1.")
        else:
            limits = _spread(num_thresholds)
        super().__init__(limits, name, dtype)
        self.num_thresholds, self.curve, self.summation_method = num_thresholds, curve, summation_method
        self._given = thresholds

    def result(self) -> Tensor:
        """Returns the area."""
        tp, tn, fp, fn = (self._value(key) for key in self.needed)
        recall = tf.div_no_nan(tp, tp + fn)
        if self.curve == "PR" and self.summation_method == "interpolation":
            return self._interpolated(tp, fp, fn)
        if self.curve == "ROC":
            x, y = tf.div_no_nan(fp, fp + tn), recall
        else:
            x, y = recall, tf.div_no_nan(tp, tp + fp)
        first, second = y[:-1], y[1:]
        if self.summation_method == "interpolation":
            heights = (first + second) / 2.0
        elif self.summation_method == "minoring":
            heights = tf.minimum(first, second)
        else:
            heights = tf.maximum(first, second)
        return tf.reduce_sum((x[:-1] - x[1:]) * heights)

    def _interpolated(self, tp: Tensor, fp: Tensor, fn: Tensor) -> Tensor:
        """Returns the area under precision and recall (Davis and Goadrich, 2006)."""
        d_tp = tp[:-1] - tp[1:]
        p = tp + fp
        d_p = p[:-1] - p[1:]
        slope = tf.div_no_nan(d_tp, tf.maximum(d_p, 0.0))
        intercept = tp[1:] - slope * p[1:]
        both = tf.logical_and(p[:-1] > 0, p[1:] > 0)
        ratio = tf.where(both, tf.div_no_nan(p[:-1], tf.maximum(p[1:], 0.0)), tf.ones_like(p[1:]))
        part = slope * (d_tp + intercept * tf.log(ratio))
        return tf.reduce_sum(tf.div_no_nan(part, tf.maximum(tp[1:] + fn[1:], 0.0)))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_thresholds": self.num_thresholds,
            "curve": self.curve,
            "summation_method": self.summation_method,
            "thresholds": self._given,
        }

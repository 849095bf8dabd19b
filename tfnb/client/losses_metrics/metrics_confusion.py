"""Metrics of binary predictions: true and false positives and negatives, precision, recall, areas under curves.

These are functions of `tf.metrics`. Invariant: all are computed from weighted counts of the four outcomes, at one
threshold or at several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.losses_metrics.metrics import (
    alike,
    counter,
    finished,
    metric_scope,
    spread_weights,
)
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import constant, ones_like
from tfnb.ops.array.gather import gather
from tfnb.ops.array.shape_ops import RESHAPE
from tfnb.ops.array.where_partition import where
from tfnb.ops.math.binary import DIV_NO_NAN, MAXIMUM, MINIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import GREATER, LOGICAL_AND, LOGICAL_NOT
from tfnb.ops.math.reduce_functions import argmin, reduce_sum
from tfnb.ops.math.unary import ABS, LOG
from tfnb.types import bool_, float32

__all__ = ["API", "at_thresholds", "auc", "count_outcome", "precision", "recall", "spread_thresholds"]

OUTCOMES: dict[str, Callable[[Any, Any], Any]] = {
    "true_positives": lambda y, p: LOGICAL_AND(y, p),
    "false_positives": lambda y, p: LOGICAL_AND(LOGICAL_NOT(y), p),
    "true_negatives": lambda y, p: LOGICAL_AND(LOGICAL_NOT(y), LOGICAL_NOT(p)),
    "false_negatives": lambda y, p: LOGICAL_AND(y, LOGICAL_NOT(p)),
}
SMALL = 1e-6  # TensorFlow's constant, which avoids division by zero
Pair = tuple[Any, Any]


def count_outcome(name: str, y: Tensor, p: Tensor, weights: Tensor | None) -> Pair:
    """Returns the number of the outcome `name` of `OUTCOMES`: (value, update operation)."""
    hits = cast(OUTCOMES[name](y, p), float32)
    if weights is not None:
        hits = hits * spread_weights(hits, weights)
    count = counter("count", [])
    return count.value(), count.assign_add(reduce_sum(hits))


def _yes_or_no(labels: Tensor, predictions: Tensor) -> tuple[Any, Any]:
    return alike(cast(labels, bool_), cast(predictions, bool_))


def _of_one(outcome: str, doc: str) -> Any:
    def metric(
        labels: TensorLike,
        predictions: TensorLike,
        weights: TensorLike | None = None,
        metrics_collections: Sequence[str] | str | None = None,
        updates_collections: Sequence[str] | str | None = None,
        name: str | None = None,
    ) -> Pair:
        with metric_scope(name, outcome, labels, predictions, weights) as (y, p, w):
            return finished(*count_outcome(outcome, *_yes_or_no(y, p), w), metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = outcome
    metric.__doc__ = doc
    return metric


true_positives = _of_one(
    "true_positives", "Returns the summed weights of the elements where `labels` and `predictions` are true."
)
false_positives = _of_one(
    "false_positives", "Returns the summed weights of the elements where `predictions` are true, but `labels` false."
)
true_negatives = _of_one(
    "true_negatives", "Returns the summed weights of the elements where `labels` and `predictions` are false."
)
false_negatives = _of_one(
    "false_negatives", "Returns the summed weights of the elements where `labels` are true, but `predictions` false."
)


def _ratio(name: str, other: str, doc: str) -> Any:
    def metric(
        labels: TensorLike,
        predictions: TensorLike,
        weights: TensorLike | None = None,
        metrics_collections: Sequence[str] | str | None = None,
        updates_collections: Sequence[str] | str | None = None,
        name: str | None = None,
    ) -> Pair:
        with metric_scope(name, metric.__name__, labels, predictions, weights) as (y, p, w):
            sides = []
            for outcome in ("true_positives", other):
                with get_default_graph().name_scope(outcome):
                    sides.append(count_outcome(outcome, *_yes_or_no(y, p), w))
            (hit, hits), (miss, misses) = sides
            pair = DIV_NO_NAN(hit, hit + miss), DIV_NO_NAN(hits, hits + misses)
            return finished(*pair, metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = name
    metric.__doc__ = doc
    return metric


precision = _ratio(
    "precision",
    "false_positives",
    "Returns the share of the true `predictions` where the `labels` are true; 0 if there are none.",
)
recall = _ratio(
    "recall",
    "false_negatives",
    "Returns the share of the true `labels` where the `predictions` are true; 0 if there are none.",
)


def at_thresholds(
    labels: Tensor, predictions: Tensor, thresholds: Sequence[float], weights: Tensor, names: Sequence[str]
) -> dict[str, Pair]:
    """Returns values and update operations of the wanted counts, each [thresholds]."""
    y, p = alike(cast(labels, bool_), cast(predictions, float32))
    threshold_column = RESHAPE(constant(thresholds, float32), [-1, 1])
    exceeds = GREATER(RESHAPE(p, [1, -1]), threshold_column)
    true = LOGICAL_AND(RESHAPE(y, [1, -1]), ones_like(exceeds, dtype=bool_))
    w = None
    if weights is not None:
        w = RESHAPE(spread_weights(p, weights), [1, -1])
    counts = {}
    for name in names:
        hits = cast(OUTCOMES[name](true, exceeds), float32)
        count = counter(name, [len(thresholds)])
        batch_count = reduce_sum(hits if w is None else hits * w, 1)
        counts[name] = count.value(), count.assign_add(batch_count)
    return counts


def _list_of(outcome: str) -> Any:
    full_name = f"{outcome}_at_thresholds"

    def metric(
        labels: TensorLike,
        predictions: TensorLike,
        thresholds: Sequence[float],
        weights: TensorLike | None = None,
        metrics_collections: Sequence[str] | str | None = None,
        updates_collections: Sequence[str] | str | None = None,
        name: str | None = None,
    ) -> Pair:
        with metric_scope(name, outcome, labels, predictions, weights) as (y, p, w):
            pair = at_thresholds(y, p, list(thresholds), w, [outcome])[outcome]
            return finished(*pair, metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = full_name
    metric.__doc__ = f"Returns `{outcome}` for `labels` and the predictions above each threshold: [thresholds]."
    return metric


def _ratios(name: str, other: str) -> Any:
    def metric(
        labels: TensorLike,
        predictions: TensorLike,
        thresholds: Sequence[float],
        weights: TensorLike | None = None,
        metrics_collections: Sequence[str] | str | None = None,
        updates_collections: Sequence[str] | str | None = None,
        name: str | None = None,
    ) -> Pair:
        with metric_scope(name, metric.__name__, labels, predictions, weights) as (y, p, w):
            counts = at_thresholds(y, p, list(thresholds), w, ["true_positives", other])
            (hit, hits), (miss, misses) = counts["true_positives"], counts[other]
            pair = hit / (1e-7 + hit + miss), hits / (1e-7 + hits + misses)
            return finished(*pair, metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = name
    metric.__doc__ = (
        f"Returns `{name.partition('_')[0]}` for `labels` and the predictions above each threshold: [thresholds]."
    )
    return metric


precision_at_thresholds = _ratios("precision_at_thresholds", "false_positives")
recall_at_thresholds = _ratios("recall_at_thresholds", "false_negatives")


def spread_thresholds(num_thresholds: int) -> list[float]:
    """Returns thresholds over [0, 1], of which the first and last lie just outside."""
    if num_thresholds < 3:
        raise InvalidArgumentError(f"needed at least 3 thresholds, got {num_thresholds}")
    inner = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
    return [-1e-7, *inner, 1 + 1e-7]


HEIGHTS: dict[str, Callable[[Any, Any], Any]] = {
    "trapezoidal": lambda a, b: (a + b) / 2.0,
    "minoring": MINIMUM,
    "majoring": MAXIMUM,
}


CAREFUL = "careful_interpolation"


def _careful_area(tp: Any, fp: Tensor, fn: Tensor) -> Any:
    """Returns the area under a precision-recall curve, where true positives between two points are linear in all
    positives (Davis and Goadrich, 2006)."""
    n = tp.shape.as_list()[0]
    positives = tp + fp
    fewer = tp[: n - 1] - tp[1:]
    slope = DIV_NO_NAN(fewer, MAXIMUM(positives[: n - 1] - positives[1:], 0.0))
    intercept = tp[1:] - slope * positives[1:]
    some = LOGICAL_AND(positives[: n - 1] > 0.0, positives[1:] > 0.0)
    ratio = where(some, DIV_NO_NAN(positives[: n - 1], MAXIMUM(positives[1:], 0.0)), ones_like(fewer))
    return reduce_sum(DIV_NO_NAN(slope * (fewer + intercept * LOG(ratio)), MAXIMUM(tp[1:] + fn[1:], 0.0)))


def auc(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Pair:
    """Returns the area under the ROC curve, or under the precision-recall curve (`curve="PR"`), a scalar.

    labels: bool, or numbers that are true where they are not 0. predictions: numbers from 0 to 1. The curve has a point
    for each of `num_thresholds` thresholds. Raises `InvalidArgumentError` for an unknown curve or `summation_method`
    (trapezoidal, minoring, majoring, and for PR careful_interpolation).
    """
    methods = [*HEIGHTS, CAREFUL] if curve == "PR" else [*HEIGHTS]
    if curve not in ("ROC", "PR") or summation_method not in methods:
        raise InvalidArgumentError(
            f"auc: curve {curve!r} and summation_method {summation_method!r}; needed ROC or PR, "
            f"and one of {', '.join(methods)}"
        )
    threshold_list = spread_thresholds(num_thresholds) if thresholds is None else [-1e-7, *thresholds, 1 + 1e-7]
    with metric_scope(name, "auc", labels, predictions, weights) as (y, p, w):
        counts = at_thresholds(y, p, threshold_list, w, list(OUTCOMES))

        def area(k: int) -> Any:
            tp, fp, tn, fn = (counts[n][k] for n in OUTCOMES)
            if summation_method == CAREFUL:
                return _careful_area(tp, fp, fn)
            hit_rate = (tp + SMALL) / (tp + fn + SMALL)
            if curve == "ROC":
                x, height = fp / (fp + tn + SMALL), hit_rate
            else:
                x, height = hit_rate, (tp + SMALL) / (tp + fp + SMALL)
            n = len(threshold_list)
            steps = (x[: n - 1] - x[1:]) * HEIGHTS[summation_method](height[: n - 1], height[1:])
            return reduce_sum(steps)

        return finished(area(0), area(1), metrics_collections, updates_collections)


def _one_given_other(full: str, wanted: tuple[str, str], held: tuple[str, str], last: bool) -> Any:
    def metric(
        labels: TensorLike,
        predictions: TensorLike,
        target: float | None = None,
        weights: TensorLike | None = None,
        num_thresholds: int = 200,
        metrics_collections: Sequence[str] | str | None = None,
        updates_collections: Sequence[str] | str | None = None,
        name: str | None = None,
        specificity: float | None = None,
        sensitivity: float | None = None,
    ) -> Pair:
        keyword = sensitivity if last else specificity
        if (specificity if last else sensitivity) is not None:
            raise InvalidArgumentError(f"{full} takes no {'specificity' if last else 'sensitivity'}")
        target = keyword if target is None else target
        if target is None or not 0 <= target <= 1:
            raise InvalidArgumentError(f"{full}: needed a number from 0 to 1, got {target}")
        with metric_scope(name, full, labels, predictions, weights) as (y, p, w):
            counts = at_thresholds(y, p, spread_thresholds(num_thresholds), w, list(OUTCOMES))

            def at(k: int) -> Any:
                a, b = (counts[n][k] for n in held)
                distance = ABS(a / (a + b + 1e-7) - target)
                # if several are equally near, TensorFlow uses the first for one metric and the last for the other
                nearest = num_thresholds - 1 - argmin(distance[::-1], 0) if last else argmin(distance, 0)
                c, d = (gather(counts[n][k], nearest) for n in wanted)
                return c / (c + d + 1e-7)

            return finished(at(0), at(1), metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = full
    metric_name, _, condition_name = full.partition("_at_")
    metric.__doc__ = (
        f"Returns the {metric_name} of `predictions` for `labels`, "
        f"at the threshold whose {condition_name} is nearest to `target` (`{condition_name}`), from 0 to 1."
    )
    return metric


_SENSITIVITY, _SPECIFICITY = ("true_positives", "false_negatives"), ("true_negatives", "false_positives")
sensitivity_at_specificity = _one_given_other("sensitivity_at_specificity", _SENSITIVITY, _SPECIFICITY, False)
specificity_at_sensitivity = _one_given_other("specificity_at_sensitivity", _SPECIFICITY, _SENSITIVITY, True)


def _swapped(function: Callable[..., Any]) -> Any:
    """Returns the metric of `tf.contrib.metrics`, whose predictions come before the labels."""

    def streaming(predictions: TensorLike, labels: TensorLike, *args: object, **kwargs: object) -> Any:
        return function(labels, predictions, *args, **kwargs)

    streaming.__name__ = streaming.__qualname__ = f"streaming_{function.__name__}"
    streaming.__doc__ = f"Does what `tf.metrics.{function.__name__}` does; the predictions come before the labels."
    return streaming


_FUNCTIONS = (
    true_positives,
    false_positives,
    true_negatives,
    false_negatives,
    precision,
    recall,
    auc,
    *(_list_of(outcome) for outcome in OUTCOMES),
    precision_at_thresholds,
    recall_at_thresholds,
    sensitivity_at_specificity,
    specificity_at_sensitivity,
)
API: dict[str, Any] = {}
for _function in _FUNCTIONS:
    API[f"metrics.{_function.__name__}"] = _function
    API[f"contrib.metrics.streaming_{_function.__name__}"] = _swapped(_function)

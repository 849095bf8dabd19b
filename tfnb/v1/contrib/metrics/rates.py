"""Metrics of yes-or-no predictions: rates of errors, F1, and one of precision and recall where the other is given.

Invariant: thresholds over [0, 1] are those of `tf.metrics`, the first and last of which lie just outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.losses_metrics.metrics import alike, finished, metric_scope
from tfnb.client.losses_metrics.metrics_confusion import at_thresholds, count_outcome, spread_thresholds
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.gather import gather
from tfnb.ops.math.binary import DIV_NO_NAN, MAXIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import GREATER_EQUAL, SELECT
from tfnb.ops.math.reduce_functions import argmax, argmin, reduce_max, reduce_sum
from tfnb.ops.math.unary import ABS
from tfnb.types import bool_, int32

__all__ = ["f1_score", "precision_at_recall", "recall_at_precision"]

Pair = tuple[Any, Any]
_SMALL = 1e-7


def _rate(wrong: str, right: str, doc: str) -> Callable[..., Pair]:
    full = f"streaming_{wrong.removesuffix('s')}_rate"

    def metric(
        predictions: TensorLike,
        labels: TensorLike,
        weights: TensorLike | None = None,
        metrics_collections: Sequence[str] | str | None = None,
        updates_collections: Sequence[str] | str | None = None,
        name: str | None = None,
    ) -> Pair:
        with metric_scope(name, full.removeprefix("streaming_"), predictions, labels, weights) as (p, y, w):
            y, p = alike(cast(y, bool_), cast(p, bool_))
            (a, more_a), (b, more_b) = (count_outcome(outcome, y, p, w) for outcome in (wrong, right))
            pair = DIV_NO_NAN(a, a + b), DIV_NO_NAN(more_a, more_a + more_b)
            return finished(*pair, metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = full
    metric.__doc__ = f"Returns {doc}, for `predictions` and `labels` as bools."
    return metric


def _rates(wrong: str, right: str, doc: str) -> Callable[..., Pair]:
    full = f"streaming_{wrong.removesuffix('s')}_rate_at_thresholds"

    def metric(
        predictions: TensorLike,
        labels: TensorLike,
        thresholds: Sequence[float],
        weights: TensorLike | None = None,
        metrics_collections: Sequence[str] | str | None = None,
        updates_collections: Sequence[str] | str | None = None,
        name: str | None = None,
    ) -> Pair:
        with metric_scope(name, full.removeprefix("streaming_"), predictions, labels, weights) as (p, y, w):
            counts = at_thresholds(y, p, list(thresholds), w, [wrong, right])
            (a, more_a), (b, more_b) = counts[wrong], counts[right]
            pair = a / (_SMALL + a + b), more_a / (_SMALL + more_a + more_b)
            return finished(*pair, metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = full
    metric.__doc__ = f"Returns {doc}, for `labels` and `predictions` above each of the thresholds: [thresholds]."
    return metric


_FALSE_POSITIVES = ("false_positives", "true_negatives", "the share of false labels that are predicted to be true")
_FALSE_NEGATIVES = ("false_negatives", "true_positives", "the share of true labels that are predicted to be false")
streaming_false_positive_rate = _rate(*_FALSE_POSITIVES)
streaming_false_negative_rate = _rate(*_FALSE_NEGATIVES)
streaming_false_positive_rate_at_thresholds = _rates(*_FALSE_POSITIVES)
streaming_false_negative_rate_at_thresholds = _rates(*_FALSE_NEGATIVES)


def _of_counts(
    default: str,
    given: tuple[TensorLike, TensorLike, TensorLike | None],
    num_thresholds: int,
    function: Callable[[Any, Any, Any], Any],
    collections: tuple[Sequence[str] | str | None, Sequence[str] | str | None],
    name: str | None,
) -> Pair:
    """Returns a metric that is a function of true positives, false positives and false negatives at thresholds."""
    with metric_scope(name, default, *given) as (y, p, w):
        names = ["true_positives", "false_positives", "false_negatives"]
        counts = at_thresholds(y, p, spread_thresholds(num_thresholds), w, names)
        value, update = (function(*(counts[n][i] for n in names)) for i in range(2))
        return finished(value, update, *collections)


def f1_score(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns the largest F1 score, 2 precision recall / (precision + recall), over thresholds of `predictions`.

    predictions: floats in [0, 1], of the shape of `labels`.
    """

    def best(tp: Tensor, fp: Tensor, fn: Tensor) -> Tensor:
        precision, recall = tp / (_SMALL + tp + fp), tp / (_SMALL + tp + fn)
        return reduce_max(2.0 * precision * recall / (precision + recall + _SMALL))

    collections = (metrics_collections, updates_collections)
    return _of_counts("f1", (labels, predictions, weights), num_thresholds, best, collections, name)


def precision_at_recall(
    labels: TensorLike,
    predictions: TensorLike,
    target_recall: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns the precision at the largest threshold of `predictions` whose recall is at least `target_recall`.

    predictions: floats in [0, 1], of the shape of `labels`. Raises `InvalidArgumentError` for a recall outside [0, 1].
    """
    if not 0 <= target_recall <= 1:
        raise InvalidArgumentError(f"target_recall must be in [0, 1], got {target_recall}")

    def chosen(tp: Tensor, fp: Tensor, fn: Tensor) -> Tensor:
        enough = GREATER_EQUAL(tp / (tp + fn + _SMALL), target_recall)
        last = reduce_sum(cast(enough, int32)) - 1
        hits = gather(tp, MAXIMUM(last, 0))
        return (hits + _SMALL) / (hits + gather(fp, MAXIMUM(last, 0)) + _SMALL)

    collections = (metrics_collections, updates_collections)
    given = (labels, predictions, weights)
    return _of_counts("precision_at_recall", given, num_thresholds, chosen, collections, name)


def recall_at_precision(
    labels: TensorLike,
    predictions: TensorLike,
    precision: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
    strict_mode: bool = False,
) -> Pair:
    """Returns the recall at the threshold of `predictions` whose precision is nearest to `precision`.

    With `strict_mode` at that whose precision is the least above it, or 0 where there is none. predictions: floats in
    [0, 1], of the shape of `labels`. Raises `InvalidArgumentError` for a precision outside [0, 1].
    """
    if not 0 <= precision <= 1:
        raise InvalidArgumentError(f"precision must be in [0, 1], got {precision}")

    def chosen(tp: Tensor, fp: Tensor, fn: Tensor) -> Tensor:
        found = tp / (tp + fp + _SMALL)
        if strict_mode:
            place = argmax(1.0 / (found - precision + _SMALL), 0, output_type=int32)
        else:
            place = argmin(ABS(found - precision), 0, output_type=int32)
        hits = gather(tp, place)
        recall = hits / (hits + gather(fn, place) + _SMALL)
        return SELECT(GREATER_EQUAL(gather(found, place), precision), recall, 0.0 * recall) if strict_mode else recall

    collections = (metrics_collections, updates_collections)
    given = (labels, predictions, weights)
    return _of_counts("recall_at_precision", given, num_thresholds, chosen, collections, name)

"""Metrics of `tf.contrib.metrics` that describe values: counts, covariance, correlation, kappa; and lists of metrics.

Invariant: a metric is a pair (value, update operation), whose counters are local variables, as those of `tf.metrics`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.client.losses_metrics.metrics import alike, counter, finished, mean, metric_scope, spread_weights
from tfnb.client.losses_metrics.metrics_at_k import average_precision_at_k, precision_at_top_k, recall_at_top_k
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.array_functions import confusion_matrix
from tfnb.ops.array.constants import ones_like
from tfnb.ops.array.shape_ops import IDENTITY, RESHAPE
from tfnb.ops.array.top_k import IN_TOP_K
from tfnb.ops.linalg.diag import DIAG_PART
from tfnb.ops.math.binary import DIV_NO_NAN
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import SELECT
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.math.unary import SQRT
from tfnb.types import float32, float64

__all__ = ["aggregate_metric_map", "aggregate_metrics", "cohen_kappa", "count", "streaming_covariance"]

Pair = tuple[Any, Any]


def aggregate_metrics(*value_update_tuples: Pair) -> tuple[list[Any], list[Any]]:
    """Returns (a list of the values, a list of the update operations) of pairs, as metrics return them.

    Raises `InvalidArgumentError` without pairs.
    """
    if not value_update_tuples:
        raise InvalidArgumentError("aggregate_metrics needs at least one pair (value, update operation)")
    return [value for value, _ in value_update_tuples], [update for _, update in value_update_tuples]


def aggregate_metric_map(names_to_tuples: Mapping[str, Pair]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns (a dict of values, a dict of update operations) from a dict of the pairs that metrics return."""
    pairs = names_to_tuples.items()
    return {name: pair[0] for name, pair in pairs}, {name: pair[1] for name, pair in pairs}


def count(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns the number of values of all batches, or the sum of their weights."""
    with metric_scope(name, "count", values, weights) as (v, w):
        ones = cast(ones_like(v), float32)
        total = counter("count", [])
        added = reduce_sum(ones if w is None else spread_weights(ones, w))
        return finished(total.value(), total.assign_add(added), metrics_collections, updates_collections)


def _moments_of(p: Tensor, y: Tensor, w: Tensor | None) -> tuple[Any, Any]:
    """Adds a batch to the counters of a covariance; returns (the covariance, the operation that gives the new one)."""
    total, mean_p, mean_y = counter("count", []), counter("mean_prediction", []), counter("mean_label", [])
    comoment = counter("comoment", [])
    ones = ones_like(p) if w is None else spread_weights(p, w)
    n = reduce_sum(ones)
    old_n, old_p, old_y = (IDENTITY(c.value()) for c in (total, mean_p, mean_y))
    batch_p, batch_y = DIV_NO_NAN(reduce_sum(p * ones), n), DIV_NO_NAN(reduce_sum(y * ones), n)
    new_n = old_n + n
    shift_p, shift_y = DIV_NO_NAN((batch_p - old_p) * n, new_n), DIV_NO_NAN((batch_y - old_y) * n, new_n)
    inside = reduce_sum((p - batch_p) * (y - batch_y) * ones)
    between = (old_p - batch_p) * (old_y - batch_y) * DIV_NO_NAN(old_n * n, new_n)
    with get_default_graph().control_dependencies([shift_p, shift_y, inside + between]):
        updates = [total.assign_add(n), mean_p.assign_add(shift_p), mean_y.assign_add(shift_y)]
        updates.append(comoment.assign_add(inside + between))

    def value(moment: Tensor, size: Tensor) -> Tensor:
        return SELECT(size <= 1.0, moment * float("nan"), moment / (size - 1.0))

    with get_default_graph().control_dependencies(updates):
        update = value(IDENTITY(updates[3]), IDENTITY(updates[0]))
    return value(comoment.value(), total.value()), update


def streaming_covariance(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns the unbiased covariance of predictions and labels of all batches; NaN for at most one value.

    Raises `ShapeError` when the shapes do not fit.
    """
    with metric_scope(name, "covariance", predictions, labels, weights) as (p, y, w):
        y, p = alike(y, p)
        value, update = _moments_of(cast(p, float32), cast(y, float32), w)
        return finished(value, update, metrics_collections, updates_collections)


def streaming_pearson_correlation(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns Pearson's correlation of predictions and labels of all batches.

    Raises `ShapeError` when the shapes do not fit.
    """
    with metric_scope(name, "pearson_r", predictions, labels, weights) as (p, y, w):
        y, p = alike(y, p)
        pairs = [
            streaming_covariance(a, b, w, name=part)
            for a, b, part in ((p, y, "covariance"), (p, p, "variance_predictions"), (y, y, "variance_labels"))
        ]
        values, updates = aggregate_metrics(*pairs)
        value, update = (c / (SQRT(v) * SQRT(u)) for c, v, u in (values, updates))
        return finished(value, update, metrics_collections, updates_collections)


def cohen_kappa(
    labels: TensorLike,
    predictions_idx: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns Cohen's kappa: how far labels and predictions agree more than by chance, a float64 scalar.

    labels, predictions_idx: classes below `num_classes`. Raises `InvalidArgumentError` for fewer than two classes.
    """
    if num_classes < 2:
        raise InvalidArgumentError(f"num_classes must be >= 2, got {num_classes}")
    with metric_scope(name, "cohen_kappa", labels, predictions_idx, weights) as (y, p, w):
        y, p = alike(y, p)
        table = cast(
            confusion_matrix(RESHAPE(y, [-1]), RESHAPE(p, [-1]), num_classes, weights=w, dtype=float64), float64
        )
        batch = [DIAG_PART(table), reduce_sum(table, 0), reduce_sum(table, 1)]
        counters = [counter(part, [num_classes], float64) for part in ("po", "pe_row", "pe_col")]
        updates = [c.assign_add(b) for c, b in zip(counters, batch, strict=True)]

        def kappa(agreed: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
            total = reduce_sum(rows)
            chance = reduce_sum(DIV_NO_NAN(rows * columns, total))
            return DIV_NO_NAN(reduce_sum(agreed) - chance, total - chance)

        value = kappa(*(c.value() for c in counters))
        return finished(value, kappa(*updates), metrics_collections, updates_collections)


def streaming_recall_at_k(
    predictions: TensorLike,
    labels: TensorLike,
    k: int,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns the share of rows of `predictions`, (batch, classes), whose label is among the `k` largest."""
    hits = cast(IN_TOP_K(predictions, labels, k=k), float32)
    return mean(hits, weights, metrics_collections, updates_collections, name or f"recall_at_{k}")


def sparse_recall_at_top_k(
    labels: TensorLike | SparseTensor,
    top_k_predictions: TensorLike,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Does what `tf.metrics.recall_at_top_k` does, for classes `top_k_predictions`, (batch, k)."""
    more = (class_id, weights, metrics_collections, updates_collections, name)
    return recall_at_top_k(labels, top_k_predictions, None, *more)


def streaming_sparse_precision_at_top_k(
    top_k_predictions: TensorLike,
    labels: TensorLike | SparseTensor,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Does what `tf.metrics.precision_at_top_k` does, for classes `top_k_predictions`, (batch, k)."""
    more = (class_id, weights, metrics_collections, updates_collections, name)
    return precision_at_top_k(labels, top_k_predictions, None, *more)


def streaming_sparse_average_precision_at_k(
    predictions: TensorLike,
    labels: Any,
    k: int,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Does what `tf.metrics.average_precision_at_k` does; the predictions come before the labels."""
    return average_precision_at_k(labels, predictions, k, weights, metrics_collections, updates_collections, name)

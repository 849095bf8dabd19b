"""Precision and recall of the k best predictions: metrics over many batches, as in `metrics.py`.

A row has a set of true classes and a set of predicted classes. Invariant: each class counts once in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

from tfnb.client.losses_metrics.metrics import Pair, counter, finished, metric_scope, spread_weights
from tfnb.ir.default import graph_of
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import range_
from tfnb.ops.array.shape_ops import EXPAND_DIMS, SHAPE
from tfnb.ops.array.tile_reverse_mirror import pad
from tfnb.ops.array.top_k import top_k
from tfnb.ops.math.binary import DIV_NO_NAN, MINIMUM, REAL_DIV
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL, LOGICAL_AND, LOGICAL_NOT
from tfnb.ops.math.reduce_functions import reduce_any, reduce_sum
from tfnb.ops.math.scan import cumsum
from tfnb.ops.sparse.functions import sparse_tensor_to_dense
from tfnb.ops.sparse.sets import set_difference, set_intersection, set_size
from tfnb.types import float64, int32, int64

__all__ = ["API"]


def _labels(labels: TensorLike | SparseTensor | SparseTensorValue, predicted: Tensor) -> Any:
    """Returns the true classes: a SparseTensor, or int64 with a last dimension of one or more classes per row."""
    if isinstance(labels, (SparseTensor, SparseTensorValue)):
        sparse = SparseTensor.from_value(labels)
        rank = sparse.indices.shape.as_list()[-1] if sparse.indices.shape.ndims == 2 else None
        if rank is None or predicted.shape.ndims is None or rank >= predicted.shape.ndims:
            return sparse
        missing_rank = predicted.shape.ndims - rank  # one class for each row becomes a row of one class
        indices = pad(sparse.indices, [[0, 0], [0, missing_rank]])
        return SparseTensor(indices, sparse.values, pad(sparse.dense_shape, [[0, missing_rank]], constant_values=1))
    y = cast(labels, int64)
    return EXPAND_DIMS(y, -1) if y.shape.ndims is not None and y.shape.ndims < predicted.shape.ndims else y


def _counts(outcome: str, y: Tensor | SparseTensor, p: Tensor, class_id: TensorLike | None) -> Any:
    """Returns how many classes of each row are true and predicted ("tp"), only predicted ("fp") or only true ("fn")."""
    if class_id is not None:
        class_tensor = p.graph.to_tensor(class_id, int64)
        other = class_tensor - 1  # stands where a row has fewer classes
        dense = sparse_tensor_to_dense(y, default_value=other, validate_indices=False) if _is_sparse(y) else y
        is_true, is_guess = (reduce_any(EQUAL(t, class_tensor), axis=-1) for t in (dense, p))
        is_true = LOGICAL_NOT(is_true) if outcome == "fp" else is_true
        is_guess = LOGICAL_NOT(is_guess) if outcome == "fn" else is_guess
        return cast(LOGICAL_AND(is_true, is_guess), float64)
    if outcome == "tp":
        return cast(set_size(set_intersection(p, y)), float64)
    return cast(set_size(set_difference(p, y, aminusb=outcome == "fp")), float64)


def _is_sparse(x: object) -> TypeGuard[SparseTensor]:
    return isinstance(x, SparseTensor)


def _total(name: str, counts: Tensor, weights: Tensor) -> Pair:
    """Returns (the total over all batches, the operation that adds this batch)."""
    if weights is not None:
        counts = counts * spread_weights(counts, weights)
    total = counter(name, (), float64)
    return total.read_value(), total.assign_add(reduce_sum(counts))


def _at_top_k(name: str, other: str, doc: str) -> Any:
    """Returns the metric tp / (tp + other); it is NaN while both are 0."""

    def metric(
        labels: TensorLike | SparseTensor | SparseTensorValue,
        predictions_idx: TensorLike,
        k: int | None = None,
        class_id: int | None = None,
        weights: TensorLike | None = None,
        metrics_collections: Sequence[str] | str | None = None,
        updates_collections: Sequence[str] | str | None = None,
        name: str | None = None,
    ) -> Pair:
        with metric_scope(name, default, predictions_idx, weights) as (p, w):
            p = cast(p, int64)
            y = _labels(labels, p)
            hits, add_hits = _total("true_positives", _counts("tp", y, p, class_id), w)
            rest, add_rest = _total(other, _counts(other, y, p, class_id), w)
            return finished(
                REAL_DIV(hits, hits + rest),
                REAL_DIV(add_hits, add_hits + add_rest),
                metrics_collections,
                updates_collections,
            )

    default = name
    metric.__name__ = metric.__qualname__ = name
    metric.__doc__ = doc
    return metric


def _at_k(name: str, top: Callable[..., Pair]) -> Any:
    def metric(
        labels: TensorLike | SparseTensor | SparseTensorValue,
        predictions: TensorLike,
        k: int,
        class_id: int | None = None,
        weights: TensorLike | None = None,
        metrics_collections: Sequence[str] | str | None = None,
        updates_collections: Sequence[str] | str | None = None,
        name: str | None = None,
    ) -> Pair:
        best = top_k(graph_of([predictions]).to_tensor(predictions), k)[1]
        return top(labels, best, k, class_id, weights, metrics_collections, updates_collections, name or default)

    default = name
    metric.__name__ = metric.__qualname__ = name
    metric.__doc__ = (
        f"{top.__doc__}\n\npredictions: scores of all classes; those with the k largest scores are predicted."
    )
    return metric


_ROWS = """labels: (..., n) or a SparseTensor of true classes, or (...) of one each; `class_id`: count that class only;
weights: broadcast to the rows."""
recall_at_top_k = _at_top_k(
    "recall_at_top_k",
    "fn",
    f"Returns the share of the true classes that is among those in `predictions_idx`, (..., k).\n\n{_ROWS}",
)
precision_at_top_k = _at_top_k(
    "precision_at_top_k",
    "fp",
    f"Returns the share of the classes in `predictions_idx`, (..., k), that is true.\n\n{_ROWS}",
)
recall_at_k = _at_k("recall_at_k", recall_at_top_k)
precision_at_k = _at_k("precision_at_k", precision_at_top_k)


def average_precision_at_k(
    labels: TensorLike | SparseTensor | SparseTensorValue,
    predictions: TensorLike,
    k: int,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns the mean over rows of the average precision of the k best predictions.

    The average precision is the sum of the precisions at the correct predictions, divided by the largest possible
    number of correct ones. labels: (..., n), a SparseTensor, or (...). predictions: scores of all classes. A row
    without true classes counts as 0.
    """
    with metric_scope(name, f"average_precision_at_{k}", predictions, weights) as (p, w):
        best = cast(top_k(p, k)[1], int64)
        y = _labels(labels, best)
        if _is_sparse(y):
            n_labels = cast(set_size(y), int32)
            y = sparse_tensor_to_dense(y, default_value=-1, validate_indices=False)
        else:
            n_labels = SHAPE(y, out_type=int32)[-1]
        is_hit = cast(reduce_any(EQUAL(EXPAND_DIMS(best, -1), EXPAND_DIMS(y, -2)), axis=-1), float64)
        ranks = cast(range_(1, k + 1), float64)
        precisions = DIV_NO_NAN(
            reduce_sum(cumsum(is_hit, axis=-1) / ranks * is_hit, axis=-1), cast(MINIMUM(n_labels, k), float64)
        )
        ones = precisions * 0.0 + 1.0
        total, add = _total("average_precision_at_k/total", precisions, w)
        count, add_count = _total("average_precision_at_k/max", ones, w)
        return finished(DIV_NO_NAN(total, count), DIV_NO_NAN(add, add_count), metrics_collections, updates_collections)


def _swapped(function: Callable[..., Any], name: str) -> Any:
    """Returns the metric of `tf.contrib.metrics`, whose predictions come before the labels."""

    def streaming(
        predictions: TensorLike, labels: TensorLike | SparseTensor | SparseTensorValue, *args: object, **kwargs: object
    ) -> Any:
        return function(labels, predictions, *args, **kwargs)

    streaming.__name__ = streaming.__qualname__ = name
    streaming.__doc__ = f"Does what `tf.metrics.{function.__name__}` does; the predictions come before the labels."
    return streaming


API: dict[str, Any] = {
    "metrics.recall_at_k": recall_at_k,
    "metrics.recall_at_top_k": recall_at_top_k,
    "metrics.precision_at_k": precision_at_k,
    "metrics.sparse_precision_at_k": precision_at_k,
    "metrics.precision_at_top_k": precision_at_top_k,
    "metrics.average_precision_at_k": average_precision_at_k,
    "metrics.sparse_average_precision_at_k": average_precision_at_k,
    "contrib.metrics.streaming_sparse_recall_at_k": _swapped(recall_at_k, "streaming_sparse_recall_at_k"),
    "contrib.metrics.streaming_sparse_precision_at_k": _swapped(precision_at_k, "streaming_sparse_precision_at_k"),
}

"""Metrics over many batches: `tf.metrics.*`, each a pair (value, update operation) that uses local variables.

The update operation adds a batch and returns the new value. Invariant: the counters are in LOCAL_VARIABLES and
METRIC_VARIABLES; `tf.local_variables_initializer()` sets them to zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tfnb.client.argument_types import CollectionNames
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.losses_metrics.weights import of_rank, weighted
from tfnb.client.variables.scope import variable_scope
from tfnb.client.variables.variable import Variable
from tfnb.errors import ShapeError
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.array_functions import confusion_matrix
from tfnb.ops.array.constants import ones_like, zeros
from tfnb.ops.array.shape_ops import IDENTITY, RESHAPE, squeeze
from tfnb.ops.linalg.diag import DIAG_PART
from tfnb.ops.math.binary import DIV_NO_NAN
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL, GREATER, LESS
from tfnb.ops.math.reduce_functions import reduce_mean, reduce_sum
from tfnb.ops.math.unary import ABS, NEG, SQRT, SQUARE
from tfnb.types import DType, float32, float64, int64

__all__ = ["API", "accuracy", "alike", "counter", "finished", "mean", "metric_scope"]

Pair = tuple[Any, Any]


def counter(name: str, shape: Sequence[int], dtype: DType = float32) -> Variable:
    """Returns a local variable of zeros in which a metric counts."""
    keys = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    return Variable(lambda: zeros(shape, dtype), trainable=False, collections=keys, name=name)


@contextmanager
def metric_scope(name: str | None, default: str, *given: TensorLike | None) -> Iterator[list[Any]]:
    """Opens the metric's scope and yields the given values as tensors; None stays None."""
    graph = graph_of([v for v in given if v is not None])
    with graph.as_default(), variable_scope(name, default):
        yield [None if v is None else graph.to_tensor(v) for v in given]


def finished(
    value: Tensor,
    update: Tensor | Operation,
    metrics_collections: CollectionNames | None,
    updates_collections: CollectionNames | None,
) -> Pair:
    """Returns the pair (value, update), after adding both to the collections."""
    graph = value.graph
    for keys, tensor in ((metrics_collections, value), (updates_collections, update)):
        if keys:
            graph.add_to_collections([keys] if isinstance(keys, str) else keys, tensor)
    return value, update


def alike(labels: Tensor, predictions: Tensor) -> tuple[Any, Any]:
    """Returns labels and predictions in one shape: a last dimension of 1 that only one of them has is dropped."""
    a, b = labels.shape.ndims, predictions.shape.ndims
    if a is not None and b is not None:
        if a == b + 1:
            labels = squeeze(labels, [-1])
        elif b == a + 1:
            predictions = squeeze(predictions, [-1])
    if not labels.shape.is_compatible_with(predictions.shape):
        raise ShapeError(
            f"metrics: labels of shape {labels.shape} and predictions of shape {predictions.shape} do not fit"
        )
    return labels, predictions


def spread_weights(values: Tensor, weights: TensorLike) -> Any:
    """Returns the weights in the shape and dtype of `values`.

    A superfluous last dimension of 1 is dropped, and a missing one is added. Raises `ShapeError` for weights that do
    not fit.
    """
    return weighted(ones_like(values), of_rank(cast(weights, values.dtype), values.shape.ndims, values))


def _weighted(values: Tensor, weights: TensorLike | None) -> tuple[Any, Any]:
    """Returns (values * weights, weights in the shape of the values); the weights broadcast."""
    if weights is None:
        return values, ones_like(values)
    w = spread_weights(values, weights)
    return values * w, w


def _added(*more: tuple[Variable, Tensor]) -> list[Tensor]:
    """Adds to all counters, or to none where a batch ended before it gave all the values."""
    with get_default_graph().control_dependencies([value for _, value in more]):
        return [count.assign_add(value) for count, value in more]


def _mean(values: Tensor, weights: Tensor | None, then: Callable[[Any], Any] = IDENTITY) -> Pair:
    values, w = _weighted(cast(values, float32), weights)
    total, count = counter("total", []), counter("count", [])
    updates = _added((total, reduce_sum(values)), (count, reduce_sum(w)))
    return then(DIV_NO_NAN(total.value(), count.value())), then(DIV_NO_NAN(*updates))


def mean(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns the (weighted) mean of all values of all batches: float32 scalars, the value and the update operation."""
    with metric_scope(name, "mean", values, weights) as (v, w):
        return finished(*_mean(v, w), metrics_collections, updates_collections)


def accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns the share of predictions that equal the labels. Raises `ShapeError` when their shapes do not fit."""
    with metric_scope(name, "accuracy", labels, predictions, weights) as (y, p, w):
        y, p = alike(y, p)
        y = y if y.dtype is p.dtype else cast(y, p.dtype)
        return finished(*_mean(EQUAL(p, y), w), metrics_collections, updates_collections)


def _of_errors(default: str, error: Callable[[Any, Any], Any], then: Callable[[Tensor], Tensor], doc: str) -> Any:
    def metric(
        labels: TensorLike,
        predictions: TensorLike,
        weights: TensorLike | None = None,
        metrics_collections: Sequence[str] | str | None = None,
        updates_collections: Sequence[str] | str | None = None,
        name: str | None = None,
    ) -> Pair:
        with metric_scope(name, default, labels, predictions, weights) as (y, p, w):
            y, p = alike(cast(y, float32), cast(p, float32))
            pair = _mean(error(p, y), w, then)
            return finished(*pair, metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = default
    metric.__doc__ = doc
    return metric


mean_squared_error = _of_errors(
    "mean_squared_error",
    lambda p, y: SQUARE(p - y),
    IDENTITY,
    "Returns the mean of (predictions - labels)^2 over all batches.",
)
mean_absolute_error = _of_errors(
    "mean_absolute_error",
    lambda p, y: ABS(p - y),
    IDENTITY,
    "Returns the mean of |predictions - labels| over all batches.",
)
root_mean_squared_error = _of_errors(
    "root_mean_squared_error",
    lambda p, y: SQUARE(p - y),
    SQRT,
    "Returns the root of the mean of (predictions - labels)^2 over all batches.",
)


def mean_relative_error(
    labels: TensorLike,
    predictions: TensorLike,
    normalizer: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns the mean of |labels - predictions| / normalizer, which counts as 0 where the normalizer is 0."""
    with metric_scope(name, "mean_relative_error", labels, predictions, normalizer, weights) as tensors:
        y, p, n, w = tensors
        y, p = alike(cast(y, float32), cast(p, float32))
        pair = _mean(DIV_NO_NAN(ABS(y - p), cast(n, float32)), w)
        return finished(*pair, metrics_collections, updates_collections)


def percentage_below(
    values: TensorLike,
    threshold: float,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns the share of values that are below the threshold."""
    with metric_scope(name, "percentage_below_threshold", values, weights) as (v, w):
        return finished(*_mean(LESS(v, threshold), w), metrics_collections, updates_collections)


def mean_tensor(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns the elementwise mean of the tensors of all batches; their shape must be known."""
    with metric_scope(name, "mean", values, weights) as (v, w):
        v, w = _weighted(cast(v, float32), w)
        total, count = counter("total_tensor", v.shape), counter("count_tensor", v.shape)
        pair = DIV_NO_NAN(total.value(), count.value()), DIV_NO_NAN(*_added((total, v), (count, w)))
        return finished(*pair, metrics_collections, updates_collections)


def mean_cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    dim: int,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns one minus the mean of the inner products of `labels` and `predictions` along `dim`.

    The vectors are expected to have length one.
    """
    with metric_scope(name, "mean_cosine_distance", labels, predictions, weights) as (y, p, w):
        y, p = alike(cast(y, float32), cast(p, float32))
        closeness = reduce_sum(y * p, [dim], keepdims=True)
        value, update = _mean(closeness, w)
        return finished(NEG(value) + 1.0, NEG(update) + 1.0, metrics_collections, updates_collections)


def _confusion(labels: Tensor, predictions: Tensor, n: int, weights: Tensor | None) -> Tensor:
    """Returns how often each class (row) was predicted as each class (column), float64."""
    y, p = (RESHAPE(cast(v, int64), [-1]) for v in (labels, predictions))
    w = None if weights is None else RESHAPE(cast(weights, float64), [-1])
    return confusion_matrix(y, p, n, float64, weights=w)


def counted_confusion(labels: Tensor, predictions: Tensor, n: int, weights: Tensor | None) -> tuple[Variable, Tensor]:
    """Returns a local variable that holds the confusion matrix, float64, and the operation that adds a batch to it."""
    total = counter("total_confusion_matrix", [n, n], float64)
    return total, total.assign_add(_confusion(labels, predictions, n, weights))


def mean_iou(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns the mean over classes of intersection over union: (label and prediction) / (label or prediction),
    float32.

    Only classes that occurred count. The update operation returns the confusion matrix [num_classes, num_classes].
    """
    with metric_scope(name, "mean_iou", labels, predictions, weights) as (y, p, w):
        total, update = counted_confusion(y, p, num_classes, w)
        intersection = DIAG_PART(total.value())
        union = reduce_sum(total.value(), 0) + reduce_sum(total.value(), 1) - intersection
        n_classes = reduce_sum(cast(GREATER(union, 0.0), float64))
        value = DIV_NO_NAN(reduce_sum(DIV_NO_NAN(intersection, union)), n_classes)
        return finished(cast(value, float32), update, metrics_collections, updates_collections)


def mean_per_class_accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Pair:
    """Returns the mean of the accuracies of the classes: the share of each class's labels that was predicted.

    labels, predictions: integers below `num_classes`. The update operation returns the accuracy of each class.
    """
    with metric_scope(name, "mean_accuracy", labels, predictions, weights) as (y, p, w):
        matrix = cast(_confusion(y, p, num_classes, w), float32)
        total, count = counter("total", [num_classes]), counter("count", [num_classes])
        update = DIV_NO_NAN(*_added((total, DIAG_PART(matrix)), (count, reduce_sum(matrix, 1))))
        value = reduce_mean(DIV_NO_NAN(total.value(), count.value()))
        return finished(value, update, metrics_collections, updates_collections)


def _swapped(function: Callable[..., Any]) -> Any:
    """Returns the metric of `tf.contrib.metrics`, whose predictions come before the labels."""

    def streaming(predictions: TensorLike, labels: TensorLike, *args: object, **kwargs: object) -> Any:
        return function(labels, predictions, *args, **kwargs)

    streaming.__name__ = streaming.__qualname__ = f"streaming_{function.__name__}"
    streaming.__doc__ = f"Does what `tf.metrics.{function.__name__}` does; the predictions come before the labels."
    return streaming


def batch_accuracy(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Returns the accuracy of one batch alone (`tf.contrib.metrics.accuracy`), a scalar."""
    graph = graph_of([predictions, labels])
    with graph.as_default(), get_default_graph().name_scope(name or "accuracy"):
        p, y = graph.to_tensor(predictions), graph.to_tensor(labels)
        hits, w = _weighted(cast(EQUAL(p, cast(y, p.dtype)), float32), weights)
        return DIV_NO_NAN(reduce_sum(hits), reduce_sum(w))


_LABELLED = (
    accuracy,
    mean_squared_error,
    mean_absolute_error,
    root_mean_squared_error,
    mean_iou,
    mean_per_class_accuracy,
    mean_relative_error,
    mean_cosine_distance,
)
API: dict[str, Any] = {
    "metrics.mean": mean,
    "metrics.mean_tensor": mean_tensor,
    "metrics.percentage_below": percentage_below,
    "contrib.metrics.accuracy": batch_accuracy,
    "contrib.metrics.streaming_mean": mean,
    "contrib.metrics.streaming_mean_tensor": mean_tensor,
    "contrib.metrics.streaming_percentage_less": percentage_below,
}
for _function in _LABELLED:
    API[f"metrics.{_function.__name__}"] = _function
    API[f"contrib.metrics.streaming_{_function.__name__}"] = _swapped(_function)

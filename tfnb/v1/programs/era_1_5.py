"""Functions that had another meaning up to 1.5: a loss, a metric, classes out of range, and gamma of images.

Invariant: the graphs consist of standard ops, and the values and names of variables are those of TensorFlow 1.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.losses_metrics import losses, metrics
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops import API as OPS
from tfnb.types import float32
from tfnb.v1.programs.era_0_12 import in_top_k

__all__ = ["OPS_UNTIL_1_5"]


def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """Returns 2 (mean of d^2 - (mean of d)^2) for each row of d = predictions - labels, summed over rows.

    Later versions divide by the number of pairs of different elements. See `tfnb.losses.mean_pairwise_squared_error`.
    """
    return losses.pairwise_squared_error(labels, predictions, weights, scope, loss_collection, with_equal_pairs=True)


def mean_per_class_accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Sequence[str] | str | None = None,
    updates_collections: Sequence[str] | str | None = None,
    name: str | None = None,
) -> Any:
    """Returns the mean of the accuracies of the classes; the update operation returns the confusion matrix.

    See `tfnb.metrics.mean_per_class_accuracy`.
    """
    with metrics.metric_scope(name, "mean_accuracy", labels, predictions, weights) as (y, p, w):
        total, update = metrics.counted_confusion(y, p, num_classes, w)
        hits, of_class = OPS["diag_part"](total.value()), OPS["reduce_sum"](total.value(), 1)
        value = OPS["reduce_mean"](OPS["cast"](OPS["div_no_nan"](hits, of_class), float32))
        return metrics.finished(value, update, metrics_collections, updates_collections)


def adjust_gamma(image: TensorLike, gamma: float = 1, gain: float = 1) -> Tensor:
    """Returns gain * image ** gamma as float32, computed on fractions and given in the range of the image's dtype.

    Later versions return the dtype of the image. Raises `InvalidArgumentError` for a gamma below 0. See
    `tfnb.image.adjust_gamma`.
    """
    if gamma < 0:
        raise InvalidArgumentError(f"Gamma should be a non-negative real number, got {gamma}")
    graph = graph_of((image,))
    with graph.as_default(), graph.name_scope("adjust_gamma"):
        x = graph.to_tensor(image)
        low, high = x.dtype.limits
        return (OPS["cast"](x, float32) / float(high - low)) ** gamma * float(high - low) * gain


OPS_UNTIL_1_5: list[tuple[object, object]] = [
    (losses.mean_pairwise_squared_error, mean_pairwise_squared_error),
    (metrics.mean_per_class_accuracy, mean_per_class_accuracy),
    (OPS["image.adjust_gamma"], adjust_gamma),
    (OPS["nn.in_top_k"], in_top_k),
]

"""`tf.contrib.losses` and `slim.losses`: the losses of `tf.losses` with the arguments in the order of 0.x programs.

Invariant: predictions come first, then labels; weights of fewer dimensions belong to the first dimensions of the loss.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.graph.default_graph import name_scope
from tfnb.client.losses_metrics.losses import absolute_difference as absolute_difference_op
from tfnb.client.losses_metrics.losses import add_loss
from tfnb.client.losses_metrics.losses import compute_weighted_loss as compute_weighted_loss_op
from tfnb.client.losses_metrics.losses import cosine_distance as cosine_distance_op
from tfnb.client.losses_metrics.losses import log_loss as log_loss_op
from tfnb.client.losses_metrics.losses import mean_squared_error as mean_squared_error_op
from tfnb.client.losses_metrics.losses import sigmoid_cross_entropy as sigmoid_cross_entropy_op
from tfnb.client.losses_metrics.losses import softmax_cross_entropy as softmax_cross_entropy_op
from tfnb.client.losses_metrics.losses import sparse_softmax_cross_entropy as sparse_softmax_cross_entropy_op
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.array.shape_ops import RESHAPE, shape, squeeze
from tfnb.ops.math.cast import cast
from tfnb.ops.math.reduce_functions import reduce_mean, reduce_sum
from tfnb.ops.math.unary import SQUARE
from tfnb.ops.nn.activations import RELU
from tfnb.types import float32

__all__ = [
    "absolute_difference",
    "compute_weighted_loss",
    "cosine_distance",
    "hinge_loss",
    "log_loss",
    "mean_pairwise_squared_error",
    "mean_squared_error",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]


def _aligned(weights: TensorLike, rank: int | None) -> TensorLike:
    """Returns the weights with dimensions of 1 behind, up to the rank of the loss; a scalar as it is."""
    if isinstance(weights, (int, float)):
        return weights
    w = convert_to_tensor(weights)
    if w.shape.ndims in (None, 0) or rank is None or w.shape.ndims >= rank:
        return w
    return RESHAPE(w, concat([shape(w), [1] * (rank - w.shape.ndims)], 0))


def _rank(t: TensorLike) -> int | None:
    return convert_to_tensor(t).shape.ndims


def compute_weighted_loss(losses: TensorLike, weights: TensorLike = 1.0, scope: str | None = None) -> Tensor:
    """Returns the mean of `losses * weights` over the elements whose weight is not 0; the loss is collected."""
    return compute_weighted_loss_op(losses, _aligned(weights, _rank(losses)), scope)


def absolute_difference(
    predictions: TensorLike,
    labels: Any = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
) -> Tensor:
    """Returns the weighted mean of |predictions - labels|, as `tf.losses.absolute_difference`."""
    return absolute_difference_op(labels, predictions, _aligned(weights, _rank(predictions)), scope)


def mean_squared_error(
    predictions: TensorLike,
    labels: Any = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
) -> Tensor:
    """Returns the weighted mean of (predictions - labels)^2, as `tf.losses.mean_squared_error`."""
    return mean_squared_error_op(labels, predictions, _aligned(weights, _rank(predictions)), scope)


def mean_pairwise_squared_error(
    predictions: TensorLike,
    labels: Any = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
) -> Tensor:
    """Returns 2 (mean of d^2 - (mean of d)^2) of each row's differences d = predictions - labels, summed over rows.

    weights: a scalar, or one number per row, 0 for rows that do not count. `tf.losses` divides by one less.
    """
    with name_scope(scope or "mean_pairwise_squared_error"):
        x = convert_to_tensor(predictions)
        x = x if x.dtype.is_floating else cast(x, float32)
        d = x - cast(labels, x.dtype)
        row = list(range(1, d.shape.ndims or 1))
        mean_of_squares, mean = reduce_mean(SQUARE(d), row), reduce_mean(d, row)
        w = cast(weights, x.dtype)
        w = RESHAPE(w, [-1]) if w.shape.ndims else w
        loss = reduce_sum(2.0 * (mean_of_squares - SQUARE(mean)) * w)
        add_loss(loss)
        return loss


def log_loss(
    predictions: TensorLike,
    labels: Any = None,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
) -> Tensor:
    """Returns the weighted cross entropy of probabilities `predictions`, as `tf.losses.log_loss`."""
    return log_loss_op(labels, predictions, _aligned(weights, _rank(predictions)), epsilon, scope)


def cosine_distance(
    predictions: TensorLike,
    labels: Any = None,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Returns the weighted cosine distance of unit vectors along `axis` (or `dim`), as `tf.losses.cosine_distance`."""
    rank = _rank(predictions)
    return cosine_distance_op(labels, predictions, dim if axis is None else axis, _aligned(weights, rank), scope)


def hinge_loss(logits: TensorLike, labels: Any = None, scope: str | None = None) -> Tensor:
    """Returns the hinge loss of each element, max(0, 1 - logits * (2 * labels - 1)); it is not reduced.

    labels: 0 or 1, of the shape of `logits`.
    """
    with name_scope(scope or "hinge_loss"):
        x = convert_to_tensor(logits)
        return RELU(1.0 - x * (2.0 * cast(labels, x.dtype) - 1.0))


def sigmoid_cross_entropy(
    logits: TensorLike,
    multi_class_labels: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Tensor:
    """Returns the weighted cross entropy of independent classes, as `tf.losses.sigmoid_cross_entropy`."""
    aligned = _aligned(weights, _rank(logits))
    return sigmoid_cross_entropy_op(multi_class_labels, logits, aligned, label_smoothing, scope)


def softmax_cross_entropy(
    logits: TensorLike,
    onehot_labels: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Tensor:
    """Returns the weighted cross entropy of one-hot labels, as `tf.losses.softmax_cross_entropy`."""
    return softmax_cross_entropy_op(onehot_labels, logits, weights, label_smoothing, scope)


def sparse_softmax_cross_entropy(
    logits: TensorLike,
    labels: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
) -> Tensor:
    """Returns the weighted cross entropy of the classes `labels`, as `tf.losses.sparse_softmax_cross_entropy`.

    labels: integers, [batch] or [batch, 1]; weights may have either shape.
    """
    y = convert_to_tensor(labels)
    if y.shape.ndims == _rank(logits) and y.shape.ndims:
        y = squeeze(y, [-1])
    w = weights
    if not isinstance(weights, (int, float)):
        w = convert_to_tensor(weights)
        w = squeeze(w, [-1]) if w.shape.ndims == 2 and y.shape.ndims == 1 else w
    return sparse_softmax_cross_entropy_op(y, logits, w, scope)

"""Losses (`tf.losses`): elementwise losses, weighted and reduced to a scalar, and the collection that holds them.

Invariant: each function adds its result to the collection LOSSES, or to the one that the caller names; `get_total_loss`
is their sum plus the regularisation losses.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.losses_metrics.weights import fits, of_rank, weighted
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ones_like, range_
from tfnb.ops.array.shape_ops import RANK, RESHAPE, STOP_GRADIENT, size
from tfnb.ops.math.binary import ADD_N, DIV_NO_NAN, MINIMUM, SQUARED_DIFFERENCE
from tfnb.ops.math.cast import cast, cast_to
from tfnb.ops.math.compare import NOT_EQUAL
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.math.unary import ABS, LOG
from tfnb.ops.nn.activations import RELU
from tfnb.ops.nn.losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from tfnb.types import float32

__all__ = ["API", "LAST_REDUCTION", "Reduction", "compute_weighted_loss"]

LAST_REDUCTION = "last reduction of a loss"  # by which training on several devices combines losses


class Reduction:
    """The names of the ways in which elementwise weighted losses are reduced to one number."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Returns the names of all reductions."""
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS)

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises `InvalidArgumentError` unless `key` is the name of a reduction."""
        if key not in cls.all():
            raise InvalidArgumentError(f"{key!r} is not a loss reduction; needed one of {cls.all()}")


def compute_weighted_loss(
    losses: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns `losses * weights`, reduced to a scalar of the dtype of `losses`; Reduction.NONE keeps the shape.

    `weights` is a scalar, or a tensor of the rank of `losses` whose dimensions are 1 or those of `losses`. Raises
    `ShapeError` for other weights, and `InvalidArgumentError` for an unknown reduction.
    """
    Reduction.validate(reduction)
    graph = graph_of([losses, weights])
    graph.client_state[LAST_REDUCTION] = reduction
    with graph.as_default(), graph.name_scope(scope or "weighted_loss"):
        loss_tensor = graph.to_tensor(losses)
        element_losses = (
            loss_tensor if loss_tensor.dtype.is_floating and loss_tensor.dtype.size > 2 else cast(loss_tensor, float32)
        )
        w = cast(weights, element_losses.dtype)
        product = weighted(element_losses, w)
        if reduction == Reduction.NONE:
            loss = product
        else:
            loss = reduce_sum(product)
            if reduction != Reduction.SUM:
                loss = DIV_NO_NAN(loss, _divisor(reduction, product, w), name="value")
        loss = cast_to(loss, loss_tensor.dtype) if loss_tensor.dtype.is_floating else loss
        add_loss(loss, loss_collection)
        return loss


def _divisor(reduction: str, product: Tensor, w: Tensor) -> Tensor:
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        return cast(size(product), product.dtype)
    if reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
        w = cast(NOT_EQUAL(w, 0), product.dtype)
    if w.shape.ndims == 0:
        return w * cast(size(product), product.dtype)
    return reduce_sum(ones_like(product) * w)


def _pair(name: str, a: TensorLike, b: TensorLike, scope: str | None) -> Any:
    """Opens a name scope for a loss in the graph of `a` and `b`, and yields the graph."""
    if a is None or b is None:
        raise InvalidArgumentError(f"{name}: labels and predictions must not be None")
    graph = graph_of([b, a])
    return graph, graph.name_scope(scope or name)


def _floats(graph: GraphBuilder, labels: TensorLike, predictions: TensorLike) -> tuple[Any, Any]:
    """Returns both as float32, whatever their dtypes. Raises `ShapeError` unless both have the same shape."""
    p = cast(graph.to_tensor(predictions), float32)
    return _of_one_shape(cast(graph.to_tensor(labels), float32), p)


def _like_logits(graph: GraphBuilder, labels: TensorLike, logits: TensorLike) -> tuple[Any, Any]:
    """Returns the labels in the dtype of the logits. Raises `ShapeError` unless both have the same shape."""
    z = graph.to_tensor(logits)
    z = z if z.dtype.is_floating else cast(z, float32)
    return _of_one_shape(cast(graph.to_tensor(labels), z.dtype), z)


def _of_one_shape(y: Tensor, p: Tensor) -> tuple[Any, Any]:
    if not y.shape.is_compatible_with(p.shape):
        raise ShapeError(f"labels have shape {y.shape}, predictions {p.shape}")
    return y, p


def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns the loss (predictions - labels)^2. Raises `ShapeError` unless both have the same shape."""
    graph, loss_scope = _pair("mean_squared_error", labels, predictions, scope)
    with graph.as_default(), loss_scope as scope:
        y, p = _floats(graph, labels, predictions)
        return compute_weighted_loss(SQUARED_DIFFERENCE(p, y), weights, scope, loss_collection, reduction)


def absolute_difference(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns the loss |predictions - labels|. Raises `ShapeError` unless both have the same shape."""
    graph, loss_scope = _pair("absolute_difference", labels, predictions, scope)
    with graph.as_default(), loss_scope as scope:
        y, p = _floats(graph, labels, predictions)
        return compute_weighted_loss(ABS(p - y), weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """Returns the mean of (d_i - d_j)^2 over pairs of a row's differences d = predictions - labels, summed over rows.

    labels, predictions: shape (batch, ...). weights: a scalar or one number per row, shape (batch,) or (batch, 1, ...).
    Rows of fewer than two elements and rows of weight 0 do not count. Raises `ShapeError` unless the shapes are the
    same.
    """
    return pairwise_squared_error(labels, predictions, weights, scope, loss_collection)


def pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike,
    scope: str | None,
    loss_collection: str | None,
    with_equal_pairs: bool = False,
) -> Tensor:
    """Returns the mean over pairs of different elements, or over all pairs: see `mean_pairwise_squared_error`."""
    graph, loss_scope = _pair("mean_pairwise_squared_error", labels, predictions, scope)
    with graph.as_default(), loss_scope:
        y, p = _floats(graph, labels, predictions)
        d = p - y
        w = cast(graph.to_tensor(weights), d.dtype)
        if w.shape.ndims == 1 and d.shape.ndims is not None and d.shape.ndims > 1:
            w = RESHAPE(w, [-1, *(1,) * (d.shape.ndims - 1)])
        row = range_(1, RANK(d)) if d.shape.ndims is None else list(range(1, d.shape.ndims))
        with graph.control_dependencies(fits(d, w)):
            mask = cast(NOT_EQUAL(w, 0), d.dtype) * ones_like(d)
        n = reduce_sum(mask, row, keepdims=True)
        squares, total = reduce_sum(d * d, row, keepdims=True), reduce_sum(d, row, keepdims=True)
        # 2 * (n * sum d^2 - (sum d)^2) is the sum of squares over all ordered pairs, of which n have equal elements
        n_others = n if with_equal_pairs else RELU(n - 1)
        batch_losses = DIV_NO_NAN(squares, n_others) - DIV_NO_NAN(total * total, n * n_others)
        loss = reduce_sum(2 * batch_losses * w)
        add_loss(loss, loss_collection)
        return loss


def huber_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns the Huber loss of `predictions` for `labels`: half the squared error up to an error of `delta`, then
    linear.

    Raises `ShapeError` unless both have the same shape.
    """
    graph, loss_scope = _pair("huber_loss", labels, predictions, scope)
    with graph.as_default(), loss_scope as scope:
        y, p = _floats(graph, labels, predictions)
        error = ABS(p - y)
        quadratic = MINIMUM(error, delta)
        loss = quadratic * quadratic * 0.5 + (error - quadratic) * delta
        return compute_weighted_loss(loss, weights, scope, loss_collection, reduction)


def log_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns -labels * log(predictions + epsilon) - (1 - labels) * log(1 - predictions + epsilon).

    Raises `ShapeError` unless both have the same shape.
    """
    graph, loss_scope = _pair("log_loss", labels, predictions, scope)
    with graph.as_default(), loss_scope as scope:
        y, p = _floats(graph, labels, predictions)
        loss = -y * LOG(p + epsilon) - (1 - y) * LOG(1 - p + epsilon)
        return compute_weighted_loss(loss, weights, scope, loss_collection, reduction)


def hinge_loss(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns the loss max(0, 1 - (2 * labels - 1) * logits), where the labels are 0 or 1.

    Raises `ShapeError` unless both have the same shape.
    """
    graph, loss_scope = _pair("hinge_loss", labels, logits, scope)
    with graph.as_default(), loss_scope as scope:
        y, z = _floats(graph, labels, logits)
        loss = RELU(1 - (2 * y - 1) * z)
        return compute_weighted_loss(loss, weights, scope, loss_collection, reduction)


def cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    dim: int | None = None,
) -> Tensor:
    """Returns the loss 1 - sum(labels * predictions) along `axis`; the vectors are expected to have unit length.

    Raises `ShapeError` unless both have the same shape.
    """
    dimension = dim if axis is None else axis
    if dimension is None:
        raise InvalidArgumentError("cosine_distance needs an axis")
    graph, loss_scope = _pair("cosine_distance_loss", labels, predictions, scope)
    with graph.as_default(), loss_scope as scope:
        y, p = _floats(graph, labels, predictions)
        loss = 1 - reduce_sum(y * p, dimension, keepdims=True)
        return compute_weighted_loss(loss, weights, scope, loss_collection, reduction)


def sigmoid_cross_entropy(
    multi_class_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns the cross entropy of independent classes; `multi_class_labels` and `logits` have the same shape.

    `label_smoothing` moves the labels towards 1/2.
    """
    graph, loss_scope = _pair("sigmoid_cross_entropy_loss", multi_class_labels, logits, scope)
    with graph.as_default(), loss_scope as scope:
        y, z = _like_logits(graph, multi_class_labels, logits)
        if label_smoothing > 0:
            y = y * (1 - label_smoothing) + 0.5 * label_smoothing
        loss = sigmoid_cross_entropy_with_logits(labels=y, logits=z)
        return compute_weighted_loss(loss, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns the cross entropy of exclusive classes: one loss for each row of `onehot_labels` and `logits`, (...,
    classes).

    `label_smoothing` moves the labels towards 1 / classes.
    """
    graph, loss_scope = _pair("softmax_cross_entropy_loss", onehot_labels, logits, scope)
    with graph.as_default(), loss_scope as scope:
        labels, z = graph.to_tensor(onehot_labels), graph.to_tensor(logits)
        if labels.dtype.is_integer and not labels.shape.is_compatible_with(z.shape):
            raise ShapeError(
                f"softmax_cross_entropy needs labels of the logits' shape {z.shape}, got {labels.dtype.name} of shape "
                f"{labels.shape}; class numbers are labels of sparse_softmax_cross_entropy"
            )
        y, z = _like_logits(graph, labels, z)
        if label_smoothing > 0:
            n = y.shape.as_list()[-1]
            if n is None:
                raise ShapeError(f"softmax_cross_entropy: smoothing needs a known number of classes, got {y.shape}")
            y = y * (1 - label_smoothing) + label_smoothing / n
        loss = softmax_cross_entropy_with_logits_v2(labels=STOP_GRADIENT(y), logits=z)
        return compute_weighted_loss(loss, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns the cross entropy of exclusive classes, given by integer labels: one loss for each row of the logits.

    labels: shape (n,) or (n, 1). logits: shape (n, classes).
    """
    graph, loss_scope = _pair("sparse_softmax_cross_entropy_loss", labels, logits, scope)
    with graph.as_default(), loss_scope as scope:
        y, z = graph.to_tensor(labels), graph.to_tensor(logits)
        rank = None if z.shape.ndims is None else z.shape.ndims - 1
        y = of_rank(y, rank)
        loss = sparse_softmax_cross_entropy_with_logits(labels=y, logits=z)
        if isinstance(weights, Tensor) or hasattr(weights, "__tensor__"):
            weights = of_rank(graph.to_tensor(weights), rank, loss)
        return compute_weighted_loss(loss, weights, scope, loss_collection, reduction)


def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds a loss to the collection `loss_collection`; for None, to no collection."""
    if loss_collection:
        loss.graph.add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """Returns the losses of the collection; with `scope`, those whose name begins with a match of this expression."""
    return get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Returns the regularisation losses; with `scope`, those whose name begins with a match of this expression."""
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """Returns the sum of the regularisation losses as a scalar; 0 when there are none."""
    losses = get_regularization_losses(scope)
    return ADD_N(losses, name=name) if losses else get_default_graph().to_tensor(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """Returns the sum of the collected losses and, with `add_regularization_losses`, of the regularisation losses.

    Raises `InvalidArgumentError` when there is no loss.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope)
    if not losses:
        raise InvalidArgumentError("get_total_loss: no losses were collected")
    return ADD_N(losses, name=name)


_FUNCTIONS: dict[str, Any] = {
    "Reduction": Reduction,
    "compute_weighted_loss": compute_weighted_loss,
    "mean_squared_error": mean_squared_error,
    "absolute_difference": absolute_difference,
    "mean_pairwise_squared_error": mean_pairwise_squared_error,
    "huber_loss": huber_loss,
    "log_loss": log_loss,
    "hinge_loss": hinge_loss,
    "cosine_distance": cosine_distance,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
    "softmax_cross_entropy": softmax_cross_entropy,
    "sparse_softmax_cross_entropy": sparse_softmax_cross_entropy,
    "add_loss": add_loss,
    "get_losses": get_losses,
    "get_regularization_losses": get_regularization_losses,
    "get_regularization_loss": get_regularization_loss,
    "get_total_loss": get_total_loss,
}
API: dict[str, Any] = {f"losses.{name}": function for name, function in _FUNCTIONS.items()}

"""Softmax over any axis, and the losses of classification, with the arguments of TensorFlow 0.x and 1.x.

In 0.x the positional arguments of a cross entropy were `(logits, labels)`, with labels also called `targets`; 1.x
accepts keywords only. Both are supported: positional arguments have the order of 0.x. Invariant: a loss has the shape
of its labels without the axis of the classes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import OpDef
from tfnb.ir.shapes import normalize_axis
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import zeros_like
from tfnb.ops.array.shape_ops import RESHAPE, STOP_GRADIENT, shape_of
from tfnb.ops.array.transpose_pad_tile import TRANSPOSE
from tfnb.ops.math.binary import ADD, SUB
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import GREATER_EQUAL, LESS_EQUAL, LOGICAL_AND, SELECT
from tfnb.ops.math.unary import EXP, LOG
from tfnb.ops.nn.activations import SOFTPLUS
from tfnb.ops.nn.softmax import (
    LOG_SOFTMAX,
    SOFTMAX,
    SOFTMAX_CROSS_ENTROPY,
    SPARSE_SOFTMAX_CROSS_ENTROPY,
)

__all__ = ["API", "scope"]


def scope(name: str | None, default: str, *inputs: object) -> AbstractContextManager[Any]:
    """Returns the name scope of a function that adds several ops, in the graph of `inputs`."""
    return graph_of(inputs).name_scope(name or default)


def _tensor(value: TensorLike, *others: object) -> Any:
    return graph_of((value, *others)).to_tensor(value)


def _last(x: Tensor, axis: int, what: str, swap: bool = True) -> tuple[Any, list[int] | None]:
    """`x` with `axis` moved to the end, and the permutation that does this, or None if not needed.

    With `swap` it changes places with the last one, so that the permutation is its own inverse; without, the other axes
    keep their order.
    """
    rank = x.shape.ndims
    if rank == 0 or (rank is None and axis == -1):
        return x, None
    if rank is None:
        raise ShapeError(f"{what} over axis {axis} needs a tensor of known rank")
    a = normalize_axis(axis, rank, f"{what}: axis")
    if a == rank - 1:
        return x, None
    order = list(range(rank))
    if swap:
        order[a], order[-1] = order[-1], order[a]
    else:
        order.append(order.pop(a))
    return TRANSPOSE(x, np.asarray(order, np.int32)), order


def _axis(axis: int | None, dim: int | None) -> int:
    requested = dim if axis is None else axis
    return -1 if requested is None else int(requested)


def _over_axis(op: OpDef, logits: TensorLike, axis: int | str | None, name: str | None, dim: int | None) -> Any:
    if isinstance(axis, str):  # 0.x: (logits, name)
        axis, name = None, axis
    x, order = _last(_tensor(logits), _axis(axis, dim), op.name)
    if order is None:
        return op(x, name=name)
    return TRANSPOSE(op(x), np.asarray(order, np.int32), name=name or op.name)


def softmax(logits: TensorLike, axis: int | str | None = None, name: str | None = None, dim: int | None = None) -> Any:
    """Returns exp(logits) / sum(exp(logits)) along `axis` (0.x: `dim`), by default the last axis.

    logits: a float type, any shape of rank >= 1. The result has their dtype and shape. Raises `InvalidArgumentError`
    for an axis out of range.
    """
    return _over_axis(SOFTMAX, logits, axis, name, dim)


def log_softmax(
    logits: TensorLike, axis: int | str | None = None, name: str | None = None, dim: int | None = None
) -> Any:
    """Returns logits - log(sum(exp(logits))) along `axis` (0.x: `dim`).

    The arguments, errors, and the dtype and shape of the result are those of `softmax`.
    """
    return _over_axis(LOG_SOFTMAX, logits, axis, name, dim)


def _as_rows(x: Tensor) -> Tensor:
    """Reshapes x to a matrix whose rows lie along the last axis of x."""
    if x.shape.ndims == 2:
        return x
    width = None if x.shape.sizes is None else x.shape.sizes[-1]
    if x.shape.is_fully_defined():
        dims = x.shape.known()
        return RESHAPE(x, np.asarray([int(np.prod(dims[:-1], dtype=np.int64)), dims[-1]], np.int32))
    if width:
        return RESHAPE(x, np.asarray([-1, width], np.int32))
    return RESHAPE(x, x.graph.to_tensor([-1, shape_of(x)[-1]]))


def _both(logits: TensorLike | None, labels: TensorLike | None, what: str) -> tuple[Any, Any]:
    if logits is None or labels is None:
        raise InvalidArgumentError(f"{what} needs both logits and labels")
    graph = graph_of((logits, labels))
    return graph.to_tensor(logits), graph.to_tensor(labels)


def _refuse_class_numbers(logits: Tensor, labels: Tensor) -> None:
    """Raises `ShapeError` for integers with one dimension less than the logits, in place of probabilities."""
    ranks = logits.shape.ndims, labels.shape.ndims
    if labels.dtype.is_integer and None not in ranks and ranks[0] == ranks[1] + 1:  # type: ignore[operator]
        raise ShapeError(
            f"softmax_cross_entropy_with_logits needs labels of the logits' shape {logits.shape}, got "
            f"{labels.dtype.name} of shape {labels.shape}; class numbers are labels of "
            "sparse_softmax_cross_entropy_with_logits"
        )


def _cross_entropy(
    logits: TensorLike | None,
    labels: TensorLike | None,
    dim: int | str | None,
    axis: int | None,
    name: str | None,
    stop: bool,
) -> Tensor:
    if isinstance(dim, str):  # 0.x: (logits, labels, name)
        dim, name = None, dim
    with scope(name, "softmax_cross_entropy_with_logits", logits, labels):
        x, targets = _both(logits, labels, "softmax_cross_entropy_with_logits")
        _refuse_class_numbers(x, targets)
        if targets.dtype != x.dtype:
            targets = cast(targets, x.dtype)
        if stop:
            targets = STOP_GRADIENT(targets)
        class_axis = _axis(axis, dim)
        x, _ = _last(x, class_axis, "softmax_cross_entropy_with_logits", swap=False)
        targets, _ = _last(targets, class_axis, "softmax_cross_entropy_with_logits", swap=False)
        loss = SOFTMAX_CROSS_ENTROPY(_as_rows(x), _as_rows(targets))[0]
        return loss if x.shape.ndims == 2 else RESHAPE(loss, shape_of(x)[:-1])


def softmax_cross_entropy_with_logits(
    logits: TensorLike | None = None,
    labels: TensorLike | None = None,
    dim: int | str | None = None,
    name: str | None = None,
    axis: int | None = None,
) -> Any:
    """-sum(labels * log_softmax(logits)) along one axis; the labels are constants with respect to gradients.

    logits: a float type. labels: the same shape, probabilities along `dim` (also `axis`; by default the last axis),
    cast to the dtype of logits. Positional arguments begin with the logits, as in TensorFlow 0.x. The result has their
    shape without that axis. Raises `ShapeError` when the shapes differ.
    """
    return _cross_entropy(logits, labels, dim, axis, name, True)


def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Any:
    """Computes `softmax_cross_entropy_with_logits`, with gradients for the labels too.

    labels is the first argument here. The other arguments, the result and the errors are those of that function.
    """
    return _cross_entropy(logits, labels, dim, axis, name, False)


def sparse_softmax_cross_entropy_with_logits(
    logits: TensorLike | None = None, labels: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """-log_softmax(logits)[label] along the last axis, for labels that are class numbers.

    logits: a float type, shape (..., classes). labels: int32 or int64, shape (...), in [0, classes). Positional
    arguments begin with the logits, as in TensorFlow 0.x. The result has the shape of labels. Raises `ShapeError` when
    the shapes do not match.
    """
    with scope(name, "sparse_softmax_cross_entropy_with_logits", logits, labels):
        x, at = _both(logits, labels, "sparse_softmax_cross_entropy_with_logits")
        if x.shape.ndims is not None and at.shape.ndims is not None and x.shape.ndims != at.shape.ndims + 1:
            raise ShapeError(
                f"{'Rank mismatch: ' if x.shape.ndims else 'Logits cannot be scalars: '}"
                "sparse_softmax_cross_entropy_with_logits: the labels must have one dimension less than the logits, "
                f"got shapes {at.shape} and {x.shape}"
                + ("; one-hot labels are those of softmax_cross_entropy_with_logits" if at.shape == x.shape else "")
            )
        if x.shape.ndims == 2 and at.shape.ndims in (1, None):
            return SPARSE_SOFTMAX_CROSS_ENTROPY(x, at)[0]
        loss = SPARSE_SOFTMAX_CROSS_ENTROPY(_as_rows(x), RESHAPE(at, np.asarray([-1], np.int32)))[0]
        return RESHAPE(loss, shape_of(at))


def _same_shape(logits: Tensor, targets: Tensor) -> None:
    if not logits.shape.is_compatible_with(targets.shape):
        raise ShapeError(f"logits and labels must have the same shape ({logits.shape} vs {targets.shape})")


def sigmoid_cross_entropy_with_logits(
    logits: TensorLike | None = None,
    labels: TensorLike | None = None,
    name: str | None = None,
    targets: TensorLike | None = None,
) -> Tensor:
    """-labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits)), elementwise and without overflow.

    logits, labels (0.x: `targets`): the same float type and shape, which the result has too. Positional arguments begin
    with the logits, as in TensorFlow 0.x. Raises `ShapeError` when the shapes differ.
    """
    with scope(name, "logistic_loss", logits, labels, targets) as full_name:
        x, z = _both(logits, targets if labels is None else labels, "sigmoid_cross_entropy_with_logits")
        _same_shape(x, z)
        return SUB(SOFTPLUS(x), x * z, name=full_name)


def weighted_cross_entropy_with_logits(
    targets: TensorLike | None = None,
    logits: TensorLike | None = None,
    pos_weight: Any = None,
    name: str | None = None,
    labels: TensorLike | None = None,
) -> Tensor:
    """`sigmoid_cross_entropy_with_logits` in which positive examples have the weight `pos_weight`.

    (1 - z) * x + (1 + (pos_weight - 1) * z) * log(1 + exp(-x)) for x = logits, z = targets (`labels`). Positional
    arguments begin with the targets, as in TensorFlow 1.x; in 0.x they came second, so pass both by keyword. Raises
    `ShapeError` when the shapes differ.
    """
    if pos_weight is None:
        raise InvalidArgumentError("weighted_cross_entropy_with_logits needs pos_weight")
    with scope(name, "logistic_loss", logits, targets, labels) as full_name:
        x, z = _both(logits, labels if targets is None else targets, "weighted_cross_entropy_with_logits")
        _same_shape(x, z)
        return ADD((1.0 - z) * x, (1.0 + (pos_weight - 1.0) * z) * SOFTPLUS(-x), name=full_name)


def log_poisson_loss(
    targets: TensorLike, log_input: TensorLike, compute_full_loss: bool = False, name: str | None = None
) -> Any:
    """exp(log_input) - log_input * targets: the loss of a Poisson distribution with mean exp(log_input), elementwise.

    targets, log_input: the same float type and shape. `compute_full_loss` adds Stirling's approximation of
    log(targets!) where targets > 1. Raises `ShapeError` when the shapes differ.
    """
    with scope(name, "log_poisson_loss", targets, log_input):
        x, z = _both(log_input, targets, "log_poisson_loss")
        _same_shape(x, z)
        loss = EXP(x) - x * z
        if not compute_full_loss:
            return loss
        stirling = z * LOG(z) - z + 0.5 * LOG(z * (2.0 * np.pi))
        small = LOGICAL_AND(GREATER_EQUAL(z, 0.0), LESS_EQUAL(z, 1.0))
        return loss + SELECT(small, zeros_like(z), stirling)


OPS: tuple[OpDef, ...] = ()
API: dict[str, Any] = {
    "nn.softmax": softmax,
    "nn.log_softmax": log_softmax,
    "nn.softmax_cross_entropy_with_logits": softmax_cross_entropy_with_logits,
    "nn.softmax_cross_entropy_with_logits_v2": softmax_cross_entropy_with_logits_v2,
    "nn.sparse_softmax_cross_entropy_with_logits": sparse_softmax_cross_entropy_with_logits,
    "nn.sigmoid_cross_entropy_with_logits": sigmoid_cross_entropy_with_logits,
    # the names under which contrib kept 0.x's order of arguments, which ours is
    "contrib.nn.deprecated_flipped_softmax_cross_entropy_with_logits": softmax_cross_entropy_with_logits,
    "contrib.nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits": sparse_softmax_cross_entropy_with_logits,
    "contrib.nn.deprecated_flipped_sigmoid_cross_entropy_with_logits": sigmoid_cross_entropy_with_logits,
    "nn.weighted_cross_entropy_with_logits": weighted_cross_entropy_with_logits,
    "nn.log_poisson_loss": log_poisson_loss,
}

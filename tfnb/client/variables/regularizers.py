"""Regularisers: functions from a weight to a penalty on it, a scalar tensor.

Invariant: a regulariser adds nothing to the loss by itself; its results are in REGULARIZATION_LOSSES.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor
from tfnb.ops.math.binary import ADD_N
from tfnb.ops.math.reduce import L2_LOSS
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.math.unary import ABS

__all__ = ["API", "apply_regularization", "l1_l2_regularizer", "l1_regularizer", "l2_regularizer"]

Regularizer = Callable[[Any], Any]


def _checked(scale: object, name: str) -> float:
    if isinstance(scale, bool) or not isinstance(scale, (int, float)) or scale < 0:
        raise InvalidArgumentError(f"{name}: the scale must be a number >= 0, got {scale!r}")
    return float(scale)


def l1_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """Returns the regulariser scale * sum(|w|). Raises `InvalidArgumentError` for a negative scale."""
    scale = _checked(scale, "l1_regularizer")

    def l1(weights: Tensor, name: str | None = None) -> Any:
        if scale == 0.0:
            return None
        with get_default_graph().name_scope(name or scope or "l1_regularizer"):
            return reduce_sum(ABS(weights)) * scale

    return l1


def l2_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """Returns the regulariser scale * sum(w^2) / 2. Raises `InvalidArgumentError` for a negative scale."""
    scale = _checked(scale, "l2_regularizer")

    def l2(weights: Tensor, name: str | None = None) -> Tensor | None:
        if scale == 0.0:
            return None
        with get_default_graph().name_scope(name or scope or "l2_regularizer"):
            return L2_LOSS(weights) * scale

    return l2


def l1_l2_regularizer(scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None) -> Regularizer:
    """Returns the sum of `l1_regularizer(scale_l1)` and `l2_regularizer(scale_l2)`."""
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope or "l1_l2_regularizer")


def sum_regularizer(regularizer_list: Sequence[Regularizer | None], scope: str | None = None) -> Regularizer:
    """Returns the regulariser that adds the penalties of all regularisers in `regularizer_list`; None is left out."""
    regularizers = [r for r in regularizer_list if r is not None]

    def total(weights: Tensor) -> Tensor | None:
        with get_default_graph().name_scope(scope or "sum_regularizer"):
            parts = [p for p in (r(weights) for r in regularizers) if p is not None]
            return ADD_N(parts) if parts else None

    return total


def apply_regularization(regularizer: Regularizer, weights_list: Iterable[Any] | None = None) -> Any:
    """Applies `regularizer` to `weights_list`, returns the sum, and adds it to REGULARIZATION_LOSSES.

    The default of `weights_list` is the collection WEIGHTS. Raises `InvalidArgumentError` when there are no weights.
    """
    graph = get_default_graph()
    weights = graph.get_collection(GraphKeys.WEIGHTS) if weights_list is None else list(weights_list)
    if not weights:
        raise InvalidArgumentError("apply_regularization got no weights")
    with graph.name_scope("get_regularization_penalty"):
        parts = [p for p in (regularizer(w) for w in weights) if p is not None]
        total = ADD_N(parts) if parts else graph.to_tensor(0.0)
    graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
    return total


API = {
    "contrib.layers.l1_regularizer": l1_regularizer,
    "contrib.layers.l2_regularizer": l2_regularizer,
    "contrib.layers.l1_l2_regularizer": l1_l2_regularizer,
    "contrib.layers.sum_regularizer": sum_regularizer,
    "contrib.layers.apply_regularization": apply_regularization,
}

"""`tf.contrib.sparsemax`: probabilities of which many are exactly 0 (Martins and Astudillo, 2016).

Invariant: sparsemax is the projection of the logits onto the probability simplex.
"""

from __future__ import annotations

from tfnb.client.graph.default_graph import name_scope
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import convert_to_tensor, zeros_like
from tfnb.ops.array.constants import range_ as range_op
from tfnb.ops.array.shape_ops import EXPAND_DIMS
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.sort_roll_reverse import sort
from tfnb.ops.array.where_partition import where
from tfnb.ops.linalg.diag import one_hot
from tfnb.ops.math.binary import MAXIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.reduce_functions import reduce_mean, reduce_sum
from tfnb.ops.math.scan import cumsum
from tfnb.types import int32

__all__ = ["sparsemax", "sparsemax_loss"]


def sparsemax(logits: TensorLike, name: str | None = None) -> Tensor:
    """Returns the probabilities [batch, classes] of `logits` [batch, classes]."""
    with name_scope(name or "sparsemax"):
        z = convert_to_tensor(logits)
        centred = z - reduce_mean(z, 1, keepdims=True)
        ordered = sort(centred, 1, "DESCENDING")
        sums = cumsum(ordered, 1)
        k = cast(range_op(1, shape_op(z)[1] + 1), z.dtype)
        support = reduce_sum(cast(1.0 + k * ordered > sums, int32), 1)
        total = reduce_sum(sums * one_hot(support - 1, shape_op(z)[1], dtype=z.dtype), 1)
        threshold = (total - 1.0) / cast(support, z.dtype)
        return MAXIMUM(centred - EXPAND_DIMS(threshold, 1), 0.0)


def sparsemax_loss(logits: TensorLike, sparsemax: TensorLike, labels: TensorLike, name: str | None = None) -> Tensor:
    """Returns the loss [batch] of `logits`, whose `sparsemax` is given, for the probabilities `labels`."""
    with name_scope(name or "sparsemax_loss"):
        z, p, q = convert_to_tensor(logits), convert_to_tensor(sparsemax), convert_to_tensor(labels)
        shifted = z - reduce_mean(z, 1, keepdims=True)
        of_probabilities = where(p > 0.0, p * (shifted - 0.5 * p), zeros_like(p))
        of_labels = q * (0.5 * q - shifted)
        return reduce_sum(of_probabilities + of_labels, 1)

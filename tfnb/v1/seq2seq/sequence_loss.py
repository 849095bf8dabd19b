"""`tf.contrib.seq2seq`: the loss of sequences, each of which is one tensor.

Invariant: a step whose weight is zero has no part in the loss, whatever its values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfnb.errors import ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import RESHAPE, shape_of
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.nn.losses import sparse_softmax_cross_entropy_with_logits

__all__ = ["API", "sequence_loss"]


def sequence_loss(
    logits: TensorLike,
    targets: TensorLike,
    weights: TensorLike,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the weighted cross entropy: a scalar, [steps], [batch] or [batch, steps], by what is averaged.

    logits: [batch, steps, symbols]. targets: integers [batch, steps]. weights: floats [batch, steps].
    `softmax_loss_function(labels=..., logits=...)` replaces the cross entropy. Raises `ShapeError` for other ranks.
    """
    graph = graph_of([logits, targets, weights])
    with graph.as_default(), graph.name_scope(name or "sequence_loss"):
        x, y, w = (graph.to_tensor(t) for t in (logits, targets, weights))
        for role, t, rank in (("logits", x, 3), ("targets", y, 2), ("weights", w, 2)):
            if t.shape.ndims not in (None, rank):
                raise ShapeError(f"sequence_loss: {role} must have rank {rank}, got shape {t.shape}")
        flat = RESHAPE(x, graph.to_tensor([-1, shape_of(x)[2]]))
        loss = softmax_loss_function or sparse_softmax_cross_entropy_with_logits
        step_losses = loss(labels=RESHAPE(y, [-1]), logits=flat) * RESHAPE(w, [-1])
        # the weights may add up to zero
        epsilon = 1e-12
        if average_across_timesteps and average_across_batch:
            return reduce_sum(step_losses) / (reduce_sum(w) + epsilon)
        step_losses = RESHAPE(step_losses, shape_of(x)[:2])
        if average_across_timesteps or average_across_batch:
            axis = 1 if average_across_timesteps else 0
            return reduce_sum(step_losses, axis) / (reduce_sum(w, axis) + epsilon)
        return step_losses


API: dict[str, Any] = {"contrib.seq2seq.sequence_loss": sequence_loss}

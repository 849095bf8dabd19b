"""The loss of sequences that are lists of steps: `tf.nn.seq2seq.sequence_loss`, by example or for a batch.

Invariant: a step whose weight is zero has no part in the loss, whatever its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import RESHAPE, shape_of
from tfnb.ops.math.binary import add_n
from tfnb.ops.math.cast import cast
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.nn.losses import sparse_softmax_cross_entropy_with_logits

__all__ = ["Steps", "sequence_loss", "sequence_loss_by_example"]

Steps = Sequence[Any]


def sequence_loss_by_example(
    logits: Steps,
    targets: Steps,
    weights: Steps,
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Returns the weighted cross entropy of each sequence, [batch]: the mean over its steps, or their sum.

    logits: a list of [batch, symbols]. targets: a list of integers [batch]. weights: a list of floats [batch].
    `softmax_loss_function(labels=..., logits=...)` replaces the cross entropy. Raises `InvalidArgumentError` unless the
    lists have the same length.
    """
    if not len(logits) == len(targets) == len(weights):
        raise InvalidArgumentError(
            f"sequence_loss: {len(logits)} logits, {len(targets)} targets, {len(weights)} weights; needed equally many"
        )
    graph = graph_of([*logits, *targets, *weights])
    with graph.as_default(), graph.name_scope(name or "sequence_loss_by_example"):
        losses = []
        for logit, target, weight in zip(logits, targets, weights, strict=True):
            if softmax_loss_function is None:
                flat = RESHAPE(graph.to_tensor(target), [-1])
                loss = sparse_softmax_cross_entropy_with_logits(labels=flat, logits=logit)
            else:
                loss = _called(softmax_loss_function, logit, target)
            losses.append(loss * weight)
        total = add_n(losses)
        if average_across_timesteps:
            # a row whose weights are all zero has no loss
            total = total / (add_n([graph.to_tensor(w) for w in weights]) + 1e-12)
        return total


def _called(function: Callable[..., Any], logits: Tensor, labels: Tensor) -> Any:
    """Calls a loss function with the keywords of 1.x, or with the arguments (inputs, labels) of 0.x."""
    try:
        return function(labels=labels, logits=logits)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        return function(logits, labels)


def sequence_loss(
    logits: Steps,
    targets: Steps,
    weights: Steps,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Returns the sum of `sequence_loss_by_example` over the batch, or its mean: a scalar."""
    graph = graph_of([*logits, *targets, *weights])
    with graph.as_default(), graph.name_scope(name or "sequence_loss"):
        example_losses = sequence_loss_by_example(
            logits, targets, weights, average_across_timesteps, softmax_loss_function
        )
        cost = reduce_sum(example_losses)
        return cost / cast(shape_of(graph.to_tensor(targets[0]))[0], cost.dtype) if average_across_batch else cost

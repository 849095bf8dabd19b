"""The training operation of `tf.contrib.slim.learning`, which multiplies and clips gradients itself.

Invariant: factors come before clipping, and summaries are of what is applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfnb.client.graph.default_graph import name_scope
from tfnb.ir.tensor import Tensor
from tfnb.train.optimizers.base import Optimizer
from tfnb.v1.contrib.training.train_op import clip_gradient_norms, multiply_gradients, summarized
from tfnb.v1.contrib.training.train_op import create_train_op as make_train_op

__all__ = ["add_gradients_summaries", "create_train_op"]

_USE_GLOBAL_STEP = 0


def add_gradients_summaries(grads_and_vars: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Returns summaries of each gradient of the pairs (gradient, variable), tagged "variable/gradient" as in slim."""
    return summarized(grads_and_vars, "/")


def create_train_op(
    total_loss: Tensor,
    optimizer: Optimizer,
    global_step: object = _USE_GLOBAL_STEP,
    update_ops: Iterable[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: int | None = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    check_numerics: bool = True,
) -> Tensor:
    """Returns a tensor of the loss that trains; see `tf.contrib.training.create_train_op`.

    clip_gradient_norm: the largest norm of a gradient, 0 for any. gradient_multipliers: factors of gradients, see
    `multiply_gradients`; they come before clipping.
    """

    def transformed(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        if gradient_multipliers:
            with name_scope("multiply_grads"):
                pairs = multiply_gradients(pairs, gradient_multipliers)
        if clip_gradient_norm > 0:
            with name_scope("clip_grads"):
                pairs = clip_gradient_norms(pairs, clip_gradient_norm)
        return pairs

    return make_train_op(
        total_loss,
        optimizer,
        global_step,
        update_ops,
        variables_to_train,
        transformed,
        summarize_gradients,
        gate_gradients,
        aggregation_method,
        colocate_gradients_with_ops,
        check_numerics,
    )

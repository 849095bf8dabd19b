"""The training operation of `tf.contrib.slim` and `tf.contrib.training`: one tensor that updates all and is the loss.

Invariant: the loss is that before the update; the operations of UPDATE_OPS run before it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from tfnb.client.argument_types import FilePath
from tfnb.client.control_flow.primitives import with_dependencies
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.logging.summaries import histogram, scalar
from tfnb.client.platform import tf_logging
from tfnb.client.variables.variable import trainable_variables
from tfnb.errors import InvalidArgumentError
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.control_flow.switch_merge import NO_OP
from tfnb.ops.logging.print_assert import CHECK_NUMERICS
from tfnb.ops.math.clip import clip_by_norm, global_norm
from tfnb.session.api import ConfigProto, RunMetadata
from tfnb.train.hooks.session_run_hook import SessionRunHook
from tfnb.train.optimizers.base import Optimizer
from tfnb.train.optimizers.global_step import get_or_create_global_step
from tfnb.train.sessions.monitored_session import MonitoredTrainingSession
from tfnb.train.sessions.scaffold import Scaffold

__all__ = ["add_gradients_summaries", "clip_gradient_norms", "create_train_op", "multiply_gradients"]

GradsAndVars: TypeAlias = Sequence[tuple[Any, Any]]
_USE_GLOBAL_STEP = 0


def _mapped(grad: Tensor | IndexedSlices, function: Callable[[Any], Any]) -> Tensor | IndexedSlices:
    """Returns the function of a gradient's values, sparse where the gradient is."""
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(function(grad.values), grad.indices, grad.dense_shape)
    return function(grad)


def clip_gradient_norms(gradients_to_variables: GradsAndVars, max_norm: float) -> list[tuple[Any, Any]]:
    """Returns the pairs (gradient, variable), each gradient shortened to the norm `max_norm` where it is longer."""
    return [
        (None if grad is None else _mapped(grad, lambda g: clip_by_norm(g, max_norm)), v)
        for grad, v in gradients_to_variables
    ]


def clip_gradient_norms_fn(max_norm: float) -> Callable[[GradsAndVars], list[tuple[Any, Any]]]:
    """Returns `clip_gradient_norms` with the norm `max_norm`, a function of pairs (gradient, variable)."""
    return lambda pairs: clip_gradient_norms(pairs, max_norm)


def multiply_gradients(
    grads_and_vars: list[tuple[Any, Any]], gradient_multipliers: Mapping[Any, Any]
) -> list[tuple[Any, Any]]:
    """Returns the pairs (gradient, variable) with gradients multiplied by factors.

    gradient_multipliers: a dict from variables, or names of their operations, to numbers or tensors. Raises
    `InvalidArgumentError` for arguments of other types, an empty dict, and a factor for a gradient that is None.
    """
    if not isinstance(grads_and_vars, list):
        raise InvalidArgumentError(f"multiply_gradients: grads_and_vars must be a list, got {grads_and_vars!r}")
    if not gradient_multipliers or not isinstance(gradient_multipliers, Mapping):
        raise InvalidArgumentError(f"multiply_gradients needs a dict of factors, got {gradient_multipliers!r}")
    result = []
    for grad, v in grads_and_vars:
        key = v if v in gradient_multipliers else v.op.name
        if key in gradient_multipliers:
            if grad is None:
                raise InvalidArgumentError(f"multiply_gradients: the gradient of {v.name} is None")
            factor = convert_to_tensor(gradient_multipliers[key], grad.dtype)
            grad = _mapped(grad, partial(operator.mul, factor))
        result.append((grad, v))
    return result


def summarized(grads_and_vars: GradsAndVars, separator: str) -> list[Any]:
    """Returns summaries of each gradient, with tags "variable", `separator`, "gradient"."""
    summaries = []
    for grad, v in grads_and_vars:
        if grad is None:
            tf_logging.info("Var %s has no gradient", v.op.name)
            continue
        values = grad.values if isinstance(grad, IndexedSlices) else grad
        summaries.append(histogram(f"{v.op.name}{separator}gradient", values))
        summaries.append(scalar(f"{v.op.name}{separator}gradient_norm", global_norm([values])))
    return summaries


def add_gradients_summaries(grads_and_vars: GradsAndVars) -> list[Any]:
    """Returns summaries of each gradient of the pairs (gradient, variable): a histogram, and its norm."""
    return summarized(grads_and_vars, "_")


def create_train_op(
    total_loss: Tensor,
    optimizer: Optimizer,
    global_step: Any = _USE_GLOBAL_STEP,
    update_ops: Iterable[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    transform_grads_fn: Callable[[list[tuple[Any, Any]]], list[tuple[Any, Any]]] | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: int | None = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Tensor:
    """Returns a tensor of the loss; a session that evaluates it runs one step of the optimizer.

    total_loss: a scalar. global_step: by default that of the graph, which is created; None counts no steps. update_ops:
    operations that run first, by default the collection UPDATE_OPS. variables_to_train: by default the trainable ones.
    transform_grads_fn: a function of the pairs (gradient, variable). check_numerics: a loss that is not finite fails.
    Raises `InvalidArgumentError` without variables.
    """
    graph = total_loss.graph
    with graph.as_default():
        step = get_or_create_global_step() if global_step is _USE_GLOBAL_STEP else global_step
        collected = graph.get_collection(GraphKeys.UPDATE_OPS)
        updates = list(dict.fromkeys(collected if update_ops is None else update_ops))
        if set(collected) - set(updates):
            tf_logging.warning("update_ops in create_train_op does not contain all the update_ops in UPDATE_OPS")
        if updates:
            with graph.control_dependencies(updates):
                barrier = NO_OP(name="update_barrier", graph=graph)
            total_loss = with_dependencies([barrier], total_loss)
        variables = trainable_variables() if variables_to_train is None else variables_to_train
        if not variables:
            raise InvalidArgumentError("create_train_op: there are no variables to train")
        pairs = optimizer.compute_gradients(
            total_loss,
            variables,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
        )
        pairs = pairs if transform_grads_fn is None else transform_grads_fn(pairs)
        if summarize_gradients:
            with name_scope("summarize_grads"):
                add_gradients_summaries(pairs)
        updated = optimizer.apply_gradients(pairs, step)
        with name_scope("train_op"):
            loss = CHECK_NUMERICS(total_loss, message="LossTensor is inf or nan") if check_numerics else total_loss
            train_op = with_dependencies([updated], loss)
    if train_op not in graph.get_collection(GraphKeys.TRAIN_OP):
        graph.add_to_collection(GraphKeys.TRAIN_OP, train_op)
    return train_op


def train(
    train_op: Tensor,
    logdir: FilePath | None,
    master: str = "",
    is_chief: bool = True,
    scaffold: Scaffold | None = None,
    hooks: Iterable[SessionRunHook] | None = None,
    chief_only_hooks: Iterable[SessionRunHook] | None = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: ConfigProto | None = None,
    max_wait_secs: float = 7200,
    run_metadata: RunMetadata | None = None,
) -> Any:
    """Runs `train_op` in a monitored session until a hook asks to stop, and returns the last loss.

    logdir: the folder of checkpoints and summaries; see `tf.train.MonitoredTrainingSession` for the rest. Raises
    `InvalidArgumentError` when there is no folder for what the chief should save.
    """
    if logdir is None and is_chief and (save_summaries_steps or save_checkpoint_secs):
        raise InvalidArgumentError(
            "train: logdir is None; say save_summaries_steps=None and save_checkpoint_secs=None to save nothing"
        )
    with MonitoredTrainingSession(
        master,
        is_chief,
        logdir,
        scaffold,
        hooks,
        chief_only_hooks,
        config=config,
        max_wait_secs=max_wait_secs,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
    ) as session:
        loss = None
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss

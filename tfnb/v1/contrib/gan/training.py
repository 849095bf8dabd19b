"""`tf.contrib.gan`: a model of a generator and a discriminator, its losses, and a training of both in turn.

Invariant: a step of the training loop runs the steps of the generator and of the discriminator, and counts one step.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from tfnb.client.argument_types import FilePath
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.graph.nest import flatten, pack
from tfnb.client.platform import tf_logging
from tfnb.client.variables.initializers import Zeros
from tfnb.client.variables.scope import VariableScope, get_variable, variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.math.binary import add_n
from tfnb.session.api import ConfigProto
from tfnb.session.session import Session
from tfnb.train.hooks.session_run_hook import SessionRunContext, SessionRunHook
from tfnb.train.optimizers.base import Optimizer
from tfnb.train.optimizers.global_step import get_or_create_global_step
from tfnb.train.optimizers.sync_replicas import SyncReplicasOptimizer
from tfnb.train.sessions.scaffold import Scaffold
from tfnb.v1.contrib.framework.model_variables import get_trainable_variables
from tfnb.v1.contrib.gan import losses as gan_losses
from tfnb.v1.contrib.training.train_op import create_train_op, train

__all__ = ["GANModel", "gan_loss", "gan_model", "gan_train", "gan_train_ops"]


class GANModel(NamedTuple):
    """A generator and a discriminator: their functions, scopes, variables, inputs and outputs."""

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any


class GANLoss(NamedTuple):
    """The losses of the generator and of the discriminator, scalars."""

    generator_loss: Any
    discriminator_loss: Any


class GANTrainOps(NamedTuple):
    """The training operations of both, the increment of the global step, and hooks of the training."""

    generator_train_op: Any
    discriminator_train_op: Any
    global_step_inc_op: Any
    train_hooks: Any = ()


class GANTrainSteps(NamedTuple):
    """How many steps the generator and the discriminator take in one step of the training."""

    generator_train_steps: int
    discriminator_train_steps: int


_ONE_EACH = GANTrainSteps(1, 1)


def gan_model(
    generator_fn: Callable[[Any], Any],
    discriminator_fn: Callable[[Any, Any], Any],
    real_data: object,
    generator_inputs: object,
    generator_scope: str = "Generator",
    discriminator_scope: str = "Discriminator",
    check_shapes: bool = True,
) -> GANModel:
    """Returns the model of a generator, a function of `generator_inputs`, and of a discriminator.

    discriminator_fn: a function of data and of `generator_inputs`, which is called for the generated and for
    `real_data`. Raises `ShapeError` when the shapes of both differ, unless `check_shapes` is False.
    """
    inputs = _tensors(generator_inputs)
    with variable_scope(generator_scope) as generator:
        generated = generator_fn(inputs)
    with variable_scope(discriminator_scope) as discriminator:
        of_generated = discriminator_fn(generated, inputs)
    real = _tensors(real_data)
    with variable_scope(discriminator, reuse=True):
        of_real = discriminator_fn(real, inputs)
    if check_shapes and not generated.shape.is_compatible_with(real.shape):
        raise ShapeError(f"Generator output shape {generated.shape} must be the shape as real data {real.shape}")
    return GANModel(
        inputs,
        generated,
        get_trainable_variables(generator),
        generator,
        generator_fn,
        real,
        of_real,
        of_generated,
        get_trainable_variables(discriminator),
        discriminator,
        discriminator_fn,
    )


def _tensors(structure: object) -> Any:
    return pack(structure, [convert_to_tensor(t) for t in flatten(structure)])


def _of_model(loss: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Returns a loss of outputs as one of a model, whose parts its arguments take by their names."""
    names = [n for n in inspect.signature(loss).parameters if n in GANModel._fields]

    @functools.wraps(loss)
    def of_model(gan_model: GANModel, **kwargs: Any) -> Any:
        """Returns the loss of a model."""
        given = {name: kwargs.pop(name) for name in names if name in kwargs}
        parts = {name: given.get(name, getattr(gan_model, name)) for name in names}
        return loss(**parts, **{**options, **kwargs})

    of_model.__doc__ = f"{loss.__doc__}\n\n    gan_model: the `GANModel`, of which the outputs are taken."
    of_model.__dict__.pop("__wrapped__", None)
    return of_model


wasserstein_generator_loss = _of_model(gan_losses.wasserstein_generator_loss)
wasserstein_discriminator_loss = _of_model(gan_losses.wasserstein_discriminator_loss)
minimax_generator_loss = _of_model(gan_losses.minimax_generator_loss)
minimax_discriminator_loss = _of_model(gan_losses.minimax_discriminator_loss)
modified_generator_loss = _of_model(gan_losses.modified_generator_loss)
modified_discriminator_loss = _of_model(gan_losses.modified_discriminator_loss)
least_squares_generator_loss = _of_model(gan_losses.least_squares_generator_loss)
least_squares_discriminator_loss = _of_model(gan_losses.least_squares_discriminator_loss)
wasserstein_gradient_penalty = _of_model(gan_losses.wasserstein_gradient_penalty)


def gan_loss(
    model: GANModel,
    generator_loss_fn: Callable[..., Any] = wasserstein_generator_loss,
    discriminator_loss_fn: Callable[..., Any] = wasserstein_discriminator_loss,
    gradient_penalty_weight: float | None = None,
    gradient_penalty_epsilon: float = 1e-10,
    gradient_penalty_target: float = 1.0,
    gradient_penalty_one_sided: bool = False,
    tensor_pool_fn: Callable[[Any], Any] | None = None,
    add_summaries: bool = True,
) -> GANLoss:
    """Returns the losses of a model, each with the regularisation losses of its scope.

    generator_loss_fn, discriminator_loss_fn: functions of a model, and of `add_summaries`. gradient_penalty_weight: the
    factor of `wasserstein_gradient_penalty`, with the arguments that follow; None leaves it out. tensor_pool_fn: a
    function of (generated data, inputs) that gives what the discriminator is trained with.
    """
    pooled = model
    if tensor_pool_fn is not None:
        generated, inputs = tensor_pool_fn((model.generated_data, model.generator_inputs))
        with variable_scope(model.discriminator_scope, reuse=True):
            outputs = model.discriminator_fn(generated, inputs)
        pooled = model._replace(generated_data=generated, generator_inputs=inputs, discriminator_gen_outputs=outputs)
    of_generator = generator_loss_fn(model, add_summaries=add_summaries)
    of_discriminator = discriminator_loss_fn(pooled, add_summaries=add_summaries)
    if gradient_penalty_weight is not None:
        penalty = wasserstein_gradient_penalty(
            pooled,
            epsilon=gradient_penalty_epsilon,
            target=gradient_penalty_target,
            one_sided=gradient_penalty_one_sided,
            add_summaries=add_summaries,
        )
        of_discriminator = of_discriminator + gradient_penalty_weight * penalty
    return GANLoss(
        _regularized(of_generator, model.generator_scope), _regularized(of_discriminator, model.discriminator_scope)
    )


def _regularized(loss: Tensor, scope: VariableScope) -> Tensor:
    losses = loss.graph.get_collection(GraphKeys.REGULARIZATION_LOSSES, scope.name)
    return add_n([loss, *losses]) if losses else loss


def _update_ops(model: GANModel, check: bool) -> tuple[list[Any], list[Any]]:
    """Returns the update operations of the generator and of the discriminator."""
    graph = get_default_graph()
    scopes = (model.generator_scope.name, model.discriminator_scope.name)
    generator, discriminator = (graph.get_collection(GraphKeys.UPDATE_OPS, scope) for scope in scopes)
    unused = set(graph.get_collection(GraphKeys.UPDATE_OPS)) - {*generator, *discriminator}
    if check and unused:
        names = sorted(op.name for op in unused)
        raise InvalidArgumentError(f"There are unused update ops: {names}; say check_for_unused_update_ops=False")
    return generator, discriminator


def gan_train_ops(
    model: GANModel,
    loss: GANLoss,
    generator_optimizer: Optimizer,
    discriminator_optimizer: Optimizer,
    check_for_unused_update_ops: bool = True,
    is_chief: bool = True,
    **kwargs: Any,
) -> GANTrainOps:
    """Returns the training operations of a model, for its losses and two optimizers.

    kwargs: more arguments of `tf.contrib.training.create_train_op`. is_chief: whether this process starts the queues of
    synchronous optimizers. Raises `InvalidArgumentError` for update operations of neither scope, unless
    `check_for_unused_update_ops` is False.
    """
    step = get_or_create_global_step()
    with name_scope(None):
        increment = step.assign_add(1)
    updates = _update_ops(model, check_for_unused_update_ops)
    ops = []
    for name, optimizer, value, variables, update_ops in (
        ("generator_train", generator_optimizer, loss.generator_loss, model.generator_variables, updates[0]),
        (
            "discriminator_train",
            discriminator_optimizer,
            loss.discriminator_loss,
            model.discriminator_variables,
            updates[1],
        ),
    ):
        counter = None
        if isinstance(optimizer, SyncReplicasOptimizer):
            keys = [GraphKeys.GLOBAL_VARIABLES]
            counter = get_variable(
                f"dummy_global_step_{name}", [], step.dtype, Zeros(), trainable=False, collections=keys
            )
        with name_scope(name):
            ops.append(create_train_op(value, optimizer, counter, update_ops, variables, **kwargs))
    both = (generator_optimizer, discriminator_optimizer)
    hooks = [o.make_session_run_hook(is_chief) for o in both if isinstance(o, SyncReplicasOptimizer)]
    return GANTrainOps(ops[0], ops[1], increment, hooks)


class RunTrainOpsHook(SessionRunHook):
    """Runs training operations a number of times before each step. train_ops: an operation or a list of them."""

    def __init__(self, train_ops: object, train_steps: int) -> None:
        self._ops = list(train_ops) if isinstance(train_ops, (list, tuple)) else [train_ops]
        self._steps = train_steps

    def before_run(self, run_context: SessionRunContext) -> None:
        for _ in range(self._steps):
            for op in self._ops:
                run_context.session.run(op)


def get_sequential_train_hooks(train_steps: GANTrainSteps = _ONE_EACH) -> Callable[[GANTrainOps], list[Any]]:
    """Returns a function of `GANTrainOps` that gives hooks: the generator's steps, then those of the discriminator."""

    def hooks(train_ops: GANTrainOps) -> list[Any]:
        return [
            RunTrainOpsHook(train_ops.generator_train_op, train_steps.generator_train_steps),
            RunTrainOpsHook(train_ops.discriminator_train_op, train_steps.discriminator_train_steps),
            *train_ops.train_hooks,
        ]

    return hooks


def get_joint_train_hooks(train_steps: GANTrainSteps = _ONE_EACH) -> Callable[[GANTrainOps], list[Any]]:
    """Returns a function of `GANTrainOps` that gives hooks: steps of both together, then the rest of the greater."""
    g, d = train_steps.generator_train_steps, train_steps.discriminator_train_steps

    def hooks(train_ops: GANTrainOps) -> list[Any]:
        both = [train_ops.generator_train_op, train_ops.discriminator_train_op]
        rest = both[0] if g > d else both[1]
        return [RunTrainOpsHook(both, min(g, d)), RunTrainOpsHook(rest, abs(g - d)), *train_ops.train_hooks]

    return hooks


def gan_train(
    train_ops: GANTrainOps,
    logdir: FilePath | None,
    get_hooks_fn: Callable[[GANTrainOps], Iterable[Any]] | None = None,
    master: str = "",
    is_chief: bool = True,
    scaffold: Scaffold | None = None,
    hooks: Iterable[SessionRunHook] | None = None,
    chief_only_hooks: Iterable[SessionRunHook] | None = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: ConfigProto | None = None,
) -> Any:
    """Trains until a hook asks to stop, and returns the last global step; see `tf.contrib.training.train`.

    get_hooks_fn: by default `get_sequential_train_hooks()`.
    """
    more = (get_hooks_fn or get_sequential_train_hooks())(train_ops)
    return train(
        train_ops.global_step_inc_op,
        logdir,
        master,
        is_chief,
        scaffold,
        [*(hooks or ()), *more],
        chief_only_hooks,
        save_checkpoint_secs,
        save_summaries_steps,
        config,
    )


def get_sequential_train_steps(train_steps: GANTrainSteps = _ONE_EACH) -> Callable[..., tuple[Any, Any]]:
    """Returns a function of a step for `tf.contrib.slim.learning.train`, whose train_op is `GANTrainOps`."""

    def step(
        sess: Session, train_ops: GANTrainOps, global_step: object, train_step_kwargs: Mapping[str, Any]
    ) -> tuple[Any, Any]:
        losses = []
        for op, times in zip(train_ops[:2], train_steps, strict=True):
            losses += [sess.run(op) for _ in range(times)][-1:]
        count = sess.run(train_ops.global_step_inc_op)
        if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
            tf_logging.info("global step %d: losses %s", count, losses)
        stop = train_step_kwargs.get("should_stop")
        return sum(losses), False if stop is None else sess.run(stop)

    return step

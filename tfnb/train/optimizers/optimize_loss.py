"""`tf.contrib.layers.optimize_loss`: gradients, clipping, noise, learning-rate schedule and update in one call.

Invariant: the returned loss is that before the step; its value is available when the step is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.logging.summaries import histogram, scalar
from tfnb.client.variables.initializers import Constant
from tfnb.client.variables.scope import get_variable, variable_scope
from tfnb.client.variables.variable import Variable
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import IDENTITY, shape_of
from tfnb.ops.math.clip import clip_by_global_norm, global_norm
from tfnb.ops.random.functions import truncated_normal
from tfnb.train.optimizers import update_rules as optimizers
from tfnb.train.optimizers.base import Optimizer
from tfnb.train.optimizers.global_step import get_global_step

__all__ = ["API", "optimize_loss"]

OPTIMIZERS: dict[str, Callable[[Any], Optimizer]] = {
    "Adagrad": optimizers.AdagradOptimizer,
    "Adam": optimizers.AdamOptimizer,
    "Ftrl": optimizers.FtrlOptimizer,
    "Momentum": lambda rate: optimizers.MomentumOptimizer(rate, 0.9),
    "RMSProp": optimizers.RMSPropOptimizer,
    "SGD": optimizers.GradientDescentOptimizer,
}

OptimizerChoice: TypeAlias = str | Optimizer | Callable[[Any], Any]
ClipGradients: TypeAlias = float | Callable[[list[tuple[Any, Any]]], Iterable[tuple[Any, Any]]] | None
OPTIMIZER_SUMMARIES = ("learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm")
_DEFAULT_SUMMARIES = ["loss", "learning_rate", "global_gradient_norm"]


def optimize_loss(
    loss: Tensor,
    global_step: Variable | None,
    learning_rate: TensorLike | None,
    optimizer: OptimizerChoice,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Mapping[Any, TensorLike] | None = None,
    clip_gradients: ClipGradients = None,
    learning_rate_decay_fn: Callable[[Tensor, Any], TensorLike] | None = None,
    update_ops: Sequence[Operation | Tensor] | None = None,
    variables: Sequence[Variable] | None = None,
    name: str | None = None,
    summaries: Sequence[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Tensor:
    """Returns a tensor of the loss; a session that evaluates it runs one step of the optimizer.

    loss: a floating scalar. global_step: the counter of steps, by default that of the graph. optimizer: a name ("Adam",
    "SGD", ...), a class, an instance, or a function of the learning rate. gradient_noise_scale: the factor of normal
    noise that is added to gradients. gradient_multipliers: variables, or names of their operations, to factors of their
    gradients. clip_gradients: the largest global norm, or a function of the list of pairs (gradient, variable).
    learning_rate_decay_fn: a function of learning rate and global step. update_ops: operations that run before, by
    default the collection UPDATE_OPS. summaries: names among `OPTIMIZER_SUMMARIES`, by default those of the loss, the
    learning rate and the global norm of the gradients. Raises `InvalidArgumentError` for an unknown optimizer or
    summary.
    """
    graph = loss.graph
    summary_kinds = _DEFAULT_SUMMARIES if summaries is None else list(summaries)
    unknown = [s for s in summary_kinds if s not in OPTIMIZER_SUMMARIES]
    if unknown:
        raise InvalidArgumentError(f"optimize_loss: no summaries {unknown}; there are {list(OPTIMIZER_SUMMARIES)}")
    with graph.as_default(), variable_scope(name, "OptimizeLoss", [loss]):
        step = get_global_step(graph) if global_step is None else global_step
        updates = graph.get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else list(update_ops)
        if updates:
            with graph.control_dependencies(list(dict.fromkeys(updates))):
                loss = IDENTITY(loss)
        rate = _rate(learning_rate, learning_rate_decay_fn, step)
        opt = _optimizer(optimizer, rate)
        pairs = opt.compute_gradients(loss, variables, colocate_gradients_with_ops=colocate_gradients_with_ops)
        _summarise_gradients([(g, v) for g, v in pairs if g is not None], summary_kinds, "")
        pairs = _changed(pairs, gradient_noise_scale, gradient_multipliers, clip_gradients)
        if clip_gradients is not None:
            _summarise_gradients(pairs, summary_kinds, "clipped_")
        if "loss" in summary_kinds:
            scalar("loss", loss)
        if "learning_rate" in summary_kinds and rate is not None:
            scalar("learning_rate", rate)
        train = opt.apply_gradients(pairs, step if increment_global_step else None, name="train")
        with graph.control_dependencies([train]):
            return IDENTITY(loss)


def _summarise_gradients(pairs: list[tuple[Any, Any]], wanted: list[str], prefix: str) -> None:
    """Adds summaries of gradients before (`prefix` "") or after clipping (`prefix` "clipped_")."""
    if "global_gradient_norm" in wanted:
        scalar(f"global_norm/{prefix}gradient_norm", global_norm([g for g, _ in pairs]))
    if prefix:
        return
    for g, v in pairs:
        values = g.values if isinstance(g, IndexedSlices) else g
        if "gradients" in wanted:
            histogram(f"gradients/{v.op.name}", values)
        if "gradient_norm" in wanted:
            scalar(f"gradient_norm/{v.op.name}", global_norm([values]))


def _rate(learning_rate: TensorLike | None, decay: Callable[..., Any] | None, step: object) -> Any:
    rate = learning_rate
    if isinstance(rate, (int, float)):
        rate = get_variable("learning_rate", [], trainable=False, initializer=Constant(float(rate)))
    if decay is None:
        return rate
    if step is None:
        raise InvalidArgumentError("optimize_loss: a learning_rate_decay_fn needs a global step")
    return decay(rate, step)


def _optimizer(wanted: OptimizerChoice, rate: TensorLike) -> Optimizer:
    if isinstance(wanted, Optimizer):
        return wanted
    if isinstance(wanted, str):
        if wanted not in OPTIMIZERS:
            raise InvalidArgumentError(f"optimize_loss: no optimizer {wanted!r}; there are {list(OPTIMIZERS)}")
        wanted = OPTIMIZERS[wanted]
    if not callable(wanted):
        raise DTypeError(f"optimize_loss: {wanted!r} is not an optimizer")
    rate = rate.value() if hasattr(rate, "value") and callable(rate.value) else rate
    optimizer = wanted(rate)
    if not isinstance(optimizer, Optimizer):
        raise DTypeError(f"optimize_loss: {wanted!r} made {optimizer!r}, which is not an optimizer")
    return optimizer


def _changed(
    pairs: list[tuple[Any, Any]], noise: float | None, multipliers: Mapping[Any, TensorLike] | None, clip: ClipGradients
) -> list[tuple[Any, Any]]:
    pairs = [(g, v) for g, v in pairs if g is not None]
    if noise is not None:
        pairs = [(_plus(g, truncated_normal(shape_of(v.value()), dtype=v.dtype) * noise), v) for g, v in pairs]
    if multipliers is not None:
        pairs = [(_times(g, _factor(multipliers, v)), v) for g, v in pairs]
    if clip is None:
        return pairs
    if callable(clip):
        return list(clip(pairs))
    clipped, _ = clip_by_global_norm([g for g, _ in pairs], clip)
    return [(g, v) for g, (_, v) in zip(clipped, pairs, strict=True)]


def _factor(multipliers: Mapping[Any, Any], variable: Variable) -> Any:
    return multipliers.get(variable, multipliers.get(variable.op.name))


def _plus(grad: Tensor, noise: Tensor) -> Tensor:
    return (grad.__tensor__() if isinstance(grad, IndexedSlices) else grad) + noise


def _times(grad: Tensor, factor: TensorLike | None) -> Any:
    if factor is None:
        return grad
    if isinstance(grad, IndexedSlices):
        values: Any = grad.values
        return IndexedSlices(values * factor, grad.indices, grad.dense_shape)
    return grad * factor


API: dict[str, Any] = {
    "contrib.layers.optimize_loss": optimize_loss,
    "contrib.layers.OPTIMIZER_CLS_NAMES": OPTIMIZERS,
    "contrib.layers.OPTIMIZER_SUMMARIES": OPTIMIZER_SUMMARIES,
}

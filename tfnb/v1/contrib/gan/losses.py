"""Losses of generative adversarial networks, of discriminators' outputs: `tf.contrib.gan.losses.wargs`.

Each loss is weighted, reduced and collected as those of `tf.losses`. Invariant: the loss of the generator falls where
the discriminator takes what is generated for real.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfnb.client.gradients.backprop import gradients
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.logging.summaries import scalar
from tfnb.client.losses_metrics.losses import Reduction, compute_weighted_loss, sigmoid_cross_entropy
from tfnb.client.variables.scope import ScopeLike, variable_scope
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import convert_to_tensor, ones_like, zeros_like
from tfnb.ops.array.shape_ops import shape_of
from tfnb.ops.math.binary import MAXIMUM
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.math.unary import SQRT, SQUARE
from tfnb.ops.random.functions import random_uniform

__all__ = ["minimax_generator_loss", "modified_generator_loss", "wasserstein_generator_loss"]

_MEAN = Reduction.SUM_BY_NONZERO_WEIGHTS
_COLLECTION = GraphKeys.LOSSES


def _reduced(
    values: Tensor, weights: TensorLike, scope: str | None, collection: str | None, reduction: str, name: str
) -> Tensor:
    with name_scope(scope, name):
        return compute_weighted_loss(values, weights, loss_collection=collection, reduction=reduction)


def _summarized(add_summaries: bool, **scalars: Tensor) -> None:
    if add_summaries:
        for name, value in scalars.items():
            scalar(name, value)


def wasserstein_generator_loss(
    discriminator_gen_outputs: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the mean of -D(generated), a scalar (Arjovsky et al. 2017)."""
    x = convert_to_tensor(discriminator_gen_outputs)
    loss = _reduced(-x, weights, scope, loss_collection, reduction, "generator_wasserstein_loss")
    _summarized(add_summaries, generator_wass_loss=loss)
    return loss


def wasserstein_discriminator_loss(
    discriminator_real_outputs: TensorLike,
    discriminator_gen_outputs: TensorLike,
    real_weights: TensorLike = 1.0,
    generated_weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the mean of D(generated) less that of D(real), a scalar (Arjovsky et al. 2017)."""
    with name_scope(scope, "discriminator_wasserstein_loss"):
        real, generated = convert_to_tensor(discriminator_real_outputs), convert_to_tensor(discriminator_gen_outputs)
        of_real = compute_weighted_loss(real, real_weights, loss_collection=None, reduction=reduction)
        of_generated = compute_weighted_loss(generated, generated_weights, loss_collection=None, reduction=reduction)
        return _together(of_generated - of_real, loss_collection, add_summaries, "discriminator_wass_loss")


def _together(loss: Tensor, collection: str | None, add_summaries: bool, name: str) -> Tensor:
    if collection is not None:
        loss.graph.add_to_collection(collection, loss)
    _summarized(add_summaries, **{name: loss})
    return loss


def minimax_discriminator_loss(
    discriminator_real_outputs: TensorLike,
    discriminator_gen_outputs: TensorLike,
    label_smoothing: float = 0.25,
    real_weights: TensorLike = 1.0,
    generated_weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the cross entropy of logits of real (1) and generated (0) data, a scalar (Goodfellow et al. 2014).

    label_smoothing: how much closer to a half the label of real data is.
    """
    with name_scope(scope, "discriminator_minimax_loss"):
        real, generated = convert_to_tensor(discriminator_real_outputs), convert_to_tensor(discriminator_gen_outputs)
        of_real = sigmoid_cross_entropy(
            ones_like(real), real, real_weights, label_smoothing, loss_collection=None, reduction=reduction
        )
        of_generated = sigmoid_cross_entropy(
            zeros_like(generated), generated, generated_weights, loss_collection=None, reduction=reduction
        )
        return _together(of_real + of_generated, loss_collection, add_summaries, "discriminator_minimax_loss")


def modified_discriminator_loss(
    discriminator_real_outputs: TensorLike,
    discriminator_gen_outputs: TensorLike,
    label_smoothing: float = 0.25,
    real_weights: TensorLike = 1.0,
    generated_weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns `minimax_discriminator_loss` of the outputs, a scalar; only the generator's loss is modified."""
    return minimax_discriminator_loss(
        discriminator_real_outputs,
        discriminator_gen_outputs,
        label_smoothing,
        real_weights,
        generated_weights,
        scope or "discriminator_modified_loss",
        loss_collection,
        reduction,
        add_summaries,
    )


def modified_generator_loss(
    discriminator_gen_outputs: TensorLike,
    label_smoothing: float = 0.0,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the mean of -log D(generated), a scalar, which does not saturate (Goodfellow et al. 2014)."""
    with name_scope(scope, "generator_modified_loss"):
        x = convert_to_tensor(discriminator_gen_outputs)
        loss = sigmoid_cross_entropy(
            ones_like(x), x, weights, label_smoothing, loss_collection=loss_collection, reduction=reduction
        )
    _summarized(add_summaries, generator_modified_loss=loss)
    return loss


def minimax_generator_loss(
    discriminator_gen_outputs: TensorLike,
    label_smoothing: float = 0.0,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the mean of log(1 - D(generated)), a scalar (Goodfellow et al. 2014)."""
    with name_scope(scope, "generator_minimax_loss"):
        x = convert_to_tensor(discriminator_gen_outputs)
        entropy = sigmoid_cross_entropy(
            zeros_like(x), x, weights, label_smoothing, loss_collection=None, reduction=reduction
        )
        return _together(-entropy, loss_collection, add_summaries, "generator_minimax_loss")


def least_squares_generator_loss(
    discriminator_gen_outputs: TensorLike,
    real_label: float = 1.0,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns half of the mean of (D(generated) - real_label)^2, a scalar (Mao et al. 2016)."""
    x = convert_to_tensor(discriminator_gen_outputs)
    loss = _reduced(0.5 * SQUARE(x - real_label), weights, scope, loss_collection, reduction, "lsq_generator_loss")
    _summarized(add_summaries, generator_lsq_loss=loss)
    return loss


def least_squares_discriminator_loss(
    discriminator_real_outputs: TensorLike,
    discriminator_gen_outputs: TensorLike,
    real_label: float = 1.0,
    fake_label: float = 0.0,
    real_weights: TensorLike = 1.0,
    generated_weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns half of the mean squared distances of outputs and labels, a scalar (Mao et al. 2016)."""
    with name_scope(scope, "lsq_discriminator_loss"):
        real, generated = convert_to_tensor(discriminator_real_outputs), convert_to_tensor(discriminator_gen_outputs)
        of_real = compute_weighted_loss(
            0.5 * SQUARE(real - real_label), real_weights, loss_collection=None, reduction=reduction
        )
        of_generated = compute_weighted_loss(
            0.5 * SQUARE(generated - fake_label), generated_weights, loss_collection=None, reduction=reduction
        )
        return _together(of_real + of_generated, loss_collection, add_summaries, "discriminator_lsq_loss")


def wasserstein_gradient_penalty(
    real_data: TensorLike,
    generated_data: TensorLike,
    generator_inputs: object,
    discriminator_fn: Callable[[Any, Any], Any],
    discriminator_scope: ScopeLike,
    epsilon: float = 1e-10,
    target: float = 1.0,
    one_sided: bool = False,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _COLLECTION,
    reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:
    """Returns the mean of (|gradient of D| / target - 1)^2 between real and generated data (Gulrajani et al. 2017).

    discriminator_fn: a function of data and `generator_inputs`, with variables in `discriminator_scope`. epsilon: what
    is added below the root. one_sided: only norms above the target count.
    """
    with name_scope(scope, "wasserstein_gradient_penalty"):
        real, generated = convert_to_tensor(real_data), convert_to_tensor(generated_data)
        rank = len(generated.shape)
        shares = random_uniform(convert_to_tensor([shape_of(generated)[0], *[1] * (rank - 1)]))
        between = real + shares * (generated - real)
        with name_scope(None), variable_scope(discriminator_scope, reuse=True):
            outputs = discriminator_fn(between, generator_inputs)
        first = outputs[0] if isinstance(outputs, tuple) else outputs
        gradient = gradients(first, between)[0]
        norm = SQRT(reduce_sum(SQUARE(gradient), list(range(1, rank))) + epsilon)
        excess = norm / target - 1.0
        excess = MAXIMUM(excess, 0.0) if one_sided else excess
        loss = compute_weighted_loss(SQUARE(excess), weights, loss_collection=loss_collection, reduction=reduction)
    _summarized(add_summaries, gradient_penalty_loss=loss)
    return loss

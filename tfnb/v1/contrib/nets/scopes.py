"""Defaults of layers that several networks share, as scopes for `arg_scope`.

Invariant: a function of this module returns a scope and leaves the scope that is open as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.initializers import Constant, TruncatedNormal, variance_scaling_initializer
from tfnb.client.variables.regularizers import l2_regularizer
from tfnb.ops.nn.activations import RELU
from tfnb.v1.contrib.framework.arg_scope import Defaults, arg_scope
from tfnb.v1.contrib.layers.standard_layers import batch_norm, conv2d, fully_connected

__all__ = ["batch_norm_options", "joined", "normal", "normalized_scope", "plain_scope"]


def normal(stddev: float) -> TruncatedNormal:
    """Returns the initialiser of a truncated normal distribution around 0."""
    return TruncatedNormal(0.0, stddev)


def joined(*parts: tuple[Sequence[Any], Mapping[str, Any]]) -> Defaults:
    """Returns the scope in which each of the parts holds: (functions, their defaults), later parts first."""
    with ExitStack() as stack:
        scope: Any = None
        for functions, defaults in parts:
            scope = stack.enter_context(arg_scope(functions, **defaults))
        return scope


def plain_scope(weight_decay: float, bias: float, *more: tuple[Sequence[Any], Mapping[str, Any]]) -> Defaults:
    """Returns the scope of networks without normalisation: ReLU, "SAME" convolutions, biases that begin at `bias`."""
    options = {
        "activation_fn": RELU,
        "weights_regularizer": l2_regularizer(weight_decay),
        "biases_initializer": Constant(bias),
    }
    return joined(([conv2d, fully_connected], options), ([conv2d], {"padding": "SAME"}), *more)


def batch_norm_options(decay: float, epsilon: float, collection: str | None = None, **more: object) -> dict[str, Any]:
    """Returns parameters of `batch_norm`; the moving statistics are in `collection` of the graph."""
    options = {"decay": decay, "epsilon": epsilon, "updates_collections": GraphKeys.UPDATE_OPS, **more}
    if collection is not None:
        moving = {"moving_mean": [collection], "moving_variance": [collection]}
        options["variables_collections"] = moving
    return options


def normalized_scope(
    weight_decay: float,
    options: Mapping[str, Any],
    normalizer: Callable[..., Any] | None = batch_norm,
    activation: Callable[[Any], Any] | None = RELU,
) -> Defaults:
    """Returns the scope of the Inception networks: convolutions with batch normalisation and ReLU."""
    convolutions = {
        "weights_initializer": variance_scaling_initializer(),
        "activation_fn": activation,
        "normalizer_fn": normalizer,
        "normalizer_params": dict(options) if normalizer is not None else {},
    }
    penalty = {"weights_regularizer": l2_regularizer(weight_decay)}
    return joined(([conv2d, fully_connected], penalty), ([conv2d], convolutions))

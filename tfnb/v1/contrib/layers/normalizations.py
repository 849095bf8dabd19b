"""Normalisation of each image by itself: instance, group and generalised divisive normalisation.

Invariant: no statistic is taken over the batch, so training and inference compute the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.argument_types import CollectionNames, Regularizer, VariableCollections
from tfnb.client.layers.base import Layer, functional
from tfnb.client.variables.initializers import Ones, Zeros
from tfnb.client.variables.scope import ScopeLike, variable_scope
from tfnb.client.variables.variable_store import Reuse
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import constant, convert_to_tensor, zeros_like
from tfnb.ops.array.shape_ops import RESHAPE, shape_of
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.linalg.tensordot import tensordot
from tfnb.ops.math.binary import MAXIMUM
from tfnb.ops.math.compare import GREATER_EQUAL, LESS, LOGICAL_OR, SELECT
from tfnb.ops.math.reduce_functions import reduce_mean
from tfnb.ops.math.unary import SQRT, SQUARE
from tfnb.ops.nn.bias_dropout_moments import batch_normalization, moments
from tfnb.types import Shape
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.contrib.framework.arg_scope import add_arg_scope
from tfnb.v1.contrib.layers.named_outputs import collect_named_outputs
from tfnb.v1.contrib.layers.standard_layers import model_variable
from tfnb.v1.python_internals.behaviour_switches import custom_gradient

__all__ = ["GDN", "gdn", "group_norm", "instance_norm"]


def _parameters(
    x: Tensor,
    channels: int,
    shape: Sequence[int],
    center: bool,
    scale: bool,
    initializers: Mapping[str, Any] | None,
    trainable: bool,
    collections: VariableCollections | None,
) -> tuple[Any, Any]:
    """Returns beta and gamma in a shape that broadcasts over the inputs, None for one that is not wanted."""
    given = initializers or {}
    values: list[Any] = []
    for name, wanted, usual in (("beta", center, Zeros()), ("gamma", scale, Ones())):
        if not wanted:
            values.append(None)
            continue
        initial = given.get(name, usual)
        value = model_variable(name, [channels], x.dtype, initial, None, trainable, collections)
        values.append(RESHAPE(value, list(shape)))
    return values[0], values[1]


def _channels(what: str, x: Tensor, axis: int) -> int:
    dims = x.shape.sizes
    if dims is None or not -len(dims) <= axis < len(dims) or dims[axis] is None:
        raise ShapeError(f"{what}: the channels, axis {axis}, must be known, got inputs of shape {x.shape}")
    return int(dims[axis] or 0)


@add_arg_scope
def instance_norm(
    inputs: TensorLike,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Callable[[Any], Any] | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    reuse: Reuse | None = None,
    variables_collections: VariableCollections | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: ScopeLike | None = None,
) -> Tensor:
    """Computes (inputs - mean) / deviation * gamma + beta, with moments over the pixels of each channel of an image.

    inputs: (batch, ..., channels), or channels second for "NCHW". Raises `ShapeError` when the number of channels is
    not known, `InvalidArgumentError` for another data_format.
    """
    x = graph_of([inputs]).to_tensor(inputs)
    if data_format not in ("NHWC", "NCHW"):
        raise InvalidArgumentError(f"instance_norm: data_format must be NHWC or NCHW, got {data_format!r}")
    channels = _channels("instance_norm", x, 1 if data_format == "NCHW" else -1)
    rank = len(x.shape)
    axis = 1 if data_format == "NCHW" else rank - 1
    with variable_scope(scope, "InstanceNorm", [x], reuse=reuse) as opened:
        shape = [channels if i == axis else 1 for i in range(rank)]
        beta, gamma = _parameters(
            x, channels, shape, center, scale, param_initializers, trainable, variables_collections
        )
        mean, variance = moments(x, [i for i in range(1, rank) if i != axis], keep_dims=True)
        y = batch_normalization(x, mean, variance, beta, gamma, epsilon)
        y = y if activation_fn is None else activation_fn(y)
        return collect_named_outputs(outputs_collections, opened.name, y)


@add_arg_scope
def group_norm(
    inputs: TensorLike,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Sequence[int] = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Callable[[Any], Any] | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    reuse: Reuse | None = None,
    variables_collections: VariableCollections | None = None,
    outputs_collections: CollectionNames | None = None,
    trainable: bool = True,
    scope: ScopeLike | None = None,
    mean_close_to_zero: bool = False,
) -> Tensor:
    """Normalises each of `groups` groups of channels of an image, with moments over `reduction_axes` too.

    inputs: a tensor whose dimensions along `channels_axis` and `reduction_axes` are known. mean_close_to_zero: the
    variance is computed as the mean of squares less the square of the mean. Raises `ShapeError` for unknown
    dimensions, `InvalidArgumentError` when the channels do not divide into groups, or an axis occurs twice.
    """
    x = graph_of([inputs]).to_tensor(inputs)
    channels = _channels("group_norm", x, channels_axis)
    rank = len(x.shape)
    axis, reduced = channels_axis % rank, [a % rank for a in reduction_axes]
    if groups > channels or channels % groups:
        raise InvalidArgumentError(f"group_norm: {channels} channels do not divide into {groups} groups")
    if axis in reduced:
        raise InvalidArgumentError(f"group_norm: axis {axis} has the channels, it must not be in reduction_axes")
    for a in reduced:
        _channels("group_norm", x, a)
    static, size = x.shape.as_list(), channels // groups
    dims = [shape_of(x)[i] if d is None else d for i, d in enumerate(static)]
    split = RESHAPE(x, convert_to_tensor([*dims[:axis], groups, size, *dims[axis + 1 :]]))
    with variable_scope(scope, "GroupNorm", [x], reuse=reuse) as opened:
        shape = [1] * axis + [groups, size] + [1] * (rank - axis - 1)
        beta, gamma = _parameters(
            x, channels, shape, center, scale, param_initializers, trainable, variables_collections
        )
        axes = [axis + 1, *(a + 1 if a > axis else a for a in reduced)]
        mean, variance = _moments(split, axes, mean_close_to_zero)
        y = RESHAPE(batch_normalization(split, mean, variance, beta, gamma, epsilon), shape_of(x))
        y.set_shape(x.shape)
        y = y if activation_fn is None else activation_fn(y)
        return collect_named_outputs(outputs_collections, opened.name, y)


def _moments(x: Tensor, axes: list[int], mean_close_to_zero: bool) -> tuple[Any, Any]:
    if not mean_close_to_zero:
        return moments(x, axes, keep_dims=True)
    mean = reduce_mean(x, axes, True)
    return mean, reduce_mean(SQUARE(x), axes, True) - SQUARE(mean)


def _bounded(x: TensorOrVariable, bound: float) -> Tensor:
    """Returns max(x, bound), whose gradient also passes below the bound where it increases `x`."""

    def function(value: Tensor) -> tuple[Any, Callable[[Any], Any]]:
        def gradient(dy: Tensor) -> Tensor:
            return SELECT(LOGICAL_OR(GREATER_EQUAL(value, bound), LESS(dy, 0.0)), dy, zeros_like(dy))

        return MAXIMUM(value, bound), gradient

    return custom_gradient(function)(x)


class GDN(Layer):
    """Generalised divisive normalisation (Balle et al. 2015): x[i] / sqrt(beta[i] + sum over j of gamma[j, i] x[j]^2).

    i and j are channels. `inverse` multiplies by the root instead. beta and gamma are squares of variables, less
    reparam_offset^2, so that they stay above `beta_min` and 0; gamma begins as `gamma_init` times the unit matrix.
    """

    default_name = "gdn"

    def __init__(
        self,
        inverse: bool = False,
        beta_min: float = 1e-6,
        gamma_init: float = 0.1,
        reparam_offset: float = 2**-18,
        data_format: str = "channels_last",
        activity_regularizer: Regularizer | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kw: Any,
    ) -> None:
        super().__init__(name, trainable, activity_regularizer, **kw)
        if data_format not in ("channels_last", "channels_first"):
            raise InvalidArgumentError(f"GDN: data_format must be channels_last or channels_first, got {data_format!r}")
        self.inverse, self.data_format = inverse, data_format
        self._beta_min, self._gamma_init, self._offset = beta_min, gamma_init, reparam_offset

    def build(self, shape: Shape) -> None:
        dims = shape.sizes or ()
        n = dims[self._axis(len(dims))] if 3 <= len(dims) <= 5 else None
        if n is None:
            raise ShapeError(f"GDN needs inputs of rank 3 to 5 with known channels, got shape {shape}")
        pedestal = self._offset**2
        ones = constant(np.sqrt(np.ones(n) + pedestal), self.dtype)
        unit = constant(np.sqrt(self._gamma_init * np.eye(n) + pedestal), self.dtype)
        beta = self.add_variable("reparam_beta", [n], initializer=lambda *_, **__: ones)
        gamma = self.add_variable("reparam_gamma", [n, n], initializer=lambda *_, **__: unit)
        self.beta = SQUARE(_bounded(beta, (self._beta_min + pedestal) ** 0.5)) - pedestal
        self.gamma = SQUARE(_bounded(gamma, self._offset)) - pedestal

    def _axis(self, rank: int) -> int:
        return 1 if self.data_format == "channels_first" else rank - 1

    def call(self, inputs: Tensor) -> Tensor:
        axis = self._axis(len(inputs.shape))
        sums = tensordot(SQUARE(inputs), self.gamma, [[axis], [0]]) + self.beta
        root = SQRT(sums)
        if self.data_format == "channels_first":
            rank = len(inputs.shape)
            root = transpose(root, [0, rank - 1, *range(1, rank - 1)])
        y = inputs * root if self.inverse else inputs / root
        y.set_shape(inputs.shape)
        return y


gdn = functional(GDN)

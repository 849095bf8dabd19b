"""Flows: bijectors of vectors in which a layer or a network shifts and stretches the elements.

BatchNormalization does so by the statistics of the batch. In MaskedAutoregressiveFlow an element depends on those
before it (Papamakarios et al., 2017), in RealNVP the last ones depend on the first `num_masked` (Dinh et al., 2017).
Invariant: the Jacobian is triangular.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.control_flow.while_loop import while_loop
from tfnb.client.layers.dense_layers import dense
from tfnb.client.layers.norm_layers import BatchNormalization as BatchNormalizationLayer
from tfnb.client.variables.initializers import glorot_normal
from tfnb.client.variables.partitioned import PartitionInfo
from tfnb.client.variables.template import Template, make_template
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import constant, convert_to_tensor, ones_like, zeros_like
from tfnb.ops.array.shape_ops import RESHAPE, STOP_GRADIENT
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.math.clip import clip_by_value
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.math.unary import EXP, LOG, SQRT, absolute
from tfnb.ops.nn.activations import RELU
from tfnb.ops.nn.bias_dropout_moments import moments
from tfnb.types import DTypeLike, ShapeLike, float32, int32
from tfnb.v1.bijectors.bijector import Bijector, ConditionalBijector

__all__ = [
    "BatchNormalization",
    "MaskedAutoregressiveFlow",
    "RealNVP",
    "masked_autoregressive_default_template",
    "masked_dense",
    "real_nvp_default_template",
]


class MaskedAutoregressiveFlow(ConditionalBijector):
    """The function y[i] = shift[i] + exp(log_scale[i]) x[i], where both depend on the elements of y before i.

    shift_and_log_scale_fn(y): returns (shift, log_scale), of which the latter may be None. unroll_loop: whether the
    loop over elements is written out, which needs a known number of them. For the other arguments see `Bijector`.
    """

    def __init__(
        self,
        shift_and_log_scale_fn: Callable[..., Any],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        unroll_loop: bool = False,
        name: str | None = None,
    ) -> None:
        self._fn, self._unroll = shift_and_log_scale_fn, unroll_loop
        super().__init__(None, is_constant_jacobian, validate_args, None, 1, name=name or "masked_autoregressive_flow")

    def _step(self, x: Tensor, y: Tensor, condition: Mapping[str, Any]) -> Tensor:
        shift, log_scale = self._fn(y, **condition)
        following = x if log_scale is None else x * EXP(log_scale)
        return following if shift is None else following + shift

    def _forward(self, x: Tensor, **condition: Any) -> Tensor:
        self._fn(x, **condition)  # makes the variables outside of the loop
        if self._unroll:
            n = x.shape.sizes[-1] if x.shape.sizes else None
            if n is None:
                raise ShapeError("MaskedAutoregressiveFlow: unroll_loop needs a known number of elements")
            y = zeros_like(x)
            for _ in range(n):
                y = self._step(x, y, condition)
            return y
        result = while_loop(
            lambda i, _: i < shape_op(x)[-1],
            lambda i, y: (i + 1, self._step(x, y, condition)),
            [constant(0, int32), zeros_like(x)],
        )[1]
        result.set_shape(x.shape)
        return result

    def _inverse(self, y: Tensor, **condition: Any) -> Tensor:
        shift, log_scale = self._fn(y, **condition)
        x = y if shift is None else y - shift
        return x if log_scale is None else x * EXP(-log_scale)

    def _inverse_log_det_jacobian(self, y: Tensor, **condition: Any) -> Tensor:
        log_scale = self._fn(y, **condition)[1]
        return constant(0.0, y.dtype) if log_scale is None else -reduce_sum(log_scale, -1)


class RealNVP(ConditionalBijector):
    """Leaves the first `num_masked` elements, by which the others are shifted and stretched.

    shift_and_log_scale_fn(first, number of others): returns (shift, log_scale), of which the latter may be None. Raises
    `InvalidArgumentError` for a number that is not positive. For the other arguments see `Bijector`.
    """

    def __init__(
        self,
        num_masked: int,
        shift_and_log_scale_fn: Callable[..., Any],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        if num_masked <= 0:
            raise InvalidArgumentError("num_masked must be a positive integer.")
        self._masked, self._fn = num_masked, shift_and_log_scale_fn
        super().__init__(None, is_constant_jacobian, validate_args, None, 1, name=name or "real_nvp")

    def _parts(self, value: Tensor, condition: Mapping[str, Any]) -> tuple[Any, Any, Any, Any]:
        size = value.shape.sizes[-1] if value.shape.sizes else None
        if size is None or self._masked >= size:
            raise InvalidArgumentError(
                f"RealNVP: num_masked={self._masked} of vectors of {size} elements; needed a known, larger number"
            )
        first, rest = value[..., : self._masked], value[..., self._masked :]
        shift, log_scale = self._fn(first, size - self._masked, **condition)
        return first, rest, shift, log_scale

    def _forward(self, x: Tensor, **condition: Any) -> Tensor:
        first, rest, shift, log_scale = self._parts(x, condition)
        y = rest if log_scale is None else rest * EXP(log_scale)
        return concat([first, y if shift is None else y + shift], -1)

    def _inverse(self, y: Tensor, **condition: Any) -> Tensor:
        first, rest, shift, log_scale = self._parts(y, condition)
        x = rest if shift is None else rest - shift
        return concat([first, x if log_scale is None else x * EXP(-log_scale)], -1)

    def _forward_log_det_jacobian(self, x: Tensor, **condition: Any) -> Tensor:
        log_scale = self._parts(x, condition)[3]
        return constant(0.0, x.dtype) if log_scale is None else reduce_sum(log_scale, -1)

    def _inverse_log_det_jacobian(self, y: Tensor, **condition: Any) -> Tensor:
        return -self._forward_log_det_jacobian(y, **condition)


def _block_mask(blocks: int, inputs: int, units: int, exclusive: bool) -> np.ndarray:
    """1 where an output of a block may depend on an input, [inputs, units]: of the same or an earlier block."""
    mask = np.zeros([inputs, units], np.float32)
    row, column = inputs // blocks, units // blocks
    for k in range(blocks):
        mask[k * row : (k + 1) * row, (k + 1 if exclusive else k) * column :] = 1.0
    return mask


def masked_dense(
    inputs: TensorLike,
    units: int,
    num_blocks: int | None = None,
    exclusive: bool = False,
    kernel_initializer: Callable[..., Any] | None = None,
    reuse: bool | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> Tensor:
    """Returns a dense layer of `units` units of which a block depends only on the same and earlier blocks of inputs.

    num_blocks: into how many blocks inputs and units are cut. exclusive: whether the same block does not count.
    kernel_initializer: by default Glorot's. reuse, name, kwargs: as in `tf.layers.dense`. Raises `InvalidArgumentError`
    when the number of inputs is unknown.
    """
    value = convert_to_tensor(inputs)
    n = value.shape.sizes[-1] if value.shape.sizes else None
    if n is None:
        raise InvalidArgumentError("Rightmost dimension must be known prior to graph execution.")
    mask = _block_mask(num_blocks or n, n, units, exclusive)
    initial = kernel_initializer or glorot_normal()

    def masked_initializer(
        shape: ShapeLike, dtype: DTypeLike = float32, partition_info: PartitionInfo | None = None
    ) -> Tensor:
        return constant(mask, dtype) * initial(shape, dtype=dtype, partition_info=partition_info)

    return dense(
        value,
        units,
        kernel_initializer=masked_initializer,
        kernel_constraint=lambda x: constant(mask) * x,
        reuse=reuse,
        name=name,
        **kwargs,
    )


def masked_autoregressive_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Callable[[Any], Any] = RELU,
    log_scale_min_clip: float = -5.0,
    log_scale_max_clip: float = 3.0,
    log_scale_clip_gradient: bool = False,
    name: str | None = None,
    **kwargs: Any,
) -> Template:
    """Returns a function of vectors to (shift, log_scale) by masked dense layers, for `MaskedAutoregressiveFlow`.

    hidden_layers: the numbers of units. shift_only: whether log_scale is None. activation: of hidden layers.
    log_scale_min_clip, log_scale_max_clip: limits of log_scale, by which its gradient is cut only with
    `log_scale_clip_gradient`. kwargs: of `masked_dense`.
    """

    def shift_and_log_scale(x: Any) -> tuple[Any, Any]:
        n = x.shape.sizes[-1]
        flat = RESHAPE(x, [1, n]) if x.shape.ndims == 1 else x
        h = flat
        for i, units in enumerate(hidden_layers):
            h = masked_dense(h, units, n, exclusive=i == 0, activation=activation, **kwargs)
        h = masked_dense(h, n * (1 if shift_only else 2), n, activation=None, exclusive=not hidden_layers, **kwargs)
        if shift_only:
            return RESHAPE(h, shape_op(x)), None
        h = RESHAPE(h, concat([shape_op(x), [2]], 0))
        limits = log_scale_min_clip, log_scale_max_clip
        log_scale = (
            clip_by_value(h[..., 1], *limits) if log_scale_clip_gradient else _clipped_forward(h[..., 1], *limits)
        )
        return h[..., 0], log_scale

    return make_template(name or "masked_autoregressive_default_template", shift_and_log_scale)


def _clipped_forward(x: Tensor, low: float, high: float) -> Tensor:
    """`clip_by_value` whose gradient is that of the identity."""
    return x + STOP_GRADIENT(clip_by_value(x, low, high) - x)


def real_nvp_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Callable[[Any], Any] = RELU,
    name: str | None = None,
    **kwargs: Any,
) -> Template:
    """Returns a function (vectors, number of others) to (shift, log_scale) by dense layers, for `RealNVP`.

    hidden_layers: the numbers of units. shift_only: whether log_scale is None. activation: of hidden layers. kwargs: of
    `tf.layers.dense`.
    """

    def shift_and_log_scale(x: Any, output_units: int) -> tuple[Any, Any]:
        single = x.shape.ndims == 1
        h = x[None] if single else x
        for units in hidden_layers:
            h = dense(h, units, activation=activation, **kwargs)
        h = dense(h, output_units * (1 if shift_only else 2), activation=None, **kwargs)
        h = h[0] if single else h
        return (h, None) if shift_only else (h[..., :output_units], h[..., output_units:])

    return make_template(name or "real_nvp_default_template", shift_and_log_scale)


class BatchNormalization(Bijector):
    """The inverse of a batch normalisation layer: the inverse function normalises, the forward one undoes it.

    batchnorm_layer: a `tf.layers.BatchNormalization` without centering and scaling limits, by default a new one.
    training: whether the statistics of the batch are used, and the moving ones are updated.
    """

    def __init__(
        self,
        batchnorm_layer: Any = None,
        training: bool = True,
        validate_args: bool = False,
        name: str = "batch_normalization",
    ) -> None:
        self.batchnorm = batchnorm_layer or BatchNormalizationLayer(trainable=True, gamma_constraint=_above_zero)
        if getattr(self.batchnorm, "renorm", False):
            raise InvalidArgumentError("BatchNorm Bijector does not support renormalization.")
        self._training = training
        super().__init__(None, False, validate_args, None, 1, name=name)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.batchnorm(y, training=self._training)

    def _factors(self, value: Tensor) -> tuple[Any, Any, Any]:
        """(mean, variance, gamma) of the last axis."""
        layer = self.batchnorm
        return (
            layer.moving_mean,
            layer.moving_variance,
            layer.gamma if layer.gamma is not None else ones_like(value[..., :1]),
        )

    def _forward(self, x: Tensor) -> Tensor:
        if not getattr(self.batchnorm, "built", False):
            self.batchnorm(zeros_like(x), training=False)
        mean, variance, gamma = self._factors(x)
        beta = 0.0 if self.batchnorm.beta is None else self.batchnorm.beta
        return (x - beta) / gamma * SQRT(variance + self.batchnorm.epsilon) + mean

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        if not getattr(self.batchnorm, "built", False):
            self.batchnorm(zeros_like(y), training=False)
        _, variance, gamma = self._factors(y)
        if self._training:
            _, variance = moments(y, list(range((y.shape.ndims or 2) - 1)))
        return reduce_sum(LOG(absolute(gamma)) - 0.5 * LOG(variance + self.batchnorm.epsilon), -1)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return -self._inverse_log_det_jacobian(x)


def _above_zero(x: Tensor) -> Tensor:
    return RELU(x) + 1e-6

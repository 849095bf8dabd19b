"""Batch normalisation of images as one op, in the three versions of TensorFlow 1.x (white paper, Table 1).

On devices the op is a composition of other ops. Version 2 keeps the statistics of 16-bit images in 32 bits, version 3
has an additional output. Invariant: outputs 3 and 4 are the moments with which `y` was normalised."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import SQUEEZE
from tfnb.ops.math.binary import MAXIMUM
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.reduce import MEAN
from tfnb.ops.math.reduce_sum import SUM
from tfnb.ops.math.unary import RSQRT
from tfnb.ops.nn.batch_norm_grad import (
    FUSED_BATCH_NORM_GRAD,
    FUSED_BATCH_NORM_GRAD_V2,
    FUSED_BATCH_NORM_GRAD_V3,
    MIXED,
    BatchNormGradAttrs,
    channel_axes,
    like_channels,
    pixel_count,
)
from tfnb.ops.nn.losses import scope
from tfnb.types import DEVICE_FLOATS, Shape

__all__ = ["API", "FUSED_BATCH_NORM", "FUSED_BATCH_NORM_V3", "OPS"]


@record
class BatchNormAttrs:
    """`epsilon`: added to the variance; `is_training`: normalise with the moments of the batch.

    `exponential_avg_factor`: the weight of the batch's moments in outputs 1 and 2; the input moments have the
    remaining weight.
    """

    epsilon: float = 0.0001
    exponential_avg_factor: float = 1.0
    data_format: str = "NHWC"
    is_training: bool = True

    def __post_init__(self) -> None:
        settled = BatchNormGradAttrs(self.epsilon, self.data_format)
        object.__setattr__(self, "epsilon", settled.epsilon)

    @property
    def moving(self) -> bool:
        """Returns whether outputs 1 and 2 combine the input moments with those of the batch."""
        return self.is_training and self.exponential_avg_factor != 1.0


def _grad_attrs(a: BatchNormAttrs) -> dict[str, Any]:
    return {"epsilon": a.epsilon, "data_format": a.data_format, "is_training": a.is_training}


def _infer(c: Infer) -> tuple[Shape, ...]:
    x = with_rank(c, 0, 4)
    axis = 1 if c.attrs.data_format == "NCHW" else 3
    channels = Shape((x.as_list()[axis],))
    has_statistics = not c.attrs.is_training or c.attrs.moving
    for i in range(1, 5 if has_statistics else 3):
        vector = with_rank(c, i, 1)
        if not channels.is_compatible_with(vector):
            raise ShapeError(f"{c.op_name}: input {i} has shape {vector}, the images {x}")
        channels = channels.merge_with(vector)
    dims = x.as_list()
    dims[axis] = channels.as_list()[0]
    return Shape(tuple(dims)), channels, channels, channels, channels


def _infer_v3(c: Infer) -> tuple[Shape, ...]:
    return (*_infer(c), Shape((0,)))


def _host(
    call: HostCall, x: np.ndarray, scale: np.ndarray, offset: np.ndarray, mean: np.ndarray, variance: np.ndarray
) -> Any:
    a = call.attrs
    axes = tuple(int(i) for i in channel_axes(a))
    like = (-1, 1, 1) if a.data_format == "NCHW" else (-1,)
    n = x.size // max(scale.size, 1)
    wide_x = x.astype(scale.dtype)
    mean_out, unbiased = mean, variance
    with np.errstate(all="ignore"):
        if a.is_training:
            mean, variance = wide_x.mean(axis=axes), wide_x.var(axis=axes)
            variance_out, factor = variance * (n / max(n - 1, 1)), a.exponential_avg_factor
            if a.moving:
                mean_out = (1 - factor) * mean_out + factor * mean
                variance_out = (1 - factor) * unbiased + factor * variance_out
            else:
                mean_out = mean
            mean_out, unbiased = mean_out.astype(scale.dtype), variance_out.astype(scale.dtype)
        inv = scale / np.sqrt(variance + scale.dtype.type(a.epsilon))
        y = (wide_x - mean.reshape(like)) * inv.reshape(like) + offset.reshape(like)
    return y.astype(x.dtype), mean_out, unbiased, mean, variance


def _host_v3(call: HostCall, *inputs: np.ndarray) -> Any:
    return (*_host(call, *inputs), np.zeros(0, inputs[1].dtype))


def _flat(a: BatchNormAttrs, moments: Tensor) -> Tensor:
    return SQUEEZE(moments, squeeze_dims=tuple(int(i) for i in channel_axes(a)))


def _bessel(x: Tensor, channels: Tensor) -> Any:
    """The factor n / (n - 1), which makes the variance of the batch an unbiased estimate."""
    n = pixel_count(x, channels)
    return n / max(n - 1.0, 1.0) if isinstance(n, float) else n / MAXIMUM(n - 1.0, 1.0)


def _expand(op: Operation, x: Tensor, scale: Tensor, offset: Tensor, mean: Tensor, variance: Tensor) -> Any:
    a, axes = op.attrs, channel_axes(op.attrs)
    wide_x = cast_to(x, scale.dtype)
    mean_out, unbiased = mean, variance
    if a.is_training:
        mean_kept = MEAN(wide_x, axes, keep_dims=True)
        deviation = wide_x - mean_kept
        mean, variance = _flat(a, mean_kept), _flat(a, MEAN(deviation * deviation, axes, keep_dims=True))
        variance_out, factor = variance * _bessel(x, scale), a.exponential_avg_factor
        mean_out = (1 - factor) * mean_out + factor * mean if a.moving else mean
        unbiased = (1 - factor) * unbiased + factor * variance_out if a.moving else variance_out
    inv = scale * RSQRT(variance + a.epsilon)
    y = (wide_x - like_channels(a, mean)) * like_channels(a, inv) + like_channels(a, offset)
    return cast_to(y, x.dtype), mean_out, unbiased, mean, variance


def _expand_v3(op: Operation, *inputs: Tensor) -> Any:
    no_reserve = inputs[0].graph.to_tensor(np.zeros(0, inputs[1].dtype.np))
    return (*_expand(op, *inputs), no_reserve)


def _sum_of(*parts: Tensor | None) -> Any:
    total = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


def _scaled(factor: float, g: Tensor) -> Tensor:
    return g if g is None or factor == 1.0 else factor * g


def _back(op: Operation, dy: Tensor) -> tuple[Any, ...]:
    """Computes the gradient by the FusedBatchNormGrad op of the same version."""
    x, scale, _, mean, variance = op.inputs
    if op.attrs.is_training:
        mean, variance = op.outputs[3], op.outputs[4]
    attrs = _grad_attrs(op.attrs)
    if len(op.outputs) == 6:
        grads = FUSED_BATCH_NORM_GRAD_V3(dy, x, scale, mean, variance, op.outputs[5], **attrs)
    else:
        version = FUSED_BATCH_NORM_GRAD_V2 if "U" in op.types else FUSED_BATCH_NORM_GRAD
        grads = version(dy, x, scale, mean, variance, **attrs)
    return tuple(grads[:3])


def _grad(
    op: Operation, dy: Tensor, dshown: Tensor, dunbiased: Tensor, dmean: Tensor, dvariance: Tensor, *_: Tensor
) -> Any:
    """The gradient through `y` by FusedBatchNormGrad, plus that through the moments, which depend on x in training.

    Given moments get none, as in TensorFlow, so that an optimizer of all variables leaves the statistics alone.
    """
    a = op.attrs
    x, scale = op.inputs[:2]
    dx, dscale, doffset = (None, None, None) if dy is None else _back(op, dy)
    if not a.is_training:
        return dx, dscale, doffset, None, None
    factor = a.exponential_avg_factor
    old = (_scaled(1 - factor, dshown), _scaled(1 - factor, dunbiased)) if a.moving else (None, None)
    dmean = _sum_of(dmean, _scaled(factor, dshown))
    if dunbiased is not None:
        dvariance = _sum_of(dvariance, _scaled(factor, dunbiased) * _bessel(x, scale))
    return _sum_of(dx, _through_moments(op, dmean, dvariance)), dscale, doffset, *old


def _through_moments(op: Operation, dmean: Tensor, dvariance: Tensor) -> Any:
    """The gradient with respect to x that follows from the gradients of the batch's mean and variance."""
    a, x, scale = op.attrs, op.inputs[0], op.inputs[1]
    if dmean is None and dvariance is None:
        return None
    n = pixel_count(x, scale)
    deviation = cast_to(x, scale.dtype) - like_channels(a, op.outputs[3])
    dx = None
    if dvariance is not None:
        dx = deviation * like_channels(a, dvariance * 2.0 / n)
    if dmean is not None:
        dx = _sum_of(dx, like_channels(a, dmean / n) + (0.0 * deviation if dx is None else 0.0))
    return cast_to(dx, x.dtype)


_DOC = """(x - mean) / sqrt(variance + epsilon) * scale + offset, per channel of images.

    x: shape (batch, height, width, channels), or channels second for "NCHW". scale, offset: shape (channels,).
    mean, variance: shape (channels,), used for `is_training=False`. In training the moments of the batch are used
    instead; mean and variance are then ignored and may be empty, unless `exponential_avg_factor` is not 1. y: shape of
    x. batch_mean, batch_variance: the moments; in training the variance is multiplied by n / (n - 1) for n pixels per
    channel. reserve_space_1, reserve_space_2: the moments with which y was normalised. Errors: x has another rank, or
    a vector another length."""

_OUTPUTS = "batch_mean: %s, batch_variance: %s, reserve_space_1: %s, reserve_space_2: %s"

FUSED_BATCH_NORM: OpDef[tuple[Tensor, Tensor, Tensor, Tensor, Tensor]] = OpDef(
    "FusedBatchNorm",
    "x: T, scale: T, offset: T, mean: T, variance: T",
    "y: T, " + _OUTPUTS.replace("%s", "T"),
    _DOC,
    types={"T": DEVICE_FLOATS},
    attrs=BatchNormAttrs,
    infer=_infer,
    host=_host,
    expand=_expand,
    grad=_grad,
    defaults={"exponential_avg_factor": 1.0},
)

FUSED_BATCH_NORM_V2: OpDef[tuple[Tensor, Tensor, Tensor, Tensor, Tensor]] = OpDef(
    "FusedBatchNormV2",
    "x: T, scale: U, offset: U, mean: U, variance: U",
    "y: T, " + _OUTPUTS.replace("%s", "U"),
    "FusedBatchNorm of 16-bit images with statistics in 32 bits.\n\n    " + _DOC,
    types=MIXED,
    attrs=BatchNormAttrs,
    infer=_infer,
    host=_host,
    expand=_expand,
    grad=_grad,
)

FUSED_BATCH_NORM_V3: OpDef[tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]] = OpDef(
    "FusedBatchNormV3",
    "x: T, scale: U, offset: U, mean: U, variance: U",
    "y: T, " + _OUTPUTS.replace("%s", "U") + ", reserve_space_3: U",
    "FusedBatchNormV2 with an additional output, an empty vector that its gradient op takes.\n\n    " + _DOC,
    types=MIXED,
    attrs=BatchNormAttrs,
    infer=_infer_v3,
    host=_host_v3,
    expand=_expand_v3,
    grad=_grad,
)


@record
class GlobalNormAttrs:
    """`variance_epsilon`: added to the variance; `scale_after_normalization`: multiply by gamma."""

    variance_epsilon: float = 0.001
    scale_after_normalization: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance_epsilon", float(np.float32(self.variance_epsilon)))


def _infer_global(c: Infer) -> Shape:
    x = with_rank(c, 0, 4)
    channels = Shape(tuple(x.as_list()[3:]))
    for i in range(1, 5):
        channels = channels.merge_with(with_rank(c, i, 1))
    return x.merge_with(Shape((None, None, None, channels.as_list()[0])))


def _host_global(
    call: HostCall, t: np.ndarray, m: np.ndarray, v: np.ndarray, beta: np.ndarray, gamma: np.ndarray
) -> Any:
    inv = 1 / np.sqrt(v + v.dtype.type(call.attrs.variance_epsilon))
    inv = inv * gamma if call.attrs.scale_after_normalization else inv
    return ((t - m) * inv + beta).astype(t.dtype)


def _expand_global(op: Operation, t: Tensor, m: Tensor, v: Tensor, beta: Tensor, gamma: Tensor) -> Tensor:
    inv = RSQRT(v + op.attrs.variance_epsilon)
    return (t - m) * (inv * gamma if op.attrs.scale_after_normalization else inv) + beta


def _grad_global(op: Operation, dy: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    t, m, v, _, gamma = op.inputs
    axes = np.asarray([0, 1, 2], np.int32)
    inv = RSQRT(v + op.attrs.variance_epsilon)
    slope = inv * gamma if op.attrs.scale_after_normalization else inv
    by_beta, by_unit = SUM(dy, axes), SUM(dy * (t - m), axes) * inv
    by_v = -0.5 * by_unit * slope * inv
    by_gamma = by_unit if op.attrs.scale_after_normalization else 0.0 * by_unit
    return dy * slope, -by_beta * slope, by_v, by_beta, by_gamma


BATCH_NORM_WITH_GLOBAL_NORMALIZATION: OpDef[Tensor] = OpDef(
    "BatchNormWithGlobalNormalization",
    "t: T, m: T, v: T, beta: T, gamma: T",
    "result: T",
    """(t - m) / sqrt(v + variance_epsilon) * gamma + beta, per channel of images: the op of TensorFlow 0.6.

    t: shape (batch, height, width, channels). m, v, beta, gamma: shape (channels,); gamma is used only if
    `scale_after_normalization`. result: shape of t. Errors: t has another rank, or a vector another length.""",
    types={"T": DEVICE_FLOATS},
    attrs=GlobalNormAttrs,
    infer=_infer_global,
    host=_host_global,
    expand=_expand_global,
    grad=_grad_global,
)


def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Any, Any, Any]:
    """Batch normalisation of images. Returns the normalised images, the batch's mean and its unbiased variance.

    x: (batch, height, width, channels), or channels second for "NCHW". scale, offset: (channels,). mean,
    variance: required, and used, only for `is_training=False`. Raises `InvalidArgumentError` when they are missing in
    this case."""
    if not is_training and (mean is None or variance is None):
        raise InvalidArgumentError("fused_batch_norm needs mean and variance when it is not training")
    with scope(name, "FusedBatchNorm", x, scale, offset):
        images = graph_of((x, scale)).to_tensor(x)
        small = images.dtype.size == 2
        empty = np.zeros(0, np.float32 if small else images.dtype.np)
        moments = (empty if mean is None else mean, empty if variance is None else variance)
        # smaller ones divide by nothing in TensorFlow's fast kernel, so it never takes them
        outputs = (FUSED_BATCH_NORM_V2 if small else FUSED_BATCH_NORM)(
            images,
            scale,
            offset,
            *moments,
            epsilon=max(float(epsilon), 1.001e-5),
            data_format=data_format,
            is_training=bool(is_training),
            exponential_avg_factor=float(exponential_avg_factor),
        )
        return outputs[0], outputs[1], outputs[2]


OPS: tuple[OpDef, ...] = (
    FUSED_BATCH_NORM,
    FUSED_BATCH_NORM_V2,
    FUSED_BATCH_NORM_V3,
    BATCH_NORM_WITH_GLOBAL_NORMALIZATION,
)
API: dict[str, Any] = {"nn.fused_batch_norm": fused_batch_norm}

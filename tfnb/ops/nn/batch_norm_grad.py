"""The gradient of batch normalisation as one op that has a gradient itself (white paper, section 4.1).

Its mean and variance are ordinary inputs and receive gradients, which continue to the ops that computed them, so
derivatives of any order are exact. Invariant: the arithmetic is in the dtype of `scale`, also for 16-bit images.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from tfnb.errors import ShapeError
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.array.shape_ops import RESHAPE, size_of
from tfnb.ops.conv_pool.windows import attrs_of, channels_first
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.reduce_sum import SUM
from tfnb.ops.math.unary import RSQRT
from tfnb.types import DEVICE_FLOATS, Shape, bfloat16, float16, float32, scalar

__all__ = [
    "FUSED_BATCH_NORM_GRAD",
    "FUSED_BATCH_NORM_GRAD_V2",
    "FUSED_BATCH_NORM_GRAD_V3",
    "MIXED",
    "OPS",
    "BatchNormGradAttrs",
    "channel_axes",
    "like_channels",
    "pixel_count",
]

# versions 2 and 3 take images of up to 32 bits, and statistics in 32 bits
MIXED = {"T": (float32, float16, bfloat16), "U": (float32,)}


class HasLayout(Protocol):
    """Attributes of an op on images, of which `data_format` says where the channels are."""

    @property
    def data_format(self) -> str: ...


@record
class BatchNormGradAttrs:
    """`epsilon`: added to the variance; `is_training`: the moments are those of the batch itself."""

    epsilon: float = 0.0001
    data_format: str = "NHWC"
    is_training: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", float(np.float32(self.epsilon)))
        channels_first(self.data_format)


def channel_axes(a: HasLayout) -> np.ndarray:
    """Returns the axes over which the pixels of one channel extend."""
    return np.asarray([0, 2, 3] if a.data_format == "NCHW" else [0, 1, 2], np.int32)


def like_channels(a: HasLayout, vector: Tensor) -> Tensor:
    """Returns a vector with one element per channel, reshaped so that it broadcasts to the images."""
    return RESHAPE(vector, np.asarray([-1, 1, 1], np.int32)) if a.data_format == "NCHW" else vector


def pixel_count(x: Tensor, channels: Tensor) -> Any:
    """Returns the number of pixels per channel: an int when it is known statically, else a scalar tensor."""
    pixels, n = size_of(x), size_of(channels)
    if isinstance(pixels, int) and isinstance(n, int):
        return float(max(pixels // max(n, 1), 1))
    return cast_to(x.graph.to_tensor(pixels // n), channels.dtype)


def _infer(c: Infer) -> tuple[Shape, ...]:
    dims = with_rank(c, 0, 4).merge_with(c.shapes[1]).as_list()
    axis = 1 if c.attrs.data_format == "NCHW" else 3
    channels = Shape((dims[axis],))
    for i in (2, 3, 4):
        vector = with_rank(c, i, 1)
        if not channels.is_compatible_with(vector):
            raise ShapeError(f"{c.op_name}: input {i} has shape {vector}, the images {c.shapes[1]}")
        channels = channels.merge_with(vector)
    dims[axis] = channels.as_list()[0]
    return Shape(tuple(dims)), channels, channels, scalar, scalar


def _host(
    call: HostCall,
    dy: np.ndarray,
    x: np.ndarray,
    scale: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    *_: np.ndarray,
) -> Any:
    a = call.attrs
    axes = tuple(int(i) for i in channel_axes(a))
    shape = (-1, 1, 1) if a.data_format == "NCHW" else (-1,)
    wide_dtype = scale.dtype
    slope, inv = dy.astype(wide_dtype), 1 / np.sqrt(variance + wide_dtype.type(a.epsilon))
    unit = (x.astype(wide_dtype) - mean.reshape(shape)) * inv.reshape(shape)
    by_offset, by_scale = slope.sum(axes), (slope * unit).sum(axes)
    dx = slope
    if a.is_training:
        n = max(x.size // max(scale.size, 1), 1)
        dx = slope - (by_offset / n).reshape(shape) - unit * (by_scale / n).reshape(shape)
    dx = dx * (scale * inv).reshape(shape)
    no_value = np.zeros((), wide_dtype)
    return dx.astype(x.dtype), by_scale.astype(wide_dtype), by_offset.astype(wide_dtype), no_value, no_value


def _unit(op: Operation) -> tuple[Any, Any]:
    """The normalised images, and 1 / the standard deviation."""
    _, x, scale, mean, variance = op.inputs[:5]
    inv = RSQRT(variance + op.attrs.epsilon)
    deviation = cast_to(x, scale.dtype) - like_channels(op.attrs, mean)
    return deviation * like_channels(op.attrs, inv), inv


def _expand(op: Operation, dy: Tensor, x: Tensor, scale: Tensor, mean: Tensor, variance: Tensor, *_: Tensor) -> Any:
    a, axes = op.attrs, channel_axes(op.attrs)
    unit, inv = _unit(op)
    slope = cast_to(dy, scale.dtype)
    by_offset, by_scale = SUM(slope, axes), SUM(slope * unit, axes)
    dx = slope
    if a.is_training:
        n = pixel_count(x, scale)
        dx = slope - like_channels(a, by_offset / n) - unit * like_channels(a, by_scale / n)
    dx = dx * like_channels(a, scale * inv)
    no_value = x.graph.to_tensor(np.zeros((), scale.dtype.np))
    return cast_to(dx, x.dtype), by_scale, by_offset, no_value, no_value


def _sum_of(*parts: Tensor | None) -> Any:
    total = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


def _grad(op: Operation, gx: Tensor, gs: Tensor, go: Tensor, *_: Tensor) -> Any:
    """The gradient of F = <gx, dx> + <gs, dscale> + <go, doffset>, where `unit` stands for (x - mean) * inv."""
    a, axes = op.attrs, channel_axes(op.attrs)
    dy, x, scale, _mean, _variance, *rest = op.inputs
    unit, inv = _unit(op)
    slope = cast_to(dy, scale.dtype)
    by_dy = by_scale = by_inv = None
    by_unit = None if gs is None else like_channels(a, gs) * slope
    if gx is not None:
        wide_gx = cast_to(gx, scale.dtype)
        projection = SUM(wide_gx * slope, axes)  # <gx, dx> is scale * inv * projection
        if a.is_training:
            n = pixel_count(x, scale)
            slopes, units = SUM(slope * unit, axes), SUM(wide_gx * unit, axes)
            projection = projection - (SUM(wide_gx, axes) * SUM(slope, axes) + units * slopes) / n
            per = like_channels(a, -scale * inv / n)
            by_unit = _sum_of(
                by_unit,
                per * (like_channels(a, slopes) * wide_gx + like_channels(a, units) * slope),
            )
        by_dy = cast_to(op.opdef(gx, *op.inputs[1:], **attrs_of(a))[0], scale.dtype)
        by_scale, by_inv = inv * projection, scale * projection
    if gs is not None:
        by_dy = _sum_of(by_dy, like_channels(a, gs) * unit)
    if go is not None:
        by_dy = _sum_of(by_dy, like_channels(a, go) + ZEROS_LIKE(slope))
    by_x = by_mean = None
    if by_unit is not None:
        by_x = by_unit * like_channels(a, inv)
        by_mean = -inv * SUM(by_unit, axes)
        by_inv = _sum_of(by_inv, SUM(by_unit * unit, axes) / inv)
    by_variance = None if by_inv is None else -0.5 * inv * inv * inv * by_inv
    by_dy, by_x = (None if g is None else cast_to(g, x.dtype) for g in (by_dy, by_x))
    return (by_dy, by_x, by_scale, by_mean, by_variance, *(None for _ in rest))


_DOC = """The gradient of %s from the gradient of its first output.

    With inv = 1 / sqrt(variance + epsilon), unit = (x - mean) * inv and means over the pixels of a channel: in training
    x_backprop = scale * inv * (y_backprop - mean(y_backprop) - unit * mean(y_backprop * unit)), otherwise scale * inv *
    y_backprop; scale_backprop = sum(y_backprop * unit); offset_backprop = sum(y_backprop). y_backprop, x: shape (batch,
    height, width, channels), or channels second for "NCHW". scale: shape (channels,). reserve_space_1, reserve_space_2:
    the mean and variance with which y was normalised. The last two outputs are 0. Errors: x has another rank, or a
    vector another length."""


def _gradient(
    name: str, of: str, inputs: str, outputs: str, types: dict[str, Any]
) -> OpDef[tuple[Tensor, Tensor, Tensor, Tensor, Tensor]]:
    return OpDef(
        name,
        inputs,
        outputs,
        _DOC % of,
        types=types,
        attrs=BatchNormGradAttrs,
        infer=_infer,
        host=_host,
        expand=_expand,
        grad=_grad,
    )


FUSED_BATCH_NORM_GRAD = _gradient(
    "FusedBatchNormGrad",
    "FusedBatchNorm",
    "y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T",
    "x_backprop: T, scale_backprop: T, offset_backprop: T, reserve_space_3: T, reserve_space_4: T",
    {"T": DEVICE_FLOATS},
)
FUSED_BATCH_NORM_GRAD_V2 = _gradient(
    "FusedBatchNormGradV2",
    "FusedBatchNormV2",
    "y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U",
    "x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_3: U, reserve_space_4: U",
    MIXED,
)
FUSED_BATCH_NORM_GRAD_V3 = _gradient(
    "FusedBatchNormGradV3",
    "FusedBatchNormV3",
    "y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U",
    "x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_4: U, reserve_space_5: U",
    MIXED,
)

OPS: tuple[OpDef, ...] = (
    FUSED_BATCH_NORM_GRAD,
    FUSED_BATCH_NORM_GRAD_V2,
    FUSED_BATCH_NORM_GRAD_V3,
)

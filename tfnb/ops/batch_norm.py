"""Batch normalisation of images as one op, as TensorFlow 1.x writes it (white paper, Table 1).

The op is a composition for devices, and so is its gradient, which is why derivatives of any order exist.
Invariant: the moments in its outputs 3 and 4 are those that `y` was normalised with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.shapes import with_rank
from tfnb.ops.convert import cast_to
from tfnb.ops.losses import scope
from tfnb.ops.math_binary import MAXIMUM
from tfnb.ops.math_unary import RSQRT
from tfnb.ops.reduce import MEAN
from tfnb.ops.reduce_sum import SUM
from tfnb.ops.shaping import RESHAPE, SQUEEZE, size_of
from tfnb.types import DEVICE_FLOATS, Shape

__all__ = ["API", "FUSED_BATCH_NORM", "OPS"]


@dataclass(frozen=True, slots=True)
class BatchNormAttrs:
    """`epsilon`: added to the variance; `is_training`: normalise with the batch's own moments."""

    epsilon: float = 0.0001
    data_format: str = "NHWC"
    is_training: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", float(np.float32(self.epsilon)))
        if self.data_format not in ("NHWC", "NCHW"):
            raise InvalidArgumentError(
                f'data_format must be "NHWC" or "NCHW", got {self.data_format!r}'
            )


def _axes(a: BatchNormAttrs) -> np.ndarray:
    return np.asarray([0, 2, 3] if a.data_format == "NCHW" else [0, 1, 2], np.int32)


def _infer(c: Infer) -> tuple[Shape, ...]:
    x = with_rank(c, 0, 4)
    axis = 1 if c.attrs.data_format == "NCHW" else 3
    channels = Shape((x.as_list()[axis],))
    for i in range(1, 3 if c.attrs.is_training else 5):
        vector = with_rank(c, i, 1)
        if not channels.is_compatible_with(vector):
            raise ShapeError(f"{c.op_name}: input {i} has shape {vector}, the images {x}")
        channels = channels.merge_with(vector)
    dims = x.as_list()
    dims[axis] = channels.as_list()[0]
    return Shape(tuple(dims)), channels, channels, channels, channels


def _host(
    call: HostCall, x: np.ndarray, scale: np.ndarray, offset: np.ndarray, mean: Any, variance: Any
) -> Any:
    a = call.attrs
    axes = tuple(int(i) for i in _axes(a))
    like = (-1, 1, 1) if a.data_format == "NCHW" else (-1,)
    n = x.size // max(scale.size, 1)
    unbiased = variance
    with np.errstate(all="ignore"):
        if a.is_training:
            mean, variance = x.mean(axis=axes), x.var(axis=axes)
            unbiased = (variance * (n / max(n - 1, 1))).astype(x.dtype)
        inv = scale / np.sqrt(variance + x.dtype.type(a.epsilon))
        y = (x - mean.reshape(like)) * inv.reshape(like) + offset.reshape(like)
    return y.astype(x.dtype), mean, unbiased, mean, variance


def _like(a: BatchNormAttrs, vector: Any) -> Any:
    """A vector of channels, shaped so that it broadcasts against the images."""
    return RESHAPE(vector, np.asarray([-1, 1, 1], np.int32)) if a.data_format == "NCHW" else vector


def _flat(a: BatchNormAttrs, moments: Any) -> Any:
    return SQUEEZE(moments, squeeze_dims=tuple(int(i) for i in _axes(a)))


def _count(x: Any, channels: Any) -> Any:
    """How many pixels a channel has: a number when it is known, else a scalar tensor."""
    pixels, n = size_of(x), size_of(channels)
    if isinstance(pixels, int) and isinstance(n, int):
        return float(pixels // max(n, 1))
    return cast_to(x.graph.to_tensor(pixels // n), x.dtype)


def _bessel(x: Any, channels: Any) -> Any:
    """n / (n - 1), which makes the batch's variance an unbiased estimate."""
    n = _count(x, channels)
    return n / max(n - 1.0, 1.0) if isinstance(n, float) else n / MAXIMUM(n - 1.0, 1.0)


def _expand(op: Any, x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
    a = op.attrs
    unbiased = variance
    if a.is_training:
        kept = MEAN(x, _axes(a), keep_dims=True)
        away = x - kept
        mean, variance = _flat(a, kept), _flat(a, MEAN(away * away, _axes(a), keep_dims=True))
        unbiased = variance * _bessel(x, scale)
    inv = scale * RSQRT(variance + a.epsilon)
    y = (x - _like(a, mean)) * _like(a, inv) + _like(a, offset)
    return y, mean, unbiased, mean, variance


def _sum_of(*parts: Any) -> Any:
    found = None
    for part in parts:
        if part is not None:
            found = part if found is None else found + part
    return found


def _grad(op: Any, dy: Any, dmean: Any, dunbiased: Any, dmean2: Any, dvariance: Any) -> Any:
    """Through `y` by the chain rule, and through the moments, which are functions of x in training."""
    a = op.attrs
    x, scale, _, given_mean, given_variance = op.inputs
    training = a.is_training
    mean, variance = (op.outputs[3], op.outputs[4]) if training else (given_mean, given_variance)
    inv = RSQRT(variance + a.epsilon)
    away = (x - _like(a, mean)) * _like(a, inv)
    dx = dscale = doffset = None
    if dy is not None:
        doffset = SUM(dy, _axes(a))
        dscale = SUM(dy * away, _axes(a))
        dx = dy * _like(a, scale * inv)
        # what y loses by the moments it was normalised with
        dmean = _sum_of(dmean, -doffset * scale * inv)
        dvariance = _sum_of(dvariance, dscale * scale * inv * inv * -0.5)
    dmean, dvariance = _sum_of(dmean, dmean2), dvariance
    if not training:
        return dx, dscale, doffset, dmean, _sum_of(dvariance, dunbiased)
    if dunbiased is not None:
        dvariance = _sum_of(dvariance, dunbiased * _bessel(x, scale))
    n = _count(x, scale)
    if dmean is not None:
        dx = _sum_of(dx, _like(a, dmean / n) + 0.0 * x)
    if dvariance is not None:
        dx = _sum_of(dx, (x - _like(a, mean)) * _like(a, dvariance * 2.0 / n))
    return dx, dscale, doffset, None, None


FUSED_BATCH_NORM = OpDef(
    "FusedBatchNorm",
    "x: T, scale: T, offset: T, mean: T, variance: T",
    "y: T, batch_mean: T, batch_variance: T, reserve_space_1: T, reserve_space_2: T",
    """(x - mean) / sqrt(variance + epsilon) * scale + offset, per channel of images.

    x: shape (batch, height, width, channels), or channels second for "NCHW". scale, offset: shape (channels,).
    mean, variance: the same for `is_training=False`; in training they are not read (empty vectors will do) and
    the batch's own moments serve. y: shape of x. batch_mean, batch_variance: the moments, the variance times n
    / (n - 1) for the n pixels of a channel in training. reserve_space_1, reserve_space_2: the moments that y
    was normalised with. Errors: another rank, vectors of another length.""",
    types={"T": DEVICE_FLOATS},
    attrs=BatchNormAttrs,
    infer=_infer,
    host=_host,
    expand=_expand,
    grad=_grad,
)


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> tuple[Any, Any, Any]:
    """Batch normalisation of images; gives the normalised images, the batch's mean and its unbiased variance.

    x: (batch, height, width, channels), or channels second for "NCHW". scale, offset: (channels,). mean,
    variance: needed, and then used, only for `is_training=False`. Raises `InvalidArgumentError` when they are
    missing there."""
    if not is_training and (mean is None or variance is None):
        raise InvalidArgumentError(
            "fused_batch_norm needs mean and variance when it is not training"
        )
    with scope(name, "FusedBatchNorm", x, scale, offset):
        images = graph_of((x, scale)).to_tensor(x)
        empty = np.zeros(0, images.dtype.np)
        moments = (empty if mean is None else mean, empty if variance is None else variance)
        # smaller ones divide by nothing in TensorFlow's fast kernel, so it never takes them
        found = FUSED_BATCH_NORM(
            images,
            scale,
            offset,
            *moments,
            epsilon=max(float(epsilon), 1.001e-5),
            data_format=data_format,
            is_training=bool(is_training),
        )
        return found[0], found[1], found[2]


OPS: tuple[OpDef, ...] = (FUSED_BATCH_NORM,)
API: dict[str, Any] = {"nn.fused_batch_norm": fused_batch_norm}

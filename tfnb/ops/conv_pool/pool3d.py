"""Pooling over windows of a volume: first over windows of each plane, then along the depth.

Kernels take volumes of shape (batch, depth, height, width, channels). Voxels outside the volume are ignored.
Invariant: as in TensorFlow, every voxel that equals the maximum of its window gets the whole gradient.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tfnb.errors import ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.opdef import HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import merged, with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.array.shape_ops import shape_of
from tfnb.ops.conv_pool.conv_reference import Axis
from tfnb.ops.conv_pool.pool3d_recipes import (
    avg_pool3d_calls,
    avg_pool3d_grad_calls,
    max_pool3d_calls,
    max_pool3d_grad_calls,
    pool3d_axes,
)
from tfnb.ops.conv_pool.windows import ImageArgs, attrs_of, settle, sizes_in, window_count
from tfnb.types import FLOATS, Shape

__all__ = ["AVG_POOL_3D", "MAX_POOL_3D", "OPS", "Pool3DAttrs"]


@record
class Pool3DAttrs:
    """`ksize`, `strides`: window size and step per dimension in the order of `data_format`, 1 for batch and channels.

    `padding`: "SAME" or "VALID".
    """

    ksize: tuple[int, ...] = (1, 1, 1, 1, 1)
    strides: tuple[int, ...] = (1, 1, 1, 1, 1)
    padding: str = "VALID"
    data_format: str = "NDHWC"

    def __post_init__(self) -> None:
        settle(self, 5)


VOLUME, VOLUMES, SIZED = (
    ImageArgs((0,), rank=5),
    ImageArgs((0, 1, 2), rank=5),
    ImageArgs((1,), sizes=(0,), rank=5),
)


def _pooled(a: Pool3DAttrs, x: Shape) -> Shape:
    dims = x.as_list()
    counts = [window_count(dims[i], a.ksize[i], a.strides[i], 1, a.padding) for i in (1, 2, 3)]
    return Shape((dims[0], *counts, dims[4]))


def _check_pooled(c: Infer, x: Shape, y: Shape) -> None:
    output = _pooled(c.attrs, x)
    if not output.is_compatible_with(y):
        raise ShapeError(f"{c.op_name}: volumes of shape {x} pool to {output}, but the gradient has shape {y}")


@VOLUME.infer
def _infer(c: Infer) -> Shape:
    return _pooled(c.attrs, with_rank(c, 0, 5))


@VOLUMES.infer
def _infer_max_grad(c: Infer) -> Shape:
    x = with_rank(c, 0, 5)
    _check_pooled(c, x, merged(c, 1, 2))
    return x


@VOLUMES.infer
def _infer_max_grad_grad(c: Infer) -> Shape:
    x = with_rank(c, 0, 5).merge_with(c.shapes[2])
    _check_pooled(c, x, c.shapes[1])
    return _pooled(c.attrs, x).merge_with(c.shapes[1])


@SIZED.infer
def _infer_avg_grad(c: Infer) -> Shape:
    x = sizes_in(c, 0, 5)
    _check_pooled(c, x, with_rank(c, 1, 5))
    return x


Axes = tuple[Axis, Axis, Axis]


def _padded(x: np.ndarray, axes: Axes, fill: float) -> np.ndarray:
    out = np.full((x.shape[0], *(a.padded for a in axes), x.shape[4]), fill, x.dtype)
    _crop(out, axes)[...] = x
    return out


def _crop(padded: np.ndarray, axes: Axes) -> np.ndarray:
    inner = (slice(None), *(slice(a.before, a.before + a.limit) for a in axes))
    return padded[inner]


def _taps(padded: np.ndarray, axes: Axes) -> list[np.ndarray]:
    """For each tap, a view of the voxels that it covers in all windows."""
    views = []
    for at in product(*(range(a.size) for a in axes)):
        slices = [slice(t, t + (a.count - 1) * a.stride + 1, a.stride) for t, a in zip(at, axes, strict=True)]
        region = (slice(None), *slices)
        views.append(padded[region])
    return views


def _counts(axes: Axes, dtype: np.dtype[Any]) -> np.ndarray:
    """The number of voxels of each window that lie in the volume."""
    z, y, x = (a.inside() for a in axes)
    return (z[:, None, None] * y[:, None] * x)[..., None].astype(dtype)


def _output_shape(x: np.ndarray, axes: Axes) -> tuple[int, ...]:
    return (x.shape[0], *(a.count for a in axes), x.shape[4])


@VOLUME.host
def _host_max(call: HostCall, x: np.ndarray) -> np.ndarray:
    axes = pool3d_axes(x.shape, call.attrs)
    if 0 in _output_shape(x, axes):
        return np.zeros(_output_shape(x, axes), x.dtype)
    return np.maximum.reduce(_taps(_padded(x, axes, -np.inf), axes))


@VOLUME.host
def _host_avg(call: HostCall, x: np.ndarray) -> np.ndarray:
    axes = pool3d_axes(x.shape, call.attrs)
    if 0 in _output_shape(x, axes):
        return np.zeros(_output_shape(x, axes), x.dtype)
    return np.add.reduce(_taps(_padded(x, axes, 0), axes)) / _counts(axes, x.dtype)


@VOLUMES.host
def _host_max_grad(call: HostCall, x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> np.ndarray:
    axes = pool3d_axes(x.shape, call.attrs)
    padded = _padded(x, axes, -np.inf)
    out = np.zeros_like(padded)
    if dy.size:
        for view, target in zip(_taps(padded, axes), _taps(out, axes), strict=True):
            target += np.where(view == y, dy, 0)
    return _crop(out, axes)


@VOLUMES.host
def _host_max_grad_grad(call: HostCall, x: np.ndarray, y: np.ndarray, g: np.ndarray) -> np.ndarray:
    axes = pool3d_axes(x.shape, call.attrs)
    total = np.zeros(y.shape, g.dtype)
    if y.size:
        pairs = zip(_taps(_padded(x, axes, np.nan), axes), _taps(_padded(g, axes, 0), axes), strict=True)
        for view, grads in pairs:
            total += np.where(view == y, grads, 0)
    return total


@SIZED.host
def _host_avg_grad(call: HostCall, sizes: np.ndarray, dy: np.ndarray) -> np.ndarray:
    shape = tuple(int(d) for d in sizes)
    axes = pool3d_axes(shape, call.attrs)
    out = np.zeros((shape[0], *(a.padded for a in axes), shape[4]), dy.dtype)
    if dy.size:
        share = dy / _counts(axes, dy.dtype)
        for target in _taps(out, axes):
            target += share
    return _crop(out, axes)


def _lower_max_grad_grad(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    n, *place, k = idx
    axes = pool3d_axes(site.inputs[0].shape, site.attrs)
    largest = site.load(1, idx)
    total: Any = None
    for at in product(*(range(a.size) for a in axes)):
        taps = [i * a.stride + (t - a.before) for i, t, a in zip(place, at, axes, strict=True)]
        inside: Any = None
        for i, a in zip(taps, axes, strict=True):
            here = s.and_(i >= 0, i < a.limit)
            inside = here if inside is None else s.and_(inside, here)
        clamped = [s.minimum(s.maximum(i, 0), max(a.limit - 1, 0)) for i, a in zip(taps, axes, strict=True)]
        is_largest = s.and_(inside, s.eq(site.load(0, (n, *clamped, k)), largest))
        part = s.where(is_largest, site.load(2, (n, *clamped, k)), 0)
        total = part if total is None else total + part
    return total


def _grad_max(op: Operation, dy: Tensor) -> Tensor:
    return MAX_POOL_3D_GRAD(op.x, op.y, dy, **attrs_of(op.attrs))


def _grad_max_grad(op: Operation, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Only `grad` gets a gradient, since the positions of the maxima are constant almost everywhere."""
    x, y, _ = op.inputs
    return ZEROS_LIKE(x), ZEROS_LIKE(y), MAX_POOL_3D_GRAD_GRAD(x, y, g, **attrs_of(op.attrs))


def _grad_max_grad_grad(op: Operation, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    x, y, _ = op.inputs
    return ZEROS_LIKE(x), ZEROS_LIKE(y), MAX_POOL_3D_GRAD(x, y, g, **attrs_of(op.attrs))


def _grad_avg(op: Operation, dy: Tensor) -> Tensor:
    return AVG_POOL_3D_GRAD(shape_of(op.x), dy, **attrs_of(op.attrs))


def _grad_avg_grad(op: Operation, g: Tensor) -> tuple[None, Tensor]:
    return None, AVG_POOL_3D(g, **attrs_of(op.attrs))


MAX_POOL_3D: OpDef[Tensor] = OpDef(
    "MaxPool3D",
    "input: T",
    "output: T",
    """The largest voxel of each window, channel by channel.

    input: shape (batch, depth, height, width, channels), or channels second for "NCDHW". output: (batch, planes,
    rows, columns, channels); each size follows from the rule of MaxPool. Errors: the rank is not 5.""",
    types={"T": FLOATS},
    attrs=Pool3DAttrs,
    infer=_infer,
    host=_host_max,
    opencl=max_pool3d_calls,
    expand=VOLUME.expand,
    grad=_grad_max,
)

MAX_POOL_3D_GRAD: OpDef[Tensor] = OpDef(
    "MaxPool3DGrad",
    "orig_input: TInput, orig_output: TInput, grad: T",
    "output: T",
    """The gradient of MaxPool3D: each of `grad` goes to all voxels of its window that equal `orig_output`.

    orig_input, output: the shape of MaxPool3D's input; orig_output, grad: the shape of its output. Errors: the shapes
    do not match.""",
    types={"T": FLOATS, "TInput": FLOATS},
    attrs=Pool3DAttrs,
    infer=_infer_max_grad,
    host=_host_max_grad,
    opencl=max_pool3d_grad_calls,
    expand=VOLUMES.expand,
    grad=_grad_max_grad,
)

MAX_POOL_3D_GRAD_GRAD: OpDef[Tensor] = OpDef(
    "MaxPool3DGradGrad",
    "orig_input: T, orig_output: T, grad: T",
    "output: T",
    """The gradient of MaxPool3DGrad with respect to its `grad`.

    It is the sum of its gradient over the voxels of each window that equal `orig_output`. orig_input, grad: the shape
    of MaxPool3D's input; orig_output, output: the shape of its output. Errors: the shapes do not match.""",
    types={"T": FLOATS},
    attrs=Pool3DAttrs,
    infer=_infer_max_grad_grad,
    host=_host_max_grad_grad,
    lower=_lower_max_grad_grad,
    expand=VOLUMES.expand,
    grad=_grad_max_grad_grad,
)

AVG_POOL_3D: OpDef[Tensor] = OpDef(
    "AvgPool3D",
    "input: T",
    "output: T",
    """The mean of the voxels of each window that lie in the volume, channel by channel.

    input: shape (batch, depth, height, width, channels), or channels second for "NCDHW". output: the shape of
    MaxPool3D's output. Errors: the rank is not 5.""",
    types={"T": FLOATS},
    attrs=Pool3DAttrs,
    infer=_infer,
    host=_host_avg,
    opencl=avg_pool3d_calls,
    expand=VOLUME.expand,
    grad=_grad_avg,
)

AVG_POOL_3D_GRAD: OpDef[Tensor] = OpDef(
    "AvgPool3DGrad",
    "orig_input_shape: int32, grad: T",
    "output: T",
    """The gradient of AvgPool3D: divides each of `grad` evenly among the voxels of its window that lie in the volume.

    orig_input_shape: the 5 dimensions of AvgPool3D's input and of the output. grad: the shape of AvgPool3D's output.
    Errors: the shapes do not match.""",
    types={"T": FLOATS},
    attrs=Pool3DAttrs,
    infer=_infer_avg_grad,
    host=_host_avg_grad,
    opencl=avg_pool3d_grad_calls,
    expand=SIZED.expand,
    grad=_grad_avg_grad,
    shape_inputs=(0,),
)

OPS: tuple[OpDef, ...] = (
    MAX_POOL_3D,
    MAX_POOL_3D_GRAD,
    MAX_POOL_3D_GRAD_GRAD,
    AVG_POOL_3D,
    AVG_POOL_3D_GRAD,
)

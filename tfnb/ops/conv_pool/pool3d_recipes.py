"""Kernel launches of pooling over volumes: the kernels for images pool the planes, then the depth.

See `kernels_cl/conv_pool/pool.cl`. The maximum of maxima is the maximum, and the element counts of an average are
products, so two launches pool a volume. Only the gradient of max-pooling has its own kernel. Invariant: an empty output
needs no call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from tfnb.ir.kernelcall import Arg, In, KernelCall, KernelSite, Out, Temp, TensorInfo, i32
from tfnb.ops.conv_pool.conv_recipes import (
    TAIL_BYTES,
    avg_pool_calls,
    avg_pool_grad_calls,
    max_pool_calls,
)
from tfnb.ops.conv_pool.conv_reference import Axis
from tfnb.ops.conv_pool.pool import PoolAttrs
from tfnb.types import int32

__all__ = [
    "avg_pool3d_calls",
    "avg_pool3d_grad_calls",
    "max_pool3d_calls",
    "max_pool3d_grad_calls",
    "pool3d_axes",
]

Recipe = Callable[[KernelSite], tuple[KernelCall, ...]]


class VolumeWindows(Protocol):
    """The attributes of an op on the windows of a volume; the sizes and steps are those of all its dimensions."""

    @property
    def ksize(self) -> Sequence[int]: ...

    @property
    def strides(self) -> Sequence[int]: ...

    @property
    def padding(self) -> str: ...


def pool3d_axes(shape: Sequence[int], attrs: VolumeWindows) -> tuple[Axis, Axis, Axis]:
    """Returns the windows along the depth, height and width of a volume."""
    z, y, x = (Axis.of(int(shape[i]), attrs.ksize[i], attrs.strides[i], 1, attrs.padding) for i in (1, 2, 3))
    return z, y, x


def _halves(attrs: VolumeWindows) -> tuple[PoolAttrs, PoolAttrs]:
    """The pooling of planes, and that of the depth, where a volume is seen as an image (depth, height * width)."""
    _, kd, kh, kw, _ = attrs.ksize
    _, sd, sh, sw, _ = attrs.strides
    return (
        PoolAttrs((1, kh, kw, 1), (1, sh, sw, 1), attrs.padding),
        PoolAttrs((1, kd, 1, 1), (1, sd, 1, 1), attrs.padding),
    )


def _using(calls: tuple[KernelCall, ...], table: dict[Arg, Arg]) -> tuple[KernelCall, ...]:
    return tuple(replace(c, args=tuple(table.get(a, a) for a in c.args)) for c in calls)


def _forward(site: KernelSite, recipe: Recipe) -> tuple[KernelCall, ...]:
    if site.outputs[0].size == 0:
        return ()
    dtype = site.outputs[0].dtype
    n, d, h, w, c = site.inputs[0].shape
    _, od, oh, ow, _ = site.outputs[0].shape
    planes, depth = _halves(site.attrs)
    middle = TensorInfo(dtype, (n * d, oh, ow, c))
    temp = Temp("pooled_planes", middle.nbytes + TAIL_BYTES)
    image = TensorInfo(dtype, (n * d, h, w, c))
    first = recipe(replace(site, inputs=(image,), outputs=(middle,), attrs=planes))
    stack, result = (TensorInfo(dtype, (n, deep, oh * ow, c)) for deep in (d, od))
    second = recipe(replace(site, inputs=(stack,), outputs=(result,), attrs=depth))
    return (*_using(first, {Out(0): temp}), *_using(second, {In(0): temp}))


def max_pool3d_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """Returns the launches of MaxPool3D(input)."""
    return _forward(site, max_pool_calls)


def avg_pool3d_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """Returns the launches of AvgPool3D(input)."""
    return _forward(site, avg_pool_calls)


def avg_pool3d_grad_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """Returns the launches of AvgPool3DGrad(orig_input_shape, grad)."""
    if site.outputs[0].size == 0:
        return ()
    dtype = site.outputs[0].dtype
    n, d, h, w, c = site.outputs[0].shape
    _, od, oh, ow, _ = site.inputs[1].shape
    planes, depth = _halves(site.attrs)
    sizes = TensorInfo(int32, (4,))
    grad, stack = (TensorInfo(dtype, (n, deep, oh * ow, c)) for deep in (od, d))
    middle, image = TensorInfo(dtype, (n * d, oh, ow, c)), TensorInfo(dtype, (n * d, h, w, c))
    temp = Temp("depth_grads", middle.nbytes + TAIL_BYTES)
    first = avg_pool_grad_calls(replace(site, inputs=(sizes, grad), outputs=(stack,), attrs=depth, values={}))
    second = avg_pool_grad_calls(replace(site, inputs=(sizes, middle), outputs=(image,), attrs=planes, values={}))
    return (*_using(first, {Out(0): temp}), *_using(second, {In(1): temp}))


def max_pool3d_grad_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """Returns the launch of MaxPool3DGrad(orig_input, orig_output, grad)."""
    if site.outputs[0].size == 0:
        return ()
    n, d, h, w, c = site.inputs[0].shape
    axes = pool3d_axes(site.inputs[0].shape, site.attrs)
    ints = (n, d, h, w, *(a.count for a in axes), c, *(a.size for a in axes))
    steps = (*(a.stride for a in axes), *(a.before for a in axes))
    args: tuple[Arg, ...] = (In(0), In(1), In(2), Out(0), *map(i32, (*ints, *steps)))
    groups = max(1, min(4 * site.units, n * d * h, site.outputs[0].size // 4096))
    defines = (("T", site.outputs[0].dtype.cl),)
    return (KernelCall("conv_pool/pool3d.cl", "max_pool3d_grad", args, (groups, 1, 1), defines=defines),)

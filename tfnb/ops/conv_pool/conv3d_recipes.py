"""Kernel launches of convolutions over volumes, computed by the kernels for images (`kernels_cl/conv_pool/conv3d.cl`).

The planes that a window covers become the channels of one image, so that the tuned convolution of images also serves
three dimensions. Invariant: when each window covers one plane, the volume is not copied.
"""

from __future__ import annotations

from dataclasses import replace

from tfnb.ir.kernelcall import Arg, In, KernelCall, KernelSite, Out, Temp, TensorInfo, i32
from tfnb.ir.record import record
from tfnb.ops.conv_pool.conv import ConvAttrs
from tfnb.ops.conv_pool.conv_recipes import (
    TAIL_BYTES,
    conv2d_backprop_filter_calls,
    conv2d_backprop_input_calls,
    conv2d_calls,
)
from tfnb.ops.conv_pool.conv_reference import Axis
from tfnb.ops.conv_pool.windows import pads
from tfnb.types import int32

__all__ = ["conv3d_backprop_filter_calls", "conv3d_backprop_input_calls", "conv3d_calls"]

FILE = "conv_pool/conv3d.cl"
Sizes = tuple[int, ...]


@record
class _Deep:
    """A convolution of volumes, and the equivalent convolution of images."""

    site: KernelSite
    x: Sizes
    w: Sizes
    y: Sizes
    depth: Axis

    @staticmethod
    def of(site: KernelSite, x: Sizes, w: Sizes, y: Sizes) -> _Deep:
        a = site.attrs
        depth = Axis.of(x[1], w[0], a.strides[1], a.dilations[1], pads(a)[0])
        return _Deep(site, x, w, y, depth)

    @property
    def copied(self) -> bool:
        a = self.depth
        return not (a.size == a.stride == 1 and a.before == 0 and a.count == a.limit)

    @property
    def planes(self) -> TensorInfo:
        n, (kd, _, _, ci, _) = self.x[0] * self.depth.count, self.w
        return TensorInfo(self.site.outputs[0].dtype, (n, *self.x[2:4], kd * ci))

    @property
    def taps(self) -> TensorInfo:
        kd, kh, kw, ci, co = self.w
        return TensorInfo(self.site.outputs[0].dtype, (kh, kw, kd * ci, co))

    @property
    def result(self) -> TensorInfo:
        n, d, *rest = self.y
        return TensorInfo(self.site.outputs[0].dtype, (n * d, *rest))

    def flat(self, inputs: tuple[TensorInfo, ...], output: TensorInfo) -> KernelSite:
        """Returns the kernel site of the equivalent convolution of images."""
        a = self.site.attrs
        attrs = ConvAttrs((1, *a.strides[2:]), a.padding, dilations=(1, *a.dilations[2:]))
        return replace(self.site, inputs=inputs, outputs=(output,), attrs=attrs, values={})

    def temp(self, key: str) -> Temp:
        info = self.planes if key == "planes" else self.taps
        return Temp(key, info.nbytes + TAIL_BYTES)

    def _call(self, entry: str, pointers: tuple[Arg, ...], rows: int, *ints: int) -> KernelCall:
        work = self.planes.size if "depth" in entry else self.taps.size
        groups = max(1, min(4 * self.site.units, rows, work // 16384))
        defines = (("T", self.site.outputs[0].dtype.cl),)
        return KernelCall(FILE, entry, (*pointers, *map(i32, ints)), (groups, 1, 1), defines=defines)

    def move(self, entry: str, source: Arg, target: Arg) -> KernelCall:
        """Returns a launch of unfold_depth or fold_depth."""
        (n, d, h, w, c), a = self.x, self.depth
        rows = n * h * w * (a.count if entry == "unfold_depth" else d)
        ints = (n, d, h * w, c, a.count, a.size, a.stride, a.dilation, a.before)
        return self._call(entry, (source, target), rows, *ints)

    def swap(self, source: Arg, target: Arg, back: bool = False) -> KernelCall:
        """Returns a launch that moves a filter's taps along the depth into its channels, or back."""
        kd, kh, kw, ci, co = self.w
        outer, inner = (kh * kw, kd) if back else (kd, kh * kw)
        return self._call("swap_taps", (source, target), kd * kh * kw, outer, inner, ci * co)


def _using(calls: tuple[KernelCall, ...], table: dict[Arg, Arg]) -> list[KernelCall]:
    return [replace(c, args=tuple(table.get(a, a) for a in c.args)) for c in calls]


def _empty(site: KernelSite) -> bool:
    return any(t.size == 0 for t in site.outputs)


def conv3d_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """Returns the launches of Conv3D(input, filter)."""
    if _empty(site):
        return ()
    recipe = _Deep.of(site, site.inputs[0].shape, site.inputs[1].shape, site.outputs[0].shape)
    calls = conv2d_calls(recipe.flat((recipe.planes, recipe.taps), recipe.result))
    if not recipe.copied:
        return calls
    unfold_calls = [recipe.move("unfold_depth", In(0), recipe.temp("planes"))] if recipe.planes.size else []
    if recipe.taps.size:
        unfold_calls.append(recipe.swap(In(1), recipe.temp("taps")))
    table: dict[Arg, Arg] = {In(0): recipe.temp("planes"), In(1): recipe.temp("taps")}
    return (*unfold_calls, *_using(calls, table))


def conv3d_backprop_input_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """Returns the launches of Conv3DBackpropInputV2(input_sizes, filter, out_backprop)."""
    if _empty(site):
        return ()
    recipe = _Deep.of(site, site.outputs[0].shape, site.inputs[1].shape, site.inputs[2].shape)
    sizes = TensorInfo(int32, (4,))
    calls = conv2d_backprop_input_calls(recipe.flat((sizes, recipe.taps, recipe.result), recipe.planes))
    if not recipe.copied:
        return calls
    table: dict[Arg, Arg] = {In(1): recipe.temp("taps"), Out(0): recipe.temp("planes")}
    fold_call = recipe.move("fold_depth", recipe.temp("planes"), Out(0))
    return (recipe.swap(In(1), recipe.temp("taps")), *_using(calls, table), fold_call)


def conv3d_backprop_filter_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """Returns the launches of Conv3DBackpropFilterV2(input, filter_sizes, out_backprop)."""
    if _empty(site):
        return ()
    recipe = _Deep.of(site, site.inputs[0].shape, site.outputs[0].shape, site.inputs[2].shape)
    sizes = TensorInfo(int32, (4,))
    calls = conv2d_backprop_filter_calls(recipe.flat((recipe.planes, sizes, recipe.result), recipe.taps))
    if not recipe.copied:
        return calls
    table: dict[Arg, Arg] = {In(0): recipe.temp("planes"), Out(0): recipe.temp("taps")}
    unfold_calls = [recipe.move("unfold_depth", In(0), recipe.temp("planes"))] if recipe.planes.size else []
    return (*unfold_calls, *_using(calls, table), recipe.swap(recipe.temp("taps"), Out(0), back=True))

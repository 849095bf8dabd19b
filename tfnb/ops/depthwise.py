"""Convolution of each channel with filters of its own, and separable convolution (FEATURES O2).

Images are NHWC inside; a filter has shape (height, width, in, multiplier) and makes in * multiplier channels.
Invariant: the three ops are each other's gradients, so derivatives of any order exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError, UnimplementedError
from tfnb.ir.default import graph_of
from tfnb.ir.kernelcall import I32, In, KernelCall, KernelSite, Out
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.shapes import with_rank
from tfnb.ops.conv import (
    CONV2D,
    ConvAttrs,
    check_format,
    four,
    from_nhwc,
    last_channels,
    to_nhwc,
    window_count,
)
from tfnb.ops.host_conv import Axis, window_axes
from tfnb.ops.losses import scope
from tfnb.ops.shaping import shape_of
from tfnb.types import FLOATS, Shape, float32, float64

__all__ = ["API", "DEPTHWISE_CONV2D", "OPS"]

_FILE = "nn/depthwise_conv2d.cl"


def _made(c: Infer, x: Shape, w: Shape) -> Shape:
    """The output's shape for an input and a filter. Raises `ShapeError` when their channels differ."""
    a = c.attrs
    n, h, wide, channels = x.as_list()
    kh, kw, of, m = w.as_list()
    if channels is not None and of is not None and channels != of:
        raise ShapeError(
            f"{c.op_name}: the input has {channels} channels (shape {x}), the filter {of} ({w})"
        )
    of = channels if of is None else of
    rows = window_count(h, kh, a.strides[1], a.dilations[1], a.padding)
    columns = window_count(wide, kw, a.strides[2], a.dilations[2], a.padding)
    return Shape((n, rows, columns, None if of is None or m is None else of * m))


def _infer(c: Infer) -> Shape:
    return _made(c, with_rank(c, 0, 4), with_rank(c, 1, 4))


def _given(c: Infer, i: int) -> Shape:
    found = c.as_shape(i)
    if found.ndims not in (None, 4):
        raise ShapeError(f"{c.op_name}: input {i} must hold 4 dimensions, got {found}")
    return Shape((None,) * 4) if found.dims is None else found


def _checked(c: Infer, x: Shape, w: Shape) -> None:
    made, dy = _made(c, x, w), with_rank(c, 2, 4)
    if not made.is_compatible_with(dy):
        raise ShapeError(
            f"{c.op_name}: input {x} and filter {w} make {made}, but out_backprop has shape {dy}"
        )


def _infer_input_grad(c: Infer) -> Shape:
    x = _given(c, 0)
    _checked(c, x, with_rank(c, 1, 4))
    return x


def _infer_filter_grad(c: Infer) -> Shape:
    w = _given(c, 1)
    _checked(c, with_rank(c, 0, 4), w)
    return w


def _axes(a: ConvAttrs, x: tuple[int, ...], w: tuple[int, ...]) -> tuple[Axis, Axis]:
    return window_axes(x[1], x[2], (w[0], w[1]), a.strides, a.padding, a.dilations)


def _padded(x: np.ndarray, ay: Axis, ax: Axis) -> np.ndarray:
    found = np.zeros((x.shape[0], ay.padded, ax.padded, x.shape[3]), x.dtype)
    found[:, ay.before : ay.before + ay.limit, ax.before : ax.before + ax.limit] = x
    return found


def _taps(padded: np.ndarray, ay: Axis, ax: Axis) -> Iterator[tuple[int, int, np.ndarray]]:
    """(ky, kx, view of what that tap of all windows touches)."""
    for ky in range(ay.size):
        rows = slice(ky * ay.dilation, ky * ay.dilation + (ay.count - 1) * ay.stride + 1, ay.stride)
        for kx in range(ax.size):
            columns = slice(
                kx * ax.dilation, kx * ax.dilation + (ax.count - 1) * ax.stride + 1, ax.stride
            )
            yield ky, kx, padded[:, rows, columns]


def _wide(*arrays: np.ndarray) -> list[np.ndarray]:
    return [x.astype(np.float32) if x.dtype.itemsize == 2 else x for x in arrays]


def _host(call: HostCall, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    image, filters = _wide(x, w)
    ay, ax = _axes(call.attrs, x.shape, w.shape)
    out = np.zeros((x.shape[0], ay.count, ax.count, *w.shape[2:]), image.dtype)
    if out.size:
        for ky, kx, part in _taps(_padded(image, ay, ax), ay, ax):
            out += part[..., None] * filters[ky, kx]
    return out.reshape(*out.shape[:3], -1 if out.size else w.shape[2] * w.shape[3]).astype(x.dtype)


def _host_input_grad(
    call: HostCall, sizes: np.ndarray, w: np.ndarray, dy: np.ndarray
) -> np.ndarray:
    filters, grad = _wide(w, dy)
    shape = tuple(int(d) for d in sizes)
    ay, ax = _axes(call.attrs, shape, w.shape)
    din = np.zeros((shape[0], ay.padded, ax.padded, shape[3]), grad.dtype)
    if dy.size:
        grad = grad.reshape(*dy.shape[:3], *w.shape[2:])
        for ky, kx, part in _taps(din, ay, ax):
            part += (grad * filters[ky, kx]).sum(-1)
    crop = din[:, ay.before : ay.before + ay.limit, ax.before : ax.before + ax.limit]
    return crop.astype(w.dtype)


def _host_filter_grad(
    call: HostCall, x: np.ndarray, sizes: np.ndarray, dy: np.ndarray
) -> np.ndarray:
    image, grad = _wide(x, dy)
    shape = tuple(int(d) for d in sizes)
    ay, ax = _axes(call.attrs, x.shape, shape)
    dw = np.zeros(shape, image.dtype)
    if dy.size:
        grad = grad.reshape(*dy.shape[:3], *shape[2:])
        for ky, kx, part in _taps(_padded(image, ay, ax), ay, ax):
            dw[ky, kx] = (part[..., None] * grad).sum((0, 1, 2))
    return dw.astype(x.dtype)


def _call(
    site: KernelSite, entry: str, x: Any, w: Any, pointers: tuple[int, int], shares: int
) -> tuple[KernelCall, ...]:
    """One launch of `entry` for an input of shape `x` and a filter of shape `w`, cut into at most `shares`."""
    if site.outputs[0].size == 0:
        return ()
    dtype = site.outputs[0].dtype
    if dtype not in (float32, float64):
        raise UnimplementedError(
            f"{site.op} has no OpenCL kernel for {dtype.name}, only float32 and float64"
        )
    ay, ax = _axes(site.attrs, x, w)
    sizes = (x[0], x[1], x[2], x[3], w[3], w[0], w[1], ay.count, ax.count)
    steps = (ay.stride, ax.stride, ay.dilation, ax.dilation, ay.before, ax.before)
    args = (*map(In, pointers), Out(0), *map(I32, (*sizes, *steps)))
    groups = max(1, min(4 * site.units, shares))
    return (KernelCall(_FILE, entry, args, (groups, 1, 1), defines=(("T", dtype.cl),)),)


def _calls(site: KernelSite) -> tuple[KernelCall, ...]:
    x, w = site.inputs[0].shape, site.inputs[1].shape
    return _call(site, "depthwise_conv2d", x, w, (0, 1), x[0] * site.outputs[0].shape[1])


def _input_grad_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    x, w = site.outputs[0].shape, site.inputs[1].shape
    return _call(site, "depthwise_conv2d_input_grad", x, w, (1, 2), x[0] * x[1])


def _filter_grad_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    x, w = site.inputs[0].shape, site.outputs[0].shape
    return _call(site, "depthwise_conv2d_filter_grad", x, w, (0, 2), w[0] * w[1])


def _kept(a: ConvAttrs) -> dict[str, Any]:
    return {"strides": a.strides, "padding": a.padding, "dilations": a.dilations}


def _grad(op: Any, dy: Any) -> Any:
    x, w = op.inputs
    kept = _kept(op.attrs)
    return (
        DEPTHWISE_CONV2D_BACKPROP_INPUT(shape_of(x), w, dy, **kept),
        DEPTHWISE_CONV2D_BACKPROP_FILTER(x, shape_of(w), dy, **kept),
    )


def _grad_input_grad(op: Any, g: Any) -> Any:
    _, w, dy = op.inputs
    kept = _kept(op.attrs)
    return (
        None,
        DEPTHWISE_CONV2D_BACKPROP_FILTER(g, shape_of(w), dy, **kept),
        DEPTHWISE_CONV2D(g, w, **kept),
    )


def _grad_filter_grad(op: Any, g: Any) -> Any:
    x, _, dy = op.inputs
    kept = _kept(op.attrs)
    return (
        DEPTHWISE_CONV2D_BACKPROP_INPUT(shape_of(x), g, dy, **kept),
        None,
        DEPTHWISE_CONV2D(x, g, **kept),
    )


DEPTHWISE_CONV2D = OpDef(
    "DepthwiseConv2dNative",
    "input: T, filter: T",
    "output: T",
    """Cross-correlation of each channel of images with filters of its own.

    output[b, i, j, c * m + q] = sum over di, dj of input[b, i * strides[1] + di * dilations[1] - top, ..., c] *
    filter[di, dj, c, q]. input: (batch, height, width, in). filter: (fh, fw, in, m). output: (batch, rows,
    columns, in * m), rows and columns as Conv2D's. Errors: the channels differ, a rank is not 4.""",
    types={"T": FLOATS},
    attrs=ConvAttrs,
    infer=_infer,
    host=_host,
    opencl=_calls,
    grad=_grad,
)

DEPTHWISE_CONV2D_BACKPROP_INPUT = OpDef(
    "DepthwiseConv2dNativeBackpropInput",
    "input_sizes: int32, filter: T, out_backprop: T",
    "output: T",
    """The gradient of DepthwiseConv2dNative with respect to its input, of shape `input_sizes` (4 integers).

    filter: (fh, fw, in, m). out_backprop: the output's gradient. Errors: the sizes do not fit together.""",
    types={"T": FLOATS},
    attrs=ConvAttrs,
    infer=_infer_input_grad,
    host=_host_input_grad,
    opencl=_input_grad_calls,
    grad=_grad_input_grad,
    shape_inputs=(0,),
)

DEPTHWISE_CONV2D_BACKPROP_FILTER = OpDef(
    "DepthwiseConv2dNativeBackpropFilter",
    "input: T, filter_sizes: int32, out_backprop: T",
    "output: T",
    """The gradient of DepthwiseConv2dNative with respect to its filter, of shape `filter_sizes` (4 integers).

    input: (batch, height, width, in). out_backprop: the output's gradient. Errors: the sizes do not fit
    together.""",
    types={"T": FLOATS},
    attrs=ConvAttrs,
    infer=_infer_filter_grad,
    host=_host_filter_grad,
    opencl=_filter_grad_calls,
    grad=_grad_filter_grad,
    shape_inputs=(1,),
)


def _depthwise(
    x: Any, w: Any, strides: Any, padding: Any, rate: Any, first: bool, name: str | None = None
) -> Any:
    ry, rx = (1, 1) if rate is None else (int(r) for r in np.broadcast_to(rate, (2,)))
    steps = last_channels(four(strides, "strides"), first)
    return DEPTHWISE_CONV2D(
        x, w, strides=steps, padding=padding, dilations=(1, ry, rx, 1), name=name
    )


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
) -> Any:
    """Cross-correlation of each channel with filters of its own; see the op DepthwiseConv2dNative.

    input: (batch, height, width, in), or channels first for "NCHW". filter: (fh, fw, in, multiplier). strides:
    four integers in the order of data_format. rate: the taps' distance, one or two integers. Raises
    `ShapeError` when the channels differ."""
    if isinstance(rate, str):  # 0.x: (input, filter, strides, padding, name)
        rate, name = None, rate
    first = check_format(data_format)
    x = to_nhwc(graph_of((input, filter)).to_tensor(input), first)
    return from_nhwc(_depthwise(x, filter, strides, padding, rate, first, name), first)


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
) -> Any:
    """`depthwise_conv2d`, then a 1 x 1 convolution that mixes the channels.

    pointwise_filter: (1, 1, in * multiplier, out); the other arguments as `depthwise_conv2d`'s. Raises
    `InvalidArgumentError` when the pointwise filter is known to be larger than 1 x 1.
    """
    if isinstance(rate, str):
        rate, name = None, rate
    first = check_format(data_format)
    with scope(name, "separable_conv2d", input, depthwise_filter, pointwise_filter):
        x = to_nhwc(graph_of((input, depthwise_filter)).to_tensor(input), first)
        point = x.graph.to_tensor(pointwise_filter)
        if not point.shape.is_compatible_with(Shape((1, 1, None, None))):
            raise InvalidArgumentError(
                f"separable_conv2d: the pointwise filter must be 1 x 1, got shape {point.shape}"
            )
        y = _depthwise(x, depthwise_filter, strides, padding, rate, first)
        return from_nhwc(CONV2D(y, point, padding="VALID"), first)


OPS: tuple[OpDef, ...] = (
    DEPTHWISE_CONV2D, DEPTHWISE_CONV2D_BACKPROP_INPUT, DEPTHWISE_CONV2D_BACKPROP_FILTER,
)  # fmt: skip
API: dict[str, Any] = {
    "nn.depthwise_conv2d": depthwise_conv2d,
    "nn.depthwise_conv2d_native": depthwise_conv2d,
    "nn.separable_conv2d": separable_conv2d,
}

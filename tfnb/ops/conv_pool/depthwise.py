"""Depthwise convolution, in which each channel has its own filters, and separable convolution.

Kernels take NHWC images; a filter has shape (height, width, in, multiplier) and gives in * multiplier channels.
Invariant: the three ops are each other's gradients, so derivatives of any order exist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError, UnimplementedError
from tfnb.ir.default import graph_of
from tfnb.ir.kernelcall import Arg, In, KernelCall, KernelSite, Out, i32
from tfnb.ir.opdef import LATER, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import shape_of
from tfnb.ops.conv_pool.conv import CONV2D
from tfnb.ops.conv_pool.conv_functions import spread
from tfnb.ops.conv_pool.conv_reference import Axis, window_axes
from tfnb.ops.conv_pool.windows import (
    ImageArgs,
    attrs_of,
    channels_first,
    integers,
    pads,
    settle,
    sizes_in,
    window_count,
)
from tfnb.ops.nn.losses import scope
from tfnb.types import FLOATS, Shape, float32, float64

__all__ = ["API", "DEPTHWISE_CONV2D", "OPS"]

_FILE = "conv_pool/depthwise_conv2d.cl"
IMAGE, INPUT_GRAD, FILTER_GRAD = (
    ImageArgs((0,)),
    ImageArgs((2,), sizes=(0,)),
    ImageArgs((0, 2), returns_image=False),
)


@record
class DepthwiseAttrs:
    """`strides`, `dilations`: one number per dimension in the order of `data_format`, 1 for batch and channels.

    `padding`: "SAME", "VALID", or "EXPLICIT", which adds `explicit_paddings` pixels before and after each dimension.
    """

    strides: tuple[int, ...] = (1, 1, 1, 1)
    padding: str = "VALID"
    explicit_paddings: tuple[int, ...] = field(default=(), metadata=LATER)
    data_format: str = "NHWC"
    dilations: tuple[int, ...] = (1, 1, 1, 1)

    def __post_init__(self) -> None:
        settle(self)


def _output_shape(c: Infer, x: Shape, w: Shape) -> Shape:
    """The output shape for an input and a filter. Raises `ShapeError` when their numbers of channels differ."""
    a = c.attrs
    n, h, w_in, channels = x.as_list()
    kh, kw, of, m = w.as_list()
    py, px = pads(a)
    if channels is not None and of is not None and channels != of:
        raise ShapeError(f"{c.op_name}: the input has {channels} channels (shape {x}), the filter {of} ({w})")
    of = channels if of is None else of
    rows = window_count(h, kh, a.strides[1], a.dilations[1], py)
    columns = window_count(w_in, kw, a.strides[2], a.dilations[2], px)
    return Shape((n, rows, columns, None if of is None or m is None else of * m))


@IMAGE.infer
def _infer(c: Infer) -> Shape:
    return _output_shape(c, with_rank(c, 0, 4), with_rank(c, 1, 4))


def _checked(c: Infer, x: Shape, w: Shape) -> None:
    output, dy = _output_shape(c, x, w), with_rank(c, 2, 4)
    if not output.is_compatible_with(dy):
        raise ShapeError(f"{c.op_name}: input {x} and filter {w} make {output}, but out_backprop has shape {dy}")


@INPUT_GRAD.infer
def _infer_input_grad(c: Infer) -> Shape:
    x = sizes_in(c, 0)
    _checked(c, x, with_rank(c, 1, 4))
    return x


@FILTER_GRAD.infer
def _infer_filter_grad(c: Infer) -> Shape:
    w = sizes_in(c, 1)
    _checked(c, with_rank(c, 0, 4), w)
    return w


def _axes(a: DepthwiseAttrs, x: tuple[int, ...], w: tuple[int, ...]) -> tuple[Axis, Axis]:
    return window_axes(x[1], x[2], (w[0], w[1]), a.strides, pads(a), a.dilations)


def _padded(x: np.ndarray, ay: Axis, ax: Axis) -> np.ndarray:
    padded = np.zeros((x.shape[0], ay.padded, ax.padded, x.shape[3]), x.dtype)
    padded[:, ay.before : ay.before + ay.limit, ax.before : ax.before + ax.limit] = x
    return padded


def _taps(padded: np.ndarray, ay: Axis, ax: Axis) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yields (ky, kx, a view of the pixels that this tap of all windows covers)."""
    for ky in range(ay.size):
        rows = slice(ky * ay.dilation, ky * ay.dilation + (ay.count - 1) * ay.stride + 1, ay.stride)
        for kx in range(ax.size):
            columns = slice(kx * ax.dilation, kx * ax.dilation + (ax.count - 1) * ax.stride + 1, ax.stride)
            yield ky, kx, padded[:, rows, columns]


@IMAGE.host
def _host(call: HostCall, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    ay, ax = _axes(call.attrs, x.shape, w.shape)
    out = np.zeros((x.shape[0], ay.count, ax.count, *w.shape[2:]), x.dtype)
    if out.size:
        for ky, kx, part in _taps(_padded(x, ay, ax), ay, ax):
            out += part[..., None] * w[ky, kx]
    return out.reshape(*out.shape[:3], -1 if out.size else w.shape[2] * w.shape[3])


@INPUT_GRAD.host
def _host_input_grad(call: HostCall, sizes: np.ndarray, w: np.ndarray, dy: np.ndarray) -> np.ndarray:
    shape = tuple(int(d) for d in sizes)
    ay, ax = _axes(call.attrs, shape, w.shape)
    din = np.zeros((shape[0], ay.padded, ax.padded, shape[3]), dy.dtype)
    if dy.size:
        grad = dy.reshape(*dy.shape[:3], *w.shape[2:])
        for ky, kx, part in _taps(din, ay, ax):
            part += (grad * w[ky, kx]).sum(-1)
    crop = din[:, ay.before : ay.before + ay.limit, ax.before : ax.before + ax.limit]
    return crop


@FILTER_GRAD.host
def _host_filter_grad(call: HostCall, x: np.ndarray, sizes: np.ndarray, dy: np.ndarray) -> np.ndarray:
    shape = tuple(int(d) for d in sizes)
    ay, ax = _axes(call.attrs, x.shape, shape)
    dw = np.zeros(shape, x.dtype)
    if dy.size:
        grad = dy.reshape(*dy.shape[:3], *shape[2:])
        for ky, kx, part in _taps(_padded(x, ay, ax), ay, ax):
            dw[ky, kx] = (part[..., None] * grad).sum((0, 1, 2))
    return dw


def _call(
    site: KernelSite, entry: str, x: tuple[int, ...], w: tuple[int, ...], pointers: tuple[int, int], shares: int
) -> tuple[KernelCall, ...]:
    """One launch of `entry` for an input of shape `x` and a filter of shape `w`, divided into at most `shares`."""
    if site.outputs[0].size == 0:
        return ()
    dtype = site.outputs[0].dtype
    if dtype not in (float32, float64):
        raise UnimplementedError(f"{site.op} has no OpenCL kernel for {dtype.name}, only float32 and float64")
    ay, ax = _axes(site.attrs, x, w)
    sizes = (x[0], x[1], x[2], x[3], w[3], w[0], w[1], ay.count, ax.count)
    steps = (ay.stride, ax.stride, ay.dilation, ax.dilation, ay.before, ax.before)
    args: tuple[Arg, ...] = (*map(In, pointers), Out(0), *map(i32, (*sizes, *steps)))
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


def _grad(op: Operation, dy: Tensor) -> tuple[Tensor, Tensor]:
    x, w = op.inputs
    attrs = attrs_of(op.attrs)
    return (
        DEPTHWISE_CONV2D_BACKPROP_INPUT(shape_of(x), w, dy, **attrs),
        DEPTHWISE_CONV2D_BACKPROP_FILTER(x, shape_of(w), dy, **attrs),
    )


def _grad_input_grad(op: Operation, g: Tensor) -> tuple[None, Tensor, Tensor]:
    _, w, dy = op.inputs
    attrs = attrs_of(op.attrs)
    return (
        None,
        DEPTHWISE_CONV2D_BACKPROP_FILTER(g, shape_of(w), dy, **attrs),
        DEPTHWISE_CONV2D(g, w, **attrs),
    )


def _grad_filter_grad(op: Operation, g: Tensor) -> tuple[Tensor, None, Tensor]:
    x, _, dy = op.inputs
    attrs = attrs_of(op.attrs)
    return (
        DEPTHWISE_CONV2D_BACKPROP_INPUT(shape_of(x), g, dy, **attrs),
        None,
        DEPTHWISE_CONV2D(x, g, **attrs),
    )


DEPTHWISE_CONV2D: OpDef[Tensor] = OpDef(
    "DepthwiseConv2dNative",
    "input: T, filter: T",
    "output: T",
    """Cross-correlation in which each channel of the images has its own filters.

    output[b, i, j, c * m + q] = sum over di, dj of input[b, i * strides[1] + di * dilations[1] - top, ..., c] *
    filter[di, dj, c, q]. input: (batch, height, width, in). filter: (fh, fw, in, m). output: (batch, rows,
    columns, in * m), with the rows and columns of Conv2D. Errors: the numbers of channels differ, or a rank is not
    4.""",
    types={"T": FLOATS},
    attrs=DepthwiseAttrs,
    infer=_infer,
    host=_host,
    opencl=_calls,
    expand=IMAGE.expand,
    grad=_grad,
)

DEPTHWISE_CONV2D_BACKPROP_INPUT: OpDef[Tensor] = OpDef(
    "DepthwiseConv2dNativeBackpropInput",
    "input_sizes: int32, filter: T, out_backprop: T",
    "output: T",
    """The gradient of DepthwiseConv2dNative with respect to its input, of shape `input_sizes` (4 integers).

    filter: (fh, fw, in, m). out_backprop: the output's gradient. Errors: the sizes are inconsistent.""",
    types={"T": FLOATS},
    attrs=DepthwiseAttrs,
    infer=_infer_input_grad,
    host=_host_input_grad,
    opencl=_input_grad_calls,
    expand=INPUT_GRAD.expand,
    grad=_grad_input_grad,
    shape_inputs=(0,),
)

DEPTHWISE_CONV2D_BACKPROP_FILTER: OpDef[Tensor] = OpDef(
    "DepthwiseConv2dNativeBackpropFilter",
    "input: T, filter_sizes: int32, out_backprop: T",
    "output: T",
    """The gradient of DepthwiseConv2dNative with respect to its filter, of shape `filter_sizes` (4 integers).

    input: (batch, height, width, in). out_backprop: the output's gradient. Errors: the sizes are inconsistent.""",
    types={"T": FLOATS},
    attrs=DepthwiseAttrs,
    infer=_infer_filter_grad,
    host=_host_filter_grad,
    opencl=_filter_grad_calls,
    expand=FILTER_GRAD.expand,
    grad=_grad_filter_grad,
    shape_inputs=(1,),
)


def _steps(strides: int | Sequence[int] | None, rate: int | Sequence[int] | None, first: bool) -> dict[str, Any]:
    return {
        "strides": integers(list(np.asarray(strides).reshape(-1)), 4, "strides"),
        "dilations": spread(rate, 2, first, "rate"),
    }


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str | None = None,
    rate: int | Sequence[int] | str | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Cross-correlation in which each channel has its own filters; see the op DepthwiseConv2dNative.

    input: (batch, height, width, in), or channels second for "NCHW". filter: (fh, fw, in, multiplier). strides:
    four integers in the order of data_format. rate (`dilations`): the distance between taps, one or two integers.
    Raises `ShapeError` when the numbers of channels differ, `InvalidArgumentError` for invalid strides or padding."""
    if isinstance(rate, str):  # 0.x: (input, filter, strides, padding, name)
        rate, name = None, rate
    steps = _steps(strides, dilations if rate is None else rate, channels_first(data_format))
    return DEPTHWISE_CONV2D(
        input,
        filters if filter is None else filter,
        padding=padding,
        data_format=data_format or "NHWC",
        name=name or "depthwise",
        **steps,
    )


def depthwise_conv2d_native(
    input: TensorLike,
    filter: TensorLike,
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """`depthwise_conv2d` with the argument names of the op DepthwiseConv2dNative."""
    name = name or "DepthwiseConv2dNative"
    return depthwise_conv2d(input, filter, strides, padding, dilations, name, data_format)


def depthwise_conv2d_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Returns the gradient of `depthwise_conv2d` with respect to its input.

    input_sizes: the four dimensions of the input, integers or an integer tensor, which the result has. The other
    arguments are those of `depthwise_conv2d_native`, and out_backprop, the gradient of its output.
    """
    steps = _steps(strides, dilations, channels_first(data_format))
    return DEPTHWISE_CONV2D_BACKPROP_INPUT(
        input_sizes, filter, out_backprop, padding=padding, data_format=data_format, name=name, **steps
    )


def depthwise_conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Returns the gradient of `depthwise_conv2d` with respect to its filter.

    filter_sizes: the four dimensions of the filter, integers or an integer tensor, which the result has. The other
    arguments are those of `depthwise_conv2d_native`, and out_backprop, the gradient of its output.
    """
    steps = _steps(strides, dilations, channels_first(data_format))
    return DEPTHWISE_CONV2D_BACKPROP_FILTER(
        input, filter_sizes, out_backprop, padding=padding, data_format=data_format, name=name, **steps
    )


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: int | Sequence[int],
    padding: str,
    rate: int | Sequence[int] | str | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """`depthwise_conv2d`, followed by a 1 x 1 convolution that combines the channels.

    pointwise_filter: (1, 1, in * multiplier, out); the other arguments are those of `depthwise_conv2d`. Raises
    `InvalidArgumentError` when the pointwise filter is known to be larger than 1 x 1.
    """
    if isinstance(rate, str):
        rate, name = None, rate
    with scope(name, "separable_conv2d", input, depthwise_filter, pointwise_filter) as full:
        graph = graph_of((input, depthwise_filter, pointwise_filter))
        point = graph.to_tensor(pointwise_filter)
        if not point.shape.is_compatible_with(Shape((1, 1, None, None))):
            raise InvalidArgumentError(f"separable_conv2d: the pointwise filter must be 1 x 1, got shape {point.shape}")
        y = depthwise_conv2d(input, depthwise_filter, strides, padding, rate, "depthwise", data_format, dilations)
        return CONV2D(y, point, padding="VALID", data_format=data_format or "NHWC", name=full)


OPS: tuple[OpDef, ...] = (
    DEPTHWISE_CONV2D,
    DEPTHWISE_CONV2D_BACKPROP_INPUT,
    DEPTHWISE_CONV2D_BACKPROP_FILTER,
)
API: dict[str, Any] = {
    "nn.depthwise_conv2d": depthwise_conv2d,
    "nn.depthwise_conv2d_native": depthwise_conv2d_native,
    "nn.depthwise_conv2d_backprop_input": depthwise_conv2d_backprop_input,
    "nn.depthwise_conv2d_native_backprop_input": depthwise_conv2d_backprop_input,
    "nn.depthwise_conv2d_backprop_filter": depthwise_conv2d_backprop_filter,
    "nn.depthwise_conv2d_native_backprop_filter": depthwise_conv2d_backprop_filter,
    "nn.separable_conv2d": separable_conv2d,
}

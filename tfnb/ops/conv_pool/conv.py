"""Two-dimensional convolution and its gradients (white paper, Table 1).

A filter has shape (height, width, in, out). Kernels take images with their channels last; images in other layouts are
converted. Invariant: the three ops are each other's gradients, so derivatives of any order exist.
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
from tfnb.ops.array.shape_ops import shape_of
from tfnb.ops.conv_pool.conv_recipes import (
    conv2d_backprop_filter_calls,
    conv2d_backprop_input_calls,
    conv2d_calls,
)
from tfnb.ops.conv_pool.conv_reference import (
    conv2d_backprop_filter_host,
    conv2d_backprop_input_host,
    conv2d_host,
)
from tfnb.ops.conv_pool.windows import ImageArgs, attrs_of, pads, settle, sizes_in, window_count
from tfnb.types import FLOATS, Shape

__all__ = [
    "CONV2D",
    "CONV2D_BACKPROP_FILTER",
    "CONV2D_BACKPROP_INPUT",
    "OPS",
    "ConvAttrs",
    "check_grad_shape",
    "infer_conv",
    "infer_filter_grad",
    "infer_input_grad",
]


@record
class ConvAttrs:
    """`strides`, `dilations`: one number per dimension in the order of `data_format`, 1 for batch and channels.

    `padding`: "SAME", "VALID", or "EXPLICIT", which adds `explicit_paddings` pixels before and after each dimension.
    """

    strides: tuple[int, ...] = (1, 1, 1, 1)
    padding: str = "VALID"
    use_cudnn_on_gpu: bool = True
    explicit_paddings: tuple[int, ...] = ()
    data_format: str = "NHWC"
    dilations: tuple[int, ...] = (1, 1, 1, 1)

    def __post_init__(self) -> None:
        settle(self)


IMAGE, INPUT_GRAD, FILTER_GRAD = (
    ImageArgs((0,)),
    ImageArgs((2,), sizes=(0,)),
    ImageArgs((0, 2), returns_image=False),
)


class ConvWindows(Protocol):
    """The attributes of a convolution of images or of volumes."""

    @property
    def strides(self) -> tuple[int, ...]: ...

    @property
    def dilations(self) -> tuple[int, ...]: ...


def _output_shape(a: ConvWindows, x: Shape, w: Shape) -> Shape:
    """The output shape for an input of shape `x` and a filter of shape `w`, as far as it is known."""
    xs, ws = x.as_list(), w.as_list()
    counts = [
        window_count(xs[i + 1], ws[i], a.strides[i + 1], a.dilations[i + 1], padding)
        for i, padding in enumerate(pads(a))
    ]
    return Shape((xs[0], *counts, ws[-1]))


def infer_conv(c: Infer) -> Shape:
    """Returns the static output shape of a convolution with as many dimensions as there are strides."""
    rank = len(c.attrs.strides)
    x, w = with_rank(c, 0, rank), with_rank(c, 1, rank)
    channels, depth = x.as_list()[-1], w.as_list()[-2]
    if channels is not None and depth is not None and channels != depth:
        raise ShapeError(
            f"{c.op_name}: the input has {channels} channels (shape {c.shapes[0]}), the filter {depth} ({c.shapes[1]})"
        )
    return _output_shape(c.attrs, x, w)


def check_grad_shape(op: Operation | None, name: str, attrs: ConvWindows, x: Shape, w: Shape, dy: Shape) -> None:
    """Raises `ShapeError`, with the node `op`, unless an input `x` and a filter `w` give an output of shape `dy`.

    An output without elements fits every input, since it adds nothing to its gradient.
    """
    if dy.num_elements() == 0:
        return
    channels, depth = x.as_list()[-1], w.as_list()[-2]
    output = _output_shape(attrs, x, w)
    bad_channels = channels is not None and depth is not None and channels != depth
    if bad_channels or not output.is_compatible_with(dy):
        raise ShapeError(
            f"{name}: an input of shape {x} and a filter {w} make {output}, but out_backprop has shape {dy}", op
        )


def infer_input_grad(c: Infer) -> Shape:
    """Returns the static shape of an input gradient.

    The inputs are the sizes of the images, the filter and the output's gradient.
    """
    rank = len(c.attrs.strides)
    x, w, dy = sizes_in(c, 0, rank), with_rank(c, 1, rank), with_rank(c, 2, rank)
    if c.in_step:
        check_grad_shape(None, c.op_name, c.attrs, x, w, dy)
    dims = x.as_list()
    batch = dy.as_list()[0] if dims[0] is None else dims[0]
    return Shape((batch, *dims[1:-1], w.as_list()[-2] if dims[-1] is None else dims[-1]))


def infer_filter_grad(c: Infer) -> Shape:
    """Returns the static shape of the gradient of a filter.

    The inputs are the images, the filter's sizes and the output's gradient.
    """
    rank = len(c.attrs.strides)
    x, w, dy = with_rank(c, 0, rank), sizes_in(c, 1, rank), with_rank(c, 2, rank)
    if c.in_step:
        check_grad_shape(None, c.op_name, c.attrs, x, w, dy)
    return w


def _how(a: ConvAttrs) -> tuple[Any, ...]:
    return a.strides, pads(a), a.dilations


@IMAGE.host
def _host_conv(call: HostCall, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return conv2d_host(x, w, *_how(call.attrs))


@INPUT_GRAD.host
def _host_input_grad(call: HostCall, sizes: np.ndarray, w: np.ndarray, dy: np.ndarray) -> np.ndarray:
    x_shape, w_shape = Shape(sizes.tolist()), Shape(w.shape)
    check_grad_shape(call.op, "Conv2DBackpropInput", call.attrs, x_shape, w_shape, Shape(dy.shape))
    return conv2d_backprop_input_host(sizes.tolist(), w, dy, *_how(call.attrs))


@FILTER_GRAD.host
def _host_filter_grad(call: HostCall, x: np.ndarray, sizes: np.ndarray, dy: np.ndarray) -> np.ndarray:
    check_grad_shape(
        call.op, "Conv2DBackpropFilter", call.attrs, Shape(x.shape), Shape(sizes.tolist()), Shape(dy.shape)
    )
    return conv2d_backprop_filter_host(x, sizes.tolist(), dy, *_how(call.attrs))


def _grad_conv(op: Operation, dy: Tensor) -> tuple[Tensor, Tensor]:
    x, w = op.inputs
    attrs = attrs_of(op.attrs)
    return (
        CONV2D_BACKPROP_INPUT(shape_of(x), w, dy, **attrs),
        CONV2D_BACKPROP_FILTER(x, shape_of(w), dy, **attrs),
    )


def _grad_backprop_input(op: Operation, g: Tensor) -> tuple[None, Tensor, Tensor]:
    _, w, dy = op.inputs
    attrs = attrs_of(op.attrs)
    return None, CONV2D_BACKPROP_FILTER(g, shape_of(w), dy, **attrs), CONV2D(g, w, **attrs)


def _grad_backprop_filter(op: Operation, g: Tensor) -> tuple[Tensor, None, Tensor]:
    x, _, dy = op.inputs
    attrs = attrs_of(op.attrs)
    return CONV2D_BACKPROP_INPUT(shape_of(x), g, dy, **attrs), None, CONV2D(x, g, **attrs)


CONV2D: OpDef[Tensor] = OpDef(
    "Conv2D",
    "input: T, filter: T",
    "output: T",
    """Cross-correlation of images with filters.

    output[b, i, j, k] = sum over di, dj, q of
    input[b, i * strides[1] + di * dilations[1] - top, j * strides[2] + dj * dilations[2] - left, q] * filter[di, dj,
    q, k], with zeros outside the image. input: shape (batch, height, width, in). filter: (fh, fw, in, out). output:
    (batch, rows, columns, out), where rows is ceil(height / stride) for "SAME" and ceil((height - reach + 1) / stride)
    for "VALID", with reach = (fh - 1) * dilation + 1. With data_format "NCHW", the channels are the second dimension of
    images. Errors: the numbers of channels differ, or a rank is not 4.""",
    types={"T": FLOATS},
    attrs=ConvAttrs,
    infer=IMAGE.infer(infer_conv),
    host=_host_conv,
    opencl=conv2d_calls,
    takes_formulas=True,
    expand=IMAGE.expand,
    grad=_grad_conv,
    epilogue=True,
)

CONV2D_BACKPROP_INPUT: OpDef[Tensor] = OpDef(
    "Conv2DBackpropInput",
    "input_sizes: int32, filter: T, out_backprop: T",
    "output: T",
    """The gradient of Conv2D with respect to its input, also known as transposed convolution.

    input_sizes: the 4 dimensions of the input. filter: (fh, fw, in, out). out_backprop: the gradient of Conv2D's
    output. output: shape input_sizes. Errors of the step: an input of these sizes would not give
    out_backprop's shape.""",
    types={"T": FLOATS},
    attrs=ConvAttrs,
    infer=INPUT_GRAD.infer(infer_input_grad),
    host=_host_input_grad,
    opencl=conv2d_backprop_input_calls,
    takes_formulas=True,
    expand=INPUT_GRAD.expand,
    grad=_grad_backprop_input,
    shape_inputs=(0,),
)

CONV2D_BACKPROP_FILTER: OpDef[Tensor] = OpDef(
    "Conv2DBackpropFilter",
    "input: T, filter_sizes: int32, out_backprop: T",
    "output: T",
    """The gradient of Conv2D with respect to its filter.

    input: (batch, height, width, in). filter_sizes: the 4 dimensions of the filter. out_backprop: the gradient of
    Conv2D's output. output: shape filter_sizes. Errors of the step: a filter of these sizes would not give
    out_backprop's shape.""",
    types={"T": FLOATS},
    attrs=ConvAttrs,
    infer=FILTER_GRAD.infer(infer_filter_grad),
    host=_host_filter_grad,
    opencl=conv2d_backprop_filter_calls,
    takes_formulas=True,
    expand=FILTER_GRAD.expand,
    grad=_grad_backprop_filter,
    shape_inputs=(1,),
)


OPS: tuple[OpDef, ...] = (CONV2D, CONV2D_BACKPROP_INPUT, CONV2D_BACKPROP_FILTER)

"""Two-dimensional convolution, its gradients, and what is made of it (white paper, Table 1).

Images are NHWC inside; NCHW comes in and goes out by transposes. A filter has shape (height, width, in, out).
Invariant: the three ops are each other's gradients, so derivatives of any order exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError, UnimplementedError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import Infer, OpDef
from tfnb.ir.shapes import with_rank
from tfnb.ops.host_conv import (
    Axis,
    conv2d_backprop_filter_host,
    conv2d_backprop_input_host,
    conv2d_host,
    on_host,
)
from tfnb.ops.kernels_conv import (
    conv2d_backprop_filter_calls,
    conv2d_backprop_input_calls,
    conv2d_calls,
)
from tfnb.ops.move import TRANSPOSE
from tfnb.ops.shaping import EXPAND_DIMS, SQUEEZE, shape_of
from tfnb.types import FLOATS, Shape, int32

__all__ = [
    "API",
    "CONV2D",
    "CONV2D_BACKPROP_FILTER",
    "CONV2D_BACKPROP_INPUT",
    "OPS",
    "ConvAttrs",
    "four",
    "from_nhwc",
    "to_nhwc",
    "window_count",
]


def four(values: Any, what: str) -> tuple[int, ...]:
    """Four integers of at least 1. Raises `InvalidArgumentError`."""
    found = tuple(int(v) for v in values) if isinstance(values, (list, tuple, np.ndarray)) else ()
    if len(found) != 4 or min(found) < 1:
        raise InvalidArgumentError(f"{what} must be four integers of at least 1, got {values!r}")
    return found


def check_padding(padding: Any) -> str:
    """ "SAME" or "VALID". Raises `InvalidArgumentError`."""
    text = padding.decode() if isinstance(padding, bytes) else padding
    if text not in ("SAME", "VALID"):
        raise InvalidArgumentError(f'padding must be "SAME" or "VALID", got {padding!r}')
    return str(text)


@dataclass(frozen=True, slots=True)
class ConvAttrs:
    """`strides`, `dilations`: per dimension of the input, 1 for batch and channels; `padding`: "SAME" or "VALID"."""

    strides: tuple[int, ...] = (1, 1, 1, 1)
    padding: str = "VALID"
    use_cudnn_on_gpu: bool = True
    data_format: str = "NHWC"
    dilations: tuple[int, ...] = (1, 1, 1, 1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "strides", four(self.strides, "strides"))
        object.__setattr__(self, "dilations", four(self.dilations, "dilations"))
        object.__setattr__(self, "padding", check_padding(self.padding))
        if self.data_format != "NHWC":
            raise UnimplementedError(
                f"data_format {self.data_format!r}: the op itself takes NHWC only; use tf.nn.conv2d"
            )
        if {self.strides[0], self.strides[3], self.dilations[0], self.dilations[3]} != {1}:
            raise InvalidArgumentError(
                f"strides {self.strides} and dilations {self.dilations} must be 1 for batch and channels"
            )


def window_count(
    limit: int | None, size: int | None, stride: int, dilation: int, padding: str
) -> int | None:
    """How many windows fit along an axis of length `limit`, as far as it is known."""
    if limit is None or (size is None and padding == "VALID"):
        return None
    return Axis.of(limit, size or 1, stride, dilation, padding).count


def _infer_conv(c: Infer) -> Shape:
    x, w = with_rank(c, 0, 4).as_list(), with_rank(c, 1, 4).as_list()
    a = c.attrs
    if x[3] is not None and w[2] is not None and x[3] != w[2]:
        raise ShapeError(
            f"{c.op_name}: the input has {x[3]} channels (shape {c.shapes[0]}), the filter {w[2]} ({c.shapes[1]})"
        )
    rows = window_count(x[1], w[0], a.strides[1], a.dilations[1], a.padding)
    columns = window_count(x[2], w[1], a.strides[2], a.dilations[2], a.padding)
    return Shape((x[0], rows, columns, w[3]))


def _sizes(c: Infer, i: int) -> Shape:
    """The shape that integer input i gives, of rank 4."""
    found = c.as_shape(i)
    if found.ndims not in (None, 4):
        raise ShapeError(f"{c.op_name}: input {i} must hold 4 dimensions, got {found}")
    return Shape((None,) * 4) if found.dims is None else found


def _check_grad(c: Infer, x: Shape, w: Shape, dy: Shape) -> None:
    """Raises `ShapeError` unless an input `x` and a filter `w` make an output of shape `dy`."""
    a = c.attrs
    xs, ws = x.as_list(), w.as_list()
    rows = window_count(xs[1], ws[0], a.strides[1], a.dilations[1], a.padding)
    columns = window_count(xs[2], ws[1], a.strides[2], a.dilations[2], a.padding)
    made = Shape((xs[0], rows, columns, ws[3]))
    bad_channels = xs[3] is not None and ws[2] is not None and xs[3] != ws[2]
    if bad_channels or not made.is_compatible_with(dy):
        raise ShapeError(
            f"{c.op_name}: an input of shape {x} and a filter {w} make {made}, but out_backprop has shape {dy}"
        )


def _infer_backprop_input(c: Infer) -> Shape:
    x, w, dy = _sizes(c, 0), with_rank(c, 1, 4), with_rank(c, 2, 4)
    _check_grad(c, x, w, dy)
    dims = x.as_list()
    return Shape(
        (dy.as_list()[0] if dims[0] is None else dims[0], *dims[1:3], w.as_list()[2] or dims[3])
    )


def _infer_backprop_filter(c: Infer) -> Shape:
    x, w, dy = with_rank(c, 0, 4), _sizes(c, 1), with_rank(c, 2, 4)
    _check_grad(c, x, w, dy)
    return w


def _kept(a: Any) -> dict[str, Any]:
    return {"strides": a.strides, "padding": a.padding, "dilations": a.dilations}


def _grad_conv(op: Any, dy: Any) -> Any:
    x, w = op.inputs
    kept = _kept(op.attrs)
    return (
        CONV2D_BACKPROP_INPUT(shape_of(x), w, dy, **kept),
        CONV2D_BACKPROP_FILTER(x, shape_of(w), dy, **kept),
    )


def _grad_backprop_input(op: Any, g: Any) -> Any:
    _, w, dy = op.inputs
    kept = _kept(op.attrs)
    return None, CONV2D_BACKPROP_FILTER(g, shape_of(w), dy, **kept), CONV2D(g, w, **kept)


def _grad_backprop_filter(op: Any, g: Any) -> Any:
    x, _, dy = op.inputs
    kept = _kept(op.attrs)
    return CONV2D_BACKPROP_INPUT(shape_of(x), g, dy, **kept), None, CONV2D(x, g, **kept)


CONV2D = OpDef(
    "Conv2D",
    "input: T, filter: T",
    "output: T",
    """Cross-correlation of images with filters.

    output[b, i, j, k] = sum over di, dj, q of
    input[b, i * strides[1] + di * dilations[1] - top, j * strides[2] + dj * dilations[2] - left, q] * filter[di, dj,
    q, k],
    with zeros outside the image. input: shape (batch, height, width, in). filter: (fh, fw, in, out). output: (batch,
    rows,
    columns, out), where rows is ceil(height / stride) for "SAME" and ceil((height - reach + 1) / stride) for "VALID",
    reach = (fh - 1) * dilation + 1. Errors: the channels differ, a rank is not 4.""",
    types={"T": FLOATS},
    attrs=ConvAttrs,
    infer=_infer_conv,
    host=on_host(conv2d_host, "strides", "padding", "dilations"),
    opencl=conv2d_calls,
    grad=_grad_conv,
    epilogue=True,
)

CONV2D_BACKPROP_INPUT = OpDef(
    "Conv2DBackpropInput",
    "input_sizes: int32, filter: T, out_backprop: T",
    "output: T",
    """The gradient of Conv2D with respect to its input; a transposed convolution.

    input_sizes: the 4 dimensions of the input. filter: (fh, fw, in, out). out_backprop: Conv2D's output gradient.
    output: shape input_sizes. Errors: the sizes and the filter would not make out_backprop's shape.""",
    types={"T": FLOATS},
    attrs=ConvAttrs,
    infer=_infer_backprop_input,
    host=on_host(conv2d_backprop_input_host, "strides", "padding", "dilations"),
    opencl=conv2d_backprop_input_calls,
    grad=_grad_backprop_input,
    shape_inputs=(0,),
)

CONV2D_BACKPROP_FILTER = OpDef(
    "Conv2DBackpropFilter",
    "input: T, filter_sizes: int32, out_backprop: T",
    "output: T",
    """The gradient of Conv2D with respect to its filter.

    input: (batch, height, width, in). filter_sizes: the 4 dimensions of the filter. out_backprop: Conv2D's output
    gradient.
    output: shape filter_sizes. Errors: the input and the sizes would not make out_backprop's shape.""",
    types={"T": FLOATS},
    attrs=ConvAttrs,
    infer=_infer_backprop_filter,
    host=on_host(conv2d_backprop_filter_host, "strides", "padding", "dilations"),
    opencl=conv2d_backprop_filter_calls,
    grad=_grad_backprop_filter,
    shape_inputs=(1,),
)


def check_format(data_format: str | None) -> bool:
    """Is it NCHW? Raises `InvalidArgumentError` for anything but NHWC, NCHW or None."""
    if data_format not in (None, "NHWC", "NCHW"):
        raise InvalidArgumentError(f'data_format must be "NHWC" or "NCHW", got {data_format!r}')
    return data_format == "NCHW"


def to_nhwc(x: Any, channels_first: bool) -> Any:
    """Images with their channels last."""
    return TRANSPOSE(x, np.asarray([0, 2, 3, 1], np.int32)) if channels_first else x


def from_nhwc(x: Any, channels_first: bool) -> Any:
    """Images as the caller holds them."""
    return TRANSPOSE(x, np.asarray([0, 3, 1, 2], np.int32)) if channels_first else x


def last_channels(values: Sequence[int], channels_first: bool) -> tuple[int, ...]:
    """Per-dimension integers in NHWC order."""
    v = tuple(values)
    return (v[0], v[2], v[3], v[1]) if channels_first and len(v) == 4 else v


def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """Cross-correlation of images with filters; see the op Conv2D.

    input: (batch, height, width, in), or (batch, in, height, width) for `data_format="NCHW"`. filter: (fh, fw, in,
    out).
    strides, dilations: four integers in the order of data_format. padding: "SAME" or "VALID". Raises `ShapeError` when
    the channels differ, `InvalidArgumentError` for bad strides or padding.
    """
    if strides is None or padding is None:
        raise InvalidArgumentError("conv2d needs strides and padding")
    first = check_format(data_format)
    graph = graph_of((input, filter, filters))
    x = to_nhwc(graph.to_tensor(input), first)
    y = CONV2D(
        x,
        filters if filter is None else filter,
        strides=last_channels(strides, first),
        padding=padding,
        dilations=last_channels(dilations, first),
        name=name,
    )
    return from_nhwc(y, first)


def conv2d_transpose(
    value: Any,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """The transpose of `conv2d` (its input gradient), also known as deconvolution.

    value: (batch, rows, columns, in). filter: (fh, fw, out, in). output_shape: the 4 dimensions of the result, a list
    or
    an integer tensor. strides: four integers. Raises `ShapeError` when a convolution of `output_shape` would not
    have `value`'s shape.
    """
    if output_shape is None or strides is None:
        raise InvalidArgumentError("conv2d_transpose needs output_shape and strides")
    first = check_format(data_format)
    graph = graph_of((value, filter, filters, output_shape))
    sizes = graph.to_tensor(output_shape, None if hasattr(output_shape, "dtype") else int32)
    if first:
        sizes = graph.to_tensor([sizes[0], sizes[2], sizes[3], sizes[1]])
    y = CONV2D_BACKPROP_INPUT(
        sizes,
        filters if filter is None else filter,
        to_nhwc(graph.to_tensor(value), first),
        strides=last_channels(four(strides, "strides"), first),
        padding=padding,
        name=name,
    )
    return from_nhwc(y, first)


def atrous_conv2d(
    value: Any, filters: Any, rate: int, padding: Any, name: str | None = None
) -> Any:
    """`conv2d` with holes: the filter's taps lie `rate` pixels apart.

    value: (batch, height, width, in). filters: (fh, fw, in, out). Raises `InvalidArgumentError` for a rate below 1.
    """
    return CONV2D(value, filters, padding=padding, dilations=(1, rate, rate, 1), name=name)


def conv1d(
    value: Any,
    filters: Any = None,
    stride: int | None = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Any:
    """Cross-correlation along one axis.

    value: (batch, width, in). filters: (fw, in, out). Gives (batch, columns, out). Raises `InvalidArgumentError` for a
    data_format with the channels first.
    """
    if stride is None or padding is None:
        raise InvalidArgumentError("conv1d needs stride and padding")
    if data_format not in (None, "NHWC", "NWC"):
        raise InvalidArgumentError(f'conv1d takes data_format "NWC", got {data_format!r}')
    graph = graph_of((value, filters, input))
    x = EXPAND_DIMS(graph.to_tensor(input if value is None else value), 1)
    y = CONV2D(
        x, EXPAND_DIMS(filters, 0), strides=(1, 1, int(stride), 1), padding=padding, name=name
    )
    return SQUEEZE(y, squeeze_dims=[1])


def _pair(value: Any, n: int, what: str) -> tuple[int, ...]:
    found = (1,) * n if value is None else tuple(int(v) for v in np.broadcast_to(value, (n,)))
    if min(found) < 1:
        raise InvalidArgumentError(f"{what} must be at least 1, got {value!r}")
    return found


def convolution(
    input: Any,
    filter: Any,
    padding: Any,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
) -> Any:
    """Convolution over one or two spatial axes, with strides and dilation per axis.

    input: (batch, axes..., in); filter: (sizes..., in, out). Raises `InvalidArgumentError` for another number of axes.
    """
    graph = graph_of((input, filter))
    x, w = graph.to_tensor(input), graph.to_tensor(filter)
    n = (w.shape.ndims or x.shape.ndims or 4) - 2
    first = data_format in ("NCHW", "NCW")
    if n == 2:
        steps, rates = _pair(strides, 2, "strides"), _pair(dilation_rate, 2, "dilation_rate")
        y = CONV2D(
            to_nhwc(x, first),
            w,
            strides=(1, *steps, 1),
            padding=padding,
            dilations=(1, *rates, 1),
            name=name,
        )
        return from_nhwc(y, first)
    if n != 1:
        raise InvalidArgumentError(f"convolution takes one or two spatial axes, got {n}")
    x = TRANSPOSE(x, np.asarray([0, 2, 1], np.int32)) if first else x
    step, rate = _pair(strides, 1, "strides")[0], _pair(dilation_rate, 1, "dilation_rate")[0]
    y = CONV2D(
        EXPAND_DIMS(x, 1),
        EXPAND_DIMS(w, 0),
        strides=(1, 1, step, 1),
        padding=padding,
        dilations=(1, 1, rate, 1),
        name=name,
    )
    y = SQUEEZE(y, squeeze_dims=[1])
    return TRANSPOSE(y, np.asarray([0, 2, 1], np.int32)) if first else y


OPS: tuple[OpDef, ...] = (CONV2D, CONV2D_BACKPROP_INPUT, CONV2D_BACKPROP_FILTER)


def _conv2d_backprop_input(
    input_sizes: Any, filter: Any, out_backprop: Any, strides: Any, padding: Any, use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC", dilations: Any = (1, 1, 1, 1), name: str | None = None,
) -> Any:  # fmt: skip
    """The gradient of `conv2d` with respect to its input, of shape `input_sizes`; NHWC."""
    return CONV2D_BACKPROP_INPUT(
        input_sizes, filter, out_backprop, strides=strides, padding=padding, data_format=data_format,
        dilations=dilations, name=name,
    )  # fmt: skip


def _conv2d_backprop_filter(
    input: Any, filter_sizes: Any, out_backprop: Any, strides: Any, padding: Any, use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC", dilations: Any = (1, 1, 1, 1), name: str | None = None,
) -> Any:  # fmt: skip
    """The gradient of `conv2d` with respect to its filter, of shape `filter_sizes`; NHWC."""
    return CONV2D_BACKPROP_FILTER(
        input, filter_sizes, out_backprop, strides=strides, padding=padding, data_format=data_format,
        dilations=dilations, name=name,
    )  # fmt: skip


API: dict[str, Any] = {
    "nn.conv2d": conv2d,
    "nn.conv2d_transpose": conv2d_transpose,
    "nn.deconv2d": conv2d_transpose,
    "nn.conv2d_backprop_input": _conv2d_backprop_input,
    "nn.conv2d_backprop_filter": _conv2d_backprop_filter,
    "nn.atrous_conv2d": atrous_conv2d,
    "nn.conv1d": conv1d,
    "nn.convolution": convolution,
}

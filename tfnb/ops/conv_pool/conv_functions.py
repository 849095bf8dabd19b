"""The public convolution functions, in one to three dimensions.

Arguments have the order of TensorFlow 0.x and 1.x; renamed arguments are accepted under both names. Invariant: each
function adds one convolution op, and otherwise only reshapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import OpDef
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import EXPAND_DIMS, SQUEEZE
from tfnb.ops.conv_pool.conv import CONV2D, CONV2D_BACKPROP_FILTER, CONV2D_BACKPROP_INPUT
from tfnb.ops.conv_pool.conv3d import CONV3D, CONV3D_BACKPROP_FILTER_V2, CONV3D_BACKPROP_INPUT_V2
from tfnb.ops.conv_pool.windows import LAYOUTS, channels_first, integers
from tfnb.ops.nn.losses import scope
from tfnb.types import int32

__all__ = ["API", "OPS", "conv1d", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose", "padding_of", "spread"]


def padding_of(padding: str | Sequence[Any] | None) -> dict[str, Any]:
    """Returns the padding attributes of an op: a name, or the pixel counts before and after each dimension."""
    if isinstance(padding, (list, tuple)):
        pairs = [int(p) for pair in padding for p in pair]
        return {"padding": "EXPLICIT", "explicit_paddings": pairs} if any(pairs) else {"padding": "VALID"}
    return {"padding": padding}


def spread(values: int | Sequence[int] | np.ndarray | None, axes: int, first: bool, what: str) -> list[int]:
    """Returns one integer per dimension, from one for all spatial axes, one per spatial axis, or one per dimension.

    Raises `InvalidArgumentError` for another number of integers.
    """
    numbers = [1] if values is None else np.asarray(values).reshape(-1).tolist()
    if len(numbers) == axes + 2:
        return [int(v) for v in numbers]
    if len(numbers) not in (1, axes):
        raise InvalidArgumentError(f"{what} must be 1, {axes} or {axes + 2} integers, got {values!r}")
    inner = [int(v) for v in (numbers * axes if len(numbers) == 1 else numbers)]
    return [1, 1, *inner] if first else [1, *inner, 1]


def _require(what: str, **named: object) -> None:
    missing = [name for name, value in named.items() if value is None]
    if missing:
        raise InvalidArgumentError(f"{what} needs {' and '.join(missing)}")


def conv2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str | None = None,
    use_cudnn_on_gpu: bool | None = True,
    data_format: str | None = "NHWC",
    dilations: int | Sequence[int] | str | None = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Cross-correlation of images with filters; see the op Conv2D.

    input: (batch, height, width, in), or (batch, in, height, width) for `data_format="NCHW"`. filter: (fh, fw, in,
    out). strides, dilations: one, two or four integers, four in the order of data_format. padding: "SAME", "VALID" or
    four pairs of pixel counts. Raises `ShapeError` when the numbers of channels differ, `InvalidArgumentError` for
    invalid strides or padding.
    """
    _require("conv2d", strides=strides, padding=padding)
    if isinstance(dilations, str):  # before 1.6: (..., data_format, name)
        dilations, name = None, dilations
    first = channels_first(data_format)
    return CONV2D(
        input,
        filters if filter is None else filter,
        strides=spread(strides, 2, first, "strides"),
        use_cudnn_on_gpu=use_cudnn_on_gpu is not False,
        data_format=data_format or "NHWC",
        dilations=spread(dilations, 2, first, "dilations"),
        name=name,
        **padding_of(padding),
    )


def conv3d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str | None = None,
    data_format: str | None = "NDHWC",
    dilations: int | Sequence[int] | None = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Cross-correlation of volumes with filters; see the op Conv3D.

    input: (batch, depth, height, width, in), or channels second for "NCDHW". filter: (fd, fh, fw, in, out). strides,
    dilations: five integers in the order of data_format. Raises `ShapeError` when the numbers of channels differ.
    """
    _require("conv3d", strides=strides, padding=padding)
    first = channels_first(data_format, 5)
    return CONV3D(
        input,
        filters if filter is None else filter,
        strides=spread(strides, 3, first, "strides"),
        padding=padding,
        data_format=data_format or "NDHWC",
        dilations=spread(dilations, 3, first, "dilations"),
        name=name,
    )


def _sizes(output_shape: TensorLike | None, value: TensorLike | None) -> Any:
    graph = graph_of((value, output_shape))
    return graph.to_tensor(output_shape, None if hasattr(output_shape, "dtype") else int32)


def conv2d_transpose(
    value: TensorLike | None = None,
    filter: TensorLike | None = None,
    output_shape: TensorLike | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str = "SAME",
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: int | Sequence[int] = (1, 1, 1, 1),
) -> Tensor:
    """Computes the transpose of `conv2d` (its input gradient), also known as deconvolution.

    value: (batch, rows, columns, in), or channels second for "NCHW". filter: (fh, fw, out, in). output_shape: the 4
    dimensions of the result, a list or an integer tensor. strides: one, two or four integers. Raises `ShapeError` when
    a convolution of `output_shape` would not have `value`'s shape.
    """
    _require("conv2d_transpose", output_shape=output_shape, strides=strides)
    first = channels_first(data_format)
    images = input if value is None else value
    return CONV2D_BACKPROP_INPUT(
        _sizes(output_shape, images),
        filters if filter is None else filter,
        images,
        strides=spread(strides, 2, first, "strides"),
        data_format=data_format or "NHWC",
        dilations=spread(dilations, 2, first, "dilations"),
        name=name or "conv2d_transpose",
        **padding_of(padding),
    )


def conv3d_transpose(
    value: TensorLike | None = None,
    filter: TensorLike | None = None,
    output_shape: TensorLike | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Any] = "SAME",
    data_format: str | None = "NDHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: int | Sequence[int] = (1, 1, 1, 1, 1),
) -> Tensor:
    """Computes the transpose of `conv3d`.

    The arguments and errors are those of `conv2d_transpose`, with one more dimension.
    """
    _require("conv3d_transpose", output_shape=output_shape, strides=strides)
    first = channels_first(data_format, 5)
    volumes = input if value is None else value
    return CONV3D_BACKPROP_INPUT_V2(
        _sizes(output_shape, volumes),
        filters if filter is None else filter,
        volumes,
        strides=spread(strides, 3, first, "strides"),
        padding=padding,
        data_format=data_format or "NDHWC",
        dilations=spread(dilations, 3, first, "dilations"),
        name=name or "conv3d_transpose",
    )


_LINES = {"NWC": False, "NHWC": False, "NCW": True, "NCHW": True, None: False}


def _line(data_format: str | None) -> tuple[bool, str, int]:
    """For a layout with one spatial axis: (channels first, the layout with two spatial axes, the axis to insert)."""
    if data_format not in _LINES:
        raise InvalidArgumentError(f'data_format must be "NWC" or "NCW", got {data_format!r}')
    first = _LINES[data_format]
    return first, LAYOUTS[4][first], 2 if first else 1


def conv1d(
    value: TensorLike | None = None,
    filters: TensorLike | None = None,
    stride: int | Sequence[int] | None = None,
    padding: str | Sequence[Any] | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NWC",
    name: str | None = None,
    input: TensorLike | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Cross-correlation along one axis.

    value: (batch, width, in), or (batch, in, width) for "NCW". filters: (fw, in, out). Returns (batch, columns, out) or
    (batch, out, columns). Raises `InvalidArgumentError` for an unknown data_format.
    """
    _require("conv1d", stride=stride, padding=padding)
    first, layout, axis = _line(data_format)
    x = input if value is None else value
    with scope(name, "conv1d", x, filters):
        y = CONV2D(
            EXPAND_DIMS(graph_of((x, filters)).to_tensor(x), axis),
            EXPAND_DIMS(filters, 0),
            padding=padding,
            strides=_across(stride, first),
            dilations=_across(dilations, first),
            data_format=layout,
        )
        return SQUEEZE(y, squeeze_dims=[axis])


def _across(value: int | Sequence[int] | None, first: bool) -> list[int]:
    """The strides or dilations for images of height 1 from the number for the one spatial axis."""
    factor = int(np.asarray(1 if value is None else value).reshape(-1).max())
    return [1, 1, 1, factor] if first else [1, 1, factor, 1]


def conv1d_transpose(
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    output_shape: TensorLike | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Any] = "SAME",
    data_format: str | None = "NWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
    value: TensorLike | None = None,
    filter: TensorLike | None = None,
    stride: int | Sequence[int] | None = None,
) -> Tensor:
    """Computes the transpose of `conv1d`.

    input: (batch, columns, in), or channels second for "NCW". filters: (fw, out, in). output_shape: the 3 dimensions of
    the result, a list or an integer tensor. Raises `ShapeError` when `conv1d` of the result would not have the shape of
    input.
    """
    step = stride if strides is None else strides
    _require("conv1d_transpose", output_shape=output_shape, strides=step)
    first, layout, axis = _line(data_format)
    x = value if input is None else input
    w = filter if filters is None else filters
    with scope(name, "conv1d_transpose", x, w):
        graph = graph_of((x, w, output_shape))
        dims = _sizes(output_shape, x)
        sizes = [dims[0], dims[1], dims[2]]
        sizes.insert(axis, graph.to_tensor(np.ones((), dims.dtype.np)))
        y = CONV2D_BACKPROP_INPUT(
            graph.to_tensor(sizes),
            EXPAND_DIMS(w, 0),
            EXPAND_DIMS(graph.to_tensor(x), axis),
            padding=padding,
            strides=_across(step, first),
            dilations=_across(dilations, first),
            data_format=layout,
        )
        return SQUEEZE(y, squeeze_dims=[axis])


def atrous_conv2d(value: TensorLike, filters: TensorLike, rate: int, padding: str, name: str | None = None) -> Tensor:
    """Dilated convolution: `conv2d` with a filter whose taps are `rate` pixels apart.

    value: (batch, height, width, in). filters: (fh, fw, in, out). Raises `InvalidArgumentError` for a rate below 1.
    """
    return CONV2D(value, filters, padding=padding, dilations=(1, rate, rate, 1), name=name)


def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    rate: int,
    padding: str | Sequence[Any],
    name: str | None = None,
) -> Tensor:
    """Computes the transpose of `atrous_conv2d`.

    value: (batch, rows, columns, in). filters: (fh, fw, out, in). output_shape: the 4 dimensions of the result. Raises
    `ShapeError` when `atrous_conv2d` of the result would not have the shape of value, and `InvalidArgumentError` for a
    rate below 1.
    """
    return CONV2D_BACKPROP_INPUT(
        _sizes(output_shape, value), filters, value, padding=padding, dilations=(1, rate, rate, 1), name=name
    )


def convolution(
    input: TensorLike,
    filter: TensorLike | None = None,
    padding: str | None = None,
    strides: int | Sequence[int] | None = None,
    dilation_rate: int | Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: TensorLike | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Any:
    """Convolution over one, two or three spatial axes, with strides and dilation per axis.

    input: (batch, axes..., in), or channels second for a data_format that begins with "NC". filter: (sizes..., in,
    out). Raises `ShapeError` for another number of axes.
    """
    weights = filters if filter is None else filter
    graph = graph_of((input, weights))
    x, w = graph.to_tensor(input), graph.to_tensor(weights)
    axes = (w.shape.ndims or x.shape.ndims or 4) - 2
    rates = dilations if dilation_rate is None else dilation_rate
    if axes == 1:
        return conv1d(x, w, spread(strides, 1, False, "strides")[1], padding, True, data_format, name, dilations=rates)
    if axes == 2:
        return conv2d(x, w, 1 if strides is None else strides, padding, True, data_format, rates, name)
    if axes == 3:
        return conv3d(x, w, 1 if strides is None else strides, padding, data_format, rates, name)
    raise ShapeError(f"convolution takes one to three spatial axes, got a filter of shape {w.shape}")


def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    strides: int | Sequence[int],
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Any:
    """Computes the transpose of `convolution` over one to three spatial axes.

    input: (batch, axes..., in), or channels second for a data_format that begins with "NC". filters: (sizes..., out,
    in). output_shape: the dimensions of the result. Raises `ShapeError` for another number of axes.
    """
    w = graph_of((input, filters)).to_tensor(filters)
    rates = 1 if dilations is None else dilations
    axes = -1 if w.shape.ndims is None else w.shape.ndims - 2
    if axes == 1:
        step = spread(strides, 1, False, "strides")[1]
        return conv1d_transpose(input, w, output_shape, step, padding, data_format, dilations, name)
    if axes == 2:
        return conv2d_transpose(input, w, output_shape, strides, padding, data_format, name, dilations=rates)
    if axes == 3:
        return conv3d_transpose(input, w, output_shape, strides, padding, data_format, name, dilations=rates)
    raise ShapeError(f"conv_transpose takes one to three spatial axes, got filters of shape {w.shape}")


def _options(options: dict[str, Any], rank: int = 4) -> dict[str, Any]:
    """The attributes of a gradient op, from keyword arguments in which None means the default."""
    rest = {k: v for k, v in options.items() if v is not None and k not in ("padding", "strides")}
    strides = integers(list(options["strides"]), rank, "strides")
    return {"strides": strides, **rest, **padding_of(options["padding"])}


def conv2d_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike | None = None,
    out_backprop: TensorLike | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: int | Sequence[int] | str | None = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Returns the gradient of `conv2d` with respect to its input; see the op Conv2DBackpropInput.

    input_sizes: the four dimensions of the input, integers or an integer tensor, which the result has. filter, strides,
    padding, data_format, dilations: those of `conv2d`. out_backprop: the gradient of its output.
    """
    _require("conv2d_backprop_input", strides=strides, padding=padding)
    options = {"strides": strides, "padding": padding, "data_format": data_format, "dilations": dilations}
    w = filters if filter is None else filter
    return CONV2D_BACKPROP_INPUT(_sizes(input_sizes, out_backprop), w, out_backprop, name=name, **_options(options))


def conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: int | Sequence[int] | None = None,
    padding: str | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: int | Sequence[int] | str | None = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Returns the gradient of `conv2d` with respect to its filter; see the op Conv2DBackpropFilter.

    filter_sizes: the four dimensions of the filter, integers or an integer tensor, which the result has. input,
    strides, padding, data_format, dilations: those of `conv2d`. out_backprop: the gradient of its output.
    """
    _require("conv2d_backprop_filter", strides=strides, padding=padding)
    options = {"strides": strides, "padding": padding, "data_format": data_format, "dilations": dilations}
    sizes = _sizes(filter_sizes, out_backprop)
    return CONV2D_BACKPROP_FILTER(input, sizes, out_backprop, name=name, **_options(options))


def conv3d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Returns the gradient of `conv3d` with respect to its filter; see the op Conv3DBackpropFilterV2.

    filter_sizes: the five dimensions of the filter, integers or an integer tensor, which the result has. input,
    strides, padding, data_format, dilations: those of `conv3d`. out_backprop: the gradient of its output.
    """
    options = {"strides": strides, "padding": padding, "data_format": data_format, "dilations": dilations}
    sizes = _sizes(filter_sizes, out_backprop)
    return CONV3D_BACKPROP_FILTER_V2(input, sizes, out_backprop, name=name, **_options(options, 5))


OPS: tuple[OpDef, ...] = ()
API: dict[str, Any] = {
    "nn.conv1d": conv1d,
    "nn.conv1d_transpose": conv1d_transpose,
    "nn.conv2d": conv2d,
    "nn.conv2d_transpose": conv2d_transpose,
    "nn.deconv2d": conv2d_transpose,
    "nn.conv2d_backprop_input": conv2d_backprop_input,
    "nn.conv2d_backprop_filter": conv2d_backprop_filter,
    "nn.conv3d": conv3d,
    "nn.conv3d_transpose": conv3d_transpose,
    "nn.conv3d_backprop_filter": conv3d_backprop_filter,
    "nn.conv3d_backprop_filter_v2": conv3d_backprop_filter,
    "nn.atrous_conv2d": atrous_conv2d,
    "nn.atrous_conv2d_transpose": atrous_conv2d_transpose,
    "nn.convolution": convolution,
    "nn.conv_transpose": conv_transpose,
}

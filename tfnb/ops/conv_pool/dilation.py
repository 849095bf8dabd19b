"""Grey-scale morphology: dilation and erosion of images, and their gradients.

Dilation is a convolution with maxima in place of sums, and sums in place of products. Invariant: a gradient goes to the
one pixel and the one tap that gave the output; among several maxima this is the first in row-major order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.kernelcall import Arg, In, KernelCall, KernelSite, Out, i32
from tfnb.ir.opdef import GRADIENT_MISSING, HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.tile_reverse_mirror import REVERSE_V2
from tfnb.ops.conv_pool.conv_reference import Axis, window_axes
from tfnb.ops.conv_pool.window_taps import host_choice, lower_choice
from tfnb.ops.conv_pool.windows import ImageArgs, attrs_of, channels_first, settle, window_count
from tfnb.ops.nn.losses import scope
from tfnb.types import INTS, REALS, Shape

__all__ = ["API", "DILATION2D", "OPS"]


@record
class DilationAttrs:
    """`strides`, `rates` (the distance between taps): one number per dimension, 1 for batch and channels.

    `padding`: "SAME" or "VALID".
    """

    strides: tuple[int, ...] = (1, 1, 1, 1)
    rates: tuple[int, ...] = (1, 1, 1, 1)
    padding: str = "VALID"

    def __post_init__(self) -> None:
        settle(self)


IMAGE = ImageArgs((0,))


def _output_shape(c: Infer) -> Shape:
    x, w, a = with_rank(c, 0, 4).as_list(), with_rank(c, 1, 3).as_list(), c.attrs
    if x[3] is not None and w[2] is not None and x[3] != w[2]:
        raise ShapeError(
            f"{c.op_name}: the input has {x[3]} channels (shape {c.shapes[0]}), the filter {w[2]} ({c.shapes[1]})"
        )
    rows = window_count(x[1], w[0], a.strides[1], a.rates[1], a.padding)
    columns = window_count(x[2], w[1], a.strides[2], a.rates[2], a.padding)
    return Shape((x[0], rows, columns, w[2] if x[3] is None else x[3]))


def _infer_grad(which: int) -> Any:
    def infer(c: Infer) -> Shape:
        output = _output_shape(c)
        if not output.is_compatible_with(c.shapes[2]):
            raise ShapeError(
                f"{c.op_name}: input {c.shapes[0]} and filter {c.shapes[1]} make {output}, but out_backprop has shape "
                f"{c.shapes[2]}"
            )
        return with_rank(c, which, 4 - which)

    return infer


def _axes(a: DilationAttrs, x: Sequence[int], w: Sequence[int]) -> tuple[Axis, Axis]:
    return window_axes(x[1], x[2], (w[0], w[1]), a.strides, a.padding, a.rates)


@IMAGE.host
def _host(call: HostCall, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return host_choice(x, _axes(call.attrs, x.shape, w.shape), w)[0]


def _chosen(call: HostCall, x: np.ndarray, w: np.ndarray) -> tuple[Any, ...]:
    axes = _axes(call.attrs, x.shape, w.shape)
    _, row, column = host_choice(x, axes, w)
    return axes, row, column, np.ix_(*(np.arange(d) for d in row.shape))


@IMAGE.host
def _host_input(call: HostCall, x: np.ndarray, w: np.ndarray, dy: np.ndarray) -> np.ndarray:
    dx = np.zeros_like(x)
    if dy.size:
        _, row, column, (n, _, _, k) = _chosen(call, x, w)
        np.add.at(dx, (n, np.maximum(row, 0), column, k), np.where(row < 0, 0, dy))
    return dx


@IMAGE.host
def _host_filter(call: HostCall, x: np.ndarray, w: np.ndarray, dy: np.ndarray) -> np.ndarray:
    dw = np.zeros_like(w)
    if dy.size:
        (ay, ax), row, column, (_, y, i, k) = _chosen(call, x, w)
        ky = (np.maximum(row, 0) - y * ay.stride + ay.before) // ay.dilation
        kx = (column - i * ax.stride + ax.before) // ax.dilation
        slope = np.where(row < 0, 0, dy)
        np.add.at(dw, (np.where(row < 0, 0, ky), np.where(row < 0, 0, kx), k), slope)
    return dw


def _lower(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    n, y, x, k = idx
    axes = _axes(site.attrs, site.inputs[0].shape, site.inputs[1].shape)

    def value(r: Expr, q: Expr, ky: int, kx: int) -> Expr:
        return site.load(0, (n, r, q, k)) + site.load(1, (ky, kx, k))

    return lower_choice((y, x), axes, value)[0]


def _calls(entry: str) -> Any:
    def calls(site: KernelSite) -> tuple[KernelCall, ...]:
        if site.outputs[0].size == 0:
            return ()
        x, w, dy = (t.shape for t in site.inputs)
        ay, ax = _axes(site.attrs, x, w)
        sizes = (*x, w[0], w[1], dy[1], dy[2])
        steps = (ay.stride, ax.stride, ay.dilation, ax.dilation, ay.before, ax.before)
        args: tuple[Arg, ...] = (In(0), In(1), In(2), Out(0), *map(i32, (*sizes, *steps)))
        shares = x[0] if entry == "dilation2d_input_grad" else x[3]
        groups = max(1, min(shares, 4 * site.units))
        defines = (("T", site.outputs[0].dtype.cl),)
        return (KernelCall("conv_pool/pool_argmax.cl", entry, args, (groups, 1, 1), defines=defines),)

    return calls


def _grad(op: Operation, dy: Tensor) -> tuple[Tensor, Tensor]:
    x, w = op.inputs
    attrs = attrs_of(op.attrs)
    return (
        DILATION2D_BACKPROP_INPUT(x, w, dy, **attrs),
        DILATION2D_BACKPROP_FILTER(x, w, dy, **attrs),
    )


DILATION2D: OpDef[Tensor] = OpDef(
    "Dilation2D",
    "input: T, filter: T",
    "output: T",
    """Grey-scale dilation of images, channel by channel.

    output[b, y, x, k] = max over (dy, dx) of input[b, y * strides[1] + dy * rates[1] - top, x * strides[2] + dx *
    rates[2] - left, k] + filter[dy, dx, k], over the taps inside the image. input: shape (batch, height, width,
    channels). filter: (fh, fw, channels). output: (batch, rows, columns, channels), with the rows and columns of
    Conv2D. Errors: the numbers of channels differ, or a rank is wrong.""",
    host_dtypes=INTS,
    types={"T": REALS},
    attrs=DilationAttrs,
    infer=_output_shape,
    host=_host,
    lower=_lower,
    grad=_grad,
)

DILATION2D_BACKPROP_INPUT: OpDef[Tensor] = OpDef(
    "Dilation2DBackpropInput",
    "input: T, filter: T, out_backprop: T",
    "in_backprop: T",
    """The gradient of Dilation2D with respect to its input: each of out_backprop goes to the pixel at the maximum.

    input, in_backprop: the shape of Dilation2D's input. filter: (fh, fw, channels). out_backprop: the shape of its
    output. Errors: the shapes do not match.""",
    host_dtypes=INTS,
    types={"T": REALS},
    attrs=DilationAttrs,
    infer=_infer_grad(0),
    host=_host_input,
    opencl=_calls("dilation2d_input_grad"),
    expand=IMAGE.expand,
    grad=GRADIENT_MISSING,
)

DILATION2D_BACKPROP_FILTER: OpDef[Tensor] = OpDef(
    "Dilation2DBackpropFilter",
    "input: T, filter: T, out_backprop: T",
    "filter_backprop: T",
    """The gradient of Dilation2D with respect to its filter: each of out_backprop goes to the tap at the maximum.

    input: the shape of Dilation2D's input. filter, filter_backprop: (fh, fw, channels). out_backprop: the shape of its
    output. Errors: the shapes do not match.""",
    host_dtypes=INTS,
    types={"T": REALS},
    attrs=DilationAttrs,
    infer=_infer_grad(1),
    host=_host_filter,
    opencl=_calls("dilation2d_filter_grad"),
    expand=IMAGE.expand,
    grad=GRADIENT_MISSING,
)


def dilation2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: int | Sequence[int] | None = None,
    rates: int | Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    filters: TensorLike | None = None,
    dilations: int | Sequence[int] | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Grey-scale dilation of images; see the op Dilation2D.

    input: (batch, height, width, channels). filter: (fh, fw, channels). strides, rates (`dilations`): four integers.
    Raises `ShapeError` when the numbers of channels differ, `InvalidArgumentError` for invalid strides, rates or
    padding.
    """
    steps = dilations if rates is None else rates
    if strides is None or steps is None or padding is None or channels_first(data_format):
        raise InvalidArgumentError("dilation2d needs strides, rates, padding and channels last")
    w = filters if filter is None else filter
    return DILATION2D(input, w, strides=strides, rates=steps, padding=padding, name=name)


def erosion2d(
    value: TensorLike,
    kernel: TensorLike,
    strides: int | Sequence[int],
    rates: int | Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Grey-scale erosion: min over the taps of value - kernel; the dual of `dilation2d` with the rotated kernel.

    value: (batch, height, width, channels). kernel: (fh, fw, channels). Raises the errors of `dilation2d`.
    """
    with scope(name, "erosion2d", value, kernel):
        graph = graph_of((value, kernel))
        x, w = graph.to_tensor(value), graph.to_tensor(kernel)
        reflected = REVERSE_V2(w, np.asarray([0, 1], np.int32))
        return -DILATION2D(-x, reflected, strides=strides, rates=rates, padding=padding)


OPS: tuple[OpDef, ...] = (DILATION2D, DILATION2D_BACKPROP_INPUT, DILATION2D_BACKPROP_FILTER)
API: dict[str, Any] = {"nn.dilation2d": dilation2d, "nn.erosion2d": erosion2d}

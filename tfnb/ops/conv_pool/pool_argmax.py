"""Max-pooling that also returns the indices of the maxima.

The argmax of a pixel is its index in its image, (y * width + x) * channels + channel. Invariant: a gradient goes to
exactly the pixels at these indices, and the gradient of the gradient is read from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.kernelcall import Arg, In, KernelCall, KernelSite, Out, i32
from tfnb.ir.opdef import HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import merged, with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.conv_pool.conv_reference import Axis, pool_axes
from tfnb.ops.conv_pool.window_taps import host_choice, lower_choice
from tfnb.ops.conv_pool.windows import ImageArgs, attrs_of, channels_first, settle, window_count
from tfnb.types import INDEX, INTS, REALS, DTypeLike, Shape, as_dtype, int32, int64

__all__ = ["API", "MAX_POOL_WITH_ARGMAX", "OPS"]


@record
class ArgmaxAttrs:
    """`ksize`, `strides`: those of MaxPool; `include_batch_in_index`: indices count through the whole batch."""

    ksize: tuple[int, ...] = (1, 1, 1, 1)
    strides: tuple[int, ...] = (1, 1, 1, 1)
    padding: str = "VALID"
    include_batch_in_index: bool = False

    def __post_init__(self) -> None:
        settle(self)


IMAGES = ImageArgs((0, 1))


def _pooled(a: ArgmaxAttrs, x: Shape) -> Shape:
    n, h, w, c = x.as_list()
    rows = window_count(h, a.ksize[1], a.strides[1], 1, a.padding)
    return Shape((n, rows, window_count(w, a.ksize[2], a.strides[2], 1, a.padding), c))


def _infer(c: Infer) -> tuple[Shape, Shape]:
    output = _pooled(c.attrs, with_rank(c, 0, 4))
    return output, output


def _check(c: Infer, pooled: Shape) -> Shape:
    if not pooled.is_compatible_with(c.shapes[2]):
        raise ShapeError(
            f"{c.op_name}: images of shape {c.shapes[0]} pool to {pooled}, but argmax has shape {c.shapes[2]}"
        )
    return pooled.merge_with(c.shapes[2])


def _infer_grad(c: Infer) -> Shape:
    x = with_rank(c, 0, 4)
    _check(c, _pooled(c.attrs, x).merge_with(merged(c, 1, 2)))
    return x


def _infer_grad_grad(c: Infer) -> Shape:
    return _check(c, _pooled(c.attrs, with_rank(c, 0, 4).merge_with(with_rank(c, 1, 4))))


def _axes(call: HostCall | LowerSite, shape: Sequence[int]) -> tuple[Axis, Axis]:
    a = call.attrs
    return pool_axes(shape, a.ksize, a.strides, a.padding)


def _host(call: HostCall, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n, h, w, c = x.shape
    best, row, column = host_choice(x, _axes(call, x.shape))
    at = (row * w + column) * c + np.arange(c)
    if call.attrs.include_batch_in_index:
        at = at + (np.arange(n) * (h * w * c))[:, None, None, None]
    return best, at.astype(call.types["Targmax"].np)


def _lower(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    n, y, x, k = idx
    _, h, w, c = site.inputs[0].shape
    axes = _axes(site, site.inputs[0].shape)
    best, row, column = lower_choice((y, x), axes, lambda r, q, *_: site.load(0, (n, r, q, k)))
    if port == 0:
        return best
    at = s.cast((row * w + column) * c + k, as_dtype(site.outputs[1].dtype))
    if site.attrs.include_batch_in_index:
        at = at + s.cast(n, at.dtype) * (h * w * c)
    return at


def _places(call: HostCall, argmax: np.ndarray, pixels: int) -> np.ndarray:
    """The argmax as flat indices within each image. Raises `InvalidArgumentError` for an index outside it."""
    at = argmax.reshape(argmax.shape[0], -1).astype(np.int64)
    if call.attrs.include_batch_in_index:
        at = at - (np.arange(len(at)) * pixels)[:, None]
    bad = (at < 0) | (at >= pixels)
    if bad.any():
        raise InvalidArgumentError(
            f"{call.op.type}: argmax {int(at[bad][0])} is not in [0, {pixels}), the pixels of an image",
            call.op,
        )
    return at


@IMAGES.host
def _host_grad(call: HostCall, x: np.ndarray, dy: np.ndarray, argmax: np.ndarray) -> np.ndarray:
    dx = np.zeros((x.shape[0], int(np.prod(x.shape[1:]))), dy.dtype)
    if dy.size:
        at = _places(call, argmax, dx.shape[1])
        np.add.at(dx, (np.arange(len(at))[:, None], at), dy.reshape(at.shape))
    return dx.reshape(x.shape)


@IMAGES.host
def _host_grad_grad(call: HostCall, x: np.ndarray, g: np.ndarray, argmax: np.ndarray) -> np.ndarray:
    if not argmax.size:
        return np.zeros(argmax.shape, g.dtype)
    at = _places(call, argmax, int(np.prod(g.shape[1:])))
    return np.take_along_axis(g.reshape(len(at), -1), at, axis=1).reshape(argmax.shape)


def _grad_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    if site.outputs[0].size == 0:
        return ()
    n, pixels = site.outputs[0].shape[0], site.outputs[0].size // site.outputs[0].shape[0]
    ints = (n, site.inputs[1].size // n, pixels, int(site.attrs.include_batch_in_index))
    args: tuple[Arg, ...] = (In(1), In(2), Out(0), *map(i32, ints))
    defines = (("T", site.outputs[0].dtype.cl), ("TI", site.inputs[2].dtype.cl))
    groups = max(1, min(n, 4 * site.units))
    return (KernelCall("conv_pool/pool_argmax.cl", "max_pool_grad_with_argmax", args, (groups, 1, 1), defines=defines),)


def _lower_grad_grad(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    _, h, w, c = site.inputs[1].shape
    at = s.cast(site.load(2, idx), int64)
    if site.attrs.include_batch_in_index:
        at = at - s.cast(idx[0], int64) * (h * w * c)
    place = s.cast(s.minimum(s.maximum(at, 0), max(h * w * c - 1, 0)), int32)
    y, x = s.floordiv(place, w * c), s.floormod(s.floordiv(place, c), w)
    inside = s.and_(at >= 0, at < h * w * c)
    return s.where(inside, site.load(1, (idx[0], y, x, s.floormod(place, c))), 0)


def _grad(op: Operation, dy: Tensor, _: Tensor) -> Tensor:
    return MAX_POOL_GRAD_WITH_ARGMAX(op.x, dy, op.outputs[1], **attrs_of(op.attrs))


def _grad_grad(op: Operation, g: Tensor) -> tuple[Tensor, Tensor, None]:
    """Only `grad` gets a gradient, since the positions of the maxima are constant almost everywhere."""
    x, _, argmax = op.inputs
    return ZEROS_LIKE(x), MAX_POOL_GRAD_GRAD_WITH_ARGMAX(x, g, argmax, **attrs_of(op.attrs)), None


def _grad_grad_grad(op: Operation, g: Tensor) -> tuple[Tensor, Tensor, None]:
    x, _, argmax = op.inputs
    return ZEROS_LIKE(x), MAX_POOL_GRAD_WITH_ARGMAX(x, g, argmax, **attrs_of(op.attrs)), None


MAX_POOL_WITH_ARGMAX: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "MaxPoolWithArgmax",
    "input: T",
    "output: T, argmax: Targmax",
    """The largest pixel of each window, channel by channel, and its index.

    input: shape (batch, height, width, channels). output: the shape of MaxPool's output. argmax: the same shape, the
    index (y * width + x) * channels + channel of the first maximum in its image, or in the whole batch with
    `include_batch_in_index`. Errors: the rank is not 4.""",
    host_dtypes=INTS,
    types={"T": REALS, "Targmax": (int64, int32)},
    defaults={"Targmax": int64},
    attrs=ArgmaxAttrs,
    infer=_infer,
    host=_host,
    lower=_lower,
    grad=_grad,
)

MAX_POOL_GRAD_WITH_ARGMAX: OpDef[Tensor] = OpDef(
    "MaxPoolGradWithArgmax",
    "input: T, grad: T, argmax: Targmax",
    "output: T",
    """The gradient of MaxPoolWithArgmax: adds each of `grad` to the pixel at the index in argmax.

    input, output: the shape of MaxPoolWithArgmax's input; grad, argmax: the shape of its output. Errors: the shapes do
    not match, or, on the host, an index is outside the image (a device ignores it).""",
    host_dtypes=INTS,
    types={"T": REALS, "Targmax": INDEX},
    attrs=ArgmaxAttrs,
    infer=_infer_grad,
    host=_host_grad,
    opencl=_grad_calls,
    expand=ImageArgs((0, 1)).expand,
    grad=_grad_grad,
)

MAX_POOL_GRAD_GRAD_WITH_ARGMAX: OpDef[Tensor] = OpDef(
    "MaxPoolGradGradWithArgmax",
    "input: T, grad: T, argmax: Targmax",
    "output: T",
    """The gradient of MaxPoolGradWithArgmax with respect to its `grad`: the elements of its gradient at argmax.

    input, grad: the shape of MaxPoolWithArgmax's input; argmax, output: the shape of its output. Errors: the shapes do
    not match, or, on the host, an index is outside the image (a device gives 0 there).""",
    host_dtypes=INTS,
    types={"T": REALS, "Targmax": INDEX},
    attrs=ArgmaxAttrs,
    infer=_infer_grad_grad,
    host=_host_grad_grad,
    lower=_lower_grad_grad,
    grad=_grad_grad_grad,
)


def max_pool_with_argmax(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    Targmax: DTypeLike | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
    include_batch_in_index: bool = False,
) -> tuple[Tensor, Tensor]:
    """Returns the largest pixel of each window and its index in the image; see the op MaxPoolWithArgmax.

    input: (batch, height, width, channels). ksize, strides: four integers. Targmax (`output_dtype`): int64 (the
    default) or int32. Raises `InvalidArgumentError` for invalid windows or padding, or another data_format.
    """
    if channels_first(data_format):
        raise InvalidArgumentError('max_pool_with_argmax takes data_format "NHWC" only')
    argmax_dtype = output_dtype if Targmax is None else Targmax
    return MAX_POOL_WITH_ARGMAX(
        input,
        ksize=ksize,
        strides=strides,
        padding=padding,
        include_batch_in_index=include_batch_in_index,
        Targmax=int64 if argmax_dtype is None else as_dtype(argmax_dtype),
        name=name,
    )


OPS: tuple[OpDef, ...] = (
    MAX_POOL_WITH_ARGMAX,
    MAX_POOL_GRAD_WITH_ARGMAX,
    MAX_POOL_GRAD_GRAD_WITH_ARGMAX,
)
API: dict[str, Any] = {"nn.max_pool_with_argmax": max_pool_with_argmax}

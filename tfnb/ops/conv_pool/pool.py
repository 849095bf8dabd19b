"""Pooling over windows of an image (white paper, Table 1 "neural-net building blocks").

Pixels outside the image are ignored: they are never a maximum and do not count in an average. Invariant: a gradient
reaches exactly the pixels on which the output depends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from tfnb.errors import ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.opdef import LATER, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import merged, with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.array.shape_ops import shape_of
from tfnb.ops.conv_pool.conv_recipes import (
    avg_pool_calls,
    avg_pool_grad_calls,
    max_pool_calls,
    max_pool_grad_calls,
)
from tfnb.ops.conv_pool.conv_reference import (
    avg_pool_grad_host,
    avg_pool_host,
    lowest,
    max_pool_grad_host,
    max_pool_host,
    pool_axes,
)
from tfnb.ops.conv_pool.windows import ImageArgs, attrs_of, pads, settle, sizes_in, window_count
from tfnb.types import FLOATS, INTS, REALS, Shape, float32

__all__ = [
    "AVG_POOL",
    "AVG_POOL_GRAD",
    "MAX_POOL",
    "MAX_POOL_GRAD",
    "MAX_POOL_GRAD_GRAD",
    "OPS",
    "PoolAttrs",
    "pooled",
]


@record
class PoolAttrs:
    """`ksize`, `strides`: window size and step per dimension in the order of `data_format`, 1 for batch and channels.

    `padding`: "SAME" or "VALID".
    """

    ksize: tuple[int, ...] = (1, 1, 1, 1)
    strides: tuple[int, ...] = (1, 1, 1, 1)
    padding: str = "VALID"
    data_format: str = "NHWC"

    def __post_init__(self) -> None:
        settle(self)


@record
class MaxPoolAttrs:
    """As `PoolAttrs`; `padding` "EXPLICIT" adds `explicit_paddings` pixels before and after each dimension."""

    ksize: tuple[int, ...] = (1, 1, 1, 1)
    strides: tuple[int, ...] = (1, 1, 1, 1)
    padding: str = "VALID"
    explicit_paddings: tuple[int, ...] = field(default=(), metadata=LATER)
    data_format: str = "NHWC"

    def __post_init__(self) -> None:
        settle(self)


IMAGE, IMAGES, SIZED = ImageArgs((0,)), ImageArgs((0, 1, 2)), ImageArgs((1,), sizes=(0,))


def pooled(a: PoolAttrs | MaxPoolAttrs, x: Shape) -> Shape:
    """Returns the static shape of images of shape `x` that are pooled in the windows of the attributes `a`."""
    n, h, w, ch = x.as_list()
    py, px = pads(a)
    rows = window_count(h, a.ksize[1], a.strides[1], 1, py)
    return Shape((n, rows, window_count(w, a.ksize[2], a.strides[2], 1, px), ch))


@IMAGE.infer
def _infer_pool(c: Infer) -> Shape:
    return pooled(c.attrs, with_rank(c, 0, 4))


def _check_pooled(c: Infer, x: Shape, y: Shape) -> None:
    output = pooled(c.attrs, x)
    if not output.is_compatible_with(y):
        raise ShapeError(f"{c.op_name}: images of shape {x} pool to {output}, but the gradient has shape {y}")


@IMAGES.infer
def _infer_max_grad(c: Infer) -> Shape:
    x = with_rank(c, 0, 4)
    _check_pooled(c, x, merged(c, 1, 2))
    return x


@IMAGES.infer
def _infer_max_grad_grad(c: Infer) -> Shape:
    x = with_rank(c, 0, 4).merge_with(c.shapes[2])
    _check_pooled(c, x, c.shapes[1])
    return pooled(c.attrs, x).merge_with(c.shapes[1])


@SIZED.infer
def _infer_avg_grad(c: Infer) -> Shape:
    x, dy = sizes_in(c, 0), with_rank(c, 1, 4)
    _check_pooled(c, x, dy)
    return x


def _kernel(reference: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A host kernel from a reference function of arrays, ksize, strides and padding."""
    return lambda call, *inputs: reference(*inputs, call.attrs.ksize, call.attrs.strides, pads(call.attrs))


def _max_pool_grad_grad_host(x: np.ndarray, y: np.ndarray, g: np.ndarray, *windows: Any) -> np.ndarray:
    """For each output, the element of `g` at the first maximum of its window."""
    ay, ax = pool_axes(x.shape, *windows)
    first = np.full(y.shape, -1, np.int64)
    best = np.full(y.shape, lowest(x.dtype), x.dtype)
    rows, columns = (
        np.arange(ay.count) * ay.stride - ay.before,
        np.arange(ax.count) * ax.stride - ax.before,
    )
    value = np.zeros(y.shape, g.dtype)
    for ky in range(ay.size):
        for kx in range(ax.size):
            r, k = rows + ky, columns + kx
            inside = ((r >= 0) & (r < ay.limit))[:, None] & ((k >= 0) & (k < ax.limit))
            at = np.ix_(np.arange(x.shape[0]), np.clip(r, 0, ay.limit - 1), np.clip(k, 0, ax.limit - 1))
            better = inside[None, :, :, None] & ((x[at] > best) | (first < 0))
            best, value = np.where(better, x[at], best), np.where(better, g[at], value)
            first = np.where(better, ky * ax.size + kx, first)
    return value


def _max_pool_grad_grad_lower(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    a = site.attrs
    n, i, j, k = idx
    ay, ax = pool_axes(site.inputs[0].shape, a.ksize, a.strides, a.padding)
    best = best_value = has_best = None
    for ky in range(ay.size):
        for kx in range(ax.size):
            r, q = i * ay.stride + (ky - ay.before), j * ax.stride + (kx - ax.before)
            inside = s.and_(s.and_(r >= 0, r < ay.limit), s.and_(q >= 0, q < ax.limit))
            at = (
                n,
                s.minimum(s.maximum(r, 0), ay.limit - 1),
                s.minimum(s.maximum(q, 0), ax.limit - 1),
                k,
            )
            x, g = site.load(0, at), site.load(2, at)
            if best is None or best_value is None or has_best is None:
                best, best_value, has_best = x, s.where(inside, g, 0), inside
            else:
                better = s.and_(inside, s.or_(x > best, s.not_(has_best)))
                best, best_value, has_best = (
                    s.where(better, x, best),
                    s.where(better, g, best_value),
                    s.or_(has_best, inside),
                )
    return best_value  # type: ignore[return-value]


def _grad_max_pool(op: Operation, dy: Tensor) -> Tensor:
    return MAX_POOL_GRAD(op.x, op.y, dy, **attrs_of(op.attrs))


def _grad_max_pool_grad(op: Operation, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Only `grad` gets a gradient, since the positions of the maxima are constant almost everywhere."""
    x, y, _ = op.inputs
    attrs = attrs_of(op.attrs)
    attrs.pop("explicit_paddings")  # an attribute that the next op does not have
    return ZEROS_LIKE(x), ZEROS_LIKE(y), MAX_POOL_GRAD_GRAD(x, y, g, **attrs)


def _grad_max_pool_grad_grad(op: Operation, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    x, y, _ = op.inputs
    return ZEROS_LIKE(x), ZEROS_LIKE(y), MAX_POOL_GRAD(x, y, g, **attrs_of(op.attrs))


def _grad_avg_pool(op: Operation, dy: Tensor) -> Tensor:
    return AVG_POOL_GRAD(shape_of(op.x), dy, **attrs_of(op.attrs))


def _grad_avg_pool_grad(op: Operation, g: Tensor) -> tuple[None, Tensor]:
    return None, AVG_POOL(g, **attrs_of(op.attrs))


MAX_POOL: OpDef[Tensor] = OpDef(
    "MaxPool",
    "input: T",
    "output: T",
    """The largest pixel of each window, channel by channel.

    input: shape (batch, height, width, channels). output: (batch, rows, columns, channels); rows is
    ceil(height / strides[1]) for "SAME", ceil((height - ksize[1] + 1) / strides[1]) for "VALID". Errors: the rank is
    not 4.""",
    host_dtypes=INTS,
    types={"T": REALS},
    defaults={"T": float32},
    attrs=MaxPoolAttrs,
    infer=_infer_pool,
    host=IMAGE.host(_kernel(max_pool_host)),
    opencl=max_pool_calls,
    takes_formulas=True,
    expand=IMAGE.expand,
    grad=_grad_max_pool,
)

MAX_POOL_GRAD: OpDef[Tensor] = OpDef(
    "MaxPoolGrad",
    "orig_input: T, orig_output: T, grad: T",
    "output: T",
    """The gradient of MaxPool: adds each of `grad` to the first maximum (in row-major order) of its window.

    orig_input, output: the shape of MaxPool's input; orig_output, grad: the shape of its output.""",
    host_dtypes=INTS,
    types={"T": REALS},
    attrs=MaxPoolAttrs,
    infer=_infer_max_grad,
    host=IMAGES.host(_kernel(max_pool_grad_host)),
    opencl=max_pool_grad_calls,
    takes_formulas=True,
    expand=IMAGES.expand,
    grad=_grad_max_pool_grad,
)

MAX_POOL_GRAD_GRAD: OpDef[Tensor] = OpDef(
    "MaxPoolGradGrad",
    "orig_input: T, orig_output: T, grad: T",
    "output: T",
    """The gradient of MaxPoolGrad with respect to its `grad`: the element of `grad` at each window's first maximum.

    orig_input, grad: the shape of MaxPool's input; orig_output, output: the shape of its output.""",
    host_dtypes=INTS,
    types={"T": REALS},
    attrs=PoolAttrs,
    infer=_infer_max_grad_grad,
    host=IMAGES.host(_kernel(_max_pool_grad_grad_host)),
    lower=_max_pool_grad_grad_lower,
    expand=IMAGES.expand,
    grad=_grad_max_pool_grad_grad,
)

AVG_POOL: OpDef[Tensor] = OpDef(
    "AvgPool",
    "value: T",
    "output: T",
    """The mean of the pixels of each window that lie in the image, channel by channel.

    value: shape (batch, height, width, channels). output: the shape of MaxPool's output. Errors: the rank is not 4.""",
    types={"T": FLOATS},
    attrs=PoolAttrs,
    infer=_infer_pool,
    host=IMAGE.host(_kernel(avg_pool_host)),
    opencl=avg_pool_calls,
    takes_formulas=True,
    expand=IMAGE.expand,
    grad=_grad_avg_pool,
)

AVG_POOL_GRAD: OpDef[Tensor] = OpDef(
    "AvgPoolGrad",
    "orig_input_shape: int32, grad: T",
    "output: T",
    """The gradient of AvgPool: divides each of `grad` evenly among the pixels of its window that lie in the image.

    orig_input_shape: the 4 dimensions of AvgPool's input and of the output. grad: the shape of AvgPool's output.""",
    types={"T": FLOATS},
    attrs=PoolAttrs,
    infer=_infer_avg_grad,
    host=SIZED.host(_kernel(avg_pool_grad_host)),
    opencl=avg_pool_grad_calls,
    takes_formulas=True,
    expand=SIZED.expand,
    grad=_grad_avg_pool_grad,
    shape_inputs=(0,),
)


OPS: tuple[OpDef, ...] = (MAX_POOL, MAX_POOL_GRAD, MAX_POOL_GRAD_GRAD, AVG_POOL, AVG_POOL_GRAD)

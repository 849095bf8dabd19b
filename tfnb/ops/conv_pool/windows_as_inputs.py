"""Pooling whose windows are inputs, and convolutions of images that are resized or mirrored first.

Invariant: each op computes what the op of fixed windows, or the chain of separate ops, computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.opdef import GRADIENT_MISSING, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.array.tile_reverse_mirror import MIRROR_PAD, MirrorPadAttrs
from tfnb.ops.conv_pool.conv import CONV2D, ConvAttrs, infer_conv
from tfnb.ops.conv_pool.conv_reference import conv2d_host
from tfnb.ops.conv_pool.pool import MAX_POOL, MAX_POOL_GRAD, MAX_POOL_GRAD_GRAD, MaxPoolAttrs, PoolAttrs
from tfnb.ops.conv_pool.windows import check_padding
from tfnb.ops.image.resize import RESIZE_BILINEAR, ResizeAttrs
from tfnb.types import DEVICE_FLOATS, Shape, float32

__all__ = ["OPS"]


@record
class InputWindowsAttrs:
    """`padding`: "SAME" or "VALID"; `data_format`: "NHWC" or "NCHW"."""

    padding: str = "VALID"
    data_format: str = "NHWC"

    def __post_init__(self) -> None:
        object.__setattr__(self, "padding", check_padding(self.padding))


def _windows(attrs: InputWindowsAttrs, ksize: np.ndarray, strides: np.ndarray, of: type) -> Any:
    sizes, steps = (tuple(int(v) for v in np.asarray(x).reshape(-1)) for x in (ksize, strides))
    return of(ksize=sizes, strides=steps, padding=attrs.padding, data_format=attrs.data_format)


def _same_pool(name: str, fixed: OpDef, of: type, doc: str, grad: Callable[..., Any]) -> OpDef[Tensor]:
    """The op that takes `ksize` and `strides` as its last two inputs, where `fixed` has attributes."""
    count = len(fixed.input_args)
    rule, kernel = fixed.infer, fixed.host
    assert rule is not None and kernel is not None

    def infer(c: Infer) -> Shape:
        ksize, strides = c.value(count), c.value(count + 1)
        if ksize is None or strides is None:
            x = with_rank(c, 0, 4)
            return x if name == "MaxPoolGradV2" else Shape((None,) * 4)
        attrs = _windows(c.attrs, ksize, strides, of)
        return rule(replace(c, attrs=attrs, shapes=c.shapes[:count], dtypes=c.dtypes[:count]))

    def host(call: HostCall, *inputs: np.ndarray) -> np.ndarray:
        attrs = _windows(call.attrs, inputs[count], inputs[count + 1], of)
        return kernel(replace(call, attrs=attrs), *inputs[:count])

    return OpDef(
        name,
        f"{fixed.inputs}, ksize: int32, strides: int32",
        "output: T",
        f"""{doc}

        The inputs before the last two, and output, are those of {fixed.name}. ksize, strides: four numbers, the size of
        the window and its step along each dimension. Errors: the shapes do not match.""",
        types=fixed.types,
        host_dtypes=fixed.host_dtypes,
        attrs=InputWindowsAttrs,
        infer=infer,
        host=host,
        grad=grad,
        shape_inputs=(count, count + 1),
    )


def _grad_pool(op: Operation, dy: Tensor) -> tuple[Tensor, None, None]:
    x, ksize, strides = op.inputs
    a = op.attrs
    return MAX_POOL_GRAD_V2(x, op.y, dy, ksize, strides, padding=a.padding, data_format=a.data_format), None, None


def _grad_pool_grad(op: Operation, g: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
    x, y, _, ksize, strides = op.inputs
    a = op.attrs
    second = MAX_POOL_GRAD_GRAD_V2(x, y, g, ksize, strides, padding=a.padding, data_format=a.data_format)
    return ZEROS_LIKE(x), ZEROS_LIKE(y), second, None, None


def _grad_pool_grad_grad(op: Operation, g: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
    x, y, _, ksize, strides = op.inputs
    a = op.attrs
    third = MAX_POOL_GRAD_V2(x, y, g, ksize, strides, padding=a.padding, data_format=a.data_format)
    return ZEROS_LIKE(x), ZEROS_LIKE(y), third, None, None


MAX_POOL_V2 = _same_pool(
    "MaxPoolV2", MAX_POOL, MaxPoolAttrs, "The largest pixel of each window, channel by channel.", _grad_pool
)
MAX_POOL_GRAD_V2 = _same_pool(
    "MaxPoolGradV2", MAX_POOL_GRAD, MaxPoolAttrs, "The gradient of MaxPoolV2 by its input.", _grad_pool_grad
)
MAX_POOL_GRAD_GRAD_V2 = _same_pool(
    "MaxPoolGradGradV2", MAX_POOL_GRAD_GRAD, PoolAttrs, "The gradient of MaxPoolGradV2 by `grad`.", _grad_pool_grad_grad
)


@record
class PadConvAttrs:
    """`mode`: of the margins, "REFLECT" or "SYMMETRIC"; `strides`, `padding`: those of the convolution."""

    mode: str
    strides: Sequence[int]
    padding: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "strides", tuple(int(v) for v in self.strides))
        if self.mode not in ("REFLECT", "SYMMETRIC"):
            raise InvalidArgumentError(f"mode must be REFLECT or SYMMETRIC, got {self.mode!r}")
        object.__setattr__(self, "padding", check_padding(self.padding))


@record
class ResizePadConvAttrs:
    """`mode`, `strides`, `padding`: as of FusedPadConv2D; `resize_align_corners`: the corners' pixels stay."""

    mode: str
    strides: Sequence[int]
    padding: str
    resize_align_corners: bool = False

    def __post_init__(self) -> None:
        PadConvAttrs(self.mode, self.strides, self.padding)
        object.__setattr__(self, "strides", tuple(int(v) for v in self.strides))


def _convolved(c: Infer, x: Shape, margins: int) -> Shape:
    """The shape of the convolution of images of shape `x` with the margins of an input."""
    value = c.value(margins)
    padded = [None if d is None else d for d in x.as_list()]
    if value is None:
        padded = [padded[0], None, None, padded[3]]
    else:
        if value.shape != (4, 2) or value[[0, 3]].any():
            raise ShapeError(f"{c.op_name}: paddings must be four pairs, of zeros for batch and channels, got {value}")
        padded = [None if d is None else d + int(p.sum()) for d, p in zip(padded, value, strict=True)]
    conv = ConvAttrs(c.attrs.strides, c.attrs.padding)
    return infer_conv(replace(c, attrs=conv, shapes=(Shape(tuple(padded)), c.shapes[-1]), dtypes=c.dtypes[-2:]))


def _margins_then_conv(call: HostCall, x: np.ndarray, paddings: np.ndarray, w: np.ndarray) -> np.ndarray:
    mirror = MIRROR_PAD.host
    assert mirror is not None
    a = call.attrs
    return conv2d_host(
        mirror(replace(call, attrs=MirrorPadAttrs(a.mode)), x, paddings), w, a.strides, a.padding, (1,) * 4
    )


FUSED_PAD_CONV: OpDef[Tensor] = OpDef(
    "FusedPadConv2D",
    "input: T, paddings: int32, filter: T",
    "output: T",
    """Conv2D of images with mirrored margins.

    input: (n, height, width, in). paddings: four pairs, the widths of the margins. filter: (rows, columns, in, out).
    output: (n, rows, columns, out). Errors: the shapes do not match.""",
    types={"T": DEVICE_FLOATS},
    attrs=PadConvAttrs,
    infer=lambda c: _convolved(c, with_rank(c, 0, 4), 1),
    host=_margins_then_conv,
    expand=lambda op, x, paddings, w: CONV2D(
        MIRROR_PAD(x, paddings, mode=op.attrs.mode), w, strides=op.attrs.strides, padding=op.attrs.padding
    ),
    grad=GRADIENT_MISSING,
    shape_inputs=(1,),
)


def _resized_shape(c: Infer) -> Shape:
    n, _, _, channels = with_rank(c, 0, 4).as_list()
    size = c.value(1)
    height, width = (None, None) if size is None else (int(size[0]), int(size[1]))
    return _convolved(c, Shape((n, height, width, channels)), 2)


def _resize_then_conv(
    call: HostCall, x: np.ndarray, size: np.ndarray, paddings: np.ndarray, w: np.ndarray
) -> np.ndarray:
    resize = RESIZE_BILINEAR.host
    assert resize is not None
    attrs = ResizeAttrs(align_corners=call.attrs.resize_align_corners)
    resized = resize(replace(call, attrs=attrs), x.astype(np.float32), size).astype(x.dtype)
    return _margins_then_conv(call, resized, paddings, w)


def _expand_resize(op: Operation, x: Tensor, size: Tensor, paddings: Tensor, w: Tensor) -> Tensor | None:
    a = op.attrs
    if x.dtype is not float32:
        return None
    resized = RESIZE_BILINEAR(x, size, align_corners=a.resize_align_corners)
    return CONV2D(MIRROR_PAD(resized, paddings, mode=a.mode), w, strides=a.strides, padding=a.padding)


FUSED_RESIZE_PAD_CONV: OpDef[Tensor] = OpDef(
    "FusedResizeAndPadConv2D",
    "input: T, size: int32, paddings: int32, filter: T",
    "output: T",
    """Conv2D of images that are resized linearly and get mirrored margins.

    input: (n, height, width, in). size: the new height and width. paddings: four pairs, the widths of the margins.
    filter: (rows, columns, in, out). output: (n, rows, columns, out). Errors: the shapes do not match.""",
    types={"T": DEVICE_FLOATS},
    attrs=ResizePadConvAttrs,
    infer=_resized_shape,
    host=_resize_then_conv,
    expand=_expand_resize,
    grad=GRADIENT_MISSING,
    shape_inputs=(1, 2),
)

OPS: tuple[OpDef, ...] = (
    MAX_POOL_V2,
    MAX_POOL_GRAD_V2,
    MAX_POOL_GRAD_GRAD_V2,
    FUSED_PAD_CONV,
    FUSED_RESIZE_PAD_CONV,
)

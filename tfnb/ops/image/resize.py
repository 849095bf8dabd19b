"""Resizing of images by four methods, and gradients of three of them.

Each method is one matrix per axis (`resize_weights`). Invariant: pixel positions are TensorFlow's for all three
conventions of corners.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.const import constant_value
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.image.resize_weights import (
    applied,
    bilinear_calls,
    nearest_calls,
    nearest_index,
    size_pair,
    times,
    weights,
)
from tfnb.ops.math.cast import cast_to
from tfnb.sizes import integer
from tfnb.types import FLOATS, REALS, Shape, float32, float64

__all__ = [
    "OPS",
    "RESIZE_AREA",
    "RESIZE_BICUBIC",
    "RESIZE_BILINEAR",
    "RESIZE_NEAREST_NEIGHBOR",
]


@record
class ResizeAttrs:
    """`align_corners`: the centres of the corner pixels coincide; `half_pixel_centers`: centres are at k + 1/2."""

    align_corners: bool = False
    half_pixel_centers: bool = False

    def __post_init__(self) -> None:
        if self.align_corners and self.half_pixel_centers:
            raise InvalidArgumentError("align_corners and half_pixel_centers exclude each other")


@record
class AreaAttrs:
    """`align_corners`: the centres of the corner pixels coincide."""

    align_corners: bool = False


def _resized(c: Infer) -> Shape:
    x = with_rank(c, 0, 4)
    size = c.value(1)
    if c.shapes[1].sizes not in (None, (2,), (None,)):
        raise ShapeError(f"{c.op_name}: size must be (height, width), got shape {c.shapes[1]}")
    if size is not None and (size.size != 2 or any(n <= 0 for n in size.tolist())):
        raise InvalidArgumentError(f"{c.op_name}: size must be two positive numbers, got {size}")
    n, height, width, channels = x.sizes or (None,) * 4
    if height == 0 or width == 0:
        raise InvalidArgumentError(f"{c.op_name}: images of shape {x} have no pixels")
    sides = (None, None) if size is None else (integer(size[0]), integer(size[1]))
    return Shape((n, *sides, channels))


def _sizes(call: HostCall, x: np.ndarray, size: np.ndarray) -> tuple[int, int]:
    if x.ndim != 4 or size.shape != (2,) or size.min() <= 0 or 0 in x.shape[1:3]:
        raise InvalidArgumentError(
            f"{call.op.type}: needed images (n, height, width, channels) with pixels and two positive sizes, "
            f"got shape {x.shape} and {size.tolist()}",
            call.op,
        )
    return int(size[0]), int(size[1])


def _matrices(
    method: str, attrs: ResizeAttrs | AreaAttrs, out: Sequence[int] | np.ndarray, into: Sequence[int] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    half = getattr(attrs, "half_pixel_centers", False)
    rows, columns = (weights(method, int(a), int(b), attrs.align_corners, half) for a, b in zip(out, into, strict=True))
    return rows, columns


def _host(method: str) -> Callable[..., np.ndarray]:
    def host(call: HostCall, x: np.ndarray, size: np.ndarray) -> np.ndarray:
        rows, columns = _matrices(method, call.attrs, _sizes(call, x, size), x.shape[1:3])
        return times(x, rows, columns).astype(np.float32)

    return host


def _host_grad(method: str) -> Callable[..., np.ndarray]:
    def host(call: HostCall, g: np.ndarray, original: np.ndarray) -> np.ndarray:
        rows, columns = _matrices(method, call.attrs, g.shape[1:3], original.shape[1:3])
        return times(g, rows.T, columns.T).astype(original.dtype)

    return host


def _expand(method: str) -> Callable[..., Any]:
    def expand(op: Operation, x: Tensor, size: Tensor) -> Any:
        static_size = constant_value(size)
        out = size if static_size is None else static_size
        return applied(cast_to(x, float32), method, op.attrs, out, size_pair(x))

    return expand


def _expand_bilinear(op: Operation, x: Tensor, size: Tensor) -> Tensor | None:
    """Returns None for float32, which has a kernel."""
    return None if x.dtype is float32 else RESIZE_BILINEAR(cast_to(x, float32), size, **_flags(op))


def _expand_grad(method: str) -> Callable[..., Any]:
    def expand(op: Operation, g: Tensor, original: Tensor) -> Any:
        grad = applied(g, method, op.attrs, size_pair(g), size_pair(original), back=True)
        return cast_to(grad, original.dtype)

    return expand


def _flags(op: Operation) -> dict[str, Any]:
    return {f.name: getattr(op.attrs, f.name) for f in fields(op.attrs)}


def _grad_of_grad(forward: Callable[[], OpDef]) -> Callable[..., Any]:
    """Makes the gradient of a gradient op, which is the resizing op, since the gradient op is linear in its input."""

    def grad(op: Operation, g: Tensor) -> Any:
        ahead = forward()(cast_to(g, float32), size_pair(op.inputs[0]), **_flags(op))
        return cast_to(ahead, op.inputs[0].dtype), None

    return grad


def _grad_linear(backward: Callable[[], OpDef]) -> Callable[..., Any]:
    def grad(op: Operation, dy: Tensor) -> Any:
        x = op.inputs[0]
        return (backward()(dy, x, **_flags(op)) if x.dtype in FLOATS else None), None

    return grad


_DOC = """images: a number type, (n, height, width, channels). size: int32, (new height, new width). resized_images:
    (n, *size, channels), {dtype}. Errors: there are no pixels, or a size is not positive."""


RESIZE_BILINEAR: OpDef[Tensor] = OpDef(
    "ResizeBilinear",
    "images: T, size: int32",
    "resized_images: float32",
    "Resizes images, interpolating linearly between the four nearest pixels.\n\n    " + _DOC.format(dtype="float32"),
    types={"T": REALS},
    attrs=ResizeAttrs,
    infer=_resized,
    host=_host("bilinear"),
    opencl=bilinear_calls,
    takes_formulas=True,
    expand=_expand_bilinear,
    grad=_grad_linear(lambda: RESIZE_BILINEAR_GRAD),
    shape_inputs=(1,),
)


def _like_original(c: Infer) -> Shape:
    grads, original = with_rank(c, 0, 4), with_rank(c, 1, 4)
    g, x = grads.sizes or (None,) * 4, original.sizes or (None,) * 4
    batch, channels = (a if a is not None else b for a, b in ((x[0], g[0]), (x[3], g[3])))
    return Shape((batch, x[1], x[2], channels))


def _gradient(
    name: str,
    method: str,
    types: tuple[Any, ...],
    forward: Callable[[], OpDef],
    attrs: type = ResizeAttrs,
) -> OpDef:
    return OpDef(
        name,
        "grads: float32, original_image: T",
        "output: T",
        f"""The gradient of {name.removesuffix("Grad")}: the transposed matrices applied to `grads`.

    grads: float32, the shape of the resized images. original_image: the images, whose shape and dtype the output
    has.""",
        types={"T": types},
        attrs=attrs,
        infer=_like_original,
        host=_host_grad(method),
        expand=_expand_grad(method),
        grad=_grad_of_grad(forward),
    )


RESIZE_BILINEAR_GRAD: OpDef[Tensor] = _gradient("ResizeBilinearGrad", "bilinear", FLOATS, lambda: RESIZE_BILINEAR)

RESIZE_BICUBIC: OpDef[Tensor] = OpDef(
    "ResizeBicubic",
    "images: T, size: int32",
    "resized_images: float32",
    "Resizes images by cubic convolution of the sixteen nearest pixels.\n\n    " + _DOC.format(dtype="float32"),
    types={"T": REALS},
    attrs=ResizeAttrs,
    infer=_resized,
    host=_host("bicubic"),
    expand=_expand("bicubic"),
    grad=_grad_linear(lambda: RESIZE_BICUBIC_GRAD),
    shape_inputs=(1,),
)
RESIZE_BICUBIC_GRAD: OpDef[Tensor] = _gradient(
    "ResizeBicubicGrad", "bicubic", (float32, float64), lambda: RESIZE_BICUBIC
)


RESIZE_AREA: OpDef[Tensor] = OpDef(
    "ResizeArea",
    "images: T, size: int32",
    "resized_images: float32",
    "Resizes images; each new pixel is the mean over the area of old pixels that it covers.\n\n    "
    + _DOC.format(dtype="float32"),
    types={"T": REALS},
    attrs=AreaAttrs,
    infer=_resized,
    host=_host("area"),
    expand=_expand("area"),
    grad=_grad_linear(lambda: RESIZE_AREA_GRAD),
    shape_inputs=(1,),
)
# an op that TensorFlow does not have; tfnb uses it in the backward pass
RESIZE_AREA_GRAD: OpDef[Tensor] = _gradient(
    "ResizeAreaGrad", "area", (float32, float64), lambda: RESIZE_AREA, AreaAttrs
)


def _host_nearest(call: HostCall, x: np.ndarray, size: np.ndarray) -> np.ndarray:
    a = call.attrs
    rows, columns = (
        nearest_index(n, m, a.align_corners, a.half_pixel_centers)
        for n, m in zip(_sizes(call, x, size), x.shape[1:3], strict=True)
    )
    return x[:, rows][:, :, columns]


def _grad_nearest(op: Operation, dy: Tensor) -> tuple[None, None] | tuple[Tensor, None]:
    x = op.inputs[0]
    if x.dtype not in FLOATS:
        return None, None
    return RESIZE_NEAREST_NEIGHBOR_GRAD(dy, size_pair(x), **_flags(op)), None


RESIZE_NEAREST_NEIGHBOR: OpDef[Tensor] = OpDef(
    "ResizeNearestNeighbor",
    "images: T, size: int32",
    "resized_images: T",
    "Resizes images; each new pixel is a copy of the nearest old one.\n\n    "
    + _DOC.format(dtype="the dtype of images"),
    types={"T": REALS},
    attrs=ResizeAttrs,
    infer=_resized,
    host=_host_nearest,
    opencl=nearest_calls,
    takes_formulas=True,
    grad=_grad_nearest,
    shape_inputs=(1,),
)


def _host_nearest_grad(call: HostCall, g: np.ndarray, size: np.ndarray) -> np.ndarray:
    rows, columns = _matrices("nearest", call.attrs, g.shape[1:3], _sizes(call, g, size))
    return times(g, rows.T, columns.T).astype(g.dtype)


def _expand_nearest_grad(op: Operation, g: Tensor, size: Tensor) -> Any:
    static_size = constant_value(size)
    into = size if static_size is None else static_size
    wide = g if g.dtype in (float32, float64) else cast_to(g, float32)
    return cast_to(applied(wide, "nearest", op.attrs, size_pair(g), into, back=True), g.dtype)


RESIZE_NEAREST_NEIGHBOR_GRAD: OpDef[Tensor] = OpDef(
    "ResizeNearestNeighborGrad",
    "grads: T, size: int32",
    "output: T",
    """The gradient of ResizeNearestNeighbor: each old pixel gets the sum of the gradients of its copies.

    grads: floats, (n, new height, new width, channels). size: int32, (height, width) of the images. output: (n,
    *size, channels).""",
    types={"T": FLOATS},
    attrs=ResizeAttrs,
    infer=_resized,
    host=_host_nearest_grad,
    expand=_expand_nearest_grad,
    grad=lambda op, g: (RESIZE_NEAREST_NEIGHBOR(g, size_pair(op.inputs[0]), **_flags(op)), None),
    shape_inputs=(1,),
)

OPS: tuple[OpDef, ...] = (
    RESIZE_BILINEAR,
    RESIZE_BILINEAR_GRAD,
    RESIZE_BICUBIC,
    RESIZE_BICUBIC_GRAD,
    RESIZE_AREA,
    RESIZE_AREA_GRAD,
    RESIZE_NEAREST_NEIGHBOR,
    RESIZE_NEAREST_NEIGHBOR_GRAD,
)

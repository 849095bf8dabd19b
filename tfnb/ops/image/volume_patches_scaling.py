"""Seldom used ops on images and volumes: patches of volumes, scaling with a kernel of choice, an early contrast.

Invariant: scaling is linear, out = rows @ image @ columns, and its gradient is that by the transposed matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.opdef import GRADIENT_MISSING, HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import unchanged, with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.gather import UNSORTED_SEGMENT_SUM
from tfnb.ops.array.shape_ops import RESHAPE, SHAPE, shape_of
from tfnb.ops.array.transpose_pad_tile import TRANSPOSE
from tfnb.ops.conv_pool.windows import check_padding, integers
from tfnb.types import DEVICE_FLOATS, REALS, Shape, float32, float64, int8, int16, int32, int64, uint8

__all__ = ["EXTRACT_VOLUME_PATCHES", "OPS"]


@record
class VolumePatchAttrs:
    """`ksizes`, `strides`: (1, planes, rows, columns, 1), of patch size and distance; `padding`: "SAME" or "VALID"."""

    ksizes: Sequence[int]
    strides: Sequence[int]
    padding: str

    def __post_init__(self) -> None:
        for name in ("ksizes", "strides"):
            values = integers(list(getattr(self, name)), 5, name)
            if (values[0], values[4]) != (1, 1):
                raise InvalidArgumentError(f"{name} must be (1, planes, rows, columns, 1), got {values}")
            object.__setattr__(self, name, values)
        object.__setattr__(self, "padding", check_padding(self.padding))


def _axis(a: VolumePatchAttrs, k: int, n: int) -> tuple[int, int]:
    """The number of patches along axis k of size n, and the elements before it in the first one."""
    size, stride = a.ksizes[k], a.strides[k]
    if a.padding == "VALID":
        return max(-(-(n - size + 1) // stride), 0), 0
    count = -(-n // stride)
    return count, max((count - 1) * stride + size - n, 0) // 2


def _patches_shape(c: Infer) -> Shape:
    dims = with_rank(c, 0, 5).as_list()
    counts = [None if d is None else _axis(c.attrs, k, d)[0] for k, d in enumerate(dims[1:4], 1)]
    depth = None if dims[4] is None else math.prod(c.attrs.ksizes) * dims[4]
    return Shape((dims[0], *counts, depth))


def _places(a: VolumePatchAttrs, dims: Sequence[int]) -> np.ndarray:
    """Where each element of a volume's patches stands in the flat volume; its size for elements outside."""
    axes = [_axis(a, k, n) for k, n in enumerate(dims[:3], 1)]
    lines = [
        np.arange(count)[:, None] * a.strides[k] - before + np.arange(a.ksizes[k])
        for k, (count, before) in enumerate(axes, 1)
    ]
    z, y, x = (np.expand_dims(line, [k for k in range(6) if k not in (i, i + 3)]) for i, line in enumerate(lines))
    inside = (z >= 0) & (z < dims[0]) & (y >= 0) & (y < dims[1]) & (x >= 0) & (x < dims[2])
    flat = ((z * dims[1] + y) * dims[2] + x)[..., None] * dims[3] + np.arange(dims[3])
    return np.where(inside[..., None], flat, math.prod(dims)).reshape(-1)


def _host_patches(call: HostCall, x: np.ndarray) -> np.ndarray:
    dims = x.shape[1:]
    counts = [_axis(call.attrs, k, n)[0] for k, n in enumerate(dims[:3], 1)]
    rows = np.concatenate([x.reshape(len(x), math.prod(dims)), np.zeros((len(x), 1), x.dtype)], 1)
    depth = math.prod(call.attrs.ksizes) * dims[3]
    return rows[:, _places(call.attrs, dims)].reshape((len(x), *counts, depth))


def _lower_patches(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    a = site.attrs
    _, *dims, channels = site.inputs[0].shape
    n, *at, d = idx
    tap = d // channels
    taps = (tap // (a.ksizes[2] * a.ksizes[3]), tap // a.ksizes[3] % a.ksizes[2], tap % a.ksizes[3])
    places, inside = [], None
    for k, (size, i, t) in enumerate(zip(dims, at, taps, strict=True), 1):
        place = i * a.strides[k] + t - _axis(a, k, size)[1]
        within = s.and_(place >= 0, place < size)
        inside = within if inside is None else s.and_(inside, within)
        places.append(s.minimum(s.maximum(place, 0), size - 1))
    assert inside is not None
    return s.where(inside, site.load(0, (n, *places, d % channels)), s.const(0, site.outputs[0].dtype))


def _grad_patches(op: Operation, dy: Tensor) -> Tensor:
    """Adds the gradient of each element of a patch to the element that it was read from."""
    x = op.inputs[0]
    if x.shape.sizes is None or None in x.shape.sizes[1:]:
        raise ShapeError(f"ExtractVolumePatches: the gradient needs the volume's size, got shape {x.shape}", op)
    dims = [int(n) for n in x.shape.sizes[1:] if n is not None]
    places, size = _places(op.attrs, dims), math.prod(dims)
    rows = RESHAPE(dy, x.graph.to_tensor([SHAPE(x, out_type=int32)[0], places.size]))
    columns = TRANSPOSE(rows, np.asarray([1, 0], np.int32))
    total: Any = UNSORTED_SEGMENT_SUM(columns, places.astype(np.int32), np.int32(size + 1))
    return RESHAPE(TRANSPOSE(total[:size], np.asarray([1, 0], np.int32)), shape_of(x))


EXTRACT_VOLUME_PATCHES: OpDef[Tensor] = OpDef(
    "ExtractVolumePatches",
    "input: T",
    "patches: T",
    """All patches of a grid in volumes, each flat in the last dimension.

    input: shape (n, depth, height, width, channels). patches: (n, planes, rows, columns, elements of a patch); elements
    outside the volume are 0. Errors: the rank is not 5.""",
    types={"T": REALS},
    attrs=VolumePatchAttrs,
    infer=_patches_shape,
    host=_host_patches,
    lower=_lower_patches,
    grad=_grad_patches,
)

# ---- scaling -------------------------------------------------------------------------------------------------------


def _sinc_window(radius: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.where(x > radius, 0, np.sinc(x) * np.sinc(x / radius))


def _keys(x: np.ndarray) -> np.ndarray:
    return np.where(x >= 2, 0, np.where(x >= 1, ((-0.5 * x + 2.5) * x - 4) * x + 2, ((1.5 * x - 2.5) * x) * x + 1))


def _mitchell(x: np.ndarray) -> np.ndarray:
    far = (((-7 / 18) * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x > 2, 0, np.where(x > 1, far, ((7 / 6) * x - 2) * x * x + 8 / 9))


def _box(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0.5, 1.0, np.where(x == 0.5, 0.5, 0.0))


# kernel -> (its radius, its value at a distance)
_KERNELS: dict[str, tuple[float, Callable[[np.ndarray], np.ndarray]]] = {
    "lanczos1": (1, _sinc_window(1)),
    "lanczos3": (3, _sinc_window(3)),
    "lanczos5": (5, _sinc_window(5)),
    "gaussian": (1.5, lambda x: np.where(x >= 1.5, 0, np.exp(-x * x / (2 * 0.5 * 0.5)))),
    "box": (1, _box),
    "triangle": (1, lambda x: np.where(x < 1, 1 - x, 0)),
    "keyscubic": (2, _keys),
    "mitchellcubic": (2, _mitchell),
}


@record
class ScaleAttrs:
    """`kernel_type`: the kernel of the interpolation; `antialias`: it is widened where an image shrinks."""

    kernel_type: str = "lanczos3"
    antialias: bool = True

    def __post_init__(self) -> None:
        if self.kernel_type not in _KERNELS:
            raise InvalidArgumentError(f"kernel_type must be one of {sorted(_KERNELS)}, got {self.kernel_type!r}")


def _weights(a: ScaleAttrs, new: int, old: int, scale: float, translation: float) -> np.ndarray:
    """The weights (new, old) of the old pixels in each new one; a new pixel outside the old image has none."""
    radius, kernel = _KERNELS[a.kernel_type]
    f = np.float32  # TensorFlow finds the first and the last pixel in this precision
    step = f(1) / f(scale)
    width = max(step, f(1)) if a.antialias else f(1)
    centers = (np.arange(new, dtype=f) + f(0.5)) * step - step * f(translation)
    inside = (centers >= 0) & (centers <= old)
    first = np.clip(np.ceil(centers - f(radius) * width - f(0.5)), 0, max(old - 1, 0))
    last = np.clip(np.floor(centers + f(radius) * width - f(0.5)), 0, max(old - 1, 0))
    pixels = np.arange(old)
    values = kernel(np.abs((pixels + 0.5 - centers[:, None].astype(np.float64)) / width))
    values = np.where((pixels >= first[:, None]) & (pixels <= last[:, None]) & inside[:, None], values, 0)
    total = values.sum(1, keepdims=True)
    usable = np.abs(total) >= 1000 * np.finfo(np.float32).tiny
    return np.asarray(np.divide(values, total, out=np.zeros_like(values), where=usable))


def _both_weights(
    call: HostCall, new: Sequence[int], old: Sequence[int], scale: np.ndarray, translation: np.ndarray
) -> list[np.ndarray]:
    if scale.shape != (2,) or translation.shape != (2,) or not (scale > 0).all():
        raise InvalidArgumentError(
            f"{call.op.type}: scale and translation must be two numbers, scale above 0, got {scale} and {translation}",
            call.op,
        )
    pairs = zip(new, old, scale, translation, strict=True)
    return [_weights(call.attrs, n, o, float(f), float(t)) for n, o, f, t in pairs]


def _host_scale(
    call: HostCall, x: np.ndarray, size: np.ndarray, scale: np.ndarray, translation: np.ndarray
) -> np.ndarray:
    if size.shape != (2,) or (size < 1).any():
        raise InvalidArgumentError(f"ScaleAndTranslate: size must be two numbers above 0, got {size.tolist()}", call.op)
    rows, columns = _both_weights(call, [int(n) for n in size], x.shape[1:3], scale, translation)
    return np.asarray(np.einsum("ry,nyxc,kx->nrkc", rows, x.astype(np.float64), columns, optimize=True), np.float32)


def _host_scale_grad(
    call: HostCall, g: np.ndarray, x: np.ndarray, scale: np.ndarray, translation: np.ndarray
) -> np.ndarray:
    rows, columns = _both_weights(call, g.shape[1:3], x.shape[1:3], scale, translation)
    return np.asarray(np.einsum("ry,nrkc,kx->nyxc", rows, g.astype(np.float64), columns, optimize=True), np.float32)


def _scaled_shape(c: Infer) -> Shape:
    n, _, _, channels = with_rank(c, 0, 4).as_list()
    size = c.as_shape(1)
    height, width = (None, None) if size.sizes is None or len(size.sizes) != 2 else size.sizes
    return Shape((n, height, width, channels))


def _grad_scale(op: Operation, dy: Tensor) -> tuple[None, None, None, None] | tuple[Tensor, None, None, None]:
    x, _, scale, translation = op.inputs
    a = op.attrs
    if x.dtype is not float32:
        return None, None, None, None
    dx = SCALE_AND_TRANSLATE_GRAD(dy, x, scale, translation, kernel_type=a.kernel_type, antialias=a.antialias)
    return dx, None, None, None


SCALE_AND_TRANSLATE: OpDef[Tensor] = OpDef(
    "ScaleAndTranslate",
    "images: T, size: int32, scale: float32, translation: float32",
    "resized_images: float32",
    """Images enlarged by `scale` and moved by `translation`, interpolated by a kernel.

    images: (n, height, width, channels). size: the new height and width. scale, translation: two numbers each, along
    height and width. resized_images: (n, size[0], size[1], channels). Errors: a size or scale is not above 0.""",
    types={"T": (*DEVICE_FLOATS, uint8, int8, int16, int32, int64)},
    attrs=ScaleAttrs,
    infer=_scaled_shape,
    host=_host_scale,
    grad=_grad_scale,
    shape_inputs=(1,),
)
SCALE_AND_TRANSLATE_GRAD: OpDef[Tensor] = OpDef(
    "ScaleAndTranslateGrad",
    "grads: T, original_image: T, scale: float32, translation: float32",
    "output: T",
    """The gradient of ScaleAndTranslate by its images.

    grads: that of the output. original_image: the images, of which the size counts. output: the shape of the images.
    Errors: a scale is not above 0.""",
    types={"T": (float32,)},
    attrs=ScaleAttrs,
    infer=lambda c: with_rank(c, 1, 4),
    host=_host_scale_grad,
    grad=GRADIENT_MISSING,
)


def _host_contrast(call: HostCall, x: np.ndarray, factor: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    if x.ndim < 3:
        raise InvalidArgumentError(f"AdjustContrast: images must have three dimensions or more, got {x.shape}", call.op)
    wide = x.astype(np.float32)
    mean = wide.mean((-3, -2), keepdims=True, dtype=np.float64).astype(np.float32) if x.size else wide
    return np.asarray(np.clip((wide - mean) * factor + mean, low, high), np.float32)


ADJUST_CONTRAST: OpDef[Tensor] = OpDef(
    "AdjustContrast",
    "images: T, contrast_factor: float32, min_value: float32, max_value: float32",
    "output: float32",
    """(x - mean) * contrast_factor + mean, clipped to [min_value, max_value]: the contrast of early TensorFlow.

    images: (..., height, width, channels); the mean is that of each channel of an image. The others are scalars.
    output: the shape of images. Errors: fewer than three dimensions.""",
    types={"T": (uint8, int8, int16, int32, int64, float32, float64)},
    infer=unchanged,
    host=_host_contrast,
    grad=GRADIENT_MISSING,
)

OPS: tuple[OpDef, ...] = (EXTRACT_VOLUME_PATCHES, SCALE_AND_TRANSLATE, SCALE_AND_TRANSLATE_GRAD, ADJUST_CONTRAST)

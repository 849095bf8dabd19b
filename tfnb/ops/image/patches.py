"""Windows of images: all patches of a grid, and boxes that are cropped and resized to one size.

Invariant: an element outside the image is zero (or the given value), and no load is out of bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.opdef import GRADIENT_MISSING, HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import SHAPE, shape_of
from tfnb.ops.array.strided_slice import STRIDED_SLICE_GRAD
from tfnb.ops.math.binary import ADD_N
from tfnb.sizes import integer
from tfnb.types import ALL, FLOATS, REALS, Shape, float32, int32

__all__ = ["API", "OPS"]


@record
class PatchAttrs:
    """`ksizes`, `strides`, `rates`: (1, rows, columns, 1), of patch size, patch distance, pixel distance; `padding`."""

    ksizes: Sequence[int]
    strides: Sequence[int]
    rates: Sequence[int]
    padding: str

    def __post_init__(self) -> None:
        for name in ("ksizes", "strides", "rates"):
            value = tuple(int(v) for v in getattr(self, name))
            if len(value) != 4 or value[0] != 1 or value[3] != 1 or min(value) < 1:
                raise InvalidArgumentError(f"{name} must be (1, rows, columns, 1), got {value}")
            object.__setattr__(self, name, value)
        if self.padding not in ("SAME", "VALID"):
            raise InvalidArgumentError(f'padding must be "SAME" or "VALID", got {self.padding!r}')


@record
class _Axis:
    """The patches along rows or columns: `count` patches at distance `stride`, each of `size` pixels at distance
    `rate`; the first begins `before` pixels outside the image."""

    size: int
    stride: int
    rate: int
    before: int
    after: int
    count: int


def _axis(attrs: PatchAttrs, k: int, n: int) -> _Axis:
    size, stride, rate = attrs.ksizes[k], attrs.strides[k], attrs.rates[k]
    reach = (size - 1) * rate + 1
    if attrs.padding == "VALID":
        if n - reach <= -2 * stride:
            raise InvalidArgumentError(
                f"a patch that reaches over {reach} does not fit along an axis of {n}, with stride {stride}"
            )
        return _Axis(size, stride, rate, 0, 0, max((n - reach + stride) // stride, 0))
    count = -(-n // stride)
    spare = max((count - 1) * stride + reach - n, 0)
    return _Axis(size, stride, rate, spare // 2, spare - spare // 2, count)


def _patches_shape(c: Infer) -> Shape:
    n, height, width, channels = with_rank(c, 0, 4).sizes or (None,) * 4
    counts = [None if d is None else _axis(c.attrs, k, d).count for k, d in ((1, height), (2, width))]
    _, rows, columns, _ = c.attrs.ksizes
    return Shape((n, *counts, None if channels is None else rows * columns * channels))


def _host_patches(call: HostCall, x: np.ndarray) -> np.ndarray:
    n, height, width, channels = x.shape
    rows, columns = _axis(call.attrs, 1, height), _axis(call.attrs, 2, width)
    margins = ((0, 0), (rows.before, rows.after), (columns.before, columns.after), (0, 0))
    padded = np.pad(x, margins)
    parts = [
        padded[:, _along(rows, i)][:, :, _along(columns, j)] for i in range(rows.size) for j in range(columns.size)
    ]
    return (
        np.concatenate(parts, axis=3)
        if rows.count * columns.count
        else np.empty((n, rows.count, columns.count, rows.size * columns.size * channels), x.dtype)
    )


def _along(axis: _Axis, tap: int) -> slice:
    """The slice of the padded image that the tap-th pixels of all patches read."""
    begin = tap * axis.rate
    if not axis.count:
        return slice(begin, begin, axis.stride)
    return slice(begin, begin + (axis.count - 1) * axis.stride + 1, axis.stride)


def _lower_patches(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    _, height, width, channels = site.inputs[0].shape
    rows, columns = _axis(site.attrs, 1, height), _axis(site.attrs, 2, width)
    n, y, x, d = idx
    tap = d // channels
    row = y * rows.stride + (tap // columns.size) * rows.rate - rows.before
    column = x * columns.stride + (tap % columns.size) * columns.rate - columns.before
    inside = s.and_(s.and_(row >= 0, row < height), s.and_(column >= 0, column < width))
    at = [s.minimum(s.maximum(v, 0), m - 1) for v, m in ((row, height), (column, width))]
    zero = s.const(0, site.outputs[0].dtype)
    return s.where(inside, site.load(0, (n, *at, d % channels)), zero)


def _grad_patches(op: Any, dy: Tensor) -> Tensor:
    """Adds the gradient of each pixel of a patch to the pixel it was read from, if it is inside the image."""
    x, a = op.inputs[0], op.attrs
    if x.shape.sizes is None or None in x.shape.sizes[1:]:
        raise ShapeError(
            f"ExtractImagePatches: the gradient needs the images' size and channels, got shape {x.shape}",
            op,
        )
    _, height, width, channels = x.shape.sizes
    rows, columns = _axis(a, 1, height), _axis(a, 2, width)
    padded_height, padded_width = height + rows.before + rows.after, width + columns.before + columns.after
    batch = x.shape.sizes[0]
    padded_shape = [
        batch if batch is not None else SHAPE(x, out_type=np.int32)[0],
        padded_height,
        padded_width,
        channels,
    ]
    shape = np.asarray(padded_shape, np.int32) if batch is not None else x.graph.to_tensor(padded_shape)
    parts = []
    for k in range(rows.size * columns.size):
        i, j = _along(rows, k // columns.size), _along(columns, k % columns.size)
        ends = np.asarray([0, i.stop, j.stop, channels], np.int32)
        begins = np.asarray([0, i.start, j.start, 0], np.int32)
        steps = np.asarray([1, i.step, j.step, 1], np.int32)
        piece = dy[:, :, :, k * channels : (k + 1) * channels]
        parts.append(STRIDED_SLICE_GRAD(shape, begins, ends, steps, piece, begin_mask=1, end_mask=1))
    total = ADD_N(parts) if len(parts) > 1 else parts[0]
    return total[:, rows.before : rows.before + height, columns.before : columns.before + width]


EXTRACT_IMAGE_PATCHES: OpDef[Tensor] = OpDef(
    "ExtractImagePatches",
    "images: T",
    "patches: T",
    """All patches of a grid over the images, each flattened into the channels.

    images: any dtype, (n, height, width, channels). patches: (n, rows of patches, columns of patches, patch rows *
    patch columns * channels); pixels outside the image are zero. Errors: the rank is not 4.""",
    types={"T": tuple(t for t in ALL if not t.is_string)},
    attrs=PatchAttrs,
    infer=_patches_shape,
    host=_host_patches,
    lower=_lower_patches,
    grad=_grad_patches,
)


@record
class CropAttrs:
    """`method`: "bilinear" or "nearest"; `extrapolation_value`: the value of pixels outside the image."""

    method: str = "bilinear"
    extrapolation_value: float = 0.0

    def __post_init__(self) -> None:
        _check_method(self.method)


@record
class CropGradAttrs:
    """`method`: "bilinear" or "nearest"."""

    method: str = "bilinear"

    def __post_init__(self) -> None:
        _check_method(self.method)


def _check_method(method: str) -> None:
    if method not in ("bilinear", "nearest"):
        raise InvalidArgumentError(f'method must be "bilinear" or "nearest", got {method!r}')


def _check_boxes(c: Infer, boxes: int, index: int) -> int | None:
    """The number of boxes, or None if it is not known statically."""
    b, i = with_rank(c, boxes, 2), with_rank(c, index, 1)
    if b.sizes and b.sizes[1] not in (4, None):
        raise ShapeError(f"{c.op_name}: boxes must be (number, 4), got shape {b}")
    count, number_count = (b.sizes or (None,))[0], (i.sizes or (None,))[0]
    if count is not None and number_count is not None and count != number_count:
        raise ShapeError(f"{c.op_name}: there are {count} boxes and {number_count} image numbers")
    return number_count if count is None else count


def _crops_shape(c: Infer) -> Shape:
    image, size = with_rank(c, 0, 4), c.value(3)
    if size is not None and (size.shape != (2,) or (size <= 0).any()):
        raise InvalidArgumentError(f"CropAndResize: crop_size must be two positive numbers, got {size}")
    sides = (None, None) if size is None else (integer(size[0]), integer(size[1]))
    return Shape((_check_boxes(c, 1, 2), *sides, (image.sizes or (None,) * 4)[3]))


def _positions(low: np.ndarray, high: np.ndarray, count: int, limit: int) -> np.ndarray:
    """The positions of `count` samples between two edges, for pixels 0 .. limit - 1: (boxes, count), float32."""
    last = np.float32(limit - 1)
    if count == 1:
        return np.asarray(np.float32(0.5) * (low + high) * last).reshape(-1, 1)
    step = (high - low) * last / np.float32(count - 1)
    offsets = np.arange(count, dtype=np.float32) * step[:, None]
    return np.asarray(np.asarray(low * last)[:, None] + offsets)


def _check_gradient(call: HostCall, g: np.ndarray, boxes: np.ndarray, image: tuple[int, ...]) -> None:
    if len(image) != 4 or g.ndim != 4 or (g.shape[0], g.shape[3]) != (len(boxes), image[3]):
        raise InvalidArgumentError(
            f"{call.op.type}: crops of shape {g.shape} for {len(boxes)} boxes of images of shape {image}",
            call.op,
        )
    if g.size and 0 in image:
        raise InvalidArgumentError(f"{call.op.type}: images of shape {image} have no pixels", call.op)


def _check_indices(call: HostCall, boxes: np.ndarray, index: np.ndarray, n: int) -> None:
    if boxes.ndim != 2 or boxes.shape[1] != 4 or index.shape != boxes.shape[:1]:
        raise InvalidArgumentError(
            f"{call.op.type}: boxes {boxes.shape} and image numbers {index.shape} must be (m, 4) and (m,)",
            call.op,
        )
    bad = (index < 0) | (index >= n)
    if bad.any():
        raise InvalidArgumentError(f"{call.op.type}: image number {index[bad][0]} is not in [0, {n})", call.op)


def _taps(position: np.ndarray, limit: int, method: str) -> tuple[np.ndarray, list[Any]]:
    """Returns (whether a sample is inside the image, its (pixel, weight) pairs) along one axis."""
    inside = (position >= 0) & (position <= limit - 1)
    safe = np.where(inside, position, 0)
    if method == "nearest":
        return inside, [(np.floor(safe + np.float32(0.5)).astype(np.int64), np.ones_like(safe))]
    low = np.floor(safe)
    part = safe - low
    return inside, [(low.astype(np.int64), 1 - part), (np.ceil(safe).astype(np.int64), part)]


def _samples(method: str, boxes: np.ndarray, size: Sequence[int], image: Sequence[int]) -> Any:
    """Returns the samples of all boxes: (mask of inside samples (m, h, w), taps).

    taps: a list of (rows (m, h), columns (m, w), weights (m, h, w)).
    """
    boxes = boxes.astype(np.float32)
    ys = _positions(boxes[:, 0], boxes[:, 2], size[0], image[0])
    xs = _positions(boxes[:, 1], boxes[:, 3], size[1], image[1])
    rows_inside, rows = _taps(ys, image[0], method)
    columns_inside, columns = _taps(xs, image[1], method)
    inside = rows_inside[:, :, None] & columns_inside[:, None, :]
    taps = [(y, x, wy[:, :, None] * wx[:, None, :]) for y, wy in rows for x, wx in columns]
    return inside, taps


def _host_crops(
    call: HostCall, image: np.ndarray, boxes: np.ndarray, index: np.ndarray, size: np.ndarray
) -> np.ndarray:
    _check_indices(call, boxes, index, image.shape[0])
    if size.shape != (2,) or size.min() <= 0 or 0 in image.shape[1:3]:
        raise InvalidArgumentError(
            f"CropAndResize: needed images with pixels and a positive size, got {image.shape}, {size.tolist()}",
            call.op,
        )
    inside, taps = _samples(call.attrs.method, boxes, size.tolist(), image.shape[1:3])
    total: Any = 0
    for y, x, weight in taps:
        pixels = image[index[:, None, None], y[:, :, None], x[:, None, :]]
        total = total + pixels.astype(np.float32) * weight[..., None]
    outside = np.float32(call.attrs.extrapolation_value)
    return np.asarray(np.where(inside[..., None], total, outside), np.float32)


def _lower_crops(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    (n, height, width, _), (_, crop_height, crop_width, _) = site.inputs[0].shape, site.outputs[0].shape
    box, y, x, c = idx
    picture = s.minimum(s.maximum(site.load(2, (box,)), 0), n - 1)

    def position(i: Expr, k: int, count: int, limit: int) -> tuple[Expr, Expr]:
        low, high = (site.load(1, (box, s.const(j, int32))) for j in (k, k + 2))
        last = s.const(limit - 1, float32)
        if count == 1:
            at = (low + high) * 0.5 * last
        else:
            at = low * last + s.cast(i, float32) * ((high - low) * last / s.const(count - 1, float32))
        ok = s.and_(at >= 0.0, at <= last)  # false for NaN, which must not become an index
        return ok, s.where(ok, at, 0.0)

    in_rows, row = position(y, 0, crop_height, height)
    in_columns, column = position(x, 1, crop_width, width)

    def pixel(i: Expr, j: Expr) -> Expr:
        value = site.load(0, (picture, s.cast(i, int32), s.cast(j, int32), c))
        return s.cast(value, float32)

    if site.attrs.method == "nearest":
        value = pixel(s.floor(row + 0.5), s.floor(column + 0.5))
    else:
        top, left = s.floor(row), s.floor(column)
        bottom, right = s.ceil(row), s.ceil(column)
        dy, dx = row - top, column - left
        upper = pixel(top, left) + (pixel(top, right) - pixel(top, left)) * dx
        lower = pixel(bottom, left) + (pixel(bottom, right) - pixel(bottom, left)) * dx
        value = upper + (lower - upper) * dy
    outside = s.const(float(site.attrs.extrapolation_value), float32)
    return s.where(s.and_(in_rows, in_columns), value, outside)


def _grad_crops(op: Operation, dy: Tensor) -> tuple[Tensor | None, Tensor, None, None]:
    image, boxes, index, _ = op.inputs
    method, to_image = op.attrs.method, None
    if image.dtype in FLOATS:
        full = shape_of(image)
        to_image = CROP_GRAD_IMAGE(dy, boxes, index, full, T=image.dtype, method=method)
    # as in TensorFlow, boxes get the bilinear gradient for both methods, since that of "nearest" is zero
    return to_image, CROP_GRAD_BOXES(dy, image, boxes, index), None, None


CROP_AND_RESIZE: OpDef[Tensor] = OpDef(
    "CropAndResize",
    "image: T, boxes: float32, box_ind: int32, crop_size: int32",
    "crops: float32",
    """Crops boxes from images and resizes the crops to one size.

    image: a number type, (n, height, width, channels). boxes: (m, 4), rows (y1, x1, y2, x2), in which 0 and 1 are the
    centres of the first and last pixels; boxes may be outside the image or flipped. box_ind: (m,), the image of each
    box. crop_size: (height, width). crops: (m, *crop_size, channels). Errors: an image number is out of range (on the
    host; a device takes the nearest image), or a size is not positive.""",
    types={"T": REALS},
    attrs=CropAttrs,
    infer=_crops_shape,
    host=_host_crops,
    lower=_lower_crops,
    grad=_grad_crops,
    shape_inputs=(3,),
)


def _host_grad_image(
    call: HostCall, g: np.ndarray, boxes: np.ndarray, index: np.ndarray, shape: np.ndarray
) -> np.ndarray:
    dims = tuple(int(d) for d in shape)
    _check_indices(call, boxes, index, dims[0] if dims else 0)
    _check_gradient(call, g, boxes, dims)
    out = np.zeros(dims, np.float64)
    inside, taps = _samples(call.attrs.method, boxes, g.shape[1:3], dims[1:3])
    for y, x, weight in taps:
        part = np.where(inside, weight, 0)[..., None] * g
        np.add.at(out, (index[:, None, None], y[:, :, None], x[:, None, :]), part)
    return out.astype(call.outputs[0].dtype.np)


def _grad_image_grad(op: Operation, g: Tensor) -> tuple[Tensor, None, None, None]:
    """Returns gradients for the crops' gradients, in which the op is linear; boxes are constants, as in TensorFlow."""
    crops, boxes, index, _ = op.inputs
    size = shape_of(crops)[1:3]
    return CROP_AND_RESIZE(g, boxes, index, size, method=op.attrs.method), None, None, None


CROP_GRAD_IMAGE: OpDef[Tensor] = OpDef(
    "CropAndResizeGradImage",
    "grads: float32, boxes: float32, box_ind: int32, image_size: int32",
    "output: T",
    """The gradient of CropAndResize for the images: that of each sample is added to the pixels it was computed from.

    grads: the shape of the crops. image_size: (n, height, width, channels). output: that shape, dtype `T`. Runs on the
    host.""",
    types={"T": FLOATS},
    attrs=CropGradAttrs,
    infer=lambda c: c.as_shape(3),
    host=_host_grad_image,
    grad=_grad_image_grad,
    shape_inputs=(3,),
)


def _host_grad_boxes(
    call: HostCall, g: np.ndarray, image: np.ndarray, boxes: np.ndarray, index: np.ndarray
) -> np.ndarray:
    """Computes the gradient of the boxes by the chain rule for the position of each sample."""
    _check_indices(call, boxes, index, image.shape[0])
    _check_gradient(call, g, boxes, image.shape)
    size, limit = g.shape[1:3], image.shape[1:3]
    edges = boxes.astype(np.float32)
    lines = [_positions(edges[:, k], edges[:, k + 2], size[k], limit[k]) for k in (0, 1)]
    inside, _ = _samples("bilinear", boxes, size, limit)
    safe = [np.where((p >= 0) & (p <= n - 1), p, 0) for p, n in zip(lines, limit, strict=True)]
    low = [np.floor(p).astype(np.int64) for p in safe]
    high = [np.ceil(p).astype(np.int64) for p in safe]
    dy, dx = (safe[0] - low[0])[:, :, None, None], (safe[1] - low[1])[:, None, :, None]

    def pixels(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        corner_pixels = image[index[:, None, None], rows[:, :, None], columns[:, None, :]]
        return np.asarray(corner_pixels, np.float64)

    a, b = pixels(low[0], low[1]), pixels(low[0], high[1])
    c, d = pixels(high[0], low[1]), pixels(high[0], high[1])
    weighted = np.where(inside[..., None], g, 0)
    by_row = (weighted * ((c - a) * (1 - dx) + (d - b) * dx)).sum((2, 3))
    by_column = (weighted * ((b - a) * (1 - dy) + (d - c) * dy)).sum((1, 3))
    out = np.zeros(boxes.shape, np.float64)
    for k, slope in ((0, by_row), (1, by_column)):
        share = np.arange(size[k]) / (size[k] - 1) if size[k] > 1 else np.array([0.5])
        out[:, k] = (slope * (1 - share)).sum(1) * (limit[k] - 1)
        out[:, k + 2] = (slope * share).sum(1) * (limit[k] - 1)
    return out.astype(np.float32)


CROP_GRAD_BOXES: OpDef[Tensor] = OpDef(
    "CropAndResizeGradBoxes",
    "grads: float32, image: T, boxes: float32, box_ind: int32",
    "output: float32",
    """The gradient of the bilinear CropAndResize for the boxes.

    grads: the shape of the crops. output: (m, 4). Runs on the host.""",
    types={"T": REALS},
    attrs=CropGradAttrs,
    infer=lambda c: Shape((_check_boxes(c, 2, 3), 4)),
    host=_host_grad_boxes,
    grad=GRADIENT_MISSING,
)


def extract_image_patches(
    images: TensorLike,
    ksizes: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Sequence[int] | None = None,
) -> Tensor:
    """Returns all patches of a grid over images (n, height, width, channels), each flattened into the channels.

    ksizes, strides, rates: (1, rows, columns, 1), the size of a patch, the distance of patches and the distance of
    pixels within a patch. With "SAME", pixels outside the image are zero.
    """
    return EXTRACT_IMAGE_PATCHES(
        images,
        ksizes=sizes if ksizes is None else ksizes,
        strides=strides,
        rates=rates,
        padding=padding,
        name=name,
    )


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: TensorLike | None = None,
    crop_size: TensorLike | None = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: TensorLike | None = None,
) -> Tensor:
    """Crops boxes from images and resizes all crops to one size; see the op CropAndResize.

    image: (n, height, width, channels). boxes: (m, 4), as (y1, x1, y2, x2), where 0 and 1 are the centres of the first
    and last pixels. box_ind (`box_indices`): int32 (m,), the number of the image of each box. crop_size: (rows,
    columns). method: "bilinear" or "nearest". The result is float32 (m, rows, columns, channels), with
    `extrapolation_value` outside the image.
    """
    return CROP_AND_RESIZE(
        image,
        boxes,
        box_indices if box_ind is None else box_ind,
        crop_size,
        method=method,
        extrapolation_value=extrapolation_value,
        name=name,
    )


OPS: tuple[OpDef, ...] = (EXTRACT_IMAGE_PATCHES, CROP_AND_RESIZE, CROP_GRAD_IMAGE, CROP_GRAD_BOXES)
API: dict[str, Any] = {
    "extract_image_patches": extract_image_patches,
    "image.extract_image_patches": extract_image_patches,
    "image.extract_patches": extract_image_patches,
    "image.crop_and_resize": crop_and_resize,
}

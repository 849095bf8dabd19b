"""`tf.contrib.image`: projective transforms of images, such as rotations and translations, and warps by a flow.

A transform of eight numbers a0 to a7 gives the pixel (x, y) the value of the input at ((a0 x + a1 y + a2) / k,
(a3 x + a4 y + a5) / k) with k = a6 x + a7 y + 1. Invariant: pixels from outside of the input are 0.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.graph.default_graph import name_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.array_functions import batch_gather
from tfnb.ops.array.concat import concat, stack
from tfnb.ops.array.constants import convert_to_tensor, ones_like, zeros, zeros_like
from tfnb.ops.array.constants import range_ as range_op
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.tile_reverse_mirror import TILE
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.cast import cast
from tfnb.ops.math.clip import clip_by_value
from tfnb.ops.math.compare import LOGICAL_AND
from tfnb.ops.math.unary import COS, FLOOR, RINT, SIN
from tfnb.types import float32, int32

__all__ = [
    "angles_to_projective_transforms",
    "compose_transforms",
    "dense_image_warp",
    "flat_transforms_to_matrices",
    "matrices_to_flat_transforms",
    "rotate",
    "transform",
    "translate",
    "translations_to_projective_transforms",
]


def _batch(values: TensorLike, columns: int) -> Tensor:
    tensor = convert_to_tensor(values, None if hasattr(values, "graph") else float32)
    return RESHAPE(cast(tensor, float32), [-1, columns])


def angles_to_projective_transforms(
    angles: TensorLike, image_height: TensorLike, image_width: TensorLike, name: str | None = None
) -> Tensor:
    """Returns the transforms [angles, 8] that rotate images counterclockwise around their centre by `angles` (radians).

    image_height, image_width: the size of the images.
    """
    with name_scope(name or "angles_to_projective_transforms"):
        angle = RESHAPE(cast(convert_to_tensor(angles), float32), [-1])
        height, width = cast(image_height, float32) - 1.0, cast(image_width, float32) - 1.0
        c, s = COS(angle), SIN(angle)
        x = (width - (c * width - s * height)) / 2.0
        y = (height - (s * width + c * height)) / 2.0
        zero = zeros_like(angle)
        return stack([c, -s, x, s, c, y, zero, zero], 1)


def translations_to_projective_transforms(translations: TensorLike, name: str | None = None) -> Tensor:
    """Returns the transforms [translations, 8] that move images by `translations` [..., 2], to the right and down."""
    with name_scope(name or "translations_to_projective_transforms"):
        moves = _batch(translations, 2)
        zero, one = zeros_like(moves[:, 0]), ones_like(moves[:, 0])
        return stack([one, zero, -moves[:, 0], zero, one, -moves[:, 1], zero, zero], 1)


def flat_transforms_to_matrices(transforms: TensorLike) -> Tensor:
    """Returns the matrices [n, 3, 3] of transforms [n, 8], or of one transform [8]."""
    flat = _batch(transforms, 8)
    return RESHAPE(concat([flat, ones_like(flat[:, :1])], 1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: TensorLike) -> Tensor:
    """Returns the transforms [n, 8] of matrices [n, 3, 3]."""
    flat = RESHAPE(convert_to_tensor(transform_matrices), [-1, 9])
    return flat[:, :8] / flat[:, 8:]


def compose_transforms(*transforms: TensorLike) -> Tensor:
    """Returns the transforms that do what the given ones do one after another, the first one first: [n, 8].

    Raises `InvalidArgumentError` without any.
    """
    if not transforms:
        raise InvalidArgumentError("transforms cannot be empty")
    with name_scope("compose_transforms"):
        total = flat_transforms_to_matrices(transforms[0])
        for one in transforms[1:]:
            total = matmul(total, flat_transforms_to_matrices(one))
        return matrices_to_flat_transforms(total)


def _as_batch(images: Tensor) -> Tensor:
    ndims = images.shape.ndims
    if ndims not in (2, 3, 4):
        raise ShapeError(f"Images should have rank between 2 and 4, got {images.shape}")
    return images[None, :, :, None] if ndims == 2 else images[None] if ndims == 3 else images


def _rows(images: Tensor) -> tuple[Any, Any, Any]:
    size = shape_op(images)
    return size[1], size[2], RESHAPE(images, stack([size[0], size[1] * size[2], size[3]]))


def _picked(images: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Returns the pixels [batch, n, channels] at the integers y, x [batch, n], 0 outside."""
    height, width, flat = _rows(images)
    inside = LOGICAL_AND(
        LOGICAL_AND(y >= 0.0, y <= cast(height - 1, float32)), LOGICAL_AND(x >= 0.0, x <= cast(width - 1, float32))
    )
    row = clip_by_value(cast(y, int32), 0, height - 1)
    column = clip_by_value(cast(x, int32), 0, width - 1)
    pixels = batch_gather(flat, row * width + column)
    return pixels * cast(EXPAND_DIMS(inside, -1), images.dtype)


def _interpolated(images: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Returns the pixels at the numbers y, x [batch, n], between four neighbours, of which those outside are 0."""
    top, left = FLOOR(y), FLOOR(x)
    below, right = EXPAND_DIMS(y - top, -1), EXPAND_DIMS(x - left, -1)
    values = {(i, j): cast(_picked(images, top + i, left + j), float32) for i in (0.0, 1.0) for j in (0.0, 1.0)}
    upper = values[0.0, 0.0] * (1.0 - right) + values[0.0, 1.0] * right
    lower = values[1.0, 0.0] * (1.0 - right) + values[1.0, 1.0] * right
    return cast(upper * (1.0 - below) + lower * below, images.dtype)


def transform(
    images: TensorLike,
    transforms: TensorLike,
    interpolation: str = "NEAREST",
    output_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Returns `images` [batch, height, width, channels], or without batch or channels, under projective `transforms`.

    transforms: [8] for all, or [batch, 8]. interpolation: "NEAREST" or "BILINEAR". output_shape: (height, width), by
    default that of the images. Raises `InvalidArgumentError` for another interpolation, `ShapeError` for other ranks.
    """
    if interpolation not in ("NEAREST", "BILINEAR"):
        raise InvalidArgumentError(f"interpolation {interpolation!r}; needed NEAREST or BILINEAR")
    with name_scope(name or "transform"):
        given = convert_to_tensor(images)
        batch = _as_batch(given)
        size = shape_op(batch)
        height, width = (
            (size[1], size[2]) if output_shape is None else (cast(output_shape[0], int32), cast(output_shape[1], int32))
        )
        a = _batch(transforms, 8)
        y = cast(RESHAPE(TILE(EXPAND_DIMS(range_op(height), 1), stack([1, width])), [1, -1]), float32)
        x = cast(RESHAPE(TILE(EXPAND_DIMS(range_op(width), 0), stack([height, 1])), [1, -1]), float32)
        k = a[:, 6:7] * x + a[:, 7:8] * y + 1.0
        rows = zeros([size[0], 1], float32)
        source_x = (a[:, 0:1] * x + a[:, 1:2] * y + a[:, 2:3]) / k + rows
        source_y = (a[:, 3:4] * x + a[:, 4:5] * y + a[:, 5:6]) / k + rows
        pixels = (
            _picked(batch, RINT(source_y), RINT(source_x))
            if interpolation == "NEAREST"
            else _interpolated(batch, source_y, source_x)
        )
        result = RESHAPE(pixels, stack([size[0], height, width, size[3]]))
        if given.shape.ndims == 2:
            result = result[0, :, :, 0]
        elif given.shape.ndims == 3:
            result = result[0]
        if output_shape is None:
            result.set_shape(given.shape)
        return result


def rotate(images: TensorLike, angles: TensorLike, interpolation: str = "NEAREST", name: str | None = None) -> Tensor:
    """Returns `images` rotated counterclockwise by `angles`, radians, one for all or one for each.

    For the rest see `transform`.
    """
    with name_scope(name or "rotate"):
        given = convert_to_tensor(images)
        size = shape_op(_as_batch(given))
        return transform(given, angles_to_projective_transforms(angles, size[1], size[2]), interpolation)


def translate(
    images: TensorLike, translations: TensorLike, interpolation: str = "NEAREST", name: str | None = None
) -> Tensor:
    """Returns `images` moved by `translations` [2] or [batch, 2]; for the rest see `transform`."""
    with name_scope(name or "translate"):
        return transform(images, translations_to_projective_transforms(translations), interpolation)


def dense_image_warp(image: TensorLike, flow: TensorLike, name: str = "dense_image_warp") -> Tensor:
    """Returns `image` [batch, height, width, channels] whose pixel (y, x) comes from (y, x) - flow[:, y, x].

    flow: [batch, height, width, 2], rows and columns. Places outside take the nearest edge.
    """
    with name_scope(name):
        images, moves = convert_to_tensor(image), convert_to_tensor(flow)
        size = shape_op(images)
        height, width = size[1], size[2]
        y = cast(EXPAND_DIMS(EXPAND_DIMS(range_op(height), 0), 2), float32) - moves[..., 0]
        x = cast(EXPAND_DIMS(EXPAND_DIMS(range_op(width), 0), 1), float32) - moves[..., 1]
        flat_y = clip_by_value(RESHAPE(y, stack([size[0], height * width])), 0.0, cast(height - 1, float32))
        flat_x = clip_by_value(RESHAPE(x, stack([size[0], height * width])), 0.0, cast(width - 1, float32))
        result = RESHAPE(_interpolated(images, flat_y, flat_x), size)
        result.set_shape(images.shape)
        return result

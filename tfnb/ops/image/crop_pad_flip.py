"""Cropping, padding, flipping, rotating and resizing of images, composed of other ops.

Images are (height, width, channels) or (n, height, width, channels). Invariant: sizes that are known statically are
used while the graph is built; for unknown sizes the graph contains the same arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.const import constant_shape, constant_value
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import OpDef
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.pack import PACK
from tfnb.ops.array.shape_ops import EXPAND_DIMS, IDENTITY, SHAPE, squeeze
from tfnb.ops.array.tile_reverse_mirror import pad, reverse
from tfnb.ops.array.transpose_pad_tile import SLICE, transpose
from tfnb.ops.image.resize import (
    RESIZE_AREA,
    RESIZE_BICUBIC,
    RESIZE_BILINEAR,
    RESIZE_NEAREST_NEIGHBOR,
)
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.binary import MAXIMUM, MINIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL, GREATER_EQUAL, SELECT
from tfnb.ops.math.reduce_functions import reduce_prod, reduce_sum
from tfnb.ops.math.unary import ABS, RINT
from tfnb.ops.nn.losses import scope
from tfnb.ops.random.functions import random_uniform
from tfnb.types import float64, int32

__all__ = ["API", "OPS", "ResizeMethod", "image_tensor"]


class ResizeMethod:
    """The interpolation methods of `tf.image.resize_images`."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = {
    0: RESIZE_BILINEAR,
    1: RESIZE_NEAREST_NEIGHBOR,
    2: RESIZE_BICUBIC,
    3: RESIZE_AREA,
    "bilinear": RESIZE_BILINEAR,
    "nearest": RESIZE_NEAREST_NEIGHBOR,
    "bicubic": RESIZE_BICUBIC,
    "area": RESIZE_AREA,
}


def image_tensor(value: TensorLike, function: str, ranks: tuple[int, ...] = (3, 4)) -> Any:
    """Returns the value as a tensor of images. Raises `ShapeError` when its rank is known and not among `ranks`."""
    x = graph_of((value,)).to_tensor(value)
    if x.shape.ndims is not None and x.shape.ndims not in ranks:
        allowed = " or ".join(map(str, ranks))
        either = "either " if len(ranks) == 2 else ""
        words = "'image' must be three-dimensional: " if 3 in ranks else ""
        raise ShapeError(
            f"{function}: {words}'image' must have {either}{allowed} dimensions., got shape {x.shape}", x.op
        )
    return x


def _side(x: Tensor, axis: int) -> Tensor | int:
    """The size of a dimension counted from the end: an int if it is known statically, else a tensor."""
    dims = x.shape.sizes
    if dims is None:
        return SHAPE(x, out_type=int32)[axis]
    static = dims[axis]
    return SHAPE(x, out_type=int32)[len(dims) + axis] if static is None else static


def _static(value: Any) -> Any:
    """An int when the number is known statically, else the tensor."""
    if is_tensor_like(value):
        static = constant_value(value.graph.to_tensor(value))
        return value if static is None else int(static)
    return int(value)


def _larger(a: TensorLike, b: TensorLike) -> Tensor | int:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else MAXIMUM(a, b)


def _smaller(a: TensorLike, b: TensorLike) -> Tensor | int:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else MINIMUM(a, b)


def _vector(parts: list[Any]) -> Tensor | np.ndarray:
    if all(isinstance(p, int) for p in parts):
        return np.asarray(parts, np.int32)
    return PACK([p if is_tensor_like(p) else np.int32(p) for p in parts])


def _window(x: Any, top: TensorLike, left: TensorLike, height: TensorLike, width: TensorLike) -> Tensor:
    """A window of rows and columns of images of known rank."""
    first = [0] if x.shape.ndims == 4 else []
    batch: list[Tensor | int]
    channels: Tensor | int
    if isinstance(top, int) and isinstance(left, int):
        batch, channels = [-1 for _ in first], -1
    else:  # a size of -1 has no number where only the step knows the corner
        batch, channels = [_side(x, -4) for _ in first], _side(x, -1)
    window = SLICE(x, _vector([*first, top, left, 0]), _vector([*batch, height, width, channels]))
    sides = [n if isinstance(n, int) else None for n in (height, width)]
    window.set_shape([*x.shape.sizes[:-3], *sides, x.shape.sizes[-1]])
    return window


def _with_rank(x: Tensor) -> Tensor:
    """Returns the image; one of unknown rank has three dimensions, as in TensorFlow."""
    if x.shape.ndims is None:
        x = IDENTITY(x)
        x.set_shape([None] * 3)
    return x


def _ranked(x: Tensor, function: str) -> Tensor:
    """Returns the image with a rank. Raises `ShapeError` if it has no pixels."""
    x = _with_rank(x)
    if 0 in (x.shape.sizes or ()):
        raise ShapeError(f"{function}: all dims of 'image.shape' must be > 0, got {x.shape}", x.op)
    return x


def _demanded(x: Any, function: str, rules: Sequence[tuple[Any, str]]) -> Any:
    """The image, after checks that numbers are not negative: at once, or during a run where they are tensors.

    Unknown sizes of the image are checked to be positive. rules: the numbers, each with what the error says. Raises
    `InvalidArgumentError`.
    """
    checks = []
    if None in x.shape.sizes[-3:]:
        pixels = reduce_prod(SHAPE(x, out_type=int32)[-3:])
        checks.append(assert_that(GREATER_EQUAL(pixels, np.int32(1)), ["all dims of 'image.shape' must be > 0."]))
    for number, words in rules:
        if not isinstance(number, int):
            checks.append(assert_that(GREATER_EQUAL(number, np.zeros((), number.dtype.np)), [words]))
        elif number < 0:
            raise InvalidArgumentError(f"{function}: assertion failed: {words}", x.op)
    if not checks:
        return x
    with x.graph.control_dependencies(checks):
        return IDENTITY(x)


def crop_to_bounding_box(
    image: TensorLike,
    offset_height: TensorLike,
    offset_width: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
    name: str | None = None,
) -> Any:
    """Crops the window of `target_height` x `target_width` pixels whose upper left corner is at the offsets.

    image: (height, width, channels) or a batch of images. Errors: the window is not inside the image; raised when the
    graph is built if the sizes are known, else at run time.
    """
    function = "crop_to_bounding_box"
    x = image_tensor(image, function)
    with scope(name, function, x):
        x = _ranked(x, function)
        box = [_static(v) for v in (offset_height, offset_width, target_height, target_width)]
        rules = []
        for offset, size, extent, side in (
            (box[0], box[2], _side(x, -3), "height"),
            (box[1], box[3], _side(x, -2), "width"),
        ):
            rules += [(offset, f"offset_{side} must be >= 0."), (size - 1, f"target_{side} must be > 0.")]
            rules.append((extent - offset - size, f"{side} must be >= target + offset."))
        return _window(_demanded(x, function, rules), *box)


def pad_to_bounding_box(
    image: TensorLike,
    offset_height: TensorLike,
    offset_width: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
    name: str | None = None,
) -> Any:
    """Places the image at the offsets in a black image of `target_height` x `target_width` pixels.

    image: (height, width, channels) or a batch of images. Errors: the image does not fit; raised when the graph is
    built if the sizes are known, else at run time.
    """
    function = "pad_to_bounding_box"
    x = image_tensor(image, function)
    with scope(name, function, x):
        x = _ranked(x, function)
        margins: list[list[Any]] = []
        rules = []
        for offset, target, extent, side in (
            (offset_height, target_height, _side(x, -3), "height"),
            (offset_width, target_width, _side(x, -2), "width"),
        ):
            before, whole = _static(offset), _static(target)
            after = whole - before - extent
            rules += [(before, f"offset_{side} must be >= 0"), (after, f"{side} must be <= target - offset")]
            margins.append([before, after])
        pairs = [[0, 0]] * (len(x.shape.as_list()) - 3) + margins + [[0, 0]]
        padded = pad(_demanded(x, function, rules), _vector_of_pairs(pairs))
        static = [_static(t) for t in (target_height, target_width)]
        sides = [n if isinstance(n, int) else None for n in static]
        padded.set_shape([*x.shape.as_list()[:-3], *sides, x.shape.as_list()[-1]])
        return padded


def _vector_of_pairs(pairs: list[list[Any]]) -> Tensor | np.ndarray:
    if all(isinstance(p, int) for pair in pairs for p in pair):
        return np.asarray(pairs, np.int32)
    return PACK([_vector(pair) for pair in pairs])


def resize_image_with_crop_or_pad(
    image: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
    dynamic_shape: bool = False,
    name: str | None = None,
) -> Any:
    """Crops the image around its centre, or pads it with black around it, to the target size.

    image: (height, width, channels) or a batch of images. `dynamic_shape`, an argument of 0.x, has no effect, since
    sizes may always be unknown.
    """
    function = "resize_image_with_crop_or_pad"
    x = image_tensor(image, function)
    with scope(name, function, x):
        target = [_static(v) for v in (target_height, target_width)]
        rules = [(t - 1, f"target_{s} must be > 0.") for s, t in zip(("height", "width"), target, strict=True)]
        x = _demanded(_ranked(x, function), function, rules)
        current = [_side(x, -3), _side(x, -2)]
        excess = [t - h for t, h in zip(target, current, strict=True)]
        cuts = [_larger(-d // 2, 0) for d in excess]
        margin = [_larger(d // 2, 0) for d in excess]
        inner = [_smaller(t, h) for t, h in zip(target, current, strict=True)]
        (top, left), (height, width) = margin, target
        return pad_to_bounding_box(_window(x, *cuts, *inner), top, left, height, width)


def central_crop(image: TensorLike, central_fraction: float) -> Any:
    """Crops the image around its centre to a fraction of its height and width.

    image: (height, width, channels) or a batch of images. central_fraction: a number in (0, 1]; any other number raises
    `InvalidArgumentError`.
    """
    fraction = float(central_fraction)
    if not 0 < fraction <= 1:
        raise InvalidArgumentError(f"central_fraction must be in (0, 1], got {central_fraction}")
    x = image_tensor(image, "central_crop")
    if fraction == 1:
        return x
    x = _ranked(x, "central_crop")
    start: list[Any] = []
    for side in (_side(x, -3), _side(x, -2)):
        if isinstance(side, int):
            start.append(int((side - side * fraction) / 2))
        else:
            wide = cast(side, float64)
            start.append(cast((wide - wide * fraction) / np.float64(2), int32))
    sizes = [s - b * 2 for s, b in zip((_side(x, -3), _side(x, -2)), start, strict=True)]
    with scope(None, "central_crop", x):
        return _window(x, *start, *sizes)


def _reversed(x: Any, axis: int) -> Any:
    x = _ranked(x, "flip")
    return reverse(x, [x.shape.ndims + axis])


def flip_left_right(image: TensorLike) -> Any:
    """Mirrors the image left to right.

    image: (height, width, channels) or a batch of images; the result has the same dtype and shape.
    """
    return _reversed(image_tensor(image, "flip_left_right"), -2)


def flip_up_down(image: TensorLike) -> Any:
    """Mirrors the image top to bottom.

    image: (height, width, channels) or a batch of images; the result has the same dtype and shape.
    """
    return _reversed(image_tensor(image, "flip_up_down"), -3)


def transpose_image(image: TensorLike, name: str | None = None) -> Any:
    """Exchanges rows and columns of the image.

    image: (height, width, channels) or a batch of images. The result has shape (width, height, channels), after the
    batch.
    """
    x = _ranked(image_tensor(image, "transpose_image"), "transpose_image")
    return transpose(x, [1, 0, 2] if x.shape.ndims == 3 else [0, 2, 1, 3], name=name or "transpose_image")


def rot90(image: TensorLike, k: TensorLike = 1, name: str | None = None) -> Any:
    """Rotates the image counter-clockwise by `k` quarter turns.

    image: (height, width, channels) or a batch of images. k: an integer, or an integer scalar tensor.
    """
    x = _ranked(image_tensor(image, "rot90"), "rot90")
    turns = _static(k)
    if not isinstance(turns, int):
        return _turned(x, turns, name)
    with scope(name, "rot90", x):
        turns %= 4
        if turns == 1:
            return _reversed(transpose_image(x), -3)
        if turns == 2:
            return _reversed(_reversed(x, -3), -2)
        return transpose_image(_reversed(x, -3)) if turns == 3 else x


def _turned(x: Any, turns: Tensor, name: str | None) -> Tensor:
    """Rotates by a number of quarter turns that is known only during a run: up to two quarters are chosen, one by one.

    A half turn keeps the shape; a quarter turn exchanges height and width: it transposes by a computed order.
    """
    with scope(name, "rot90", x):
        rank = x.shape.ndims
        odd = cast(turns % 2, int32)
        half = EQUAL(cast(turns % 4, int32) // 2, 1)
        other = [*range(rank - 3), rank - 2, rank - 3, rank - 1]
        order = np.arange(rank, dtype=np.int32) + odd * (np.asarray(other, np.int32) - np.arange(rank, dtype=np.int32))
        x = SELECT(half, _reversed(_reversed(x, -3), -2), x)
        swapped = transpose(x, order)
        result = SELECT(EQUAL(odd, 1), _reversed(swapped, -3), swapped)
        result.set_shape([*x.shape.sizes[:-3], None, None, x.shape.sizes[-1]])
        return result


def _random_flip(image: TensorLike, axis: int, seed: int | None, function: str) -> Tensor:
    """Mirrors each image with probability one half, independently within a batch."""
    x = image_tensor(image, function)
    with scope(None, function, x):
        count = [_side(x, -4)] if _ranked(x, function).shape.ndims == 4 else []
        flipped = random_uniform(_vector(count), 0.0, 1.0, seed=seed, dtype=np.float32) < 0.5
        return SELECT(flipped, _reversed(x, axis), x)


def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Any:
    """Mirrors each image left to right with probability one half, independently within a batch.

    image: (height, width, channels) or a batch of images; the result has the same dtype and shape.
    """
    return _random_flip(image, -2, seed, "random_flip_left_right")


def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Any:
    """Mirrors each image top to bottom with probability one half, independently within a batch.

    image: (height, width, channels) or a batch of images; the result has the same dtype and shape.
    """
    return _random_flip(image, -3, seed, "random_flip_up_down")


def _kept_ratio(x: Tensor, size: Tensor) -> Any:
    """The largest size within `size` that has the aspect ratio of the images."""
    current = SHAPE(x, out_type=int32)[1:3]
    new_size = cast(graph_of((x, size)).to_tensor(size), np.float32)
    scales = new_size / cast(current, np.float32)
    scale = MINIMUM(scales[0], scales[1])
    return cast(RINT(cast(current, np.float32) * scale), int32)


def _resized(
    images: TensorLike,
    size: TensorLike,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
    antialias: bool = False,
) -> Any:
    op = _METHODS.get(method)
    if op is None:
        raise InvalidArgumentError(f"resize_images: unknown method {method!r}; see ResizeMethod")
    if antialias:
        raise InvalidArgumentError("resize_images: antialias=True is not supported")
    x = _with_rank(image_tensor(images, "resize_images"))  # a batch may be empty
    with scope(name, "resize_images", x):
        batch = EXPAND_DIMS(x, np.int32(0)) if x.shape.ndims == 3 else x
        new_size = _size_of(x, size)
        if preserve_aspect_ratio:
            new_size = _kept_ratio(batch, new_size)
        static_size = constant_value(new_size)
        if static_size is not None and batch.shape.as_list()[1:3] == static_size.tolist():
            return x  # as in TensorFlow, nothing is done, not even a change of dtype
        resized = op(batch, new_size, align_corners=align_corners)
        if not preserve_aspect_ratio:
            sides = constant_shape(new_size).sizes or (None, None)
            resized.set_shape([batch.shape.as_list()[0], *sides, batch.shape.as_list()[3]])
        return squeeze(resized, [0]) if x.shape.ndims == 3 else resized


def _size_of(x: Tensor, size: TensorLike) -> Tensor:
    """The height and width of resized images. Raises `ShapeError` for other than two numbers, or if they are floats."""
    if isinstance(size, (list, tuple)) and any(side is None for side in size):
        raise ShapeError(f"resize_images: 'size' must be two integers, got {size}")
    dtype = int32 if isinstance(size, np.ndarray) else None
    sides: Tensor = graph_of((x, size)).to_tensor(size, dtype)
    if not sides.shape.is_compatible_with((2,)) or not sides.dtype.is_integer:
        raise ShapeError(
            f"resize_images: 'size' must be a 1-D int32 Tensor of 2 elements: new_height, new_width; got {sides}"
        )
    return sides


def _is_number(value: Any) -> bool:
    return value.shape.ndims == 0 if is_tensor_like(value) else not isinstance(value, (list, tuple, np.ndarray))


def resize_images(images: TensorLike, *args: Any, **kwargs: Any) -> Any:
    """Resizes images: `resize_images(images, size, method=ResizeMethod.BILINEAR, align_corners=False,
    preserve_aspect_ratio=False, name=None)`, in 0.x `resize_images(images, new_height, new_width, method, ...)`.

    images: numbers, (height, width, channels) or a batch. size: (new height, new width). The result is float32; it has
    the dtype of images for NEAREST_NEIGHBOR, and when the images already have this size.
    """
    if "new_height" in kwargs:
        args = (kwargs.pop("new_height"), kwargs.pop("new_width"), *args)
    if len(args) > 1 and _is_number(args[0]):
        graph = graph_of((images, *args[:2]))
        sides = [_static(v) for v in args[:2]]
        with graph.as_default():
            return _resized(images, _vector(sides), *args[2:], **kwargs)
    return _resized(images, *args, **kwargs)


def _resizer(op: OpDef, doc: str) -> Any:
    def function(
        images: TensorLike,
        size: TensorLike,
        align_corners: bool = False,
        name: str | None = None,
        half_pixel_centers: bool = False,
    ) -> Any:
        options = {} if op is RESIZE_AREA else {"half_pixel_centers": half_pixel_centers}
        return op(images, size, align_corners=align_corners, name=name, **options)

    function.__doc__ = doc
    return function


def total_variation(images: TensorLike, name: str | None = None) -> Any:
    """Returns the sum of the absolute differences between neighbouring pixels.

    images: (height, width, channels), which gives a scalar, or a batch (n, height, width, channels), which gives a
    vector of shape (n,). The result has the dtype of the images.
    """
    x = _ranked(image_tensor(images, "total_variation"), "total_variation")
    with scope(name, "total_variation", x):
        if x.shape.ndims == 3:
            down, right = x[1:] - x[:-1], x[:, 1:] - x[:, :-1]
            return reduce_sum(ABS(down)) + reduce_sum(ABS(right))
        down, right = x[:, 1:] - x[:, :-1], x[:, :, 1:] - x[:, :, :-1]
        return reduce_sum(ABS(down), [1, 2, 3]) + reduce_sum(ABS(right), [1, 2, 3])


OPS: tuple[Any, ...] = ()
API: dict[str, Any] = {
    "image.ResizeMethod": ResizeMethod,
    "image.resize_images": resize_images,
    "image.resize": resize_images,
    "image.resize_bilinear": _resizer(RESIZE_BILINEAR, RESIZE_BILINEAR.doc),
    "image.resize_nearest_neighbor": _resizer(RESIZE_NEAREST_NEIGHBOR, RESIZE_NEAREST_NEIGHBOR.doc),
    "image.resize_bicubic": _resizer(RESIZE_BICUBIC, RESIZE_BICUBIC.doc),
    "image.resize_area": _resizer(RESIZE_AREA, RESIZE_AREA.doc),
    "image.resize_image_with_crop_or_pad": resize_image_with_crop_or_pad,
    "image.resize_with_crop_or_pad": resize_image_with_crop_or_pad,
    "image.crop_to_bounding_box": crop_to_bounding_box,
    "image.pad_to_bounding_box": pad_to_bounding_box,
    "image.central_crop": central_crop,
    "image.flip_left_right": flip_left_right,
    "image.flip_up_down": flip_up_down,
    "image.transpose_image": transpose_image,
    "image.transpose": transpose_image,
    "image.rot90": rot90,
    "image.random_flip_left_right": random_flip_left_right,
    "image.random_flip_up_down": random_flip_up_down,
    "image.total_variation": total_variation,
}

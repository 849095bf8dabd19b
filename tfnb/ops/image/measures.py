"""Structural similarity of images, edges, and the colour spaces of television, composed of other ops.

SSIM is that of Wang et al. 2004, and over several scales of Wang et al. 2003. Invariant: images are floats with
channels last, and with any number of leading dimensions unless a function states otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import OpDef
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.concat import concat, stack
from tfnb.ops.array.shape_ops import RESHAPE, SHAPE
from tfnb.ops.array.tile_reverse_mirror import pad
from tfnb.ops.conv_pool.depthwise import depthwise_conv2d
from tfnb.ops.conv_pool.pool_functions import avg_pool
from tfnb.ops.image.color import convert_image_dtype
from tfnb.ops.image.crop_pad_flip import (
    ResizeMethod,
    image_tensor,
    pad_to_bounding_box,
    resize_images,
)
from tfnb.ops.linalg.tensordot import tensordot
from tfnb.ops.math.binary import MAXIMUM, POW
from tfnb.ops.math.cast import cast
from tfnb.ops.math.reduce_functions import reduce_max, reduce_mean, reduce_prod
from tfnb.ops.math.unary import FLOOR, SQUARE
from tfnb.ops.nn.activations import RELU
from tfnb.ops.nn.losses import scope
from tfnb.types import float32, int32

__all__ = ["API", "OPS", "image_gradients", "sobel_edges", "ssim", "ssim_multiscale"]

_SPACE = [-3, -2]
_POWERS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
_FROM_YIQ = [[1.0, 1.0, 1.0], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
_FROM_YUV = [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]]


def _colours(name: str, matrix: list[list[float]], doc: str) -> Any:
    def function(images: Tensor) -> Any:
        x = graph_of([images]).to_tensor(images)
        if x.shape.ndims is None:
            raise ShapeError(f"{name}: the images' number of dimensions must be known", x.op)
        return tensordot(x, x.graph.to_tensor(np.array(matrix), x.dtype), [[x.shape.ndims - 1], [0]])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}\n\nimages: floats, the last dimension 3. The result has their shape and dtype."
    return function


rgb_to_yiq = _colours(
    "rgb_to_yiq", _YIQ, "Converts red, green and blue in [0, 1] to luminance and the colours I and Q."
)
yiq_to_rgb = _colours("yiq_to_rgb", _FROM_YIQ, "Converts luminance and the colours I and Q to red, green and blue.")
rgb_to_yuv = _colours(
    "rgb_to_yuv", _YUV, "Converts red, green and blue in [0, 1] to luminance and the colours U and V."
)
yuv_to_rgb = _colours("yuv_to_rgb", _FROM_YUV, "Converts luminance and the colours U and V to red, green and blue.")


def image_gradients(image: TensorLike) -> tuple[Any, Any]:
    """Returns (dy, dx): the pixel below, or to the right, minus the pixel itself; 0 in the last row or column.

    image: (batch, height, width, channels); the results have its shape. Raises `ShapeError` for another rank.
    """
    x = image_tensor(image, "image_gradients", (4,))
    with scope(None, "image_gradients", x):
        dy, dx = x[:, 1:] - x[:, :-1], x[:, :, 1:] - x[:, :, :-1]
        down = pad(dy, np.array([[0, 0], [0, 1], [0, 0], [0, 0]], np.int32))
        right = pad(dx, np.array([[0, 0], [0, 0], [0, 1], [0, 0]], np.int32))
        down.set_shape(x.shape)
        right.set_shape(x.shape)
        return down, right


def sobel_edges(image: TensorLike) -> Tensor:
    """Sobel's edge filters across rows and across columns; the result has an additional last dimension of size 2.

    image: (batch, height, width, channels) with a known number of channels; its border is mirrored.
    """
    x = image_tensor(image, "sobel_edges", (4,))
    channels = _channels(x, "sobel_edges")
    vertical = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], np.float32)
    kernels = np.stack([vertical, vertical.T], -1)[:, :, None]
    with scope(None, "sobel_edges", x):
        padded = pad(x, np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32), "REFLECT")
        kernel = x.graph.to_tensor(np.tile(kernels, (1, 1, channels, 1)), x.dtype)
        gradients = depthwise_conv2d(padded, kernel, [1, 1, 1, 1], "VALID")
        gradients = RESHAPE(gradients, concat([SHAPE(x, out_type=int32), np.array([2], np.int32)], 0))
        gradients.set_shape([*x.shape.as_list(), 2])
        return gradients


def _channels(x: Tensor, function: str) -> int:
    dims = x.shape.sizes
    if dims is None or dims[-1] is None:
        raise ShapeError(f"{function}: the number of channels must be known, got shape {x.shape}", x.op)
    return int(dims[-1])


def _window(size: int, sigma: float) -> np.ndarray:
    """A Gaussian over size x size pixels with sum 1."""
    place = np.arange(size, dtype=np.float64) - (size - 1) / 2.0
    line = np.exp(-0.5 * (place / sigma) ** 2)
    weights = np.outer(line, line)
    return weights / weights.sum()


def _parts(x: Tensor, y: Tensor, most: Tensor, window: np.ndarray, k1: float, k2: float) -> tuple[Any, Any]:
    """Returns (similarity, its contrast and structure part) of batches of images, for each image and channel."""
    channels = _channels(x, "ssim")
    kernel = x.graph.to_tensor(np.tile(window[:, :, None, None], (1, 1, channels, 1)), x.dtype)

    def blurred(z: Tensor) -> Any:
        return depthwise_conv2d(z, kernel, [1, 1, 1, 1], "VALID")

    c1, c2 = (k1 * most) ** 2, (k2 * most) ** 2
    mean_x, mean_y = blurred(x), blurred(y)
    product, squares = mean_x * mean_y * 2.0, SQUARE(mean_x) + SQUARE(mean_y)
    luminance = (product + c1) / (squares + c1)
    both, each = blurred(x * y) * 2.0, blurred(SQUARE(x) + SQUARE(y))
    contrast = (both - product + c2) / (each - squares + c2)
    return reduce_mean(luminance * contrast, _SPACE), reduce_mean(contrast, _SPACE)


def _prepared(img1: TensorLike, img2: TensorLike, most: Any, function: str) -> tuple[Any, Any, Any, Any]:
    """Both images as batches of floats, the largest value in the same units, and the leading dimensions."""
    graph = graph_of((img1, img2))
    x, y = graph.to_tensor(img1), graph.to_tensor(img2)
    for t in (x, y):
        if t.shape.ndims is None or t.shape.ndims < 3:
            raise ShapeError(f"{function}: images need three known dimensions at least, got shape {t.shape}", t.op)
    if not x.shape[-3:].is_compatible_with(y.shape[-3:]) or x.dtype is not y.dtype:
        raise ShapeError(f"{function}: images of {x.dtype.name} {x.shape} and of {y.dtype.name} {y.shape}", x.op)
    if x.dtype.is_integer:
        most = most / x.dtype.max
    elif x.dtype is not float32 and x.dtype.size < 4:
        most = float(most)
    x, y = convert_image_dtype(x, float32), convert_image_dtype(y, float32)
    all_sizes = SHAPE(x, out_type=int32)
    lead = all_sizes[:-3]
    sizes = [-1, *(all_sizes[i - 3] if d is None else d for i, d in enumerate(x.shape.as_list()[-3:]))]
    shape: Any = np.array(sizes, np.int32) if all(isinstance(n, int) for n in sizes) else stack(sizes)
    return RESHAPE(x, shape), RESHAPE(y, shape), most, lead if x.shape.ndims != 4 else None


def _led(value: Tensor, lead: Tensor) -> Tensor:
    """Reshapes one number per image to the leading dimensions of the original images."""
    return value if lead is None else RESHAPE(value, lead)


def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Any:
    """Returns the structural similarity, at most 1, of each pair of images.

    img1, img2: (..., height, width, channels) of the same dtype, with at least `filter_size` rows and columns. max_val:
    the range of values (255 for bytes). The window is a Gaussian of deviation `filter_sigma`. The result has the
    leading dimensions of the images.
    """
    with scope(None, "SSIM", img1, img2):
        x, y, most, lead = _prepared(img1, img2, max_val, "ssim")
        similarity, _ = _parts(x, y, most, _window(filter_size, filter_sigma), k1, k2)
        return _led(reduce_mean(similarity, [-1]), lead)


def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    power_factors: Sequence[float] = _POWERS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Any:
    """Returns the structural similarity of images over as many scales as there are `power_factors`.

    Each scale has half the size of the previous one. The other arguments, and the shape of the result, are those of
    `ssim`; at the smallest scale the images must have `filter_size` rows and columns.
    """
    with scope(None, "MS-SSIM", img1, img2):
        x, y, most, lead = _prepared(img1, img2, max_val, "ssim_multiscale")
        window, parts, last = _window(filter_size, filter_sigma), [], None
        for k in range(len(power_factors)):
            if k:
                x, y = _halved(x), _halved(y)
            last, contrast = _parts(x, y, most, window, k1, k2)
            parts.append(RELU(contrast))
        if last is None:
            raise InvalidArgumentError("ssim_multiscale: power_factors are empty")
        values = stack([*parts[:-1], RELU(last)], axis=-1)
        powers = values.graph.to_tensor(list(power_factors), values.dtype)
        return _led(reduce_mean(reduce_prod(POW(values, powers), [-1]), [-1]), lead)


def _halved(x: Any) -> Any:
    """The means of 2 x 2 pixels; an odd last row or column is repeated first."""
    sizes = x.shape.as_list()
    if None in sizes[1:3]:
        odd = SHAPE(x, out_type=int32)[1:3] % 2
        margins = stack([[0, 0], stack([0, odd[0]]), stack([0, odd[1]]), [0, 0]])
        x = pad(x, margins, "SYMMETRIC")
    elif sizes[1] % 2 or sizes[2] % 2:
        x = pad(x, np.array([[0, 0], [0, sizes[1] % 2], [0, sizes[2] % 2], [0, 0]], np.int32), "SYMMETRIC")
    return avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")


def _resized_by_tensors(x: Tensor, targets: tuple[Any, Any], method: int | str, align_corners: bool) -> Any:
    """Returns the result of `resize_image_with_pad` for sizes that only the step knows."""
    sides = cast(SHAPE(x, out_type=int32)[-3:-1], float32)
    wanted = cast(x.graph.to_tensor(list(targets), int32), float32)
    scaled = sides / reduce_max(sides / wanted)
    margins = MAXIMUM(cast(FLOOR((wanted - scaled) / 2.0), int32), 0)
    resized = resize_images(x, cast(FLOOR(scaled), int32), method, align_corners)
    return pad_to_bounding_box(resized, margins[0], margins[1], *targets)


def resize_image_with_pad(
    image: TensorLike,
    target_height: Any,
    target_width: Any,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Any:
    """Resizes the image to the largest size of its aspect ratio within the target, centred and padded with zeros.

    image: (height, width, channels) or a batch. target_height, target_width: integers or scalar tensors. Raises
    `ShapeError` for an unknown rank or a target that is not positive.
    """
    x = image_tensor(image, "resize_image_with_pad")
    targets = (target_height, target_width)
    if x.shape.ndims is None or any(isinstance(t, (int, np.integer)) and t <= 0 for t in targets):
        raise ShapeError(f"resize_image_with_pad: {x.shape} into {target_height} x {target_width}", x.op)
    height, width = x.shape.as_list()[-3:-1]
    if height is None or width is None or any(map(is_tensor_like, targets)):
        return _resized_by_tensors(x, targets, method, align_corners)
    f32 = np.float32
    ratio = max(f32(width) / f32(target_width), f32(height) / f32(target_height))
    new_height, new_width = f32(height) / ratio, f32(width) / ratio
    top = max(0, int(np.floor((f32(target_height) - new_height) / f32(2))))
    left = max(0, int(np.floor((f32(target_width) - new_width) / f32(2))))
    resized = resize_images(x, [int(np.floor(new_height)), int(np.floor(new_width))], method, align_corners)
    return pad_to_bounding_box(resized, top, left, target_height, target_width)


OPS: tuple[OpDef, ...] = ()
API: dict[str, Any] = {
    f"image.{f.__name__}": f
    for f in (
        rgb_to_yiq,
        yiq_to_rgb,
        rgb_to_yuv,
        yuv_to_rgb,
        image_gradients,
        sobel_edges,
        ssim,
        ssim_multiscale,
        resize_image_with_pad,
    )
}

"""Colours: RGB and HSV, brightness, contrast, hue, saturation, grey images, and conversion of number formats.

Hue, saturation and value are in [0, 1]. Invariant: a function returns images of the dtype of its input; in between,
integers represent fractions of the largest value of their type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import (
    GRADIENT_MISSING,
    NOT_DIFFERENTIABLE,
    GradFn,
    GradientMissing,
    HostCall,
    Infer,
    LowerSite,
    NotDifferentiable,
    OpDef,
)
from tfnb.ir.operation import Operation
from tfnb.ir.scalar import Expr
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import CONCAT
from tfnb.ops.array.constants import RANGE
from tfnb.ops.array.shape_ops import IDENTITY, RANK, shape_of
from tfnb.ops.array.tile_reverse_mirror import TILE
from tfnb.ops.image.crop_pad_flip import image_tensor
from tfnb.ops.math.binary import DIV_NO_NAN, MAXIMUM, MINIMUM
from tfnb.ops.math.cast import cast, cast_to
from tfnb.ops.math.clip import saturate_cast
from tfnb.ops.math.compare import EQUAL, LOGICAL_AND
from tfnb.ops.math.reduce_functions import reduce_mean, reduce_prod, reduce_sum
from tfnb.ops.math.unary import LOG, RSQRT, SQRT
from tfnb.ops.nn.losses import scope
from tfnb.ops.random.functions import random_uniform
from tfnb.types import FLOATS, DType, DTypeLike, Shape, as_dtype, float16, float32, float64, int32

__all__ = ["API", "OPS"]

Triple = tuple[Any, Any, Any]


def _three_channels(c: Infer) -> Shape:
    x = c.shapes[0]
    if x.sizes is not None and (len(x.sizes) < 1 or x.sizes[-1] not in (3, None)):
        raise ShapeError(f"{c.op_name}: the last dimension must be 3 (RGB or HSV), got shape {x}")
    return x if x.sizes is None else Shape((*x.sizes[:-1], 3))


def _hsv(rgb: Triple, m: Any) -> Triple:
    """Hue, saturation and value; the functions of `m` work on arrays or on expressions."""
    r, g, b = rgb
    value = m.maximum(m.maximum(r, g), b)
    span = value - m.minimum(m.minimum(r, g), b)
    saturation = m.where(m.gt(value, 0), span / m.where(m.gt(value, 0), value, 1), 0)
    norm = m.recip(m.where(m.gt(span, 0), span, 1) * 6)
    hue = m.where(
        m.eq(r, value),
        norm * (g - b),
        m.where(m.eq(g, value), norm * (b - r) + 2 / 6, norm * (r - g) + 4 / 6),
    )
    hue = m.where(m.gt(span, 0), hue, 0)
    return m.where(m.lt(hue, 0), hue + 1, hue), saturation, value


def _rgb(hsv: Triple, m: Any) -> Triple:
    hue, saturation, value = hsv
    turn = hue * 6

    def between(x: Tensor) -> Any:
        return m.minimum(m.maximum(x, 0), 1)

    r = between(m.abs_(turn - 3) - 1)
    g = between(2 - m.abs_(turn - 2))
    b = between(2 - m.abs_(turn - 4))
    rest = 1 - saturation
    return (
        (rest + saturation * r) * value,
        (rest + saturation * g) * value,
        (rest + saturation * b) * value,
    )


def _grad_hsv(op: Operation, dy: Tensor) -> Any:
    """Computes the gradient of hue, saturation and value.

    Where channels are equal, the first of them counts as the largest and the last as the smallest. As in TensorFlow,
    saturation does not depend on a channel that is 0.
    """
    x = op.inputs[0]
    r, g, b = (x[..., k : k + 1] for k in range(3))

    def one_of_three(*masks: Tensor) -> Any:
        return cast_to(CONCAT(np.int32(-1), list(masks)), x.dtype)

    most = one_of_three(LOGICAL_AND(r >= g, r >= b), LOGICAL_AND(g > r, g >= b), LOGICAL_AND(b > r, b > g))
    least = one_of_three(LOGICAL_AND(r < g, r < b), LOGICAL_AND(g <= r, g < b), LOGICAL_AND(b <= r, b <= g))
    value, low = MAXIMUM(MAXIMUM(r, g), b), MINIMUM(MINIMUM(r, g), b)
    span = value - low
    # The hue is (sum of turn * x) / (6 * span) plus a constant: turn is +1 for the channel after the largest, -1 for
    # the channel before it.
    turn = CONCAT(np.int32(-1), [most[..., 2:], most[..., :2]]) - CONCAT(np.int32(-1), [most[..., 1:], most[..., :1]])
    numerator = reduce_sum(turn * x, -1, keepdims=True)
    hue = DIV_NO_NAN(turn * span - numerator * (most - least), 6.0 * span * span)
    saturation = DIV_NO_NAN(most * DIV_NO_NAN(low, value) - least, value)
    saturation = saturation * cast_to(x > 0, x.dtype)
    return dy[..., 0:1] * hue + dy[..., 1:2] * saturation + dy[..., 2:3] * most


class _Arrays:
    """The functions that `_hsv` and `_rgb` need, on NumPy arrays."""

    maximum, minimum, where, abs_ = np.maximum, np.minimum, np.where, np.abs
    gt, lt, eq, floor = np.greater, np.less, np.equal, np.floor

    @staticmethod
    def recip(x: np.ndarray) -> np.ndarray:
        return np.asarray(1 / x)


def _altered_hue(rgb: Triple, delta: Tensor, m: Any) -> Triple:
    h, sat, v = _hsv(rgb, m)
    h = h + delta
    return _rgb((h - m.floor(h), sat, v), m)


def _altered_saturation(rgb: Triple, scale: Tensor, m: Any) -> Triple:
    h, sat, v = _hsv(rgb, m)
    return _rgb((h, m.minimum(m.maximum(sat * scale, 0), 1), v), m)


def _host_pixels(of: Callable[..., Any]) -> Any:
    def host(call: HostCall, x: np.ndarray, *numbers: np.ndarray) -> np.ndarray:
        if x.shape[-1:] != (3,):
            raise InvalidArgumentError(f"{call.op.type}: the last dimension must be 3, got shape {x.shape}", call.op)
        wide_x = x if x.dtype == np.float64 else x.astype(np.float32)
        extra = [n.reshape(()).astype(wide_x.dtype) for n in numbers]
        colours = of(tuple(wide_x[..., k] for k in range(3)), *extra, _Arrays)
        return np.stack([np.broadcast_to(f, x.shape[:-1]) for f in colours], -1).astype(x.dtype)

    return host


def _lower_pixels(of: Callable[..., Any]) -> Any:
    def lower(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
        wide_dtype = float64 if site.inputs[0].dtype is float64 else float32
        pixel = tuple(s.cast(site.load(0, (*idx[:-1], s.const(k, idx[-1].dtype))), wide_dtype) for k in range(3))
        extra = [s.cast(site.load(k, ()), wide_dtype) for k in range(1, len(site.inputs))]
        a, b, c = of(pixel, *extra, s)
        component = s.where(s.eq(idx[-1], 0), a, s.where(s.eq(idx[-1], 1), b, c))
        return s.cast(component, site.outputs[0].dtype)

    return lower


def _pixel_op(
    name: str,
    inputs: str,
    of: Callable[..., Any],
    doc: str,
    types: tuple[DType, ...],
    grad: GradFn | NotDifferentiable | GradientMissing | None,
    api: str = "",
) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs,
        "output: T",
        doc + "\n\nimages: floats, shape (..., 3). output: the same dtype and shape.\n"
        "Errors: the last dimension is not 3.",
        types={"T": types},
        defaults={"T": float32},
        infer=_three_channels,
        host=_host_pixels(of),
        lower=_lower_pixels(of),
        grad=grad,
        api=api,
    )


RGB_TO_HSV = _pixel_op(
    "RGBToHSV",
    "images: T",
    _hsv,
    "Converts red, green and blue to hue, saturation and value.",
    FLOATS,
    _grad_hsv,
    "image.rgb_to_hsv",
)
HSV_TO_RGB = _pixel_op(
    "HSVToRGB",
    "images: T",
    _rgb,
    "Converts hue, saturation and value to red, green and blue.",
    FLOATS,
    NOT_DIFFERENTIABLE,
    "image.hsv_to_rgb",
)
ADJUST_HUE = _pixel_op(
    "AdjustHue",
    "images: T, delta: float32",
    _altered_hue,
    "Adds `delta`, a scalar, to the hue of each pixel of RGB images; the hue wraps around at 1.",
    (float32, float16),
    GRADIENT_MISSING,
)
ADJUST_SATURATION = _pixel_op(
    "AdjustSaturation",
    "images: T, scale: float32",
    _altered_saturation,
    "Multiplies the saturation of each pixel of RGB images by `scale`, a scalar, and clips it to [0, 1].",
    (float32, float16),
    GRADIENT_MISSING,
)


def _host_contrast(call: HostCall, x: np.ndarray, factor: np.ndarray) -> np.ndarray:
    wide_x = x.astype(np.float32)
    mean = wide_x.mean(axis=(-3, -2), keepdims=True)
    return np.asarray((wide_x - mean) * factor.reshape(()) + mean).astype(x.dtype)


def _contrast(x: Tensor, factor: TensorLike) -> Any:
    wide_x = cast_to(x, float32)
    # rows first: their sums run along width and channels at once, which is fast even with few channels
    mean = reduce_mean(reduce_mean(wide_x, -3, keepdims=True), -2, keepdims=True)
    return cast_to((wide_x - mean) * factor + mean, x.dtype)


def _infer_contrast(c: Infer) -> Shape:
    if c.shapes[0].sizes is not None and len(c.shapes[0].sizes) < 3:
        raise ShapeError(f"AdjustContrastv2: needed at least 3 dimensions, got {c.shapes[0]}")
    return c.shapes[0]


def _grad_contrast(op: Operation, dy: Tensor) -> Any:
    x, factor = op.inputs
    wide_x = cast_to(x, float32)
    deviation = wide_x - reduce_mean(wide_x, [-3, -2], keepdims=True)
    return _contrast(dy, factor), reduce_sum(cast_to(dy, float32) * deviation)


ADJUST_CONTRAST: OpDef[Tensor] = OpDef(
    "AdjustContrastv2",
    "images: T, contrast_factor: float32",
    "output: T",
    """Scales the distance of pixels from the mean of their channel: (images - mean) * contrast_factor + mean.

    images: float16 or float32, (..., height, width, channels); the mean is over height and width. contrast_factor: a
    scalar. output: the dtype and shape of images.""",
    types={"T": (float32, float16)},
    defaults={"T": float32},
    infer=_infer_contrast,
    host=_host_contrast,
    expand=lambda op, x, factor: _contrast(x, factor),
    grad=_grad_contrast,
)


def convert_image_dtype(image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None) -> Any:
    """Converts an image to another number format, in which integers represent fractions of their largest value.

    Floats are in [0, 1]. saturate: clip values that are out of range. The result has image's shape and `dtype`.
    """
    x, target_dtype = graph_of((image,)).to_tensor(image), as_dtype(dtype)
    if x.dtype is target_dtype:
        return IDENTITY(x, name=name)
    with scope(name, "convert_image", x):
        convert = saturate_cast if saturate else cast
        if x.dtype.is_integer and target_dtype.is_integer:
            source_max, target_max = int(x.dtype.max), int(target_dtype.max)
            if source_max > target_max:
                scaled = x // x.dtype.np.type((source_max + 1) // (target_max + 1))
                return convert(scaled, target_dtype)
            converted = convert(x, target_dtype)
            return converted * target_dtype.np.type((target_max + 1) // (source_max + 1))
        if x.dtype.is_floating and target_dtype.is_floating:
            return cast(x, target_dtype)
        if x.dtype.is_integer:
            converted = cast(x, target_dtype)
            return converted * target_dtype.np.type(1.0 / x.dtype.max)
        return convert(x * x.dtype.np.type(target_dtype.max + 0.5), target_dtype)


def _as_float(x: Tensor) -> Any:
    return x if x.dtype in (float16, float32) else convert_image_dtype(x, float32)


def adjust_brightness(image: TensorLike, delta: TensorLike) -> Any:
    """Adds `delta` to all elements of an image; integers are clipped to their range.

    image: a number type, at least one dimension. delta: a number or scalar tensor in (-1, 1); for integers it is the
    fraction of their largest value. The result has the dtype and shape of the image.
    """
    x = image_tensor(image, "adjust_brightness", (1, 2, 3, 4, 5, 6))
    with scope(None, "adjust_brightness", x, delta):
        bright = _as_float(x)
        bright = bright + cast(graph_of((x, delta)).to_tensor(delta), bright.dtype)
        return convert_image_dtype(bright, x.dtype, saturate=True)


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Any:
    """Returns (x - mean) * contrast_factor + mean, where mean is that of each channel of an image.

    images: a number type, shape (..., height, width, channels). contrast_factor: a number or scalar tensor. The result
    has the dtype and shape of the images; integers are clipped to their range.
    """
    x = image_tensor(images, "adjust_contrast", (3, 4, 5, 6))
    with scope(None, "adjust_contrast", x, contrast_factor):
        adjusted = ADJUST_CONTRAST(_as_float(x), contrast_factor)
        return convert_image_dtype(adjusted, x.dtype, saturate=True)


def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Any:
    """Adds `delta` to the hue of RGB images; the hue wraps around.

    image: a number type, shape (..., 3). delta: a number or scalar tensor in [-1, 1]. The result has the dtype and
    shape of the image.
    """
    x = image_tensor(image, "adjust_hue", (1, 2, 3, 4, 5, 6))
    with scope(name, "adjust_hue", x, delta):
        return convert_image_dtype(ADJUST_HUE(_as_float(x), delta), x.dtype)


def adjust_saturation(image: TensorLike, saturation_factor: TensorLike, name: str | None = None) -> Any:
    """Multiplies the saturation of RGB images by `saturation_factor`; the new saturation is clipped to [0, 1].

    image: a number type, shape (..., 3). saturation_factor: a number or scalar tensor. The result has the dtype and
    shape of the image.
    """
    x = image_tensor(image, "adjust_saturation", (1, 2, 3, 4, 5, 6))
    with scope(name, "adjust_saturation", x, saturation_factor):
        return convert_image_dtype(ADJUST_SATURATION(_as_float(x), saturation_factor), x.dtype)


def adjust_gamma(image: TensorLike, gamma: TensorLike = 1, gain: int = 1) -> Any:
    """Returns gain * image ** gamma, computed on fractions; integers are clipped to their range.

    The result has the dtype and shape of the image. Raises `InvalidArgumentError` for a number gamma below 0.
    """
    x = image_tensor(image, "adjust_gamma", (0, 1, 2, 3, 4, 5, 6))
    if isinstance(gamma, (int, float)) and gamma < 0:
        raise InvalidArgumentError(f"adjust_gamma: gamma must be >= 0, got {gamma}")
    with scope(None, "adjust_gamma", x, gamma, gain):
        return convert_image_dtype(gain * _as_float(x) ** gamma, x.dtype, saturate=True)


def _drawn(low: float, high: float, seed: int | None, what: str) -> Any:
    if not low < high:
        raise InvalidArgumentError(f"{what}: the upper bound {high} must be above the lower, {low}")
    return random_uniform((), low, high, seed=seed)


def _positive(bound: float, what: str) -> float:
    if bound < 0:
        raise InvalidArgumentError(f"{what}: must be >= 0, got {bound}")
    return bound


def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Any:
    """Adds a random number in [-max_delta, max_delta) to the brightness: see `adjust_brightness`.

    Raises `InvalidArgumentError` unless max_delta is positive.
    """
    top = _positive(max_delta, "random_brightness: max_delta")
    with graph_of((image,)).as_default():
        return adjust_brightness(image, _drawn(-top, top, seed, "random_brightness"))


def random_contrast(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Any:
    """Multiplies the contrast of `image` by a random factor in [lower, upper): see `adjust_contrast`.

    Raises `InvalidArgumentError` unless 0 <= lower < upper.
    """
    _positive(lower, "random_contrast: lower")
    with graph_of((image,)).as_default():
        return adjust_contrast(image, _drawn(lower, upper, seed, "random_contrast"))


def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Any:
    """Adds a random number in [-max_delta, max_delta) to the hue: see `adjust_hue`.

    Raises `InvalidArgumentError` unless max_delta is in (0, 0.5].
    """
    if _positive(max_delta, "random_hue: max_delta") > 0.5:
        raise InvalidArgumentError(f"random_hue: max_delta must be <= 0.5, got {max_delta}")
    with graph_of((image,)).as_default():
        return adjust_hue(image, _drawn(-max_delta, max_delta, seed, "random_hue"))


def random_saturation(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Any:
    """Multiplies the saturation of `image` by a random factor in [lower, upper): see `adjust_saturation`.

    Raises `InvalidArgumentError` unless 0 <= lower < upper.
    """
    _positive(lower, "random_saturation: lower")
    with graph_of((image,)).as_default():
        return adjust_saturation(image, _drawn(lower, upper, seed, "random_saturation"))


def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Any:
    """Converts RGB images to grey ones by the luma 0.2989 R + 0.587 G + 0.114 B.

    images: a number type, shape (..., 3). The result has the same dtype and shape (..., 1). Raises `ShapeError` when
    the last dimension is known and not 3.
    """
    x = image_tensor(images, "rgb_to_grayscale", (1, 2, 3, 4, 5, 6))
    if x.shape.sizes is not None and x.shape.sizes[-1] not in (3, None):
        raise ShapeError(f"rgb_to_grayscale: the last dimension must be 3, got shape {x.shape}", x.op)
    with scope(name, "rgb_to_grayscale", x):
        weights = np.array([0.2989, 0.5870, 0.1140], np.float32)
        converted = convert_image_dtype(x, float32)
        return convert_image_dtype(reduce_sum(converted * weights, [-1], keepdims=True), x.dtype)


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts grey images to RGB images with three equal channels.

    images: shape (..., 1). The result has the same dtype and shape (..., 3). Raises `ShapeError` when the last
    dimension is known and not 1.
    """
    x = image_tensor(images, "grayscale_to_rgb", (1, 2, 3, 4, 5, 6))
    if x.shape.sizes is None:
        places = RANGE(-RANK(x), np.int32(0), np.int32(1))
        return TILE(x, cast(EQUAL(places, np.int32(-1)), int32) * 2 + 1, name=name)
    if x.shape.sizes[-1] not in (1, None):
        raise ShapeError(f"grayscale_to_rgb: the last dimension must be 1, got shape {x.shape}", x.op)
    result = TILE(x, np.array([1] * (len(x.shape.sizes) - 1) + [3], np.int32), name=name)
    result.set_shape([*x.shape.sizes[:-1], 3])
    return result


def per_image_standardization(image: TensorLike) -> Any:
    """Scales each image to mean 0 and deviation 1: (x - mean) / max(deviation, 1 / sqrt(number of elements)).

    image: (..., height, width, channels), a number type. The result is float32, or float16 for float16.
    """
    x = image_tensor(image, "per_image_standardization", (3, 4, 5, 6))
    with scope(None, "per_image_standardization", x):
        wide_x = x if x.dtype is float16 else cast(x, float32)
        sides = graph_of((x,)).to_tensor(shape_of(x))[-3:]
        count = cast(reduce_prod(sides), wide_x.dtype)
        mean = reduce_mean(wide_x, [-3, -2, -1], keepdims=True)
        away = wide_x - mean
        deviation = SQRT(reduce_mean(away * away, [-3, -2, -1], keepdims=True))
        return away / MAXIMUM(deviation, RSQRT(count))


def psnr(a: TensorLike, b: TensorLike, max_val: float, name: str | None = None) -> Any:
    """Peak signal-to-noise ratio of images in decibels: 20 log10(max_val) - 10 log10(mean squared difference).

    a, b: images of one shape (..., height, width, channels). The result is float32, of the leading dimensions.
    """
    graph = graph_of((a, b))
    with scope(name, "PSNR", a, b):
        x, y = graph.to_tensor(a), graph.to_tensor(b)
        top = convert_image_dtype(graph.to_tensor(np.asarray(max_val, x.dtype.np)), float32)
        difference = convert_image_dtype(x, float32) - convert_image_dtype(y, float32)
        error = reduce_mean(difference * difference, [-3, -2, -1])
        return 20 / np.float32(np.log(10)) * LOG(top) - np.float32(10 / np.log(10)) * LOG(error)


OPS: tuple[OpDef, ...] = (RGB_TO_HSV, HSV_TO_RGB, ADJUST_HUE, ADJUST_SATURATION, ADJUST_CONTRAST)
API: dict[str, Any] = {
    "image.convert_image_dtype": convert_image_dtype,
    "image.adjust_brightness": adjust_brightness,
    "image.adjust_contrast": adjust_contrast,
    "image.adjust_hue": adjust_hue,
    "image.adjust_saturation": adjust_saturation,
    "image.adjust_gamma": adjust_gamma,
    "image.random_brightness": random_brightness,
    "image.random_contrast": random_contrast,
    "image.random_hue": random_hue,
    "image.random_saturation": random_saturation,
    "image.rgb_to_grayscale": rgb_to_grayscale,
    "image.grayscale_to_rgb": grayscale_to_rgb,
    "image.per_image_standardization": per_image_standardization,
    "image.per_image_whitening": per_image_standardization,
    "image.psnr": psnr,
}

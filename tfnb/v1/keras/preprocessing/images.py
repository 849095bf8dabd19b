"""Images as arrays and files (`tf.keras.preprocessing.image`), and random changes of one image.

An image is an array [rows, columns, channels], or with the channels first. Positions are those of pixels' centres: an
image is turned, sheared and zoomed about its middle. Invariant: every change returns a new array of the same shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy import ndimage

from tfnb.errors import InvalidArgumentError
from tfnb.ops.image.file_formats import decode
from tfnb.ops.lazy_library import library
from tfnb.v1.keras.backend.settings import data_format_of, floatx

__all__ = [
    "apply_affine_transform",
    "apply_brightness_shift",
    "apply_channel_shift",
    "array_to_img",
    "img_to_array",
    "load_img",
    "random_brightness",
    "random_channel_shift",
    "random_rotation",
    "random_shear",
    "random_shift",
    "random_zoom",
    "save_img",
]

_RESAMPLING = ("nearest", "bilinear", "bicubic", "lanczos", "box", "hamming")
_MODES = {"grayscale": ("L", 1), "rgb": ("RGB", 3), "rgba": ("RGBA", 4)}


def _pillow() -> Any:
    return library("PIL.Image", "pillow", "an image of Keras")


def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: npt.DTypeLike | None = None) -> Any:
    """Returns the image of Pillow of an array [rows, columns, channels], or with the channels first.

    scale: the smallest value becomes 0 and the largest 255. Raises `InvalidArgumentError` for another rank or number of
    channels than 1, 3 and 4.
    """
    x = np.array(x, dtype or floatx())
    if x.ndim != 3:
        raise InvalidArgumentError(f"Expected an image array of rank 3. Got array with shape: {x.shape}")
    if data_format_of(data_format) == "channels_first":
        x = x.transpose(1, 2, 0)
    if scale:
        x = x - np.min(x)
        largest = np.max(x)
        x = (x / largest if largest != 0 else x) * 255
    if x.shape[2] not in (1, 3, 4):
        raise InvalidArgumentError(f"Unsupported channel number: {x.shape[2]}; needed 1, 3 or 4")
    if x.shape[2] == 1:
        wide = np.max(x) > 255
        return _pillow().fromarray(x[:, :, 0].astype("int32" if wide else "uint8"))
    return _pillow().fromarray(x.astype("uint8"))


def img_to_array(img: Any, data_format: str | None = None, dtype: npt.DTypeLike | None = None) -> np.ndarray:
    """Returns the array of an image of Pillow, [rows, columns, channels], or with the channels first.

    Raises `InvalidArgumentError` for an array that is no image.
    """
    x = np.asarray(img, dtype or floatx())
    if x.ndim not in (2, 3):
        raise InvalidArgumentError(f"Unsupported image shape: {x.shape}")
    x = x if x.ndim == 3 else x[:, :, None]
    return x.transpose(2, 0, 1) if data_format_of(data_format) == "channels_first" else x


def load_img(
    path: str,
    grayscale: bool = False,
    color_mode: str = "rgb",
    target_size: Sequence[int] | None = None,
    interpolation: str = "nearest",
) -> Any:
    """Returns the image of Pillow in a file of PNG, JPEG, GIF or BMP.

    color_mode: "grayscale", "rgb" or "rgba". target_size: (rows, columns), to which it is resized by `interpolation`:
    nearest, bilinear, bicubic, lanczos, box or hamming. Raises `InvalidArgumentError` for other words, or a damaged
    file.
    """
    color_mode = "grayscale" if grayscale else color_mode
    if color_mode not in _MODES:
        raise InvalidArgumentError(f'color_mode must be "grayscale", "rgb", or "rgba", got {color_mode!r}')
    if interpolation not in _RESAMPLING:
        raise InvalidArgumentError(f"Invalid interpolation method {interpolation!r}; needed one of {_RESAMPLING}")
    pixels = decode(Path(path).read_bytes(), frames="first")
    pixels = (pixels >> 8).astype("uint8") if pixels.dtype == np.uint16 else pixels
    image = _pillow().fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).convert(_MODES[color_mode][0])
    if target_size is not None and image.size != (target_size[1], target_size[0]):
        method = getattr(_pillow().Resampling, interpolation.upper())
        image = image.resize((target_size[1], target_size[0]), method)
    return image


def save_img(
    path: str | Path,
    x: ArrayLike,
    data_format: str | None = None,
    file_format: str | None = None,
    scale: bool = True,
    **kwargs: Any,
) -> None:
    """Writes an array as an image; see `array_to_img`.

    path: a name or an open file. file_format: by default that of the name's end. kwargs: options of Pillow's `save`.
    """
    image = array_to_img(x, data_format, scale)
    if image.mode == "RGBA" and (file_format or str(path).rpartition(".")[2]).lower() in ("jpg", "jpeg"):
        image = image.convert("RGB")
    image.save(path, format=file_format, **kwargs)


def _matrix(theta: float, tx: float, ty: float, shear: float, zx: float, zy: float) -> np.ndarray:
    """Returns from where each (row, column, 1) of the result is taken, about the origin."""
    turn, lean = np.deg2rad(theta), np.deg2rad(shear)
    rotation = [[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]]
    shift, shearing = [[1, 0, tx], [0, 1, ty], [0, 0, 1]], [[1, -np.sin(lean), 0], [0, np.cos(lean), 0], [0, 0, 1]]
    result: np.ndarray = np.array(rotation) @ np.array(shift) @ np.array(shearing) @ np.diag([zx, zy, 1])
    return result


def apply_affine_transform(
    x: ArrayLike,
    theta: float = 0,
    tx: float = 0,
    ty: float = 0,
    shear: float = 0,
    zx: float = 1,
    zy: float = 1,
    row_axis: int = 0,
    col_axis: int = 1,
    channel_axis: int = 2,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    order: int = 1,
) -> np.ndarray:
    """Returns an image of three axes that is turned, shifted, sheared and zoomed.

    theta, shear: in degrees. tx, ty: rows and columns. zx, zy: factors. fill_mode: what is outside, "constant"
    (`cval`), "nearest", "reflect" or "wrap". order: of the spline between pixels. Raises
    `InvalidArgumentError` for other axes.
    """
    x = np.asarray(x)
    if x.ndim != 3 or {row_axis, col_axis, channel_axis} != {0, 1, 2} or channel_axis == 1:
        raise InvalidArgumentError(
            f"needed an image of 3 axes with its channels first or last, got shape {x.shape} with rows {row_axis}, "
            f"columns {col_axis} and channels {channel_axis}"
        )
    if (theta, tx, ty, shear, zx, zy) == (0, 0, 0, 0, 1, 1):
        return x
    middle = np.array([x.shape[row_axis] / 2 - 0.5, x.shape[col_axis] / 2 - 0.5])
    matrix = _matrix(theta, tx, ty, shear, zx, zy)
    inner = matrix[:2, :2]
    offset = inner @ -middle + matrix[:2, 2] + middle
    if col_axis < row_axis:
        inner, offset = inner[::-1, ::-1], offset[::-1]
    planes = np.moveaxis(x, channel_axis, 0)
    moved = [ndimage.affine_transform(p, inner, offset, order=order, mode=fill_mode, cval=cval) for p in planes]
    return np.moveaxis(np.stack(moved), 0, channel_axis)


def random_rotation(
    x: ArrayLike,
    rg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> np.ndarray:
    """Returns an image turned by up to `rg` degrees; see `apply_affine_transform`."""
    where = (row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order)
    return apply_affine_transform(x, np.random.uniform(-rg, rg), 0, 0, 0, 1, 1, *where)


def random_shift(
    x: np.ndarray,
    wrg: float,
    hrg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> np.ndarray:
    """Returns an image shifted by up to the shares `wrg` of its width and `hrg` of its height."""
    where = (row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order)
    tx = np.random.uniform(-hrg, hrg) * x.shape[row_axis]
    ty = np.random.uniform(-wrg, wrg) * x.shape[col_axis]
    return apply_affine_transform(x, 0, tx, ty, 0, 1, 1, *where)


def random_shear(
    x: ArrayLike,
    intensity: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> np.ndarray:
    """Returns an image sheared by up to `intensity` degrees; see `apply_affine_transform`."""
    where = (row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order)
    return apply_affine_transform(x, 0, 0, 0, np.random.uniform(-intensity, intensity), 1, 1, *where)


def random_zoom(
    x: ArrayLike,
    zoom_range: Sequence[float],
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> np.ndarray:
    """Returns an image zoomed by two factors in `zoom_range`. Raises `InvalidArgumentError` unless that is a pair."""
    low, high = _pair(zoom_range, "zoom_range")
    zx, zy = (1, 1) if low == high == 1 else np.random.uniform(low, high, 2)
    where = (row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order)
    return apply_affine_transform(x, 0, 0, 0, 0, zx, zy, *where)


def _pair(value: object, name: str) -> tuple[float, float]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise InvalidArgumentError(f"`{name}` should be a tuple or list of two floats. Received: {value}")
    return float(value[0]), float(value[1])


def apply_channel_shift(x: ArrayLike, intensity: float, channel_axis: int = 0) -> np.ndarray:
    """Returns an image plus `intensity`, within its smallest and largest values."""
    del channel_axis  # every channel is shifted alike
    x = np.asarray(x)
    return np.clip(x + intensity, np.min(x), np.max(x))


def random_channel_shift(x: ArrayLike, intensity_range: float, channel_axis: int = 0) -> np.ndarray:
    """Returns an image plus a number of up to `intensity_range`; see `apply_channel_shift`."""
    return apply_channel_shift(x, np.random.uniform(-intensity_range, intensity_range), channel_axis)


def apply_brightness_shift(x: ArrayLike, brightness: float) -> np.ndarray:
    """Returns an image, scaled to 0 .. 255, with its brightness times `brightness`; 1 keeps it."""
    enhance = library("PIL.ImageEnhance", "pillow", "an image of Keras")
    return img_to_array(enhance.Brightness(array_to_img(x)).enhance(brightness))


def random_brightness(x: ArrayLike, brightness_range: Sequence[float]) -> np.ndarray:
    """Returns an image with its brightness times a number in the pair `brightness_range`."""
    return apply_brightness_shift(x, np.random.uniform(*_pair(brightness_range, "brightness_range")))

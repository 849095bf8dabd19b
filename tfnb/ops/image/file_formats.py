"""Readers of image files: PNG by `png`, JPEG and GIF by Pillow, BMP by its simple layout.

The first bytes identify the format. Invariant: a file is rejected because of its header, or because of what the caller
requests, before memory for its pixels is allocated; everything that is wrong with its bytes raises an
`InvalidArgumentError`.
"""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, OpError
from tfnb.ops.image.png import SIGNATURE, decode_png
from tfnb.ops.lazy_library import library

__all__ = ["LIMIT", "decode", "jpeg_shape", "with_channels"]

# Elements of one image: width x height x frames x the channels of the file or of the result, whichever is larger.
LIMIT = 1 << 28
_LZW = 2731  # the largest number of pixels per byte of a GIF: 12 bits encode a run of 4096
_SMALL_CANVAS = 1 << 20  # pixels of a GIF up to which its first frame need not fill the canvas
_BLOCK = 1 << 16  # pixels that are converted to grey at once
_PLUGINS = {
    "JPEG": ("PIL.JpegImagePlugin", "JpegImageFile"),
    "GIF": ("PIL.GifImagePlugin", "GifImageFile"),
}


def _format(data: bytes) -> str:
    if not data:
        raise InvalidArgumentError("the image file is empty")
    for start, name in (
        (SIGNATURE, "PNG"),
        (b"\xff\xd8\xff", "JPEG"),
        (b"GIF8", "GIF"),
        (b"BM", "BMP"),
    ):
        if data.startswith(start):
            return name
    raise InvalidArgumentError(
        f"unknown image format, {len(data)} bytes beginning {data[:8]!r}; needed PNG, JPEG, GIF or BMP"
    )


def _opened(kind: str, data: bytes) -> Any:
    module, name = _PLUGINS[kind]
    try:
        return getattr(library(module, "pillow", "decoding an image"), name)(io.BytesIO(data))
    except OpError:
        raise
    except Exception as e:  # a damaged header: Pillow raises many kinds of errors
        raise InvalidArgumentError(f"invalid {kind} header in {len(data)} bytes: {e}") from e


def _loaded(kind: str, image: Any, data: bytes) -> Any:
    try:
        image.load()
    except Exception as e:
        raise InvalidArgumentError(f"invalid {kind} data, {len(data)} bytes: {e}") from e
    return image


def _check_size(kind: str, width: int, height: int, channels: int) -> None:
    if width <= 0 or height <= 0:
        raise InvalidArgumentError(f"{kind}: the image is {width} x {height}")
    if width * height * channels > LIMIT:
        raise InvalidArgumentError(
            f"{kind}: an image of {width} x {height} x {channels} is larger than the {LIMIT} elements allowed"
        )


def jpeg_shape(data: bytes) -> tuple[int, int, int]:
    """Reads (height, width, channels) from the header of a JPEG file."""
    if _format(data) != "JPEG":
        raise InvalidArgumentError(f"needed a JPEG file, got {_format(data)}")
    image = _opened("JPEG", data)
    return image.height, image.width, len(image.getbands())


def _jpeg(data: bytes, channels: int, ratio: int, recover: bool) -> np.ndarray:
    if recover:
        data += b"\xff\xd9"  # an end-of-image marker, so that the missing part is filled up
    image = _opened("JPEG", data)
    _check_size("JPEG", image.width, image.height, 4)
    mode = "L" if channels == 1 else "RGB" if channels == 3 or image.mode != "L" else "L"
    # slightly less than the exact fraction, so that rounding never selects the next smaller scale
    shrink = (1 - 1e-9) / ratio
    image.draft(mode, (image.width * shrink, image.height * shrink))
    pixels = np.asarray(_loaded("JPEG", image, data).convert(mode))
    return pixels[..., None] if pixels.ndim == 2 else pixels


def _gif(data: bytes, most: int, wanted: int) -> np.ndarray:
    """Returns (frames, height, width, 3) of the first `most` frames (0: all). `wanted`: the channels of the result."""
    image = _opened("GIF", data)
    size = image.size
    _check_size("GIF", size[0], size[1], max(3, wanted))
    if size[0] * size[1] > max(len(data) * _LZW, _SMALL_CANVAS):
        raise InvalidArgumentError(f"GIF: {size[0]} x {size[1]} pixels cannot be in a file of {len(data)} bytes")
    frames: list[np.ndarray] = []
    while True:
        if image.size != size:
            raise InvalidArgumentError(
                f"GIF: frame {len(frames)} is of {image.width} x {image.height} pixels, the first one of "
                f"{size[0]} x {size[1]}; needed frames of one size"
            )
        _check_size("GIF", image.width, image.height, max(3, wanted) * (len(frames) + 1))
        rgba = np.asarray(_loaded("GIF", image, data).convert("RGBA"))
        frame = rgba[..., :3].copy()  # of one column or pixel no other call makes a copy
        if not rgba[..., 3].all():
            frame[rgba[..., 3] == 0] = 0
        frames.append(frame)
        if len(frames) == most:
            break
        try:
            image.seek(len(frames))
        except EOFError:
            break
        except Exception as e:
            raise InvalidArgumentError(f"invalid GIF data in frame {len(frames)}: {e}") from e
    return np.stack(frames)


def _bmp(data: bytes, wanted: int) -> np.ndarray:
    """An uncompressed BMP file of 8 (grey), 24 or 32 bits per pixel. `wanted`: the channels of the result."""
    if len(data) < 32:
        raise InvalidArgumentError(f"BMP: the file ends at byte {len(data)}, inside its header")
    start, width, height = struct.unpack_from("<i4xii", data, 10)
    bits = struct.unpack_from("<H", data, 28)[0]
    if bits not in (8, 24, 32):
        raise InvalidArgumentError(f"BMP: {bits} bits a pixel; needed 8, 24 or 32")
    rows, channels = abs(height), bits // 8
    _check_size("BMP", width, rows, max(channels, wanted))
    stride = (width * channels + 3) // 4 * 4
    if start < 0 or start + stride * (rows - 1) + width * channels > len(data):
        raise InvalidArgumentError(
            f"BMP: {width} x {rows} x {channels} from byte {start} on do not fit in {len(data)} bytes"
        )
    body = data[start : start + stride * rows].ljust(stride * rows, b"\0")
    pixels = np.frombuffer(body, np.uint8).reshape(rows, stride)[:, : width * channels]
    pixels = pixels.reshape(rows, width, channels)[:: -1 if height > 0 else 1]
    return pixels[..., [2, 1, 0, 3][:channels]] if channels > 1 else pixels


def _grey(colour: np.ndarray) -> np.ndarray:
    """The luma of red, green and blue, block by block, since the sums need four bytes and the result one or two."""
    flat = colour.reshape(-1, 3)
    luminance = np.empty(len(flat), colour.dtype)
    for begin in range(0, len(flat), _BLOCK):
        red, green, blue = flat[begin : begin + _BLOCK].T.astype(np.uint32)
        # weights as fractions of 32768, as in libpng's fixed-point arithmetic
        luminance[begin : begin + _BLOCK] = (9798 * red + 19235 * green + 3735 * blue) >> 15
    return luminance.reshape(*colour.shape[:-1], 1)


def with_channels(image: np.ndarray, channels: int) -> np.ndarray:
    """Returns the image with 1, 3 or 4 channels, or unchanged for 0.

    Grey is the luma of ITU-R 601; added alpha is opaque.
    """
    present_channels = image.shape[-1]
    if channels in (0, present_channels):
        return image
    colour = image[..., : 1 if present_channels <= 2 else 3]
    top = np.iinfo(image.dtype).max
    if channels == 1:
        if present_channels <= 2:
            return colour
        return _grey(colour)
    colour = np.repeat(colour, 3, axis=-1) if present_channels <= 2 else colour
    if channels == 3:
        return colour
    alpha = image[..., present_channels - 1 :] if present_channels in (2, 4) else np.full_like(colour[..., :1], top)
    return np.concatenate([colour, alpha], axis=-1)


def decode(
    data: bytes,
    channels: int = 0,
    *,
    frames: str = "only",
    only: tuple[str, ...] = ("PNG", "JPEG", "GIF", "BMP"),
    ratio: int = 1,
    recover: bool = False,
    bits: int = 0,
) -> np.ndarray:
    """Returns the pixels of an image file: (height, width, channels), uint8, or uint16 for a PNG of that depth.

    bits: the 8 or 16 bits a channel that a PNG is to be decoded to, 0 for those of the file. frames: how to treat a
    GIF: "all" adds a leading dimension of frames, "first" returns the first frame, "only" rejects files with several
    frames. Raises `InvalidArgumentError` for a format not in `only`, damaged data, an image or a result larger than
    `LIMIT`, or an animation where one picture is needed.
    """
    # The first letters of a bitmap may be any where nothing else is expected, as TensorFlow does not read them.
    kind = "BMP" if tuple(only) == ("BMP",) and data.startswith(b"B") else _format(data)
    if kind not in only:
        raise InvalidArgumentError(f"needed {' or '.join(only)}, got a {kind} file; use decode_image")
    if kind == "JPEG":
        if channels not in (0, 1, 3):
            raise InvalidArgumentError(f"JPEG has no {channels} channels; needed 0, 1 or 3")
        return _jpeg(data, channels, ratio, recover)
    if kind == "GIF":
        frame_pixels = _gif(data, {"all": 0, "first": 1, "only": 2}[frames], channels)
        if frames == "only" and len(frame_pixels) > 1:
            raise InvalidArgumentError("got an animation of several frames; use decode_gif or decode_image")
        return with_channels(frame_pixels if frames == "all" else frame_pixels[0], channels)
    return decode_png(data, channels, bits) if kind == "PNG" else with_channels(_bmp(data, channels), channels)

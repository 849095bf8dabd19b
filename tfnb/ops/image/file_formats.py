"""Readers of image files: PNG, JPEG and GIF by Pillow, BMP by its simple layout.

The first bytes identify the format. Invariant: a file is rejected because of its header, or because of what the caller
requests, before memory for its pixels is allocated; everything that is wrong with its bytes raises an
`InvalidArgumentError`.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, OpError
from tfnb.ops.io.record_files import DEFLATE
from tfnb.ops.lazy_library import library

__all__ = ["LIMIT", "decode", "jpeg_shape", "with_channels"]

# Elements of one image: width x height x frames x the channels of the file or of the result, whichever is larger.
LIMIT = 1 << 28
_LZW = 2731  # the largest number of pixels per byte of a GIF: 12 bits encode a run of 4096
_SMALL_CANVAS = 1 << 20  # pixels of a GIF up to which its first frame need not fill the canvas
_INFLATED = 1 << 20  # bytes that are inflated at once
_BLOCK = 1 << 16  # pixels that are converted to grey at once
_PLUGINS = {
    "PNG": ("PIL.PngImagePlugin", "PngImageFile"),
    "JPEG": ("PIL.JpegImagePlugin", "JpegImageFile"),
    "GIF": ("PIL.GifImagePlugin", "GifImageFile"),
}
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def _format(data: bytes) -> str:
    if not data:
        raise InvalidArgumentError("the image file is empty")
    for start, name in (
        (_SIGNATURE, "PNG"),
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


def _chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yields (type, start, length) of the chunks of a PNG file, and verifies the checksums of critical chunks."""
    at = len(_SIGNATURE)
    while True:
        if at + 12 > len(data):
            raise InvalidArgumentError(f"PNG: the file ends at byte {len(data)}, inside a chunk that begins at {at}")
        length, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        end = at + 12 + length
        if end > len(data):
            raise InvalidArgumentError(
                f"PNG: chunk {kind!r} at byte {at} claims {length} bytes, the file ends at {len(data)}"
            )
        checksum = int.from_bytes(data[end - 4 : end], "big")
        if kind[:1].isupper() and zlib.crc32(data[at + 4 : end - 4]) != checksum:
            raise InvalidArgumentError(f"PNG: chunk {kind!r} at byte {at} is corrupt: wrong CRC")
        yield kind, at + 8, length
        if kind == b"IEND":
            return
        at = end


# Adam7 interlacing: the start (x, y) of each pass, and its steps.
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def _filtered_bytes(width: int, height: int, bits: int, interlace: int) -> int:
    """The number of bytes of the rows of a PNG image before compression, with one filter byte per row."""
    total = 0
    for x, y, dx, dy in _PASSES if interlace else ((0, 0, 1, 1),):
        across, down = max(-((x - width) // dx), 0), max(-((y - height) // dy), 0)
        total += down * (1 + (across * bits + 7) // 8) if across else 0
    return total


def _png_header(data: bytes, wanted: int) -> tuple[int, int]:
    """Returns (bit depth, colour type) of a complete PNG file.

    wanted: the number of channels to decode, 0 for all.
    """
    header: tuple[int, ...] | None = None
    body: list[memoryview] = []  # the compressed pixel data
    for kind, start, length in _chunks(data):
        if kind == b"IHDR" and length == 13:
            header = struct.unpack(">IIBBBBB", data[start : start + 13])
        elif header is None:
            raise InvalidArgumentError("PNG: the first chunk is no IHDR of 13 bytes")
        elif kind == b"IDAT":
            body.append(memoryview(data)[start : start + length])
    if header is None or header[3] not in _PNG_CHANNELS or header[2] not in (1, 2, 4, 8, 16):
        raise InvalidArgumentError(f"PNG: invalid header {header}")
    width, height, depth, colour, _, _, interlace = header
    _check_size("PNG", width, height, max(4 if colour == 3 else _PNG_CHANNELS[colour], wanted))
    pixel_bytes, compressed_bytes = (
        _filtered_bytes(width, height, _PNG_CHANNELS[colour] * depth, interlace),
        sum(map(len, body)),
    )
    if pixel_bytes > compressed_bytes * DEFLATE + DEFLATE:
        raise InvalidArgumentError(
            f"PNG: {width} x {height} pixels cannot be in {compressed_bytes} bytes of compressed data"
        )
    if depth == 16 and colour:
        _check_inflated(body, pixel_bytes)
    return depth, colour


def _check_inflated(body: list[memoryview], needed: int) -> None:
    """Raises an error unless there is data for all pixels, since Pillow would leave missing pixels black."""
    inflate, total = zlib.decompressobj(), 0
    try:
        for piece in body:
            left: Any = piece
            while len(left):
                total += len(inflate.decompress(left, _INFLATED))
                left = inflate.unconsumed_tail
    except zlib.error as e:
        raise InvalidArgumentError(f"PNG: the compressed data is corrupt: {e}") from e
    if total < needed:
        raise InvalidArgumentError(f"PNG: {total} bytes of pixels, needed {needed}")


def _png(data: bytes, wanted: int) -> np.ndarray:
    """Returns the pixels (height, width, channels), uint8, or uint16 for depth 16.

    wanted: the number of channels of the result, which determines its size.
    """
    depth, colour = _png_header(data, wanted)
    if depth == 16 and colour:
        return _png16(data, colour)
    image = _loaded("PNG", _opened("PNG", data), data)
    if depth == 16:
        return np.asarray(image).astype(np.uint16)[..., None]
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode == "1":
        image = image.convert("L")
    pixels = np.asarray(image)
    return pixels[..., None] if pixels.ndim == 2 else pixels


def _png16(data: bytes, colour: int) -> np.ndarray:
    """Decodes colour of 16 bits per channel. Pillow keeps 8 of them, so it runs once for the upper and the lower 8."""
    if colour == 4:  # grey and alpha take as many bytes as 8 bits of red, green, blue and alpha
        at = len(_SIGNATURE) + 8
        header = b"IHDR" + data[at : at + 8] + bytes([8, 6]) + data[at + 10 : at + 13]
        seal = struct.pack(">I", zlib.crc32(header))
        as_bytes = data[: at - 4] + header + seal + data[at + 17 :]
        pairs = np.asarray(_loaded("PNG", _opened("PNG", as_bytes), data))
        return pairs.view(">u2").astype(np.uint16)
    pixels: np.ndarray | None = None
    for layout in (";16B", ";16L"):  # take the first or the second of two bytes
        image = _opened("PNG", data)
        image.tile = [(*tile[:3], image.mode + layout) for tile in image.tile]
        half = np.asarray(_loaded("PNG", image, data)).astype(np.uint16)
        pixels = half if pixels is None else np.bitwise_or(np.left_shift(pixels, 8, out=pixels), half, out=pixels)
    assert pixels is not None
    return pixels


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
        frame = np.ascontiguousarray(rgba[..., :3])
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
) -> np.ndarray:
    """Returns the pixels of an image file: (height, width, channels), uint8, or uint16 for a PNG of that depth.

    frames: how to treat a GIF: "all" adds a leading dimension of frames, "first" returns the first frame, "only"
    rejects files with several frames. Raises `InvalidArgumentError` for a format not in `only`, damaged data, an image
    or a result larger than `LIMIT`, or an animation where one picture is needed.
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
    return with_channels(_png(data, channels) if kind == "PNG" else _bmp(data, channels), channels)

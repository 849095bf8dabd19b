"""Reading image files: PNG, JPEG and GIF by Pillow, BMP and 16-bit PNG by their plain layout (FEATURES O6).

The formats are told apart by their first bytes. Invariant: a file is refused by what its header claims before memory
for its pixels is taken, and whatever is wrong with its bytes is an `InvalidArgumentError`.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, OpError, UnimplementedError
from tfnb.ops.lazy_library import library

__all__ = ["LIMIT", "decode", "jpeg_shape", "with_channels"]

LIMIT = 1 << 28  # elements of one image with all its frames
# what deflate can make of a byte at most (zlib's technical notes); a header that claims more is a lie
_DEFLATE = 1032
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
    except Exception as e:  # a damaged header: Pillow raises whatever its parser meets
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
    """(type, start, length) of the chunks of a PNG file, whose sums are checked where the image depends on them."""
    at = len(_SIGNATURE)
    while True:
        if at + 12 > len(data):
            raise InvalidArgumentError(
                f"PNG: the file ends at byte {len(data)}, inside a chunk that begins at {at}"
            )
        length, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        end = at + 12 + length
        if end > len(data):
            raise InvalidArgumentError(
                f"PNG: chunk {kind!r} at byte {at} claims {length} bytes, the file ends at {len(data)}"
            )
        told = int.from_bytes(data[end - 4 : end], "big")
        if kind[:1].isupper() and zlib.crc32(data[at + 4 : end - 4]) != told:
            raise InvalidArgumentError(f"PNG: chunk {kind!r} at byte {at} is corrupt: wrong CRC")
        yield kind, at + 8, length
        if kind == b"IEND":
            return
        at = end


def _png_header(data: bytes) -> tuple[int, int, int, int, int, list[bytes]]:
    """(width, height, depth, colour type, interlace, compressed data) of a whole PNG file."""
    header: tuple[int, ...] | None = None
    body = []
    for kind, start, length in _chunks(data):
        if kind == b"IHDR" and length == 13:
            header = struct.unpack(">IIBBBBB", data[start : start + 13])
        elif header is None:
            raise InvalidArgumentError("PNG: the first chunk is no IHDR of 13 bytes")
        elif kind == b"IDAT":
            body.append(data[start : start + length])
    if header is None or header[3] not in _PNG_CHANNELS or header[2] not in (1, 2, 4, 8, 16):
        raise InvalidArgumentError(f"PNG: invalid header {header}")
    width, height, depth, colour, _, _, interlace = header
    _check_size("PNG", width, height, 4 if colour == 3 else _PNG_CHANNELS[colour])
    row = (width * _PNG_CHANNELS[colour] * depth + 7) // 8 + (0 if interlace else 1)
    held = sum(map(len, body))
    if row * height > held * _DEFLATE + _DEFLATE:
        raise InvalidArgumentError(
            f"PNG: {width} x {height} pixels cannot be in {held} bytes of compressed data"
        )
    return width, height, depth, colour, interlace, body


def _png(data: bytes) -> np.ndarray:
    """(height, width, channels) of uint8, or uint16 for depth 16."""
    width, height, depth, colour, interlace, body = _png_header(data)
    if depth == 16 and colour:
        if interlace:
            raise UnimplementedError("PNG: interlaced colour of 16 bits is not supported")
        return _png16(b"".join(body), width, height, _PNG_CHANNELS[colour])
    image = _loaded("PNG", _opened("PNG", data), data)
    if depth == 16:
        return np.asarray(image).astype(np.uint16)[..., None]
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode == "1":
        image = image.convert("L")
    found = np.asarray(image)
    return found[..., None] if found.ndim == 2 else found


def _png16(body: bytes, width: int, height: int, channels: int) -> np.ndarray:
    """16 bits a channel, which Pillow cuts to 8: inflated and unfiltered row by row."""
    step, row = 2 * channels, 2 * channels * width
    try:
        raw = zlib.decompressobj().decompress(body, (row + 1) * height)
    except zlib.error as e:
        raise InvalidArgumentError(f"PNG: the compressed data is corrupt: {e}") from e
    if len(raw) < (row + 1) * height:
        raise InvalidArgumentError(f"PNG: {len(raw)} bytes of pixels, needed {(row + 1) * height}")
    lines = np.frombuffer(raw, np.uint8).reshape(height, row + 1)
    out = np.zeros((height, row), np.uint8)
    above = np.zeros(row, np.uint8)
    for y in range(height):
        above = out[y] = _unfiltered(int(lines[y, 0]), lines[y, 1:], above, step)
    return out.view(">u2").astype(np.uint16).reshape(height, width, channels)


def _unfiltered(kind: int, line: np.ndarray, above: np.ndarray, step: int) -> np.ndarray:
    """One row, by the five filters of the PNG specification (section 9)."""
    if kind == 0:
        return line
    if kind == 1:
        return np.asarray(line.reshape(-1, step).cumsum(0, dtype=np.uint8).reshape(-1))
    if kind == 2:
        return np.asarray(line + above)
    if kind not in (3, 4):
        raise InvalidArgumentError(f"PNG: row filter {kind}; there are 0 to 4")
    found, up = [0] * step, [0] * step + above.tolist()
    for i, v in enumerate(line.tolist()):
        left, over, corner = found[i], up[i + step], up[i]
        if kind == 3:
            guess = (left + over) // 2
        else:
            p = left + over - corner
            guess = min(
                (abs(p - left), 0, left), (abs(p - over), 1, over), (abs(p - corner), 2, corner)
            )[2]
        found.append((v + guess) & 255)
    return np.array(found[step:], np.uint8)


def jpeg_shape(data: bytes) -> tuple[int, int, int]:
    """(height, width, channels) that the header of a JPEG file tells."""
    if _format(data) != "JPEG":
        raise InvalidArgumentError(f"needed a JPEG file, got {_format(data)}")
    image = _opened("JPEG", data)
    return image.height, image.width, len(image.getbands())


def _jpeg(data: bytes, channels: int, ratio: int, recover: bool) -> np.ndarray:
    if recover:
        data += b"\xff\xd9"  # an end-of-image marker: what is missing is filled up
    image = _opened("JPEG", data)
    _check_size("JPEG", image.width, image.height, 4)
    mode = "L" if channels == 1 else "RGB" if channels == 3 or image.mode != "L" else "L"
    # a hair less than a ratio-th, so that the rounding of the division never picks the next smaller scale
    shrink = (1 - 1e-9) / ratio
    image.draft(mode, (image.width * shrink, image.height * shrink))
    found = np.asarray(_loaded("JPEG", image, data).convert(mode))
    return found[..., None] if found.ndim == 2 else found


def _gif(data: bytes, first: bool) -> np.ndarray:
    """(frames, height, width, 3)."""
    image = _opened("GIF", data)
    _check_size("GIF", image.width, image.height, 3)
    frames: list[np.ndarray] = []
    while True:
        _check_size("GIF", image.width, image.height, 3 * (len(frames) + 1))
        rgba = np.asarray(_loaded("GIF", image, data).convert("RGBA"))
        frames.append(np.where(rgba[..., 3:] == 0, 0, rgba[..., :3]).astype(np.uint8))
        try:
            image.seek(len(frames))
        except EOFError:
            break
        except Exception as e:
            raise InvalidArgumentError(f"invalid GIF data in frame {len(frames)}: {e}") from e
        if first:
            break
    return np.stack(frames)


def _bmp(data: bytes) -> np.ndarray:
    """8, 24 or 32 bits a pixel, uncompressed; one byte is a grey value."""
    if len(data) < 32:
        raise InvalidArgumentError(f"BMP: the file ends at byte {len(data)}, inside its header")
    start, width, height = struct.unpack_from("<i4xii", data, 10)
    bits = struct.unpack_from("<H", data, 28)[0]
    if bits not in (8, 24, 32):
        raise InvalidArgumentError(f"BMP: {bits} bits a pixel; needed 8, 24 or 32")
    rows, channels = abs(height), bits // 8
    _check_size("BMP", width, rows, channels)
    stride = (width * channels + 3) // 4 * 4
    if start < 0 or start + stride * (rows - 1) + width * channels > len(data):
        raise InvalidArgumentError(
            f"BMP: {width} x {rows} x {channels} from byte {start} on do not fit in {len(data)} bytes"
        )
    body = data[start : start + stride * rows].ljust(stride * rows, b"\0")
    found = np.frombuffer(body, np.uint8).reshape(rows, stride)[:, : width * channels]
    found = found.reshape(rows, width, channels)[:: -1 if height > 0 else 1]
    return found[..., [2, 1, 0, 3][:channels]] if channels > 1 else found


def with_channels(image: np.ndarray, channels: int) -> np.ndarray:
    """The image with 1, 3 or 4 channels (0: as it is): grey is the luma of ITU-R 601, missing alpha is opaque."""
    have = image.shape[-1]
    if channels in (0, have):
        return image
    colour = image[..., : 1 if have <= 2 else 3]
    top = np.iinfo(image.dtype).max
    if channels == 1:
        if have <= 2:
            return colour
        weights = np.array([9798, 19235, 3735], np.uint32)  # of 32768, as libpng's fixed point
        return (colour.astype(np.uint32) @ weights >> 15).astype(image.dtype)[..., None]
    colour = np.repeat(colour, 3, axis=-1) if have <= 2 else colour
    if channels == 3:
        return colour
    alpha = image[..., have - 1 :] if have in (2, 4) else np.full_like(colour[..., :1], top)
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
    """The pixels of an image file: (height, width, channels).

    `frames` of a GIF: "all" gives them in a fourth dimension in front, "first" that one, "only" refuses more than one.
    uint8, or uint16 for a PNG of that depth. Raises `InvalidArgumentError` for a format not in `only`, damaged data, an
    image larger than `LIMIT`, or an animation where one picture is needed.
    """
    kind = _format(data)
    if kind not in only:
        raise InvalidArgumentError(
            f"needed {' or '.join(only)}, got a {kind} file; use decode_image"
        )
    if kind == "JPEG":
        if channels not in (0, 1, 3):
            raise InvalidArgumentError(f"JPEG has no {channels} channels; needed 0, 1 or 3")
        return _jpeg(data, channels, ratio, recover)
    if kind == "GIF":
        found = _gif(data, first=frames == "first")
        if frames == "only" and len(found) > 1:
            raise InvalidArgumentError(f"got {len(found)} frames; use decode_gif or decode_image")
        return with_channels(found if frames == "all" else found[0], channels)
    return with_channels(_png(data) if kind == "PNG" else _bmp(data), channels)

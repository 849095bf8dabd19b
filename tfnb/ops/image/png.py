"""PNG files, decoded as TensorFlow does it by libpng.

The chunks that make the picture are read and checked here; Pillow inflates and unfilters the rows, given a file of
these chunks alone, so that nothing ancillary stops it. Invariant: a damaged ancillary chunk loses what it says and no
more; a damaged critical one, or missing pixels, raise an `InvalidArgumentError` before the pixels take memory.
"""

from __future__ import annotations

import io
import logging
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, OpError
from tfnb.ops.image.png_colour import ColourSpace, grey
from tfnb.ops.io.record_files import DEFLATE
from tfnb.ops.lazy_library import library

__all__ = ["SIGNATURE", "decode_png"]

_log = logging.getLogger("tfnb")
SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY, _RGB, _PALETTE, _GREY_ALPHA, _RGBA = 0, 2, 3, 4, 6
_CHANNELS = {_GREY: 1, _RGB: 3, _PALETTE: 1, _GREY_ALPHA: 2, _RGBA: 4}
_DEPTHS = {_GREY: (1, 2, 4, 8, 16), _PALETTE: (1, 2, 4, 8)}
_LIMIT = 1 << 28
_MOST_SIDE = 1_000_000
_MOST_CHUNK = 8_000_000  # bytes of a chunk that holds no pixels
_INFLATED = 1 << 20  # bytes that are inflated at once
# Adam7 interlacing: the start (x, y) of each pass, and its steps.
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


@dataclass
class _File:
    """The parts of a file that make its picture."""

    width: int
    height: int
    depth: int
    colour: int
    interlace: int
    space: ColourSpace
    palette: np.ndarray | None = None
    transparent: tuple[int, ...] = ()  # the alpha of the palette's first colours, or the samples of one colour
    significant: int = 16
    body: list[memoryview] = field(default_factory=list)

    @property
    def bits(self) -> int:
        return _CHANNELS[self.colour] * self.depth

    def header(self, depth: int, colour: int) -> bytes:
        return struct.pack(">IIBBBBB", self.width, self.height, depth, colour, 0, 0, self.interlace)


def _chunks(data: bytes) -> Iterator[tuple[bytes, memoryview, bool]]:
    """Yields (type, content, whether the checksum is right). Raises an error for a damaged critical chunk."""
    at, view = len(SIGNATURE), memoryview(data)
    while True:
        if at + 12 > len(data):
            raise InvalidArgumentError(f"PNG: the file ends at byte {len(data)}, inside a chunk that begins at {at}")
        length, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        end = at + 12 + length
        if not (kind.isalpha() and kind.isascii()):
            raise InvalidArgumentError(f"PNG: {kind!r} at byte {at + 4} is no type of a chunk")
        if end > len(data):
            raise InvalidArgumentError(
                f"PNG: chunk {kind!r} at byte {at} claims {length} bytes, the file ends at {len(data)}"
            )
        if length > _MOST_CHUNK and kind != b"IDAT":
            raise InvalidArgumentError(f"PNG: chunk {kind!r} of {length} bytes; at most {_MOST_CHUNK} are read")
        right = zlib.crc32(view[at + 4 : end - 4]) == int.from_bytes(data[end - 4 : end], "big")
        if kind[:1].isupper() and not right:
            raise InvalidArgumentError(f"PNG: chunk {kind!r} at byte {at} is corrupt: wrong CRC")
        yield kind, view[at + 8 : end - 4], right
        if kind == b"IEND":
            return
        at = end


def _header(kind: bytes, content: memoryview, wanted: int) -> _File:
    if kind != b"IHDR" or len(content) != 13:
        raise InvalidArgumentError("PNG: the first chunk is no IHDR of 13 bytes")
    header = struct.unpack(">IIBBBBB", content)
    width, height, depth, colour, compression, filters, interlace = header
    fits = depth in _DEPTHS.get(colour, (8, 16)) and compression == filters == 0 and interlace < 2
    if colour not in _CHANNELS or not fits:
        raise InvalidArgumentError(f"PNG: invalid header {header}")
    if not 0 < width <= _MOST_SIDE or not 0 < height <= _MOST_SIDE:
        raise InvalidArgumentError(f"PNG: the image is {width} x {height}; needed 1 to {_MOST_SIDE} pixels a side")
    channels = max(4 if colour == _PALETTE else _CHANNELS[colour], wanted)
    if width * height * channels > _LIMIT:
        raise InvalidArgumentError(
            f"PNG: an image of {width} x {height} x {channels} is larger than the {_LIMIT} elements allowed"
        )
    return _File(width, height, depth, colour, interlace, ColourSpace(bool(colour & 2)))


def _parsed(data: bytes, wanted: int) -> _File:
    """Reads the chunks of a file. `wanted`: the number of channels to decode, 0 for all."""
    chunks = _chunks(data)
    first = next(chunks)
    file = _header(first[0], first[1], wanted)
    ended, damaged = False, []
    for kind, content, right in chunks:
        if not right:
            damaged.append(kind.decode())
        if kind == b"IDAT":
            if file.colour == _PALETTE and file.palette is None:
                raise InvalidArgumentError("PNG: the palette is missing before the pixels")
            if not ended:  # pixels stand in consecutive chunks
                file.body.append(content)
            continue
        ended = bool(file.body)
        if kind == b"PLTE":
            _palette(file, content)
        elif kind == b"IHDR" or (kind[:1].isupper() and kind != b"IEND"):
            raise InvalidArgumentError(f"PNG: chunk {kind!r} is out of place or not known")
        elif not ended and (right or kind == b"iCCP"):
            _ancillary(file, kind, bytes(content))
    if damaged:
        _log.warning("PNG: the chunks %s are damaged, wrong CRC; the picture is decoded", ", ".join(damaged))
    return file


def _palette(file: _File, content: memoryview) -> None:
    if file.palette is not None:
        raise InvalidArgumentError("PNG: there are two palettes")
    if file.body:
        return
    if not file.colour & 2:  # ignored, but colour spaces cannot follow it
        file.palette = np.zeros((0, 3), np.uint8)
        return
    if len(content) > 3 * 256 or len(content) % 3:
        if file.colour == _PALETTE:
            raise InvalidArgumentError(f"PNG: a palette of {len(content)} bytes; needed three for each colour")
        content = content[:0]
    elif not content:
        raise InvalidArgumentError("PNG: the palette is empty")
    most = 1 << file.depth if file.colour == _PALETTE else 256
    file.palette = np.frombuffer(content, np.uint8).reshape(-1, 3)[:most]


def _ancillary(file: _File, kind: bytes, content: bytes) -> None:
    """Takes in a chunk before the pixels that changes them. One that is out of place or malformed changes nothing."""
    if kind == b"tRNS":
        if file.transparent:
            return
        if file.colour == _PALETTE:
            if file.palette is not None and 0 < len(content) <= len(file.palette):
                file.transparent = tuple(content)
        elif len(content) == {_GREY: 2, _RGB: 6}.get(file.colour):
            file.transparent = struct.unpack(f">{len(content) // 2}H", content)
    elif file.palette is not None:
        return
    elif kind == b"sBIT":
        depth, count = (8, 3) if file.colour == _PALETTE else (file.depth, _CHANNELS[file.colour])
        if len(content) == count and all(0 < bits <= depth for bits in content):
            file.significant = max(content[:3])
    else:
        file.space.read(kind, content)


def _needed(file: _File) -> int:
    """The number of bytes of the rows before compression, with one filter byte per row."""
    total = 0
    for x, y, dx, dy in _PASSES if file.interlace else ((0, 0, 1, 1),):
        across, down = max(-((x - file.width) // dx), 0), max(-((y - file.height) // dy), 0)
        total += down * (1 + (across * file.bits + 7) // 8) if across else 0
    return total


def _checked_body(file: _File) -> bytes:
    """Returns the compressed rows. Raises an error unless there are bytes for all of them.

    Rows that are followed by too much, or by a wrong checksum, are complete; they are compressed anew.
    """
    needed, body = _needed(file), b"".join(file.body)
    if needed > len(body) * DEFLATE + DEFLATE:
        raise InvalidArgumentError(
            f"PNG: {file.width} x {file.height} pixels cannot be in {len(body)} bytes of compressed data"
        )
    inflate, total, left, error = zlib.decompressobj(), 0, body, None
    try:
        while left and not inflate.eof:
            total += len(inflate.decompress(left, _INFLATED))
            left = inflate.unconsumed_tail
    except zlib.error as e:
        total, error = _until_error(body, needed), e
    if total < needed or not (inflate.eof or error):
        why = f": {error}" if error else ", and the compressed data is cut off" if total >= needed else ""
        raise InvalidArgumentError(f"PNG: {total} bytes of pixels, needed {needed}{why}") from error
    if total == needed and inflate.eof:
        return body
    return zlib.compress(zlib.decompressobj().decompress(body, needed), 0)


def _until_error(body: bytes, needed: int) -> int:
    """Returns the number of bytes, at most `needed`, if so many stand before the error, else 0."""
    try:
        return len(zlib.decompressobj().decompress(body, needed))
    except zlib.error:
        return 0


def _decoded(file: _File, body: bytes, depth: int, colour: int, layout: str = "") -> np.ndarray:
    """Returns the rows as Pillow decodes them if the header tells of another depth and colour than the file's."""
    parts = [SIGNATURE]
    for kind, content in (
        (b"IHDR", file.header(depth, colour)),
        (b"PLTE", bytes(768) if colour == _PALETTE else b""),
        (b"IDAT", body),
        (b"IEND", b""),
    ):
        if content or kind != b"PLTE":
            parts += [
                struct.pack(">I", len(content)),
                kind,
                content,
                struct.pack(">I", zlib.crc32(content, zlib.crc32(kind))),
            ]
    try:
        image: Any = library("PIL.PngImagePlugin", "pillow", "decoding an image").PngImageFile(
            io.BytesIO(b"".join(parts))
        )
        if layout:
            image.tile = [(*tile[:3], image.mode + layout) for tile in image.tile]
        image.load()
    except OpError:
        raise
    except Exception as e:  # Pillow raises many kinds of errors for a filter that there is not
        raise InvalidArgumentError(f"invalid PNG data, {len(body)} bytes: {e}") from e
    return np.asarray(image)


def _samples(file: _File) -> np.ndarray:
    """Returns the samples (height, width, channels) as they stand in the file, uint8 or uint16."""
    body = _checked_body(file)
    shape = (file.height, file.width, _CHANNELS[file.colour])
    if file.depth <= 8:  # indices of a palette are the one kind of samples that Pillow does not scale
        kind = _PALETTE if shape[2] == 1 else file.colour
        return _decoded(file, body, file.depth, kind).reshape(shape)
    if file.colour == _GREY:
        return _decoded(file, body, 16, _GREY).astype(np.uint16).reshape(shape)
    if file.colour == _GREY_ALPHA:  # as many bytes as 8 bits of red, green, blue and alpha
        pairs = np.ascontiguousarray(_decoded(file, body, 8, _RGBA))
        return pairs.view(">u2").astype(np.uint16).reshape(shape)
    # Pillow keeps 8 of 16 bits of colours, so it runs once for the upper and the lower ones.
    upper = _decoded(file, body, 16, file.colour, ";16B").astype(np.uint16)
    return np.bitwise_or(np.left_shift(upper, 8, out=upper), _decoded(file, body, 16, file.colour, ";16L"), out=upper)


def _alpha(file: _File, samples: np.ndarray, bits: int) -> np.ndarray:
    """Returns the alpha (height, width, 1) of samples without any, in the samples' depth, but at least 8 bits."""
    if file.colour == _PALETTE and file.transparent:
        table = np.full(256, 255, np.uint8)
        table[: len(file.transparent)] = file.transparent
        return table[samples]
    top = np.iinfo(samples.dtype).max
    if not file.transparent:
        # The opaque value is that of the file's depth, also where samples become wider.
        return np.full((*samples.shape[:2], 1), (1 << file.depth) - 1, samples.dtype)
    names = np.array(file.transparent) & ((1 << file.depth) - 1)
    return np.where((samples == names).all(axis=2, keepdims=True), 0, top).astype(samples.dtype)


def decode_png(data: bytes, channels: int = 0, bits: int = 0) -> np.ndarray:
    """Returns the picture (height, width, channels) of a PNG file, uint8 or uint16.

    channels: 1, 3 or 4, or 0 for the number in the file. bits: 8 or 16 a channel, or 0 for the file's. Raises
    `InvalidArgumentError` for damaged data or a picture that is too large.
    """
    file = _parsed(data, channels)
    samples = _samples(file)
    colours, alpha = samples, None
    if file.colour in (_GREY_ALPHA, _RGBA):
        colours, alpha = samples[..., :-1], samples[..., -1:]
    channels = channels or (3 + bool(file.transparent) if file.colour == _PALETTE else samples.shape[2])
    if channels % 2 == 0 and alpha is None:
        alpha = _alpha(file, samples, bits)
    if file.colour == _PALETTE:
        palette = np.zeros((256, 3), np.uint8)
        if file.palette is not None:
            palette[: len(file.palette)] = file.palette
        colours = palette[samples[..., 0]]
    elif file.depth < 8:
        colours = colours * np.uint8(255 // ((1 << file.depth) - 1))
    chopped = bits == 8 and file.depth == 16
    if channels < 3 and colours.shape[2] == 3:
        colours = grey(colours, file.space.gamma, file.significant, chopped)
    elif channels >= 3 and colours.shape[2] == 1:
        colours = np.repeat(colours, 3, axis=2)
    picture = colours if channels % 2 or alpha is None else np.concatenate([colours, alpha], axis=2)
    if chopped:
        return (picture >> 8).astype(np.uint8)
    return picture.astype(np.uint16) * np.uint16(257) if bits == 16 and file.depth < 16 else picture

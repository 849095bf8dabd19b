"""Pictures: PNG, JPEG, GIF and BMP, with all the ways in which they can be asked for."""

from __future__ import annotations

import io
import struct
import zlib
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from PIL import Image

from fuzz.mutate import of_bytes
from fuzz.target import Target
from tfnb.ops.image.file_formats import LIMIT, decode, jpeg_shape

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, rows: bytes, depth: int = 8, colour: int = 2, interlace: int = 0) -> bytes:
    """A PNG file of these filtered rows, whatever the header says."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    return _SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def gif(width: int, height: int, frames: int) -> bytes:
    """A GIF that claims this size, with frames of one pixel."""
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x4c\x01\x00"
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + b"\0" * 6 + frame * frames + b"\x3b"


def bmp(width: int, height: int, bits: int, extra: bytes = b"") -> bytes:
    return b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54, 0, 0, 54, 40, width, height, 1, bits, 0, 0, 0, 0, 0, 0) + extra


def _encoded(image: Any, kind: str, **more: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **more)
    return out.getvalue()


def seeds() -> list[bytes]:
    rng = np.random.RandomState(0)
    picture = Image.fromarray(rng.randint(0, 255, (9, 11, 3), np.uint8))
    palette = picture.convert("P")
    deep = Image.fromarray(rng.randint(0, 60000, (5, 6)).astype(np.uint16))
    filtered = b"".join(bytes([k]) + bytes(range(24)) for k in range(5))
    return [
        _encoded(picture, "PNG"),
        _encoded(picture.convert("1"), "PNG"),
        _encoded(palette, "PNG"),
        _encoded(picture.convert("RGBA"), "PNG"),
        _encoded(picture.convert("LA"), "PNG"),
        _encoded(deep, "PNG"),
        png(3, 5, filtered, 16, 6),
        png(4, 5, filtered, 16, 2),
        _encoded(picture, "JPEG"),
        _encoded(picture, "JPEG", progressive=True),
        _encoded(picture.convert("L"), "JPEG"),
        _encoded(palette, "GIF", save_all=True, append_images=[palette.rotate(90)]),
        _encoded(palette, "GIF"),
        _encoded(picture, "BMP"),
        _encoded(picture.convert("L"), "BMP"),
    ]


def _hostile(jpeg: bytes) -> list[bytes]:
    size = jpeg.find(b"\xff\xc0") + 5
    lie = [jpeg[:size] + struct.pack(">HH", n, n) + jpeg[size + 4 :] for n in (0, 4000, 8000, 65500)]
    side = 4000
    return [
        png(2**31 - 1, 2**31 - 1, b""),
        png(side, side, b"\0" * (side * 3 + 1) * side),
        png(16_000, 16_000, b"\0" * 2001 * 16_000, 1, 0),
        png(2000, 500, (b"\4" + b"\1" * 16_000) * 500, 16, 6),
        png(2000, 500, (b"\3" + b"\1" * 16_000) * 500, 16, 6),
        png(30_000, 30_000, b"\0" * 1000),
        png(1, 1, b"\0" * 100_000_000),
        png(1, 1, b"\0" * 4)[:-12] + chunk(b"zTXt", b"a\0\0" + zlib.compress(b"x" * 50_000_000)) + chunk(b"IEND", b""),
        _SIGNATURE
        + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
        + chunk(b"iCCP", b"a\0\0" + zlib.compress(b"x" * 50_000_000))
        + chunk(b"IDAT", zlib.compress(b"\0" * 4))
        + chunk(b"IEND", b""),
        png(1, 1, b"\0" * 4)[:-12] + chunk(b"IDAT", b"") * 50_000 + chunk(b"IEND", b""),
        *lie,
        gif(2000, 2000, 22),
        gif(9000, 9000, 1),
        gif(40_000, 40_000, 1),
        gif(1, 1, 5000),
        gif(65535, 65535, 1),
        bmp(2**31 - 1, -(2**31), 24),
        bmp(0, 0, 24),
        bmp(1, 2**28, 8),
        bmp(1, -(2**31), 8),
        bmp(-5, 5, 32),
    ]


def with_right_sums(data: bytes) -> bytes:
    """A PNG file with the checksums that its chunks should have; anything else as it is."""
    if not data.startswith(_SIGNATURE):
        return data
    out, at = bytearray(_SIGNATURE), len(_SIGNATURE)
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        if at + 12 + length > len(data):
            break
        out += chunk(data[at + 4 : at + 8], data[at + 8 : at + 8 + length])
        at += 12 + length
    return bytes(out) + data[at:]


def claimed(data: bytes) -> int:
    """Bytes that the pixels of a file take by what its header says, up to the limit; four for each pixel of a frame."""
    width = height = frames = 0
    if data.startswith(_SIGNATURE):
        width, height = struct.unpack(">II", data[16:24].ljust(8, b"\0"))
        frames = 2 if data[24:25] == b"\x10" else 1
    elif data.startswith(b"GIF8"):
        width, height = struct.unpack("<HH", data[6:10].ljust(4, b"\0"))
        frames = data.count(b"\x2c")
    elif data.startswith(b"\xff\xd8"):
        for k in range(len(data) - 9):
            if data[k] == 0xFF and data[k + 1] in (0xC0, 0xC1, 0xC2):
                size = struct.unpack(">HH", data[k + 5 : k + 9])
                height, width = max(
                    (height, width), size, key=prod
                )  # readers differ in which of several headers counts
                frames = 1
    return min(4 * width * height * frames, 2 * LIMIT)


def target(folder: Path) -> Target:
    def read(data: bytes) -> None:
        drawn = Random(zlib.crc32(data))  # the same again when a saved input is read again
        if data.startswith(b"\xff\xd8\xff") and drawn.random() < 0.1:
            jpeg_shape(data)
        decode(
            data,
            drawn.choice((0, 1, 3, 4)),
            frames=drawn.choice(("all", "first", "only")),
            ratio=drawn.choice((1, 2, 4, 8)),
            recover=drawn.random() < 0.3,
        )

    given = seeds()
    change = of_bytes(given)

    def change_and_seal(data: bytes, rng: Random) -> bytes:
        return with_right_sums(change(data, rng))

    return Target([s for s in given], _hostile(given[8]), [change, change_and_seal, change_and_seal], read, claimed)

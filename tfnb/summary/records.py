"""Records of an event file: length, data, and a checksum of each (TensorFlow's TFRecord format).

Invariant: both checksums of a record that is yielded are right.
"""

from __future__ import annotations

import importlib
import struct
from functools import cache
from typing import Any

__all__ = ["FOOTER", "HEADER", "frame", "masked_crc", "unmasked"]

HEADER, FOOTER = 12, 4  # the number of bytes before and after the data
_WORD = 0xFFFFFFFF


@cache
def _crc32c() -> Any:
    return importlib.import_module("crc32c").crc32c


def masked_crc(data: bytes | memoryview) -> int:
    """Returns the CRC32C of the data, rotated and shifted, so that data with embedded checksums has a useful one."""
    crc = _crc32c()(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & _WORD


def unmasked(masked: int) -> int:
    """Returns the CRC32C that `masked_crc` turned into the masked checksum."""
    rotated = (masked - 0xA282EAD8) & _WORD
    return (rotated >> 17 | rotated << 15) & _WORD


def frame(data: bytes) -> bytes:
    """Returns the bytes of a record with the content `data`."""
    length = struct.pack("<Q", len(data))
    head = struct.pack("<I", masked_crc(length))
    return b"".join((length, head, data, struct.pack("<I", masked_crc(data))))

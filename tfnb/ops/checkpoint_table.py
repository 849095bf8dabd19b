"""Sorted tables in LevelDB's format, protobuf messages without their definitions, names of slices in order.

What TensorFlow's checkpoints are made of. Invariant: a block that is given passed its checksum.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any

from tfnb.ir.files import os_errors
from tfnb.ops.lazy_library import library

__all__ = ["DAMAGED", "Fields", "crc", "ends_with_magic", "fields", "slice_key", "slice_of", "table", "varint"]

_MAGIC = struct.pack("<Q", 0xDB4775248B80FB57)  # the last bytes of such a table
_FOOTER = 48
Fields = dict[int, list[Any]]
DAMAGED = (ValueError, IndexError, KeyError, struct.error)  # what reading a damaged table or message raises


def ends_with_magic(path: str) -> bool:
    """Is the file such a table?"""
    with os_errors(path), open(path, "rb") as file:
        file.seek(max(os.path.getsize(path) - len(_MAGIC), 0))
        return file.read() == _MAGIC


def crc(data: bytes) -> int:
    """TensorFlow's masked CRC32C."""
    found = library("crc32c", "crc32c", "a checkpoint").crc32c(data)
    return int(((found >> 15 | found << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _block(data: bytes, handle: bytes, at: int = 0) -> bytes:
    """The block that a handle (offset, size) names."""
    offset, at = varint(handle, at)
    size, _ = varint(handle, at)
    content, kind = data[offset : offset + size], data[offset + size]
    (told,) = struct.unpack_from("<I", data, offset + size + 1)
    if crc(data[offset : offset + size + 1]) != told:
        raise ValueError("a block's checksum does not match")
    if kind != 0:
        raise ValueError("compressed blocks are not understood")
    return content


def _pairs(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block; a key tells only where it differs from the one before."""
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end, at, key = len(block) - 4 - 4 * restarts, 0, b""
    while at < end:
        shared, at = varint(block, at)
        own, at = varint(block, at)
        size, at = varint(block, at)
        key = key[:shared] + block[at : at + own]
        at += own
        yield key, block[at : at + size]
        at += size


def table(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a table. Raises `DAMAGED`."""
    footer = data[-_FOOTER:]
    _, at = varint(footer, 0)
    _, at = varint(footer, at)
    for _, handle in _pairs(_block(data, footer, at)):
        yield from _pairs(_block(data, handle))


def fields(data: bytes) -> Fields:
    """The fields of a protobuf message by number."""
    found: Fields = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        value: Any
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = int.from_bytes(data[at : at + size], "little"), at + size
        else:
            raise ValueError(f"a field of the unknown kind {kind}")
        found.setdefault(key >> 3, []).append(value)
    return found


# ---- slices --------------------------------------------------------------------------------------


def slice_of(message: bytes, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(start, lengths) of a TensorSliceProto of a tensor of that shape."""
    extents = [fields(e) for e in fields(message).get(1, [])]
    start = tuple(e.get(1, [0])[0] for e in extents)
    size = tuple(e.get(2, [n])[0] for e, n in zip(extents, shape, strict=True))
    if any(a + k > n for a, k, n in zip(start, size, shape, strict=True)):
        raise ValueError(f"a slice from {start} of {size} of a tensor of shape {shape}")
    return start, size


def slice_key(name: str, message: bytes) -> bytes:
    """The key under which a table has a slice of a tensor: what sorts as name and places do."""
    text = name.encode().replace(b"\xff", b"\xff\0").replace(b"\0", b"\0\xff")
    extents = [fields(e) for e in fields(message).get(1, [])]
    places = b"".join(_signed(e.get(1, [0])[0]) + _signed(e.get(2, [-1])[0]) for e in extents)
    count = len(extents)
    return b"\0" + text + b"\0\1" + (bytes([1, count]) if count else b"\0") + places


def _signed(value: int) -> bytes:
    """A number as bytes that sort as numbers do: as many leading ones as there are bytes."""
    magnitude = value if value >= 0 else ~value
    size = next(n for n in range(1, 11) if magnitude < 1 << (7 * n - 1))
    raw = value.to_bytes(size, "big", signed=True)
    mask = ((1 << size) - 1) << (16 - size)
    first = bytes(b ^ m for b, m in zip(raw, mask.to_bytes(2, "big"), strict=False))
    return first + raw[2:]

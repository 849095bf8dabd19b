"""Sorted tables in LevelDB's format, protobuf messages without their definitions, and ordered names of slices.

TensorFlow's checkpoints consist of these. Invariants: a block is used only if its checksum matches; no more memory is
allocated than the data contain; damage is a `DamagedError`, to which the caller adds the name of the file.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

import numpy as np

from tfnb.errors import UnimplementedError
from tfnb.ops.checkpoint.index import MAX_DIMENSIONS, MAX_PARTS
from tfnb.ops.checkpoint.snappy import SnappyError, uncompressed
from tfnb.ops.lazy_library import library
from tfnb.types import DType

__all__ = [
    "MAGIC",
    "MAX_FIELDS",
    "DamagedError",
    "Message",
    "crc",
    "shape_of",
    "slice_key",
    "slice_of",
    "table",
    "text_of",
    "varint",
]

MAGIC = struct.pack("<Q", 0xDB4775248B80FB57)  # the last bytes of a table
_FOOTER = 48
_VARINT_BYTES = 10  # the most bytes of a 64-bit number
_TRAILER = 5  # bytes after a block: its kind and its checksum
_SNAPPY = 1  # the kind of a compressed block
_MAX_KEY = 1 << 16
_KEYS_BEYOND = 1 << 24  # bytes by which keys may exceed the table, since each stores only its difference to the last
_LARGEST = 1 << 62  # the most bytes of a tensor
_LARGEST_FIELD = 15  # the field numbers of all messages in checkpoints are smaller
MAX_FIELDS = 16 * MAX_PARTS  # fields of all messages of a table; an entry with shape, position and checksum has a dozen


class DamagedError(ValueError):
    """Raised for data that are not a table, not a message, or not part of a checkpoint."""


def crc(data: bytes | np.ndarray) -> int:
    """TensorFlow's masked CRC32C."""
    checksum = library("crc32c", "crc32c", "a checkpoint").crc32c(data)
    return int(((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Returns a number of at most 64 bits, stored seven bits per byte, and the position after it."""
    value = 0
    for i in range(min(_VARINT_BYTES, end - at)):
        byte = data[at + i]
        value |= (byte & 127) << (7 * i)
        if byte < 128:
            if value >> 64:
                break
            return value, at + i + 1
    raise DamagedError(f"no number of at most {_VARINT_BYTES} bytes stands at byte {at}")


# ---- tables --------------------------------------------------------------------------------------


def _block(data: bytes, handle: bytes, at: int, begin: int) -> tuple[bytes, int]:
    """The block at a handle (offset, size), which must begin at `begin` or later, and the position after it."""
    offset, at = varint(handle, at, len(handle))
    size, _ = varint(handle, at, len(handle))
    end = offset + size + _TRAILER
    if offset < begin or end > len(data) - _FOOTER:
        raise DamagedError(f"a block from byte {offset} to {end} of {len(data)}, after one that ends at {begin}")
    (stored_crc,) = struct.unpack_from("<I", data, offset + size + 1)
    if crc(data[offset : offset + size + 1]) != stored_crc:
        raise DamagedError(f"the checksum of the block at byte {offset} does not match")
    method, block = data[offset + size], data[offset : offset + size]
    if method == _SNAPPY:
        try:
            block = uncompressed(block)
        except SnappyError as e:
            raise DamagedError(f"the block at byte {offset}: {e}") from None
    elif method:
        raise UnimplementedError(
            f"the block at byte {offset} of the index is compressed by method {method}; needed 0 (none) or 1 (snappy)"
        )
    return block, end


def _pairs(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields the keys and values of a block; each key is stored as its difference to the previous one."""
    restarts = int.from_bytes(block[-4:], "little")
    end, at, key = len(block) - 4 - 4 * restarts, 0, b""
    if len(block) < 4 or end < 0:
        raise DamagedError(f"a block of {len(block)} bytes with {restarts} restarts")
    while at < end:
        shared, at = varint(block, at, end)
        suffix_size, at = varint(block, at, end)
        size, at = varint(block, at, end)
        if shared > len(key) or suffix_size + size > end - at or shared + suffix_size > _MAX_KEY:
            raise DamagedError(
                f"a key of {shared} + {suffix_size} bytes and a value of {size} at {at} in a block of {end}"
            )
        key = key[:shared] + block[at : at + suffix_size]
        at += suffix_size + size
        yield key, block[at - size : at]


def table(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields the keys and values of a table; keys are in ascending order."""
    if len(data) < _FOOTER or not data.endswith(MAGIC):
        raise DamagedError(f"{len(data)} bytes are no table: its end is missing")
    footer = data[-_FOOTER:]
    _, at = varint(footer, 0, _FOOTER)
    _, at = varint(footer, at, _FOOTER)
    index, _ = _block(data, footer, at, 0)
    last: bytes | None = None
    begin, left = 0, len(data) + _KEYS_BEYOND
    for _, handle in _pairs(index):
        block, begin = _block(data, handle, 0, begin)
        for key, value in _pairs(block):
            left -= len(key)
            if left < 0 or (last is not None and key <= last):
                raise DamagedError(f"the key {key[:80]!r} comes after {(last or b'')[:80]!r}, or keys are too long")
            last = key
            yield key, value


# ---- messages ------------------------------------------------------------------------------------


class Message:
    """The fields of a protobuf message by number; the caller determines the type of each.

    most: the largest permitted number of fields. `size`: the number of fields.
    """

    __slots__ = ("_fields", "size")

    def __init__(self, data: bytes, most: int = 64) -> None:
        self.size = 0
        self._fields: dict[int, list[int | bytes]] = {}
        at, end = 0, len(data)
        while at < end:
            key, at = varint(data, at, end)
            kind = key & 7
            value: int | bytes
            if kind == 0:
                value, at = varint(data, at, end)
            elif kind in (1, 2, 5):
                size, at = varint(data, at, end) if kind == 2 else (8 if kind == 1 else 4, at)
                if size > end - at:
                    raise DamagedError(f"a field of {size} bytes at byte {at} of a message of {end}")
                value = data[at : at + size]
                if kind != 2:
                    value = int.from_bytes(value, "little")
                at += size
            else:
                raise DamagedError(f"a field of the unknown kind {kind}")
            self.size += 1
            if key >> 3 > _LARGEST_FIELD or self.size > most:
                raise DamagedError(f"a message with a field {key >> 3}, or with more than {most} fields")
            self._fields.setdefault(key >> 3, []).append(value)

    def __contains__(self, field: int) -> bool:
        return field in self._fields

    def number(self, field: int, default: int = 0) -> int:
        """Returns the last value of a numeric field."""
        value = self._fields.get(field, (default,))[-1]
        if isinstance(value, bytes):
            raise DamagedError(f"bytes where field {field} must be a number")
        return value

    def signed(self, field: int, default: int = 0) -> int:
        """Returns the last value of a field of type int64."""
        value = self.number(field, default)
        return value - (1 << 64) if value >> 63 and value > 0 else value

    def all_bytes(self, field: int) -> list[bytes]:
        """Returns all values of a field of bytes, strings or messages."""
        values = []
        for value in self._fields.get(field, ()):
            if isinstance(value, int):
                raise DamagedError(f"a number where field {field} must be bytes")
            values.append(value)
        return values

    def one_bytes(self, field: int) -> bytes:
        """Returns the last value of a field of bytes, strings or messages, which must exist."""
        values = self.all_bytes(field)
        if not values:
            raise DamagedError(f"field {field} is missing")
        return values[-1]


def text_of(data: bytes) -> str:
    """Returns the bytes decoded as UTF-8. Raises `DamagedError` when they are not valid."""
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        raise DamagedError(f"the name {data[:80]!r} is no UTF-8: {e}") from None


def shape_of(messages: list[bytes], dtype: DType) -> tuple[int, ...]:
    """Returns the shape in the TensorShapeProtos, for a tensor of that dtype."""
    dims = [dim for message in messages for dim in Message(message).all_bytes(2)]
    if len(dims) > MAX_DIMENSIONS:
        raise DamagedError(f"a shape of {len(dims)} dimensions; at most {MAX_DIMENSIONS} are possible")
    shape = tuple(Message(dim).signed(1) for dim in dims)
    if min(shape, default=0) < 0 or math.prod(max(n, 1) for n in shape) * dtype.size > _LARGEST:
        raise DamagedError(f"the shape {shape}")
    return shape


# ---- slices --------------------------------------------------------------------------------------


def slice_of(message: bytes, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns (start, lengths) from a TensorSliceProto for a tensor of that shape."""
    extents = [Message(e) for e in Message(message).all_bytes(1)]
    if len(extents) != len(shape):
        raise DamagedError(f"a slice of {len(extents)} dimensions of a tensor of shape {shape}")
    start = tuple(e.signed(1) for e in extents)
    size = tuple(e.signed(2, n) for e, n in zip(extents, shape, strict=True))
    if any(a < 0 or k < 0 or a + k > n for a, k, n in zip(start, size, shape, strict=True)):
        raise DamagedError(f"a slice from {start} of {size} of a tensor of shape {shape}")
    return start, size


def slice_key(name: str, message: bytes) -> bytes:
    """Returns the key of a slice in a table; keys sort by name and by the numbers of the slice."""
    text = name.encode().replace(b"\xff", b"\xff\0").replace(b"\0", b"\0\xff")
    extents = [Message(e) for e in Message(message).all_bytes(1)]
    places = b"".join(_signed(e.signed(1)) + _signed(e.signed(2, -1)) for e in extents)
    count = len(extents)
    return b"\0" + text + b"\0\1" + (bytes([1, count]) if count else b"\0") + places


def _signed(value: int) -> bytes:
    """A number as bytes that sort as numbers do; the count of leading one bits gives the count of bytes."""
    magnitude = value if value >= 0 else ~value
    size = next(n for n in range(1, 11) if magnitude < 1 << (7 * n - 1))
    raw = value.to_bytes(size, "big", signed=True)
    mask = ((1 << size) - 1) << (16 - size)
    first = bytes(b ^ m for b, m in zip(raw, mask.to_bytes(2, "big"), strict=False))
    return first + raw[2:]

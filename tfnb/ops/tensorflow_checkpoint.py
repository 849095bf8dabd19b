"""TensorFlow's own checkpoints (V2, "tensor bundles"), read so that models from there come along.

`PREFIX.index` is a sorted table of LevelDB's format: keys are tensor names, values messages that say where in
`PREFIX.data-00000-of-00001` the bytes stand. Invariant: what is read passed TensorFlow's checksums.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfnb.errors import DataLossError, NotFoundError, UnimplementedError
from tfnb.ir.files import os_errors
from tfnb.ops.checkpoint_files import Checkpoint, Entry, Part, index_path
from tfnb.ops.lazy_library import library
from tfnb.types import DType, as_dtype

__all__ = ["TensorFlowCheckpoint", "open_checkpoint"]

_MAGIC = struct.pack("<Q", 0xDB4775248B80FB57)  # the last bytes of such a table
_FOOTER, _TRAILER = 48, 5
_Fields = dict[int, list[Any]]


def open_checkpoint(prefix: str) -> Checkpoint:
    """A checkpoint of ours or of TensorFlow's. Raises `NotFoundError`, `DataLossError`."""
    path = index_path(prefix)
    if os.path.isfile(path):
        with os_errors(path), open(path, "rb") as file:
            file.seek(max(os.path.getsize(path) - len(_MAGIC), 0))
            if file.read() == _MAGIC:
                return TensorFlowCheckpoint(prefix)
    return Checkpoint(prefix)


def _crc(data: bytes) -> int:
    """TensorFlow's masked CRC32C."""
    crc = library("crc32c", "crc32c", "a checkpoint").crc32c(data)
    return int(((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


# ---- the table -----------------------------------------------------------------------------------


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _block(data: bytes, handle: bytes, at: int = 0) -> bytes:
    """The block that a handle (offset, size) names."""
    offset, at = _varint(handle, at)
    size, _ = _varint(handle, at)
    content, kind = data[offset : offset + size], data[offset + size]
    (crc,) = struct.unpack_from("<I", data, offset + size + 1)
    if _crc(data[offset : offset + size + 1]) != crc:
        raise ValueError("a block's checksum does not match")
    if kind != 0:
        raise ValueError("compressed blocks are not understood")
    return content


def _pairs(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block; a key tells only where it differs from the one before."""
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end, at, key = len(block) - 4 - 4 * restarts, 0, b""
    while at < end:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        size, at = _varint(block, at)
        key = key[:shared] + block[at : at + own]
        at += own
        yield key, block[at : at + size]
        at += size


def _table(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    footer = data[-_FOOTER:]
    _, at = _varint(footer, 0)
    _, at = _varint(footer, at)
    for _, handle in _pairs(_block(data, footer, at)):
        yield from _pairs(_block(data, handle))


def _fields(data: bytes) -> _Fields:
    """The fields of a protobuf message by number."""
    found: _Fields = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        value: Any
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 2:
            size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = int.from_bytes(data[at : at + size], "little"), at + size
        else:
            raise ValueError(f"a field of the unknown kind {kind}")
        found.setdefault(key >> 3, []).append(value)
    return found


# ---- tensors -------------------------------------------------------------------------------------


class TensorFlowCheckpoint(Checkpoint):
    """A checkpoint that TensorFlow wrote. Raises `DataLossError` when its index is damaged.

    Tensors of partitioned variables, and of dtypes that are not here, are told by `entries` of no kind: reading one
    raises `UnimplementedError`.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix, self.folder = prefix, os.path.dirname(prefix)
        path = index_path(prefix)
        with os_errors(path), open(path, "rb") as file:
            data = file.read()
        self._strange: set[str] = set()
        self.content = {}
        try:
            table = dict(_table(data))
            count = _fields(table.pop(b"")).get(1, [1])[0]
            self.entries = {}
            for key, value in table.items():
                self._add(key.decode("utf-8", "replace"), _fields(value))
        except (ValueError, IndexError, KeyError, struct.error) as e:
            raise DataLossError(f"{path} is damaged: {e}") from None
        base = os.path.basename(prefix)
        self.shards = [(f"{base}.data-{k:05d}-of-{count:05d}", -1) for k in range(count)]
        self._open: dict[int, Any] = {}

    def _add(self, name: str, entry: _Fields) -> None:
        shape = []
        for message in entry.get(2, []):
            for dim in _fields(message).get(2, []):
                shape.append(_fields(dim).get(1, [0])[0])
        offset, size = entry.get(4, [0])[0], entry.get(5, [0])[0]
        try:
            dtype = as_dtype(int(entry.get(1, [0])[0]))
        except TypeError:
            self._strange.add(name)
            return
        if 7 in entry:  # in slices, under keys of their own
            self._strange.add(name)
            return
        place = Part(
            (0,) * len(shape), tuple(shape), entry.get(3, [0])[0], f"{offset} {size}", entry.get(6, [0])[0]
        )
        self.entries[name] = Entry(dtype, tuple(shape), (place,))

    def entry(self, name: str) -> Entry:
        if name in self._strange:
            raise UnimplementedError(
                f"{name} of TensorFlow's checkpoint {self.prefix} is in slices, or of an unknown dtype"
            )
        return super().entry(name)

    def _part(self, name: str, part: Part, dtype: DType) -> np.ndarray:
        path = self._shard_path(part.shard)
        offset, size = map(int, part.key.split())
        if not os.path.exists(path):
            raise NotFoundError(f"the checkpoint {self.prefix} lacks its shard {path}")
        with os_errors(path), open(path, "rb") as file:
            file.seek(offset)
            data = file.read(size)
        if len(data) != size:
            raise DataLossError(f"{path} ends before the {size} bytes of {name} at {offset}: truncated?")
        try:
            if dtype.is_string:
                return _strings(data, part.shape, part.crc32c)
            if _crc(data) != part.crc32c:
                raise ValueError("the checksum does not match")
            return np.frombuffer(data, dtype.np).reshape(part.shape).copy()
        except (ValueError, IndexError) as e:
            raise DataLossError(f"{path}, {name}: the file is damaged: {e}") from None


def _strings(data: bytes, shape: tuple[int, ...], masked: int) -> np.ndarray:
    """Lengths as varints, a checksum of them, and the strings; the checksum of all takes lengths as 4 or 8 bytes."""
    count = int(np.prod(shape, dtype=np.int64))
    lengths, at = [], 0
    for _ in range(count):
        n, at = _varint(data, at)
        lengths.append(n)
    fixed = b"".join(struct.pack("<I" if n < 1 << 32 else "<Q", n) for n in lengths)
    told = data[at : at + 4]
    at += 4
    if struct.pack("<I", _crc(fixed)) != told or _crc(fixed + told + data[at:]) != masked:
        raise ValueError("the checksum does not match")
    values = np.empty(count, object)
    for i, n in enumerate(lengths):
        values[i] = data[at : at + n]
        at += n
    return values.reshape(shape)

"""TensorFlow's own checkpoints (V2, "tensor bundles"), read so that models from there come along; partitioned ones too.

`PREFIX.index` is a sorted table of LevelDB's format: keys are tensor names, values messages that say where in
`PREFIX.data-00000-of-00001` the bytes stand. Invariant: what is read passed TensorFlow's checksums.
"""

from __future__ import annotations

import os
import struct
from typing import Any

import numpy as np

from tfnb.errors import DataLossError, NotFoundError, UnimplementedError
from tfnb.ir.files import os_errors
from tfnb.ops.checkpoint_files import Checkpoint, Entry, Part, index_path
from tfnb.ops.checkpoint_table import (
    DAMAGED,
    Fields,
    crc,
    ends_with_magic,
    fields,
    slice_key,
    slice_of,
    table,
    varint,
)
from tfnb.ops.checkpoint_v1 import OldCheckpoint, old_files
from tfnb.types import DType, as_dtype

__all__ = ["TensorFlowCheckpoint", "is_checkpoint", "open_checkpoint"]

def open_checkpoint(prefix: str) -> Checkpoint:
    """A checkpoint of ours or of TensorFlow's. Raises `NotFoundError`, `DataLossError`."""
    path = index_path(prefix)
    if not os.path.isfile(path):
        old = old_files(prefix)
        return OldCheckpoint(prefix, old) if old else Checkpoint(prefix)
    return TensorFlowCheckpoint(prefix) if ends_with_magic(path) else Checkpoint(prefix)


def is_checkpoint(prefix: str) -> bool:
    """Is there a checkpoint of that prefix, ours or TensorFlow's?"""
    return os.path.isfile(index_path(prefix)) or bool(old_files(prefix))


class TensorFlowCheckpoint(Checkpoint):
    """A checkpoint that TensorFlow wrote. Raises `DataLossError` when its index is damaged.

    Tensors of dtypes that are not here are not among the `entries`: reading one raises `UnimplementedError`.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix, self.folder = prefix, os.path.dirname(prefix)
        path = index_path(prefix)
        with os_errors(path), open(path, "rb") as file:
            data = file.read()
        self._strange: set[str] = set()
        self.content = {}
        try:
            found = dict(table(data))
            count = fields(found.pop(b"")).get(1, [1])[0]
            self.entries = {}
            for key, value in found.items():
                if key[0]:  # slices have keys that begin with 0
                    self._add(key.decode("utf-8", "replace"), fields(value), found)
        except DAMAGED as e:
            raise DataLossError(f"{path} is damaged: {e}") from None
        base = os.path.basename(prefix)
        self.shards = [(f"{base}.data-{k:05d}-of-{count:05d}", -1) for k in range(count)]
        self._open: dict[int, Any] = {}

    def _add(self, name: str, told: Fields, index: dict[bytes, bytes]) -> None:
        shape = tuple(
            fields(dim).get(1, [0])[0] for message in told.get(2, []) for dim in fields(message).get(2, [])
        )
        try:
            dtype = as_dtype(int(told.get(1, [0])[0]))
        except TypeError:
            self._strange.add(name)
            return
        if 7 in told:  # a partitioned variable: each slice has a key of its own
            parts = [
                _place(fields(index[slice_key(name, message)]), *slice_of(message, shape)) for message in told[7]
            ]
        else:
            parts = [_place(told, (0,) * len(shape), shape)]
        self.entries[name] = Entry(dtype, shape, tuple(parts))

    def entry(self, name: str) -> Entry:
        if name in self._strange:
            raise UnimplementedError(
                f"{name} of TensorFlow's checkpoint {self.prefix} is of an unknown dtype"
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
            if crc(data) != part.crc32c:
                raise ValueError("the checksum does not match")
            return np.frombuffer(data, dtype.np).reshape(part.shape).copy()
        except (ValueError, IndexError) as e:
            raise DataLossError(f"{path}, {name}: the file is damaged: {e}") from None


def _place(told: Fields, start: tuple[int, ...], shape: tuple[int, ...]) -> Part:
    offset, size = told.get(4, [0])[0], told.get(5, [0])[0]
    return Part(start, shape, told.get(3, [0])[0], f"{offset} {size}", told.get(6, [0])[0])


def _strings(data: bytes, shape: tuple[int, ...], masked: int) -> np.ndarray:
    """Lengths as varints, a checksum of them, and the strings; the checksum of all takes lengths as 4 or 8 bytes."""
    count = int(np.prod(shape, dtype=np.int64))
    lengths, at = [], 0
    for _ in range(count):
        n, at = varint(data, at)
        lengths.append(n)
    fixed = b"".join(struct.pack("<I" if n < 1 << 32 else "<Q", n) for n in lengths)
    told = data[at : at + 4]
    at += 4
    if struct.pack("<I", crc(fixed)) != told or crc(fixed + told + data[at:]) != masked:
        raise ValueError("the checksum does not match")
    values = np.empty(count, object)
    for i, n in enumerate(lengths):
        values[i] = data[at : at + n]
        at += n
    return values.reshape(shape)

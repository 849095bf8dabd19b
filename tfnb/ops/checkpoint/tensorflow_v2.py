"""TensorFlow's current checkpoint format (V2, "tensor bundles"), read so that its models can be used.

`PREFIX.index` is a sorted table in LevelDB's format: keys are tensor names, values are messages with the position of
the bytes in `PREFIX.data-00000-of-00001`. Partitioned variables are supported. Invariant: data are used only if
TensorFlow's checksums match.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
from collections.abc import Sequence

import numpy as np

from tfnb.errors import DataLossError, DTypeError, NotFoundError, UnimplementedError
from tfnb.ops.checkpoint.files import Checkpoint, remove_own_checkpoint
from tfnb.ops.checkpoint.index import MAX_PARTS, MAX_SHARDS, Entry, Part, index_path, read_index
from tfnb.ops.checkpoint.leveldb_table import (
    MAGIC,
    MAX_FIELDS,
    DamagedError,
    Message,
    crc,
    shape_of,
    slice_key,
    slice_of,
    table,
    text_of,
    varint,
)
from tfnb.ops.checkpoint.shard import read_at
from tfnb.ops.checkpoint.tensorflow_v1 import OldCheckpoint, old_files
from tfnb.system.files import os_errors
from tfnb.types import ALL, DType, as_dtype

__all__ = ["TensorFlowCheckpoint", "checkpoint_stamp", "is_checkpoint", "open_checkpoint", "remove_checkpoint"]


def open_checkpoint(prefix: str) -> Checkpoint:
    """Opens a checkpoint of tfnb or TensorFlow. Raises `NotFoundError`, or `DataLossError` when it is damaged."""
    if not os.path.isfile(index_path(prefix)):
        old = old_files(prefix)
        return OldCheckpoint(prefix, old) if old else Checkpoint(prefix)
    data = read_index(prefix)
    return TensorFlowCheckpoint(prefix, data) if data.endswith(MAGIC) else Checkpoint(prefix)


def is_checkpoint(prefix: str) -> bool:
    """Returns whether a checkpoint of tfnb or TensorFlow exists under that prefix."""
    return os.path.isfile(index_path(prefix)) or bool(old_files(prefix))


def checkpoint_stamp(prefix: str) -> bytes:
    """Bytes that change with each save of a prefix: the contents of its index (b"" in TensorFlow's V1 format)."""
    return read_index(prefix) if os.path.isfile(index_path(prefix)) else b""


def remove_checkpoint(prefix: str) -> None:
    """Deletes a checkpoint of tfnb or TensorFlow: its index, and the files that belong to this index."""
    with contextlib.suppress(NotFoundError, DataLossError):
        data = read_index(prefix)
        if not data.endswith(MAGIC):
            remove_own_checkpoint(prefix)
            return
        files = TensorFlowCheckpoint(prefix, data).files()
        with contextlib.suppress(OSError):
            os.unlink(index_path(prefix))
            for path in files:
                os.unlink(path)


class TensorFlowCheckpoint(Checkpoint):
    """A checkpoint written by TensorFlow. Raises `DataLossError` when its index is damaged.

    Tensors of dtypes that tfnb does not have are not in `entries`; reading one raises `UnimplementedError`.
    """

    def __init__(self, prefix: str, data: bytes) -> None:
        self.prefix, self.folder = prefix, os.path.dirname(prefix)
        self._strange: set[str] = set()
        self._parts = 0
        self.entries: dict[str, Entry] = {}
        try:
            self._read(data)
        except DamagedError as e:
            raise DataLossError(f"{index_path(prefix)} is damaged: {e}") from None

    def _read(self, data: bytes) -> None:
        """Reads the entries in key order: first "", then slices, whose keys begin with 0, then names of tensors."""
        pairs = table(data)
        key, value = next(pairs, (None, b""))
        if key != b"":
            raise DamagedError("it does not begin with a header")
        self._count = Message(value).number(1, 1)
        if not 0 < self._count <= MAX_SHARDS:
            raise DamagedError(f"it tells of {self._count} shards; at most {MAX_SHARDS} are possible")
        slices: dict[bytes, bytes] = {}
        fields = 0
        for key, value in pairs:
            if key[0] == 0:
                slices[key] = value
            else:
                entry = Message(value, MAX_PARTS)
                fields += entry.size
                self._add(text_of(key), entry, slices)
            if fields > MAX_FIELDS or len(slices) + len(self._strange) + self._parts > MAX_PARTS:
                raise DamagedError(f"it has more than {MAX_PARTS} tensors or parts, or {MAX_FIELDS} fields")

    def _add(self, name: str, entry: Message, slices: dict[bytes, bytes]) -> None:
        try:
            dtype = as_dtype(entry.number(1))
        except DTypeError:
            dtype = None
        if dtype is None or dtype not in ALL:
            self._strange.add(name)
            return
        shape = shape_of(entry.all_bytes(2), dtype)
        parts = []
        for message in entry.all_bytes(7):  # a partitioned variable: each slice has its own key
            start, size = slice_of(message, shape)
            stored = slices.get(slice_key(name, message))
            if stored is None:
                raise DamagedError(f"a slice of {name!r} is missing")
            parts.append(self._place(name, Message(stored), start, size, dtype))
        if 7 not in entry:
            parts.append(self._place(name, entry, (0,) * len(shape), shape, dtype))
        self._parts += len(parts)
        self.entries[name] = Entry(dtype, shape, tuple(parts))

    def _place(self, name: str, entry: Message, start: tuple[int, ...], shape: tuple[int, ...], dtype: DType) -> Part:
        shard, offset, size = entry.signed(3), entry.signed(4), entry.signed(5)
        count = math.prod(shape)
        fits = size >= count if dtype.is_string else size == count * dtype.size
        if not 0 <= shard < self._count or offset < 0 or not fits:
            raise DamagedError(
                f"{name!r} has {count} elements of {dtype.name}, and {size} bytes at byte {offset} of the shard {shard}"
            )
        return Part(start, shape, shard, f"{offset} {size}", entry.number(6))

    def entry(self, name: str) -> Entry:
        if name in self._strange:
            raise UnimplementedError(f"{name} of TensorFlow's checkpoint {self.prefix} is of an unknown dtype")
        return super().entry(name)

    def files(self) -> list[str]:
        """Returns the paths of the data files that the index names."""
        return [self._data_path(k) for k in range(self._count)]

    def _data_path(self, number: int) -> str:
        return f"{self.prefix}.data-{number:05d}-of-{self._count:05d}"

    def _check(self, name: str, entry: Entry, parts: Sequence[Part]) -> None:
        sizes = {p.shard: self._size(self._data_path(p.shard)) for p in parts}
        total = sum(int(p.key.split()[1]) for p in parts)
        if total > sum(sizes.values()):
            raise DataLossError(f"{name} takes {total} bytes of files of {sum(sizes.values())} in {self.prefix}")

    def _size(self, path: str) -> int:
        if not os.path.exists(path):
            raise NotFoundError(f"the checkpoint {self.prefix} lacks its shard {path}")
        with os_errors(path):
            return os.path.getsize(path)

    def _part(self, name: str, part: Part, dtype: DType) -> np.ndarray:
        path = self._data_path(part.shard)
        offset, size = map(int, part.key.split())
        size_on_disk = self._size(path)
        if offset + size > size_on_disk:
            raise DataLossError(
                f"{path} has {size_on_disk} bytes, {name} stands at {offset} to {offset + size}: truncated?"
            )
        with os_errors(path), open(path, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise DataLossError(f"{path} is no regular file")
            data = read_at(path, file.fileno(), offset, size)
        try:
            if dtype.is_string:
                return _strings(data.tobytes(), part.shape, part.crc32c)
            if crc(data) != part.crc32c:
                raise DamagedError("the checksum does not match")
            if dtype.is_bool and data.size and int(data.max()) > 1:
                raise DamagedError("a bool is neither 0 nor 1")
        except DamagedError as e:
            raise DataLossError(f"{path}, {name} at byte {offset}: the file is damaged: {e}") from None
        return data.view(dtype.np).reshape(part.shape)


def _strings(data: bytes, shape: tuple[int, ...], masked: int) -> np.ndarray:
    """Reads strings: varint lengths, a checksum of these, the bytes; the last checksum covers 4- or 8-byte lengths."""
    count = math.prod(shape)
    lengths, at = np.zeros(count, np.int64), 0
    for i in range(count):
        n, at = varint(data, at, len(data))
        if n > len(data):
            raise DamagedError(f"a string of {n} bytes in {len(data)}")
        lengths[i] = n
    fixed = lengths.astype("<u4").tobytes() if len(data) < 1 << 32 else _fixed(lengths)
    checksum = data[at : at + 4]
    at += 4
    if int(lengths.sum()) != len(data) - at:
        raise DamagedError("the strings' lengths do not add up")
    if crc(fixed).to_bytes(4, "little") != checksum or crc(fixed + checksum + data[at:]) != masked:
        raise DamagedError("the checksum does not match")
    values = np.empty(count, object)
    for i, n in enumerate(lengths.tolist()):
        values[i] = data[at : at + n]
        at += n
    return values.reshape(shape)


def _fixed(lengths: np.ndarray) -> bytes:
    """Lengths as 4 bytes each, or 8 bytes where that is needed."""
    return b"".join(n.to_bytes(4 if n < 1 << 32 else 8, "little") for n in lengths.tolist())

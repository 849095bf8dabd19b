"""TensorFlow's first checkpoint format (V1), which is read so that models of 2015 and 2016 can be used.

A file, or one file per shard, is a sorted table in LevelDB's format: the key "" holds the list of tensors, every other
key one slice with its values. Invariant: data are used only if the checksums of their blocks match.
"""

from __future__ import annotations

import glob
import importlib
import math
import os
import re
from collections.abc import Iterator, Sequence

import numpy as np

from tfnb.errors import DataLossError, DTypeError, NotFoundError, OpError, UnimplementedError
from tfnb.ir.graphdef.tensor_proto import decode_array
from tfnb.ir.protos import proto
from tfnb.ops.checkpoint.files import Checkpoint
from tfnb.ops.checkpoint.index import MAX_PARTS, Entry, Part, read_bounded
from tfnb.ops.checkpoint.leveldb_table import (
    MAGIC,
    MAX_FIELDS,
    DamagedError,
    Message,
    shape_of,
    slice_of,
    table,
    text_of,
)
from tfnb.system.files import os_errors
from tfnb.types import ALL, DType, as_dtype

__all__ = ["OldCheckpoint", "old_files"]

MAX_OLD_BYTES = 1 << 32  # the most bytes of one file, which contains the values and is read at once
_SHARD = re.compile(r"-\d{5}-of-\d{5}")


def old_files(prefix: str) -> list[str]:
    """Returns the files of a checkpoint in the V1 format, or an empty list. `prefix` may be a pattern of shards."""
    if os.path.isfile(prefix):
        paths = [prefix]
    elif "?" in prefix:
        paths = sorted(glob.glob(prefix))
    else:
        shards = glob.glob(glob.escape(prefix) + "-?????-of-?????")
        paths = sorted(path for path in shards if _SHARD.fullmatch(path[len(prefix) :]))
    return paths if paths and all(map(_ends_with_magic, paths)) else []


def _ends_with_magic(path: str) -> bool:
    """Returns whether the file is a table, by its last bytes."""
    if not os.path.isfile(path):
        return False
    with os_errors(path), open(path, "rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - len(MAGIC), 0))
        return file.read(len(MAGIC)) == MAGIC


class OldCheckpoint(Checkpoint):
    """A checkpoint in TensorFlow's V1 format. Raises `NotFoundError`, or `DataLossError` when a file is damaged."""

    def __init__(self, prefix: str, files: Sequence[str]) -> None:
        self.prefix, self.folder = prefix, os.path.dirname(prefix)
        if not files:
            raise NotFoundError(f"there is no checkpoint {prefix}")
        self.entries: dict[str, Entry] = {}
        self._strange: set[str] = set()
        self._values: dict[str, dict[tuple[tuple[int, ...], tuple[int, ...]], bytes]] = {}
        self._count = self._fields = 0
        for path in files:
            data = read_bounded(path, MAX_OLD_BYTES, "a file of an old checkpoint")
            try:
                self._read(table(data))
            except DamagedError as e:
                raise DataLossError(f"{path} is damaged: {e}") from None

    def _read(self, pairs: Iterator[tuple[bytes, bytes]]) -> None:
        """Reads the entries; the key "" comes first, so all tensors are known before their slices."""
        for key, value in pairs:
            value_message = Message(value)
            if key == b"":
                for message in Message(value_message.one_bytes(1), MAX_PARTS).all_bytes(1):
                    self._add(Message(message, MAX_PARTS))
                continue
            piece = Message(value_message.one_bytes(2))
            name = text_of(piece.one_bytes(1))
            self._counted()
            if name in self.entries:
                place = slice_of(piece.one_bytes(2), self.entries[name].shape)
                self._values.setdefault(name, {})[place] = piece.one_bytes(3)
            elif name not in self._strange:
                raise DamagedError(f"a slice of {name!r}, which is not among the tensors")

    def _counted(self, fields: int = 0) -> None:
        self._count += 1
        self._fields += fields
        if self._count > MAX_PARTS or self._fields > MAX_FIELDS:
            raise DamagedError(f"it has more than {MAX_PARTS} tensors and slices, or {MAX_FIELDS} fields")

    def _add(self, tensor: Message) -> None:
        name = text_of(tensor.one_bytes(1))
        self._counted(tensor.size)
        try:
            dtype = as_dtype(tensor.number(3))
        except DTypeError:
            dtype = None
        if dtype is None or dtype not in ALL:
            self._strange.add(name)
            return
        shape = shape_of(tensor.all_bytes(2), dtype)
        earlier = self.entries.get(name)
        if earlier is not None and (earlier.dtype, earlier.shape) != (dtype, shape):
            raise DamagedError(f"{name!r} has two shapes or dtypes")
        parts = [] if earlier is None else list(earlier.parts)
        for message in tensor.all_bytes(4):
            self._counted()
            parts.append(Part(*slice_of(message, shape), 0, name, 0))
        self.entries[name] = Entry(dtype, shape, tuple(parts))

    def entry(self, name: str) -> Entry:
        if name in self._strange:
            raise UnimplementedError(f"{name} of TensorFlow's checkpoint {self.prefix} is of an unknown dtype")
        return super().entry(name)

    def _value(self, name: str, part: Part, dtype: DType) -> bytes:
        """The TensorProto of a slice. Raises `DataLossError` when it is missing or too short for its contents."""
        data = self._values.get(name, {}).get((part.start, part.shape))
        if data is None:
            raise DataLossError(f"{self.prefix} lacks a slice of {name} that it tells of")
        if math.prod(part.shape) > len(data):  # an element takes at least one byte
            raise DataLossError(f"{self.prefix}: {name} of shape {part.shape} is damaged: it has {len(data)} bytes")
        return data

    def _check(self, name: str, entry: Entry, parts: Sequence[Part]) -> None:
        for p in parts:
            self._value(name, p, entry.dtype)

    def _part(self, name: str, part: Part, dtype: DType) -> np.ndarray:
        message = proto("tensor").TensorProto()
        try:
            message.ParseFromString(self._value(name, part, dtype))
            message.dtype = dtype.enum
            del message.tensor_shape.dim[:]
            message.tensor_shape.unknown_rank = False
            for n in part.shape:
                message.tensor_shape.dim.add(size=n)
            return np.array(decode_array(message))
        except (OpError, importlib.import_module("google.protobuf.message").DecodeError) as e:
            raise DataLossError(f"{self.prefix}: {name} is damaged: {e}") from None

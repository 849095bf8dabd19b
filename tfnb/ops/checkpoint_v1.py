"""TensorFlow's first checkpoint format (V1), read so that models of 2015 and 2016 come along.

A file, or one per shard, is a sorted table of LevelDB's format: under "" stands what tensors there are, under the other
keys a slice each, values and all. Invariant: what is read passed the checksums of its blocks.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import DataLossError, NotFoundError, OpError, UnimplementedError
from tfnb.ir.files import os_errors
from tfnb.ir.graphdef.tensor_proto import decode_array
from tfnb.ir.protos import proto
from tfnb.ops.checkpoint_files import Checkpoint, Entry, Part
from tfnb.ops.checkpoint_table import DAMAGED, Fields, ends_with_magic, fields, slice_of, table
from tfnb.types import DType, as_dtype

__all__ = ["OldCheckpoint", "old_files"]


def old_files(prefix: str) -> list[str]:
    """The files of a checkpoint in the old format; none when there is none. `prefix` may be a pattern of shards."""
    if os.path.isfile(prefix):
        found = [prefix]
    elif "?" in prefix:
        found = sorted(glob.glob(prefix))
    else:
        found = sorted(glob.glob(glob.escape(prefix) + "-?????-of-?????"))
    return found if found and all(map(ends_with_magic, found)) else []


class OldCheckpoint(Checkpoint):
    """A checkpoint in TensorFlow's old format. Raises `NotFoundError`, or `DataLossError` when a file is damaged."""

    def __init__(self, prefix: str, files: Sequence[str]) -> None:
        self.prefix, self.folder = prefix, os.path.dirname(prefix)
        if not files:
            raise NotFoundError(f"there is no checkpoint {prefix}")
        self.content = {}
        self.shards = [(os.path.basename(f), -1) for f in files]
        self.entries = {}
        self._strange: set[str] = set()
        self._slices: dict[str, list[bytes]] = {}
        self._open: dict[int, Any] = {}
        for path in files:
            with os_errors(path), open(path, "rb") as file:
                data = file.read()
            try:
                self._read(table(data))
            except DAMAGED as e:
                raise DataLossError(f"{path} is damaged: {e}") from None

    def _read(self, pairs: Any) -> None:
        for key, value in pairs:
            found = fields(value)
            if key == b"":
                for told in fields(found[1][0]).get(1, []):
                    self._add(fields(told))
            else:
                piece = fields(found[2][0])
                self._slices.setdefault(piece[1][0].decode(), []).append(found[2][0])

    def _add(self, told: Fields) -> None:
        name = told[1][0].decode()
        shape = tuple(
            fields(dim).get(1, [0])[0] for message in told.get(2, []) for dim in fields(message).get(2, [])
        )
        try:
            dtype = as_dtype(int(told[3][0]))
        except TypeError:
            self._strange.add(name)
            return
        before = self.entries.get(name)
        parts = [] if before is None else list(before.parts)
        for message in told.get(4, []):
            start, size = slice_of(message, shape)
            parts.append(Part(start, size, 0, name, 0))
        self.entries[name] = Entry(dtype, shape, tuple(parts))

    def entry(self, name: str) -> Entry:
        if name in self._strange:
            raise UnimplementedError(f"{name} of TensorFlow's checkpoint {self.prefix} is of an unknown dtype")
        return super().entry(name)

    def _part(self, name: str, part: Part, dtype: DType) -> np.ndarray:
        shape = self.entries[name].shape
        for data in self._slices.get(name, []):
            piece = fields(data)
            if slice_of(piece[2][0], shape) == (part.start, part.shape):
                return self._decoded(name, piece, part, dtype)
        raise DataLossError(f"{self.prefix} lacks a slice of {name} that it tells of")

    def _decoded(self, name: str, piece: Fields, part: Part, dtype: DType) -> np.ndarray:
        message = proto("tensor").TensorProto()
        try:
            message.ParseFromString(piece[3][0])
            message.dtype = dtype.enum
            del message.tensor_shape.dim[:]
            for n in part.shape:
                message.tensor_shape.dim.add(size=n)
            return np.array(decode_array(message))
        except (OpError, *DAMAGED) as e:
            raise DataLossError(f"{self.prefix}: {name} is damaged: {e}") from None

"""Data sets whose elements are cached: in memory, or in a file that persists after the process (`tf.data`).

A cache file consists of TFRecords; each holds the components of one element, as TensorProtos preceded by their lengths;
the arrays in variants, which carry sparse tensors, are TensorProtos in the strings of one. Invariant: the file gets its
final name only after a complete pass; elements are read only if their checksums match.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tfnb.errors import DataLossError, OpError, UnimplementedError
from tfnb.ir.graphdef.tensor_proto import decode_array, encode_array
from tfnb.ir.protos import proto
from tfnb.ops.checkpoint.files import sweep
from tfnb.ops.dataset.sources import Element, Rows, Source
from tfnb.ops.dataset.transforms import Over, Steps, each
from tfnb.ops.io.record_files import TFRecordFile, masked_crc
from tfnb.system.files import os_errors, sync_folder
from tfnb.system.scratch import Scratch
from tfnb.types import DType, variant

__all__ = ["Cached", "FileCached"]

_AT_ONCE = 64  # records


class Cached(Over):
    """Caches the elements of the first complete pass in memory for later passes."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._kept: list[Element] | None = None

    def rows(self) -> Rows:
        if self._kept is not None:
            return Steps(iter(self._kept))
        rows = self.source.rows()
        return Steps(self._walk(rows), rows)

    def _walk(self, rows: Rows) -> Iterator[Element]:
        elements = []
        for element in each(rows):
            elements.append(element)
            yield element
        self._kept = elements


class FileCached(Over):
    """Caches the elements of the first complete pass in a file, which later passes and later processes read."""

    def __init__(self, source: Source, path: str, dtypes: Sequence[DType]) -> None:
        super().__init__(source)
        self._path, self._dtypes = path, tuple(dtypes)

    def rows(self) -> Rows:
        if os.path.exists(self._path):
            return Steps(self._read())
        rows = self.source.rows()
        return Steps(self._write(rows), rows)

    def _write(self, rows: Rows) -> Iterator[Element]:
        folder = os.path.dirname(self._path)
        with os_errors(self._path), Scratch(self._path) as scratch:
            path = scratch.file("elements")
            with open(path, "xb") as file:
                for element in each(rows):
                    file.write(_framed(_encoded(element, self._dtypes)))
                    yield element
                file.flush()
                os.fsync(file.fileno())
            os.replace(path, self._path)
        sync_folder(folder)
        sweep(folder)

    def _read(self) -> Iterator[Element]:
        file = TFRecordFile(self._path)
        try:
            while records := file.take(_AT_ONCE):
                for record in records:
                    yield self._decoded(record)
        finally:
            file.close()

    def _decoded(self, record: bytes) -> Element:
        components: list[Any] = []
        at = 0
        try:
            while at < len(record):
                (size,) = struct.unpack_from("<Q", record, at)
                components.append(_array(record[at + 8 : at + 8 + size]))
                at += 8 + size
            for k, dtype in enumerate(self._dtypes):
                if dtype is variant:
                    components[k] = _each(_array, components[k])
            if tuple(a.dtype for a in components) != tuple(d.np for d in self._dtypes):
                raise ValueError(
                    f"it holds {[a.dtype.name for a in components]}, needed {[d.name for d in self._dtypes]}"
                )
        except OpError as e:
            raise DataLossError(f"{self._path} is no cache of this data set: {e}") from None
        except Exception as e:  # an error class of protobuf
            raise DataLossError(f"{self._path} is no cache of this data set: {e}") from None
        return tuple(components)


def _encoded(element: Element, dtypes: Sequence[DType]) -> bytes:
    parts = []
    for value, dtype in zip(element, dtypes, strict=True):
        array = np.asarray(value, dtype.np)
        data = _text(_each(_text, array) if dtype is variant else array)
        parts += [struct.pack("<Q", len(data)), data]
    return b"".join(parts)


def _text(array: object) -> bytes:
    """Returns the TensorProto of an array. Raises `UnimplementedError` for any other object, such as a data set."""
    if not isinstance(array, np.ndarray):
        raise UnimplementedError(f"a cache in a file holds tensors and sparse tensors, got {type(array).__name__}")
    return bytes(encode_array(array).SerializeToString())


def _array(data: bytes) -> np.ndarray:
    return np.array(decode_array(proto("tensor").TensorProto.FromString(data)))


def _each(function: Callable[[Any], Any], objects: np.ndarray) -> np.ndarray:
    """Returns an array of the results of a function of each object."""
    results = np.empty(objects.shape, object)
    for place in np.ndindex(objects.shape):
        results[place] = function(objects[place])
    return results


def _framed(data: bytes) -> bytes:
    head = struct.pack("<Q", len(data))
    return b"".join((head, struct.pack("<I", masked_crc(head)), data, struct.pack("<I", masked_crc(data))))

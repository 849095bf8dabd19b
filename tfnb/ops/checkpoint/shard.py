"""A shard of a checkpoint: a safetensors file, which is a JSON header followed by the bytes of tensors.

It is written and read here instead of by the library: the library's writer copies every tensor and holds Python's
global lock meanwhile, which blocks concurrent training steps, and its reader maps the file, so a file that is truncated
during reading kills the process. Invariant: values are inside the file as the header says, and no two overlap.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import stat
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.errors import DataLossError, InvalidArgumentError, NotFoundError
from tfnb.ops.checkpoint.index import MAX_INDEX_BYTES, MAX_PARTS, Text
from tfnb.system.files import os_errors
from tfnb.types import DType

__all__ = ["Shards", "from_stored", "read_at", "to_stored", "write_shard"]

_PIECE = 1 << 22  # the number of bytes written or read at once
_KEPT_OPEN = 256  # the most shards of a checkpoint kept open: a process may have about 1,000 open files
_TYPES = {
    "f8": "F64",
    "f4": "F32",
    "f2": "F16",
    "i8": "I64",
    "i4": "I32",
    "i2": "I16",
    "i1": "I8",
    "u8": "U64",
    "u4": "U32",
    "u2": "U16",
    "u1": "U8",
    "b1": "BOOL",
}
_Place = tuple[str, tuple[int, ...], int, int]  # dtype, shape, first byte and end of the bytes in the file


# ---- conversion of values to stored form ----------------------------------------------------------


def to_stored(array: np.ndarray) -> np.ndarray:
    """Converts a value to a dtype of safetensors: strings to lengths and bytes, complex numbers to pairs."""
    if array.dtype == object:
        parts = [bytes(x) for x in array.reshape(-1)]
        lengths = np.array([len(p) for p in parts], "<i8").tobytes()
        return np.frombuffer(lengths + b"".join(parts), np.uint8)
    dense = np.ascontiguousarray(array).reshape(array.shape)
    if array.dtype.kind == "c":
        return dense.reshape(*array.shape, 1).view(np.dtype(f"f{array.dtype.itemsize // 2}"))
    return dense.view(np.uint16) if array.dtype.kind == "V" else dense  # bfloat16


def from_stored(data: np.ndarray, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """Converts stored data back to a value; the inverse of `to_stored`.

    Raises `ValueError` when the bytes are not such a value.
    """
    if not dtype.is_string:
        if dtype.is_bool and data.size and int(data.max()) > 1:
            raise ValueError("a bool is neither 0 nor 1")
        return data.view(dtype.np).reshape(shape)
    count = math.prod(shape)
    if 8 * count > data.size:
        raise ValueError(f"{count} strings do not fit into {data.size} bytes")
    lengths = data[: 8 * count].view("<i8")
    rest = data.size - 8 * count
    if count and (int(lengths.min()) < 0 or int(lengths.max()) > rest) or int(lengths.sum()) != rest:
        raise ValueError("the strings' lengths do not add up")
    ends = np.cumsum(lengths) + 8 * count
    begins = ends - lengths
    content = data.tobytes()
    values = np.empty(count, object)
    values[:] = [content[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
    return values.reshape(shape)


def _form(dtype: DType, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...] | None]:
    """The stored dtype and shape of a value; strings have any length."""
    if dtype.is_string:
        return "U8", None
    if dtype.is_complex:
        return _TYPES[f"f{dtype.size // 2}"], (*shape, 2)
    return ("U16" if dtype.np.kind == "V" else _TYPES[dtype.np.str[1:]]), shape


# ---- writing -------------------------------------------------------------------------------------


def write_shard(path: str, stored: Mapping[str, np.ndarray]) -> None:
    """Writes a new file and syncs it to disk. Raises `OSError`, or `InvalidArgumentError` for too large a header."""
    header: dict[str, Any] = {}
    at = 0
    for name, array in stored.items():
        kind = _TYPES[array.dtype.str[1:]]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_INDEX_BYTES:
        raise InvalidArgumentError(f"the names in a shard take {len(text)} bytes, the limit is {MAX_INDEX_BYTES}")
    with open(path, "xb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in stored.values():
            data: Any = array.reshape(-1).view(np.uint8).data if array.size else b""
            for begin in range(0, len(data), _PIECE):
                file.write(data[begin : begin + _PIECE])
        file.flush()
        os.fsync(file.fileno())


# ---- reading -------------------------------------------------------------------------------------


class Shards:
    """The shards of a checkpoint in a folder, all opened at once, so that they stay readable if a save replaces them.

    Errors of a shard are raised when one of its values is read: `NotFoundError` (no file), `DataLossError` (damaged, a
    size other than in the index, not a regular file), `PermissionDeniedError`, ...
    """

    def __init__(self, prefix: str, folder: str, shards: Sequence[tuple[str, int]]) -> None:
        self._prefix, self._folder, self._shards = prefix, folder, shards
        self._places: dict[int, dict[str, _Place]] = {}
        self._handles: dict[int, int] = {}
        self.is_complete = True  # false if a shard could not be opened
        weakref.finalize(self, _close_all, self._handles)
        for number in range(min(len(shards), _KEPT_OPEN)):
            try:
                self._handles[number] = self._open(number)
            except NotFoundError:
                self.is_complete = False
            except (OSError, DataLossError):
                continue  # the error is raised when a value is read

    def path(self, number: int) -> str:
        """Returns where a shard is: under its name in the index, or, if all files were renamed, under the prefix."""
        name = self._shards[number][0]
        path = os.path.join(self._folder, name)
        _, mark, end = name.rpartition(".data-")
        renamed = os.path.join(self._folder, f"{os.path.basename(self._prefix)}{mark}{end}")
        return renamed if mark and not os.path.lexists(path) and os.path.lexists(renamed) else path

    def _open(self, number: int) -> int:
        path, size = self.path(number), self._shards[number][1]
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            raise NotFoundError(f"the checkpoint {self._prefix} lacks its shard {path}") from None
        except OSError as e:
            if os.path.islink(path):
                raise DataLossError(f"{path} is a link; a shard must be a regular file beside its index") from None
            raise e
        status = os.fstat(handle)
        if stat.S_ISREG(status.st_mode) and status.st_size == size:
            return handle
        os.close(handle)
        if not stat.S_ISREG(status.st_mode):
            raise DataLossError(f"{path} is no regular file; a shard must be one")
        raise DataLossError(f"{path} has {status.st_size} bytes, the index says {size}: truncated?")

    def check(self, number: int, key: str, dtype: DType, shape: tuple[int, ...]) -> None:
        """Raises the errors of `read`, as far as they can be detected without reading the value."""
        with self._opened(number) as handle:
            self._find(handle, number, key, dtype, shape)

    def read(self, number: int, key: str, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
        """Returns the bytes of a value of that dtype and shape."""
        with self._opened(number) as handle:
            begin, end = self._find(handle, number, key, dtype, shape)
            return read_at(self.path(number), handle, begin, end - begin)

    @contextlib.contextmanager
    def _opened(self, number: int) -> Iterator[int]:
        with contextlib.ExitStack() as stack:
            stack.enter_context(os_errors(self.path(number)))
            handle = self._handles.get(number)
            if handle is None:
                handle = self._open(number)
                stack.callback(os.close, handle)
            yield handle

    def _find(self, handle: int, number: int, key: str, dtype: DType, shape: tuple[int, ...]) -> tuple[int, int]:
        """The first byte of a value, and the end of its bytes."""
        path = self.path(number)
        if number not in self._places:
            self._places[number] = _header(path, handle, self._shards[number][1])
        place = self._places[number].get(key)
        if place is None:
            raise DataLossError(f"{path} holds no {key!r}, which the index tells of")
        kind, actual, begin, end = place
        needed, form = _form(dtype, shape)
        if kind != needed or form not in (None, actual) or (form is None and end - begin < 8 * math.prod(shape)):
            raise DataLossError(
                f"{path} holds {key!r} as {kind} of shape {actual}; the index tells of {dtype.name} of shape {shape}"
            )
        return begin, end


def read_at(path: str, handle: int, begin: int, size: int) -> np.ndarray:
    """Reads `size` bytes of an open file that had enough bytes when it was checked. Raises `DataLossError`."""
    data = np.empty(size, np.uint8)
    view, at = data.data, 0
    while at < size:
        count = os.preadv(handle, [view[at : at + _PIECE]], begin + at)
        if not count:
            raise DataLossError(f"{path} ends at byte {begin + at}, inside of a value: truncated?")
        at += count
    return data


def _close_all(handles: dict[int, int]) -> None:
    for handle in handles.values():
        os.close(handle)


_ENTRY = re.compile(
    r': ?\{"dtype": ?"(\w{1,8})", ?"shape": ?\[((?:\d{1,18}, ?){0,63}\d{1,18}|)\], ?"data_offsets": ?'
    r"\[(\d{1,18}), ?(\d{1,18})\]\}"
)
_OPEN, _CLOSE = re.compile(r"\{"), re.compile(r"\}")
_SIZES = {kind: int(name[1:]) for name, kind in _TYPES.items()}


def _header(path: str, handle: int, size: int) -> dict[str, _Place]:
    """The position of each value. Raises `DataLossError` when the header is damaged or does not match the file."""
    length = int.from_bytes(os.pread(handle, 8, 0), "little")
    if length > min(MAX_INDEX_BYTES, size - 8):
        raise DataLossError(
            f"{path}, byte 0: a header of {length} bytes in a file of {size}; the limit is {MAX_INDEX_BYTES}"
        )
    data = os.pread(handle, 8 + length, 0)
    text = Text(path, data, 8, len(data), "the header of the shard")
    places: dict[str, _Place] = {}
    at = begin = 8 + length
    text.take(_OPEN)
    while text.goes_on("}", not places):
        key = text.string()
        if key in places or len(places) == MAX_PARTS:
            raise text.fail(f"{key!r} is there twice, or there are more than {MAX_PARTS} values")
        match = text.take(_ENTRY)
        kind, shape = match[1], text.counts(match[2])
        first, last = begin + int(match[3]), begin + int(match[4])
        if kind not in _SIZES:
            raise text.fail(f"{key!r} has the dtype {kind!r}, which no shard of tfnb's has")
        if first != at or last - first != math.prod(shape) * _SIZES[kind] or last > size:
            raise text.fail(
                f"{key!r} stands at the bytes {first} to {last} of {size}, which does not fit {kind} of shape {shape}"
            )
        places[key] = kind, shape, first, last
        at = last
    text.take(_CLOSE)
    text.end()
    if at != size:
        raise text.fail(f"the values end at byte {at}, the file at byte {size}")
    return places

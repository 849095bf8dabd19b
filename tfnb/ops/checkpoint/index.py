"""The index of a checkpoint: its shards, and the tensors and parts that they contain (OSDI'16, section 4.3).

The index is a line of JSON, in exactly the form that this module writes, with a CRC32C. Only the class `Text` parses
it, piece by piece, so no object is built from text that has not been verified. Invariant: an `Index` that was read is
consistent: parts lie inside their tensor, and shards are plain names of files beside the index.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Mapping, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from tfnb.errors import DataLossError, InvalidArgumentError, NotFoundError
from tfnb.ir.record import record
from tfnb.ops.lazy_library import library
from tfnb.system.files import os_errors
from tfnb.types import ALL, DType

__all__ = [
    "MAX_DIMENSIONS",
    "MAX_INDEX_BYTES",
    "MAX_PARTS",
    "MAX_SHARDS",
    "Entry",
    "Index",
    "Part",
    "Text",
    "index_path",
    "parse_index",
    "read_bounded",
    "read_index",
    "shard_name",
    "shards_of",
]

MAX_INDEX_BYTES = 1 << 26  # the most bytes of the index file, and of the header of a shard
MAX_PARTS = 1 << 16  # the most parts of tensors, and tensors, in a checkpoint: a part takes half a kilobyte of memory
MAX_SHARDS = 1 << 16
MAX_DIMENSIONS = 32  # the limit that all versions of NumPy support
_LARGEST = 1 << 62  # bytes of a tensor: more than any file has, but still a 64-bit number
_FORMAT = "tfnb checkpoint 1"
_DTYPES = {d.name: d for d in ALL}


@record
class Part:
    """A block of a tensor: its start, shape, shard number, key in the shard, and CRC32C."""

    start: tuple[int, ...]
    shape: tuple[int, ...]
    shard: int
    key: str
    crc32c: int


@record
class Entry:
    """A tensor of a checkpoint: its dtype, shape and parts."""

    dtype: DType
    shape: tuple[int, ...]
    parts: tuple[Part, ...]


def index_path(prefix: str) -> str:
    """Returns the path of the index of the checkpoint with this prefix."""
    return prefix + ".index"


def shard_name(prefix: str, number: int, count: int, token: str) -> str:
    """Returns the name of a shard; the token is random for each save, so no name is ever reused."""
    return f"{os.path.basename(prefix)}.data-{number:05d}-of-{count:05d}-{token}.safetensors"


@record
class Index:
    """The shards as file names with their sizes in bytes, and the tensors by name."""

    shards: Sequence[tuple[str, int]]
    entries: Mapping[str, Entry]

    def content(self) -> dict[str, Any]:
        """Returns the contents of the file, as values of JSON."""
        tensors = {
            name: {
                "dtype": e.dtype.name,
                "shape": list(e.shape),
                "parts": [
                    {
                        "start": list(p.start),
                        "shape": list(p.shape),
                        "shard": p.shard,
                        "key": p.key,
                        "crc32c": p.crc32c,
                    }
                    for p in e.parts
                ],
            }
            for name, e in self.entries.items()
        }
        return {
            "format": _FORMAT,
            "shards": [{"file": f, "bytes": n} for f, n in self.shards],
            "tensors": tensors,
        }

    def to_bytes(self) -> bytes:
        """Returns the bytes of the file.

        Raises `InvalidArgumentError` for an index that would be too large to be read.
        """
        parts = sum(len(e.parts) for e in self.entries.values())
        if max(parts, len(self.entries)) > MAX_PARTS or len(self.shards) > MAX_SHARDS:
            raise InvalidArgumentError(
                f"a checkpoint of {len(self.entries)} tensors in {parts} parts and {len(self.shards)} shards; at most "
                f"{MAX_PARTS} tensors or parts and {MAX_SHARDS} shards are possible"
            )
        deep = [n for n, e in self.entries.items() if len(e.shape) > MAX_DIMENSIONS]
        if deep:
            raise InvalidArgumentError(f"{deep[0]} has more than {MAX_DIMENSIONS} dimensions: it cannot be saved")
        text = json.dumps(self.content(), separators=(",", ":")).encode()
        if len(text) > MAX_INDEX_BYTES - 64:
            raise InvalidArgumentError(f"an index of {len(text)} bytes; at most {MAX_INDEX_BYTES} are possible")
        return b'{"crc32c":%d,"content":%s}\n' % (_crc32c(text), text)


def _crc32c(data: bytes | memoryview) -> int:
    return int(library("crc32c", "crc32c", "a checkpoint").crc32c(data))


def shards_of(prefix: str, index: Index) -> list[str]:
    """Returns the names of the shards that saves of this prefix wrote; an index may name others too."""
    pattern = re.compile(
        re.escape(os.path.basename(prefix)) + r"\.data-\d{5,}-of-\d{5,}-([0-9a-f]{8}){1,2}\.safetensors"
    )
    return [name for name, _ in index.shards if pattern.fullmatch(name)]


# ---- reading -------------------------------------------------------------------------------------


def read_bounded(path: str, limit: int, what: str) -> bytes:
    """Returns the bytes of a regular file.

    Raises `DataLossError` if there are more than `limit`, `NotFoundError` if there is no file, and similar errors.
    """
    with os_errors(path):
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise DataLossError(f"{path} is no regular file")
            if status.st_size > limit:
                raise DataLossError(f"{path} has {status.st_size} bytes; {what} has at most {limit}")
            return file.read(status.st_size)


def read_index(prefix: str) -> bytes:
    """Returns the bytes of a checkpoint's index. Raises `NotFoundError`, or `DataLossError` when it is too large."""
    path = index_path(prefix)
    if not os.path.exists(path):
        raise NotFoundError(
            f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {prefix}: there is no "
            f"checkpoint {prefix} (no file {path})"
        )
    return read_bounded(path, MAX_INDEX_BYTES, "a checkpoint's index")


_OUTER = re.compile(rb'\{"crc32c": ?(\d{1,10}), ?"content": ?')
_COUNTS = rf"\[((?:\d{{1,18}}, ?){{0,{MAX_DIMENSIONS - 1}}}\d{{1,18}}|)\]"
_HEAD = re.compile(r'\{"format": ?')
_SHARDS = re.compile(r', ?"shards": ?\[')
_FILE = re.compile(r'\{"file": ?')
_BYTES = re.compile(r', ?"bytes": ?(\d{1,18})\}')
_TENSORS = re.compile(r'\], ?"tensors": ?\{')
_ENTRY = re.compile(r': ?\{"dtype": ?"(\w{1,20})", ?"shape": ?' + _COUNTS + r', ?"parts": ?\[')
_PART = re.compile(r'\{"start": ?' + _COUNTS + r', ?"shape": ?' + _COUNTS + r', ?"shard": ?(\d{1,9}), ?"key": ?')
_CRC = re.compile(r', ?"crc32c": ?(\d{1,10})\}')
_COMMA = re.compile(", ?")
_END_PARTS, _END = re.compile(r"\]\}"), re.compile(r"\}\}")


class Text:
    """A parser of JSON text from beginning to end. Raises `DataLossError` with the position."""

    def __init__(self, path: str, data: bytes, begin: int, end: int, what: str) -> None:
        self._path, self._begin, self._what = path, begin, what
        self._at = 0
        self._counts: dict[str, tuple[int, ...]] = {"": ()}  # the same shapes occur many times
        try:
            self._text = str(memoryview(data)[begin:end], "ascii")
        except UnicodeDecodeError as e:
            raise DataLossError(f"{path}, byte {begin + e.start}: {what} is damaged: it is not ASCII") from None

    def fail(self, problem: str) -> DataLossError:
        """Returns the error to raise for the current position, with the text `problem`."""
        return DataLossError(f"{self._path}, byte {self._begin + self._at}: {self._what} is damaged: {problem}")

    def take(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Consumes a match of the pattern, which is required at the current position."""
        match = pattern.match(self._text, self._at)
        if match is None:
            there = self._text[self._at : self._at + 40]
            raise self.fail(f"{there!r} stands where {pattern.pattern!r} must stand")
        self._at = match.end()
        return match

    def goes_on(self, close: str, first: bool) -> bool:
        """Returns whether another member of a list or object follows, which is false at the bracket `close`."""
        if self._text.startswith(close, self._at):
            return False
        if not first:
            self.take(_COMMA)
        return True

    def string(self) -> str:
        """Consumes a string, which is required at the current position."""
        if not self._text.startswith('"', self._at):
            raise self.fail(f"{self._text[self._at : self._at + 40]!r} stands where a string must stand")
        try:
            text, self._at = scanstring(self._text, self._at + 1, True)
        except ValueError as e:
            raise self.fail(str(e)) from None
        return str(text)

    def counts(self, text: str) -> tuple[int, ...]:
        """Returns the numbers of a list, from its text."""
        numbers = self._counts.get(text)
        if numbers is None:
            numbers = self._counts[text] = tuple(map(int, text.split(",")))
        return numbers

    def end(self) -> None:
        """Requires that only white space follows."""
        if self._text[self._at :].strip(" \n"):
            raise self.fail("something stands behind the end")


def parse_index(path: str, data: bytes) -> Index:
    """Parses the bytes of an index. Raises `DataLossError` when they are damaged or inconsistent."""
    outer, end = _OUTER.match(data), data.rstrip(b"\n ").rfind(b"}")
    if outer is None or end < outer.end() or not data.endswith((b"}\n", b"}")):
        raise DataLossError(f"{path} is truncated, damaged, or no index of tfnb's")
    if _crc32c(memoryview(data)[outer.end() : end]) != int(outer[1]):
        raise DataLossError(f"{path}: the checksum of the index does not match: the file is damaged")
    text = Text(path, data, outer.end(), end, "the index")
    text.take(_HEAD)
    version = text.string()
    if version != _FORMAT:
        raise DataLossError(f"{path} has the format {version!r}, known is {_FORMAT!r}")
    text.take(_SHARDS)
    shards: list[tuple[str, int]] = []
    while text.goes_on("]", not shards):
        if len(shards) == MAX_SHARDS:
            raise text.fail(f"there are more than {MAX_SHARDS} shards")
        text.take(_FILE)
        name = _plain_name(text, text.string())
        shards.append((name, int(text.take(_BYTES)[1])))
    text.take(_TENSORS)
    entries: dict[str, Entry] = {}
    reader = _Entries(text, len(shards))
    while text.goes_on("}", not entries):
        name = text.string()
        if name in entries:
            raise text.fail(f"the tensor {name!r} is there twice")
        if len(entries) == MAX_PARTS:
            raise text.fail(f"there are more than {MAX_PARTS} tensors")
        entries[name] = reader.entry(name)
    text.take(_END)
    text.end()
    return Index(shards, entries)


def _plain_name(text: Text, name: str) -> str:
    """The name, checked to be that of a file in the same folder as the index."""
    try:
        is_plain = name == os.path.basename(name) and name not in ("", ".", "..") and b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        is_plain = False
    if not is_plain:
        raise text.fail(f"a shard is called {name!r}; it must be a plain name of a file beside the index")
    return name


class _Entries:
    """A parser of the tensors of an index with `shards` shards."""

    def __init__(self, text: Text, shards: int) -> None:
        self._text = text
        self._keys: list[set[str]] = [set() for _ in range(shards)]
        self._count = 0

    def entry(self, name: str) -> Entry:
        text = self._text
        match = text.take(_ENTRY)
        dtype = _DTYPES.get(match[1])
        if dtype is None:
            raise text.fail(f"{name!r} has the dtype {match[1]!r}, which no checkpoint has")
        shape = text.counts(match[2])
        if math.prod(max(n, 1) for n in shape) * dtype.size > _LARGEST:
            raise text.fail(f"{name!r} has the shape {shape}, which is too large")
        parts: list[Part] = []
        while text.goes_on("]", not parts):
            parts.append(self._part(name, shape))
        text.take(_END_PARTS)
        return Entry(dtype, shape, tuple(parts))

    def _part(self, name: str, full: tuple[int, ...]) -> Part:
        text = self._text
        self._count += 1
        if self._count > MAX_PARTS:
            raise text.fail(f"there are more than {MAX_PARTS} parts")
        match = text.take(_PART)
        start, shape, shard = text.counts(match[1]), text.counts(match[2]), int(match[3])
        key = text.string()
        if len(start) != len(full) or len(shape) != len(full):
            raise text.fail(f"a part of {name!r} has another number of dimensions than the shape {full}")
        if any(a + n > d for a, n, d in zip(start, shape, full, strict=True)):
            raise text.fail(f"{name!r} of shape {full} has a part from {start} of shape {shape}")
        if shard >= len(self._keys):
            raise text.fail(f"{name!r} has a part in the shard {shard} of {len(self._keys)}")
        if key in self._keys[shard]:
            raise text.fail(f"the part {key!r} of the shard {shard} is named twice")
        self._keys[shard].add(key)
        return Part(start, shape, shard, name if key == name else key, int(text.take(_CRC)[1]))

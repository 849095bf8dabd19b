"""Messages between tasks as bytes: frames of a head and raw data (OSDI'16, section 3.3).

A tensor travels as dtype, shape and its own bytes, a large one in several frames; strings as their lengths and bytes.
Nothing that comes from a peer is unpickled. What a head says of key, dtype and shape is the same in every step, so both
sides remember it as bytes. Invariant: a head is refused, before memory is taken, unless it describes its data exactly.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from tfnb.caches import remembered
from tfnb.errors import InvalidArgumentError, ResourceExhaustedError
from tfnb.types import DType, as_dtype, string

__all__ = [
    "CHUNK", "LONGEST_HEAD", "MAX_DIMENSIONS", "Assembly", "Head", "Kind", "Message", "Subject", "as_array", "frames",
    "in_one", "pack", "unpack",
]  # fmt: skip

CHUNK = 1 << 20  # bytes: small enough for others to get in between, large enough that heads cost nothing
_FIXED = struct.Struct("<4sBBHIIQQQ")
_MAGIC = b"tfn2"
MAX_DIMENSIONS = 32
_REMEMBERED = 4096
_SHORT = 1 << 10  # bytes of a head's subject that is remembered: 4,096 of them are 4 MB, whoever sends them
_TINY = 1 << 12  # bytes of data that are copied behind their head
LONGEST_HEAD = _FIXED.size + 0xFFFF


class Kind(IntEnum):
    """What a message is for."""

    TENSOR = 1  # a Send's value, a feed or a fetch, for the step's rendezvous
    CALL = 2  # run a step: its handle is the key, the value its timeout in seconds, if any
    REPLY = 3  # how it ended, if no tensor says so: the key is the task, the value an error as JSON, or nothing
    STOP = 4  # stop a step: the value is why, as JSON


_KINDS = {int(k): k for k in Kind}


class Message(NamedTuple):
    """What is sent: `value` of a dead token means nothing. `ends`: it is the last of its step, which ended well."""

    kind: Kind
    step: int
    key: str
    value: np.ndarray
    is_dead: bool = False
    ends: bool = False


class Subject(NamedTuple):
    """What a message is about: all of its head that does not change from step to step."""

    key: str
    dtype: DType
    shape: tuple[int, ...]


class Head(NamedTuple):
    """`number` tells the messages of a connection apart, whose frames may come mixed; a frame holds `length` bytes from
    `offset` on of the message's `nbytes`."""

    kind: Kind
    number: int
    step: int
    subject: Subject
    nbytes: int
    length: int
    offset: int = 0
    is_dead: bool = False
    ends: bool = False

    @property
    def key(self) -> str:
        return self.subject.key


@remembered("subjects written", _REMEMBERED)
def _written(key: str, dtype: DType, shape: tuple[int, ...]) -> bytes:
    """A subject as bytes."""
    name, text = dtype.name.encode(), key.encode()
    return struct.pack(f"<BB{len(shape)}Q", len(name), len(shape), *shape) + name + text


@remembered("subjects of arrays", _REMEMBERED)
def _subject(key: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """As `_written`, for an array's dtype."""
    return _written(key, as_dtype(dtype), shape)


def _read(data: bytes) -> tuple[Subject, int]:
    """What `_written` wrote, and the bytes of such a tensor, -1 where that depends on its strings."""
    try:
        names, rank = data[0], data[1]
        if rank > MAX_DIMENSIONS:
            raise InvalidArgumentError(f"a message's tensor has {rank} dimensions; {MAX_DIMENSIONS} are the most")
        at = 2 + 8 * rank
        shape = struct.unpack_from(f"<{rank}Q", data, 2)
        name, key = data[at : at + names].decode(), data[at + names :].decode()
    except (struct.error, UnicodeDecodeError, IndexError) as e:
        raise InvalidArgumentError(f"a message from a peer has a malformed head: {e}") from e
    try:
        dtype = as_dtype(name)
    except TypeError as e:
        raise InvalidArgumentError(f"a message's dtype {name!r} is not known") from e
    if dtype.kind == "r":
        raise InvalidArgumentError(f"{name} stands for an object of its own process and cannot be sent")
    return Subject(key, dtype, shape), -1 if dtype is string else math.prod(shape) * dtype.size


_read_again = remembered("subjects read", _REMEMBERED)(_read)


def pack(head: Head) -> bytes:
    """A head as bytes."""
    subject = _written(*head.subject)
    flags = head.is_dead | head.ends << 1
    fixed = _FIXED.pack(
        _MAGIC, head.kind, flags, len(subject), head.number, head.length, head.step, head.nbytes, head.offset
    )
    return fixed + subject


def unpack(data: memoryview, limit: int) -> tuple[Head, int] | None:
    """The head at the beginning of `data` and its size in bytes; None where more of it must come first.

    Raises `InvalidArgumentError` for one that is malformed or contradicts itself, `ResourceExhaustedError` where its
    tensor has more than `limit` bytes.
    """
    if len(data) < _FIXED.size:
        if bytes(data[:4]) != _MAGIC[: len(data)]:
            raise InvalidArgumentError("a message from a peer does not begin as one of ours")
        return None
    magic, code, flags, size, number, length, step, nbytes, offset = _FIXED.unpack_from(data)
    kind = _KINDS.get(code)
    if magic != _MAGIC or kind is None:
        raise InvalidArgumentError("a message from a peer does not begin as one of ours")
    end = _FIXED.size + size
    if len(data) < end:
        return None
    subject, expected = (_read_again if size <= _SHORT else _read)(bytes(data[_FIXED.size : end]))
    head = Head(kind, number, step, subject, nbytes, length, offset, bool(flags & 1), bool(flags & 2))
    if expected != nbytes or length != nbytes or offset or nbytes > limit:
        _check(head, limit)
    return head, end


def _check(head: Head, limit: int) -> None:
    key, dtype, shape = head.subject
    nbytes = head.nbytes
    if nbytes > limit:
        raise ResourceExhaustedError(f"a message of {nbytes} bytes came for {key!r}; the limit is {limit}")
    if dtype is string:
        if math.prod(shape) * 8 > nbytes:
            raise InvalidArgumentError(f"{nbytes} bytes cannot hold strings of shape {list(shape)}")
    elif math.prod(shape) * dtype.size != nbytes:
        raise InvalidArgumentError(f"a message of {nbytes} bytes came for {dtype.name} of shape {list(shape)}")
    if head.offset + head.length > nbytes:
        raise InvalidArgumentError(f"a frame ends at byte {head.offset + head.length} of {nbytes}")
    if not head.length and nbytes:
        raise InvalidArgumentError(f"a frame of {key!r} brings nothing")


def _bytes_of(value: np.ndarray, dtype: DType) -> memoryview:
    if dtype is string:
        texts = [t if isinstance(t, bytes) else str(t).encode() for t in value.ravel()]
        lengths = np.array([len(t) for t in texts], "<u8")
        return memoryview(lengths.tobytes() + b"".join(texts))
    flat = np.ascontiguousarray(value).reshape(-1)
    return flat.view(np.uint8).data


def frames(message: Message, number: int) -> Iterator[tuple[bytes, memoryview]]:
    """The heads and data of a message, one pair at least; `number` is another for each message of a connection.

    The data is that of the value itself: it is read when it is sent.
    """
    kind, step, key, value, is_dead, ends = message
    data = _bytes_of(value, as_dtype(value.dtype))
    size, subject = len(data), _subject(key, value.dtype, value.shape)
    for offset in range(0, max(size, 1), CHUNK):
        part = data[offset : offset + CHUNK] if size > CHUNK else data
        fixed = _FIXED.pack(_MAGIC, kind, is_dead | ends << 1, len(subject), number, len(part), step, size, offset)
        yield fixed + subject, part


def in_one(message: Message, number: int) -> bytes | None:
    """The only frame of a message with little data; None for others."""
    kind, step, key, value, is_dead, ends = message
    size = value.nbytes
    if size > _TINY or value.dtype.kind in "SUOT":
        return None
    subject = _subject(key, value.dtype, value.shape)
    fixed = _FIXED.pack(_MAGIC, kind, is_dead | ends << 1, len(subject), number, size, step, size, 0)
    return fixed + subject + value.tobytes() if size else fixed + subject


def as_array(head: Head, data: Any) -> np.ndarray:
    """The tensor whose bytes are `data`, a buffer that nobody else has.

    Raises `InvalidArgumentError` for strings whose lengths do not add up.
    """
    key, dtype, shape = head.subject
    flat = _texts(head, data) if dtype is string else None
    try:
        return np.ndarray(shape, dtype.np, data) if flat is None else flat.reshape(shape)
    except (ValueError, TypeError) as e:  # without elements, yet with dimensions that no array has
        raise InvalidArgumentError(f"no array has the shape {list(shape)} of {key!r}") from e


def _texts(head: Head, data: bytes | bytearray | memoryview) -> np.ndarray:
    count = math.prod(head.subject.shape)
    raw = bytes(data)
    lengths = np.frombuffer(raw, "<u8", count) if count else np.zeros(0, "<u8")
    ends = np.cumsum(lengths, dtype=np.uint64) + np.uint64(8 * count)
    total = int(ends[-1]) if count else 0
    if total != head.nbytes or (lengths > head.nbytes).any():
        raise InvalidArgumentError(f"the strings of {head.key!r} have {total} bytes, {head.nbytes} came")
    found = np.empty(count, object)
    for i, (end, length) in enumerate(zip(ends.tolist(), lengths.tolist(), strict=True)):
        found[i] = raw[end - length : end]
    return found


class Assembly:
    """A tensor whose frames are still coming; they lie at once where they will stay.

    Raises `ResourceExhaustedError` where there is no memory for it.
    """

    def __init__(self, head: Head) -> None:
        self.head = head
        try:
            self._data = np.empty(head.nbytes, np.uint8)
        except MemoryError:
            raise ResourceExhaustedError(f"no memory for the {head.nbytes} bytes of {head.key!r}") from None
        self._filled = 0

    def place(self, head: Head) -> memoryview:
        """Where the data of this frame goes. Raises `InvalidArgumentError` for one out of turn."""
        if head[:5] != self.head[:5] or head[7:] != self.head[7:] or head.offset != self._filled:
            raise InvalidArgumentError(
                f"a frame of {head.key!r} came for byte {head.offset}, needed byte {self._filled} of {self.head.nbytes}"
            )
        self._filled += head.length
        return self._data.data[head.offset : self._filled]

    @property
    def is_placed(self) -> bool:
        """Has every byte its place?"""
        return self._filled == self.head.nbytes

    def value(self) -> np.ndarray:
        """The tensor, once all its places are filled. Raises as `as_array`."""
        return as_array(self.head, self._data)

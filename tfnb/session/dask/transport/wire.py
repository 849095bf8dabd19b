"""The format of messages between tasks: frames, each with a head and raw data (OSDI'16, section 3.3).

A tensor is sent as its dtype, shape and bytes. A large tensor is sent in several frames. Strings are sent as their
lengths and bytes. Nothing is unpickled. The key, dtype and shape of a message are the same in every step, so both sides
cache their encoding. Invariant: a head that does not describe its data exactly is refused before memory is allocated
for the data.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tfnb.caches import remembered
from tfnb.errors import InvalidArgumentError, ResourceExhaustedError
from tfnb.types import DType, as_dtype, string

__all__ = [
    "CHUNK",
    "LONGEST_HEAD",
    "MAX_DIMENSIONS",
    "Assembly",
    "Head",
    "Kind",
    "Message",
    "Subject",
    "as_array",
    "frames",
    "in_one",
    "pack",
    "unpack",
]

CHUNK = 1 << 20  # bytes of a frame: few enough to send other messages in between, so many that heads cost little
_FIXED = struct.Struct("<4sBBHIIQQQ")
_MAGIC = b"tfn2"
MAX_DIMENSIONS = 32
_CACHED = 4096
_SHORT = 1 << 10  # most bytes of a subject that is cached: 4,096 of them take at most 4 MB, even from a hostile peer
_TINY = 1 << 12  # most bytes of data that are copied behind their head instead of being sent from a second buffer
LONGEST_HEAD = _FIXED.size + 0xFFFF

Buffer: TypeAlias = bytearray | np.ndarray


class Kind(IntEnum):
    """What a message is for."""

    TENSOR = 1  # a Send's value, a feed or a fetch, for the step's rendezvous
    CALL = 2  # run a step: the key is its handle, the value is empty or [timeout in seconds, trace]
    REPLY = 3  # a step has ended, if no tensor says so: the key is the task, the value is an error as JSON or empty
    STOP = 4  # stop a step: the value is the reason, an error as JSON


_KINDS = {int(k): k for k in Kind}


class Message(NamedTuple):
    """A message to send. If `is_dead`, the value is meaningless.

    `ends` marks the last message of a step without errors.
    """

    kind: Kind
    step: int
    key: str
    value: np.ndarray
    is_dead: bool = False
    ends: bool = False


class Subject(NamedTuple):
    """The fields of a head that are the same in every step."""

    key: str
    dtype: DType
    shape: tuple[int, ...]


class Head(NamedTuple):
    """The head of a frame, which has `length` bytes from `offset` on of a message with `nbytes` bytes.

    `number` identifies a message within its connection, because the frames of several messages may arrive mixed.
    """

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
        """The key of the subject."""
        return self.subject.key


@remembered("encoded subjects of messages", _CACHED)
def _encode_subject(key: str, dtype: DType, shape: tuple[int, ...]) -> bytes:
    """A subject as bytes."""
    name, text = dtype.name.encode(), key.encode()
    return struct.pack(f"<BB{len(shape)}Q", len(name), len(shape), *shape) + name + text


@remembered("subjects of messages", _CACHED)
def _subject(key: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """As `_encode_subject`, for the dtype of an array."""
    return _encode_subject(key, as_dtype(dtype), shape)


def _decode_subject(data: bytes) -> tuple[Subject, int]:
    """Decodes the result of `_encode_subject`. Returns also the number of bytes of the tensor, or -1 for strings.

    Raises `InvalidArgumentError` for malformed data.
    """
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


_decode_subject_cached = remembered("decoded subjects of messages", _CACHED)(_decode_subject)


def pack(head: Head) -> bytes:
    """Encodes a head."""
    subject = _encode_subject(*head.subject)
    flags = head.is_dead | head.ends << 1
    fixed = _FIXED.pack(
        _MAGIC, head.kind, flags, len(subject), head.number, head.length, head.step, head.nbytes, head.offset
    )
    return fixed + subject


def unpack(data: memoryview, limit: int) -> tuple[Head, int] | None:
    """Decodes the head at the begin of `data`. Returns the head and its size in bytes, or None if it is incomplete.

    Raises `InvalidArgumentError` for a head that is malformed or contradicts itself, and `ResourceExhaustedError` if
    its tensor has more than `limit` bytes.
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
    subject, expected = (_decode_subject_cached if size <= _SHORT else _decode_subject)(bytes(data[_FIXED.size : end]))
    head = Head(kind, number, step, subject, nbytes, length, offset, bool(flags & 1), bool(flags & 2))
    if expected != nbytes or length != nbytes or offset or nbytes > limit:
        _check(head, limit)
    return head, end


def _check(head: Head, limit: int) -> None:
    """Checks the fields of a head against each other. `unpack` needs this only for unusual heads.

    Raises as `unpack`.
    """
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
    """The bytes of a tensor, without a copy if possible."""
    if dtype is string:
        texts = [t if isinstance(t, bytes) else str(t).encode() for t in value.ravel()]
        lengths = np.array([len(t) for t in texts], "<u8")
        return memoryview(lengths.tobytes() + b"".join(texts))
    flat = np.ascontiguousarray(value).reshape(-1)
    return flat.view(np.uint8).data


def frames(message: Message, number: int) -> Iterator[tuple[bytes, memoryview]]:
    """Yields (head, data) for each frame of a message; there is at least one. `number` must be unique in a connection.

    The data is not copied, so the value must not change until the frames are sent.
    """
    kind, step, key, value, is_dead, ends = message
    data = _bytes_of(value, as_dtype(value.dtype))
    size, subject = len(data), _subject(key, value.dtype, value.shape)
    for offset in range(0, max(size, 1), CHUNK):
        part = data[offset : offset + CHUNK] if size > CHUNK else data
        fixed = _FIXED.pack(_MAGIC, kind, is_dead | ends << 1, len(subject), number, len(part), step, size, offset)
        yield fixed + subject, part


def in_one(message: Message, number: int) -> bytes | None:
    """The only frame of a message with little data, as bytes. None for all other messages."""
    kind, step, key, value, is_dead, ends = message
    size = value.nbytes
    if size > _TINY or value.dtype.kind in "SUOT":
        return None
    subject = _subject(key, value.dtype, value.shape)
    fixed = _FIXED.pack(_MAGIC, kind, is_dead | ends << 1, len(subject), number, size, step, size, 0)
    return fixed + subject + value.tobytes() if size else fixed + subject


def as_array(head: Head, data: Buffer) -> np.ndarray:
    """The tensor with the bytes `data`, which become the memory of the tensor. No other code may use the buffer.

    Raises `InvalidArgumentError` for strings whose lengths do not match the data, and for an impossible shape.
    """
    key, dtype, shape = head.subject
    flat = _strings(head, data) if dtype is string else None
    try:
        return np.ndarray(shape, dtype.np, data) if flat is None else flat.reshape(shape)
    except (ValueError, TypeError) as e:  # an array without elements whose dimensions are too large
        raise InvalidArgumentError(f"no array has the shape {list(shape)} of {key!r}") from e


def _strings(head: Head, data: Buffer) -> np.ndarray:
    """A flat array of strings from their lengths and bytes."""
    count = math.prod(head.subject.shape)
    raw = bytes(data)
    lengths = np.frombuffer(raw, "<u8", count) if count else np.zeros(0, "<u8")
    ends = np.cumsum(lengths, dtype=np.uint64) + np.uint64(8 * count)
    total = int(ends[-1]) if count else 0
    if total != head.nbytes or (lengths > head.nbytes).any():
        raise InvalidArgumentError(f"the strings of {head.key!r} have {total} bytes, {head.nbytes} came")
    strings = np.empty(count, object)
    for i, (end, length) in enumerate(zip(ends.tolist(), lengths.tolist(), strict=True)):
        strings[i] = raw[end - length : end]
    return strings


class Assembly:
    """A large tensor whose frames are still arriving. They are read into the memory of the tensor.

    `head` is the head of the first frame. Raises `ResourceExhaustedError` if there is not enough memory.
    """

    def __init__(self, head: Head) -> None:
        self.head = head
        try:
            self._data = np.empty(head.nbytes, np.uint8)
        except MemoryError:
            raise ResourceExhaustedError(f"no memory for the {head.nbytes} bytes of {head.key!r}") from None
        self._filled = 0

    def place(self, head: Head) -> memoryview:
        """The memory for the data of this frame. Raises `InvalidArgumentError` for a frame that is out of order."""
        if head[:5] != self.head[:5] or head[7:] != self.head[7:] or head.offset != self._filled:
            raise InvalidArgumentError(
                f"a frame of {head.key!r} came for byte {head.offset}, needed byte {self._filled} of {self.head.nbytes}"
            )
        self._filled += head.length
        return self._data.data[head.offset : self._filled]

    @property
    def is_placed(self) -> bool:
        """Whether memory for the last frame has been handed out."""
        return self._filled == self.head.nbytes

    def value(self) -> np.ndarray:
        """The tensor, once the data of all frames has been read. Raises as `as_array`."""
        return as_array(self.head, self._data)

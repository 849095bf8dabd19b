"""Messages between tasks as bytes: a head, then raw data (OSDI'16, section 3.3).

A tensor travels as dtype, shape and its own bytes, in chunks; strings as their lengths and bytes. Nothing that comes
from a peer is unpickled. Invariant: a head is refused, before memory is taken, unless it describes its data exactly.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from tfnb.errors import InvalidArgumentError, ResourceExhaustedError
from tfnb.types import DType, as_dtype, string

__all__ = ["CHUNK", "Assembly", "Head", "Kind", "Message", "bundled", "chunks", "pack", "unbundled", "unpack"]

CHUNK = 1 << 20  # bytes: small enough to stay in the cache on its way, large enough that heads cost nothing
_FIXED = struct.Struct("<4sBBBBQQQQQHH")
_MAGIC = b"tfn1"
_MOST_DIMS = 32


class Kind(IntEnum):
    """What a message is for."""

    TENSOR = 1  # a Send's value, a feed or a fetch, for the step's rendezvous
    CALL = 2  # run a step: its handle is the key, the value its timeout in seconds, if any
    REPLY = 3  # how it ended: the key is the task, the value an error as JSON, or nothing
    STOP = 4  # stop a step: the value is why, as JSON


class Message(NamedTuple):
    """What is sent: `value` of a dead token means nothing."""

    kind: Kind
    step: int
    key: str
    value: np.ndarray
    is_dead: bool = False


class Head(NamedTuple):
    """`sender` and `message` tell messages apart whose chunks come mixed; `offset` is the chunk's place in bytes."""

    kind: Kind
    sender: int
    message: int
    step: int
    key: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    offset: int = 0
    is_dead: bool = False


def pack(head: Head) -> bytes:
    """A head as bytes."""
    key, dtype = head.key.encode(), head.dtype.encode()
    fixed = _FIXED.pack(
        _MAGIC, head.kind, head.is_dead, len(dtype), len(head.shape), head.sender, head.message, head.step,
        head.nbytes, head.offset, len(key), 0,
    )  # fmt: skip
    return b"".join((fixed, struct.pack(f"<{len(head.shape)}Q", *head.shape), dtype, key))


def unpack(data: bytes, limit: int) -> Head:
    """The head that `data` holds. Raises `InvalidArgumentError` for one that is malformed or contradicts itself,
    `ResourceExhaustedError` where its tensor has more than `limit` bytes."""
    try:
        magic, kind, dead, dtypes, rank, sender, message, step, nbytes, offset, keys, _ = _FIXED.unpack_from(data)
        if magic != _MAGIC or rank > _MOST_DIMS:
            raise InvalidArgumentError("a message from a peer does not begin as one of ours")
        at = _FIXED.size
        shape = struct.unpack_from(f"<{rank}Q", data, at)
        at += 8 * rank
        if len(data) != at + dtypes + keys:
            raise InvalidArgumentError(f"a message's head has {len(data)} bytes, and says {at + dtypes + keys}")
        dtype, key = data[at : at + dtypes].decode(), data[at + dtypes :].decode()
        found = Head(Kind(kind), sender, message, step, key, dtype, shape, nbytes, offset, bool(dead))
    except (struct.error, UnicodeDecodeError, ValueError) as e:
        if isinstance(e, InvalidArgumentError):
            raise
        raise InvalidArgumentError(f"a message from a peer has a malformed head: {e}") from e
    _check(found, limit)
    return found


def _check(head: Head, limit: int) -> None:
    if head.nbytes > limit:
        raise ResourceExhaustedError(f"a message of {head.nbytes} bytes came; the limit is {limit}")
    try:
        dtype = as_dtype(head.dtype)
    except TypeError as e:
        raise InvalidArgumentError(f"a message's dtype {head.dtype!r} is not known") from e
    if dtype.kind == "r":
        raise InvalidArgumentError(f"{head.dtype} stands for an object of its own process and cannot be sent")
    if dtype != string and math.prod(head.shape) * dtype.np.itemsize != head.nbytes:
        raise InvalidArgumentError(
            f"a message of {head.nbytes} bytes came for {head.dtype} of shape {list(head.shape)}"
        )
    if dtype == string and math.prod(head.shape) * 8 > head.nbytes:
        raise InvalidArgumentError(f"{head.nbytes} bytes cannot hold strings of shape {list(head.shape)}")
    if head.offset > head.nbytes:
        raise InvalidArgumentError(f"a chunk lies at byte {head.offset} of {head.nbytes}")


def _bytes_of(value: np.ndarray, dtype: DType) -> memoryview:
    if dtype == string:
        texts = [t if isinstance(t, bytes) else str(t).encode() for t in value.ravel()]
        lengths = np.array([len(t) for t in texts], "<u8")
        return memoryview(lengths.tobytes() + b"".join(texts))
    flat = np.ascontiguousarray(value).reshape(-1)
    return flat.view(np.uint8).data


def chunks(message: Message, sender: int, number: int) -> Iterator[tuple[bytes, memoryview]]:
    """The heads and data of a message, one pair at least; `number` is another for each message of a sender."""
    kind, step, key, value, is_dead = message
    dtype = as_dtype(value.dtype)
    data = _bytes_of(value, dtype)
    head = Head(kind, sender, number, step, key, dtype.name, value.shape, len(data), is_dead=is_dead)
    for offset in range(0, max(len(data), 1), CHUNK):
        yield pack(head._replace(offset=offset)), data[offset : offset + CHUNK]


_LENGTHS = struct.Struct("<II")


def bundled(pairs: Iterable[tuple[bytes, memoryview]]) -> bytes:
    """Small messages in one piece: each costs more on its own than its copy does."""
    return b"".join(part for head, data in pairs for part in (_LENGTHS.pack(len(head), len(data)), head, data))


def unbundled(data: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """The heads and data that `bundled` put together. Raises `InvalidArgumentError` for anything else."""
    at = 0
    while at < len(data):
        if len(data) - at < _LENGTHS.size:
            raise InvalidArgumentError(f"{len(data) - at} bytes at the end of a bundle are no message")
        heads, body = _LENGTHS.unpack_from(data, at)
        start = at + _LENGTHS.size
        at = start + heads + body
        if at > len(data):
            raise InvalidArgumentError(f"a bundle of {len(data)} bytes names a message that ends at {at}")
        yield bytes(data[start : start + heads]), data[start + heads : at]


class Assembly:
    """A tensor whose chunks are still coming; they lie at once where they will stay."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self._dtype = as_dtype(head.dtype)
        self._data = np.empty(head.nbytes, np.uint8)
        self._filled = 0

    def add(self, head: Head, data: memoryview) -> bool:
        """Puts a chunk in its place; is the tensor complete? Raises `InvalidArgumentError` for one out of turn."""
        if head._replace(offset=0) != self.head._replace(offset=0) or head.offset != self._filled:
            raise InvalidArgumentError(
                f"a chunk of {head.key!r} came for byte {head.offset}, needed byte {self._filled} of {self.head.nbytes}"
            )
        end = self._filled + len(data)
        if end > self.head.nbytes:
            raise InvalidArgumentError(f"{end} bytes came for {head.key!r}, which has {self.head.nbytes}")
        self._data[self._filled : end] = np.frombuffer(data, np.uint8)
        self._filled = end
        return end == self.head.nbytes

    def value(self) -> np.ndarray:
        """The tensor. Raises `InvalidArgumentError` for strings whose lengths do not add up."""
        if self._dtype != string:
            return self._shaped(self._data.view(self._dtype.np))
        count = math.prod(self.head.shape)
        lengths = self._data[: 8 * count].view("<u8")
        ends = np.cumsum(lengths, dtype=np.uint64) + np.uint64(8 * count)
        total = int(ends[-1]) if count else 0
        if total != self.head.nbytes or (lengths > self.head.nbytes).any():
            raise InvalidArgumentError(f"the strings of {self.head.key!r} have {total} bytes, {self.head.nbytes} came")
        raw = self._data.tobytes()
        found = np.empty(count, object)
        for i, (end, length) in enumerate(zip(ends.tolist(), lengths.tolist(), strict=True)):
            found[i] = raw[end - length : end]
        return self._shaped(found)

    def _shaped(self, flat: np.ndarray) -> np.ndarray:
        try:
            return flat.reshape(self.head.shape)
        except ValueError as e:  # without elements, yet with dimensions that no array has
            raise InvalidArgumentError(f"no array has the shape {list(self.head.shape)} of {self.head.key!r}") from e

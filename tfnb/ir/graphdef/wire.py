"""The memory that a protobuf message will take, computed from its bytes before the protobuf library reads them.

Two bytes can stand for an empty message, which takes a hundred bytes in memory, so a file of megabytes could take
gigabytes. The library reads a message in one call, during which no other thread of the process runs. Invariant: what
`read_message` reads has at most `MOST_FIELDS` fields, and takes at most `MEMORY_PER_BYTE` bytes for each byte read and
`FREE_MEMORY` bytes more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tfnb.caches import remembered
from tfnb.errors import DataLossError, ResourceExhaustedError
from tfnb.ir.graphdef.message_types import Descriptor, Message

__all__ = ["FREE_MEMORY", "MEMORY_PER_BYTE", "MOST_FIELDS", "UNMEASURED", "read_message"]

FREE_MEMORY, MEMORY_PER_BYTE = 64 << 20, 4
MOST_FIELDS = 3_000_000  # of a message with all messages inside: those of some 300,000 usual nodes
UNMEASURED = 1 << 20  # a message of fewer bytes than this takes less than FREE_MEMORY, whatever it holds
_MOST_DEPTH = 100  # of messages inside messages, which is the protobuf library's own limit
_STRING, _NUMBER, _POINTER, _HEAD = 16, 8, 16, 16  # bytes in the memory of the protobuf library


class _Field(NamedTuple):
    """The memory of a field: `cost` bytes for each occurrence, and `per_byte` for each byte of its content.

    `inner` describes the messages in a field of messages, and is None for other fields.
    """

    cost: int
    per_byte: int
    inner: Descriptor | None


@remembered("fields of messages", 256)
def _fields(descriptor: Descriptor) -> dict[int, _Field]:
    fields = {}
    for field in descriptor.fields:
        if field.message_type is not None:
            fields[field.number] = _Field(_size(field.message_type) + _POINTER, 0, field.message_type)
        elif field.type in (field.TYPE_STRING, field.TYPE_BYTES):
            fields[field.number] = _Field(_STRING, 1, None)
        else:
            fields[field.number] = _Field(0, _NUMBER, None)
    return fields


@remembered("sizes of messages", 256)
def _size(descriptor: Descriptor) -> int:
    """Returns the bytes of an empty message in memory, where the fields of a oneof share one place."""
    places: dict[Any, int] = {}
    for field in descriptor.fields:
        size = _STRING if field.type in (field.TYPE_STRING, field.TYPE_BYTES) else _NUMBER
        group = field.containing_oneof
        places[field.name if group is None else (group.name,)] = size
    return _HEAD + sum(places.values())


def read_message(message: Message, content: bytes) -> None:
    """Reads `content` into an empty message.

    Raises `ResourceExhaustedError` for a content that would take too much memory, and `DataLossError` for a content
    that is not such a message.
    """
    name = message.DESCRIPTOR.name
    if len(content) >= UNMEASURED:
        try:
            _check_memory(message.DESCRIPTOR, content)
        except IndexError:
            raise DataLossError(f"{len(content)} bytes that are no {name}: they end within a field") from None
    try:
        message.ParseFromString(content)
    except Exception as e:  # the class of protobuf's error depends on its implementation
        raise DataLossError(f"{len(content)} bytes that are no {name}: {e}") from None


def _check_memory(descriptor: Descriptor, content: bytes) -> None:
    """Checks the memory of all fields. Reading a large graph spends its time in this loop, so it makes few calls."""
    name, limit = descriptor.name, FREE_MEMORY + MEMORY_PER_BYTE * len(content)
    memory = at = 0
    end, fields = len(content), _fields(descriptor)
    outer: list[tuple[int, dict[int, _Field]]] = []
    for _ in range(MOST_FIELDS):
        while at >= end:
            if at > end:
                raise DataLossError(f"no {name}: a field ends behind its message, which ends at byte {end}")
            if not outer:
                return
            end, fields = outer.pop()
        begin = at
        key, at = content[at], at + 1
        if key > 127:
            key, at = _varint(content, begin)
        kind = key & 7
        if kind == 2:
            size, at = content[at], at + 1
            if size > 127:
                size, at = _varint(content, at - 1)
            if at + size > end:
                raise DataLossError(f"no {name}: the field at byte {begin} tells {size} bytes, {end - at} are left")
            field = fields.get(key >> 3)
            if field is None:
                at += size
                continue
            memory += field.cost + size * field.per_byte
            if memory > limit:
                raise ResourceExhaustedError(
                    f"a {name} of {len(content):,} bytes takes more than {limit:,} bytes of memory, as byte {begin:,} "
                    f"shows: at most {MEMORY_PER_BYTE} for each byte and {FREE_MEMORY:,} more are taken"
                )
            if field.inner is None:
                at += size
                continue
            outer.append((end, fields))
            if len(outer) > _MOST_DEPTH:
                raise DataLossError(f"no {name}: at byte {begin} more than {_MOST_DEPTH} messages are open")
            end, fields = at + size, _fields(field.inner)
        elif kind == 0:
            while content[at] > 127:
                at += 1
            at += 1
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise DataLossError(f"no {name}: byte {begin} begins no field")
    raise ResourceExhaustedError(f"a {name} of more than {MOST_FIELDS:,} fields, which end at byte {at:,}")


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """Reads a number with 7 bits in each byte; returns it, and the position after it.

    Raises `DataLossError` for a number of more than 10 bytes.
    """
    value = 0
    for shift in range(0, 70, 7):
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise DataLossError(f"a number of more than 10 bytes before byte {at}")

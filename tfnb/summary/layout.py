"""The positions of the numbers in the bytes of a scalar event.

A training writes the same event repeatedly, with another time, step and values. `layout` finds their positions in one
record, so that NumPy can read other records of the same form. Invariant: a layout covers the whole record; a record
with other contents has no layout, and protobuf parses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Layout", "Place", "layout"]

_FLOAT, _DOUBLE = 1, 2  # values of TensorFlow's DataType
_MAX_STEP_BYTES = 9  # the longest varint of a step that is not negative


class Place(NamedTuple):
    """The position of a value: its tag, the start of the tag, and the start and size (4 or 8 bytes) of the number."""

    tag: bytes
    tag_at: int
    at: int
    size: int


@dataclass(frozen=True)
class Layout:
    """The positions in a record.

    wall: the start of the 8 bytes of the time. step: the start of the varint of the step; step_bytes: its length, 0 if
    there is none. places: the positions of the values.
    """

    wall: int
    step: int
    step_bytes: int
    places: tuple[Place, ...]


class _NoScalar(Exception):
    """The record has contents other than scalars."""


class _Field(NamedTuple):
    number: int
    kind: int
    start: int  # the position of the content
    end: int
    value: int  # the value of a varint


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7
    raise _NoScalar


def _fields(data: bytes, at: int, end: int) -> list[_Field]:
    fields = []
    while at < end:
        key, at = _varint(data, at, end)
        number, kind, value = key >> 3, key & 7, 0
        start = at
        if kind == 0:
            value, at = _varint(data, at, end)
        elif kind == 1:
            at += 8
        elif kind == 5:
            at += 4
        elif kind == 2:
            size, start = _varint(data, at, end)
            at = start + size
        else:
            raise _NoScalar
        if at > end:
            raise _NoScalar
        fields.append(_Field(number, kind, start, at, value))
    return fields


def layout(data: bytes) -> Layout | None:
    """Returns the layout of a serialized Event that has scalars and nothing else, or None for any other event."""
    try:
        return _event(data)
    except _NoScalar:
        return None


def _event(data: bytes) -> Layout:
    wall, step, step_bytes = -1, 0, 0
    value_places: list[Place] | None = None
    for f in _fields(data, 0, len(data)):
        if (f.number, f.kind) == (1, 1) and wall < 0:
            wall = f.start
        elif (f.number, f.kind) == (2, 0) and not step_bytes:
            step, step_bytes = f.start, f.end - f.start
        elif (f.number, f.kind) == (5, 2) and value_places is None:
            value_places = [_value(data, v) for v in _fields(data, f.start, f.end)]
        else:
            raise _NoScalar
    if wall < 0 or not value_places or step_bytes > _MAX_STEP_BYTES:
        raise _NoScalar
    return Layout(wall, step, step_bytes, tuple(value_places))


def _value(data: bytes, value: _Field) -> Place:
    if (value.number, value.kind) != (1, 2):
        raise _NoScalar
    tag: _Field | None = None
    number: tuple[int, int] | None = None
    for f in _fields(data, value.start, value.end):
        if (f.number, f.kind) == (1, 2) and tag is None:
            tag = f
        elif (f.number, f.kind) == (2, 5) and number is None:
            number = f.start, 4
        elif (f.number, f.kind) == (8, 2) and number is None:
            number = _tensor(data, f)
        elif (f.number, f.kind) == (9, 2):
            _check_plugin(data, f)
        elif (f.number, f.kind) != (7, 2):  # the node's name
            raise _NoScalar
    if tag is None or number is None:
        raise _NoScalar
    return Place(data[tag.start : tag.end], tag.start, *number)


def _check_plugin(data: bytes, metadata: _Field) -> None:
    """Raises `_NoScalar` unless the value belongs to TensorBoard's scalars plugin or to no plugin."""
    for f in _fields(data, metadata.start, metadata.end):
        if (f.number, f.kind) == (1, 2):
            for p in _fields(data, f.start, f.end):
                if p.number == 1 and data[p.start : p.end] not in (b"", b"scalars"):
                    raise _NoScalar


def _tensor(data: bytes, tensor: _Field) -> tuple[int, int]:
    """Returns the position of the number in a float or double tensor without dimensions."""
    dtype, at = 0, -1
    size = 0
    for f in _fields(data, tensor.start, tensor.end):
        if (f.number, f.kind) == (1, 0):
            dtype = f.value
        elif (f.number, f.kind, f.end - f.start) == (2, 2, 0):  # a shape without dimensions
            continue
        elif f.number in (4, 5, 6) and f.kind in (1, 2, 5) and at < 0:
            at, size = f.start, f.end - f.start
        else:
            raise _NoScalar
    if at < 0 or size != {_FLOAT: 4, _DOUBLE: 8}.get(dtype):
        raise _NoScalar
    return at, size

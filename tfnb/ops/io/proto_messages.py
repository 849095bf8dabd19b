"""Fields of protobuf messages as tensors, and back: EncodeProto and DecodeProtoV2.

Descriptors come from a FileDescriptorSet, in a file or in the attribute itself, or are those of this process. Fields
are read and written here, not by the protobuf library, which leaves out what equals its default. Invariant: a message
is checked before memory is taken for what it claims to hold.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfnb.caches import remembered
from tfnb.errors import DataLossError, InvalidArgumentError, ResourceExhaustedError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.io.example_messages import MESSAGES, message
from tfnb.ops.lazy_library import library
from tfnb.system.files import os_errors
from tfnb.types import ANY, DType, Shape, string, unknown_shape

__all__ = ["DECODE_PROTO", "ENCODE_PROTO", "LONGEST", "MOST_VALUES", "OPS"]

LONGEST = 64 << 20  # bytes of one message
MOST_VALUES = 1 << 28  # of one field in all messages
_MOST_BYTES = 64 << 20  # of a file of descriptors
_BYTES = b"bytes://"


class _Kind(NamedTuple):
    """A type of field: its wire type, the dtypes that hold it, and the format of fixed bytes or "s", "z" for zigzag."""

    wire: int
    dtypes: tuple[str, ...]
    form: str = ""


_TEXT = _Kind(2, ("string",))
_KINDS = {  # by the numbers of FieldDescriptorProto.Type
    1: _Kind(1, ("float64",), "<d"),
    2: _Kind(5, ("float32", "float64"), "<f"),
    3: _Kind(0, ("int64",), "s"),
    4: _Kind(0, ("uint64",)),
    5: _Kind(0, ("int32", "int64"), "s"),
    6: _Kind(1, ("uint64",), "<Q"),
    7: _Kind(5, ("uint32", "uint64"), "<I"),
    8: _Kind(0, ("bool",)),
    9: _TEXT,
    11: _TEXT,
    12: _TEXT,
    13: _Kind(0, ("uint32", "uint64")),
    14: _Kind(0, ("int32",), "s"),
    15: _Kind(5, ("int32", "int64"), "<i"),
    16: _Kind(1, ("int64",), "<q"),
    17: _Kind(0, ("int32", "int64"), "z"),
    18: _Kind(0, ("int64",), "z"),
}


class _Field(NamedTuple):
    """A field of a message."""

    name: str
    number: int
    kind: _Kind
    repeated: bool


@record
class EncodeAttrs:
    """`field_names`: which fields are written; `message_type`: the message's name, with its package.

    `descriptor_source`: the name of a file, "bytes://" and a FileDescriptorSet, or "local://" for this process's own.
    """

    field_names: tuple[str, ...]
    message_type: str
    descriptor_source: str | bytes = "local://"


@record
class DecodeAttrs:
    """As `EncodeAttrs`; `message_format`: "binary" or "text"."""

    message_type: str
    field_names: tuple[str, ...]
    descriptor_source: str | bytes = "local://"
    message_format: str = "binary"


@remembered("descriptors of messages", 64)
def _descriptor(source: str | bytes, name: str) -> Any:
    text = source.encode() if isinstance(source, str) else source
    pools = library("google.protobuf.descriptor_pool", "protobuf", "a protobuf message")
    try:
        if text in (b"", b"local://"):
            short = name.removeprefix("tensorflow.")
            return message(short).DESCRIPTOR if short in MESSAGES else pools.Default().FindMessageTypeByName(name)
        files = library("google.protobuf.descriptor_pb2", "protobuf", "a protobuf message").FileDescriptorSet()
        files.ParseFromString(text[len(_BYTES) :] if text.startswith(_BYTES) else _read(os.fsdecode(text)))
        pool = pools.DescriptorPool()
        for file in files.file:
            pool.Add(file)
        return pool.FindMessageTypeByName(name)
    except KeyError:
        raise InvalidArgumentError(f"No descriptor found for message type {name}") from None
    except (InvalidArgumentError, ResourceExhaustedError):
        raise
    except Exception as e:  # the library raises DecodeError, TypeError and others for bad descriptors
        raise InvalidArgumentError(f"Source does not represent serialized file descriptor set proto: {e}") from None


def _read(path: str) -> bytes:
    if not os.path.isfile(path):
        raise InvalidArgumentError(f"Source does not represent serialized file descriptor set proto: no file {path!r}")
    with os_errors(path), open(path, "rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ResourceExhaustedError(f"{path} has more than {_MOST_BYTES} bytes of descriptors")
    return data


def _fields(call: HostCall, dtypes: Sequence[Any]) -> list[_Field]:
    a, found = call.attrs, []
    by_name = _descriptor(a.descriptor_source, a.message_type).fields_by_name
    for name, dtype in zip(a.field_names, dtypes, strict=True):
        field = by_name.get(name)
        if field is None:
            raise InvalidArgumentError(f"Unknown field: {name} in message type {a.message_type}", call.op)
        kind = _KINDS.get(field.type)
        if kind is None or dtype.name not in kind.dtypes:
            needed = "no dtype" if kind is None else " or ".join(kind.dtypes)
            raise InvalidArgumentError(
                f"Unexpected output type for {a.message_type}.{name}: {dtype.name}, needed {needed}", call.op
            )
        found.append(_Field(name, field.number, kind, bool(field.is_repeated)))
    return found


# ---- encoding ----------------------------------------------------------------------------------------------------


def _varint(n: int) -> bytes:
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes((*out, n))


def _encoded(field: _Field, value: Any) -> bytes:
    kind = field.kind
    head = _varint(field.number << 3 | kind.wire)
    if kind.wire == 2:
        return head + _varint(len(value)) + bytes(value)
    if kind.wire in (1, 5):
        return head + struct.pack(kind.form, value)
    n = int(value)
    return head + _varint((n << 1 ^ n >> 63 if kind.form == "z" else n) & (1 << 64) - 1)


def _encode(call: HostCall, sizes: np.ndarray, *values: np.ndarray) -> np.ndarray:
    fields = _fields(call, [call.types["Tinput_types"][i] for i in range(len(values))])
    batch = sizes.shape[:-1]
    if sizes.ndim < 1 or sizes.shape[-1] != len(values) or any(v.shape[:-1] != batch or not v.ndim for v in values):
        raise InvalidArgumentError(
            f"EncodeProto: sizes must have the shape of the batch and {len(values)} fields, values that of the batch "
            f"and a width; got {sizes.shape} and {[v.shape for v in values]}",
            call.op,
        )
    flat = [v.reshape(-1, v.shape[-1]) for v in values]
    counts, out = sizes.reshape(-1, len(values)), np.empty(int(np.prod(batch)), object)
    order = sorted(range(len(fields)), key=lambda i: fields[i].number)
    for row in range(len(out)):
        parts: list[bytes] = []
        for i in order:
            count = int(counts[row, i])
            if not 0 <= count <= flat[i].shape[1]:
                raise InvalidArgumentError(
                    f"Size to write must not be larger than value tensor; but saw: {count} > {flat[i].shape[1]} at "
                    f"message {row} field {i}",
                    call.op,
                )
            try:
                parts.extend(_encoded(fields[i], value) for value in flat[i][row, :count])
            except (struct.error, OverflowError) as e:
                raise InvalidArgumentError(f"EncodeProto: field {fields[i].name}: {e}", call.op) from None
        out[row] = b"".join(parts)
    return out.reshape(batch)


ENCODE_PROTO: OpDef[Tensor] = OpDef(
    "EncodeProto",
    "sizes: int32, values: [Tinput_types]",
    "bytes: string",
    """Protobuf messages of the values of their fields.

    sizes: the shape of the batch and a column for each field, the number of values to write. values: for each field the
    shape of the batch and at least as many columns. bytes: the shape of the batch. Errors: no such message or field,
    another dtype than the field's, a size that is larger than its columns. Runs on the host.""",
    types={"Tinput_types": ANY},
    attrs=EncodeAttrs,
    infer=lambda c: unknown_shape if c.shapes[0].sizes is None else Shape(c.shapes[0].sizes[:-1]),
    host=_encode,
    grad=NOT_DIFFERENTIABLE,
)


# ---- decoding ----------------------------------------------------------------------------------------------------


class _DamagedError(Exception):
    """The bytes are no message."""


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & (1 << 64) - 1, at
    raise _DamagedError


def _parts(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Yields (field number, wire type, content); numbers of fixed size are bytes."""
    at = 0
    content: Any
    while at < len(data):
        tag, at = _number(data, at)
        wire = tag & 7
        if wire == 0:
            content, at = _number(data, at)
        else:
            size = 8 if wire == 1 else 4
            if wire == 2:
                size, at = _number(data, at)
            elif wire not in (1, 5):
                raise _DamagedError
            if size > len(data) - at:
                raise _DamagedError
            content, at = data[at : at + size], at + size
        if not tag >> 3:
            raise _DamagedError
        yield tag >> 3, wire, content


def _value(kind: _Kind, content: Any, dtype: DType) -> Any:
    if kind.wire == 2:
        return content
    if kind.wire in (1, 5):
        return struct.unpack(kind.form, content)[0]
    if dtype.name == "bool":
        return content != 0
    if kind.form == "z":
        content = content >> 1 ^ -(content & 1)
    elif kind.form == "s":
        content -= (content >> 63) << 64
    bits = 8 * dtype.size
    content &= (1 << bits) - 1
    return content - ((content >> (bits - 1)) << bits) if dtype.name.startswith("int") else content


def _packed(kind: _Kind, content: bytes) -> Iterator[Any]:
    at, size = 0, 8 if kind.wire == 1 else 4
    while at < len(content):
        if kind.wire == 0:
            number, at = _number(content, at)
            yield number
        elif len(content) - at < size:
            raise _DamagedError
        else:
            yield content[at : at + size]
            at += size


def _decoded(data: bytes, fields: Sequence[_Field], dtypes: Sequence[Any]) -> list[list[Any]]:
    """Returns the values of the fields in a message. Those of another wire type than the field's are unknown fields."""
    numbers: dict[int, list[int]] = {}
    for i, field in enumerate(fields):
        numbers.setdefault(field.number, []).append(i)
    found: list[list[Any]] = [[] for _ in fields]
    for number, wire, content in _parts(data):
        for i in numbers.get(number, ()):
            kind = fields[i].kind
            if wire == kind.wire:
                values = [_value(kind, content, dtypes[i])]
            elif wire == 2 and fields[i].repeated:
                values = [_value(kind, c, dtypes[i]) for c in _packed(kind, content)]
            else:
                continue
            if fields[i].repeated:
                found[i].extend(values)
            else:
                found[i] = values
    return found


def _binary(call: HostCall, text: bytes) -> bytes:
    """Returns a message in text format as bytes."""
    a = call.attrs
    make = library("google.protobuf.message_factory", "protobuf", "a protobuf message").GetMessageClass
    made = make(_descriptor(a.descriptor_source, a.message_type))()
    try:
        library("google.protobuf.text_format", "protobuf", "a protobuf message").Merge(text.decode("utf-8"), made)
        return bytes(made.SerializeToString())
    except Exception as e:  # ParseError, UnicodeDecodeError, RecursionError and others
        raise DataLossError(f"Unable to parse text protobuf: {str(e)[:200]}", call.op) from None


def _decode(call: HostCall, texts: np.ndarray) -> tuple[np.ndarray, ...]:
    a, dtypes = call.attrs, call.types["output_types"]
    if a.message_format not in ("binary", "text"):
        raise InvalidArgumentError(f"format must be one of binary or text, got {a.message_format!r}", call.op)
    if not texts.size:
        raise InvalidArgumentError("Bufs argument must contain at least one value", call.op)
    fields, rows = _fields(call, dtypes), []
    for text in texts.reshape(-1):
        if len(text) > LONGEST:
            raise ResourceExhaustedError(f"DecodeProtoV2: a message of {len(text)} bytes, at most {LONGEST}", call.op)
        data = _binary(call, bytes(text)) if a.message_format == "text" else bytes(text)
        try:
            rows.append(_decoded(data, fields, dtypes))
        except _DamagedError:
            raise DataLossError(f"DecodeProtoV2: {data[:40]!r} is no protobuf message", call.op) from None
    sizes = np.array([[len(values) for values in row] for row in rows], np.int32).reshape(len(rows), len(fields))
    outputs = []
    for i, dtype in enumerate(dtypes):
        width = max(1, int(sizes[:, i].max()))
        if width * len(rows) > MOST_VALUES:
            raise ResourceExhaustedError(f"DecodeProtoV2: field {fields[i].name} needs {width} x {len(rows)} values")
        out = np.full((len(rows), width), b"", object) if dtype is string else np.zeros((len(rows), width), dtype.np)
        for row, values in enumerate(rows):
            out[row, : len(values[i])] = values[i]
        outputs.append(out.reshape((*texts.shape, width)))
    return (sizes.reshape((*texts.shape, len(fields))), *outputs)


def _decode_shapes(c: Infer) -> tuple[Shape, ...]:
    batch, count = c.shapes[0].sizes, len(c.types["output_types"])
    if len(c.attrs.field_names) != count:
        raise InvalidArgumentError(
            f"DecodeProtoV2: {len(c.attrs.field_names)} field names for {count} output types; needed equally many"
        )
    if batch is None:
        return (unknown_shape,) * (count + 1)
    return (Shape((*batch, count)), *(Shape((*batch, None)) for _ in range(count)))


DECODE_PROTO: OpDef[tuple[Tensor, list[Tensor]]] = OpDef(
    "DecodeProtoV2",
    "bytes: string",
    "sizes: int32, values: [output_types]",
    """The values of fields of protobuf messages.

    bytes: any shape, that of the batch. sizes: the shape of the batch and a column for each field, the number of its
    values. values: for each field the shape of the batch and as many columns as the longest has values, filled up with
    0 or "". Errors: no such message or field, another dtype than the field's, damaged bytes. Runs on the host.""",
    types={"output_types": ANY},
    attrs=DecodeAttrs,
    defaults={"sanitize": None},  # unknown fields are skipped with and without it
    infer=_decode_shapes,
    host=_decode,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)

OPS: tuple[OpDef, ...] = (DECODE_PROTO, ENCODE_PROTO)
API: dict[str, Any] = {}

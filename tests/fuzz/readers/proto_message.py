"""Protobuf messages and their descriptors, as tf.io.decode_proto reads them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np

from fuzz.mutate import of_bytes
from fuzz.target import Target
from tfnb.ir.opdef import HostCall
from tfnb.ops.io.proto_messages import DECODE_PROTO, DecodeAttrs
from tfnb.types import as_dtype

_FLOATS = b"\x12\x0a\x0a\x08\x00\x00\x80?\x00\x00\x00@"
_SEEDS = [_FLOATS, b"\x0a\x05\x0a\x03abc\x1a\x05\x0a\x03\x01\xff\x01", b"\x0a\x03\x0a\x01x" * 3]
# file { name: "x" package: "p" message_type { name: "M" field { name: "a" number: 1 label: 3 type: 3 } } }
_FILES = b'\x0a\x1a\x0a\x01x\x12\x01p"\x12\x0a\x01M\x12\x0d\x0a\x01a\x18\x01 \x03(\x03B\x02\x10\x01'


def _call(text: bool, descriptors: bytes | None = None) -> HostCall:
    names, kinds = (("a",), ("int64",)) if descriptors else (("bytes_list", "float_list"), ("string", "string"))
    source = "local://" if descriptors is None else b"bytes://" + descriptors
    message_type = "p.M" if descriptors else "tensorflow.Feature"
    attrs = DecodeAttrs(message_type, names, source, "text" if text else "binary")
    return HostCall(attrs=attrs, types={"output_types": tuple(map(as_dtype, kinds))}, outputs=(), op=None)


def target(folder: Path) -> Target:
    assert DECODE_PROTO.host is not None
    calls = [_call(False), _call(True), _call(False, _FILES)]

    def read(data: bytes) -> None:
        contents = np.array([data], object)
        if data.startswith(b"\x0a\x1a"):
            contents, here = np.array([b"\x08\x01"], object), _call(False, data)
        else:
            here = calls[len(data) % 3]
        DECODE_PROTO.host(here, contents)  # type: ignore[misc]

    def of_numbers(_data: bytes, rng: Random) -> bytes:
        return b"\x0a" + bytes(rng.choice((0, 1, 0x7F, 0x80, 0xFF)) for _ in range(rng.randint(0, 40)))

    hostile = [
        b"\x0a\xff\xff\xff\xff\x0f",
        b"\x08" + b"\xff" * 20,
        b"\x0a\x00" * 50_000,
        b"\x08\x01" * 50_000,
        b"\x00",
        b"",
    ]
    return Target(
        [*_SEEDS, _FILES, b'bytes_list { value: "x" }'], hostile, [of_bytes([*_SEEDS, _FILES]), of_numbers], read
    )

"""Snappy's blocks: each kind of element by hand, then an index of TensorFlow whose blocks are compressed."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from tfnb.errors import DataLossError, UnimplementedError
from tfnb.ops.checkpoint.leveldb_table import crc
from tfnb.ops.checkpoint.snappy import MAX_BLOCK, SnappyError, uncompressed
from tfnb.ops.checkpoint.tensorflow_v2 import open_checkpoint

LONG = bytes(range(256)) * 3


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        (b"\x00", b""),
        (b"\x03\x08abc", b"abc"),
        (b"\x80\x06\xf4\xff\x02" + LONG, LONG),  # a length in two bytes
        (b"\x07\x04ab\x05\x02", b"abababa"),  # a copy that overlaps itself
        (b"\x06\x08abc\x0a\x03\x00", b"abcabc"),  # a copy of three bytes, from two bytes
        (b"\x06\x08abc\x0b\x03\x00\x00\x00", b"abcabc"),  # and from four
        (b"\x80\x02\x00x" + b"\xfe\x01\x00" * 3 + b"\xfa\x01\x00", b"x" * 256),
        (b"\x88\x06\xf4\xff\x02" + LONG + b"\x71\x00", LONG + LONG[:8]),
    ],
)
def test_elements(block, wanted):
    assert uncompressed(block) == wanted


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"\xff" * 6,
        b"\x05",
        b"\x03\x08ab",
        b"\x02\x08abc",
        b"\x04\x00a\x05\x02",
        b"\x04\x00a\x05\x00",
        b"\x04\x00a\x02\x01",
    ],
)
def test_damage(block):
    with pytest.raises(SnappyError):
        uncompressed(block)


def test_no_more_is_made_than_the_block_can_stand_for():
    with pytest.raises(SnappyError, match="tells of"):
        uncompressed(b"\xff\xff\xff\x7f" + b"\x00x" + b"\xfe\x01\x00" * 10)
    assert MAX_BLOCK == 1 << 24


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def with_compressed_blocks(data: bytes, method: int = 1) -> bytes:
    """The table with its one block of data and its index as literals, of which the last byte is a copy of another."""

    def sealed(block: bytes) -> bytes:
        at = block[:-1].rindex(block[-1:])
        body = b"".join(
            bytes([(len(p) - 1) << 2]) + p for k in range(0, len(block) - 1, 60) if (p := block[:-1][k : k + 60])
        )
        body = varint(len(block)) + body + b"\x02" + struct.pack("<H", len(block) - 1 - at)
        return body + bytes([method]) + struct.pack("<I", crc(body + bytes([method])))

    def number(text: bytes, at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            value |= (text[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if text[at - 1] < 128:
                return value, at

    footer = data[-48:]
    _, at = number(footer, 0)
    _, at = number(footer, at)
    begin, at = number(footer, at)
    size, _ = number(footer, at)
    index = data[begin : begin + size]
    shared, key, value = index[0], index[1], index[2]
    assert not shared
    handle = index[3 + key : 3 + key + value]
    offset, at = number(handle, 0)
    length, _ = number(handle, at)
    block = sealed(data[offset : offset + length])
    handle = varint(0) + varint(len(block) - 5)
    index = sealed(bytes([0, key, len(handle)]) + index[3 : 3 + key] + handle + struct.pack("<II", 0, 1))
    place = varint(len(block)) + varint(len(index) - 5)
    return block + index + (b"\0\0" + place).ljust(40, b"\0") + data[-8:]


def test_an_index_with_compressed_blocks(tmp_path):
    """As TensorFlow 1.14 wrote some of those of its own tests."""
    source = Path(__file__).parents[2] / "data" / "saved_models" / "tensorflow_2_1" / "variables"
    for name in ("variables.index", "variables.data-00000-of-00001"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    plain = open_checkpoint(str(tmp_path / "variables"))
    index = tmp_path / "variables.index"
    whole = index.read_bytes()
    index.write_bytes(with_compressed_blocks(whole))
    found = open_checkpoint(str(tmp_path / "variables"))
    assert found.entries == plain.entries
    np.testing.assert_array_equal(found.read("v/.ATTRIBUTES/VARIABLE_VALUE"), [10, 20])
    index.write_bytes(with_compressed_blocks(whole, 2))
    with pytest.raises(UnimplementedError, match="compressed by method 2"):
        open_checkpoint(str(tmp_path / "variables"))
    damaged = with_compressed_blocks(whole).replace(b"_CHECKPOINTABLE", b"_CHECKPOINTABLF")
    index.write_bytes(damaged)
    with pytest.raises(DataLossError):
        open_checkpoint(str(tmp_path / "variables"))

"""Checkpoints that somebody made to hurt, and random damage under right checksums: always an error of ours, at no cost."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import struct
import tracemalloc
from pathlib import Path

import crc32c
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfnb import errors
from tfnb.ops.checkpoint.files import Checkpoint, merge_checkpoints, write_checkpoint
from tfnb.ops.checkpoint.leveldb_table import crc, table
from tfnb.ops.checkpoint.tensorflow_v2 import open_checkpoint

W = np.arange(6, dtype=np.float32)
DATA = Path(__file__).parents[2] / "data" / "checkpoints"


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A prefix, and what its index says."""
    prefix = str(tmp_path_factory.mktemp("good") / "m")
    halves = [("v", f"4 {start},2", np.full(2, start, np.float32)) for start in (0, 2)]
    write_checkpoint(prefix, [("w", "", W), ("s", "", np.array([b"a", b"bc"], object)), *halves])
    return prefix, Checkpoint(prefix).content


def read_all(prefix):
    opened = open_checkpoint(prefix)
    return {name: opened.read(name) for name in opened.entries}


def reindex(prefix, content, name="t"):
    """An index with a right checksum, beside the one of `prefix`; its prefix."""
    text = json.dumps(content, separators=(",", ":"))
    other = os.path.join(os.path.dirname(prefix), name)
    Path(other + ".index").write_text(f'{{"crc32c":{crc32c.crc32c(text.encode())},"content":{text}}}\n')
    return other


def refused(prefix, match, kind=errors.DataLossError):
    """The error comes, and it took little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(kind, match=match):
            read_all(prefix)
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()


CHANGES = [
    (("shards", 0, "file"), "../m", "plain name"),
    (("shards", 0, "file"), "/etc/passwd", "plain name"),
    (("shards", 0, "file"), "..", "plain name"),
    (("shards", 0, "file"), "a\0b", "plain name"),
    (("shards", 0, "file"), "\ud800", "plain name"),
    (("shards", 0, "bytes"), 9, "index says 9"),
    (("tensors", "w", "shape"), [1 << 58], "too large|elements of a slice"),
    (("tensors", "s", "shape"), [500_000_000], "0 of|of 500000000"),
    (("tensors", "w", "shape"), [-6], "byte"),
    (("tensors", "w", "shape"), [1] * 40, "byte"),
    (("tensors", "w", "dtype"), "resource", "no checkpoint has"),
    (("tensors", "w", "dtype"), "int64", "index tells of int64"),
    (("tensors", "w", "parts", 0, "shard"), 7, "shard 7"),
    (("tensors", "w", "parts", 0, "start"), [1], "has a part from"),
    (("tensors", "w", "parts", 0, "key"), "s", "twice"),
    (("tensors", "w", "parts", 0, "key"), "none", "holds no 'none'"),
    (("tensors", "v", "parts", 1, "start"), [0], "same"),
    (("tensors", "v", "parts", 1, "key"), "v/0", "named twice"),
    (("tensors", "w", "parts"), [[]], "byte"),
    (("tensors", "w"), [], "byte"),
    (("tensors",), 5, "byte"),
    (("shards",), None, "byte"),
    (("format",), "2", "format"),
    (("tensors", "s", "parts", 0, "shape"), [3], "has a part from"),
]


@pytest.mark.parametrize(("path", "value", "match"), CHANGES)
def test_lies_in_an_index(good, path, value, match):
    prefix, content = good
    changed = copy.deepcopy(content)
    node = changed
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    refused(reindex(prefix, changed), match)


def test_a_link_is_no_shard(good):
    prefix, content = good
    folder = Path(prefix).parent
    changed = copy.deepcopy(content)
    changed["shards"][0]["file"] = "link"
    (folder / "link").symlink_to(folder / content["shards"][0]["file"])
    refused(reindex(prefix, changed), "is a link")
    (folder / "link").unlink()
    (folder / "link").mkdir()
    refused(reindex(prefix, changed), "no regular file")


def test_merging_moves_no_file_of_somebody_else(good, tmp_path):
    _, content = good
    (tmp_path / "in").mkdir()
    for name in ("../victim", "victim"):
        victim = tmp_path / "in" / name
        victim.write_text("precious")
        part = reindex(
            str(tmp_path / "in" / "x"), {**content, "shards": [{"file": name, "bytes": 8}], "tensors": {}}, "p"
        )
        if name == "../victim":
            with pytest.raises(errors.DataLossError, match="plain name"):
                merge_checkpoints([part], str(tmp_path / "merged"))
        else:
            merge_checkpoints([part], str(tmp_path / "merged"))
        assert victim.read_text() == "precious"


def test_too_much_of_anything(tmp_path):
    prefix = str(tmp_path / "x")
    Path(prefix + ".index").write_bytes(b'{"crc32c":' + b"9" * 100_000 + b',"content":{}}')
    refused(prefix, "no index")
    Path(prefix + ".index").write_bytes(b'{"crc32c":1,"content":' + b"[" * 200_000 + b"}\n")
    refused(prefix, "checksum")
    with open(prefix + ".index", "wb") as file:
        file.truncate(1 << 40)  # a sparse file
    refused(prefix, "at most")
    os.unlink(prefix + ".index")
    os.mkfifo(prefix + ".index")
    refused(prefix, "no regular file")


# ---- TensorFlow's tables -------------------------------------------------------------------------


def number(n):
    found = b""
    while n > 127:
        found, n = found + bytes([n & 127 | 128]), n >> 7
    return found + bytes([n])


def block(pairs):
    entries = b"".join(b"\0" + number(len(k)) + number(len(v)) + k + v for k, v in pairs)
    return entries + struct.pack("<II", 0, 1)


def sealed(data):
    return data + b"\0" + struct.pack("<I", crc(data + b"\0"))


def built(first, times=1):
    """A table of one block, which the index names so many times."""
    index = block((b"%04d" % k, number(0) + number(len(first))) for k in range(times))
    place = number(len(sealed(first))) + number(len(index))
    return sealed(first) + sealed(index) + (b"\0\0" + place).ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def message(*fields):
    found = b""
    for k, value in fields:
        found += number(k << 3 | 2 * isinstance(value, bytes))
        found += number(len(value)) + value if isinstance(value, bytes) else number(value)
    return found


def entry(dtype=1, dims=(6,), **more):
    told = {"shard": 0, "offset": 0, "size": 24, "crc": crc(W.tobytes())} | more
    shape = b"".join(message((2, message((1, n)))) for n in dims)
    return message((1, dtype), (2, shape), (3, told["shard"]), (4, told["offset"]), (5, told["size"]), (6, told["crc"]))


HEADER = (b"", message((1, 1)))
TABLES = [
    (built(block([(b"", message((1, 1 << 62)))])), "shards"),
    (built(block([(b"", message((1, 0)))])), "shards"),
    (built(b"\0" + b"\xff" * 400_000 + struct.pack("<II", 0, 1)), "no number"),
    (built(block([HEADER, *((b"k%07d" % k, entry()) for k in range(5000))]), 3000), "after one that ends"),
    (built(block([HEADER, (b"w", entry(dims=(1 << 62,)))])), "shape"),
    (built(block([HEADER, (b"w", entry(dims=(1,) * 5000))])), "dimensions|fields"),
    (built(block([HEADER, (b"w", entry(size=1 << 62))])), "bytes at byte"),
    (built(block([HEADER, (b"w", entry(offset=1 << 62))])), "truncated"),
    (built(block([HEADER, (b"w", entry(7, (1 << 40,)))])), "elements of string"),
    (built(block([HEADER, (b"w", entry(shard=5))])), "shard 5"),
    (built(block([HEADER, (b"w", b"\x08")])), "no number"),
    (built(block([HEADER, (b"w", message((1, b"x")))])), "must be a number"),
    (built(block([HEADER, (b"w", message((1, 1), (2, 5)))])), "must be bytes"),
    (built(block([HEADER, (b"w", entry()), (b"w", entry())])), "comes after"),
    (built(block([HEADER, (b"\xff", entry())])), "UTF-8"),
    (built(struct.pack("<I", 1 << 30)), "restarts"),
]


@pytest.mark.parametrize(("data", "match"), TABLES, ids=[match for _, match in TABLES])
def test_lies_in_a_table_of_tensorflow(tmp_path, data, match):
    (tmp_path / "m.index").write_bytes(data)
    (tmp_path / "m.data-00000-of-00001").write_bytes(W.tobytes())
    refused(str(tmp_path / "m"), match)


def test_keys_that_repeat_a_long_one_are_limited(tmp_path):
    long = b"k" * 60_000
    first = b"\0\0" + number(len(HEADER[1])) + HEADER[1] + b"\0" + number(len(long)) + b"\0" + long
    first += b"".join(number(60_000) + b"\4\0" + b"%04d" % k for k in range(5000)) + struct.pack("<II", 0, 1)
    (tmp_path / "m.index").write_bytes(built(first))
    refused(str(tmp_path / "m"), "too long")


@given(st.data())
def test_random_damage_under_right_checksums(tmp_path_factory, data):
    """Of TensorFlow's checkpoints in both formats."""
    name = data.draw(st.sampled_from(["old", "slices.index"]))
    folder = tmp_path_factory.getbasetemp()
    pairs = [list(pair) for pair in table((DATA / name).read_bytes())]
    for _ in range(data.draw(st.integers(1, 3))):
        pair = data.draw(st.sampled_from(pairs))
        at = data.draw(st.integers(0, len(pair[1])))
        pair[1] = pair[1][:at] + data.draw(st.binary(max_size=4)) + pair[1][at + data.draw(st.integers(0, 4)) :]
    (folder / name).write_bytes(built(block(pairs)))
    (folder / "slices.data-00000-of-00001").write_bytes((DATA / "slices.data-00000-of-00001").read_bytes())
    with contextlib.suppress(errors.OpError):
        read_all(str(folder / name.removesuffix(".index")))

"""The index of our own checkpoints: JSON with a checksum, which names shards and the parts of tensors."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import crc32c
import numpy as np

from fuzz.mutate import VALUES, deep_list, of_bytes, of_json
from fuzz.target import Target
from tfnb.ops.checkpoint.files import Checkpoint, write_checkpoint
from tfnb.ops.checkpoint.tensorflow_v2 import open_checkpoint

SECRET = 777.0


def index_bytes(content: Any) -> bytes:
    """An index whose checksum is right."""
    text = json.dumps(content, separators=(",", ":"))
    return b'{"crc32c":%d,"content":%s}\n' % (
        crc32c.crc32c(text.encode("utf-8", "replace")),
        text.encode("utf-8", "replace"),
    )


def good_checkpoint(folder: Path) -> dict[str, Any]:
    """Writes a checkpoint of several kinds of tensors with the prefix "m"; the content of its index."""
    write_checkpoint(
        str(folder / "m"),
        [
            ("w", "", np.arange(6, dtype=np.float32)),
            ("text", "", np.array([b"a", b"bc"], object)),
            ("i", "", np.arange(12).reshape(3, 4)),
            ("flag", "", np.array(True)),
            ("empty", "", np.zeros((0, 3), np.float16)),
            ("parted", "4 0,2", np.array([1.0, 2.0], np.float32)),
            ("parted", "4 2,2", np.array([3.0, 4.0], np.float32)),
        ],
    )
    return Checkpoint(str(folder / "m")).content


def _hostile(good: dict[str, Any], outside: str) -> list[bytes]:
    def tensors(**told: Any) -> bytes:
        return index_bytes({**good, "tensors": {"x": {"dtype": "string", "shape": [], "parts": [], **told}}})

    def other_file(name: str) -> bytes:
        changed = copy.deepcopy(good)
        changed["shards"][0]["file"] = name
        return index_bytes(changed)

    twice = copy.deepcopy(good)
    twice["tensors"]["parted"]["parts"] = [good["tensors"]["parted"]["parts"][0]] * 2
    part = good["tensors"]["w"]["parts"][0]
    return [
        tensors(shape=[500_000_000]),
        tensors(shape=[1 << 62]),
        tensors(shape=[2**63] * 40),
        tensors(shape=[-5], dtype="float32"),
        tensors(shape=[100_000_000_000], dtype="float32"),
        tensors(shape=[1.5], dtype="float32"),
        tensors(dtype="float32", shape=[6], parts=[{**part, "shard": 7}]),
        tensors(dtype="float32", shape=[6], parts=[{**part, "shard": -1}]),
        tensors(dtype="float32", shape=[6], parts=[part] * 3000),
        tensors(dtype="resource"),
        tensors(dtype="i4,(1000000000,)f8"),
        other_file("../outside/" + outside),
        other_file("/dev/zero"),
        other_file(""),
        other_file("."),
        other_file("a\0b"),
        index_bytes(twice),
        index_bytes([1]),
        index_bytes(None),
        index_bytes({**good, "shards": 5}),
        index_bytes({**good, "shards": [{"file": "a", "bytes": float("inf")}]}),
        index_bytes({**good, "tensors": {str(k): {"dtype": "int8", "shape": [0], "parts": []} for k in range(20_000)}}),
        b'{"content":' + deep_list(100_000) + b',"crc32c":1}',
        b'{"crc32c":1,"content":{"format":"tfnb checkpoint 1","shards":[{"file":"a","bytes":1e999}],"tensors":{}}}',
        b'{"crc32c":' + b"9" * 100_000 + b',"content":{}}',
        b"",
    ]


def target(folder: Path) -> Target:
    inside, outside = folder / "inside", folder / "outside"
    inside.mkdir()
    outside.mkdir()
    good = good_checkpoint(inside)
    write_checkpoint(str(outside / "m"), [(n, "", np.full(6, SECRET, np.float32)) for n in ("w", "x")])
    secret = Checkpoint(str(outside / "m")).content["shards"][0]["file"]
    (inside / "m.index").unlink()
    index = inside / "m.index"

    def read(data: bytes) -> None:
        index.write_bytes(data)
        opened = open_checkpoint(str(inside / "m"))
        for name in list(opened.entries):
            value = opened.read(name)
            assert not (value.dtype.kind == "f" and SECRET in value), f"{name} was read from another folder"

    shutil.copy(outside / secret, inside / secret)
    content = index_bytes(Checkpoint(str(outside / "m")).content)
    (inside / secret).unlink()
    seeds = [index_bytes(good)]
    values = [*VALUES, "float32", "string", "variant", "bfloat16", "../outside/" + secret, "w", "parted/0"]

    def write(tree: Any) -> bytes:
        return index_bytes(tree.get("content") if isinstance(tree, dict) and "content" in tree else tree)

    return Target(seeds, [*_hostile(good, secret), content], [of_bytes(seeds), of_json(write, values)], read)

"""A shard of a checkpoint: a safetensors file, under an index that fits it as far as one can."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from fuzz.mutate import NUMBERS, VALUES, deep_list, mutate_tree, of_bytes
from fuzz.readers.own_checkpoint import good_checkpoint, index_bytes
from fuzz.target import Target
from tfnb.ops.checkpoint.tensorflow_v2 import open_checkpoint


def _shard(header: bytes, body: bytes, length: int | None = None) -> bytes:
    told = len(header) if length is None else length
    return (told & (1 << 64) - 1).to_bytes(8, "little") + header + body


def _hostile(header: dict[str, Any], body: bytes) -> list[bytes]:
    def lie(**changes: Any) -> bytes:
        return _shard(json.dumps({**header, "w": {**header["w"], **changes}}).encode(), body)

    text = json.dumps(header).encode()
    return [
        *(_shard(text, body, number) for number in NUMBERS),
        lie(shape=[10**9]),
        lie(shape=[1 << 63, 4]),
        lie(shape=[-6]),
        lie(shape=[0] * 1000),
        lie(data_offsets=[0, 1 << 60]),
        lie(data_offsets=[24, 0]),
        lie(data_offsets=[-24, 0]),
        lie(dtype="F8"),
        _shard(b'{"w":' + deep_list(100_000) + b"}", body),
        _shard(json.dumps({str(k): header["w"] for k in range(5000)}).encode(), body),
        _shard(b"", b""),
        b"",
    ]


def _of_header(values: list[Any]) -> Callable[[bytes, Random], bytes]:
    def mutate(data: bytes, rng: Random) -> bytes:
        length = int.from_bytes(data[:8], "little")
        try:
            tree = json.loads(data[8 : 8 + length])
        except (ValueError, RecursionError):
            return data
        changed = json.dumps(mutate_tree(tree, rng, values)).encode("utf-8", "replace")
        return _shard(changed, data[8 + length :])

    return mutate


def target(folder: Path) -> Target:
    content = good_checkpoint(folder)
    shard = folder / content["shards"][0]["file"]
    good = shard.read_bytes()
    length = int.from_bytes(good[:8], "little")
    index = folder / "m.index"

    def read(data: bytes) -> None:
        shard.write_bytes(data)
        told = copy.deepcopy(content)
        told["shards"][0]["bytes"] = len(data)
        index.write_bytes(index_bytes(told))
        opened = open_checkpoint(str(folder / "m"))
        for name in opened.entries:
            opened.read(name)

    values = [*VALUES, "F32", "U8", "I64", "F16", "BF16", [0, 24], [24, 0], [0, 2**62]]
    return Target(
        [good],
        _hostile(json.loads(good[8 : 8 + length]), good[8 + length :]),
        [of_bytes([good]), _of_header(values)],
        read,
    )

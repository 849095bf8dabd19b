"""The file of a reader's progress, JSON that anybody may have changed."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from fuzz.mutate import NUMBERS, deep_list, mutate_tree, of_bytes
from fuzz.target import Target
from tfnb.lessons.progress_file import parse

_ENTRY = {"points": 2, "tries": 3, "failures": {"the first case": 1}}
_TREE = {"format": "tfnb lessons 1", "exercises": {"1.1": _ENTRY, "10.3": {"points": 0, "tries": 0, "failures": {}}}}


def _bytes(tree: object) -> bytes:
    return json.dumps(tree).encode("utf-8", "replace")


def _of_trees(_data: bytes, rng: Random) -> bytes:
    return _bytes(mutate_tree(_TREE, rng))


def target(folder: Path) -> Target:
    path = str(folder / "tfnb-lessons.json")

    def read(data: bytes) -> None:
        parse(data, path)

    hostile = [
        *(_bytes({**_TREE, "exercises": {"1.1": {**_ENTRY, "tries": n}}}) for n in NUMBERS),
        _bytes({**_TREE, "exercises": {str(k): _ENTRY for k in range(5_000)}}),
        b'{"format": "tfnb lessons 1", "exercises": ' + b"9" * 100_000 + b"}",
        b'{"format": ["tfnb lessons 1"], "exercises": {}}',
        deep_list(100_000),
        b" " * (2 << 20),
        b"\xff\xfe{}",
        b"null",
    ]
    seeds = [_bytes(_TREE)]
    return Target(seeds, hostile, [of_bytes(seeds), _of_trees], read)

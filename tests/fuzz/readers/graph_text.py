"""Graphs as protobuf's text (.pbtxt), as JupyterLab's server shows them."""

from __future__ import annotations

from pathlib import Path
from random import Random

from google.protobuf import text_format

from fuzz.mutate import NUMBERS, of_bytes
from fuzz.readers.graph_file import shown
from fuzz.readers.graph_import import graph_defs
from fuzz.target import Target
from tfnb.ir.protos import proto


def texts() -> list[bytes]:
    """Returns graphs as text."""
    found = []
    for data in graph_defs():
        graph = proto("graph").GraphDef.FromString(data)
        found.append(text_format.MessageToString(graph).encode())
    return found


def hostile() -> list[bytes]:
    """Returns texts that are made to hurt."""
    return [
        b"node { " * 20_000,
        b"node { attr { value { func { " * 5000,
        b"node { name: " + b'"a" ' * 50_000 + b"}",
        b"versions { producer: " + b"9" * 100_000 + b" }",
        b"node { unknown" + b" { a" * 5000,
        b"node { name: '" + b"\\" * 99_999,
        b"#" * 100_000,
        b"node { name: 'a' op: 'b' }\n" * 10_000,
        b"[type.googleapis.com/x] { }" * 1000,
        b"node < name: 'a' op: 'b' >",
        b"\xff\xfe",
        b"",
    ]


def of_tokens(seeds: list[bytes]):
    """Moves, repeats and replaces words."""
    pieces = [line + b"\n" for seed in seeds for line in seed.splitlines()]

    def mutate(data: bytes, rng: Random) -> bytes:
        lines = data.splitlines(keepends=True) or [b"\n"]
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(lines))
            way = rng.randrange(5)
            if way == 0:
                del lines[at : at + rng.randint(1, 3)]
            elif way == 1:
                lines[at:at] = [rng.choice(pieces)] * rng.choice((1, 1, 5, 50))
            elif way == 2:
                name = lines[at].partition(b":")[0]
                lines[at] = name + b": %d\n" % (rng.choice(NUMBERS) * rng.choice((1, -1)))
            elif way == 3:
                lines[at] = rng.choice((b"}\n", b"{\n", b"value {\n", b'op: "\\377"\n', b"size: nan\n", b"b: inf\n"))
            else:
                lines[at] = rng.choice(lines)
            if not lines:
                return b""
        return b"".join(lines)[: 1 << 16]

    return mutate


def target(folder: Path) -> Target:
    path = folder / "graph.pbtxt"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        shown(path)

    seeds = [text for text in texts() if len(text) < 4000]
    return Target(seeds, hostile(), [of_bytes(seeds), of_tokens(seeds)], read)

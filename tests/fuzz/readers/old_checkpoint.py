"""TensorFlow's older checkpoints (V1): a sorted table that holds the values too."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

from fuzz.mutate import NUMBERS, of_bytes, of_message
from fuzz.readers.tensorflow_checkpoint import block_of, message, shape_of, table
from fuzz.target import Target
from tfnb.ops.checkpoint.tensorflow_v2 import open_checkpoint

FLOATS = struct.pack("<6f", *range(6))


def _slice(*extents: tuple[int, int]) -> bytes:
    return b"".join(message(f1=message(f1=start, f2=size)) for start, size in extents)


def _entries(first_size: int = 2, dtype: int = 1, values: bytes = FLOATS) -> list[tuple[bytes, bytes]]:
    """A tensor of 2 x 3 in one slice, and one of 4 in two."""
    whole, halves = _slice((0, first_size), (0, 3)), (_slice((0, 2)), _slice((2, 2)))
    told = message(f1=message(f1=b"whole", f2=shape_of(first_size, 3), f3=dtype, f4=whole))
    slices = b"".join(message(f4=half) for half in halves)
    told += message(f1=message(f1=b"two", f2=shape_of(4), f3=1) + slices)
    parts = [
        (b"\0two0", b"two", halves[0], FLOATS[:8]),
        (b"\0two1", b"two", halves[1], FLOATS[:8]),
        (b"\0whole", b"whole", whole, values),
    ]
    return [
        (b"", message(f1=told)),
        *((key, message(f2=message(f1=name, f2=place, f3=message(f1=1, f5=data)))) for key, name, place, data in parts),
    ]


def target(folder: Path) -> Target:
    path = folder / "old"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        opened = open_checkpoint(str(path))
        for name in opened.entries:
            opened.read(name)

    entries = _entries()
    seeds = [table([block_of(entries)]), table([block_of(entries[:2]), block_of(entries[2:])])]
    hostile = [
        *(table([block_of(_entries(first_size=n))]) for n in NUMBERS),
        *(table([block_of(_entries(dtype=n))]) for n in (0, 3, 7, 10, 14, 20, 23, 99, 101)),
        table([block_of(_entries(values=b""))]),
        table([block_of(_entries(values=FLOATS[:5]))]),
        table([block_of(entries[:1])]),
        table([block_of(entries[1:])]),
    ]
    words = [value for _, value in entries] + [b"two", b"whole", b""]
    change, change_bytes = of_message(words, NUMBERS), of_bytes(words, 2)

    def of_values(_data: bytes, rng: Random) -> bytes:
        pairs = list(entries)
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(pairs))
            key, value = pairs[at]
            pairs[at] = (change_bytes(key, rng) if rng.random() < 0.05 else key, change(value, rng))
        return table([block_of(pairs)])

    return Target(seeds, hostile, [of_bytes(seeds), of_values, of_values], read)

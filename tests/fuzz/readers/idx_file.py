"""IDX files, the format of the MNIST database, plain and gzipped."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from random import Random

from fuzz.mutate import NUMBERS, of_bytes
from fuzz.target import Target
from tfnb.datasets.idx import MOST_BYTES, read_idx


def _idx(shape: tuple[int, ...], data: bytes, code: int = 8) -> bytes:
    return bytes([0, 0, code, len(shape)]) + b"".join(struct.pack(">I", n) for n in shape) + data


def target(folder: Path) -> Target:
    path = folder / "images.idx"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        read_idx(path, 3)

    def product(data: bytes) -> int:
        return min(len(data) * 1032, MOST_BYTES) if data[:2] == b"\x1f\x8b" else 0

    plain = _idx((2, 3, 4), bytes(24))
    seeds = [plain, gzip.compress(plain, mtime=0)]
    lies = [_idx((n & 0xFFFFFFFF, 3, 4), bytes(24)) for n in NUMBERS]
    bomb = gzip.compress(_idx((32, 1000, 1000), bytes(32_000_000)))

    def of_sizes(_data: bytes, rng: Random) -> bytes:
        shape = tuple(rng.choice(NUMBERS) & 0xFFFFFFFF for _ in range(rng.choice((3, 3, 3, 2))))
        made = _idx(shape, bytes(rng.randint(0, 100)))
        return gzip.compress(made, 1, mtime=0) if rng.random() < 0.5 else made

    hostile = [
        *lies,
        *(gzip.compress(lie, 1, mtime=0) for lie in lies),
        bomb,
        gzip.compress(plain + bytes(1 << 25)),
        b"",
    ]
    return Target(seeds, hostile, [of_bytes(seeds), of_sizes], read, product)

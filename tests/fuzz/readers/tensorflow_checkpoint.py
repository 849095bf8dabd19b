"""TensorFlow's checkpoints: a sorted table as the index, and the data. Blocks are also changed under right checksums."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from fuzz.mutate import NUMBERS, of_bytes, of_message, varint
from fuzz.target import Target, join, split
from tfnb.ops.checkpoint.leveldb_table import crc
from tfnb.ops.checkpoint.tensorflow_v2 import open_checkpoint

_MAGIC = 0xDB4775248B80FB57
Pairs = Sequence[tuple[bytes, bytes]]


def _sealed(block: bytes) -> bytes:
    return block + b"\0" + struct.pack("<I", crc(block + b"\0"))


def block_of(pairs: Pairs) -> bytes:
    out = b"".join(b"\0" + varint(len(k)) + varint(len(v)) + k + v for k, v in pairs)
    return out + struct.pack("<II", 0, 1)


def table(blocks: Sequence[bytes], handles: Callable[[Pairs], Pairs] = lambda found: found) -> bytes:
    """A table of these blocks; `handles` changes the index block, which says where they stand."""
    out, found = b"", []
    for number, block in enumerate(blocks):
        found.append((b"k%06d" % number, varint(len(out)) + varint(len(block))))
        out += _sealed(block)
    index = block_of(handles(found))
    place = varint(len(out)) + varint(len(index))
    return out + _sealed(index) + (b"\0\0" + place).ljust(40, b"\0") + struct.pack("<Q", _MAGIC)


def message(**fields: int | bytes) -> bytes:
    out = b""
    for name, value in fields.items():
        number = int(name[1:])
        out += varint(number << 3 | 2 * isinstance(value, bytes))
        out += varint(len(value)) + value if isinstance(value, bytes) else varint(value)
    return out


def shape_of(*sizes: int) -> bytes:
    return b"".join(message(f2=message(f1=size)) for size in sizes)


NUMBER_DATA = struct.pack("<6f", *range(6))
TEXT_DATA = b"\1\2" + struct.pack("<I", crc(struct.pack("<II", 1, 2))) + b"abc"
DATA = NUMBER_DATA + TEXT_DATA
HEADER = message(f1=1)
TEXT_CRC = crc(struct.pack("<II", 1, 2) + TEXT_DATA[2:])
ENTRIES: list[tuple[bytes, bytes]] = [
    (b"", HEADER),
    (b"flat", message(f1=1, f2=shape_of(6), f4=0, f5=24, f6=crc(NUMBER_DATA))),
    (b"square", message(f1=1, f2=shape_of(2, 3), f4=0, f5=24, f6=crc(NUMBER_DATA))),
    (b"text", message(f1=7, f2=shape_of(2), f4=24, f5=len(TEXT_DATA), f6=TEXT_CRC)),
]


def _hostile() -> list[bytes]:
    def one(value: bytes, data: bytes = DATA) -> bytes:
        return join([data, table([block_of([(b"", HEADER), (b"w", value)])])])

    def wrong(**changes: int | bytes) -> bytes:
        return one(message(**{"f1": 1, "f2": shape_of(6), "f4": 0, "f5": 24, "f6": crc(NUMBER_DATA), **changes}))

    big = block_of([(b"k%07d" % k, message(f1=1, f2=shape_of(0))) for k in range(5000)])
    return [
        *(join([DATA, table([block_of([(b"", message(f1=n)), *ENTRIES[1:]])])]) for n in NUMBERS),
        *(wrong(f2=shape_of(n)) for n in NUMBERS),
        *(wrong(f4=n) for n in NUMBERS),
        *(wrong(f5=n) for n in NUMBERS),
        *(wrong(f1=7, f2=shape_of(n)) for n in NUMBERS),
        wrong(f3=5),
        wrong(f2=shape_of(*[1] * 5000)),
        wrong(f1=20),
        wrong(f7=message(f1=message(f1=0, f2=6))),
        join([DATA, table([b"\0" + b"\x80" * 100_000 + b"\1" + struct.pack("<II", 0, 1)])]),
        join([DATA, table([b"\0" + b"\xff" * 400_000 + b"\1" + struct.pack("<II", 0, 1)])]),
        join([DATA, table([big], lambda found: [(b"x%06d" % k, found[0][1]) for k in range(3000)])]),
        join([DATA, table([struct.pack("<I", 1 << 30)])]),
        join([DATA, struct.pack("<Q", _MAGIC)]),
        join([DATA, b"\xff" * 40 + struct.pack("<Q", _MAGIC)]),
    ]


def _of_entries(rng_words: list[bytes]) -> Callable[[bytes, Random], bytes]:
    """Changes values (messages), keys and data, and writes all checksums anew."""
    change, change_bytes = of_message(rng_words), of_bytes(rng_words, 2)

    def mutate(_data: bytes, rng: Random) -> bytes:
        pairs, data = [list(pair) for pair in ENTRIES], DATA
        for _ in range(rng.randint(1, 2)):
            pair = rng.choice(pairs)
            pair[1] = change(pair[1], rng)
            if rng.random() < 0.15:
                pair[0] = change_bytes(pair[0], rng)
        if rng.random() < 0.3:
            data = change_bytes(data, rng)
            pairs = [[k, v.replace(varint(crc(NUMBER_DATA)), varint(crc(data[:24])))] for k, v in pairs]
        return join([data, table([block_of([(k, v) for k, v in pairs])])])

    return mutate


def _of_blocks(data: bytes, rng: Random) -> bytes:
    """Changes the bytes of a block under a right checksum, or where the index says that it stands."""
    change = of_bytes([DATA, block_of(ENTRIES)], 3)
    block = change(block_of(ENTRIES), rng) if rng.random() < 0.7 else block_of(ENTRIES)

    def handles(found: Pairs) -> Pairs:
        return [(k, change(v, rng)) for k, v in found] * rng.choice((1, 1, 1, 2, 100))

    return join([DATA, table([block], handles if rng.random() < 0.4 else lambda found: found)])


def target(folder: Path) -> Target:
    seed = join([DATA, table([block_of(ENTRIES)])])
    several = join([DATA, table([block_of(ENTRIES[:2]), block_of(ENTRIES[2:])])])
    files = folder / "m.data-00000-of-00001", folder / "m.index"

    def read(data: bytes) -> None:
        for path, content in zip(files, split(data, 2), strict=True):
            path.write_bytes(content)
        opened = open_checkpoint(str(folder / "m"))
        for name in opened.entries:
            opened.read(name)

    seeds = [seed, several]
    words = [value for _, value in ENTRIES] + [key for key, _ in ENTRIES]
    return Target(seeds, _hostile(), [of_bytes(seeds), _of_entries(words), _of_blocks], read)

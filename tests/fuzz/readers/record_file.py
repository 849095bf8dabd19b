"""Files of records: TFRecords and lines, plain and compressed with GZIP or ZLIB."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path
from random import Random

from fuzz.mutate import of_bytes
from fuzz.target import Target
from tfnb.errors import OpError
from tfnb.ops.io import record_files
from tfnb.ops.io.record_files import FixedLengthFile, TextFile, TFRecordFile, masked_crc
from tfnb.summary.records import frame

RECORDS = [bytes([k]) * k for k in range(0, 30, 3)] + [b"line 1\r\nline 2\n\nline 4"]
PLAIN = b"".join(map(frame, RECORDS))


def _head(length: int) -> bytes:
    told = struct.pack("<Q", length)
    return told + struct.pack("<I", masked_crc(told))


def _compressed(data: bytes, way: int) -> bytes:
    return (data, gzip.compress(data, 1, mtime=0), zlib.compress(data, 1))[way]


def _hostile() -> list[bytes]:
    lengths = (1 << 20, 1 << 31, 3 << 30, 1 << 39, (1 << 40) - 1, 1 << 62, (1 << 64) - 1)
    bomb = b"\0" * (32 << 20)
    return [
        *(_compressed(_head(n) + b"x" * 100, way) for n in lengths for way in range(3)),
        *(_compressed(_head(len(bomb)) + bomb + b"\0\0\0\0", way) for way in (1, 2)),
        *(_compressed(frame(bomb), way) for way in (1, 2)),
        *(_compressed(bomb, way) for way in (1, 2)),
        *(_compressed(b"a" * len(bomb), way) for way in (1, 2)),
        gzip.compress(PLAIN, mtime=0) * 20,
        gzip.compress(b"", mtime=0) * 2000,
        frame(b"") * 20_000,
        b"\n" * 100_000,
    ]


def _of_frames(data: bytes, rng: Random) -> bytes:
    """Changes records under right checksums, or compressed bytes before they are compressed."""
    change = of_bytes([*RECORDS[3:], PLAIN], 3)
    parts = [frame(r) for r in RECORDS]
    at = rng.randrange(len(parts))
    way = rng.randrange(4)
    if way == 0:
        parts[at] = frame(change(RECORDS[at], rng))
    elif way == 1:
        parts[at] = _head(rng.choice((0, 5, 1 << 16, 1 << 20, 1 << 31, 1 << 40))) + parts[at][12:]
    elif way == 2:
        parts[at] = change(parts[at], rng)
    else:
        rng.shuffle(parts)
        parts[at:] = parts[at : at + 1] * rng.randint(1, 40)
    return _compressed(b"".join(parts), rng.randrange(3))


def target(folder: Path) -> Target:
    path = str(folder / "records")

    def read(data: bytes) -> None:
        Path(path).write_bytes(data)
        compression = "GZIP" if data[:2] == b"\x1f\x8b" else "ZLIB" if data[:1] == b"\x78" else ""
        odd = zlib.crc32(data) & 1
        files = [
            lambda: TFRecordFile(path, compression, skip_corrupt=bool(odd)),
            lambda: TextFile(path, odd, compression),
        ]
        if not compression:
            files.append(lambda: FixedLengthFile(path, 7, odd, odd, 3))
        refusal: OpError | None = None
        for make in files:  # all of them, whatever the first one says
            try:
                file = make()
                try:
                    while file.take(1000):
                        pass
                finally:
                    file.close()
            except OpError as e:
                refusal = e
        if refusal is not None:
            raise refusal

    def product(data: bytes) -> int:
        """Compressed data may become as much as deflate can make of it, up to the limit of a record."""
        zipped = data[:2] == b"\x1f\x8b" or data[:1] == b"\x78"
        return min(len(data) * record_files.DEFLATE, record_files.MAX_INFLATED_RECORD) if zipped else 0

    seeds = [_compressed(PLAIN, way) for way in range(3)]
    return Target(seeds, _hostile(), [of_bytes(seeds), _of_frames], read, product)

"""Files of comma-separated values, walked as a data set to the end, whatever errors records bring."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from random import Random

import numpy as np

from fuzz.mutate import of_bytes
from fuzz.target import Target
from tfnb.errors import OpError
from tfnb.ops.io import record_files
from tfnb.ops.io.csv_files import Csv
from tfnb.types import float32, int64, string

LINES = b'1,2.5,"a ""q"" b"\r\n3,,x\n-7,1e9,"b\nc"\n9223372036854775807,nan,y\n,inf,"z"\n'


def _hostile() -> list[bytes]:
    return [
        b'1,"2\n' + b"123,456,7\n" * 60_000,
        b'"' * 100_001,
        b'"\n' * 50_001,
        b'1,"' + b"x\n" * 100_000,
        b"," * 200_000,
        b"1" * 2_000_000,
        b"\n" * 50_000,
        b"1,2," + b"9" * 100_000 + b"\n",
        b"9" * 5000 + b",1,a\n",
        b"1e99999999,1,a\n1,1e99999999,a\n",
        b"\0,\0,\0\n",
        gzip.compress(b"1" * (16 << 20)),
        gzip.compress(b'"' + b"1\n" * (4 << 20)),
        zlib.compress(b"1" * (16 << 20)),
        b"",
    ]


def target(folder: Path) -> Target:
    path = folder / "rows.csv"
    defaults = [np.zeros(1, np.int64), np.zeros(1, np.float32), np.zeros(0, object)]

    def read(data: bytes) -> None:
        path.write_bytes(data)
        compression = "GZIP" if data[:2] == b"\x1f\x8b" else "ZLIB" if data[:1] == b"\x78" else ""
        odd = bool(zlib.crc32(data) & 1)
        source = Csv(
            [bytes(path)],
            compression,
            odd,
            b",",
            not odd or len(data) > 100,
            b"?",
            (),
            (int64, float32, string),
            defaults,
        )
        rows, refusal, again = source.rows(), None, 0
        while again < 3000:
            try:
                if not rows.take(100):
                    break
            except OpError as e:
                refusal, again = e, again + 1
        rows.close()
        if refusal is not None:
            raise refusal

    def product(data: bytes) -> int:
        zipped = data[:2] == b"\x1f\x8b" or data[:1] == b"\x78"
        return min(len(data) * record_files.DEFLATE, record_files.MAX_INFLATED_RECORD) if zipped else 0

    seeds = [LINES, gzip.compress(LINES, 1, mtime=0), zlib.compress(LINES)]
    pieces = [b'"', b'""', b"\n", b"\r\n", b",", b"nan", b"-", b"1e400", b"9" * 40, b"\0", LINES]

    def of_pieces(data: bytes, rng: Random) -> bytes:
        found = bytearray(LINES)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(found) + 1)
            found[at : at + rng.choice((0, 0, 3))] = rng.choice(pieces) * rng.choice((1, 1, 1, 200))
        return (bytes(found), gzip.compress(found, 1, mtime=0), zlib.compress(found, 1))[rng.choice((0, 0, 1, 2))]

    return Target(seeds, _hostile(), [of_bytes(seeds), of_pieces], read, product)

"""tf.Example messages as JSON."""

from __future__ import annotations

from pathlib import Path
from random import Random

from fuzz.mutate import of_bytes
from fuzz.target import Target
from tfnb.ops.io.example_json import example_of_json

TEXT = (
    b'{"features": {"feature": {"a": {"floatList": {"value": [1.5, "NaN", -3e4]}}, "b": {"bytesList": {"value": '
    b'["aGk=", ""]}}, "c": {"int64List": {"value": ["7", -9223372036854775808]}}, "d": {}}}}'
)


def _hostile() -> list[bytes]:
    return [
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"features": {"feature": {"a": {"int64List": {"value": [' + b"0," * 100_000 + b"0]}}}}}",
        b'{"features": {"feature": {"a": {"int64List": {"value": [' + b"9" * 5000 + b"]}}}}}",
        b'{"features": {"feature": {"a": {"floatList": {"value": [1e400]}}}}}',
        b'{"features": {"feature": {"a": {"bytesList": {"value": ["' + b"A" * 99_999 + b'"]}}}}}',
        b'"\xff\xfe"',
        b"\0",
        b"",
    ]


def target(folder: Path) -> Target:
    pieces = [b"[", b"]", b"{", b"}", b'"', b",", b":", b"null", b"1e999", b"9" * 5000, b"\\ud800", b'"features"', TEXT]

    def of_pieces(data: bytes, rng: Random) -> bytes:
        found = bytearray(TEXT)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(found) + 1)
            found[at : at + rng.choice((0, 0, 3))] = rng.choice(pieces) * rng.choice((1, 1, 1, 200))
        return bytes(found)

    def read(data: bytes) -> None:
        example_of_json(data)

    return Target([TEXT, b"{}"], _hostile(), [of_bytes([TEXT]), of_pieces], read)

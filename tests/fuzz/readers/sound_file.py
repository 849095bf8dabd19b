"""Sound files of 16-bit PCM (WAV), as tf.audio.decode_wav reads them."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

import numpy as np

from fuzz.mutate import NUMBERS, of_bytes
from fuzz.target import Target
from tfnb.ir.opdef import HostCall
from tfnb.ops.io.compressed_sound_json import DECODE_WAV, WavAttrs


def _wav(size: int, channels: int, bits: int, data: bytes, kind: int = 1) -> bytes:
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, kind, channels & 0xFFFF, 8000, 16000, 2, bits)
    part = struct.pack("<4sI", b"data", size & 0xFFFFFFFF)
    return struct.pack("<4sI4s", b"RIFF", 36 + len(data), b"WAVE") + form + part + data


def target(folder: Path) -> Target:
    assert DECODE_WAV.host is not None
    call = HostCall(attrs=WavAttrs(), types={}, outputs=(), op=None)

    def read(data: bytes) -> None:
        contents = np.empty((), object)
        contents[()] = data
        DECODE_WAV.host(call, contents)  # type: ignore[misc]

    def of_sizes(_data: bytes, rng: Random) -> bytes:
        numbers = [rng.choice(NUMBERS) for _ in range(2)]
        return _wav(numbers[0], numbers[1], rng.choice((8, 16, 24)), bytes(rng.randint(0, 100)), rng.choice((1, 1, 3)))

    seeds = [_wav(8, 2, 16, bytes(8)), _wav(6, 1, 16, b"\x01\x02" * 3)]
    hostile = [*(_wav(n, 2, 16, bytes(8)) for n in NUMBERS), *(_wav(8, n, 16, bytes(8)) for n in NUMBERS), b""]
    return Target(seeds, hostile, [of_bytes(seeds), of_sizes], read)

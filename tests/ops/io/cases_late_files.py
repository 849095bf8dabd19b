"""Cases of compressed and padded bytes, of sound files and of tf.Example as JSON."""

from __future__ import annotations

import gzip
import zlib

import numpy as np
from cases import Case, arr

from tfnb.ops.io.late_files import ENCODE_WAV

_I = np.int32


def _texts(*values: bytes) -> np.ndarray:
    return np.array(values, object)


def _sound(samples: int, channels: int) -> np.ndarray:
    assert ENCODE_WAV.host is not None
    return ENCODE_WAV.host(None, arr(samples, channels, lo=-1, hi=1), _I(8000))


_JSON = b'{"features": {"feature": {"a": {"int64List": {"value": ["1", "2"]}}}}}'
CASES = [
    Case("DecodeCompressed", (_texts(b"plain", b""),)),
    Case("DecodeCompressed", (_texts(zlib.compress(b"some text"), zlib.compress(b"")),), {"compression_type": "ZLIB"}),
    Case("DecodeCompressed", (np.array(gzip.compress(b"x" * 1000), object),), {"compression_type": "GZIP"}),
    *(
        Case("DecodePaddedRaw", (_texts(b"abcdefgh", b"xy", b""), _I(8)), {"out_type": kind, "little_endian": little})
        for kind, little in (("uint8", True), ("int16", False), ("float64", True))
    ),
    Case("EncodeWav", (arr(7, 2, lo=-1.2, hi=1.2), _I(44100)), float32_only=True),
    Case("EncodeWav", (np.full((1, 3), 0.5, np.float32) * 0.77, _I(8000)), float32_only=True),
    Case("DecodeWav", (_sound(9, 2),)),
    *(
        Case("DecodeWav", (_sound(5, 2),), {"desired_samples": n, "desired_channels": k})
        for n, k in ((3, 1), (8, -1), (-1, 2))
    ),
    Case("DecodeJSONExample", (_texts(_JSON, b"{}"),), oracle=False),  # a message has several encodings
    Case("ShardedFilespec", (np.array(b"a/b", object), _I(4))),
]

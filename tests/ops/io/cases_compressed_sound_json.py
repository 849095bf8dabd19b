"""Cases of compressed and padded bytes, of sound files and what is heard in them, of tf.Example as JSON and protobuf messages."""

from __future__ import annotations

import gzip
import zlib

import numpy as np
from cases import Case, arr

from tfnb.ops.io.compressed_sound_json import ENCODE_WAV

_I = np.int32


def _texts(*values: bytes) -> np.ndarray:
    return np.array(values, object)


def _sound(samples: int, channels: int) -> np.ndarray:
    assert ENCODE_WAV.host is not None
    return ENCODE_WAV.host(None, arr(samples, channels, lo=-1, hi=1), _I(8000))


_FIELDS = {"message_type": "tensorflow.Feature", "field_names": ("int64_list", "bytes_list")}
_FEATURES = _texts(b"\x0a\x03\x0a\x01x", b"\x1a\x03\x0a\x01\x07", b"")
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
    *(
        Case(
            "AudioSpectrogram",
            (arr(40, 1, lo=-1, hi=1),),
            {"window_size": w, "stride": n, "magnitude_squared": square},
            float32_only=True,
        )
        for w, n, square in ((16, 8, False), (12, 5, True), (64, 1, True))
    ),
    Case("Mfcc", (arr(2, 3, 33, lo=0, hi=9), _I(8000)), float32_only=True),
    Case("Mfcc", (np.zeros((1, 1, 9), np.float32), _I(16000)), {"filterbank_channel_count": 14}, float32_only=True),
    Case(
        "Mfcc",
        (arr(1, 2, 65, lo=0, hi=1), _I(16000)),
        {"upper_frequency_limit": 900.0, "dct_coefficient_count": 5},
        float32_only=True,
    ),
    Case("DecodeProtoV2", (_FEATURES,), {**_FIELDS, "output_types": ("string", "string")}),
    Case("DecodeProtoV2", (_FEATURES.reshape(3, 1),), {**_FIELDS, "output_types": ("string", "string")}),
    Case(
        "EncodeProto",
        (np.array([[1, 0], [0, 1]], _I), [_texts(b"\x0a\x01\x07", b"").reshape(2, 1), _texts(b"", b"y").reshape(2, 1)]),
        _FIELDS,
    ),
    Case("ShardedFilespec", (np.array(b"a/b", object), _I(4))),
]

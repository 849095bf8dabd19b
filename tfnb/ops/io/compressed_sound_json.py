"""Seldom used ops on files and texts: compressed and padded bytes, sound files, tf.Example as JSON.

Invariant: what a header claims is compared with the bytes that follow before memory is taken.
"""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.shapes import scalar_shape, unchanged
from tfnb.ir.tensor import Tensor
from tfnb.ops.strings.elementwise import mapped
from tfnb.types import Shape, float16, float32, float64, int8, int16, int32, int64, scalar, uint8, uint16

__all__ = ["DECODE_COMPRESSED", "DECODE_WAV", "ENCODE_WAV", "MAX_INFLATED", "OPS"]

MAX_INFLATED = 1 << 30  # the most bytes that a compressed string may become


@record
class CompressionAttrs:
    """`compression_type`: "", "ZLIB" or "GZIP"."""

    compression_type: str = ""

    def __post_init__(self) -> None:
        kind = self.compression_type
        object.__setattr__(self, "compression_type", kind.decode() if isinstance(kind, bytes) else kind)
        if self.compression_type not in ("", "ZLIB", "GZIP"):
            raise InvalidArgumentError(
                f"Only ZLIB, GZIP or NONE are supported compressions, got {self.compression_type!r}"
            )


def _inflated(call: HostCall, text: bytes) -> bytes:
    kind = call.attrs.compression_type
    if not kind:
        return text
    file: Any = gzip.GzipFile(fileobj=io.BytesIO(text)) if kind == "GZIP" else None
    inflate = zlib.decompressobj()
    try:
        data = file.read(MAX_INFLATED + 1) if file else inflate.decompress(text, MAX_INFLATED + 1)
    except (zlib.error, EOFError, OSError) as e:
        raise InvalidArgumentError(f"DecodeCompressed: damaged {kind} data: {e}", call.op) from None
    if len(data) > MAX_INFLATED:
        raise InvalidArgumentError(f"DecodeCompressed: more than {MAX_INFLATED} bytes", call.op)
    if not file and not inflate.eof:
        raise InvalidArgumentError("DecodeCompressed: the ZLIB data end early", call.op)
    return bytes(data)


DECODE_COMPRESSED: OpDef[Tensor] = OpDef(
    "DecodeCompressed",
    "bytes: string",
    "output: string",
    """Compressed strings as they were.

    bytes: any shape, which output has too. Errors: a string is damaged, or becomes too long. Runs on the host.""",
    attrs=CompressionAttrs,
    infer=unchanged,
    host=lambda call, texts: mapped(call, lambda text: _inflated(call, text), texts),
    grad=NOT_DIFFERENTIABLE,
)


@record
class PaddedAttrs:
    """`little_endian`: the byte order of numbers longer than one byte."""

    little_endian: bool = True


def _padded_raw(call: HostCall, texts: np.ndarray, length: np.ndarray) -> np.ndarray:
    dtype, n = call.types["out_type"], int(length)
    if n <= 0 or n % dtype.size:
        raise InvalidArgumentError(
            f"fixed_length ({n}) must be a positive multiple of the size of out_type ({dtype.size})", call.op
        )
    joined = b"".join(bytes(t)[:n].ljust(n, b"\0") for t in texts.reshape(-1))
    kind = dtype.np if call.attrs.little_endian else dtype.np.newbyteorder(">")
    return np.frombuffer(joined, kind).astype(dtype.np).reshape((*texts.shape, n // dtype.size))


def _padded_shape(c: Infer) -> Shape:
    value = c.value(1)
    size = c.types["out_type"].size
    return c.shapes[0].concatenate(Shape((None if value is None else int(value) // size,)))


DECODE_PADDED_RAW: OpDef[Tensor] = OpDef(
    "DecodePaddedRaw",
    "input_bytes: string, fixed_length: int32",
    "output: out_type",
    """The first bytes of strings as numbers; short strings are filled with zeros.

    input_bytes: any shape. fixed_length: how many bytes of each count. output: an additional last dimension for the
    numbers of a string. Errors: the length is no positive multiple of a number's size. Runs on the host.""",
    types={"out_type": (float16, float32, float64, int32, uint16, uint8, int16, int8, int64)},
    attrs=PaddedAttrs,
    infer=_padded_shape,
    host=_padded_raw,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(1,),
)


@record
class WavAttrs:
    """`desired_channels`, `desired_samples`: the size of the result; -1: that of the file."""

    desired_channels: int = -1
    desired_samples: int = -1


def _chunks(call: HostCall, data: bytes) -> dict[bytes, bytes]:
    """The parts of a RIFF file by their names. Raises `InvalidArgumentError` when the bytes are none."""
    if len(data) < 12 or data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise InvalidArgumentError("Header mismatch: Expected RIFF and WAVE at the start of a sound file", call.op)
    found, at = {}, 12
    while at + 8 <= len(data) and b"data" not in found:
        name, (size,) = data[at : at + 4], struct.unpack("<I", data[at + 4 : at + 8])
        body = data[at + 8 : at + 8 + size]
        if len(body) < size and name != b"data":
            raise InvalidArgumentError(f"Data too short when trying to read {name!r} of {size} bytes", call.op)
        found[name] = body
        at += 8 + size + size % 2
    if b"fmt " not in found or b"data" not in found:
        raise InvalidArgumentError("a sound file needs the parts 'fmt ' and 'data'", call.op)
    return found


def _decode_wav(call: HostCall, contents: np.ndarray) -> Any:
    if contents.ndim:
        raise InvalidArgumentError(f"contents must be a scalar, got shape {contents.shape}", call.op)
    parts = _chunks(call, bytes(contents.item()))
    if len(parts[b"fmt "]) < 16:
        raise InvalidArgumentError("Bad format chunk size for WAV: Expected at least 16 bytes", call.op)
    kind, channels, rate, _, _, bits = struct.unpack("<HHIIHH", parts[b"fmt "][:16])
    if (kind, bits) != (1, 16) or not channels:
        raise InvalidArgumentError(
            f"Can only read 16-bit WAV files of PCM samples, but received {bits} bits of the kind {kind}", call.op
        )
    whole = len(parts[b"data"]) // (2 * channels)
    samples = np.frombuffer(parts[b"data"][: whole * 2 * channels], "<i2").reshape(whole, channels)
    audio = samples.astype(np.float32) / np.float32(32768)
    count, width = call.attrs.desired_samples, call.attrs.desired_channels
    if width not in (-1, channels):
        audio = np.concatenate([audio[:, :width], *[audio[:, -1:]] * max(0, width - channels)], 1)
    if count != -1:
        audio = np.concatenate([audio[:count], np.zeros((max(0, count - len(audio)), audio.shape[1]), np.float32)])
    return audio, np.asarray(rate, np.int32)


DECODE_WAV: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "DecodeWav",
    "contents: string",
    "audio: float32, sample_rate: int32",
    """The samples of a sound file of 16-bit PCM (WAV), in [-1, 1).

    contents: a scalar. audio: (samples, channels); missing samples are 0, missing channels equal the last one.
    sample_rate: a scalar. Errors: the bytes are no such file. Runs on the host.""",
    attrs=WavAttrs,
    infer=lambda c: (
        Shape(tuple(None if n < 0 else n for n in (c.attrs.desired_samples, c.attrs.desired_channels))),
        scalar,
    ),
    host=_decode_wav,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)


def _encode_wav(call: HostCall, audio: np.ndarray, rate: np.ndarray) -> np.ndarray:
    if audio.ndim != 2 or not 1 <= audio.shape[1] <= 65535 or rate.ndim or not 0 < int(rate):
        raise InvalidArgumentError(
            f"EncodeWav: needed audio (samples, channels) and a rate above 0, got {audio.shape} and {rate}", call.op
        )
    scaled = audio.astype(np.float64) * 32768.0
    whole = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)
    samples = np.clip(whole, -32768, 32767).astype("<i2").tobytes()
    channels, hertz = audio.shape[1], int(rate)
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, hertz, 2 * channels * hertz, 2 * channels, 16)
    head = struct.pack("<4sI4s", b"RIFF", 36 + len(samples), b"WAVE")
    result = np.empty((), object)
    result[()] = head + form + struct.pack("<4sI", b"data", len(samples)) + samples
    return result


ENCODE_WAV: OpDef[Tensor] = OpDef(
    "EncodeWav",
    "audio: float32, sample_rate: int32",
    "contents: string",
    """A sound file of 16-bit PCM (WAV) of samples in [-1, 1]; others are clipped.

    audio: (samples, channels). sample_rate: a scalar. contents: a scalar. Errors: other shapes. Runs on the host.""",
    infer=scalar_shape,
    host=_encode_wav,
    grad=NOT_DIFFERENTIABLE,
)

SHARDED_FILESPEC: OpDef[Tensor] = OpDef(
    "ShardedFilespec",
    "basename: string, num_shards: int32",
    "filename: string",
    "The pattern of all shards, such as basename-?????-of-00004; inputs and output are scalars.",
    infer=scalar_shape,
    host=lambda call, basename, count: np.array(b"%s-?????-of-%05d" % (basename.item(), int(count)), object),
    grad=NOT_DIFFERENTIABLE,
)

OPS: tuple[OpDef, ...] = (
    DECODE_COMPRESSED,
    DECODE_PADDED_RAW,
    DECODE_WAV,
    ENCODE_WAV,
    SHARDED_FILESPEC,
)

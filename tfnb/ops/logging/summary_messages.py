"""Host kernels of the summary ops, which convert values to serialized `Summary` messages (white paper, section 9.1).

Histograms have TensorFlow's buckets (each limit is 1.1 times the previous one), images are PNG, sound is 16-bit WAV, so
that TensorBoard displays tfnb's files like TensorFlow's. Invariant: invalid values raise an error, and no incomplete
message is produced.
"""

from __future__ import annotations

import importlib
import io
import sys
import wave
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.graphdef.message_types import Message
from tfnb.ir.opdef import HostCall
from tfnb.ir.protos import proto
from tfnb.types import as_dtype

__all__ = [
    "audio_summary",
    "histogram_summary",
    "image_summary",
    "merge_summary",
    "scalar_summary",
    "tensor_summary",
    "tensor_summary_v2",
]

_IMAGE_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_DARK = 1e-6  # images whose largest value is below this are black instead of amplified noise


def _finished(summary: Message) -> np.ndarray:
    return np.array(summary.SerializeToString(), object)


def _tag(call: HostCall, tag: np.ndarray) -> str:
    if tag.ndim:
        words = "Tags must be a scalar" if call.op.type == "ImageSummary" else "tags must be scalar"
        raise InvalidArgumentError(f"{words}, got shape {tag.shape}", call.op)
    return tag.item().decode("utf-8", "replace")


def scalar_summary(call: HostCall, tags: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The host kernel of ScalarSummary; see the op."""
    if tags.shape != values.shape:
        tag = f" (tag '{tags.item().decode('utf-8', 'replace')}')" if tags.size == 1 else ""
        raise InvalidArgumentError(
            f"tags and values not the same shape: {list(tags.shape)} != {list(values.shape)}{tag}", call.op
        )
    summary = proto("summary").Summary()
    for tag, value in zip(tags.flat, values.reshape(-1), strict=True):
        summary.value.add(tag=tag.decode("utf-8", "replace"), simple_value=float(value))
    return _finished(summary)


# ---- histograms ----------------------------------------------------------------------------------


@cache
def _limits() -> np.ndarray:
    """The upper limits of the buckets: 1e-12 * 1.1**k to 1e20 and the largest double, both signs, and 0."""
    positive = [1e-12]
    while positive[-1] * 1.1 < 1e20:
        positive.append(positive[-1] * 1.1)
    positive.append(sys.float_info.max)
    return np.array([*(-x for x in reversed(positive)), 0.0, *positive])


def _runs(counts: np.ndarray) -> np.ndarray:
    """The buckets to store: those that are not empty, and the last one of each run of empty buckets."""
    full = counts > 0
    return np.flatnonzero(full | np.append(full[1:], True))


def _total(values: np.ndarray) -> float:
    """The sum, added one after the other as in TensorFlow."""
    return float(np.cumsum(values)[-1]) if values.size else 0.0


def histogram_summary(call: HostCall, tag: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The host kernel of HistogramSummary; see the op."""
    name = _tag(call, tag)
    flat = values.reshape(-1).astype(np.float64)
    if not np.isfinite(flat).all():
        kind = "NaN" if np.isnan(flat).any() else "Infinity"
        raise InvalidArgumentError(f"{kind} in summary histogram for: {name}", call.op)
    limits = _limits()
    places = np.minimum(np.searchsorted(limits, flat, side="right"), limits.size - 1)
    counts = np.bincount(places, minlength=limits.size)
    buckets = _runs(counts) if flat.size else np.array([limits.size - 1])
    largest = sys.float_info.max
    summary = proto("summary").Summary()
    summary.value.add(tag=name).histo.CopyFrom(
        proto("histogram").HistogramProto(
            min=flat.min(initial=largest),
            max=flat.max(initial=-largest),
            num=flat.size,
            sum=_total(flat),
            sum_squares=_total(np.square(flat)),
            bucket_limit=limits[buckets].tolist(),
            bucket=counts[buckets].astype(np.float64).tolist(),
        )
    )
    return _finished(summary)


# ---- images and sound ----------------------------------------------------------------------------


def _media_tags(name: str, kind: str, count: int, limit: int) -> Iterator[tuple[int, str]]:
    for i in range(min(count, limit)):
        yield i, f"{name}/{kind}" if limit == 1 else f"{name}/{kind}/{i}"


def _to_bytes(image: np.ndarray, bad_color: np.ndarray) -> np.ndarray:
    """Floats scaled to 0..255: from 0 if none is negative, else around 127; non-finite pixels get `bad_color`."""
    finite = np.isfinite(image).all(axis=2)
    values = image[finite].astype(np.float32)
    pixels = np.broadcast_to(bad_color[: image.shape[2]], image.shape).copy()
    if values.size:
        low, high = float(values.min()), float(values.max())
        if low < 0:
            largest = max(abs(low), abs(high))
            scale, offset = (0.0 if largest < _DARK else 127.0 / largest), 128.0
        else:
            scale, offset = (0.0 if high < _DARK else 255.0 / high), 0.0
        scaled = values * np.float32(scale) + np.float32(offset)
        pixels[finite] = np.clip(scaled, 0, 255).astype(np.uint8)
    return pixels


def _png(image: np.ndarray) -> bytes:
    pil = importlib.import_module("PIL.Image")
    mode = _IMAGE_MODES[image.shape[2]]
    out = io.BytesIO()
    pixels = np.ascontiguousarray(image[:, :, 0] if mode == "L" else image)
    pil.frombytes(mode, (image.shape[1], image.shape[0]), pixels.tobytes()).save(out, "PNG")
    return out.getvalue()


def image_summary(call: HostCall, tag: np.ndarray, tensor: np.ndarray) -> np.ndarray:
    """The host kernel of ImageSummary; see the op."""
    name = _tag(call, tag)
    if tensor.ndim != 4 or tensor.shape[3] not in _IMAGE_MODES:
        raise InvalidArgumentError(
            f"Tensor must be 4-D with last dim 1, 3, or 4, not {list(tensor.shape)} (tag '{name}')", call.op
        )
    if not tensor.size:
        raise InvalidArgumentError(f"{name}: the images {tensor.shape} are empty", call.op)
    bad_pixel = np.asarray(call.attrs.bad_color, np.uint8).reshape(-1)
    if bad_pixel.size < tensor.shape[3]:
        raise InvalidArgumentError(f"{name}: bad_color needs {tensor.shape[3]} channels, got {bad_pixel.size}", call.op)
    summary = proto("summary").Summary()
    for i, full in _media_tags(name, "image", len(tensor), call.attrs.max_images):
        image = tensor[i] if tensor.dtype == np.uint8 else _to_bytes(tensor[i], bad_pixel)
        height, width, channels = image.shape
        picture = summary.value.add(tag=full).image
        picture.height, picture.width, picture.colorspace = height, width, channels
        picture.encoded_image_string = _png(image)
    return _finished(summary)


def _wav(sound: np.ndarray, rate: int) -> bytes:
    """[frames, channels] in -1..1 as a WAV file of 16-bit samples."""
    scaled = sound.astype(np.float64) * 32768.0
    rounded = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)
    samples = np.clip(rounded, -32768, 32767).astype("<i2")
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(sound.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.tobytes())
    return out.getvalue()


def audio_summary(
    call: HostCall, tag: np.ndarray, tensor: np.ndarray, sample_rate: np.ndarray | None = None
) -> np.ndarray:
    """The host kernel of AudioSummary and AudioSummaryV2; see the ops."""
    name = _tag(call, tag)
    rate = float(call.attrs.sample_rate if sample_rate is None else sample_rate)
    if tensor.ndim not in (2, 3):
        raise InvalidArgumentError(f"Tensor must be 3-D or 2-D, got: {list(tensor.shape)} (tag '{name}')", call.op)
    if not 0 < rate < 2**31:
        raise InvalidArgumentError(f"{name}: the sample rate must be positive, got {rate}", call.op)
    sounds = tensor if tensor.ndim == 3 else tensor[:, :, None]
    summary = proto("summary").Summary()
    for i, full in _media_tags(name, "audio", len(sounds), call.attrs.max_outputs):
        summary.value.add(tag=full).audio.CopyFrom(
            proto("summary").Summary.Audio(
                sample_rate=rate,
                num_channels=sounds.shape[2],
                length_frames=sounds.shape[1],
                encoded_audio_string=_wav(np.nan_to_num(sounds[i]), max(int(rate + 0.5), 1)),
                content_type="audio/wav",
            )
        )
    return _finished(summary)


# ---- tensors -------------------------------------------------------------------------------------


def _tensor_proto(array: np.ndarray) -> Any:
    dtype = as_dtype(array.dtype)
    shape = proto("tensor_shape").TensorShapeProto()
    for d in array.shape:
        shape.dim.add(size=d)
    message = proto("tensor").TensorProto(dtype=dtype.enum, tensor_shape=shape)
    if dtype.is_string:
        message.string_val.extend(array.reshape(-1).tolist())
    else:
        message.tensor_content = np.ascontiguousarray(array).tobytes()
    return message


def tensor_summary(call: HostCall, tensor: np.ndarray) -> np.ndarray:
    """The host kernel of TensorSummary; see the op."""
    summary = proto("summary").Summary()
    summary.value.add(node_name=call.op.name, tensor=_tensor_proto(tensor))
    return _finished(summary)


def tensor_summary_v2(call: HostCall, tag: np.ndarray, tensor: np.ndarray, metadata: np.ndarray) -> np.ndarray:
    """The host kernel of TensorSummaryV2; see the op."""
    summary = proto("summary").Summary()
    value = summary.value.add(tag=_tag(call, tag), tensor=_tensor_proto(tensor))
    value.metadata.SetInParent()
    if not _parsed(value.metadata, metadata.item()):
        raise InvalidArgumentError(f"{value.tag}: serialized_summary_metadata is no SummaryMetadata", call.op)
    return _finished(summary)


def _parsed(message: Message, data: bytes) -> bool:
    try:
        message.MergeFromString(data)
    except Exception as e:  # protobuf's DecodeError has no name that all its versions share
        if isinstance(e, (MemoryError, RecursionError)):
            raise
        return False
    return True


def merge_summary(call: HostCall, *inputs: np.ndarray) -> np.ndarray:
    """The host kernel of MergeSummary; see the op."""
    summary, tags = proto("summary").Summary(), set()
    for array in inputs:
        for data in array.reshape(-1):
            part = proto("summary").Summary()
            if not _parsed(part, data):
                raise InvalidArgumentError("could not parse one of the summary inputs", call.op)
            for value in part.value:
                if value.tag and value.tag in tags:
                    raise InvalidArgumentError(f"duplicate tag {value.tag} found in summary inputs", call.op)
                tags.add(value.tag)
            summary.MergeFrom(part)
    return _finished(summary)

"""Images, sounds, texts and tensors of a file in the form in which the browser receives them.

Images become PNG and sounds become WAV, decoded and encoded again here, so that no byte of a file reaches a decoder of
the browser; texts are strings. Invariant: the size of a result is bounded; invalid data raises `ValueError` or
`OpError`.
"""

from __future__ import annotations

import io
import math
import warnings
import wave

import numpy as np
from PIL import Image

from tfnb.ir.graphdef.message_types import TensorProto
from tfnb.ir.graphdef.tensor_proto import decode_array
from tfnb.notebook.protocol.viewer import AudioItem, ImageItem, ItemTime, TextItem
from tfnb.notebook.viewer.summary_value import SummaryValue

__all__ = ["array_of", "audio_item", "image_item", "tensor_item", "text_item"]

MOST_PIXELS, LONGEST_SIDE, MOST_BYTES = 1 << 24, 256, 32 << 20
MOST_SOUND = 1 << 20  # bytes of a sound; only the beginning of a longer one is sent
MOST_CHANNELS, MOST_RATE = 8, 384_000
MOST_CHARACTERS = 8_000
MOST_NUMBERS, SHOWN_NUMBERS = 1 << 22, 200  # elements of a tensor
FORMATS = ("PNG", "JPEG", "GIF")


def array_of(tensor: TensorProto, most: int) -> np.ndarray:
    """Returns the array of a TensorProto. Raises `ValueError` if its shape has more than `most` elements."""
    dims = [dim.size for dim in tensor.tensor_shape.dim]
    if min(dims, default=0) < 0 or math.prod(dims) > most:
        raise ValueError(f"a tensor of shape {dims}; the limit is {most:,} elements")
    return decode_array(tensor)


def _strings(tensor: TensorProto) -> list[bytes]:
    return list(tensor.string_val)


def image_item(value: SummaryValue, time: ItemTime) -> ImageItem:
    """Returns the image of a summary, reduced in size, as PNG. Raises `ValueError`, or the errors of Pillow."""
    if value.HasField("image"):
        data = value.image.encoded_image_string
    else:
        data = b"".join(_strings(value.tensor)[2:3])  # the strings are width, height, and images
    if len(data) > MOST_BYTES:
        raise ValueError(f"an image of {len(data)} bytes; the limit is {MOST_BYTES}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of large images; the limit below replaces its limit
        picture = Image.open(io.BytesIO(data), formats=FORMATS)
        width, height = picture.size
        if width * height > MOST_PIXELS:
            raise ValueError(f"an image of {width} x {height} pixels; the limit is {MOST_PIXELS}")
        frame = picture.convert("RGBA" if "A" in picture.getbands() else "RGB")
    if max(width, height) > LONGEST_SIDE:
        frame.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    out = io.BytesIO()
    frame.save(out, "PNG")
    return {**time, "width": width, "height": height, "png": out.getvalue()}


def audio_item(value: SummaryValue, time: ItemTime) -> AudioItem:
    """Returns the sound of a summary as WAV, cut off if it is long. Raises `ValueError`."""
    if value.HasField("audio"):
        data = value.audio.encoded_audio_string
    else:
        data = b"".join(_strings(value.tensor)[:1])  # the strings are sounds, each followed by its label
    if len(data) > MOST_BYTES:
        raise ValueError(f"a sound of {len(data)} bytes; the limit is {MOST_BYTES}")
    try:
        with wave.open(io.BytesIO(data)) as source:
            channels, width, rate, frames = source.getparams()[:4]
            if not (0 < channels <= MOST_CHANNELS and 0 < rate <= MOST_RATE and width <= 4):
                raise ValueError(f"a sound of {channels} channels, {rate} Hz, {8 * width} bits")
            n_frames = min(frames, MOST_SOUND // (channels * width))
            samples = source.readframes(n_frames)
    except (wave.Error, EOFError) as fault:
        raise ValueError(f"a sound that is no WAV of whole samples ({fault})") from None
    out = io.BytesIO()
    with wave.open(out, "wb") as shortened:
        shortened.setnchannels(channels)
        shortened.setsampwidth(width)
        shortened.setframerate(rate)
        shortened.writeframes(samples)
    seconds = len(samples) // (channels * width) / rate
    return {
        **time,
        "wav": out.getvalue(),
        "rate": rate,
        "channels": channels,
        "seconds": seconds,
        "of": frames / rate,
    }


def _cut(text: str, time: ItemTime) -> TextItem:
    return {**time, "text": text[:MOST_CHARACTERS], "cut": max(len(text) - MOST_CHARACTERS, 0)}


def text_item(value: SummaryValue, time: ItemTime) -> TextItem:
    """Returns the lines of a text summary. Raises `ValueError` if its tensor has no strings."""
    strings = [s.decode("utf-8", "replace") for s in _strings(value.tensor)]
    if not strings and value.tensor.tensor_content:
        raise ValueError("text that is no string tensor")
    return _cut("\n".join(strings), time)


def tensor_item(value: SummaryValue, time: ItemTime) -> TextItem:
    """Returns a tensor summary as text: its dtype, shape, statistics and first values. Raises `ValueError`."""
    array = array_of(value.tensor, MOST_NUMBERS)
    lines = [f"{'string' if array.dtype == object else array.dtype} {list(array.shape)}"]
    flat = array.reshape(-1)
    if array.dtype.kind in "biuf" and flat.size:
        finite = flat[np.isfinite(flat)].astype(np.float64)
        if finite.size:
            statistics = f"min {finite.min():.6g}, mean {finite.mean():.6g}, max {finite.max():.6g}"
            lines.append(f"{statistics}, standard deviation {finite.std():.6g}")
        if finite.size < flat.size:
            lines.append(f"{flat.size - finite.size:,} not finite")
    with np.printoptions(threshold=SHOWN_NUMBERS, edgeitems=4, linewidth=100):
        lines.append(str(array))
    return _cut("\n".join(lines), time)

"""Event files, read as `tf.view` and JupyterLab's server do, up to what is sent to the browser."""

from __future__ import annotations

import io
import itertools
import struct
import wave
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from PIL import Image

from fuzz.mutate import NUMBERS, of_bytes, of_message
from fuzz.readers.graph_import import graph_defs
from fuzz.target import Target
from tfnb.ir.protos import proto
from tfnb.notebook.protocol.viewer import KINDS
from tfnb.notebook.viewer import media
from tfnb.notebook.viewer.sources import FolderSource
from tfnb.notebook.viewer.state import ViewState, Wanted
from tfnb.summary.records import frame, masked_crc


def picture() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (4, 4), (1, 2, 3)).save(out, "PNG")
    return out.getvalue()


def sound() -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(b"\0\1" * 50)
    return out.getvalue()


def _scalar(step: int, tag: str = "loss", value: float = 1.0) -> bytes:
    event = proto("event").Event(wall_time=1.0 + step, step=step)
    event.summary.value.add(tag=tag).simple_value = value
    return bytes(event.SerializeToString())


def _of_all_kinds() -> Any:
    event = proto("event").Event(wall_time=1.0, step=3)
    values = event.summary.value
    image = values.add(tag="image").image
    image.height = image.width = 4
    image.colorspace = 3
    image.encoded_image_string = picture()
    histogram = values.add(tag="histogram").histo
    histogram.min, histogram.max = 0, 2
    histogram.bucket_limit.extend([1, 2])
    histogram.bucket.extend([3, 4])
    text = values.add(tag="text")
    text.metadata.plugin_data.plugin_name = "text"
    text.tensor.dtype = 7
    text.tensor.string_val.append(b"<b>hello</b>")
    tensor = values.add(tag="tensor").tensor
    tensor.dtype = 1
    tensor.tensor_shape.dim.add(size=3)
    tensor.float_val.extend([1, 2, 3])
    buckets = values.add(tag="buckets")
    buckets.metadata.plugin_data.plugin_name = "histograms"
    buckets.tensor.dtype = 2
    for size in (2, 3):
        buckets.tensor.tensor_shape.dim.add(size=size)
    buckets.tensor.tensor_content = np.arange(6.0).tobytes()
    values.add(tag="sound").audio.encoded_audio_string = sound()
    return event


def events() -> list[bytes]:
    graph = proto("event").Event(wall_time=2.0, graph_def=graph_defs()[0])
    start = proto("event").Event(wall_time=2.0, step=4)
    start.session_log.status = 1
    made = [_of_all_kinds(), start, graph]
    return [*(event.SerializeToString() for event in made), *(_scalar(k) for k in range(12)), _scalar(2, "other")]


def _head(length: int) -> bytes:
    told = struct.pack("<Q", length)
    return told + struct.pack("<I", masked_crc(told))


def _hostile() -> list[bytes]:
    def large(kind: str, **more: Any) -> bytes:
        event = proto("event").Event(wall_time=1.0, step=1)
        value = event.summary.value.add(tag="t")
        if kind == "tensor":
            value.metadata.plugin_data.plugin_name = more.get("plugin", "tensor")
            value.tensor.dtype = more["dtype"]
            for size in more["shape"]:
                value.tensor.tensor_shape.dim.add(size=size)
            getattr(value.tensor, more["field"]).extend(more["values"])
        elif kind == "histogram":
            value.histo.max = 1
            value.histo.bucket_limit.extend([1.0] * 100_000)
            value.histo.bucket.extend([1.0] * 100_000)
        else:
            value.image.encoded_image_string = more["data"]
        return frame(event.SerializeToString())

    def of_two_tags(number: int) -> bytes:
        event = proto("event").Event(wall_time=1.0 + number, step=number)
        for k in range(2):
            event.summary.value.add(tag=f"t{number:06d}{k}").simple_value = 1.0
        return frame(event.SerializeToString())

    not_finite = proto("event").Event(wall_time=float("nan"), step=-(1 << 63))
    not_finite.summary.value.add(tag="a").simple_value = float("inf")
    many = proto("event").Event(wall_time=1.0, step=1)
    for _ in range(20_000):
        many.summary.value.add(tag="").simple_value = 1.0
    gif = b"GIF89a" + struct.pack("<HHBBB", 40_000, 40_000, 0x80, 0, 0) + b"\0" * 6 + b"\x2c" + b"\0" * 8
    return [
        *(_head(n) + b"x" * 100 for n in (1 << 20, (1 << 31) - 1, 1 << 31, 1 << 62, (1 << 64) - 1)),
        b"\0" * (4 << 20),
        frame(_scalar(1)) * 1000 + b"\0" * (2 << 20),
        b"\0\0\0\0\0\0\0\xff" * (1 << 17),
        b"".join(map(of_two_tags, range(3000))),
        b"".join(frame(_scalar(k, f"tag{k:07d}")) for k in range(3000)),
        frame(not_finite.SerializeToString()) * 3,
        frame(_scalar(5).replace(b"loss", b"\xff\xff\xff\xff")),
        frame(many.SerializeToString()),
        frame(b"") * 5000,
        large("tensor", dtype=1, shape=[1 << 22], field="float_val", values=[1.0, 2.0]),
        large("tensor", dtype=1, shape=[1 << 62], field="float_val", values=[1.0]),
        large("tensor", dtype=1, shape=[1] * 100_000, field="float_val", values=[1.0]),
        large("tensor", dtype=7, shape=[20], field="string_val", values=[b"x" * 20_000] * 20),
        large("histogram"),
        large("image", data=gif),
        b"",
    ]


def target(folder: Path) -> Target:
    numbers = itertools.count()

    def read(data: bytes) -> None:
        # Contents are remembered by the path of their file, so each input needs another path.
        path = folder / f"events.out.tfevents.{next(numbers)}"
        path.write_bytes(data)
        try:
            view = ViewState([FolderSource(str(folder))])
            view.catalogue()
            for kind in KINDS:
                view.contents(Wanted(kind), True)
            view.sentence()
        finally:
            path.unlink()

    def product(_data: bytes) -> int:
        """A picture or a tensor of few bytes may be as large as the viewer shows one."""
        return 4 * max(media.MOST_PIXELS, media.MOST_NUMBERS)

    given = events()
    plain = b"".join(map(frame, given))
    change = of_message(
        [b"text", b"scalars", b"images", b"histograms", b"a", b"", picture()[:20], sound()[:44]], NUMBERS
    )
    change_bytes = of_bytes([plain, picture(), sound()])

    def of_records(_data: bytes, rng: Random) -> bytes:
        parts = list(given)
        for _ in range(rng.randint(1, 2)):
            at = rng.choice((0, 0, 0, rng.randrange(len(parts))))
            parts[at] = (change if rng.random() < 0.7 else change_bytes)(parts[at], rng)
        return b"".join(map(frame, parts))

    return Target([plain], _hostile(), [change_bytes, of_records, of_records], read, product)

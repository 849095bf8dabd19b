"""Pictures, sounds, texts and tensors of summaries, as the viewer decodes them for the browser."""

from __future__ import annotations

import struct
from pathlib import Path

from fuzz.mutate import NUMBERS, of_bytes, of_message
from fuzz.readers import image_file
from fuzz.readers.event_file import _of_all_kinds, picture, sound
from fuzz.target import Target
from tfnb.errors import DataLossError, InvalidArgumentError
from tfnb.ir.protos import proto
from tfnb.notebook.viewer import media
from tfnb.notebook.viewer.content import ITEM_MAKERS
from tfnb.summary.item import Item


def target(folder: Path) -> Target:
    """An input is a serialized `Summary.Value`. That an item cannot be shown is told in its note."""
    numbers = iter(range(1 << 62))

    def read(data: bytes) -> None:
        value = proto("summary").Summary.Value()
        try:
            value.ParseFromString(data)
        except Exception:  # the class of protobuf's error depends on its implementation
            raise DataLossError("no summary") from None
        event = proto("event").Event(summary=proto("summary").Summary(value=[value])).SerializeToString()
        tag = value.tag or value.node_name
        notes = []
        for kind, make in ITEM_MAKERS.items():
            made = make(Item(tag, kind, 0, 0.0, "", next(numbers), len(event), event))
            notes.append(isinstance(made, dict) and "note" in made)
        if all(notes):
            raise InvalidArgumentError("nothing can be shown")

    def value_of(**content: bytes) -> bytes:
        value = proto("summary").Summary.Value(tag="t")
        if "image" in content:
            value.image.encoded_image_string = content["image"]
        else:
            value.audio.encoded_audio_string = content["sound"]
        return bytes(value.SerializeToString())

    seeds = [v.SerializeToString() for v in _of_all_kinds().summary.value]
    seeds += [value_of(image=data) for data in image_file.seeds() if not data.startswith(b"BM")]
    wav = sound()
    hostile = [value_of(image=data) for data in image_file._hostile(image_file.seeds()[8]) if len(data) < 1 << 20]
    hostile += [
        value_of(sound=wav[:at] + struct.pack("<I", n) + wav[at + 4 :])
        for at in (4, 16, 24, 40)
        for n in (0, 1, (1 << 32) - 1)
    ]
    words = [picture(), wav, b"text", b""]

    def product(_data: bytes) -> int:
        """A picture or a tensor of few bytes may be as large as the viewer shows one."""
        return 4 * max(media.MOST_PIXELS, media.MOST_NUMBERS)

    return Target(seeds, hostile, [of_bytes(seeds), of_message(words, NUMBERS)], read, product)

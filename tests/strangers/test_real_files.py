"""Files as other programs write them. What TensorFlow 1.15.5 makes of each is stored, so it is not needed here."""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from random import Random

import numpy as np
import pytest

import tfnb as tf
from strangers.picture_files import chunk, files, png
from tfnb.errors import InvalidArgumentError
from tfnb.ops.image.file_formats import decode

# Made by `python scripts/real_files/run.py FOLDER OUT` under TensorFlow 1.15.5, with the files in FOLDER.
DECODED = json.loads(Path(__file__).with_name("decoded_by_1_15_5.json").read_text())
WAYS = [(channels, bits) for channels in (0, 1, 3, 4) for bits in (8, 16)]
# libpng 1.6.37 reads two bytes of the following chunk where an eXIf chunk does not begin with II or MM, and then gives
# up; later ones decode the picture, and so do we.
BEYOND = {f"other-{last}eXIf-bad-{wrong}" for last in ("", "last-") for wrong in (0, 9)}


def said(data: bytes, channels: int, bits: int) -> str:
    try:
        pixels = decode(data, channels, only=("PNG",), bits=bits)
    except InvalidArgumentError:
        return "refused"
    assert pixels.dtype == (np.uint8 if bits == 8 else np.uint16)
    digest = hashlib.sha1(np.ascontiguousarray(pixels).tobytes()).hexdigest()[:8]
    return "x".join(map(str, pixels.shape)) + " " + digest


@pytest.mark.filterwarnings("ignore")
def test_every_kind_of_png_is_decoded_as_libpng_does_it(caplog):
    """Of 757 files, each colour type and depth with each chunk that bears on samples, all bits are TensorFlow's."""
    caplog.set_level(logging.ERROR, "tfnb")
    different, names = {}, set()
    for name, data in files():
        names.add(name)
        found = [said(data, *way) for way in WAYS]
        if found != DECODED[name] and name not in BEYOND:
            different[name] = list(zip(WAYS, found, DECODED[name], strict=True))
    assert not different, f"{len(different)} of {len(names)} differ: {list(different.items())[:3]}"
    assert names == DECODED.keys()


def test_ancillary_damage_is_told_and_the_picture_decoded(caplog):
    whole = png(Random(1), 2, 8)
    damaged = whole[:33] + chunk(b"tEXt", b"key\0text", 1) + chunk(b"iCCP", b"no profile", 2) + whole[33:]
    with tf.Graph().as_default(), tf.Session() as sess:
        contents = tf.placeholder(tf.string, [])
        picture = tf.image.decode_png(contents)
        right = sess.run(picture, {contents: whole})
        assert not caplog.records
        np.testing.assert_array_equal(sess.run(picture, {contents: damaged}), right)
        assert "tEXt, iCCP are damaged" in caplog.text
        with pytest.raises(InvalidArgumentError, match=r"IDAT.*wrong CRC"):
            at = whole.index(b"IDAT") + 6
            sess.run(picture, {contents: whole[:at] + b"\0" + whole[at + 1 :]})

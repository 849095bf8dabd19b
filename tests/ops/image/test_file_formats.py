"""Image files: every filter of PNG at 16 bits, limits on results, animations whose frames differ."""

import io
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from PIL import Image

import tfnb as tf
from tfnb.errors import InvalidArgumentError
from tfnb.ops.image.file_formats import LIMIT, decode, with_channels

CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}


def png(width, height, rows, depth=8, colour=2, interlace=0):
    out = [b"\x89PNG\r\n\x1a\n"]
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    for kind, text in ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b"")):
        out += [struct.pack(">I", len(text)), kind, text, struct.pack(">I", zlib.crc32(kind + text))]
    return b"".join(out)


def unfiltered(rows, height, length, step):
    """The bytes of filtered rows, one by one as the specification of PNG (section 9) says."""
    found = np.zeros((height + 1, length + step), int)
    for y in range(height):
        kind, *line = rows[y * (length + 1) : (y + 1) * (length + 1)]
        for i, v in enumerate(line):
            a, b, c = found[y + 1, i], found[y, i + step], found[y, i]
            near = sorted((abs(q - a - b + c), k, q) for k, q in enumerate((a, b, c)))[0][2]
            found[y + 1, i + step] = (v + (0, a, b, (a + b) // 2, near)[kind]) % 256
    return found[1:, step:].astype(np.uint8)


@pytest.mark.parametrize("colour", [2, 4, 6])
def test_all_filters_at_16_bits(colour):
    """By the specification, byte by byte."""
    width, height, step = 7, 15, 2 * CHANNELS[colour]
    rng = np.random.default_rng(colour)
    rows = b"".join(bytes([y % 5]) + rng.bytes(step * width) for y in range(height))
    wanted = unfiltered(rows, height, step * width, step).view(">u2").reshape(height, width, -1)
    got = decode(png(width, height, rows, 16, colour))
    assert got.dtype == np.uint16
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("colour", [2, 4, 6])
def test_interlaced_colour_of_16_bits(colour):
    """Seven passes, each a smaller image of some of the pixels."""
    value = np.random.default_rng(1).integers(0, 65536, (9, 10, CHANNELS[colour]), np.uint16)
    rows = b""
    for y, x, dy, dx in (
        (0, 0, 8, 8),
        (0, 4, 8, 8),
        (4, 0, 8, 4),
        (0, 2, 4, 4),
        (2, 0, 4, 2),
        (0, 1, 2, 2),
        (1, 0, 2, 1),
    ):
        for line in value[y::dy, x::dx]:
            rows += b"\0" + line.astype(">u2").tobytes() if line.size else b""
    np.testing.assert_array_equal(decode(png(10, 9, rows, 16, colour, 1)), value)


def test_a_truncated_file_of_16_bits_is_refused():
    rows = b"\0" + bytes(6 * 100)
    with pytest.raises(InvalidArgumentError, match="30050 bytes of pixels, needed 60100"):
        decode(png(100, 100, rows * 50, 16, 2))
    with pytest.raises(InvalidArgumentError, match="invalid PNG data"):
        decode(png(100, 100, (b"\7" + rows[1:]) * 100, 16, 2))


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_the_limit_is_of_the_result(channels):
    """A bit a pixel in the file can be 32 in the result."""
    side = int((LIMIT / channels) ** 0.5) // 8 * 8 + 8
    data = png(side, side, bytes((side // 8 + 1) * side), 1, 0)
    with pytest.raises(InvalidArgumentError, match=f"{side} x {side} x {channels} is larger than the {LIMIT} elements"):
        decode(data, channels)


def test_making_grey_takes_little_memory():
    """The sums need twelve bytes a pixel, but not of all pixels at once."""
    image = np.random.default_rng(0).integers(0, 256, (1000, 2000, 3), np.uint8)
    tracemalloc.start()
    try:
        found, peak = with_channels(image, 1), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(found[..., 0], image.astype(np.int64) @ [9798, 19235, 3735] >> 15)
    assert peak < 2 * found.nbytes
    deep = np.full((3, 2, 3), 65535, np.uint16)
    np.testing.assert_array_equal(with_channels(deep, 1), np.full((3, 2, 1), 65535))


def test_frames_of_different_sizes_are_refused():
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    data = bytearray(out.getvalue())
    at = data.rindex(b"\x2c\0\0\0\0")
    data[at + 5 : at + 9] = struct.pack("<HH", 9, 7)
    with pytest.raises(InvalidArgumentError, match=r"frame 1 is of 9 x 7 pixels, the first one of 4 x 4"):
        decode(bytes(data), frames="all")
    assert decode(bytes(data), frames="first").shape == (4, 4, 3)
    with pytest.raises(InvalidArgumentError):
        decode(bytes(data))
    with pytest.raises(InvalidArgumentError, match="several frames"):
        decode(out.getvalue())


def test_a_gif_that_claims_more_than_its_bytes_can_hold():
    """One pixel on a canvas of 81 million; a plain picture of 4 million is as small as can be, and is read."""
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x4c\x01\x00"
    lie = b"GIF89a" + struct.pack("<HHBBB", 9000, 9000, 0x80, 0, 0) + bytes(6) + frame + b"\x3b"
    with pytest.raises(InvalidArgumentError, match="9000 x 9000 pixels cannot be in a file of 35 bytes"):
        decode(lie, frames="all")
    out = io.BytesIO()
    Image.new("P", (2000, 2000)).save(out, "GIF")
    assert decode(out.getvalue()).shape == (2000, 2000, 3)


def test_deep_ramps_are_small_files_by_the_filters_of_rows():
    ramp = (np.arange(64)[:, None] * 300 + np.arange(50) * 7).astype(np.uint16)[..., None]
    with tf.Graph().as_default(), tf.Session() as sess:
        file = sess.run(tf.image.encode_png(tf.constant(ramp)))
        assert len(file) < ramp.nbytes / 10
        assert (sess.run(tf.image.decode_png(file, dtype=tf.uint16)) == ramp).all()
        noise = np.random.default_rng(0).integers(0, 65536, (5, 4, 4)).astype(np.uint16)
        for image in (noise, noise[:1], noise[:, :1], noise[..., :3]):
            assert (sess.run(tf.image.decode_png(tf.image.encode_png(image), dtype=tf.uint16)) == image).all()


@pytest.mark.parametrize("width", [1, 3])
def test_transparent_pixels_of_a_small_gif_are_black(width):
    """A picture of one pixel, as pages count their readers with, has no copy of its own in the decoder."""
    file = io.BytesIO()
    Image.new("P", (width, 1), 0).save(file, "GIF", transparency=0)
    with tf.Session() as sess:
        assert sess.run(tf.image.decode_gif(file.getvalue())).tolist() == [[[[0, 0, 0]] * width]]

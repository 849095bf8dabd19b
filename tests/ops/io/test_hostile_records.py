"""Bytes from outside: records, images and CSV that are damaged, lie about their size, or are not what was declared."""

from __future__ import annotations

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from cases_codecs import file_of
from cases_examples import FIRST, SECOND, STEPS, example, feature
from evaluate import evaluate
from hypothesis import given, settings
from hypothesis import strategies as st

import tfnb as tf

_NOISE = np.random.default_rng(0).integers(0, 256, (17, 23, 3)).astype(np.uint8)
FILES = {
    "png": file_of("PNG", _NOISE)[()],
    "deep": None,
    "jpeg": file_of("JPEG", _NOISE)[()],
    "gif": file_of("GIF", _NOISE[..., 0])[()],
    "bmp": file_of("BMP", _NOISE)[()],
}
with tf.Graph().as_default():
    FILES["deep"] = evaluate(tf.image.encode_png(_NOISE.astype(np.uint16) * 257))[()]


def decoded(data: bytes):
    with tf.Graph().as_default():
        return evaluate(tf.image.decode_image(data))


def refused(call) -> str:
    with pytest.raises(tf.errors.InvalidArgumentError) as e, tf.Graph().as_default():
        evaluate(call())
    return e.value.message


@pytest.mark.parametrize("kind", FILES)
def test_truncated_files_are_refused(kind):
    data = FILES[kind]
    for size in {0, 1, 7, 20, 30, 40, len(data) // 2, len(data) - 20}:
        assert refused(lambda n=size: tf.image.decode_image(data[:n]))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_flipped_bits_give_a_picture_or_an_error(kind, data):
    damaged = bytearray(FILES[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        bit = data.draw(st.integers(0, 8 * len(damaged) - 1))
        damaged[bit // 8] ^= 1 << bit % 8
    try:
        assert decoded(bytes(damaged)).dtype == np.uint8
    except tf.errors.InvalidArgumentError as e:
        assert e.message.startswith("DecodeImage: ")


def test_a_flipped_bit_in_a_png_is_found_with_its_place():
    damaged = bytearray(FILES["png"])
    damaged[60] ^= 4
    assert "byte 33 is corrupt" in refused(lambda: tf.image.decode_png(bytes(damaged)))


def png(width: int, height: int, body: bytes, depth: int = 8, colour: int = 2) -> bytes:
    parts = [b"\x89PNG\r\n\x1a\n"]
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    for kind, text in ((b"IHDR", header), (b"IDAT", body), (b"IEND", b"")):
        parts += [
            struct.pack(">I", len(text)),
            kind,
            text,
            struct.pack(">I", zlib.crc32(kind + text)),
        ]
    return b"".join(parts)


@pytest.mark.parametrize("depth", [8, 16])
def test_bombs_are_refused_before_memory_is_taken(depth):
    small = zlib.compress(bytes(10**6), 9)
    huge = {
        "elements allowed": png(60000, 60000, small, depth),
        "cannot be in": png(9000, 9000, small, depth),
    }
    for words, bomb in huge.items():
        tracemalloc.start()
        assert words in refused(lambda data=bomb: tf.image.decode_png(data))
        assert tracemalloc.get_traced_memory()[1] < 4e6
        tracemalloc.stop()


def test_other_formats_with_huge_headers():
    gif = b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0x80, 0, 0) + bytes(6)
    gif += b"," + struct.pack("<HHHHB", 0, 0, 65535, 65535, 0) + b"\x02\x02\x44\x01\x00;"
    assert "elements allowed" in refused(lambda: tf.image.decode_gif(gif))
    bmp = bytearray(FILES["bmp"])
    struct.pack_into("<ii", bmp, 18, 2**31 - 1, -(2**31))
    assert "elements allowed" in refused(lambda: tf.image.decode_bmp(bytes(bmp)))
    jpeg = FILES["jpeg"]
    at = jpeg.index(b"\xff\xc0")
    wide = jpeg[: at + 5] + struct.pack(">HH", 65500, 65500) + jpeg[at + 9 :]
    assert "elements allowed" in refused(lambda: tf.image.decode_jpeg(wide))


def test_a_truncated_jpeg_gives_what_there_is_when_asked():
    with tf.Graph().as_default():
        cut = FILES["jpeg"][:-120]
        found = evaluate(tf.image.decode_jpeg(cut, try_recover_truncated=True))
        whole = evaluate(tf.image.decode_jpeg(FILES["jpeg"]))
    np.testing.assert_array_equal(found[:8, :8], whole[:8, :8])
    assert found.shape == whole.shape


FEATURES = {"a": tf.FixedLenFeature([2], tf.int64), "c": tf.VarLenFeature(tf.string)}
LISTS = {"x": tf.FixedLenSequenceFeature([2], tf.float32), "y": tf.VarLenFeature(tf.int64)}


@settings(max_examples=150, deadline=None)
@given(st.booleans(), st.data())
def test_damaged_records_parse_or_are_refused(lists, data):
    damaged = bytearray(STEPS if lists else FIRST)
    bit = data.draw(st.integers(0, 8 * len(damaged) - 1))
    damaged[bit // 8] ^= 1 << bit % 8
    damaged = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    with tf.Graph().as_default():
        if lists:
            made = list(tf.parse_single_sequence_example(damaged, None, LISTS)[1].values())
        else:
            made = list(tf.parse_example([SECOND, damaged], FEATURES).values())
        flat = [t.values if isinstance(t, tf.SparseTensor) else t for t in made]
        try:
            evaluate(flat)
        except tf.errors.InvalidArgumentError as e:
            assert "example" in e.message


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (
            {"b": tf.FixedLenFeature([], tf.float32)},
            "example 1, Feature: b (data type: float) is required but could not be found",
        ),
        (
            {"a": tf.FixedLenFeature([3], tf.int64)},
            "example 0, Key: a, Index: 0.  Number of int64 values != expected.  values size: 2",
        ),
        (
            {"a": tf.VarLenFeature(tf.string)},
            "Data types don't match. Expected type: string  Feature is: int64_list; needed bytes_list",
        ),
        ({"s": tf.SparseFeature("a", "b", tf.float32, 10)}, "cannot take the shape [4]"),
    ],
)
def test_what_does_not_fit_is_named(features, words):
    def call():
        found = next(iter(tf.parse_example([FIRST, SECOND], features).values()))
        return found.values if isinstance(found, tf.SparseTensor) else found

    assert words in refused(call)


def test_declarations_are_checked():
    with tf.Graph().as_default():
        for features in ({}, {"a": tf.int64}, {"a": tf.FixedLenSequenceFeature([], tf.int64)}):
            with pytest.raises(tf.errors.InvalidArgumentError):
                tf.parse_example([FIRST], features or None)
        with pytest.raises(tf.errors.InvalidArgumentError, match="default of shape"):
            tf.parse_example([FIRST], {"a": tf.FixedLenFeature([2], tf.int64, [1, 2, 3])})


def test_the_messages_are_those_of_the_format():
    data = example(a=feature(1, -1), b=feature(0.5), c=feature(b"\0"))
    again = tf.train.Example.FromString(data)
    assert list(again.features.feature["a"].int64_list.value) == [1, -1]
    assert again.features.feature["c"].WhichOneof("kind") == "bytes_list"
    assert tf.train.Example.DESCRIPTOR.full_name == "tensorflow.Example"
    made = tf.train.Example(
        features=tf.train.Features(feature={"b": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5]))})
    )
    assert made.SerializeToString() == bytes.fromhex("0a0f0a0d0a0162120812060a040000003f")
    with pytest.raises(AttributeError, match="Exampel"):
        tf.train.Exampel  # noqa: B018


def test_the_way_of_0_6():
    with tf.Graph().as_default():
        found = tf.parse_single_example(
            FIRST, dense_keys=["a", "b"], dense_types=[tf.int64, tf.float32], dense_shapes=[[2], []]
        )
        a, b = evaluate([found["a"], found["b"]])
    assert a.tolist() == [1, 2] and b == 1.5


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ("1,2,3", "Expect 2 fields but have 3 in record 1"),
        ("", "Expect 2 fields but have 0 in record 1"),
        ("a,2", "Field 0 in record 1 is not a valid int32"),
        ("1,", "Field 1 is required but missing in record 1!"),
        ('1,"2', "Quoted field has to end with quote followed by delimiter or end: that at byte 2"),
        ('"1"2,3', "followed by b'2' at byte 3"),
        ('1,2"', "quotes/CRLFs inside: one at byte 3"),
        ("1,2\r\n", "quotes/CRLFs inside: one at byte 3"),
        ("9" * 5000 + ",1", "is not a valid int32"),
        ("2147483648,1", "is not a valid int32"),
    ],
)
def test_bad_rows_of_csv(record, words):
    none = np.array([], np.int32)
    assert words in refused(lambda: tf.decode_csv(["1,2", record], [none, none])[0])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text('a",\r\n\0é', max_size=8), min_size=1, max_size=4))
def test_csv_written_with_quotes_is_read_back(fields):
    record = ",".join('"' + f.replace('"', '""') + '"' for f in fields)
    with tf.Graph().as_default():
        found = evaluate(tf.decode_csv(record, [["-"]] * len(fields)))
    assert [v[()].decode() for v in found] == [f or "-" for f in fields]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.decode_raw(["abc", "abcd"], tf.uint8), "all be the same size, but element 1 has size 3 != 4"),
        (lambda: tf.decode_raw("abc", tf.int16), "multiple of 2"),
        (lambda: tf.decode_base64("a=b"), "not base64"),
        (lambda: tf.string_to_number(["1", "x"]), "could not correctly convert string: x is not a valid float32"),
        (lambda: tf.substr("hello", 6, 1), "out of range"),
        (lambda: tf.regex_replace("a", "(", "b"), "invalid pattern"),
        (lambda: tf.regex_replace("a", "a", r"\1"), "0 groups"),
    ],
)
def test_bad_strings(call, words):
    assert words in refused(call)


def test_patterns_that_explode_elsewhere_do_not_hang():
    with tf.Graph().as_default():
        assert not evaluate(tf.regex_full_match("a" * 5000, "(a+)+b"))

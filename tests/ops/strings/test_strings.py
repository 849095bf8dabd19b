"""Strings in a session: values stay bytes, split gives sparse tensors, old and new names."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.ops import CATALOG
from tfnb.ops.strings.hashing import fingerprint64, siphash


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as made:
        yield made


def test_any_bytes_survive(session):
    raw = bytes(range(256)) + b"\0\0"
    x = tf.constant([[raw], [b""]])
    fed = tf.placeholder(tf.string)
    made = [x, tf.identity(fed), tf.string_join([fed, "\0"]), tf.reverse(x, [0])[1, 0]]
    values = session.run(made, {fed: raw})
    assert values[0].tolist() == [[raw], [b""]]
    assert values[1:] == [raw, raw + b"\0", raw]


def test_split_is_sparse(session):
    found = session.run(tf.string_split(["a b", "", "c  d e"]))
    assert found.indices.tolist() == [[0, 0], [0, 1], [2, 0], [2, 1], [2, 2]]
    assert found.values.tolist() == [b"a", b"b", b"c", b"d", b"e"]
    assert found.dense_shape.tolist() == [3, 3]
    dense = tf.sparse_tensor_to_dense(tf.string_split(["1,2", "3"], ","), default_value="0")
    assert session.run(tf.string_to_number(dense, tf.int32)).tolist() == [[1, 2], [3, 0]]


def test_split_of_1_15_takes_the_type_of_its_result(session):
    texts = tf.constant(["a  b", " x"])
    for split in (tf.strings.split(texts, None, -1, "SparseTensor"), tf.strings.split(source=texts, sep=None)):
        found = session.run(split)
        assert found.values.tolist() == [b"a", b"b", b"x"] and found.dense_shape.tolist() == [2, 2]
    with pytest.raises(NotImplementedError, match="no RaggedTensors"):
        tf.strings.split(texts, result_type="RaggedTensor")
    with pytest.raises(ValueError, match=r"result_type must be .* got 'dense'"):
        tf.strings.split(texts, result_type="dense")
    with pytest.raises(ValueError, match="'input' or as 'source'"):
        tf.strings.split(texts, source=texts)


def test_split_of_a_matrix_has_three_dimensions(session):
    found = session.run(tf.strings.split([["a b", "c"], ["", "d e f"]]))
    assert found.indices.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 1, 0], [1, 1, 1], [1, 1, 2]]
    assert found.values.tolist() == [b"a", b"b", b"c", b"d", b"e", b"f"]
    assert found.dense_shape.tolist() == [2, 2, 3]  # as TensorFlow 1.15.5
    with pytest.raises(ValueError, match="rank 1 or more"):
        tf.strings.split("a b")


def test_reduce_join_all_and_some(session):
    x = tf.placeholder(tf.string, [None, None])
    made = [
        tf.reduce_join(x),
        tf.reduce_join(x, 0, separator="-"),
        tf.reduce_join(x, [0, 1]),
        tf.reduce_join(x, reduction_indices=1, keep_dims=True),
    ]
    values = session.run(made, {x: [["a", "b"], ["c", "d"]]})
    assert values[0] == b"abcd" and values[2] == b"acbd"
    assert values[1].tolist() == [b"a-c", b"b-d"] and values[3].tolist() == [[b"ab"], [b"cd"]]


def test_names_of_both_times(session):
    pairs = [
        (tf.string_join(["a", "b"]), tf.strings.join(["a", "b"])),
        (tf.substr("hello", 1, 2), tf.strings.substr("hello", 1, 2)),
        (tf.as_string(1.5, precision=1), tf.strings.as_string(1.5, precision=1)),
        (tf.string_to_hash_bucket_fast("q", 99), tf.strings.to_hash_bucket_fast("q", 99)),
        (tf.regex_replace("aab", "a+", "x"), tf.strings.regex_replace("aab", "a+", "x")),
        (tf.decode_base64("YQ"), tf.io.decode_base64("YQ")),
        (tf.string_to_number("7"), tf.strings.to_number("7")),
    ]
    for old, new in pairs:
        assert session.run(old) == session.run(new)


def test_strings_through_variables_conditions_and_loops(session):
    v = tf.Variable(["a", "b"])
    session.run(v.initializer)
    session.run(tf.assign(v, ["x", "y\0"]))
    assert session.run(v + "!").tolist() == [b"x!", b"y\0!"]
    chosen = tf.cond(tf.constant(True), lambda: tf.constant("yes"), lambda: tf.constant("no"))
    assert session.run(chosen) == b"yes"
    mapped = tf.map_fn(lambda s: tf.string_join([s, s]), tf.constant(["p", "q"]))
    assert session.run(mapped).tolist() == [b"pp", b"qq"]


def test_published_values_of_the_hashes():
    key = int.from_bytes(bytes(range(8)), "little"), int.from_bytes(bytes(range(8, 16)), "little")
    assert siphash(bytes(range(15)), *key) == 0xA129CA6149BE45E5
    assert fingerprint64(b"") == 0x9AE16A3B2F90404F
    assert fingerprint64(b"hello world") == 6381520714923946011


def test_numbers_written_and_read_are_the_same(session):
    numbers = np.array([0.1, -1e30, 1.5e-7, np.inf], np.float32)
    again = tf.string_to_number(tf.as_string(numbers, precision=9, scientific=True))
    np.testing.assert_array_equal(session.run(again), numbers)


def test_rows_without_strings_have_n_grams_only_beside_others(session):
    attrs = {"separator": "|", "ngram_widths": [2], "left_pad": "L", "right_pad": "R", "pad_width": -1}
    for data, limits, expected in (
        ([], [0, 0, 0], ([], [0, 0, 0])),
        ([], [], ([], [])),
        (["a"], [0, 0, 1], ([b"L|R", b"L|a", b"a|R"], [0, 1, 3])),
    ):
        strings, splits = tf.constant(data, tf.string), tf.constant(limits, tf.int64)
        made = CATALOG["StringNGrams"](strings, splits, preserve_short_sequences=True, **attrs)
        grams, ends = session.run(list(made))
        assert (grams.tolist(), ends.tolist()) == expected

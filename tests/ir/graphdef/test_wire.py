"""Messages whose bytes stand for much more memory, or for none that can be: refused before they are read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfnb as tf
from tfnb.errors import DataLossError, OpError, ResourceExhaustedError
from tfnb.ir.graphdef import wire
from tfnb.ir.graphdef.message import as_message
from tfnb.ir.graphdef.wire import read_message


def field(number, content):
    head, size = bytes([number << 3 | 2]), len(content)
    while size > 127:
        head += bytes([size & 127 | 128])
        size >>= 7
    return head + bytes([size]) + content


def attribute(content):
    """A graph of one node that has one attribute of this content."""
    return field(1, field(1, b"n") + field(2, b"NoOp") + field(5, field(1, b"a") + field(2, content)))


MANY = 1 << 19
HOSTILE = {
    "empty nodes": field(1, b"") * MANY,
    "empty dimensions": attribute(field(7, field(2, b"") * MANY)),
    "empty shapes in a list": attribute(field(1, field(7, b"") * MANY)),
    "numbers of a byte each": attribute(field(1, field(3, bytes(2 * MANY)))),
    "numbers, each a field": attribute(field(1, b"\x18\x00" * MANY)),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_memory_is_limited_before_it_is_taken(what, monkeypatch):
    monkeypatch.setattr(wire, "FREE_MEMORY", 1 << 20)
    monkeypatch.setattr(wire, "MOST_FIELDS", 100_000)
    with pytest.raises(ResourceExhaustedError, match="byte "):
        read_message(tf.GraphDef(), HOSTILE[what])


def test_what_is_large_and_good_is_read(monkeypatch):
    with tf.Graph().as_default() as graph:
        tf.constant(bytes(3 << 20))
        tf.add_n([tf.constant(float(i)) for i in range(300)])
        wanted = graph.as_graph_def()
    monkeypatch.setattr(wire, "FREE_MEMORY", 0)
    assert as_message("graph", "GraphDef", wanted.SerializeToString()) == wanted


@pytest.mark.parametrize(
    "content, message",
    [
        (field(1, b"\x0a\x05ab"), "at byte 2 tells 5 bytes, 2 are left"),
        (field(1, b"\x0a\x02ab\x0a"), "end"),
        (b"\x0f", "byte 0 begins no field"),
        (b"\xff" * 30, "more than 10 bytes before byte 10"),
        (field(4, b"\x0d\x00"), "behind its message, which ends at byte 4"),
    ],
)
def test_damage_is_told_with_its_place(content, message, monkeypatch):
    monkeypatch.setattr(wire, "UNMEASURED", 0)
    with pytest.raises(DataLossError, match=message):
        read_message(tf.GraphDef(), content)


@settings(max_examples=100)
@given(st.binary(max_size=80))
def test_bytes_are_refused_or_read_as_by_the_library(content):
    """The walk refuses nothing that the library takes, but for groups, which no message of TensorFlow's has."""
    try:
        wanted = tf.GraphDef.FromString(content)
    except Exception:
        return
    measured, wire.UNMEASURED = wire.UNMEASURED, 0
    try:
        made = tf.GraphDef()
        read_message(made, content)
        assert made == wanted
    except OpError as e:
        assert "begins no field" in str(e)
    finally:
        wire.UNMEASURED = measured

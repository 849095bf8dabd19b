"""Heads and chunks: what was sent comes out again, and nothing else gets in."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tfnb.errors import InvalidArgumentError, OpError, ResourceExhaustedError
from tfnb.session.dask.transport import wire
from tfnb.session.dask.transport.wire import (
    Assembly,
    Head,
    Kind,
    Message,
    Subject,
    as_array,
    frames,
    in_one,
    pack,
    unpack,
)
from tfnb.types import as_dtype

DTYPES = st.sampled_from(
    [np.float32, np.float64, np.int8, np.uint16, np.int64, np.bool_, np.complex64, ml_dtypes.bfloat16]
)


def transmitted(value, is_dead=False, ends=False):
    """(the head, the value) that come out where the frames of `value` go in."""
    assembly = None
    for raw, data in frames(Message(Kind.TENSOR, 5, "edge a", value, is_dead, ends), 7):
        head, size = unpack(memoryview(raw + bytes(data)), 1 << 30)
        assert size == len(raw)
        assembly = assembly or Assembly(head)
        assembly.place(head)[:] = data
    assert assembly.is_placed
    return assembly.head, assembly.value()


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_tensors_come_as_they_were_sent(data):
    dtype = np.dtype(data.draw(DTYPES))
    shape = data.draw(arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
    count = int(np.prod(shape))
    raw = data.draw(st.binary(min_size=count * dtype.itemsize, max_size=count * dtype.itemsize))
    if dtype == np.bool_:
        raw = bytes(b & 1 for b in raw)
    value = np.frombuffer(raw, dtype).reshape(shape)
    _, got = transmitted(value)
    assert got.dtype == dtype
    assert got.shape == shape
    assert got.tobytes() == value.tobytes()
    message = Message(Kind.TENSOR, 5, "edge a", value)
    whole = in_one(message, 7)
    assert (whole is None) == (value.nbytes > 4096)
    assert whole in (None, b"".join(part for pair in frames(message, 7) for part in pair))


def test_what_does_not_go_in_one():
    for value in (np.zeros(2000), np.array([b"ab", b"c"], object), np.array(["ab"])):
        assert in_one(Message(Kind.TENSOR, 5, "edge a", value), 7) is None


@given(st.lists(st.binary(max_size=40), max_size=9))
def test_strings(texts):
    value = np.empty(len(texts), object)
    value[:] = texts
    assert transmitted(value)[1].tolist() == texts


def test_long_tensors_go_in_chunks(monkeypatch):
    monkeypatch.setattr(wire, "CHUNK", 1000)
    value = np.arange(1203, dtype=np.float32)[::-1].reshape(3, 401).T  # not contiguous either
    parts = list(frames(Message(Kind.TENSOR, 3, "k", value), 2))
    assert [len(d) for _, d in parts] == [1000] * 4 + [812]
    np.testing.assert_array_equal(transmitted(value)[1], value)


@pytest.mark.parametrize("size", [1, 700_000])
@pytest.mark.parametrize("is_dead", [False, True])
@pytest.mark.parametrize("ends", [False, True])
def test_a_dead_token_and_the_end_of_a_step_are_told(size, is_dead, ends):
    head, _ = transmitted(np.zeros(size, np.float32), is_dead, ends)
    assert (head.is_dead, head.ends) == (is_dead, ends)
    raw = in_one(Message(Kind.TENSOR, 5, "edge", np.zeros(2), is_dead, ends), 7)
    assert unpack(memoryview(raw), 1 << 30)[0][7:] == (is_dead, ends)
    again = unpack(memoryview(pack(head)), 1 << 30)
    assert again is not None and again[0] == head


def test_a_head_that_has_not_come_whole():
    raw = pack(GOOD)
    assert [unpack(memoryview(raw[:n]), 1000) for n in range(len(raw))] == [None] * len(raw)
    assert unpack(memoryview(raw + b"more"), 1000) == (GOOD, len(raw))


def subject(dtype="float32", shape=(2, 3)):
    return Subject("key", as_dtype(dtype), shape)


GOOD = Head(Kind.TENSOR, 2, 3, subject(), 24, 24)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"nbytes": 25}, InvalidArgumentError, "25 bytes came for float32 of shape [2, 3]"),
        ({"subject": subject(shape=(2**40, 2**40))}, InvalidArgumentError, "24 bytes came"),
        ({"subject": subject("resource"), "nbytes": 48}, InvalidArgumentError, "object of its own process"),
        ({"subject": subject("string", (4,))}, InvalidArgumentError, "24 bytes cannot hold strings"),
        ({"subject": subject(shape=(1,) * 33)}, InvalidArgumentError, "33 dimensions"),
        ({"offset": 1}, InvalidArgumentError, "ends at byte 25 of 24"),
        ({"length": 0}, InvalidArgumentError, "brings nothing"),
        ({"nbytes": 2**40, "subject": subject(shape=(2**38,))}, ResourceExhaustedError, "limit is 1000"),
    ],
)
def test_heads_that_contradict_themselves(change, error, text):
    with pytest.raises(error) as raised:
        unpack(memoryview(pack(GOOD._replace(**change))), 1000)
    assert text in str(raised.value)


def test_a_dtype_that_is_not_known():
    raw = pack(GOOD).replace(b"float32", b"float31")
    with pytest.raises(InvalidArgumentError, match="'float31' is not known"):
        unpack(memoryview(raw), 1000)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_mutated_heads_are_refused_or_harmless(data):
    raw = bytearray(pack(GOOD))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    raw = raw[: data.draw(st.integers(0, len(raw)))] if data.draw(st.booleans()) else raw
    try:
        found = unpack(memoryview(raw), 1000)
        if found is not None and found[0].length == found[0].nbytes:
            assert as_array(found[0], bytearray(found[0].nbytes)).nbytes <= 1000
    except OpError:
        pass


def test_frames_out_of_turn():
    first = Assembly(GOOD._replace(length=8))
    with pytest.raises(InvalidArgumentError, match="came for byte 8, needed byte 0 of 24"):
        first.place(GOOD._replace(offset=8, length=8))
    first.place(GOOD._replace(length=8))
    with pytest.raises(InvalidArgumentError, match="came for byte 8, needed byte 8"):
        first.place(GOOD._replace(offset=8, length=8, step=4))


def test_strings_whose_lengths_lie():
    head = GOOD._replace(subject=subject("string", (2,)), nbytes=20, length=20)
    with pytest.raises(InvalidArgumentError, match="strings of 'key'"):
        as_array(head, bytearray(np.array([3, 2**63], "<u8").tobytes() + b"abcd"))


def test_long_heads_are_not_remembered():
    """A peer could fill the memory of the other side with them: 4,096 of 60 KB each."""

    def read(key):
        raw, _ = next(iter(frames(Message(Kind.TENSOR, 1, key, np.zeros(0)), 1)))
        return unpack(memoryview(raw), 1 << 20)[0].key

    wire._decode_subject_cached.cache_clear()
    assert [read(k) for k in ("short", "short")] == ["short"] * 2
    assert read("x" * 60_000) == "x" * 60_000
    assert (
        wire._decode_subject_cached.cache_info()[:2] == (1, 1)
        and wire._decode_subject_cached.cache_info().currsize == 1
    )

"""Heads and chunks: what was sent comes out again, and nothing else gets in."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tfnb.errors import InvalidArgumentError, OpError, ResourceExhaustedError
from tfnb.session.dask import wire
from tfnb.session.dask.wire import (
    Assembly,
    Head,
    Kind,
    Message,
    bundled,
    chunks,
    pack,
    unbundled,
    unpack,
)

DTYPES = st.sampled_from(
    [np.float32, np.float64, np.int8, np.uint16, np.int64, np.bool_, np.complex64, ml_dtypes.bfloat16]
)


def transmitted(value, is_dead=False):
    assembly = None
    for head, data in chunks(Message(Kind.TENSOR, 5, "edge a", value, is_dead), 7, 1):
        found = unpack(head, 1 << 30)
        assembly = assembly or Assembly(found)
        complete = assembly.add(found, data)
    assert complete
    return assembly


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
    got = transmitted(value).value()
    assert got.dtype == dtype
    assert got.shape == shape
    assert got.tobytes() == value.tobytes()


@given(st.lists(st.binary(max_size=40), max_size=9))
def test_strings(texts):
    value = np.empty(len(texts), object)
    value[:] = texts
    assert transmitted(value).value().tolist() == texts


def test_long_tensors_go_in_chunks(monkeypatch):
    monkeypatch.setattr(wire, "CHUNK", 1000)
    value = np.arange(1203, dtype=np.float32)[::-1].reshape(3, 401).T  # not contiguous either
    parts = list(chunks(Message(Kind.TENSOR, 3, "k", value), 1, 2))
    assert [len(d) for _, d in parts] == [1000] * 4 + [812]
    np.testing.assert_array_equal(transmitted(value).value(), value)


def test_a_dead_token_is_told():
    assert transmitted(np.zeros((), np.float32), is_dead=True).head.is_dead


GOOD = Head(Kind.TENSOR, 1, 2, 3, "key", "float32", (2, 3), 24)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"nbytes": 25}, InvalidArgumentError, "25 bytes came for float32 of shape [2, 3]"),
        ({"shape": (2**40, 2**40)}, InvalidArgumentError, "24 bytes came"),
        ({"dtype": "float31"}, InvalidArgumentError, "'float31' is not known"),
        ({"dtype": "resource", "nbytes": 48}, InvalidArgumentError, "object of its own process"),
        ({"dtype": "string", "shape": (4,)}, InvalidArgumentError, "24 bytes cannot hold strings"),
        ({"offset": 25}, InvalidArgumentError, "at byte 25 of 24"),
        ({"nbytes": 2**40, "shape": (2**38,)}, ResourceExhaustedError, "limit is 1000"),
    ],
)
def test_heads_that_contradict_themselves(change, error, text):
    with pytest.raises(error) as raised:
        unpack(pack(GOOD._replace(**change)), 1000)
    assert text in str(raised.value)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_mutated_heads_are_refused_or_harmless(data):
    raw = bytearray(pack(GOOD))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    raw = raw[: data.draw(st.integers(0, len(raw)))] if data.draw(st.booleans()) else raw
    try:
        head = unpack(bytes(raw), 1000)
        assembly = Assembly(head)
        if assembly.add(head, memoryview(bytes(24))):
            assert assembly.value().nbytes <= 1000
    except OpError:
        pass


def test_chunks_out_of_turn():
    first = Assembly(GOOD)
    with pytest.raises(InvalidArgumentError, match="came for byte 8, needed byte 0 of 24"):
        first.add(GOOD._replace(offset=8), memoryview(bytes(8)))
    with pytest.raises(InvalidArgumentError, match="25 bytes came for 'key', which has 24"):
        first.add(GOOD, memoryview(bytes(25)))


def test_strings_whose_lengths_lie():
    head = GOOD._replace(dtype="string", shape=(2,), nbytes=20)
    bad = Assembly(head)
    bad.add(head, memoryview(np.array([3, 2**63], "<u8").tobytes() + b"abcd"))
    with pytest.raises(InvalidArgumentError, match="strings of 'key'"):
        bad.value()


@given(st.lists(st.tuples(st.binary(max_size=20), st.binary(max_size=50)), max_size=6), st.integers(1, 9))
def test_bundles(pairs, cut):
    data = bundled((head, memoryview(body)) for head, body in pairs)
    assert [(h, bytes(d)) for h, d in unbundled(memoryview(data))] == pairs
    if data:
        with pytest.raises(InvalidArgumentError, match="bundle"):
            list(unbundled(memoryview(data)[: len(data) - min(cut, len(pairs[-1][0]) + len(pairs[-1][1]) + 7)]))

"""Errors on their way between tasks: ours come as they were, anything else is refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfnb.errors import AbortedError, InvalidArgumentError, OpError
from tfnb.session.dask.transport.error_codec import decode_error, encode_error

TEXTS = st.text(max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["class", "node", "message"]) | TEXTS, inner)
    ),
    max_leaves=12,
)


def as_value(text):
    return np.frombuffer(text, np.uint8)


def test_an_error_comes_as_it_was():
    found = decode_error(encode_error(AbortedError("it ended"), "/job:ps/task:0"))
    assert type(found) is AbortedError and found.message == "it ended (at /job:ps/task:0)"
    assert decode_error(np.zeros(0, np.uint8)) is None


@given(JSON | st.fixed_dictionaries({"class": JSON, "node": JSON, "message": JSON}))
def test_json_of_any_form_is_an_error_or_refused(tree):
    try:
        found = decode_error(as_value(json.dumps(tree).encode()))
    except InvalidArgumentError:
        return
    assert isinstance(found, OpError) and str(found)


@pytest.mark.parametrize(
    "value",
    [
        as_value(b"[" * 100_000),
        as_value(b"{{{"),
        as_value(b"\xff\xfe"),
        as_value(b'{"node":["a","b",["f",1e999,"g"]]}'),
        np.array([b"x"], object),
        np.zeros(3),
    ],
)
def test_what_is_no_error_is_refused(value):
    with pytest.raises(InvalidArgumentError, match="a message describes"):
        decode_error(value)

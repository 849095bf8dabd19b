"""Feeds: each number that is fed arrives as it is, or is refused; only floats are rounded."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfnb as tf
from tfnb import errors
from tfnb.session.feed import feed_array

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def fed(dtype, value):
    with tf.Graph().as_default():
        return feed_array(tf.placeholder(tf.as_dtype(dtype)), value)


@pytest.mark.parametrize(
    "dtype, value",
    [
        ("int8", 300),
        ("int8", [1, -129]),
        ("uint8", -1),
        ("uint8", np.array([256])),
        ("int8", np.int64(300)),
        ("int32", 2**40),
        ("int32", np.array([2**31])),
        ("int64", np.array([2**63], np.uint64)),
        ("int64", 2**70),
        ("uint64", -1),
        ("int32", 1.5),
        ("int32", float("nan")),
        ("int64", np.array([np.inf])),
        ("bool", 2),
        ("float32", 1j),
        ("float32", np.array([1 + 1j])),
        ("int32", [1j]),
        ("bool", 0.5),
        ("quint8", 256),
        ("float32", "3"),
        ("float32", None),
        ("float32", np.array([object()])),
        ("int32", np.array([1, 2.5], object)),
        ("string", 3),
        ("string", np.array([b"a", 1], object)),
        ("string", [None]),
        ("int32", np.datetime64("2016-01-01")),
    ],
)
def test_a_number_that_the_dtype_does_not_hold_is_refused(dtype, value):
    with pytest.raises(errors.DTypeError, match="Placeholder:0"):
        fed(dtype, value)


@pytest.mark.parametrize(
    "dtype, value, expected",
    [
        ("int8", [-128, 127], [-128, 127]),
        ("int8", np.array([2.0]), [2]),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("float32", np.array([1.5, np.nan]), [1.5, np.nan]),
        ("float32", np.array([1e300]), [np.inf]),
        ("float32", 2**70, 2.0**70),
        ("float32", np.array([2 + 0j]), [2]),
        ("complex64", 1j, 1j),
        ("float32", True, 1),
        ("bool", [0, 2], [False, True]),
        ("bool", None, False),
        ("float16", np.array([1], ml_dtypes.bfloat16), [1]),
        ("float32", np.array([1, 2.5, np.float32(3), Fraction(1, 2), Decimal("0.25")], object), [1, 2.5, 3, 0.5, 0.25]),
        ("int32", np.array([[1, 2], [3, True]], object), [[1, 2], [3, 1]]),
        ("string", np.array(["é", b"\0"], object), np.array(["é".encode(), b"\0"], object)),
        ("string", [], []),
    ],
)
def test_what_is_taken(dtype, value, expected):
    got = fed(dtype, value)
    assert got.dtype == tf.as_dtype(dtype).as_numpy_dtype
    np.testing.assert_array_equal(got, expected)


@given(st.sampled_from(INTEGERS), st.sampled_from(INTEGERS), st.data())
def test_integers_arrive_or_are_refused(source, dtype, data):
    low, high = (int(x) for x in (np.iinfo(source).min, np.iinfo(source).max))
    value = data.draw(st.lists(st.integers(low, high), max_size=3))
    fits = all(np.iinfo(dtype).min <= v <= np.iinfo(dtype).max for v in value)
    for given_value in (np.array(value, source), value):
        if fits:
            assert fed(dtype, given_value).tolist() == value
        else:
            with pytest.raises(errors.DTypeError):
                fed(dtype, given_value)


def test_objects_in_a_session():
    """An experience buffer of the time: rows of Python numbers, cut out of an array of objects."""
    buffer = np.array([[1.0, 3], [2, 5.0]], object)
    with tf.Graph().as_default(), tf.Session() as s:
        x = tf.placeholder(tf.float32, [None])
        assert s.run(x * 2, {x: buffer[:, 1]}).tolist() == [6, 10]

"""Indexing with brackets is NumPy's, for every key: shapes known, partly known, and values."""

from __future__ import annotations

import numpy as np
import pytest
from evaluate import evaluate
from hypothesis import given, settings
from hypothesis import strategies as st

import tfnb as tf
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError


@st.composite
def keys(draw):
    """A shape and a key that NumPy accepts for it."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    used = draw(st.integers(0, len(shape)))
    parts = []
    for n in shape[:used]:
        bound = st.none() | st.integers(-n - 2, n + 2)
        step = st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3])
        parts.append(draw(st.integers(-n, n - 1) | st.builds(slice, bound, bound, step)))
    for _ in range(draw(st.integers(0, 2))):
        parts.insert(draw(st.integers(0, len(parts))), None)
    if draw(st.booleans()):
        tail = draw(st.integers(0, len(parts)))
        behind = sum(p is not None for p in parts[tail:])
        if used - behind + behind == len(shape) or not behind:  # what follows an ellipsis counts from the end
            parts.insert(tail, Ellipsis)
    return shape, tuple(parts)


@settings(max_examples=150, deadline=None)
@given(keys(), st.sampled_from(["shape", "rank", "tensors"]))
def test_as_numpy(case, how):
    shape, key = case
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    with tf.Graph().as_default():
        t = tf.placeholder(tf.float32, shape if how == "shape" else [None] * len(shape))
        feeds = {t: x}

        def given_as(i):
            if how != "tensors" or i is None:
                return i
            p = tf.placeholder(tf.int32, [])
            feeds[p] = i
            return p

        made = tuple(
            slice(given_as(k.start), given_as(k.stop), k.step)
            if isinstance(k, slice)
            else given_as(k)
            if isinstance(k, int)
            else k
            for k in key
        )
        y = t[made]
        value = evaluate(y, feeds)
    np.testing.assert_array_equal(value, x[key])
    assert y.shape.is_compatible_with(value.shape)
    assert how != "shape" or y.shape == value.shape


def test_a_single_part_needs_no_tuple():
    with tf.Graph().as_default():
        t = tf.constant([[1, 2], [3, 4]])
        assert evaluate([t[1], t[-1, 0], t[1:], t[...], t[tf.newaxis]])[1] == 3


def test_iterating_gives_the_rows():
    with tf.Graph().as_default():
        rows = list(tf.constant([[1, 2], [3, 4]]))
        assert [r.tolist() for r in evaluate(rows)] == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("key", "error", "words"),
    [
        (5, InvalidArgumentError, "index 5 is out of range for axis 0 of size 3"),
        ((0, 0, 0), ShapeError, "too many indices"),
        ("a", DTypeError, "must be an integer, a slice"),
        (1.5, DTypeError, "must be an integer"),
        ((..., ...), InvalidArgumentError, "Multiple ellipses"),
        (slice(None, None, 0), InvalidArgumentError, "must not be 0"),
    ],
)
def test_bad_keys(key, error, words):
    with tf.Graph().as_default():
        x = tf.zeros([3, 4])
        with pytest.raises(error, match=words):
            x[key]


def test_a_tensor_index_out_of_range_is_an_error_on_the_host():
    with tf.Graph().as_default():
        i = tf.placeholder(tf.int32, [])
        y = tf.zeros([3])[i]
        with pytest.raises(InvalidArgumentError, match=r"not in \[0, 3\)"):
            evaluate(y, {i: 3})


def test_an_object_that_becomes_a_tensor_is_an_index():
    class Index:
        """An object with a number."""

        dtype = tf.int32

    tf.register_tensor_conversion_function(Index, lambda value, dtype=None, name=None, as_ref=False: tf.constant(1))
    with tf.Graph().as_default():
        x = tf.constant([1, 2, 3])
        assert evaluate(x[Index()]) == 2 and evaluate(x[Index() :]).tolist() == [2, 3]

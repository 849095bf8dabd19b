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


def test_bounds_that_need_64_bits_make_all_bounds_long():
    """As tensors of int64 do, and Python's numbers beyond 2**31; begin, end and strides have one type."""
    far = 2**31
    with tf.Graph().as_default(), tf.Session() as session:
        x, i = tf.placeholder(tf.uint8, [None]), tf.placeholder(tf.int64, [])
        for part in (
            x[far:],
            x[far],
            x[:far],
            x[::far],
            x[-far - 1 :],
            x[i:],
            x[i:9],
            x[:i],
            x[tf.cast(i, tf.int32) : i],
        ):
            assert [bound.dtype for bound in part.op.inputs[1:]] == [tf.int64] * 3
        assert [bound.dtype for bound in x[-far : far - 1].op.inputs[1:]] == [tf.int32] * 3
        m = tf.reshape(tf.range(12), [3, 4])
        parts = [m[i:, 1 : tf.cast(i, tf.int32) + 2], m[0, i::i], tf.slice(m, tf.stack([i, i]), [2, 1]), x[i:], x[far:]]
        found = session.run(parts, {i: 1, x: np.arange(3)})
        assert [part.tolist() for part in found] == [[[5, 6], [9, 10]], [1, 2, 3], [[5], [9]], [1, 2], []]
        v = tf.Variable([1.0, 2.0, 3.0])
        session.run(v.initializer)
        assert session.run(v[i:].assign([5.0, 6.0]), {i: 1}).tolist() == [1, 5, 6]


def test_an_element_beyond_2_to_the_31st():
    n = 2**31 + 9
    with tf.Graph().as_default(), tf.Session() as session:
        k = tf.placeholder(tf.int64, [])
        assert session.run(tf.range(k)[n - 1], {k: n}) == n - 1
        assert session.run(tf.slice(tf.fill([k], tf.constant(3, tf.uint8)), [n - 2], [2]), {k: n}).tolist() == [3, 3]


def test_a_shape_beyond_its_type_is_refused():
    n = 2**31
    with tf.Graph().as_default(), tf.Session() as session:
        known, k = tf.placeholder(tf.uint8, [n]), tf.placeholder(tf.int64, [1])
        for function in (tf.shape, tf.size):
            assert function(known, out_type=tf.int64).dtype is tf.int64
            for build in (lambda f=function: f(known), lambda f=function: f(tf.fill(k, tf.constant(3, tf.uint8)))):
                with pytest.raises(InvalidArgumentError, match=r"does not fit into int32; use out_type=tf\.int64"):
                    session.run(build(), {k: [n]})

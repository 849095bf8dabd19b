"""Integers wrap, whatever they are fused with: random expressions near the ends of their types, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfnb as tf

pytestmark = pytest.mark.opencl

TYPES = (np.int32, np.int64, np.int16, np.uint16, np.int8, np.uint8, np.uint32, np.uint64)


def floor_divide(x, y):
    return np.where(y == 0, np.zeros_like(x), np.floor_divide(x, np.where(y == 0, np.ones_like(y), y)))


def floor_mod(x, y):
    return np.where(y == 0, np.zeros_like(x), np.mod(x, np.where(y == 0, np.ones_like(y), y)))


UNARY = {
    "square": (tf.square, lambda x: x * x),
    "neg": (tf.negative, lambda x: -x),
    "abs": (tf.abs, np.abs),
}
BINARY = {
    "add": (tf.add, np.add),
    "sub": (tf.subtract, np.subtract),
    "mul": (tf.multiply, np.multiply),
    "maximum": (tf.maximum, np.maximum),
    "larger": (lambda x, y: tf.where(x > y, x, y - x), lambda x, y: np.where(x > y, x, y - x)),
    "floordiv": (tf.floordiv, floor_divide),
    "floormod": (tf.floormod, floor_mod),
}


def ends(dtype):
    info = np.iinfo(dtype)
    near = st.integers(0, 3)
    return st.one_of(
        near.map(lambda k: info.max - k),
        near.map(lambda k: info.min + k),
        st.integers(max(-9, info.min), 9),
        st.integers(info.min, info.max),
        st.sampled_from([k for k in (4, 1000, 1 << 15) if k <= info.max]),
    )


@st.composite
def expressions(draw, dtype, depth=4):
    """A tree of names and numbers: (name, operand, ...), "x", "y", "range", or a constant."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(st.one_of(st.sampled_from(("x", "y", "range")), ends(dtype)))
    signed = np.iinfo(dtype).min < 0
    name = draw(st.sampled_from([*BINARY, *(UNARY if signed else ["square"])]))
    operands = [draw(expressions(dtype, depth - 1))]
    if name in BINARY:
        operands.append(draw(expressions(dtype, max(0, depth - 2))))
    return name, *operands


def evaluated(e, values, side):
    """What `e` is in tfnb (side 0) or NumPy (1)."""
    if isinstance(e, str):
        return values[e]
    if isinstance(e, int):
        return values["x"] * 0 + values["x"].dtype.type(e) if side else values["x"] * 0 + e
    name, *operands = e
    return {**UNARY, **BINARY}[name][side](*(evaluated(o, values, side) for o in operands))


@st.composite
def programs(draw):
    """An expression and the arrays of its names "x" and "y"."""
    dtype, n = draw(st.sampled_from(TYPES)), draw(st.sampled_from((1, 3)))
    e = draw(expressions(dtype))
    return e, *(np.array([draw(ends(dtype)) for _ in range(n)], dtype) for _ in range(2))


@settings(max_examples=13)
@given(st.lists(programs(), min_size=8, max_size=8))  # in one step, since each step has to be compiled
def test_fused_integers_wrap(several):
    wanted, made, feeds = [], [], {}
    with tf.Graph().as_default(), tf.Session() as s:
        for e, x, y in several:
            numbers = np.arange(len(x)).astype(x.dtype)
            with np.errstate(all="ignore"):
                value = evaluated(e, {"x": x, "y": y, "range": numbers}, 1)
                wanted += [value, value.sum(dtype=x.dtype)]
            fed = tf.placeholder(x.dtype, x.shape), tf.placeholder(x.dtype, x.shape)
            feeds.update(zip(fed, (x, y), strict=True))
            out = evaluated(e, {"x": fed[0], "y": fed[1], "range": tf.cast(tf.range(len(x)), x.dtype)}, 0)
            made += [out, tf.reduce_sum(out)]
        found = s.run(made, feeds)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "made",
    [
        lambda x: tf.floormod(tf.where(x > 3, x, x - x), x),
        lambda x: tf.floormod(tf.maximum(x, 3), x),
        lambda x: tf.bitwise.left_shift(x, x - x + 1),
    ],
    ids=["where", "maximum", "shift"],
)
def test_a_small_type_beside_a_larger_one(made):
    """Both types have overloads of the same functions in one program."""
    results = []
    for dtypes in ([np.int8, np.int32], [np.int8], [np.int32]):
        with tf.Graph().as_default(), tf.Session() as s:
            feeds = {tf.placeholder(dtype, [1]): np.array([127], dtype) for dtype in dtypes}
            results.append(s.run([[made(x), tf.reduce_sum(made(x))] for x in feeds], feeds))
    both, small, large = results
    assert both == small + large


NUMBERS = np.array([2**31 - 1, -(2**31), 65535, -65536, 46341, 3, 0], np.int32)


@pytest.mark.parametrize("scalar", [False, True])
def test_what_holds_only_without_overflow(scalar):
    def made(x):
        return [
            (x * x) % 1000,
            (x * 4) // 4,
            (x * 1000) % 1000,
            x + 2147483647 + 10,
            x * 65536 * 65536,
            abs(x * 3) // 7,
            x + 1 > x,
            abs(x) < 0,
            -x // 3,
            x // 100_000 // 100_000,
            (x * 0 + 2147483647) // (x * 0 - 2),
            -(x * 0 + 2147483647) - 10,
        ]

    feed = tf.placeholder(tf.int32, [] if scalar else [len(NUMBERS)])
    steps = made(feed)
    with np.errstate(all="ignore"), tf.Session() as s:
        for x in NUMBERS if scalar else [NUMBERS]:
            for k, (a, b) in enumerate(zip(s.run(steps, {feed: x}), made(x), strict=True)):
                np.testing.assert_array_equal(a, b, err_msg=f"{k} of {x}")


def test_sums_of_squares_wrap():
    x = np.array([[65535, 46341, 3], [46340, 46340, 46340]], np.int32)
    with np.errstate(all="ignore"), tf.Session() as s:
        for axis in (0, 1, None):
            wanted = np.sum(x * x, axis, dtype=np.int32) % 1000
            np.testing.assert_array_equal(s.run(tf.reduce_sum(tf.square(x + tf.zeros_like(x)), axis) % 1000), wanted)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_quotients_of_quotients(dtype):
    """Two divisors are one only if their product has the type, and a quotient by -1 may wrap."""
    info = np.iinfo(dtype)
    x = np.array([info.min, info.min + 1, -7, -1, 0, 1, 7, info.max], dtype)
    fed = tf.placeholder(dtype, [None])
    divisors = [dtype(d) for d in (-1, -2, 3, 1 << 20, info.max, info.min)]
    pairs = [(a, b) for a in divisors for b in divisors]
    with tf.Session() as session:
        found = session.run([fed // a // b + fed for a, b in pairs], {fed: x})
    with np.errstate(over="ignore"):
        for (a, b), value in zip(pairs, found, strict=True):
            np.testing.assert_array_equal(value, x // a // b + x, f"{a}, {b}")

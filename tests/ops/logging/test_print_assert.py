"""Printing, assertions, checks of numbers and Python functions through a session."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import (
    DTypeError,
    InvalidArgumentError,
    OutOfRangeError,
    ResourceExhaustedError,
    ShapeError,
    UnimplementedError,
    UnknownError,
)
from tfnb.ops.logging.print_assert import summary

pytestmark = pytest.mark.opencl


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [
        (np.arange(5), 3, "[0 1 2...]"),
        (np.arange(3), 3, "[0 1 2]"),
        (np.float32(1.5), 3, "[1.5]"),
        (np.arange(6).reshape(2, 3), 6, "[[0 1 2][3 4 5]]"),
        (np.arange(6).reshape(2, 3), 4, "[[0 1 2][3...]...]"),
        (np.arange(6).reshape(2, 3), 3, "[[0 1 2]...]"),
        (np.arange(8).reshape(2, 2, 2), -1, "[[[0 1][2 3]][[4 5][6 7]]]"),
        (np.array([True, False]), 3, "[1 0]"),
        (np.array([b"a", "b"], object), 3, "[a b]"),
        (np.zeros((0, 2)), 3, "[]"),
        (np.arange(8).reshape(2, 2, 2), 5, "[[[0 1][2 3]][[4...]]...]"),
        (np.float64(1 / 3), 3, "[0.33333333333333331]"),
        (np.float32(0.1), 3, "[0.1]"),
        (np.array([np.nan, -np.inf, 1e10]), 3, "[nan -inf 10000000000]"),
    ],
)
def test_summary(value: Any, limit: int, text: str) -> None:
    assert summary(np.asarray(value), limit) == text


def test_print(session: Any, capfd: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("TFNB_QUIET", "1")  # on a busy machine a compilation shows its progress on the same stream
    x = tf.placeholder(tf.float32, [None])
    y = tf.Print(x * 2.0, [x, tf.shape(x)], "x is ", first_n=2, summarize=2) + 1.0
    for _ in range(3):
        np.testing.assert_array_equal(session.run(y, {x: [1.0, 2.0, 3.0]}), [3, 5, 7])
    assert capfd.readouterr().err.splitlines() == ["x is [1 2...][3]"] * 2


def test_gradient_goes_through_print(session: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    (dx,) = tf.gradients(tf.Print(x * x, [x], first_n=0), x)
    assert session.run(dx, {x: 3.0}) == 6.0


def test_assert(session: Any) -> None:
    x = tf.placeholder(tf.float32, [None])
    with tf.control_dependencies([tf.Assert(tf.reduce_all(x > 0.0), ["bad x:", x], summarize=2)]):
        y = tf.identity(x)
    np.testing.assert_array_equal(session.run(y, {x: [1.0]}), [1.0])
    with pytest.raises(InvalidArgumentError, match=r"assertion failed: \[bad x:\] \[1 -2...\]"):
        session.run(y, {x: [1.0, -2.0, 3.0]})
    np.testing.assert_array_equal(session.run(y, {x: [2.0]}), [2.0])
    with pytest.raises(ShapeError, match="scalar"):
        tf.Assert(x > 0.0, [x])


CHECKS = [
    (lambda x: tf.assert_equal(x, 1.0), [1, 1], [1, 2]),
    (lambda x: tf.assert_none_equal(x, 1.0), [2, 3], [1, 2]),
    (lambda x: tf.assert_less(x, 2.0), [1, 1], [1, 2]),
    (lambda x: tf.assert_less_equal(x, 2.0), [1, 2], [1, 3]),
    (lambda x: tf.assert_greater(x, 0.0), [1, 1], [1, 0]),
    (lambda x: tf.assert_greater_equal(0.0, x), [0, -1], [1, 0]),
    (lambda x: tf.assert_positive(x), [1, 1], [0, 1]),
    (lambda x: tf.assert_negative(x), [-1, -1], [0, -1]),
    (lambda x: tf.assert_non_negative(x), [0, 1], [0, -1]),
    (lambda x: tf.assert_non_positive(x), [0, -1], [0, 1]),
]


@pytest.mark.parametrize(("check", "good", "bad"), CHECKS)
def test_checks(session: Any, check: Any, good: list[float], bad: list[float]) -> None:
    x = tf.placeholder(tf.float32, [2])
    done = check(x)
    session.run(done, {x: good})
    with pytest.raises(InvalidArgumentError, match="did not hold"):
        session.run(done, {x: bad})
    with pytest.raises(InvalidArgumentError, match="did not hold"):
        check(tf.constant(bad, tf.float32))
    session.run(check(tf.constant(good, tf.float32)))


def test_what_takes_a_computation_fails_in_the_step(session: Any) -> None:
    """As in TensorFlow 1.15.5; Sonnet's test of attention counts memory slots."""
    count = tf.reduce_sum(tf.constant([[1.0, 1.0], [0.0, 0.0]]), axis=1)
    check = tf.assert_positive(count)
    with pytest.raises(InvalidArgumentError, match="Condition x > 0 did not hold"):
        session.run(check)
    with pytest.raises(InvalidArgumentError, match="did not hold"):
        tf.assert_less(tf.cast(tf.stack([1, 3]), tf.float32), 2.0)
    session.run(tf.assert_positive(count + 1.0))


def test_checks_of_rank_and_type(session: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    session.run([tf.assert_rank(x, 2), tf.assert_rank_at_least(x, 1), tf.assert_type(x, tf.float32)])
    with pytest.raises(ShapeError, match="rank"):
        tf.assert_rank(x, 3)
    with pytest.raises(ShapeError, match="rank"):
        tf.assert_rank_at_least(x, 3)
    with pytest.raises(DTypeError, match="integer"):
        tf.assert_integer(x)
    with pytest.raises(DTypeError, match="int32"):
        tf.assert_type(x, tf.int32)
    unknown = tf.placeholder(tf.float32)
    later = tf.assert_rank(unknown, 1)
    session.run(later, {unknown: [1.0]})
    with pytest.raises(InvalidArgumentError, match="rank"):
        session.run(later, {unknown: 1.0})
    assert tf.is_numeric_tensor(x) and not tf.is_numeric_tensor(tf.constant("a")) and not tf.is_numeric_tensor(3)
    for value, rising, strictly in (
        ([1, 2, 2], True, False),
        ([1, 2, 3], True, True),
        ([2, 1, 3], False, False),
    ):
        assert session.run([tf.is_non_decreasing(value), tf.is_strictly_increasing(value)]) == [
            rising,
            strictly,
        ]


def test_check_numerics(session: Any) -> None:
    x = tf.placeholder(tf.float32, [None])
    y = tf.check_numerics(x, "here") * 2.0
    np.testing.assert_array_equal(session.run(y, {x: [1.0, 2.0]}), [2.0, 4.0])
    for bad, what in (([1.0, np.nan], "NaN"), ([np.inf], "Inf"), ([np.inf, np.nan], "Inf and NaN")):
        with pytest.raises(InvalidArgumentError, match=f"here : Tensor had {what} values"):
            session.run(y, {x: bad})


def test_py_func(session: Any) -> None:
    x = tf.placeholder(tf.float32, [None])
    seen: list[np.ndarray] = []

    def both(v: np.ndarray) -> tuple[np.ndarray, Any]:
        seen.append(v)
        return v[::-1] * 2, v.size

    reverse, size = tf.py_func(both, [x], [tf.float32, tf.int64])
    assert reverse.shape.ndims is None
    got, n = session.run([reverse + 1.0, size], {x: [1.0, 2.0, 3.0]})
    np.testing.assert_array_equal(got, [7, 5, 3])
    assert n == 3 and n.dtype == np.int64 and len(seen) == 1
    single = tf.py_func(lambda v: v.sum(), [x], tf.float32)
    assert session.run(single, {x: [1.0, 2.0]}) == 3.0
    effect = tf.py_func(lambda v: None, [x], [])
    assert session.run(effect, {x: [1.0]}) is None
    words = tf.py_func(lambda: np.array([b"a", b"bc"]), [], tf.string)
    assert list(session.run(words)) == [b"a", b"bc"]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (ValueError, InvalidArgumentError),
        (TypeError, InvalidArgumentError),
        (StopIteration, OutOfRangeError),
        (MemoryError, ResourceExhaustedError),
        (NotImplementedError, UnimplementedError),
        (KeyError, UnknownError),
    ],
)
def test_the_class_of_the_error_of_a_py_func(theirs: Any, ours: Any, session: Any) -> None:
    def fail() -> None:
        raise theirs("on purpose")

    with pytest.raises(ours, match="on purpose") as caught:
        session.run(tf.py_func(fail, [], []))
    assert type(caught.value) is ours


def test_a_py_func_takes_scalars_as_numpy_has_them(session: Any) -> None:
    def kinds(*values: Any) -> str:
        return " ".join(type(v).__name__ for v in values)

    values = [b"a", 1.5, 3, [b"b"], [True]]
    assert session.run(tf.py_func(kinds, values, tf.string)) == b"bytes float32 int32 ndarray ndarray"
    assert session.run(tf.py_func(lambda name: name.decode() + "!", ["x"], tf.string)) == b"x!"


def test_the_texts_of_a_py_func_become_bytes(session: Any) -> None:
    mixed = tf.py_func(lambda: np.array([b" there", " ya"], object), [], tf.string)
    joined = tf.py_func(lambda x: x + b"!", [mixed], tf.string)
    assert list(session.run(joined)) == [b" there!", b" ya!"]
    for bad, words in (
        (lambda: np.array([b"a", 1], object), "Unsupported object type"),
        (lambda: {"a": 1}, "Unsupported object type"),
        (lambda: np.array([], [("a", np.float32)]), "Unsupported numpy type"),
    ):
        with pytest.raises(UnimplementedError, match=words):
            session.run(tf.py_func(bad, [], tf.string))


def test_a_py_func_without_state_and_inputs_is_called_once() -> None:
    calls = iter(range(9))
    with tf.Graph().as_default(), tf.Session() as session:
        once = tf.py_func(lambda: next(calls), [], tf.int64, stateful=False)
        each = tf.py_func(lambda: next(calls), [], tf.int64)
        assert [session.run(once) for _ in range(3)] == [0, 0, 0]
        assert [session.run(each) for _ in range(3)] == [1, 2, 3]
        assert tf.py_func(lambda: None, [], [], stateful=False) == []


def test_py_func_errors(session: Any) -> None:
    def fail() -> None:
        raise RuntimeError("on purpose")

    with pytest.raises(UnknownError, match="on purpose") as caught:
        session.run(tf.py_func(fail, [], tf.float32))
    assert isinstance(caught.value.__cause__, RuntimeError)
    with pytest.raises(InvalidArgumentError, match="float64, but int32"):
        session.run(tf.py_func(lambda: np.array([0.5]), [], tf.int32))
    with pytest.raises(InvalidArgumentError, match="2 results, 3"):
        session.run(tf.py_func(lambda: (1.0, 2.0), [], [tf.float32, tf.float32, tf.float32]))
    with pytest.raises(InvalidArgumentError, match="function"):
        tf.py_func(3, [], tf.float32)

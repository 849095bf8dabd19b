"""Switch and Merge: values, shapes and gradients of a plain conditional made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import ShapeError
from tfnb.ops.control_flow.switch_merge import ENTER, LOOP_COND, MERGE, NO_OP, SWITCH
from tfnb.types import Shape

pytestmark = pytest.mark.opencl


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def choose(pred: Any, x: Any, when_true: Any, when_false: Any) -> Any:
    no, yes = SWITCH(x, pred)
    return MERGE([when_false(no), when_true(yes)])


def test_value_and_index(session: Any) -> None:
    pred = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [None, 3])
    y, index = choose(pred, x, lambda t: t * 2.0, lambda t: t + 1.0)
    assert y.shape.as_list() == [None, 3]
    ones = np.ones((2, 3), np.float32)
    for taken, value in ((True, 2 * ones), (False, ones + 1)):
        got, at = session.run([y, index], {pred: taken, x: ones})
        np.testing.assert_array_equal(got, value)
        assert int(at) == int(taken)


@pytest.mark.parametrize("taken", [True, False])
def test_gradient_follows_the_branch(session: Any, taken: bool) -> None:
    pred = tf.placeholder(tf.bool, [])
    x, w = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32, [3])
    y, _ = choose(pred, x, lambda t: tf.square(t), lambda t: 3.0 * t)
    dx, dw = tf.gradients(tf.reduce_sum(y * w), [x, w])
    feeds = {pred: taken, x: [1.0, 2.0, 3.0], w: [1.0, 1.0, 2.0]}
    np.testing.assert_allclose(session.run(dx, feeds), [2, 4, 12] if taken else [3, 3, 6])
    np.testing.assert_allclose(session.run(dw, feeds), [1, 4, 9] if taken else [3, 6, 9])


@pytest.mark.parametrize("taken", [True, False])
def test_gradient_of_an_unused_side_is_zero(session: Any, taken: bool) -> None:
    """One side ignores x: its gradient is a constant, which must be dead when the other side was taken."""
    pred = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [2])
    no, yes = SWITCH(x, pred)
    with tf.control_dependencies([tf.identity(no)]):
        constant = tf.identity(tf.constant([5.0, 5.0]))
    y = MERGE([constant, yes * 4.0])[0]
    (dx,) = tf.gradients(y, x)
    np.testing.assert_array_equal(session.run(dx, {pred: taken, x: [1.0, 2.0]}), [4, 4] if taken else [0, 0])


def test_nested_gradient(session: Any) -> None:
    outer, inner = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [])

    def inside(t: Any) -> Any:
        chosen = SWITCH(inner, outer)[1]
        return choose(chosen, t, lambda u: u * u, lambda u: 5.0 * u)[0]

    y, _ = choose(outer, x, inside, lambda t: 7.0 * t)
    (dx,) = tf.gradients(y, x)
    for a, b, slope in (
        (True, True, 6.0),
        (True, False, 5.0),
        (False, True, 7.0),
        (False, False, 7.0),
    ):
        assert session.run(dx, {outer: a, inner: b, x: 3.0}) == slope


def test_merge_of_three(session: Any) -> None:
    first, second = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [])
    rest, one = SWITCH(x, first)
    three, two = SWITCH(rest, SWITCH(second, first)[0])
    y, index = MERGE([one * 1.0, two * 2.0, three * 3.0])
    (dx,) = tf.gradients(y, x)
    for a, b, k in ((True, True, 0), (False, True, 1), (False, False, 2)):
        assert session.run([y, index, dx], {first: a, second: b, x: 10.0}) == [
            10.0 * (k + 1),
            k,
            k + 1,
        ]


def test_shapes() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, None])
        with pytest.raises(ShapeError, match="scalar"):
            SWITCH(x, tf.placeholder(tf.bool, [2]))
        with pytest.raises(ShapeError):
            LOOP_COND(tf.placeholder(tf.bool, [1]))
        a, b = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [2, 4])
        assert MERGE([a, b])[0].shape == Shape((2, None))
        assert MERGE([a, tf.placeholder(tf.float32, [2])])[0].shape.ndims is None
        assert ENTER(a, frame_name="loop").shape == a.shape


def test_no_op_runs(session: Any) -> None:
    assert session.run(tf.no_op()) is None
    v = tf.Variable(1.0)
    session.run(v.initializer)
    with tf.control_dependencies([tf.assign_add(v, 2.0)]):
        done = NO_OP()
    session.run(done)
    assert session.run(v) == 3.0

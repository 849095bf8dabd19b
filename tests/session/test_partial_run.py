"""partial_run: one step, its feeds and fetches in several calls."""

from __future__ import annotations

import threading

import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError, OpError

pytestmark = pytest.mark.opencl


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def test_parts_of_one_step(sess):
    a, b, c = (tf.placeholder(tf.float32, []) for _ in range(3))
    r1 = a + b
    r2 = r1 * c
    h = sess.partial_run_setup([r1, r2], [a, b, c])
    assert sess.partial_run(h, r1, {a: 1, b: 2}) == 3
    assert sess.partial_run(h, r2, {c: 17}) == 51
    with pytest.raises(InvalidArgumentError, match="not known"):
        sess.partial_run(h, r2)
    # the caller computes in between
    h = sess.partial_run_setup([r1, r2], [a, b, c])
    first = sess.partial_run(h, r1, {a: 1, b: 2})
    assert sess.partial_run(h, r2, {c: first * 10}) == 90


def test_everything_runs_once(sess):
    calls = []
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    counted = tf.py_func(lambda v: calls.append(1) or v, [x], tf.float32)
    v = tf.Variable(0.0)
    sess.run(v.initializer)
    bump = v.assign_add(counted)
    later = counted + y
    h = sess.partial_run_setup([counted, bump.op, later], [x, y])
    assert sess.partial_run(h, [counted, bump.op], {x: 2}) == [2, None]
    assert sess.partial_run(h, later, {y: 5}) == 7
    assert len(calls) == 1 and sess.run(v) == 2


def test_misuse_is_refused_and_the_run_goes_on(sess):
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    r1, r2 = a * 2, a + b
    h = sess.partial_run_setup([r1, r2], [a, b])
    with pytest.raises(InvalidArgumentError, match="before Placeholder_1:0 is fed"):
        sess.partial_run(h, r2, {a: 1})
    with pytest.raises(InvalidArgumentError, match="not specified"):
        sess.partial_run(h, a - b, {a: 1})
    assert sess.partial_run(h, r1, {a: 1}) == 2
    with pytest.raises(InvalidArgumentError, match="already"):
        sess.partial_run(h, r1)
    with pytest.raises(InvalidArgumentError, match="already"):
        sess.partial_run(h, r2, {a: 1, b: 1})
    assert sess.partial_run(h, r2, {b: 10}) == 11


def test_an_error_reaches_the_next_call(sess):
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    bad = tf.py_func(lambda v: 1 // 0, [a], tf.float32)
    h = sess.partial_run_setup([bad, b + 1.0], [a, b])
    with pytest.raises(OpError, match="ZeroDivisionError"):
        sess.partial_run(h, bad, {a: 1})


def test_an_unfinished_run_ends_with_its_session():
    before = set(threading.enumerate())
    with tf.Graph().as_default():
        a = tf.placeholder(tf.float32, [])
        with tf.Session() as s:
            s.partial_run_setup([a + 1.0], [a])
    for t in set(threading.enumerate()) - before:
        t.join(10)
        assert not t.is_alive()

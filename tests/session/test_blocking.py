"""Kernels that wait: a Python function has a thread of its own where something else could go on or end the step."""

from __future__ import annotations

import threading
import time

import pytest

import tfnb as tf
from tfnb.errors import DeadlineExceededError

pytestmark = pytest.mark.opencl


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def test_two_python_functions_that_wait_for_each_other(sess):
    a, b = threading.Event(), threading.Event()

    def first():
        a.set()
        return b.wait(20)

    def second():
        b.set()
        return a.wait(20)

    x, y = tf.py_func(first, [], tf.bool), tf.py_func(second, [], tf.bool)
    assert sess.run([x, y]) == [True, True]


def test_a_python_function_beside_a_queue(sess):
    q = tf.FIFOQueue(1, tf.float32, shapes=[()])
    came = threading.Event()

    def waits():
        return came.wait(20)

    fetched = tf.py_func(waits, [], tf.bool)
    tell = tf.py_func(lambda v: came.set() or v, [q.dequeue()], tf.float32)
    assert sess.run([fetched, q.enqueue(3.0), tell]) == [True, None, 3.0]


def test_a_timeout_ends_a_step_while_a_python_function_runs(sess):
    end = threading.Event()
    slow = tf.py_func(lambda: end.wait(20), [], tf.bool)
    begin = time.monotonic()
    with pytest.raises(DeadlineExceededError, match="PyFunc' is running"):
        sess.run(slow, options=tf.RunOptions(timeout_in_ms=50))
    assert time.monotonic() - begin < 10
    end.set()
    assert sess.run(slow)


def test_a_timeout_ends_a_loop_that_has_no_kernels(sess):
    i = tf.while_loop(lambda i: tf.constant(True), lambda i: i, [tf.constant(0)])
    with pytest.raises(DeadlineExceededError):
        sess.run(i, options=tf.RunOptions(timeout_in_ms=100))

"""Kernels that wait: a Python function has a thread of its own where something else could go on or end the step."""

from __future__ import annotations

import threading
import time
import warnings

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
    slow = tf.py_func(lambda: end.wait(300), [], tf.bool)
    end.set()
    assert sess.run(slow)  # it is compiled
    end.clear()
    begin = time.monotonic()
    with pytest.raises(DeadlineExceededError, match="PyFunc' is running"):
        sess.run(slow, options=tf.RunOptions(timeout_in_ms=500))
    assert time.monotonic() - begin < 200  # and not the time that the function takes
    end.set()
    assert sess.run(slow)


def test_a_timeout_ends_a_loop_that_has_no_kernels(sess):
    i = tf.while_loop(lambda i: tf.constant(True), lambda i: i, [tf.constant(0)])
    with pytest.raises(DeadlineExceededError):
        sess.run(i, options=tf.RunOptions(timeout_in_ms=100))


def _stuck_in_python(wait):
    return tf.py_func(wait, [], tf.bool)


def _stuck_in_a_loop(wait):
    def body(i):
        return tf.reshape(tf.py_func(lambda v: (wait(), v + 1)[1], [i], tf.int32), [])

    return tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])


def _stuck_beside_others(wait):
    return [_stuck_in_python(wait), _stuck_in_python(wait), tf.FIFOQueue(1, tf.int32).dequeue()]


def _stuck_in_a_data_set(wait):
    data = tf.data.Dataset.range(3).map(lambda x: tf.py_func(lambda v: wait() and v, [x], tf.int64), 2)
    return data.make_one_shot_iterator().get_next()


@pytest.mark.parametrize("stuck", [_stuck_in_python, _stuck_in_a_loop, _stuck_beside_others, _stuck_in_a_data_set])
def test_closing_does_not_wait_for_ever_for_a_function_that_does_not_return(monkeypatch, stuck):
    monkeypatch.setattr("tfnb.session.local._PATIENCE", 0.3)
    begun, end, ends = threading.Event(), threading.Event(), []

    def wait():
        begun.set()
        return end.wait(300)

    with tf.Graph().as_default():
        fetch = stuck(wait)
        session = tf.Session()

        def run():
            try:
                ends.append(session.run(fetch))  # it had begun, and nothing came after it
            except tf.errors.CancelledError as e:
                ends.append(e)

        thread = threading.Thread(target=run)
        thread.start()
        assert begun.wait(60)
        begin = time.monotonic()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            session.close()
        assert time.monotonic() - begin < 200  # and not the time that the function takes
        assert not thread.is_alive() or "still run" in str(told[0].message)
        end.set()
        thread.join(20)
        assert not thread.is_alive() and len(ends) == 1
        assert isinstance(ends[0], tf.errors.CancelledError) or ends == [True]

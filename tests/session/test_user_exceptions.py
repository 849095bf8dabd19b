"""Whatever a function of the user's raises, in whichever thread, is an error of the step; the session goes on."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest

import tfnb as tf
from tfnb.v1.keras.data_sequences import SequenceEnqueuer

pytestmark = [pytest.mark.opencl, pytest.mark.one_process("the functions exist in this process only")]


class OwnError(BaseException):
    """An exception of a program's that is no `Exception`."""


ERRORS = [SystemExit(3), GeneratorExit(), asyncio.CancelledError(), OwnError("mine")]


def _raising(error):
    def function(*_):
        raise error

    return function


def _rows(error):
    def generator():
        yield 1.0
        raise error

    return generator


def _steps(error):
    """Steps by name, each with the number of elements before the error."""
    function = _raising(error)
    x = tf.constant([1.0, 2.0])
    rows = tf.data.Dataset.range(3)
    read = tf.data.Dataset.from_generator(_rows(error), tf.float32)
    sets = {
        "map": (rows.map(lambda i: tf.py_func(function, [i], tf.int64)), 0),
        "map in threads": (rows.map(lambda i: tf.py_func(function, [i], tf.int64), 2).prefetch(1), 0),
        "generator": (read, 1),
        "generator ahead": (read.prefetch(1), 1),
        "generator ahead, in batches": (read.prefetch(1).batch(2), 0),
        "interleave": (rows.interleave(lambda _: read.prefetch(1), 2, num_parallel_calls=2), 2),
    }
    steps = {name: (s.make_one_shot_iterator().get_next(), n) for name, (s, n) in sets.items()}
    steps["function"] = tf.py_func(function, [x], tf.float32), 0
    steps["two functions"] = [tf.py_func(f, [x], tf.float32) for f in (function, lambda a: a)], 0
    return steps


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_a_function_ends_its_step_only(error):
    with tf.Graph().as_default(), tf.Session() as sess:
        for name, (fetch, n) in _steps(error).items():
            for _ in range(n):
                sess.run(fetch)
            with pytest.raises(tf.errors.UnknownError, match=type(error).__name__):
                sess.run(fetch, options=tf.RunOptions(timeout_in_ms=60_000))
            assert sess.run(tf.constant(1) + 1) == 2, name


def test_in_a_thread_of_the_programs():
    with tf.Graph().as_default(), tf.Session() as sess:
        fetch, seen = tf.py_func(_raising(KeyboardInterrupt()), [], tf.float32), []

        def work():
            try:
                sess.run(fetch)
            except tf.errors.UnknownError as e:
                seen.append(e)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert "KeyboardInterrupt" in str(seen[0])


def test_a_queue_runner_tells_its_coordinator():
    with tf.Graph().as_default(), tf.Session() as sess:
        n = []

        def row():
            n.append(1)
            if len(n) > 3:
                raise SystemExit("no more data")
            return 1.0

        queue = tf.FIFOQueue(5, tf.float64)
        runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.py_func(row, [], tf.float64))])
        coord = tf.train.Coordinator()
        threads = runner.create_threads(sess, coord, daemon=True, start=True)
        for _ in range(3):
            sess.run(queue.dequeue())
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(queue.dequeue())
        with pytest.raises(tf.errors.UnknownError, match="SystemExit"):
            coord.join(threads)


def test_a_coordinator_hears_of_everything():
    coord = tf.train.Coordinator()
    thread = tf.train.LooperThread.loop(coord, None, _raising(OwnError("mine")))
    thread.join()
    assert coord.should_stop()
    with pytest.raises(OwnError, match="mine"):
        coord.join()


def test_batches_that_a_thread_fetches():
    enqueuer = SequenceEnqueuer(iter(_rows(SystemExit(3))()))
    enqueuer.start()
    batches = enqueuer.get()
    assert next(batches) == 1.0
    with pytest.raises(tf.errors.UnknownError, match="SystemExit"):
        next(batches)
    enqueuer.stop()


@pytest.mark.parametrize("n", [1, 2])
def test_a_function_closes_its_own_session(n):
    """It neither waits for the step that calls it, nor is there a warning."""
    with tf.Graph().as_default():
        sess = tf.Session()
        x = tf.constant(np.float32(1))
        functions = [tf.py_func(lambda a: sess.close() or a, [x], tf.float32) for _ in range(n)]
        with pytest.raises(tf.errors.CancelledError, match="closed"):
            sess.run([tf.FIFOQueue(1, tf.float32).dequeue(), *functions])
        assert sess.closed
        with pytest.raises(tf.errors.FailedPreconditionError):
            sess.run(x)


def test_a_function_of_a_data_set_cannot_ask_for_the_next_element():
    with tf.Graph().as_default(), tf.Session() as sess:
        asked = []
        rows = tf.data.Dataset.range(3).map(lambda i: tf.py_func(lambda a: asked[0]() or a, [i], tf.int64))
        following = rows.make_one_shot_iterator().get_next()
        asked.append(lambda: sess.run(following))
        with pytest.raises(tf.errors.FailedPreconditionError, match="asks for another"):
            sess.run(following)

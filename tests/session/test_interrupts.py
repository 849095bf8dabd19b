"""Ctrl-C at every place of the code that runs a step: nothing stays counted, locked or waiting, and the session goes on.

The signal is raised before a chosen instruction by a trace function that is written in C, so Python notices it exactly
where it would notice a real one. TFNB_TEST_EVERY=1 tries every instruction; the default takes one in some.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tfnb.runtime.deadline import Deadline, bounded, current
from tfnb.system.interrupts import HeldInterrupts, holding_interrupts, interruptible

pytestmark = [pytest.mark.opencl, pytest.mark.one_process("it looks into the local worker")]

ROOT = str(Path(tf.__file__).parent)
_trip = ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.py_object, ctypes.py_object)(
    ("PyErr_SetInterrupt", ctypes.pythonapi)
)
_nothing = ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.py_object, ctypes.py_object)(
    ("PyThreadState_Get", ctypes.pythonapi)
)


class _Injector:
    """Calls a function and lets SIGINT arrive when `at` instructions of the package have run (0: counts them only)."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.seen = 0
        self.came = False

    def run(self, action) -> None:
        before = signal.signal(signal.SIGINT, self._handler)
        try:
            sys.settrace(self._call)
            try:
                action()
            finally:
                sys.settrace(None)
        except KeyboardInterrupt:
            assert self.came
        finally:
            signal.signal(signal.SIGINT, before)

    def _handler(self, *_) -> None:
        sys.settrace(None)
        self.came = True
        raise KeyboardInterrupt

    def _call(self, frame, event, arg):
        if not frame.f_code.co_filename.startswith(ROOT):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._instruction

    def _instruction(self, frame, event, arg):
        self.seen += event == "opcode"
        if self.seen == self.at:
            sys.settrace(None)
            sys.settrace(_nothing)
            caller = frame.f_back
            while caller is not None:  # a trace function in Python would notice the signal itself
                caller.f_trace = None
                caller = caller.f_back
            return _trip  # at the next instruction of this function
        return self._instruction


def _each_place(action, most: int):
    """Runs `action` with an interrupt at place after place; after each, the caller looks at what is left."""
    action()  # compiles
    counted = _Injector(0)
    counted.run(action)
    step = 1 if os.environ.get("TFNB_TEST_EVERY") else max(counted.seen // most, 1)
    hits = 0
    for at in range(1, counted.seen, step):
        injector = _Injector(at)
        injector.run(action)
        hits += injector.came
        yield at
    assert hits > 0.5 * counted.seen / step


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


def _is_idle(s) -> bool:
    return not s._worker._running


def _programs():
    x = tf.constant(np.arange(4.0, dtype=np.float32))
    v = tf.Variable(tf.zeros([4]))
    k = tf.Variable(0)
    q = tf.FIFOQueue(3, tf.int32, shapes=[()])
    pair = [tf.py_func(lambda a: a + 1, [x], tf.float32), tf.py_func(lambda a: a + 2, [x], tf.float32)]
    empty = tf.FIFOQueue(3, tf.int32, shapes=[()])
    update = tf.group(v.assign_add(tf.ones([4])), k.assign_add(1))
    loop = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: [i + 1, tf.reshape(a + tf.py_func(lambda b: b, [a], tf.float32), [])], [0, 1.0]
    )
    nexts = tf.data.Dataset.range(5).map(lambda e: e * 2).repeat().make_one_shot_iterator().get_next()
    return (
        {
            "update": update,
            "python functions": pair,
            "enqueue and dequeue": (q.enqueue(k), q.dequeue()),
            "loop": loop[1],
            "branch": tf.cond(k > 5, lambda: tf.reduce_sum(v), lambda: tf.reduce_max(x)),
            "data set": nexts,
            "deadline": empty.dequeue(),
        },
        v,
        k,
        q,
    )


def test_no_interrupt_leaves_a_deadline():
    """An expired one would end all later steps of the thread."""
    for at in _each_place(lambda: bounded(Deadline(0.001), lambda: None), 1000):
        assert current() is None, f"a deadline is left after an interrupt at place {at}"


@pytest.mark.parametrize(
    "name", ["update", "python functions", "enqueue and dequeue", "loop", "branch", "data set", "deadline"]
)
def test_a_step_interrupted_anywhere(sess, name):
    programs, v, k, q = _programs()
    sess.run(tf.global_variables_initializer())
    fetch = programs[name]
    size = q.size()
    enqueue, dequeue = programs["enqueue and dequeue"]
    quick = tf.RunOptions(timeout_in_ms=1)
    patient = tf.RunOptions(timeout_in_ms=20_000)

    def action():
        if name == "deadline":
            with contextlib.suppress(tf.errors.DeadlineExceededError):
                sess.run(fetch, options=quick)
        elif isinstance(fetch, tuple):
            for each in fetch:
                sess.run(each)
        else:
            sess.run(fetch)

    for at in _each_place(action, 60):
        assert _is_idle(sess), f"a step is counted as running after an interrupt at place {at}"
        state, count = sess.run([v, k])
        assert (state == state[0]).all() and state[0] == count, at
        for _ in range(sess.run(size)):
            sess.run(dequeue, options=patient)
        sess.run(enqueue, options=patient)
        assert sess.run(dequeue, options=patient) == count  # nothing that was cut off stands in the line before it
    sess.close()  # it would warn of a step that is counted as running


def test_closing_interrupted_anywhere():
    opened = []

    def action():
        with tf.Graph().as_default():
            opened.append(s := tf.Session())
            s.run(tf.py_func(lambda: 1, [], tf.int64))
            s.close()

    for at in _each_place(action, 60):
        for s in opened:
            s.close()
            assert s._worker is None or (not s._worker._threads._threads and s._worker._closed), at
        opened.clear()


# the interrupt may arrive in a callback of weakref, when the step is forgotten, where Python ignores it
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_partial_run_interrupted_anywhere(sess):
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    y, z = a + 1.0, a * b

    def action():
        h = sess.partial_run_setup([y, z], [a, b])
        assert sess.partial_run(h, y, {a: 2.0}) == 3.0
        assert sess.partial_run(h, z, {b: 4.0}) == 8.0

    for _ in _each_place(action, 30):
        assert sess.run(y, {a: 1.0}) == 2.0
    sess.close()  # it would warn of a step that is counted as running


def test_saving_interrupted_anywhere(sess, tmp_path):
    v = tf.Variable(tf.ones([10]))
    sess.run(v.initializer)
    saver = tf.train.Saver()
    path = str(tmp_path / "model")
    for _ in _each_place(lambda: saver.save(sess, path, write_meta_graph=False), 40):
        assert _is_idle(sess)
        saver.restore(sess, path)


def test_ctrl_c_is_raised_within_a_function_of_the_users(sess):
    seen = []

    def slow():
        try:
            signal.raise_signal(signal.SIGINT)
            time.sleep(20)
        except KeyboardInterrupt:
            seen.append("raised")
            raise

    with pytest.raises(KeyboardInterrupt):
        sess.run(tf.py_func(slow, [], []))
    assert seen == ["raised"] and _is_idle(sess)


def test_a_python_function_in_a_thread_that_never_returns_does_not_hold_the_user(sess):
    end = threading.Event()
    waits = [tf.py_func(lambda: end.wait(300), [], tf.bool) for _ in range(2)]
    threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sess.run(waits)
    assert time.monotonic() - begin < 200  # and not the time that the functions take
    end.set()
    assert _is_idle(sess)


def test_a_data_set_without_an_end_can_be_interrupted(sess):
    nothing = tf.data.Dataset.range(3).repeat().filter(lambda x: x > 5).make_one_shot_iterator().get_next()
    threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        sess.run(nothing)
    assert _is_idle(sess)


def test_a_handler_that_raises_nothing_does_not_stop_the_step(sess):
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        found = sess.run(tf.py_func(lambda: signal.raise_signal(signal.SIGINT) or 3, [], tf.int64))
        with HeldInterrupts():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert found == 3 and seen == [1, 1]


def test_an_interrupt_that_was_held_is_raised_at_the_end():
    after = []
    with pytest.raises(KeyboardInterrupt), HeldInterrupts() as outer, HeldInterrupts() as inner:
        signal.raise_signal(signal.SIGINT)
        after.append("held")
        assert inner.error is outer.error is not None
    assert after == ["held"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt), HeldInterrupts(), interruptible():
        signal.raise_signal(signal.SIGINT)
        after.append("not reached")
    assert after == ["held"]


def test_work_inside_of_a_step_holds_interrupts_no_second_time():
    after = []
    with pytest.raises(KeyboardInterrupt), HeldInterrupts() as outer:
        with holding_interrupts():
            signal.raise_signal(signal.SIGINT)
            after.append("held")
        after.append("held still")
        outer.check()
        after.append("not reached")
    assert after == ["held", "held still"]
    with pytest.raises(KeyboardInterrupt):
        with holding_interrupts():
            signal.raise_signal(signal.SIGINT)
            after.append("held alone")
        after.append("not reached")
    assert after[2:] == ["held alone"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler

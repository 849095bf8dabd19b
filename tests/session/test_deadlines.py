"""`RunOptions.timeout_in_ms` bounds all that a step may wait for, the message says what, and the session works on."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import DeadlineExceededError
from tfnb.runtime.cluster_kernel import ClusterKernel
from tfnb.session import session as session_module

pytestmark = pytest.mark.one_process("an event of this process holds functions and compilers")

SOON = tf.RunOptions(timeout_in_ms=60)


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as made:
        yield made


@pytest.fixture
def gate():
    """An event that something waits for; it is set at the end in any case."""
    made = threading.Event()
    yield made
    made.set()


def held(function, gate):
    """`function`, which first waits for the event."""

    def call(*args, **kwargs):
        gate.wait()
        return function(*args, **kwargs)

    return call


def test_a_step_that_is_compiled(session, gate, monkeypatch):
    monkeypatch.setattr(session_module, "compile_step", held(session_module.compile_step, gate))
    y = tf.constant([1.0, 2.0]) * 3.0
    with pytest.raises(DeadlineExceededError, match=r"within 0\.06 s: it waited for the step to be compiled"):
        session.run(y, options=SOON)
    gate.set()
    np.testing.assert_array_equal(session.run(y), [3, 6])


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_kernels_that_are_compiled(session, gate, monkeypatch, in_a_loop):
    x = tf.placeholder(tf.float32, [None])
    y = tf.while_loop(lambda a: tf.reduce_sum(a) < 50.0, lambda a: a * 2.0 + 1.0, [x]) if in_a_loop else x * 2.0 + 1.0
    with monkeypatch.context() as patch:
        patch.setattr(ClusterKernel, "_build", held(ClusterKernel._build, gate))
        with pytest.raises(DeadlineExceededError, match="to be compiled for new shapes"):
            session.run(y, {x: [40.0]}, options=tf.RunOptions(timeout_in_ms=1000))  # passes take a part of it
        gate.set()
    assert session.run(y, {x: [40.0]}) == [81.0]


def test_the_time_of_a_whole_session(gate, monkeypatch):
    monkeypatch.setattr(session_module, "compile_step", held(session_module.compile_step, gate))
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=60)) as session:
        y = tf.constant(1.0) + 1.0
        with pytest.raises(DeadlineExceededError, match="compiled"):
            session.run(y)
        call = None
        gate.set()
        call = session.make_callable(y)
        assert call() == 2.0


def waiting(kind, gate):
    """A tensor whose step waits until the event is set."""
    if kind == "function":
        return tf.py_func(lambda: gate.wait() and np.float32(1), [], tf.float32)
    if kind == "generator":

        def elements():
            gate.wait()
            yield np.float32(1)

        return tf.data.Dataset.from_generator(elements, tf.float32, []).make_one_shot_iterator().get_next()
    if kind == "another device":
        with tf.device("/cpu:1"):
            return waiting("function", gate) + 1.0
    return tf.FIFOQueue(1, tf.float32, [[]], shared_name="q").dequeue()


@pytest.mark.parametrize("kind", ["function", "generator", "another device", "queue"])
def test_what_a_step_waits_for_when_it_runs(gate, kind):
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        y = waiting(kind, gate)
        z = tf.constant(2.0) + y
        for _ in range(3):
            with pytest.raises(DeadlineExceededError, match=r"within 0\.06 s"):
                session.run(z, options=SOON)
        assert session.run(tf.constant(2.0) * 4.0) == 8.0
        gate.set()
        if kind == "queue":
            session.run(tf.FIFOQueue(1, tf.float32, [[]], shared_name="q").enqueue(1.0))
        assert session.run(z) in (3.0, 4.0)


def test_an_error_of_what_is_waited_for_arrives(session, monkeypatch):
    def broken(*args, **kwargs):
        raise tf.errors.InternalError(None, None, "broken")

    monkeypatch.setattr(session_module, "compile_step", broken)
    with pytest.raises(tf.errors.InternalError, match="broken"):
        session.run(tf.constant(1.0), options=tf.RunOptions(timeout_in_ms=60000))


def test_a_step_that_a_handler_runs_has_no_part_of_the_deadline(session, gate, monkeypatch):
    """Of the step that the signal interrupts: it saves a model, for one."""
    compile_step, found = session_module.compile_step, []

    def hold_the_first(*args, **kwargs):
        monkeypatch.setattr(session_module, "compile_step", compile_step)
        gate.wait()
        return compile_step(*args, **kwargs)

    def handler(*_):
        time.sleep(1.0)
        try:
            found.append(other.run(another))
        except DeadlineExceededError as e:
            found.append(e)

    another, other = tf.constant(2.0) * 3.0, tf.Session()
    monkeypatch.setattr(session_module, "compile_step", hold_the_first)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGUSR1]).start()
        with pytest.raises(DeadlineExceededError, match="waited for the step to be compiled"):
            session.run(tf.constant(1.0) * 2.0, options=tf.RunOptions(timeout_in_ms=1000))
    finally:
        signal.signal(signal.SIGUSR1, before)
        other.close()
    assert found == [6.0]

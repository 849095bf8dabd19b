"""Many threads on one session: no deadlock, no wrong value, no thread left behind."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

pytestmark = pytest.mark.opencl
THREADS, STEPS = 16, 200


def test_sixteen_threads_of_two_hundred_steps_some_failing_on_purpose():
    before = set(threading.enumerate())
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 8], name="x")
        w = tf.Variable(np.eye(8, dtype=np.float32) * 2, trainable=False)
        y = tf.nn.relu(tf.matmul(x, w)) + 1.0
        checked = tf.Assert(tf.reduce_all(tf.less(x, 1e6)), [x])
        with tf.control_dependencies([checked]):
            guarded = tf.reduce_sum(y, axis=1)
        counter = tf.Variable(0, name="counter")
        bump = counter.assign_add(1)
        unready = tf.Variable(0.0, name="unready") + 1.0
        with tf.Session() as sess:
            sess.run([w.initializer, counter.initializer])
            wrong: list[str] = []
            bumps = [0] * THREADS
            threads = [
                threading.Thread(target=_work, args=(sess, i, (x, y, guarded, bump, unready), wrong, bumps))
                for i in range(THREADS)
            ]
            for t in threads:
                t.start()
            for t in threads:
                t.join(timeout=300)
            assert not any(t.is_alive() for t in threads), "deadlock"
            assert wrong == []
            assert sess.run(counter) == sum(bumps)
    left = [t for t in threading.enumerate() if t not in before and t.is_alive()]
    assert left == []


def _work(sess, i, tensors, wrong, bumps):
    x, y, guarded, bump, unready = tensors
    rng = np.random.RandomState(i)
    for step in range(STEPS):
        value = rng.rand(1 + (i + step) % 7, 8).astype(np.float32)
        try:
            if step % 5 == 0:
                sess.run(bump)
                bumps[i] += 1
            elif step % 11 == 3:
                _expect(errors.InvalidArgumentError, lambda v=value: sess.run(guarded, {x: v * 1e7 + 1e6}), wrong)
            elif step % 13 == 4:
                _expect(errors.FailedPreconditionError, lambda: sess.run(unready), wrong)
            elif step % 17 == 6:
                _expect(errors.ShapeError, lambda: sess.run(y, {x: np.ones((2, 3))}), wrong)
            elif step % 2:
                if not np.allclose(sess.run(guarded, {x: value}), (value * 2 + 1).sum(1), rtol=1e-5):
                    wrong.append(f"thread {i} step {step}: sum")
            elif not np.allclose(sess.run(y, {x: value}), value * 2 + 1, rtol=1e-5):
                wrong.append(f"thread {i} step {step}: value")
        except Exception as e:
            wrong.append(f"thread {i} step {step}: {type(e).__name__}: {e}")


def _expect(kind, call, wrong):
    try:
        call()
    except kind:
        return
    wrong.append(f"{kind.__name__} was not raised")


def test_a_thread_that_runs_steps_lets_others_run():
    """Python switches threads by itself once in an hour here, so the other one runs when a step leaves it the lock."""
    most, steps, done = 50_000, [0], []
    x = tf.placeholder(tf.float32, [4])
    y = x + 1.0
    with tf.Session() as sess:
        sess.run(y, {x: np.zeros(4)})

        def train():
            while steps[0] < most and not done:
                sess.run(y, {x: np.zeros(4)})
                steps[0] += 1

        thread = threading.Thread(target=train)
        usual = sys.getswitchinterval()
        sys.setswitchinterval(3600)
        try:
            thread.start()
            done.append(True)
            thread.join()
        finally:
            sys.setswitchinterval(usual)
    assert steps[0] < most

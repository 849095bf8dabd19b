"""Steps of several threads in one model on two devices: a pipeline (white paper, section 7; OSDI'16, section 3.2)."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl
STEPS = 8


class Stages:
    """Host functions of a first and a second stage. While they meet, batch k leaves the second stage only together with
    batch k + 1 at the first one, so the batches get through only if the stages work at the same time."""

    def __init__(self):
        self.meetings = None

    def meet(self):
        """Batches that come now meet. If they do not within a minute, `BrokenBarrierError` ends their steps."""
        self.meetings = [threading.Barrier(2, timeout=60) for _ in range(STEPS - 1)]

    def first(self, x):
        k = round(float(x[0, 0]) / 0.3)  # a batch is filled with its number, and has three columns
        if self.meetings and k > 0:
            self.meetings[k - 1].wait()
        return x + np.float32(1)

    def second(self, x):
        k = round((float(x[0, 0]) - 1) / 0.3)
        if self.meetings and k < STEPS - 1:
            self.meetings[k].wait()
        return x + np.float32(1)


@pytest.fixture
def model():
    """(session, input, loss, training step, stages): a model whose two stages have their weights on their own device."""
    stages = Stages()
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [4, 3], name="x")
        with tf.device("/cpu:0"):
            w = tf.Variable(tf.ones([3, 3]) * 0.1, name="w")
            hidden = tf.py_func(stages.first, [tf.matmul(x, w)], tf.float32)
            hidden.set_shape([4, 3])
        with tf.device("/cpu:1"):
            v = tf.Variable(tf.ones([3, 2]) * 0.1, name="v")
            seen = tf.py_func(stages.second, [hidden], tf.float32)
            seen.set_shape([4, 3])
            loss = tf.reduce_sum(tf.square(tf.matmul(seen, v)))
        step = tf.train.GradientDescentOptimizer(1e-4).minimize(loss)
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            session.run(tf.global_variables_initializer())
            yield session, x, loss, step, stages


def batch(k):
    return np.full([4, 3], k, np.float32)


def run_all(session, fetches, threads):
    """The results of `STEPS` batches by so many threads."""
    found, errors, numbers = {}, [], iter(range(STEPS))
    lock = threading.Lock()

    def work():
        while True:
            with lock:
                k = next(numbers, None)
            if k is None:
                return
            try:
                found[k] = session.run(fetches, {"x:0": batch(k)})
            except Exception as e:
                errors.append(e)
                return

    crew = [threading.Thread(target=work) for _ in range(threads)]
    for t in crew:
        t.start()
    for t in crew:
        t.join(60)
    assert not errors
    return [found[k] for k in range(STEPS)]


def test_two_threads_keep_both_stages_busy(model):
    """While one batch is at the second stage the next is at the first; every batch gets its own result."""
    session, _, loss, _, stages = model
    alone = run_all(session, loss, 1)
    stages.meet()
    assert run_all(session, loss, 2) == alone
    assert not any(barrier.broken for barrier in stages.meetings)


def test_concurrent_training_steps(model):
    """Updates of steps that overlap are all there, as those of asynchronous replicas; the loss falls."""
    session, x, loss, step, _ = model
    updates = tf.Variable(0, name="updates")
    count = tf.assign_add(updates, 1, use_locking=True)
    session.run(updates.initializer)
    before = session.run(loss, {x: batch(1)})
    run_all(session, [step, count], 2)
    assert session.run(updates) == STEPS
    assert session.run(loss, {x: batch(1)}) < before

"""The time of a step bounds the search for a task that is lost or has not come up; the session works on afterwards."""

from __future__ import annotations

import time

import pytest

import tfnb as tf
from tfnb.errors import AbortedError, DeadlineExceededError, UnavailableError

pytestmark = pytest.mark.opencl


@pytest.fixture
def two_tasks(addresses, serve, monkeypatch):
    """(a server in this process, a function that starts the process of the other task)."""
    monkeypatch.setattr("tfnb.session.dask.master.master._CONNECT_TIMEOUT", 600.0)
    ps, worker = addresses(2)
    spec = {"ps": [ps], "worker": [worker]}
    with tf.train.Server(spec, "worker", 0) as server:
        yield server, lambda: serve(spec, "ps", 0)


def test_a_task_that_does_not_come_up(two_tasks):
    server, _ = two_tasks
    begin = time.monotonic()
    with pytest.raises(DeadlineExceededError, match=r"within 0\.5 s: it waited for these tasks to come up: /job:ps"):
        tf.Session(server.target, config=tf.ConfigProto(operation_timeout_in_ms=500))
    assert time.monotonic() - begin < 200  # and not as long as a program without a limit waits


def test_a_task_that_is_lost(two_tasks):
    server, start = two_tasks
    process = start()
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(3.0)
        doubled = v * 2.0
    with tf.Session(server.target) as session:
        session.run(v.initializer)
        assert session.run(doubled, options=tf.RunOptions(timeout_in_ms=60000)) == 6.0
        process.kill()
        process.wait()
        with pytest.raises((AbortedError, UnavailableError)):
            session.run(doubled, options=tf.RunOptions(timeout_in_ms=60000))
        for _ in range(2):
            begin = time.monotonic()
            with pytest.raises(DeadlineExceededError, match="waited for these tasks to come up: /job:ps"):
                session.run(doubled, options=tf.RunOptions(timeout_in_ms=500))
            assert time.monotonic() - begin < 200
        with tf.device("/job:worker/task:0"):
            here = tf.constant(2.0) * 4.0
        assert session.run(here) == 8.0
        start()
        session.run(v.initializer)
        assert session.run(doubled) == 6.0

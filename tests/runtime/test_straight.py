"""Parts without control flow: values, dead values from elsewhere, errors and the end of a wait, as a `Step` has them."""

import threading

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import CancelledError, InvalidArgumentError
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.executor import Executor
from tfnb.runtime.rendezvous import Rendezvous
from tfnb.runtime.straight import Straight

pytestmark = pytest.mark.opencl


@pytest.fixture
def parts():
    """parts(fetches, device) -> the part of a step on one of two devices, and the number of its Recvs and Sends."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        worker = sess._worker
        from_request = lambda fetch, feeds: sess.make_callable(fetch, feeds)  # noqa: E731

        def find(fetch, feeds, device):
            from_request(fetch, feeds)
            step = next(reversed(sess._steps.values()))
            (part,) = [p for p in step.parts if p.name.endswith(device)]
            return part

        yield find, worker


def build():
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/cpu:0"):
        a = x + 1.0
    with tf.device("/cpu:1"):
        b = tf.identity(a) * 3.0
        c = b - x
    return x, c


def keys(part):
    kinds = [n.kind.name for n in part.plan.nodes]
    return kinds.count("RECV"), kinds.count("SEND")


class Meeting(Rendezvous):
    """Remembers what was sent, by tensor."""

    def __init__(self):
        super().__init__()
        self.sent = {}

    def send(self, key, value, is_dead=False):
        self.sent[key.tensor] = (value, is_dead)
        super().send(key, value, is_dead)


def run_both(part, worker, act):
    """What the straight way and the propagator's make of the same part; `act(executor)` runs it."""
    straight = Executor.of_parts([part], worker._threads)
    assert straight._straight is not None
    slow = Executor.of_parts([part], worker._threads)
    slow._straight = None
    return act(straight), act(slow)


def test_values_come_as_by_the_propagator(parts):
    find, worker = parts
    x, c = build()
    here, there = (find(c, [x], f"CPU:{k}") for k in range(2))
    assert keys(here)[1] >= 1 and keys(there)[0] >= 1

    def act(make):
        def go(first):
            second = Executor.of_parts([there], worker._threads)
            second._straight = first._straight and second._straight
            meeting, found = Rendezvous(), []
            feed = [np.array([1.0, 2.0], np.float32)]
            thread = threading.Thread(target=lambda: found.extend(second.run(feed, rendezvous=meeting)))
            thread.start()
            first.run(feed, rendezvous=meeting)
            thread.join(30)
            return found[0].tolist()

        return go(make)

    assert run_both(here, worker, act) == ([5.0, 7.0], [5.0, 7.0])


def test_a_dead_value_from_elsewhere(parts):
    find, worker = parts
    x, c = build()
    part = find(c, [x], "CPU:1")
    recvs = [k for n, k in zip(part.plan.nodes, part.payloads, strict=True) if n.kind.name == "RECV"]

    def act(executor):
        meeting = Rendezvous()
        for k, recv in enumerate(recvs):
            recv.recv("", type("Context", (), {"rendezvous": _Sender(meeting, k == 0)}), None)
        with pytest.raises(InvalidArgumentError, match="on a branch that was not taken"):
            executor.run([np.zeros(2, np.float32)], rendezvous=meeting)
        return True

    assert run_both(part, worker, act) == (True, True)


class _Sender:
    """Sends for a Recv, instead of waiting for it."""

    def __init__(self, meeting, is_dead):
        self._meeting, self._is_dead = meeting, is_dead

    def recv_async(self, key, done):
        self._meeting.send(key, np.zeros(2, np.float32), self._is_dead)


def test_a_cancelled_wait_ends(parts):
    find, worker = parts
    x, c = build()
    part = find(c, [x], "CPU:1")

    def act(executor):
        meeting, cancellation = Rendezvous(), Cancellation()
        why = CancelledError("enough")

        def stop():
            meeting.abort(why)
            cancellation.cancel(why)

        timer = threading.Timer(0.1, stop)
        timer.start()
        with pytest.raises(CancelledError, match="enough"):
            executor.run([np.zeros(2, np.float32)], rendezvous=meeting, cancellation=cancellation)
        timer.join()
        return True

    assert run_both(part, worker, act) == (True, True)


def test_what_may_block_or_branch_is_not_straight(parts):
    find, _ = parts
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/cpu:0"):
        a = tf.cond(tf.reduce_sum(x) > 0, lambda: x + 1.0, lambda: x - 1.0)
    with tf.device("/cpu:1"):
        c = tf.identity(a) * 2.0
    part = find(c, [x], "CPU:0")
    assert Straight.of([part], ()) is None
    assert Straight.of([part, part], ()) is None

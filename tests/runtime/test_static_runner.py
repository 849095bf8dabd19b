"""Parts without control flow: values, dead values from elsewhere, errors and the end of a wait, as by the propagator."""

import dataclasses
import threading

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import CancelledError, InvalidArgumentError
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.executor import Executor
from tfnb.runtime.rendezvous import Rendezvous
from tfnb.runtime.static_runner import ClusterRunner, StaticRunner

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


def by_propagator(part):
    """The part, said to decide something at run time."""
    return part._replace(plan=dataclasses.replace(part.plan, is_static=False))


def executors(parts, worker):
    """An executor of its own for each part."""
    made = []
    for part in parts:
        made.append(Executor.of_parts([part], worker._threads))
        if not part.plan.is_static:
            made[-1]._static = None
    return made


def run_both(parts, worker, act):
    """What the static way and the propagator make of the same parts; `act(executors)` runs them."""
    assert all(part.plan.is_static for part in parts)
    return act(executors(parts, worker)), act(executors([by_propagator(part) for part in parts], worker))


def test_values_come_as_by_the_propagator(parts):
    find, worker = parts
    x, c = build()
    here, there = (find(c, [x], f"CPU:{k}") for k in range(2))
    assert keys(here)[1] >= 1 and keys(there)[0] >= 1

    def act(both):
        first, second = both
        meeting, found = Rendezvous(), []
        feed = [np.array([1.0, 2.0], np.float32)]
        thread = threading.Thread(target=lambda: found.extend(second.run(feed, rendezvous=meeting)))
        thread.start()
        first.run(feed, rendezvous=meeting)
        thread.join(30)
        return found[0].tolist()

    assert run_both([here, there], worker, act) == ([5.0, 7.0], [5.0, 7.0])


def test_a_dead_value_from_elsewhere(parts):
    find, worker = parts
    x, c = build()
    part = find(c, [x], "CPU:1")
    recvs = [k for n, k in zip(part.plan.nodes, part.payloads, strict=True) if n.kind.name == "RECV"]

    def act(both):
        (executor,) = both
        meeting = Rendezvous()
        for k, recv in enumerate(recvs):
            recv.recv("", type("Context", (), {"rendezvous": _Sender(meeting, k == 0)}), None)
        with pytest.raises(InvalidArgumentError, match="on a branch that was not taken"):
            executor.run([np.zeros(2, np.float32)], rendezvous=meeting)
        return True

    assert run_both([part], worker, act) == (True, True)


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

    def act(both):
        (executor,) = both
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

    assert run_both([part], worker, act) == (True, True)


def test_an_error_of_a_kernel_wakes_the_others(parts):
    find, worker = parts
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/cpu:0"):
        a = tf.string_to_number(tf.string_join([tf.as_string(x), "?"]))
    with tf.device("/cpu:1"):
        c = tf.identity(a) * 2.0
    part = find(c, [x], "CPU:0")
    assert StaticRunner.of([part], ()) is not None

    def act(both):
        (executor,) = both
        meeting, told = Rendezvous(), []
        meeting.recv_async("never sent", lambda item, error: told.append(error))
        with pytest.raises(InvalidArgumentError, match=a.op.name):
            executor.run([np.array([0.0, 7.0], np.float32)], rendezvous=meeting)
        return [str(error).partition(":")[0] for error in told]

    assert run_both([part], worker, act) == (["the step was stopped"], ["the step was stopped"])


def test_what_finishes_at_once_runs_in_a_static_order(parts):
    find, worker = parts
    x, c = build()
    here, there = (find(c, [x], f"CPU:{k}") for k in range(2))
    assert isinstance(StaticRunner.of([here], ()), StaticRunner)
    assert StaticRunner.of([there], ()) is None  # it waits for a value
    assert Executor.of_parts([there], worker._threads)._receiving is not None
    assert Executor.of_parts([here], worker._threads)._receiving is None
    assert StaticRunner.of([here, here], ()) is None
    assert not Executor.of_parts([here], worker._threads).waits
    assert Executor.of_parts([there], worker._threads).waits


def test_what_may_block_or_branch_is_not_static(parts):
    find, _ = parts
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/cpu:0"):
        a = tf.cond(tf.reduce_sum(x) > 0, lambda: x + 1.0, lambda: x - 1.0)
    with tf.device("/cpu:1"):
        c = tf.identity(a) * 2.0
    part = find(c, [x], "CPU:0")
    assert not part.plan.is_static and StaticRunner.of([part], ()) is None


def test_host_kernels_and_loops_between_clusters_need_no_propagator():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [3])
        y = tf.unique(x * 2.0)[0]
        z = tf.while_loop(lambda i, z: i < 3, lambda i, z: [i + 1, z + 1.0], [0, tf.reduce_sum(y)])[1]
        assert session.run([z, y], {x: [1.0, 2.0, 1.0]})[0] == 9.0
        (executor,) = session._worker._executors.values()
        assert type(executor._static) is StaticRunner and executor._static.may_last
        session.run(x + 1.0, {x: np.ones(3)})
        assert [type(e._static) for e in session._worker._executors.values()].count(ClusterRunner) == 1

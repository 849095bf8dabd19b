"""Parts without control flow, in a static order and by the propagator: values, dead ones, errors, the end of a wait."""

import dataclasses
import threading

import numpy as np
import pytest
from waiting import until

import tfnb as tf
from tfnb.errors import CancelledError, InvalidArgumentError
from tfnb.ir.opdef import OpDef
from tfnb.ir.step_graph.graph import Node
from tfnb.ops.control_flow.send_recv import TransferAttrs
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.executor import Executor
from tfnb.runtime.plan import PlanKind, PlanNode, build_plan
from tfnb.runtime.rendezvous import Rendezvous
from tfnb.runtime.transfer import RecvKernel
from tfnb.types import Shape, TensorSpec

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
    return [Executor.of_parts([part], worker._threads) for part in parts]


def run_both(parts, worker, act):
    """What the static order and the propagator make of the same parts; `act(executors)` runs them."""
    static = executors(parts, worker)
    dynamic = executors([by_propagator(part) for part in parts], worker)
    assert not any(e.program.is_dynamic for e in static) and all(e.program.is_dynamic for e in dynamic)
    return act(static), act(dynamic)


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
    assert Executor.of_parts([part]).program.parts[0].order is not None

    def act(both):
        (executor,) = both
        meeting, told = Rendezvous(), []
        meeting.recv_async("never sent", lambda item, error: told.append(error))
        with pytest.raises(InvalidArgumentError, match=a.op.name):
            executor.run([np.array([0.0, 7.0], np.float32)], rendezvous=meeting)
        return [str(error).partition(":")[0] for error in told]

    assert run_both([part], worker, act) == (["the step was stopped"], ["the step was stopped"])


def test_what_a_run_can_wait_for(parts):
    find, worker = parts
    x, c = build()
    here, there = (find(c, [x], f"CPU:{k}") for k in range(2))
    sends, receives = executors([here, there], worker)
    assert not sends.program.waits and not sends.may_last
    assert receives.program.waits and receives.may_last
    assert len(sends.program.parts[0].order.segments) == 1 < len(receives.program.parts[0].order.segments)
    assert Executor.of_parts([here, there], worker._threads).program.waits


def test_what_branches_has_no_static_order(parts):
    find, _ = parts
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/cpu:0"):
        a = tf.cond(tf.reduce_sum(x) > 0, lambda: x + 1.0, lambda: x - 1.0)
    with tf.device("/cpu:1"):
        c = tf.identity(a) * 2.0
    part = find(c, [x], "CPU:0")
    program = Executor.of_parts([part]).program
    assert not part.plan.is_static and program.parts[0].order is None and program.is_dynamic and program.waits


def test_host_kernels_and_loops_between_clusters_need_no_propagator():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [3])
        y = tf.unique(x * 2.0)[0]
        z = tf.while_loop(lambda i, z: i < 3, lambda i, z: [i + 1, z + 1.0], [0, tf.reduce_sum(y)])[1]
        assert session.run([z, y], {x: [1.0, 2.0, 1.0]})[0] == 9.0
        (executor,) = session._worker._executors.values()
        assert not executor.program.is_dynamic and not executor.program.waits and executor.may_last
        assert executor.program.immediate is None
        session.run(x + 1.0, {x: np.ones(3)})
        assert [e.program.single is not None for e in session._worker._executors.values()].count(True) == 1


@pytest.mark.parametrize("value", [5.0, None])
def test_the_segments_run_in_whichever_order_values_come(value):
    """Both orders in which two values can come from another executor; None: the first of them is dead."""
    recvs = [RecvKernel(_receiver(name)) for name in ("first", "second")]
    ran = []
    plan = build_plan(
        [
            PlanNode(PlanKind.RECV, name="first"),
            PlanNode(PlanKind.RECV, name="second"),
            PlanNode(PlanKind.HOST, 1, ((0, 0),), name="of first"),
            PlanNode(PlanKind.HOST, 1, ((1, 0),), name="of second"),
            PlanNode(PlanKind.HOST, 1, ((3, 0), (1, 0)), name="of second again"),
        ],
        [(4, 0)] if value is None else [(2, 0), (4, 0)],
    )
    for order in ((0, 1), (1, 0)):
        ran.clear()
        kernels = [_Noted(ran, name) for name in ("a", "b", "c")]
        executor = Executor(plan, [*recvs, *kernels])
        meeting, found = Rendezvous(), []
        thread = threading.Thread(target=lambda: found.extend(executor.run(rendezvous=meeting)))  # noqa: B023
        thread.start()
        for k in order:
            until(lambda: recvs[k]._key in meeting.waiting())  # noqa: B023
            meeting.send(recvs[k]._key, np.array(value or 0.0), value is None and k == 0)
            names = "a" if k == 0 else "bc"
            if value is not None or k == 1:
                until(lambda: set(names) <= set(ran))  # noqa: B023
        thread.join(30)
        assert found[-1] == (value or 0.0) and sorted(ran) == (["b", "c"] if value is None else ["a", "b", "c"])


def _receiver(name):
    attrs = TransferAttrs(name)
    return Node(1, name, OpDef("Recv", "", "y: T"), (), (), attrs, {}, (TensorSpec(tf.float32, Shape(())),))


class _Noted:
    """A kernel that gives its first input, and notes that it ran."""

    node, expensive = None, False

    def __init__(self, ran, name):
        self.ran, self.name = ran, name

    def run(self, inputs, recorder=None):
        self.ran.append(self.name)
        return [inputs[0]]

"""What a session on a cluster does beside running a step: traces, recordings, options, functions of data sets."""

import gc
import weakref

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import DeadlineExceededError, InvalidArgumentError
from tfnb.ir.opdef import Kind
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.stats import HOST, TRANSFER, StepStats
from tfnb.session import functions
from tfnb.session.dask.observability.tracing import (
    decode_times,
    encode_times,
    host_of,
    merge,
    note_arrivals,
)
from tfnb.session.dask.task.task_rendezvous import RunningStep

pytestmark = pytest.mark.opencl

FIRST, SECOND = "/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"


@pytest.fixture(scope="module")
def cluster(dask):
    with tf.train.DaskCluster(dask, worker=2) as found:
        yield found


def sent():
    """A product on one task, its sum on another."""
    x = tf.placeholder(tf.float32, [200, 200], name="x")
    with tf.device("/job:worker/task:0"):
        product = tf.matmul(x, x, name="product")
    with tf.device("/job:worker/task:1"):
        total = tf.reduce_sum(product, name="total")
    return total, {x: np.ones([200, 200], np.float32)}


def test_a_traced_step_has_the_times_of_all_tasks(cluster):
    total, feed = sent()
    metadata = tf.RunMetadata()
    with tf.Session(cluster.target) as sess:
        sess.run(total, feed)
        assert sess.run(total, feed, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata) == 200**3
    times = {(t.device, t.kind): t for t in metadata.step_stats}
    product, summed = times[f"{FIRST}/device:CPU:0", "kernel"], times[f"{SECOND}/device:CPU:0", "kernel"]
    assert "product" in product.nodes and "total" in summed.nodes
    assert 0 < product.start_us < product.end_us <= summed.start_us < summed.end_us <= metadata.wall_us
    assert {host_of(FIRST), host_of(SECOND)} <= {t.device for t in metadata.step_stats}
    sent_, taken = sorted(
        (t for t in metadata.step_stats if "product" in t.name and t.kind == "transfer"),
        key=lambda t: t.lane != "to worker 1",
    )
    assert (sent_.device, sent_.lane, taken.device) == (host_of(FIRST), "to worker 1", host_of(SECOND))
    assert sent_.nbytes == taken.nbytes == 4 * 200 * 200
    assert sent_.detail == f"from {FIRST}/device:CPU:0 to {SECOND}/device:CPU:0"
    # Two clocks are known to the quickest way between them: what was as quick may seem to take no time, never less.
    assert product.end_us <= sent_.start_us <= sent_.end_us <= taken.start_us
    assert not [t for t in metadata.step_stats if t.device == "host" or t.lane == "arrived"]
    assert metadata.graph is not None
    assert {f"{FIRST}/device:CPU:0", host_of(FIRST)} <= {d.device for d in metadata.step_stats.dev_stats}


def test_every_task_says_what_a_deadlock_waits_for(cluster):
    """Whichever of them is first to see that the time is over."""
    with tf.device("/job:worker/task:0"):
        queue = tf.FIFOQueue(4, tf.float32, shapes=[()], name="never_filled")
        put, got = queue.enqueue(1.0), queue.dequeue()
    with tf.device("/job:worker/task:1"):
        doubled = got * 2.0
    with tf.Session(cluster.target) as sess:
        sess.run(put)
        assert sess.run(doubled) == 2.0  # it is registered
        for _ in range(5):
            with pytest.raises(DeadlineExceededError) as caught:
                sess.run(doubled, options=tf.RunOptions(timeout_in_ms=500))
            text = str(caught.value)
            assert "'never_filled' is open and holds 0 of 4 elements (0 enqueuing, 1 dequeuing)" in text
            assert f"(at {FIRST})" in text and f"(at {SECOND})" in text


def test_a_step_leaves_nothing_for_the_collector(cluster):
    total, feed = sent()
    with tf.Session(cluster.target) as sess:
        sess.run(total, feed)
        gc.collect()
        before = {id(o) for o in gc.get_objects() if isinstance(o, Cancellation)}  # that of steps nobody can cancel
        gc.disable()
        try:
            for _ in range(5):
                sess.run(total, feed)
            left = [o for o in gc.get_objects() if isinstance(o, (RunningStep, Cancellation)) and id(o) not in before]
        finally:
            gc.enable()
    assert not left


def test_steps_on_a_cluster_are_recorded(cluster):
    total, feed = sent()
    with tf.Session(cluster.target) as sess:
        with tf.profile(sess) as recording:
            for _ in range(3):
                sess.run(total, feed)
        sess.run(total, feed)
    assert len(recording) == 3
    for step in recording.steps:
        assert {f"{FIRST}/device:CPU:0", f"{SECOND}/device:CPU:0"} <= {t.device for t in step.times}
        assert 0 < step.account.kernels_us < step.wall_us


def test_what_traced_steps_took_is_learnt(cluster):
    total, feed = sent()
    with tf.Session(cluster.target) as sess:
        for _ in range(2):
            sess.run(total, feed, tf.RunOptions(trace_level=1), tf.RunMetadata())
        assert sess.compile_context.placing.costs.n_measured >= 2


def test_times_are_moved_to_the_masters_clock():
    here, there = StepStats(), StepStats()
    there.begin = here.begin + 0.5  # the task began half a second later, and its clock is three ahead
    there.times.append(("/device:CPU:0", "a", (np.int64(3),), 10.0, 20.0, 8))
    there.times.append((HOST, "b", (4,), 30.0, 40.0, 0, "host", "thread", "why", "waker"))
    noted = decode_times(encode_times(there, FIRST))
    merge(here, "/job:client/replica:0/task:0", [noted._replace(begin=noted.begin + 3.0)], [(2.9, 3.1)])
    device, host = here.in_order()
    assert (device.device, device.nodes, host.device) == ("/device:CPU:0", (3,), host_of(FIRST))
    assert (device.start_us, host.end_us) == pytest.approx((500_010, 500_040), abs=1e-3)
    assert device.end_us - device.start_us == pytest.approx(10, abs=1e-3)
    assert host[6:] == ("host", "thread", "why", "waker")


def test_a_tensor_comes_after_it_left_though_clocks_are_known_loosely():
    """As two tasks on a busy machine, whose clocks show the same, but are known to 0.2 and 0.4 s only."""
    here, sender, receiver = StepStats(), StepStats(), StepStats()
    sender.begin = receiver.begin = here.begin
    key = f"{FIRST}/device:CPU:0\n{SECOND}/device:CPU:0\nproduct:0\n"
    sender.times.append((HOST, key, (), 1000.0, 1100.0, 8, TRANSFER, "to worker 1"))
    note_arrivals(receiver, [(key, here.begin + 1400e-6)])
    told = [decode_times(encode_times(s, task)) for s, task in ((sender, FIRST), (receiver, SECOND))]
    merge(here, "/job:client/replica:0/task:0", told, [(-0.2, 0.0), (0.0, 0.4)])  # in the middle it is 300 ms too soon
    [sent_] = here.in_order(TRANSFER)
    assert (sent_.label, sent_.device) == ("product:0", host_of(FIRST))
    assert 0.0 <= sent_.end_us - sent_.start_us <= 400.0 + 1e-3
    assert 0.0 <= sent_.start_us - 1000.0 <= 400.0  # as far as the other clock lets it be


@pytest.mark.parametrize("told", [b"", b"[]", b"{}", b'{"task": "a", "begin": 0, "wall_us": 0, "times": [[1]]}'])
def test_times_that_are_none(told):
    with pytest.raises(InvalidArgumentError, match="malformed"):
        decode_times(np.frombuffer(told, np.uint8))


def test_recvs_are_scheduled_on_a_cluster_too(cluster):
    with tf.device("/job:worker/task:0"):
        start = tf.placeholder(tf.float32, [50, 50], name="x")
        many = [tf.identity(start + float(k)) for k in range(4)]
    with tf.device("/job:worker/task:1"):
        x = start
        for value in many:
            x = tf.tanh(tf.cumsum(tf.sin(tf.sqrt(tf.abs(x))))) + value
        end = tf.reduce_sum(x)
    results = []
    for late in (False, True):
        config = tf.ConfigProto(graph_options=tf.GraphOptions(enable_recv_scheduling=late))
        metadata = tf.RunMetadata()
        with tf.Session(cluster.target, config=config) as sess:
            results.append(sess.run(end, {"x:0": np.full((50, 50), 1e-2, np.float32)}, None, metadata))
        graphs = [g for name, g in metadata.passes if name == "partition"]
        recvs = [r for g in graphs for r in g.nodes.values() if r.opdef.kind is Kind.RECV]
        assert any(r.control for r in recvs) == late
    assert results[0] == results[1]


def test_a_function_of_a_data_set_is_compiled_once(cluster, monkeypatch):
    compiled, compile_step = [], functions.compile_step
    monkeypatch.setattr(functions, "compile_step", lambda *a: compiled.append(a) or compile_step(*a))
    data = tf.data.Dataset.range(3).map(lambda i: i * i + 1)
    iterator = data.make_initializable_iterator()
    item = iterator.get_next()
    with tf.Session(cluster.target) as sess:
        for _ in range(4):
            sess.run(iterator.initializer)
            assert [sess.run(item) for _ in range(3)] == [1, 2, 5]
    assert len(compiled) == 1


def test_a_session_that_is_closed_leaves_no_trace_in_the_next(cluster):
    item = tf.data.Dataset.range(3).map(lambda i: i + 1).make_one_shot_iterator().get_next()
    one = tf.Session(cluster.target)
    two = tf.Session(cluster.target)
    two.close()
    gone = weakref.ref(two._worker)
    del two
    gc.collect()
    assert gone() is None
    with one:
        assert one.run(item) == 1

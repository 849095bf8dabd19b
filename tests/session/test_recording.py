"""Recordings: what ran when, that it adds up, and that TensorFlow's messages say the same."""

import contextlib
import itertools
import json
import sys
import threading
import time

import numpy as np
import pytest
from waiting import until_in_line

import tfnb as tf
from tfnb.session.config import NodeStats
from tfnb.session.recording import Recording, account

pytestmark = pytest.mark.opencl


def lenet():
    """A small conv net and the feed of one training step."""
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    y = tf.placeholder(tf.int64, [None], name="y")
    h = tf.reshape(x, [-1, 28, 28, 1])
    h = tf.layers.conv2d(h, 32, 5, padding="same", activation=tf.nn.relu, name="conv1")
    h = tf.layers.max_pooling2d(h, 2, 2, name="pool1")
    h = tf.layers.conv2d(h, 64, 5, padding="same", activation=tf.nn.relu, name="conv2")
    h = tf.layers.max_pooling2d(h, 2, 2, name="pool2")
    logits = tf.layers.dense(tf.layers.flatten(h), 128, name="hidden")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=y))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    rng = np.random.default_rng(0)
    return [train, loss], {x: rng.normal(size=(16, 784)), y: rng.integers(0, 10, 16)}


def test_a_training_step_adds_up():
    with tf.Graph().as_default(), tf.Session() as session:
        fetches, feed = lenet()
        session.run(tf.global_variables_initializer())
        session.run(fetches, feed)
        with tf.profile(session) as recording:
            for _ in range(3):
                session.run(fetches, feed)
        assert session._worker.recording is None
        session.run(fetches, feed)
    assert len(recording.steps) == len(recording) == 3
    for step in recording.steps:
        kernels = [t for t in step.times if t.kind == "kernel"]
        assert any("conv2" in n for t in kernels for n in t.nodes)
        for queue in {(t.device, t.lane) for t in kernels}:
            own = [t for t in kernels if (t.device, t.lane) == queue]
            assert all(a.end_us <= b.start_us for a, b in itertools.pairwise(own))
        # Device times are by the device's clock, the step's length by the host's: both tell of one step.
        found = step.account
        assert found.kernels_us + found.gaps_us == pytest.approx(step.wall_us, rel=0.05)
        assert sum(t.took_us for t in kernels) == pytest.approx(found.kernels_us, rel=0.05)
        assert found.host_us + found.launch_us + found.other_us == pytest.approx(found.gaps_us)
        assert {"launch", "transfer", "wait"} <= {t.kind for t in step.times}
    assert "3 steps" in repr(recording)
    begins = [s.begin_us for s in recording.steps]
    assert begins[0] == 0 and begins == sorted(begins)


def test_kernels_and_gaps_are_what_a_clock_outside_of_the_session_says():
    """Between two kernels the host sleeps: the gap is no shorter, by the device's clock, and the step no longer, by ours."""
    asleep = 0.2

    def slow(value):
        time.sleep(asleep)
        return value

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [100_000])
        between = tf.py_func(slow, [tf.sqrt(x) + 1.0], tf.float32)
        between.set_shape([100_000])
        y = tf.reduce_sum(tf.exp(-between))
        feed = {x: np.ones(100_000)}
        session.run(y, feed)
        walls = []
        with tf.profile(session) as recording:
            for _ in range(2):
                begin = time.perf_counter()
                session.run(y, feed)
                walls.append((time.perf_counter() - begin) * 1e6)
    for step, wall in zip(recording.steps, walls, strict=True):
        assert asleep * 1e6 < step.wall_us <= wall
        kernels = sorted((t.start_us, t.end_us) for t in step.times if t.kind == "kernel")
        gap = max(start - end for (_, end), (start, _) in itertools.pairwise(kernels))
        assert gap > 0.5 * asleep * 1e6  # the two clocks are compared from time to time, not always
        assert step.account.gaps_us >= gap


@pytest.mark.compiled
def test_recording_costs_little():
    """A recorded step makes at most 20 calls a kernel more than one that is not: what it costs, without a clock.

    `python -m benchmarks.recording` measures the time.
    """
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 20])
        hidden = tf.layers.dense(tf.layers.dense(x, 16, activation=tf.nn.relu), 12, activation=tf.nn.relu)
        loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 10)))
        fetches = [tf.train.AdagradOptimizer(0.01).minimize(loss), loss]
        feed = {x: np.ones((30, 20), np.float32)}
        session.run(tf.global_variables_initializer())

        def calls(recording):
            """How many Python and C functions the step calls on this thread, which runs all of it."""
            events = []
            with contextlib.nullcontext() if recording is None else session.recorded(recording):
                sys.setprofile(lambda _frame, event, _argument: events.append(event))
                try:
                    session.run(fetches, feed)
                finally:
                    sys.setprofile(None)
            return events.count("call") + events.count("c_call")

        for _ in range(3):
            calls(None), calls(Recording())
        recording = Recording()
        more = calls(recording) - calls(None)
    kernels = sum(t.kind == "kernel" for t in recording.steps[0].times)
    assert kernels > 5 and 0 < more <= 20 * kernels


def test_account_adds_up_what_it_is_given():
    def at(kind, start, end):
        return NodeStats("n", "Op", "d", start, end, kind=kind)

    found = account([at("kernel", 10, 30), at("kernel", 20, 40), at("host", 35, 60), at("launch", 0, 5)], 100)
    assert (found.kernels_us, found.gaps_us, found.host_us, found.launch_us, found.other_us) == (30, 70, 20, 5, 45)
    beyond = account([at("kernel", 50, 130)], 100)  # clocks that disagree do not add up
    assert beyond.kernels_us + beyond.gaps_us > 105


def test_a_waiting_dequeue_says_what_for_and_who_woke_it():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(2, [tf.float32], [[]], name="q")
        put, taken = queue.enqueue(3.0), queue.dequeue() * 2.0
        for fetch in (put, taken):
            session.run(fetch)
        with tf.profile(session) as recording:

            def feed():
                until_in_line(session, "Dequeue")
                time.sleep(0.15)
                session.run(put)

            late = threading.Thread(target=feed, name="feeder")
            late.start()
            assert session.run(taken) == 6.0
            late.join()
    events = [t for s in recording.steps for t in s.times]
    (wait,) = (t for t in events if t.kind == "wait" and t.op == "QueueDequeueV2")
    assert wait.took_us > 100_000 and wait.woken_by == "feeder"
    assert "'q'" in wait.detail and "waits for an element" in wait.detail
    (enqueue,) = (t for t in events if t.op == "QueueEnqueueV2")
    assert (enqueue.kind, enqueue.lane) == ("host", "feeder")


def test_the_decisions_of_the_propagator_are_recorded():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        y = tf.cond(x > 0.0, lambda: x + 1.0, lambda: x - 1.0)
        with tf.profile(session) as recording:
            session.run(y, {x: 1.0})
    assert any(t.kind == "schedule" for s in recording.steps for t in s.times)


def test_only_one_recording_at_a_time_and_only_of_sessions():
    with tf.Graph().as_default(), pytest.raises(tf.errors.FailedPreconditionError, match="no session"), tf.profile():
        pass
    with tf.Graph().as_default(), tf.Session() as session, tf.profile():
        with pytest.raises(tf.errors.FailedPreconditionError, match="already"), tf.profile(session):
            pass
        assert session._worker.recording is not None
    with pytest.raises(Exception, match=r"needed a tf\.Session, got int"), tf.profile(3):
        pass


def test_a_full_recording_counts_what_it_drops():
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.constant(1.0) + tf.placeholder_with_default(2.0, [])
        with tf.profile(session, limit=5) as recording:
            for _ in range(20):
                session.run(y)
    assert 1 <= len(recording) < 20 and len(recording) + recording.dropped == 20
    assert f"{recording.dropped} more were dropped" in repr(recording)
    assert repr(Recording()) == "<Recording: no steps yet>"


def traced():
    metadata = tf.RunMetadata()
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 40], name="x")
        y = tf.reduce_sum(tf.tanh(tf.matmul(x, tf.ones([40, 30]), name="product")), name="sum")
        y = tf.py_func(lambda v: v + 1, [y], tf.float32, name="python")
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(y, {x: np.ones((8, 40))}, options=options, run_metadata=metadata)
    return metadata


def test_metadata_and_tensorflows_message():
    metadata = traced()
    again = tf.RunMetadata.FromString(metadata.SerializeToString())
    assert len(again.step_stats) == len(metadata.step_stats)
    for a, b in zip(again.step_stats, metadata.step_stats, strict=True):
        assert (a.start_us, a.end_us) == pytest.approx((b.start_us, b.end_us), abs=2e-3)
        assert {**vars(a), "start_us": 0, "end_us": 0} == {**vars(b), "start_us": 0, "end_us": 0}
    by_device = {d.device: d for d in metadata.step_stats.dev_stats}
    device = "/job:localhost/replica:0/task:0/device:CPU:0"
    assert set(by_device) == {device, "host"}
    ran = {n.node_name for n in by_device[device].node_stats}
    assert {"product", "sum", "python"} <= ran
    with pytest.raises(tf.errors.InvalidArgumentError, match="RunMetadata"):
        tf.RunMetadata.FromString(b"\xff\xff")


def test_tensorflows_own_stats_are_read():
    from tensorboard.compat.proto.config_pb2 import RunMetadata

    message = RunMetadata()
    device = message.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0")
    device.node_stats.add(
        node_name="a",
        all_start_micros=1_600_000_000_000_000,
        op_end_rel_micros=7,
        all_end_rel_micros=9,
        timeline_label="a = MatMul(b, c)",
        thread_id=3,
    )
    device.node_stats.add(
        node_name="d",
        all_start_micros=1_600_000_000_000_012,
        all_end_rel_micros=2,
        timeline_label='d = Add() tfnb{"nodes": "many"}',
    )
    a, d = tf.RunMetadata.from_proto(message).step_stats
    assert (a.name, a.op, a.start_us, a.end_us, a.nodes, a.lane) == ("a", "MatMul", 0, 9, ("a",), "thread 3")
    assert (d.name, d.op, d.start_us, d.end_us) == ("d", "Add", 12, 14)


def test_timeline_as_in_tensorflow():
    from tfnb.python.client import timeline

    metadata = traced()
    text = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
    trace = json.loads(text)["traceEvents"]
    ran = [e for e in trace if e["ph"] == "X"]
    assert len(ran) == len(metadata.step_stats)
    assert {"PyFunc"} <= {e["name"] for e in ran}
    names = {e["args"]["name"] for e in trace if e["ph"] == "M"}
    assert {"host", "MainThread"} <= names
    of_message = json.loads(timeline.Timeline(metadata.to_proto().step_stats).generate_chrome_trace_format())
    assert len(of_message["traceEvents"]) == len(trace)
    with pytest.raises(tf.errors.InvalidArgumentError, match="step statistics"):
        timeline.Timeline([1, 2])


@pytest.mark.one_process("it looks at clusters of this process")
def test_a_compilation_names_its_shapes_and_is_counted():
    with tf.Graph().as_default(), tf.Session() as session:
        x, n = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32, [2])
        w = tf.Variable(tf.ones([4, 2]), name="weights")
        session.run(w.initializer)
        y = tf.reshape(tf.matmul(x, w), n)

        def counters():
            return {c.name: (c.misses, c.hits) for c in session.list_caches()}

        before = counters()
        details = []
        for rows in (3, 3, 5):
            with tf.profile(session) as recording:
                session.run(y, {x: np.ones([rows, 4], np.float32), n: [2, rows]})
            details.append([t.detail for t in recording.steps[0].times if t.detail.startswith("compiled for")])
        assert details[:2] == [["compiled for float32[3, 4], int32[2] = [2, 3], weights[4, 2]"], []]
        assert all("float32[5, 4]" in text for text in details[2])
        after = counters()
        assert after["requests"] == (before["requests"][0] + 1, before["requests"][1] + 2)
        assert after["compiled steps"] == (before["compiled steps"][0] + 1, before["compiled steps"][1])
        runs = sum(after["programs of clusters"]) - sum(before["programs of clusters"])
        assert runs == 3, "each run finds its program or compiles it"
        seconds = {c.name: c.seconds for c in session.list_caches()}
        assert seconds["programs of clusters"] > 0 and seconds["compiled steps"] > 0
        assert {"generated programs", "library programs"} <= set(seconds)

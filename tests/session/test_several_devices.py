"""Steps that run on several devices at once: errors, waiting, cancellation, transfers, what is left behind."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest
from waiting import until_in_line

import tfnb as tf
from tfnb.devices.opencl.device import OpenCLDevice, _library
from tfnb.devices.opencl.platforms import units
from tfnb.errors import (
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
)
from tfnb.ir.opdef import Kind
from tfnb.session import local

pytestmark = pytest.mark.opencl


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as s:
        yield s


def on(i):
    return tf.device(f"/cpu:{i}")


def python(function, *inputs, dtype=tf.float32):
    """A Python function of a static shape."""
    found = tf.py_func(function, list(inputs), dtype)
    found.set_shape([])
    return found


def test_the_first_error_ends_the_step_on_all_devices(sess):
    came = []

    def fails():
        raise ValueError("this one")

    with on(1):
        bad = python(fails)
    with on(2):
        later = python(lambda x: came.append(x) or x, bad * 2.0)
    with on(0):
        end = later + 1.0
    for _ in range(3):
        with pytest.raises(InvalidArgumentError, match="this one") as caught:
            sess.run(end)
        assert caught.value.op is not None and caught.value.op.device.endswith("CPU:1")
    assert not came
    assert sess.run(tf.constant(1.0) + 1.0) == 2.0


def test_a_variable_without_a_value_on_another_device(sess):
    with on(2):
        v = tf.Variable([1.0], name="v")
    with on(1):
        y = v * 2.0
    with pytest.raises(FailedPreconditionError, match="uninitialized value v"):
        sess.run(y)
    sess.run(v.initializer)
    assert sess.run(y).tolist() == [2.0]


def test_a_queue_on_one_device_and_its_users_on_others(sess):
    with on(1):
        q = tf.FIFOQueue(1, tf.float32, shapes=[()])
        put = q.enqueue(tf.placeholder(tf.float32, [], name="x"))
        taken = q.dequeue()
    with on(2):
        y = taken * 10.0
    assert sess.run([y, put], {"x:0": 4.0}) == [40.0, None]


def test_a_deadline_says_what_waits_on_which_device(sess):
    with on(1):
        queue = tf.FIFOQueue(1, tf.float32, shapes=[()], name="q")
        put, taken = queue.enqueue(1.0), queue.dequeue(name="taken")
    with on(2):
        y = tf.multiply(taken, 2.0, name="y")
    sess.run(put)
    assert sess.run(y) == 2.0  # it is compiled
    with pytest.raises(DeadlineExceededError) as caught:
        sess.run(y, options=tf.RunOptions(timeout_in_ms=1000))
    text = str(caught.value)
    assert "'taken'" in text and "device:CPU:2:" in text and "waits for 'taken:0<-CPU:1'" in text
    z = tf.constant(1.0) + 1.0
    assert sess.run(z) == 2.0


def test_closing_the_session_ends_a_step_that_waits():
    with tf.Graph().as_default():
        s = tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))
        with on(1):
            taken = tf.FIFOQueue(1, tf.float32, shapes=[()]).dequeue()
        with on(0):
            y = taken * 2.0
        found = []

        def run():
            try:
                s.run(y)
            except CancelledError as e:
                found.append(e)

        thread = threading.Thread(target=run)
        thread.start()
        until_in_line(s, "Dequeue")
        s.close()
        thread.join(10)
        assert not thread.is_alive() and len(found) == 1


def test_many_threads_and_no_thread_left(sess):
    before = {t.name for t in threading.enumerate()}
    with on(1):
        x = tf.placeholder(tf.float32, [], name="x") * 2.0
    _, y = tf.while_loop(lambda i, y: i < 5, lambda i, y: [i + 1, _step(y, x)], [0, 0.0])
    errors = []

    def run(k):
        for n in range(10):
            got = sess.run(y, {"x:0": float(k + n)})
            if got != 10.0 * (k + n):
                errors.append((k, n, got))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert {t.name for t in threading.enumerate()} <= before


def _step(y, x):
    with on(2):
        return y + x


def test_partial_runs_across_devices(sess):
    with on(1):
        a = tf.placeholder(tf.float32, [])
        x = a * 2.0
    with on(2):
        b = tf.placeholder(tf.float32, [])
        y = x + b
    handle = sess.partial_run_setup([x, y], [a, b])
    assert sess.partial_run(handle, x, {a: 3.0}) == 6.0
    assert sess.partial_run(handle, y, {b: 4.0}) == 10.0


def test_a_fetch_on_an_untaken_branch_and_one_on_a_taken(sess):
    flag = tf.placeholder(tf.bool, [], name="flag")
    with on(1):
        y = tf.cond(flag, lambda: _double(tf.constant(2.0)), lambda: tf.constant(0.0) + 1.0)
    assert sess.run(y, {flag: True}) == 4.0 and sess.run(y, {flag: False}) == 1.0


def _double(x):
    with on(2):
        return x * tf.random_uniform([], 2.0, 2.0)


def test_feeds_without_fetches():
    """Nothing is left to run on any of the devices."""
    options = tf.GraphOptions(placement="random:1")
    config = tf.ConfigProto(device_count={"CPU": 3}, graph_options=options)
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        inputs = [tf.placeholder(tf.float32, [2]) for _ in range(3)]
        assert sess.run([], {x: [1.0, 2.0] for x in inputs}) == []


def test_training_is_the_same_as_on_one_device():
    rng = np.random.default_rng(0)
    xs, ys = rng.normal(size=(64, 8)).astype(np.float32), rng.normal(size=(64, 1)).astype(np.float32)

    def losses(n):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            with on(1 % n):
                w = tf.Variable(tf.random_normal([8, 16], stddev=0.3, seed=3))
                hidden = tf.tanh(tf.constant(xs) @ w)
            with on(2 % n):
                v = tf.Variable(tf.random_normal([16, 1], stddev=0.3, seed=4))
                loss = tf.reduce_mean(tf.square(hidden @ v - ys))
            train = tf.train.AdamOptimizer(0.05).minimize(loss, colocate_gradients_with_ops=True)
            with tf.Session(config=tf.ConfigProto(device_count={"CPU": n})) as s:
                s.run(tf.global_variables_initializer())
                return [s.run([train, loss])[1] for _ in range(20)]

    one = losses(1)
    assert one[-1] < 0.5 * one[0]
    np.testing.assert_allclose(losses(3), one, rtol=2e-5)
    np.testing.assert_allclose(losses(2), one, rtol=2e-5)


# ---- a device with memory of its own -------------------------------------------------------------


@pytest.fixture
def with_own_memory(monkeypatch):
    """A CPU, and beside it one that hides its memory from the host, as a GPU does."""

    def make(settings, *_, **__):
        settings = dataclasses.replace(settings, quiet=True)
        unit = units(settings)[0]
        prefix = "/job:localhost/replica:0/task:0/device"
        plain = OpenCLDevice(f"{prefix}:CPU:0", unit, _library(unit, settings))
        apart = OpenCLDevice(f"{prefix}:GPU:0", unit, _library(unit, settings), shared=False)
        apart.facts = dataclasses.replace(apart.facts, kind="gpu")
        return [plain, apart]

    monkeypatch.setattr(local.opencl, "make_devices", make)


def test_values_go_to_a_device_with_its_own_memory_once(with_own_memory):
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            x = tf.placeholder(tf.float32, [1000], name="x") + 1.0
        with tf.device("/gpu:0"):
            v = tf.Variable(tf.ones([1000]), name="v")
            y = tf.tanh(x) + v
            more = v.assign_add(x)
        with tf.device("/cpu:0"):
            total = tf.reduce_sum(y)
        value = np.linspace(0, 1, 1000, dtype=np.float32)
        with tf.Session() as s:
            s.run(v.initializer)
            metadata = tf.RunMetadata()
            got, _ = s.run([total, more], {"x:0": value}, tf.RunOptions(trace_level=1), metadata)
            np.testing.assert_allclose(s.run(v), value + 2, rtol=1e-6)
    moved = [t.name for t in metadata.step_stats if t.lane == "transfer"]
    assert sorted(n.rpartition(": ")[2] for n in moved) == ["CPU:0 to GPU:0", "GPU:0 to CPU:0"]
    np.testing.assert_allclose(got, np.sum(np.tanh(value + 1)) + 1000, rtol=1e-5)


def test_late_recvs_save_memory(with_own_memory):
    """Eight values are there long before the slow chain that reads them one by one."""
    n = 300
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            start = tf.placeholder(tf.float32, [n, n], name="x")
            many = [tf.identity(start + float(k)) for k in range(8)]
        with tf.device("/gpu:0"):
            x = start
            for value in many:
                x = tf.tanh(_on_host(tf.sin(tf.cos(tf.sqrt(tf.abs(x)))))) + value
            end = tf.reduce_sum(x)
        peaks, results = [], []
        for late in (False, True):
            options = tf.GraphOptions(enable_recv_scheduling=late)
            with tf.Session(config=tf.ConfigProto(graph_options=options, allow_soft_placement=True)) as s:
                metadata = tf.RunMetadata()
                results.append(s.run(end, {"x:0": np.full((n, n), 1e-2, np.float32)}, None, metadata))
                gpu = s.compile_context.devices["/job:localhost/replica:0/task:0/device:GPU:0"]
                peaks.append(gpu.memory_stats().peak)
            graphs = [g for name, g in metadata.passes if name == "partition"]
            recvs = [r for g in graphs for r in g.nodes.values() if r.opdef.kind is Kind.RECV]
            assert any(r.control for r in recvs) == late
    assert results[0] == results[1]
    assert peaks[1] < peaks[0] - 4 * 4 * n * n


def _on_host(x):
    """The chain in pieces: what a host kernel makes stands on a level of its own."""
    found = tf.py_func(lambda a: a, [x], tf.float32)
    found.set_shape(x.shape)
    return found


# ---- the null device -----------------------------------------------------------------------------


def test_the_null_device_measures_the_runtime():
    with tf.Graph().as_default():
        with tf.device("/device:NULL:0"):
            x = tf.placeholder(tf.float32, [3], name="x")
            y = tf.exp(x) + 5.0
        with tf.device("/cpu:0"):
            z = y + 1.0
        with tf.Session(config=tf.ConfigProto(device_count={"GPU": 0, "NULL": 2})) as s:
            assert [d.device_type for d in s.list_devices()] == ["CPU", "NULL", "NULL"]
            assert s.run([y, z], {"x:0": [1.0, 2.0, 3.0]})[1].tolist() == [1.0] * 3
        with tf.device("/device:NULL:0"):
            alone = tf.exp(x) * 2.0
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 0, "NULL": 1}, allow_soft_placement=True)) as s:
            assert s.run(alone, {"x:0": [1.0, 2.0, 3.0]}).tolist() == [0.0] * 3

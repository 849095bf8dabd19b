"""Sessions on the workers of a real Dask cluster: values, state, errors, lost workers, closing."""

import os
import signal
import threading

import numpy as np
import pytest
from waiting import until

import tfnb as tf
from tfnb.errors import (
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnavailableError,
)

pytestmark = pytest.mark.opencl
SERVER = "/job:ps/replica:0/task:0"


@pytest.fixture(scope="module")
def cluster(dask):
    with tf.train.DaskCluster(dask, ps=1, worker=2) as found:
        yield found


@pytest.fixture(autouse=True)
def anew(cluster):
    """Variables of one name are one variable, also for the next test."""
    yield
    tf.Session.reset(cluster.target)


def server_device():
    return tf.device("/job:ps/task:0")


def worker_device(i=0):
    return tf.device(f"/job:worker/task:{i}")


def test_state_on_one_task_and_arithmetic_on_another(cluster):
    with server_device():
        w = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2))
    x = tf.placeholder(tf.float32, [2])
    with worker_device(1):
        delta = tf.ones([3, 1]) * x
    update = w.assign_add(delta)
    with tf.Session(cluster.target) as sess:
        sess.run(w.initializer)
        for _ in range(3):
            got = sess.run([update, delta, w.op], {x: [1, 2]})
        np.testing.assert_array_equal(got[0], np.arange(6).reshape(3, 2) + 3 * np.array([1, 2]))
        np.testing.assert_array_equal(got[1], [[1, 2]] * 3)
    with tf.Session(cluster.target) as other:  # variables outlive the session
        np.testing.assert_array_equal(other.run(w), got[0])


def test_training_equals_one_device(cluster):
    def build(devices):
        rng = np.random.RandomState(3)
        with tf.device(devices[0]):
            w1 = tf.Variable(rng.randn(8, 5).astype(np.float32))
            w2 = tf.Variable(rng.randn(5, 3).astype(np.float32))
        x, y = tf.placeholder(tf.float32, [None, 8]), tf.placeholder(tf.int64, [None])
        with tf.device(devices[1]):
            hidden = tf.nn.relu(tf.matmul(x, w1))
        with tf.device(devices[2]):
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=tf.matmul(hidden, w2))
            )
        return x, y, loss, tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)

    data, labels = np.random.RandomState(5).randn(16, 8), np.arange(16) % 3
    curves = []
    for target in ("", cluster.target):
        with tf.Graph().as_default():
            devices = ("/job:ps", "/job:worker/task:0", "/job:worker/task:1") if target else (None,) * 3
            x, y, loss, step = build(devices)
            with tf.Session(target) as sess:
                sess.run(tf.global_variables_initializer())
                curves.append([sess.run([loss, step], {x: data, y: labels})[0] for _ in range(8)])
    np.testing.assert_allclose(curves[0], curves[1], rtol=1e-6)
    assert curves[0][-1] < curves[0][0]


def test_a_loop_over_two_tasks(cluster):
    with worker_device(0):
        i, total = tf.constant(0), tf.constant(0.0)

    def body(i, total):
        with worker_device(1):
            grown = total + tf.cast(i, tf.float32)
        return i + 1, grown

    result = tf.while_loop(lambda i, total: i < 10, body, [i, total])
    with tf.Session(cluster.target) as sess:
        assert sess.run(result) == (10, 45.0) or sess.run(result) == [10, 45.0]


def test_python_functions_run_in_this_process(cluster):
    calls = []

    def double(v):
        calls.append(os.getpid())
        return v * np.float32(2)

    with worker_device(1):
        y = tf.py_func(double, [tf.constant([1.0, 2.0])], tf.float32) + 1.0
    with tf.Session(cluster.target) as sess:
        np.testing.assert_array_equal(sess.run(y), [3, 5])
    assert calls == [os.getpid()]


def test_a_data_set_here_feeds_a_task(cluster):
    data = tf.data.Dataset.range(5).map(lambda i: i * i)
    item = data.make_one_shot_iterator().get_next()
    with worker_device(1):
        more = item + 100
    with tf.Session(cluster.target) as sess:
        assert [sess.run(more) for _ in range(5)] == [100, 101, 104, 109, 116]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(more)


def test_errors_name_the_node_the_line_and_the_task(cluster):
    with worker_device(1):
        bad = tf.check_numerics(tf.log(tf.constant([-1.0])), "no logarithm", name="checked")
    with worker_device(0):
        other = bad + 1.0
    with tf.Session(cluster.target) as sess:
        with pytest.raises(InvalidArgumentError) as raised:
            sess.run(other)
        text = str(raised.value)
        assert "no logarithm" in text and "checked" in text and "test_cluster.py" in text
        assert sess.run(tf.constant(1) + 1) == 2


def test_steps_of_many_threads(cluster):
    with server_device():
        v = tf.Variable(0, dtype=tf.int64)
    x = tf.placeholder(tf.int64, [])
    with worker_device(1):
        square = x * x
    add = v.assign_add(1)
    with tf.Session(cluster.target) as sess:
        sess.run(v.initializer)
        wrong = []

        def work(t):
            for i in range(15):
                if sess.run([square, add.op], {x: t * 100 + i})[0] != (t * 100 + i) ** 2:
                    wrong.append((t, i))

        threads = [threading.Thread(target=work, args=(t,)) for t in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert not wrong
        assert sess.run(v) == 120


def test_a_timeout_and_the_close_of_a_session_wake_a_step(cluster):
    with server_device():
        blocked = tf.FIFOQueue(3, tf.float32).dequeue()
    sess = tf.Session(cluster.target)
    with pytest.raises(DeadlineExceededError, match=r"not done within 0\.3 s"):
        sess.run(blocked, options=tf.RunOptions(timeout_in_ms=300))

    def close():
        until(lambda: sess._worker._running)
        until(lambda: sess._worker.membership.call(SERVER, "status")["running"])
        sess.close()

    closing = threading.Thread(target=close)
    closing.start()
    with pytest.raises(CancelledError, match="session was closed"):
        sess.run(blocked)
    closing.join()


def test_a_queue_between_tasks(cluster):
    with server_device():
        queue = tf.FIFOQueue(10, tf.float32, [[2]])
    with worker_device(0):
        put = queue.enqueue(tf.constant([1.0, 2.0]))
    with worker_device(1):
        got = queue.dequeue() * 10.0
    with tf.Session(cluster.target) as sess:

        def put_later():
            until(lambda: sess._worker.membership.call(SERVER, "status")["running"])
            sess.run(put)

        putting = threading.Thread(target=put_later)
        putting.start()
        np.testing.assert_array_equal(sess.run(got), [10, 20])
        putting.join()


def test_large_tensors_cross(cluster):
    with server_device():
        big = tf.fill([3_000_000], 2.0)
    with worker_device(0):
        total = tf.reduce_sum(big)
    with tf.Session(cluster.target) as sess:
        assert sess.run(total) == 6e6
        np.testing.assert_array_equal(sess.run(big)[::1000], np.full(3000, 2.0))


def test_a_session_with_variables_of_its_own(cluster):
    with worker_device():
        v = tf.Variable(1.0, name="own")
        add = tf.assign_add(v, 1.0)
    y = tf.py_func(lambda a: a * 10, [v], tf.float32)
    with (
        tf.Session(cluster.target) as shared,
        tf.Session(cluster.target, config=tf.ConfigProto(isolate_session_state=True)) as isolated,
    ):
        for session in (shared, isolated):
            session.run(v.initializer)
        assert [isolated.run(add), isolated.run(add), isolated.run(y)] == [2.0, 3.0, 30.0]
        assert shared.run(v) == 1.0
    with pytest.raises(InvalidArgumentError, match="the tasks of a DaskCluster are its workers"):
        tf.Session(
            cluster.target, config=tf.ConfigProto(cluster_def=tf.train.ClusterSpec({"a": ["b:1"]}).as_cluster_def())
        )


def test_a_killed_worker_is_noticed_and_replaced(dask, cluster):
    with server_device():
        v = tf.Variable(5.0)
    read = v + 0.0
    with tf.Session(cluster.target) as sess:
        sess.run(v.initializer)
        [pid] = dask.run(os.getpid, workers=[cluster.roles["/job:ps/replica:0/task:0"]]).values()
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(OpError) as raised:
            until(lambda: sess.run(read) is None)  # the first runs may be done before the worker is gone
        assert isinstance(raised.value, UnavailableError), raised.value
        sess.run(v.initializer)
        assert sess.run(read) == 5.0
    assert len(set(cluster.roles.values())) == 3


def test_more_tasks_than_workers(dask):
    with pytest.raises(ResourceExhaustedError, match="99 tasks need as many Dask workers"):
        tf.train.DaskCluster(dask, worker=99)
    with pytest.raises(InvalidArgumentError, match="jobs with a number"):
        tf.train.DaskCluster(dask)

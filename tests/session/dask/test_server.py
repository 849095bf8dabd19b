"""One process per task, as scripts of 2016 start them."""

import asyncio
import contextlib
import socket
import threading
import time
import types

import numpy as np
import pytest
from waiting import until

import tfnb as tf
from tfnb.errors import (
    AbortedError,
    ClosedSessionError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
    UnknownError,
)
from tfnb.session.dask.membership import membership
from tfnb.session.dask.server import withdraw

pytestmark = pytest.mark.opencl


def test_a_local_server():
    before = set(threading.enumerate())
    with tf.train.Server.create_local_server() as server:
        assert server.target.startswith("grpc://localhost:")
        with tf.Session(server.target) as sess:
            assert sess.run(tf.constant(2.0) * 3.0) == 6.0
            assert [d.name for d in sess.list_devices()] == ["/job:local/replica:0/task:0/device:CPU:0"]
    with pytest.raises(ClosedSessionError):
        sess.run(tf.constant(1))
    assert not [t for t in set(threading.enumerate()) - before if t.name.startswith("tfnb")]


def test_between_graph_training_with_two_workers(addresses, serve):
    ps, one, two = addresses(3)
    cluster = {"ps": [ps], "worker": [one, two]}
    serve(cluster, "ps", 0)
    servers = []

    def work(i, found):
        with tf.Graph().as_default():
            setter = tf.train.replica_device_setter(cluster=cluster, worker_device=f"/job:worker/task:{i}")
            with tf.device(setter):
                w = tf.get_variable("w", [4], initializer=tf.zeros_initializer())
                count = tf.get_variable("count", [], tf.int32, tf.zeros_initializer(), trainable=False)
                loss = tf.reduce_sum(tf.square(w - [1.0, 2.0, 3.0, 4.0]))
                step = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
                done = tf.assign_add(count, 1)
            with tf.Session(servers[i].target) as sess:
                if i == 0:
                    sess.run(tf.global_variables_initializer())
                while len(sess.run(tf.report_uninitialized_variables())):
                    time.sleep(0.05)
                for _ in range(80):  # so many that a gradient of the start, added late, is undone
                    sess.run(step)
                sess.run(done)
                while sess.run(count) < 2:  # a worker may not leave while the other trains
                    time.sleep(0.02)
                found[i] = sess.run(w)

    found = {}
    threads = [threading.Thread(target=work, args=(i, found)) for i in range(2)]
    with contextlib.ExitStack() as ends:
        for i in range(2):
            servers.append(ends.enter_context(tf.train.Server(cluster, "worker", i)))
        [t.start() for t in threads]
        [t.join(60) for t in threads]
    np.testing.assert_allclose(found[0], [1, 2, 3, 4], rtol=1e-3)
    np.testing.assert_array_equal(found[0], found[1])  # one variable for both


def test_a_client_that_is_no_task(addresses, serve):
    [address] = addresses(1)
    serve({"worker": [address]}, "worker", 0, wait=True)
    with tf.Session(f"grpc://{address}") as sess:
        c = tf.constant([1.0, 2.0]) * tf.placeholder_with_default(2.0, [])
        np.testing.assert_array_equal(sess.run(c), [2, 4])
        names = {d.name for d in sess.list_devices()}
    assert names == {"/job:client/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0"}


def test_a_client_runs_its_python_functions(addresses, serve):
    (address,) = addresses(1)
    serve({"local": [address]}, "local", 0, wait=True)
    y = tf.py_func(lambda a: a + 1, [tf.constant(1.0)], tf.float32)
    with tf.Session(f"grpc://{address}") as sess:
        assert sess.run(y * 2.0) == 4.0


def test_a_variable_of_unknown_shape_without_a_value_elsewhere(addresses, serve):
    (address,) = addresses(1)
    serve({"local": [address]}, "local", 0, wait=True)
    v = tf.Variable(tf.placeholder(tf.int32), validate_shape=False, name="v")
    with tf.Session(f"grpc://{address}") as sess, pytest.raises(FailedPreconditionError, match="uninitialized value v"):
        sess.run(v)


def test_targets_that_lead_nowhere(addresses):
    with pytest.raises(UnavailableError, match="cannot be reached"):
        tf.Session(f"grpc://{addresses(1)[0]}")
    with pytest.raises(NotFoundError, match="not understood"):
        tf.Session("nowhere")
    with pytest.raises(InvalidArgumentError, match="no address"):
        tf.Session("grpc://x")


def test_which_task_this_is():
    with pytest.raises(NotFoundError, match="task_index=3"):
        tf.train.Server({"ps": ["localhost:0"]}, "ps", 3)
    with pytest.raises(NotFoundError, match="name 2 tasks"):
        tf.train.Server({"ps": ["localhost:0", "localhost:1"]})


def test_nothing_listens_beyond_loopback_without_keys():
    with pytest.raises(PermissionDeniedError, match="TLS"):
        tf.train.Server({"ps": ["0.0.0.0:0"]})


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no loopback of IPv6")
def test_addresses_of_ipv6(serve):
    with tf.train.Server(tf.train.ClusterSpec({"worker": ["[::1]:0"]})) as server:
        assert server.target.startswith("grpc://[::1]:") and not server.target.endswith(":0")
        with tf.Session(server.target) as sess:
            assert sess.run(tf.constant(2) * 3) == 6
        withdraw(server.target)  # from here on it is a server somewhere else
        with tf.Session(server.target) as sess:
            assert sess.run(tf.constant(2) * 4) == 8
    with pytest.raises(PermissionDeniedError, match="TLS"):
        tf.train.Server({"ps": ["[::]:0"]})
    with pytest.raises(InvalidArgumentError, match=r"'::1:2222' is no address with a port, like .*'\[::1\]:2222'"):
        tf.train.Server({"ps": ["::1:2222"]})


def test_a_session_is_closed_while_a_task_answers(addresses, monkeypatch):
    """Python 3.11 forgets that a task was cancelled when what it waits for ends at that moment."""
    wait_for, asked = asyncio.wait_for, threading.Event()

    async def forgetful(answer, seconds):
        found = await wait_for(answer, seconds)
        asked.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(5)
        return found

    cluster = {"worker": addresses(2)}
    servers = [tf.train.Server(cluster, "worker", i) for i in range(2)]
    sess = tf.Session(servers[0].target)
    monkeypatch.setattr(membership, "asyncio", types.SimpleNamespace(**{**vars(asyncio), "wait_for": forgetful}))
    assert asked.wait(60)
    closing = threading.Thread(target=sess.close)
    closing.start()
    closing.join(60)
    assert not closing.is_alive()
    for server in servers:
        server.close()


def test_a_host_that_is_not_known_is_named():
    spec = {"ps": ["nowhere.invalid:2222"], "worker": ["localhost:0"]}
    with pytest.raises(UnavailableError, match=r"the host 'nowhere\.invalid' is not known.*needed a name or address"):
        tf.train.Server(spec, "ps", 0)
    with tf.train.Server(spec, "worker", 0) as server:
        config = tf.ConfigProto(device_filters=["/job:worker/task:0"])
        with tf.Session(server.target, config=config) as sess:
            worker = sess._worker
            with pytest.raises(UnavailableError, match=r"the host 'nowhere\.invalid' is not known"):
                worker.membership.wait_for(["/job:ps/replica:0/task:0"], worker.number, 0.1)


def test_steps_from_before_a_reset_are_aborted():
    spec = {"job": ["localhost:0"]}
    with tf.train.Server(spec) as server:
        v = tf.Variable(1.0)
        with tf.container("other"):
            w = tf.Variable(2.0)
        with tf.Session(server.target) as old:
            old.run(tf.global_variables_initializer())
            assert old.run([v, w]) == [1.0, 2.0]
            tf.Session.reset(server.target, ["job"])
            with pytest.raises(AbortedError):
                old.run([v, w])
        with tf.Session(server.target) as new:
            assert new.run(w) == 2.0
            with pytest.raises(FailedPreconditionError):
                new.run(v)


def test_reset_ends_at_its_time_limit():
    with pytest.raises(DeadlineExceededError, match="the tasks of"):
        tf.Session.reset("grpc://localhost:0", config=tf.ConfigProto(operation_timeout_in_ms=5))
    # What was begun ends at the time limit too.
    until(lambda: all(t.name != "tfnb-within-deadline" for t in threading.enumerate()))


def test_two_servers_at_one_address():
    with tf.train.Server.create_local_server() as server:
        address = server.target.removeprefix("grpc://")
        for error in (UnknownError, OSError):
            with pytest.raises(error, match="cannot listen at"):
                tf.train.Server({"second": [address]})


def test_a_local_cluster_for_tests():
    workers, servers = tf.test.create_local_cluster(2, 1)
    try:
        assert [s.name for s in workers + servers] == [
            "/job:worker/replica:0/task:0",
            "/job:worker/replica:0/task:1",
            "/job:ps/replica:0/task:0",
        ]
        with tf.Graph().as_default():
            with tf.device("/job:ps"):
                v = tf.Variable(2.0)
            with tf.device("/job:worker/task:1"):
                y = v * 3.0
            with tf.Session(workers[0].target) as sess:
                sess.run(tf.global_variables_initializer())
                assert sess.run(y) == 6.0
    finally:
        for server in workers + servers:
            server.close()


def test_a_local_cluster_without_parameter_servers():
    workers, servers = tf.test.create_local_cluster(1, 0)
    assert len(workers) == 1 and servers == []
    workers[0].close()


def test_a_session_without_a_configuration_has_that_of_its_server():
    with tf.train.Server.create_local_server(config=tf.ConfigProto(operation_timeout_in_ms=300)) as server:
        empty = tf.FIFOQueue(1, tf.float32).dequeue()
        with tf.Session(server.target) as sess, pytest.raises(DeadlineExceededError):
            sess.run(empty)

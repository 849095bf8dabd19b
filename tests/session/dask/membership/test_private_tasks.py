"""Tasks of one session: ConfigProto.cluster_def and isolate_session_state."""

import threading
import time

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import AbortedError, FailedPreconditionError, InvalidArgumentError, UnavailableError
from tfnb.session.dask.membership import rpc_service

pytestmark = pytest.mark.opencl


@pytest.fixture
def servers():
    made = []

    def make(count):
        made.extend(tf.train.Server.create_local_server() for _ in range(count))
        return made[-count:]

    yield make
    for server in made:
        server.close()


def cluster_of(job, *servers):
    jobs = {job: [server.target.removeprefix("grpc://") for server in servers]}
    return tf.ConfigProto(cluster_def=tf.train.ClusterSpec(jobs).as_cluster_def())


def task_threads():
    return [t.name for t in threading.enumerate() if t.name.startswith("tfnb")]


def test_the_tasks_of_a_cluster_def(servers):
    one, two, three = servers(3)
    with tf.device("/job:renamed/task:0"):
        x = tf.placeholder(tf.float32, [2])
        a = x * 2.0
    with tf.device("/job:renamed/task:1/cpu:0"):
        b = a + 1.0
    # The session's target is no task of its cluster.
    with tf.Session(three.target, config=cluster_of("renamed", one, two)) as session:
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        found = session.run(b, {x: [1.0, 2.0]}, options, metadata)
        np.testing.assert_array_equal(found, [3, 5])
        devices = {stats.device for stats in metadata.step_stats.dev_stats}
        assert {f"/job:renamed/replica:0/task:{i}/device:CPU:0" for i in range(2)} <= devices
        names = [d.name for d in session.list_devices()]
        assert "/job:renamed/replica:0/task:1/device:CPU:0" in names and not any("/job:local" in n for n in names)


def test_sessions_with_different_clusters_share_no_variables(servers):
    master, one, two = servers(3)
    with tf.device("/job:worker/task:1"):
        v = tf.Variable([0.0, 0.0], name="v")
        add = v.assign_add([1.0, 1.0])
    first = tf.Session(master.target, config=cluster_of("worker", master, one))
    second = tf.Session(master.target, config=cluster_of("worker", master, two))
    third = tf.Session(master.target, config=cluster_of("worker", master, one))
    with first, second, third:
        for session in (first, second):
            session.run(v.initializer)
        first.run(add)
        np.testing.assert_array_equal(first.run(add), [2, 2])
        np.testing.assert_array_equal(second.run(v), [0, 0])
        with pytest.raises(FailedPreconditionError):  # the same servers, but another session
            third.run(v)


def test_isolated_sessions(servers):
    (server,) = servers(1)
    value = tf.placeholder(tf.int32)
    v = tf.Variable(value, validate_shape=False, name="v")
    isolated = [tf.Session(server.target, config=tf.ConfigProto(isolate_session_state=True)) for _ in range(2)]
    shared = [tf.Session(server.target, config=tf.ConfigProto()) for _ in range(2)]
    shared[0].run(v.initializer, {value: 86})
    assert shared[1].run(v) == 86
    for session in isolated:
        with pytest.raises(FailedPreconditionError):
            session.run(v)
    isolated[0].run(v.initializer, {value: 37})
    isolated[1].run(v.initializer, {value: [19, 20]})
    isolated[0].close()
    assert shared[0].run(v) == 86
    np.testing.assert_array_equal(isolated[1].run(v), [19, 20])
    for session in (*isolated, *shared):
        session.close()


def test_a_session_isolated_from_a_cluster_that_another_process_reaches(servers):
    (server,) = servers(1)
    v = tf.Variable(1.0, name="v")
    other_name = server.target.replace("localhost", "127.0.0.1")  # this target is not known in this process
    with tf.Session(other_name, config=tf.ConfigProto(isolate_session_state=True)) as session:
        session.run(v.initializer)
        assert session.run(v) == 1.0
    with tf.Session(server.target) as session, pytest.raises(FailedPreconditionError):
        session.run(v)


def test_private_tasks_end_with_their_session(servers):
    (server,) = servers(1)
    before = task_threads()
    with tf.Session(server.target, config=cluster_of("worker", server)) as session:
        session.run(tf.constant(1.0))
        assert len(server._service._private) == 1
    end = time.monotonic() + 20
    while (server._service._private or len(task_threads()) > len(before)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not server._service._private and len(task_threads()) <= len(before)


def test_a_private_task_that_nobody_watches_is_closed(servers, monkeypatch):
    (server,) = servers(1)
    monkeypatch.setattr(rpc_service, "_UNWATCHED", 0.2)
    monkeypatch.setattr("tfnb.session.dask.membership.membership.Membership.wait_for", _refuse)
    monkeypatch.setattr("tfnb.session.dask.server.Master", _host_and_fail)
    with pytest.raises(UnavailableError, match="as it should"):
        tf.Session(server.target, config=cluster_of("worker", server))
    end = time.monotonic() + 20
    while server._service._private and time.monotonic() < end:
        time.sleep(0.05)
    assert not server._service._private


def _refuse(*_):
    raise UnavailableError("as it should")


def _host_and_fail(config, local_task, membership, tasks, *_):
    assert "#" in membership._locate(tasks[0], None)
    raise UnavailableError("as it should")


def test_a_server_closes_its_private_tasks(servers):
    one, two = servers(2)
    with tf.device("/job:worker/task:1"):
        v = tf.Variable(1.0, name="v")
    with tf.Session(one.target, config=cluster_of("worker", one, two)) as session:
        session.run(v.initializer)
        task = next(iter(two._service._private.values())).task
        two.close()
        assert task.steps.close() is None  # it was closed
        with pytest.raises((AbortedError, UnavailableError)):
            session.run(v)


def test_a_partial_run_over_private_tasks(servers):
    one, two = servers(2)
    with tf.device("/job:worker/task:0"):
        a = tf.placeholder(tf.float32, [])
    with tf.device("/job:worker/task:1"):
        b, c = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        first = a + b
    with tf.device("/job:worker/task:0"):
        second = first * c
    with tf.Session(one.target, config=cluster_of("worker", one, two)) as session:
        handle = session.partial_run_setup([first, second], [a, b, c])
        assert session.partial_run(handle, first, {a: 1, b: 2}) == 3
        assert session.partial_run(handle, second, {c: 3}) == 9


def test_what_is_refused(servers):
    (server,) = servers(1)
    with pytest.raises(InvalidArgumentError, match="needs a session on a server"):
        tf.Session(config=cluster_of("worker", server))
    with pytest.raises(InvalidArgumentError, match="no tasks"):
        tf.Session(server.target, config=tf.ConfigProto(cluster_def=tf.train.ClusterSpec({}).as_cluster_def()))
    with pytest.raises(InvalidArgumentError, match=r"is a tf.train.ClusterSpec or a dict of jobs, got str"):
        tf.Session(server.target, config=tf.ConfigProto(cluster_def="worker"))


def test_the_message_of_a_configuration(servers):
    (server,) = servers(1)
    config = cluster_of("worker", server)
    config.isolate_session_state = True
    with tf.train.Server.create_local_server(config=config) as other:
        message = other.server_def.default_session_config
        assert message.isolate_session_state and message.cluster_def.job[0].name == "worker"


def test_named_containers_of_private_tasks(servers):
    """A session of its own shares no container, also in a process that hosts several tasks."""
    (server,) = servers(1)
    with tf.container("named"):
        queue = tf.FIFOQueue(3, tf.int32, shared_name="queue")
    put, size = queue.enqueue(1), queue.size()
    with (
        tf.Session(server.target) as shared,
        tf.Session(server.target) as again,
        tf.Session(server.target, config=tf.ConfigProto(isolate_session_state=True)) as isolated,
    ):
        shared.run(put)
        assert [again.run(size), isolated.run(size)] == [1, 0]
        tf.Session.reset(server.target, ["named"])
        with pytest.raises(AbortedError):
            again.run(size)
    with tf.Session(server.target) as session:
        assert session.run(size) == 0

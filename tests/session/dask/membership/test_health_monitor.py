"""How the tasks of a real cluster are: what they hold and send; late and lost ones; looking changes nothing."""

import os
import signal
import time

import numpy as np
import pytest
from distributed import Client
from preloaded import local_cluster

import tfnb as tf
from tfnb.errors import ClosedSessionError, FailedPreconditionError
from tfnb.session.dask.membership.health_monitor import ALIVE, LATE, LOST

pytestmark = pytest.mark.opencl


def by_name(state):
    return {f"{t['job']} {t['index']}": t for t in state["tasks"]}


def until(monitor, true, seconds=60):
    """Polls until what the tasks say is true."""
    end = time.monotonic() + seconds
    while True:
        state = monitor.poll()
        if true(by_name(state)):
            return state
        assert time.monotonic() < end, state["tasks"]
        time.sleep(0.1)


def test_tasks_devices_and_who_sends_what(dask):
    with tf.train.DaskCluster(dask, ps=1, worker=2) as cluster, tf.Session(cluster.target) as sess:
        with tf.device("/job:ps/task:0"):
            w = tf.Variable(np.ones([100, 10], np.float32), name="w")
        sums = []
        for k in range(2):
            with tf.device(f"/job:worker/task:{k}"):
                sums.append(tf.reduce_sum(w * 2.0))
        sess.run(w.initializer)
        for _ in range(5):
            assert sess.run(sums) == [2000, 2000]
        for monitor in (cluster.cluster_status(), sess.cluster_status()):
            state = until(monitor, lambda tasks: {t["state"] for t in tasks.values()} == {ALIVE})
            tasks = by_name(state)
            assert list(tasks) == ["ps 0", "worker 0", "worker 1", "client 0"]
            assert (tasks["ps 0"]["variables"], tasks["ps 0"]["variable_bytes"]) == (1, 4000)
            ((name, size, shape),) = tasks["ps 0"]["largest"]
            assert (name, size, list(shape)) == ("w", 4000, [100, 10])
            assert tasks["worker 1"]["variables"] == 0 and tasks["worker 1"]["memory"] > 1 << 20
            assert tasks["ps 0"]["steps"] >= 6 and tasks["worker 0"]["steps"] == 5
            assert len({t["pid"] for t in tasks.values()}) == 4 and tasks["client 0"]["pid"] == os.getpid()
            devices = {d["task"]: d for d in state["devices"]}
            assert len(devices) == 4 and devices[tasks["ps 0"]["name"]]["in_use"] >= 4000
            sent = {(s["from"].split(":")[1].split("/")[0], s["to"]): s for s in state["sent"]}
            there = sent["ps", tasks["worker 1"]["name"]]
            assert there["steps"] == 5 and 20_000 <= there["bytes"] <= 21_000
            name, messages, size = there["tensors"][0]
            assert name.startswith("w") and (messages, size) == (5, 20_000)
            assert sent["client", tasks["ps 0"]["name"]]["messages"] >= 6
            monitor.close()
            with pytest.raises(ClosedSessionError):
                monitor.poll()
    assert cluster.cluster_status().dashboard.startswith("http")


def test_a_task_that_pauses_is_late_and_one_that_died_is_lost():
    with (
        local_cluster(2) as local,
        Client(local) as client,
        tf.train.DaskCluster(client, ps=1, worker=1) as cluster,
    ):
        monitor = cluster.cluster_status()
        roles = cluster.roles
        pids = {k: t["pid"] for k, t in by_name(monitor.poll()).items()}
        os.kill(pids["worker 0"], signal.SIGSTOP)
        try:
            state = until(monitor, lambda t: t["worker 0"]["state"] == LATE)
            late = by_name(state)["worker 0"]
            assert late["silent"] > 1.4 and late["pid"] == pids["worker 0"]  # what was known stays
        finally:
            os.kill(pids["worker 0"], signal.SIGCONT)
        until(monitor, lambda t: t["worker 0"]["state"] == ALIVE)
        os.kill(pids["ps 0"], signal.SIGKILL)
        state = until(monitor, lambda t: t["ps 0"]["state"] == LOST and t["worker 0"]["state"] == ALIVE)
        assert by_name(state)["ps 0"]["why"]
        assert cluster.roles == roles  # nobody was given a role by looking
        monitor.close()


def test_a_closed_cluster_says_so_and_a_local_session_has_none(dask):
    cluster = tf.train.DaskCluster(dask, worker=1)
    monitor = cluster.cluster_status()
    monitor.poll()
    cluster.close()
    with pytest.raises(ClosedSessionError, match="the cluster is closed"):
        monitor.poll()
    monitor.close()
    with tf.Session() as sess, pytest.raises(FailedPreconditionError, match="has no tasks"):
        sess.cluster_status()

"""Processes that die, pause or lose their scheduler; messages that come twice, or are none; who is not let in."""

import contextlib
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from distributed import Client, LocalCluster, Security
from distributed.utils import get_ip
from preloaded import local_cluster, users_way

import tfnb as tf
from tfnb.errors import AbortedError, FailedPreconditionError, PermissionDeniedError, UnavailableError
from tfnb.session.dask.cluster import DaskCluster
from tfnb.session.dask.membership.membership import Membership
from tfnb.session.dask.task.inbound_calls import InboundCalls

pytestmark = pytest.mark.opencl

PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"


@pytest.fixture
def dask():
    """A client of a Dask cluster with four workers of one process each, which a test may end and pause.

    Each test has its own: Dask ends a worker that was away for 15 seconds, and may do so when another test is running.
    """
    with local_cluster(4) as workers:
        with Client(workers, set_as_default=False) as client:
            pids = set(client.run(os.getpid).values())
            yield client
        for pid in pids:  # a process that is paused would not hear that it shall end
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Later:
    """A call in a thread of its own."""

    def __init__(self, function, *args):
        self.found, self.error = None, None

        def work():
            try:
                self.found = function(*args)
            except BaseException as e:
                self.error = e

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def wait(self, seconds):
        self._thread.join(seconds)
        assert not self._thread.is_alive()
        return self


def kill(dask, cluster, task, how):
    [pid] = dask.run(os.getpid, workers=[cluster.roles[task]]).values()
    os.kill(pid, how)
    if how == signal.SIGSTOP:
        until(lambda: is_stopped(pid))
    return pid


def is_stopped(pid):
    """A signal takes a while on a busy machine."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


def over_two_tasks():
    """(a variable of the server, its double at the worker)."""
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(3.0)
    with tf.device("/job:worker/task:0"):
        return v, v * 2.0


def until(true, seconds=60.0):
    """Looks seldom: each look may be a call of every task."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_killed_task_stops_the_steps_that_need_it_and_no_others(dask):
    with tf.train.DaskCluster(dask, ps=1, worker=2, patience=300.0) as cluster:  # only a broken connection tells
        with tf.device("/job:ps/task:0"):
            never = tf.FIFOQueue(1, tf.float32, [[]]).dequeue()
        with tf.device("/job:worker/task:1"):
            late = never + 1.0
        with tf.device("/job:worker/task:0"):
            v = tf.Variable(0)
            count = v.assign_add(1)
        with tf.Session(cluster.target) as one, tf.Session(cluster.target) as other:
            other.run(v.initializer)
            step = Later(one.run, late)
            tasks = (PS, "/job:worker/replica:0/task:1")
            until(lambda: all(one._worker.membership.call(task, "status")["running"] == 1 for task in tasks))
            assert other.run(count) == 1
            kill(dask, cluster, PS, signal.SIGKILL)
            step.wait(60)
            assert isinstance(step.error, UnavailableError) and PS in str(step.error), step.error
            assert other.run(count) == 2  # a session that does not need the task
            status = one._worker.membership.call("/job:worker/replica:0/task:1", "status")
            assert status["running"] == 0 and status["masters"] == 2
        until(lambda: dask.run(_masters, workers=[cluster.roles[WORKER]]).popitem()[1] == 0)


def _masters(dask_worker):
    return dask_worker.plugins["tfnb"]._service.task.counts()["masters"]


def test_a_loss_between_two_steps_is_told_once_and_then_mended(dask):
    with tf.train.DaskCluster(dask, ps=1, worker=1) as cluster:
        v, twice = over_two_tasks()
        with tf.Session(cluster.target) as sess:
            sess.run(v.initializer)
            assert sess.run(twice) == 6.0
            membership = sess._worker.membership
            kill(dask, cluster, PS, signal.SIGKILL)
            until(lambda: not membership.epochs([PS]))
            with pytest.raises(AbortedError, match=f"{PS}.* lost since the last step"):
                sess.run(twice)
            sess.run(v.initializer)  # another worker has its role
            assert sess.run(twice) == 6.0


def test_a_paused_task_counts_as_lost_and_another_worker_has_its_role(dask):
    with tf.train.DaskCluster(dask, ps=1, worker=1, patience=3.0) as cluster:
        v, twice = over_two_tasks()
        with tf.Session(cluster.target) as sess:
            sess.run(v.initializer)
            assert sess.run(twice) == 6.0
            before = cluster.roles[PS]
            kill(dask, cluster, PS, signal.SIGSTOP)
            with pytest.raises(UnavailableError, match=PS):
                sess.run(twice)
            sess.run(v.initializer)
            assert sess.run(twice) == 6.0
            assert cluster.roles[PS] != before


def test_a_spare_worker_that_does_not_answer_gets_no_role(dask):
    with tf.train.DaskCluster(dask, ps=1, worker=1) as cluster:
        v, twice = over_two_tasks()
        with tf.Session(cluster.target) as sess:
            sess.run(v.initializer)
            spare = next(w for w in cluster._workers() if w not in cluster.roles.values())
            [pid] = dask.run(os.getpid, workers=[spare]).values()
            os.kill(pid, signal.SIGSTOP)
            until(lambda: is_stopped(pid))
            kill(dask, cluster, PS, signal.SIGKILL)
            until(lambda: not sess._worker.membership.epochs([PS]))
            with pytest.raises(AbortedError, match=PS):
                sess.run(v.initializer)
            sess.run(v.initializer)
            assert sess.run(twice) == 6.0
            assert cluster.roles[PS] != spare


def test_a_worker_that_dies_before_it_is_set_up_gets_no_role(dask, monkeypatch):
    answers, died = DaskCluster._answers, []

    def answers_and_dies(cluster, worker, limit):
        answered = answers(cluster, worker, limit)
        if not died:
            died.append(worker)
            [pid] = dask.run(os.getpid, workers=[worker]).values()
            os.kill(pid, signal.SIGKILL)
        return answered

    monkeypatch.setattr(DaskCluster, "_answers", answers_and_dies)
    with tf.train.DaskCluster(dask, ps=1, worker=1) as cluster:
        assert died and died[0] not in cluster.roles.values()
        v, twice = over_two_tasks()
        with tf.Session(cluster.target) as sess:
            sess.run(v.initializer)
            assert sess.run(twice) == 6.0


@pytest.fixture
def failed_attempts(monkeypatch):
    """Two events: a cluster got no answer of a worker in time, and a master none of a task."""
    no_worker, no_task = threading.Event(), threading.Event()
    answers, reach = DaskCluster._answers, Membership._reach

    def watched_answers(*args):
        answered = answers(*args)
        if not answered:
            no_worker.set()
        return answered

    async def watched_reach(*args):
        member = await reach(*args)
        if member is None:
            no_task.set()
        return member

    monkeypatch.setattr(DaskCluster, "_answers", watched_answers)
    monkeypatch.setattr(Membership, "_reach", watched_reach)
    return no_worker, no_task


def test_a_process_that_is_slow_to_answer_is_waited_for(dask, failed_attempts):
    """As on a busy machine: for less than the cluster's patience no process is given up, let alone ended."""
    pids = dask.run(os.getpid)
    no_worker, no_task = failed_attempts

    def slow(function, workers, attempt_failed):
        """The result of `function`, though these workers do not answer its first attempt."""
        for worker in workers:
            os.kill(pids[worker], signal.SIGSTOP)
        try:
            until(lambda: all(is_stopped(pids[worker]) for worker in workers))
            called = Later(function)
            assert attempt_failed.wait(20)
        finally:
            for worker in workers:
                os.kill(pids[worker], signal.SIGCONT)
        called.wait(60)
        assert called.error is None, called.error
        return called.found

    with slow(lambda: tf.train.DaskCluster(dask, patience=30.0, ps=1, worker=3), pids, no_worker) as cluster:
        v, twice = over_two_tasks()
        with tf.Session(cluster.target) as sess:
            sess.run(v.initializer)
        roles = cluster.roles
        graph = tf.get_default_graph()  # of this thread
        with slow(lambda: tf.Session(cluster.target, graph), [roles[PS], roles[WORKER]], no_task) as sess:
            assert sess.run(twice) == 6.0  # the state of before
        assert cluster.roles == roles
    assert dask.run(os.getpid) == pids


def test_a_worker_lost_for_good_is_told_of_and_one_that_comes_later_has_its_role(caplog):
    with (
        users_way(),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as workers,
        Client(workers, set_as_default=False) as client,
        tf.train.DaskCluster(client, ps=1, worker=1) as cluster,
    ):
        v, twice = over_two_tasks()
        with tf.Session(cluster.target) as sess:
            sess.run(v.initializer)
            [lost] = [w for w in workers.workers.values() if w.worker_address == cluster.roles[PS]]
            workers.sync(lost.close)  # and nobody begins it anew
            until(lambda: not sess._worker.membership.epochs([PS]))
            with pytest.raises(AbortedError, match=PS):
                sess.run(v.initializer)
            with pytest.raises(UnavailableError, match=f"within 0.5 s: {PS}: Dask has 1 workers for 2 tasks"):
                sess._worker.membership.wait_for([PS], sess._worker.number, 0.5)
            step = Later(sess.run, v.initializer)
            until(lambda: "Dask has 1 workers for 2 tasks" in caplog.text)
            assert "waiting for tasks, for 5" in caplog.text and f"{PS}: Dask has" in caplog.text
            workers.scale(3)  # of which one is lost
            assert step.wait(30).error is None
            assert sess.run(twice) == 6.0


@pytest.fixture
def counting(addresses, serve):
    """A parameter server's process, a session here that has patience for half a second, and a variable of 4.0 there with
    what counts it up."""
    ps, worker = addresses(2)
    spec = {"ps": [ps], "worker": [worker]}
    process = serve(spec, "ps", 0)
    with tf.train.Server(spec, "worker", 0) as server:
        with tf.device("/job:ps/task:0"):
            v = tf.Variable(3.0)
            count = v.assign_add(1.0)
        with tf.Session(server.target) as sess:
            sess.run(v.initializer)
            assert sess.run(count) == 4.0
            sess._worker.membership.answer_timeout = 0.5
            yield process, sess, v, count


def lose_while_paused(process, sess, count):
    """The step that counts fails, since the server does not answer; then the server goes on."""
    process.send_signal(signal.SIGSTOP)
    until(lambda: is_stopped(process.pid))
    with pytest.raises(UnavailableError, match=PS):
        sess.run(count)
    process.send_signal(signal.SIGCONT)


def test_a_task_that_went_on_is_found_again_with_its_state(counting):
    process, sess, v, count = counting
    lose_while_paused(process, sess, count)
    before = sess.run(v)
    assert before in (4.0, 5.0)  # the call that waited there may run before the task sees its master gone
    assert sess.run(count) == before + 1.0
    assert sess._worker.membership.call(PS, "status")["masters"] == 1


def test_a_loss_is_told_once_however_slowly_it_gets_about(counting, monkeypatch):
    """The step may fail by the broken connection before the thread that breaks it has gone on."""
    process, sess, v, count = counting
    local_task = sess._worker.local_task
    lose = local_task.lose

    def slowly(peer):
        lose(peer)
        time.sleep(1.0)

    monkeypatch.setattr(local_task, "lose", slowly)
    lose_while_paused(process, sess, count)
    assert sess.run(v) in (4.0, 5.0)


def test_a_lost_scheduler_and_another_in_its_place(addresses):
    [address] = addresses(1)
    port = address.rpartition(":")[2]

    def start():
        scheduler = ["dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"]
        workers = [
            "dask_worker",
            f"tcp://127.0.0.1:{port}",
            "--nworkers",
            "2",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--host",
            "127.0.0.1",
            "--memory-limit",
            "0",
        ]
        return [
            subprocess.Popen([sys.executable, "-m", f"distributed.cli.{args[0]}", *args[1:]], stderr=subprocess.DEVNULL)
            for args in (scheduler, workers)
        ]

    processes = start()
    try:
        with (
            Client(f"tcp://127.0.0.1:{port}", timeout=60) as client,
            tf.train.DaskCluster(client, ps=1, worker=1, timeout=60) as cluster,
            tf.Session(cluster.target) as sess,
        ):
            with tf.device("/job:ps/task:0"):
                v = tf.Variable(3.0)
            with tf.device("/job:worker/task:0"):
                twice = v * 2.0
            sess.run(v.initializer)
            processes[0].kill()
            with pytest.raises((UnavailableError, AbortedError), match=r"/task:0|cannot be reached|no task at"):
                until(lambda: sess.run(twice) is None)  # the workers end when they miss it
            processes[1].kill()  # what is left of the workers ends with it
            processes += start()
            until(lambda: _runs(sess, v.initializer) and _runs(sess, twice))
            assert sess.run(twice) == 6.0
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _runs(sess, fetch):
    """On a busy machine a worker of before may get a role once more before it ends, and its variable with it."""
    try:
        sess.run(fetch)
    except (UnavailableError, AbortedError, FailedPreconditionError):
        return False
    return True


def test_messages_that_come_again_do_no_harm(addresses, monkeypatch):
    receive, came = InboundCalls.receive, []

    def twice(calls, *message):
        came.append((calls, message))
        receive(calls, *message)
        receive(calls, *message)

    monkeypatch.setattr(InboundCalls, "receive", twice)
    ps, worker = addresses(2)
    spec = {"ps": [ps], "worker": [worker]}
    with tf.train.Server(spec, "ps", 0) as there, tf.train.Server(spec, "worker", 0) as here:
        x = tf.placeholder(tf.int32, [])
        with tf.device("/job:ps/task:0"):
            v = tf.Variable(0)
            added = v.assign_add(x)
        with tf.device("/job:worker/task:0"):
            negative = -added
        with tf.Session(here.target) as sess:
            sess.run(v.initializer)
            assert [sess.run(negative, {x: i}) for i in range(1, 6)] == [-1, -3, -6, -10, -15]
            for calls, message in list(came):  # and all of them once more
                receive(calls, *message)
            assert sess.run(v) == 15  # by the same connections, so after all of them
            until(lambda: there.task.counts()["running"] == here.task.counts()["running"] == 0)
            assert sess.run(v) == 15


def test_two_clients_of_one_name(addresses, serve):
    [address] = addresses(1)
    serve({"worker": [address]}, "worker", 0, wait=True)
    x = tf.placeholder(tf.float32, [])
    with tf.device("/job:worker/task:0"):
        y = x * 2.0
    with tf.Session(f"grpc://{address}") as one, tf.Session(f"grpc://{address}") as two:
        for i in range(3):  # an answer goes to who has asked
            assert one.run(y, {x: i}) == 2 * i
            assert two.run(y, {x: 10 + i}) == 20 + 2 * i


def test_strangers_and_their_garbage_are_dropped():
    rng = np.random.RandomState(3)
    garbage = [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, bytes(64), rng.bytes(5000), b"\x10" + bytes(7), b"tfn1" * 40]
    with tf.train.Server.create_local_server() as server:
        ports = [server.target.rpartition(":")[2], str(server.task.channel.peer.endpoint).rpartition(":")[2]]
        for port in ports:
            for data in garbage:
                with socket.create_connection(("127.0.0.1", int(port)), 5) as stranger:
                    stranger.sendall(data)
                    stranger.settimeout(0.1)
                    try:
                        while stranger.recv(4096):
                            pass
                    except OSError:
                        pass
        with tf.Session(server.target) as sess:
            assert sess.run(tf.constant(2.0) * 3.0) == 6.0


@pytest.fixture
def keys(tmp_path):
    """Dask's security with a certificate that is its own authority."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the keys")
    key, cert = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    made = [
        "openssl",
        "req",
        "-x509",
        *curve,
        "-nodes",
        "-keyout",
        key,
        "-out",
        cert,
        "-days",
        "2",
        "-subj",
        "/CN=tfnb",
    ]
    subprocess.run(made, check=True, capture_output=True)
    roles = {
        f"tls_{role}_{what}": path
        for role in ("worker", "client", "scheduler")
        for what, path in (("cert", cert), ("key", key))
    }
    return Security(tls_ca_file=cert, require_encryption=True, **roles), cert


def test_other_machines_are_served_with_keys_only(keys):
    host = get_ip()
    if host.startswith("127."):
        pytest.skip("this machine has no address but loopback")
    with pytest.raises(PermissionDeniedError, match=f"{host} can be reached from other machines"):
        tf.train.Server({"ps": [f"{host}:0"]})
    security, cert = keys
    with socket.create_server((host, 0)) as s1, socket.create_server((host, 0)) as s2:
        spec = {"ps": [f"{host}:{s1.getsockname()[1]}"], "worker": [f"{host}:{s2.getsockname()[1]}"]}
    with (
        tf.train.Server(spec, "ps", 0, security=security),
        tf.train.Server(spec, "worker", 0, security=security) as server,
    ):
        with tf.device("/job:ps/task:0"):
            big = tf.fill([300_000], 2.0)
        with tf.device("/job:worker/task:0"):
            total = tf.reduce_sum(big)
        with tf.Session(server.target) as sess:
            assert sess.run(total) == 6e5
        stranger = ssl.create_default_context(cafile=cert)
        stranger.check_hostname = False
        with (
            socket.create_connection((host, int(server.target.rpartition(":")[2])), 5) as plain,
            pytest.raises(OSError, match=r"certificate|closed|reset|pipe"),
            stranger.wrap_socket(plain) as refused,
        ):
            refused.settimeout(5)
            while refused.recv(64):
                pass
            raise ConnectionError("closed")

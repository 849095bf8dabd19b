"""Trainings that lose tasks and go on from their last checkpoint; and that are the same on any number of workers."""

import signal
import threading
import time

import numpy as np
import pytest
from distributed import Client
from preloaded import local_cluster

import tfnb as tf
from tests.session.dask import chaos
from tfnb.errors import AbortedError, UnavailableError

pytestmark = pytest.mark.opencl


@pytest.mark.parametrize(("way", "rounds"), [("servers", 3), ("dask", 1)])
def test_a_training_that_is_killed_again_and_again(tmp_path, way, rounds):
    calm, found, left = chaos.compare(way, rounds, 40 + 20 * rounds, tmp_path, seed=5)
    for one, other in zip(calm.weights, found.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    assert chaos.accuracy(found.weights) > 0.8
    assert max(found.lost, default=0) <= chaos.INTERVAL
    assert left == []


@pytest.fixture
def four_workers():
    """A client of workers that no test before has killed."""
    with local_cluster(4) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


def curve(target, n, place):
    with tf.Graph().as_default():
        model = chaos.Model(n, place)
        with tf.Session(target) as sess:
            sess.run(tf.global_variables_initializer())
            losses = []
            for step in range(12):
                x, y = chaos.batch(step)
                losses.append(sess.run([model.loss, model.train], {model.x: x, model.y: y})[0])
    return losses


def test_any_number_of_workers_is_one_big_batch(four_workers):
    alone = curve("", 1, None)
    with tf.train.DaskCluster(four_workers, worker=4) as cluster:
        place = tf.train.replica_device_setter(1, "/job:client", "/job:worker/task:0")
        for n in (1, 2, 4):
            np.testing.assert_allclose(curve(cluster.target, n, place), alone, rtol=1e-5)
            tf.Session.reset(cluster.target)
    assert alone[-1] < 0.7 * alone[0]


def test_a_supervisor_begins_again(tmp_path, addresses, serve):
    ps, worker = addresses(2)
    spec = {"ps": [ps], "worker": [worker]}
    processes = [serve(spec, "ps", 0)]
    with tf.device("/job:ps/task:0"):
        step = tf.train.get_or_create_global_step()
        count = step.assign_add(1)
    made, sessions = [], 0
    with tf.train.Server(spec, "worker", 0) as server:
        supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0)
        while True:
            sessions += 1
            try:
                with supervisor.managed_session(server.target) as sess:
                    while not supervisor.should_stop():
                        made.append(int(sess.run(count)))
                        if made[-1] == 5 and sessions == 1:
                            supervisor.saver.save(sess, supervisor.save_path, global_step=step)
                        if made[-1] == 8 and sessions == 1:
                            processes[0].send_signal(signal.SIGKILL)
                            processes[0].wait()
                            processes.append(serve(spec, "ps", 0))
                        if made[-1] == 12:
                            supervisor.request_stop()
                break
            except (AbortedError, UnavailableError):
                pass
    assert made == [*range(1, 9), *range(6, 13)]
    assert tf.train.load_variable(tmp_path, "global_step") == 12


class Sessions(tf.train.SessionRunHook):
    """Counts them."""

    count = 0

    def after_create_session(self, session, coord):
        self.count += 1


def test_workers_that_come_late_and_a_lost_server_of_all(tmp_path, addresses, serve):
    """Between-graph: the chief restores, the others wait for it, one begins when the training is on its way."""
    ps, *workers = addresses(3)
    spec = {"ps": [ps], "worker": workers}
    processes = [serve(spec, "ps", 0)]
    made, errors, second = {0: [], 1: []}, [], threading.Event()
    sessions = [Sessions(), Sessions()]

    def work(i):
        try:
            with tf.train.Server(spec, "worker", i) as server, tf.Graph().as_default():
                with tf.device(tf.train.replica_device_setter(cluster=spec, worker_device=f"/job:worker/task:{i}")):
                    step = tf.train.get_or_create_global_step()
                count = step.assign_add(1)
                config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{i}"])
                with tf.train.MonitoredTrainingSession(
                    server.target,
                    i == 0,
                    str(tmp_path) if i == 0 else None,
                    save_checkpoint_steps=5,
                    save_summaries_steps=None,
                    config=config,
                    log_step_count_steps=None,
                    hooks=[tf.train.StopAtStepHook(last_step=200), sessions[i]],
                ) as sess:
                    while not sess.should_stop():
                        made[i].append(int(sess.run(count)))
                        time.sleep(0.01)
                        if i == 1 and len(made[1]) == 5:
                            second.set()
        except BaseException as e:
            errors.append(e)
            second.set()

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(2)]
    threads[0].start()
    end = time.monotonic() + 60
    while len(made[0]) < 10 and time.monotonic() < end:
        time.sleep(0.01)
    threads[1].start()
    assert second.wait(60)
    processes[0].kill()
    processes[0].wait()
    processes.append(serve(spec, "ps", 0))
    for t in threads:
        t.join(90)
    assert not errors and not any(t.is_alive() for t in threads)
    assert max(made[0] + made[1]) >= 199
    assert sessions[0].count == sessions[1].count == 2

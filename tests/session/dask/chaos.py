"""`python tests/session/dask/chaos.py 50`: kill -9 of parameter servers and workers while a training runs.

A small MNIST model is trained synchronously, each batch by halves on two workers, its variables on two parameter
servers. At random moments one of the four is killed; somebody starts it again: a
supervisor of processes (`servers`: a `tf.train.Server` each), or Dask's nannies (`dask`). The training is to end with
the very weights of one that was left in peace, to lose one checkpoint interval a time at most, and to leave nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import numpy as np
from distributed import Client

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from preloaded import ServerProcess, local_cluster

import tfnb as tf
from tfnb.datasets import mnist

BATCH, INTERVAL = 100, 10
JOBS = {"ps": 2, "worker": 2}
DIGITS = mnist.read_data_sets(seed=1)


def batch(step: int) -> tuple[np.ndarray, np.ndarray]:
    """What a step trains on: told by its number alone, so that a step that is made again is the same."""
    chosen = np.random.RandomState(step).randint(0, DIGITS.train.num_examples, BATCH)
    return DIGITS.train.images[chosen], DIGITS.train.labels[chosen].astype(np.int64)


class Model:
    """784-32-10, the gradients of a batch computed in parts on `n` workers and averaged where the variables are.

    `place`: a device function for variables and what belongs to them.
    """

    def __init__(self, n: int, place: Any) -> None:
        rng = np.random.RandomState(7)
        with tf.device(place):
            self.weights = [
                tf.get_variable(f"w{i}", initializer=(rng.randn(*s) * 0.1).astype(np.float32))
                for i, s in enumerate([(784, 32), (32,), (32, 10), (10,)])
            ]
            self.step = tf.train.get_or_create_global_step()
        self.x, self.y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None])
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        losses, towers = [], []
        for i in range(n):
            with tf.device(f"/job:worker/task:{i}" if place else None):
                part = slice(i * BATCH // n, (i + 1) * BATCH // n)
                losses.append(self._loss(self.x[part], self.y[part]))
                towers.append(optimizer.compute_gradients(losses[-1], self.weights))
        means = []
        for pairs in zip(*towers, strict=True):
            with tf.device(pairs[0][1].device):
                means.append((tf.add_n([g for g, _ in pairs]) / float(n), pairs[0][1]))
        with tf.device(self.step.device):
            self.loss = tf.add_n(losses) / float(n)
        with tf.device(place):
            self.train = optimizer.apply_gradients(means, global_step=self.step)

    def _loss(self, x: Any, y: Any) -> Any:
        w = self.weights
        logits = tf.matmul(tf.nn.relu(tf.matmul(x, w[0]) + w[1]), w[2]) + w[3]
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))


def accuracy(weights: list[np.ndarray]) -> float:
    """On the test digits."""
    hidden = np.maximum(DIGITS.test.images @ weights[0] + weights[1], 0)
    return float(np.mean(np.argmax(hidden @ weights[2] + weights[3], 1) == DIGITS.test.labels))


class Progress:
    """What a training says of itself to who disturbs it."""

    def __init__(self) -> None:
        self.furthest = -1
        self.kills = 0
        self.standstill = 0.0  # seconds: the longest between two steps that were new
        self._since: float | None = None
        self.changed = threading.Condition()
        self.calm = threading.Event()  # nothing is killed any more

    def made(self, step: int) -> None:
        with self.changed:
            if step > self.furthest:
                before, self._since = self._since, time.monotonic()
                if before is not None:
                    self.standstill = max(self.standstill, self._since - before)
                self.furthest = step
                self.changed.notify_all()

    def wait_for(self, step: int, timeout: float) -> None:
        with self.changed:
            if not self.changed.wait_for(lambda: self.furthest >= step, timeout):
                raise TimeoutError(f"no step {step} within {timeout} s; the training is at {self.furthest}")


class Outcome:
    """Of a training: the numbers of the steps it made, in order, and the weights at the end."""

    def __init__(self) -> None:
        self.made: list[int] = []
        self.weights: list[np.ndarray] = []
        self.seconds = self.standstill = 0.0

    @property
    def lost(self) -> list[int]:
        """How many steps had to be made again, each time that the training went back."""
        return [a - b + 1 for a, b in zip(self.made, self.made[1:], strict=False) if b <= a]


def train(target: str, folder: Path, last: int, progress: Progress) -> Outcome:
    """A training of `last` steps, which ends when nobody disturbs it any more."""
    found, start = Outcome(), time.monotonic()
    with tf.Graph().as_default():
        spec = {job: [f"{job}{i}:1" for i in range(n)] for job, n in JOBS.items()}
        model = Model(JOBS["worker"], tf.train.replica_device_setter(cluster=spec))

        def one(context: Any) -> None:
            step = int(context.session.run(model.step))
            if step >= last:
                progress.calm.wait()
                found.weights = context.session.run(model.weights)
                context.request_stop()
            x, y = batch(step)
            context.run_with_hooks(model.train, {model.x: x, model.y: y})
            found.made.append(step)
            progress.made(step)

        with tf.train.MonitoredTrainingSession(
            target,
            checkpoint_dir=str(folder),
            save_checkpoint_steps=INTERVAL,
            log_step_count_steps=None,
            save_summaries_steps=None,
            stop_grace_period_secs=10,
        ) as session:
            while not session.should_stop():
                session.run_step_fn(one)
    found.seconds, found.standstill = time.monotonic() - start, progress.standstill
    return found


def disturb(kill: Callable[[random.Random], None], rounds: int, last: int, progress: Progress, seed: int) -> None:
    """Kills `rounds` times: as the training gets on, and now and then while it recovers from the time before."""
    rng, reach = random.Random(seed), last // (rounds + 1)
    try:
        for _ in range(rounds):
            if rng.random() < 0.7:
                progress.wait_for(min(progress.furthest + rng.randint(1, reach), last - 1), 600)
                time.sleep(rng.uniform(0, 0.05))
            else:
                time.sleep(rng.uniform(0, 2))
            kill(rng)
            progress.kills += 1
    finally:
        progress.calm.set()


class Servers:
    """A process per task, each begun anew when it dies; the training itself is the task `/job:chief`."""

    def __init__(self, folder: Path) -> None:
        names = [("chief", 0), *((j, i) for j, n in JOBS.items() for i in range(n))]
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in names]
        self.addresses = {n: f"127.0.0.1:{s.getsockname()[1]}" for n, s in zip(names, sockets, strict=True)}
        for s in sockets:
            s.close()
        self._spec: dict[str, list[str]] = {}
        for (job, _), address in self.addresses.items():
            self._spec.setdefault(job, []).append(address)
        self.seen: set[int] = set()  # every process there was
        self._over = threading.Event()
        self._processes = {n: self._begin(*n) for n in names[1:]}
        self._supervisor = threading.Thread(target=self._supervise)
        self._supervisor.start()
        self._own = tf.train.Server(self._spec, "chief", 0)
        self.target = self._own.target

    def _begin(self, job: str, i: int) -> ServerProcess:
        process = ServerProcess(self._spec, job, i)
        self.seen.add(process.pid)
        return process

    def _supervise(self) -> None:
        while not self._over.wait(0.02):
            for name, process in self._processes.items():
                if process.poll() is not None:
                    self._processes[name] = self._begin(*name)

    def kill(self, rng: random.Random) -> None:
        """Any of them, as it is, also one that is only starting."""
        rng.choice(list(self._processes.values())).kill()

    def close(self) -> None:
        self._over.set()
        self._supervisor.join()
        for process in self._processes.values():
            process.kill()
            process.wait()
        self._own.close()


class Dask:
    """A Dask cluster on this machine, whose nannies begin dead workers anew.

    15 seconds after each death of a worker, `LocalCluster` ends its nanny for good if the worker is not there at that
    very moment, even if it has come back since and only just died again: that would leave too few here.
    """

    def __init__(self, folder: Path) -> None:
        self._settings = contextlib.ExitStack()
        self._settings.enter_context(dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"}))
        self._dask = local_cluster(
            sum(JOBS.values()),
            dashboard_address=None,
            local_directory=str(folder),
            silence_logs=logging.CRITICAL,
        )
        self._client = Client(self._dask)
        self._cluster = tf.train.DaskCluster(self._client, **JOBS)
        self.target = self._cluster.target
        self.seen: set[int] = set()
        self.addresses: dict[Any, str] = {}
        self._note()

    def _note(self) -> list[int]:
        pids = [w.pid for w in self._dask.workers.values() if w.pid]
        self.seen.update(pids)
        self.addresses.update({w.pid: str(w.worker_address).partition("://")[2] for w in self._dask.workers.values()})
        return pids

    def kill(self, rng: random.Random) -> None:
        pids = self._note()
        if pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rng.choice(pids), signal.SIGKILL)

    def close(self) -> None:
        self._note()
        self._cluster.close()
        self._client.close()
        self._dask.close()
        self._settings.close()


WAYS: dict[str, Any] = {"servers": Servers, "dask": Dask}


def left_behind(system: Any, folder: Path) -> list[str]:
    """Processes that live, ports that answer, files that no checkpoint needs."""
    found = [f"process {p}" for p in system.seen if Path(f"/proc/{p}").exists()]
    for address in system.addresses.values():
        host, _, port = address.rpartition(":")
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 0.5):
            found.append(f"port {port}")
    wanted = {"checkpoint", "graph.pbtxt"}
    state = tf.train.get_checkpoint_state(str(folder))
    for prefix in state.all_model_checkpoint_paths:
        name = Path(prefix).name
        wanted |= {f"{name}.index", f"{name}.meta", *(p.name for p in folder.glob(f"{name}.data-*"))}
    return found + [p.name for p in folder.iterdir() if p.name not in wanted and "tfevents" not in p.name]


def compare(way: str, rounds: int, last: int, folder: Path, seed: int) -> tuple[Outcome, Outcome, list[str]]:
    """(undisturbed, disturbed, what is left behind)."""
    calm, system = Progress(), WAYS[way](folder / "scratch")
    calm.calm.set()
    try:
        reference = train(system.target, folder / "calm", last, calm)
        progress = Progress()
        killer = threading.Thread(target=disturb, args=(system.kill, rounds, last, progress, seed), daemon=True)
        killer.start()
        found = train(system.target, folder / "disturbed", last, progress)
        killer.join()
        assert progress.kills == rounds
    finally:
        system.close()
    return reference, found, left_behind(system, folder / "disturbed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=50)
    parser.add_argument("--way", choices=list(WAYS), default="servers")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    last = 40 * args.rounds + 100
    with tempfile.TemporaryDirectory() as folder:
        calm, found, left = compare(args.way, args.rounds, last, Path(folder), args.seed)
    same = all((a == b).all() for a, b in zip(calm.weights, found.weights, strict=True))
    lost = found.lost or [0]
    sys.stdout.write(
        f"{args.way}: {args.rounds} times kill -9 in {last} steps\n"
        f"  undisturbed {calm.seconds:.1f} s, accuracy {accuracy(calm.weights):.4f}\n"
        f"  disturbed {found.seconds:.1f} s, accuracy {accuracy(found.weights):.4f}; the same weights: {same}\n"
        f"  went back {len(found.lost)} times, {max(lost)} steps at most, {sum(lost)} in all (interval {INTERVAL})\n"
        f"  stood still for {found.standstill:.1f} s at most\n"
        f"  left behind: {', '.join(left) or 'nothing'}\n"
    )
    if left or max(lost) > INTERVAL or accuracy(found.weights) != accuracy(calm.weights):
        raise SystemExit(1)


if __name__ == "__main__":
    main()

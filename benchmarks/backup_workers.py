"""`python -m benchmarks.backup_workers`: OSDI'16, section 6.3: what a backup worker is worth when one is slow.

One parameter server and four workers, one process each, train MNIST synchronously (`SyncReplicasOptimizer`). One of
the four, drawn anew every ten steps, is late. With 4 + 0 every step waits for it; with 3 + 1 the first three gradients
make the step, and the late one is dropped. The median time of a step is printed, both ways in turn.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

from benchmarks.null_training import free_addresses

WORKERS = 4
BATCH = 25
CHANGE = 10  # steps after which another worker is the late one


def build(tf: Any, cluster: dict[str, list[str]], me: int, needed: int) -> tuple[Any, Any, Any, Any, Any]:
    """(images, labels, global step, train operation, hook) of worker `me`."""
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=f"/job:worker/task:{me}")):
        step = tf.train.get_or_create_global_step()
        x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None])
        rng = np.random.RandomState(1)
        w1 = tf.get_variable("w1", initializer=(rng.randn(784, 64) * 0.05).astype(np.float32))
        w2 = tf.get_variable("w2", initializer=(rng.randn(64, 10) * 0.1).astype(np.float32))
        logits = tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        sync = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), needed, WORKERS)
        train = sync.minimize(loss, global_step=step)
    return x, y, step, train, sync.make_session_run_hook(me == 0, num_tokens=0)


def work(cluster: dict[str, list[str]], job: str, me: int, needed: int, steps: int, delay: float) -> None:
    """What each process does; the chief prints when each step was done."""
    tf = importlib.import_module("tfnb")
    server = tf.train.Server(cluster, job_name=job, task_index=me)
    if job == "ps":
        server.join()
    digits = importlib.import_module("tfnb.datasets.mnist").read_data_sets(seed=me).train
    x, y, step, train, hook = build(tf, cluster, me, needed)
    config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{me}"])
    done: list[tuple[int, float]] = []
    with tf.train.MonitoredTrainingSession(server.target, me == 0, hooks=[hook], config=config) as sess:
        while not done or done[-1][0] < steps:
            images, labels = digits.next_batch(BATCH)
            now = int(sess.run_step_fn(lambda c: c.session.run(step)))
            if np.random.RandomState(now // CHANGE).randint(WORKERS) == me:
                time.sleep(delay)
            sess.run(train, {x: images, y: labels.astype(np.int64)})
            done.append((int(sess.run_step_fn(lambda c: c.session.run(step))), time.perf_counter()))
        if me == 0:
            print(json.dumps(done), flush=True)
            sys.stdin.readline()
    os._exit(0)


def measure(needed: int, steps: int, delay: float) -> float:
    """Median seconds of a step, of the later three quarters of them."""
    ports = free_addresses(1 + WORKERS)
    cluster = {"ps": ports[:1], "worker": ports[1:]}

    def start(job: str, i: int) -> subprocess.Popen[str]:
        args = [json.dumps(cluster), job, str(i), str(needed), str(steps), str(delay)]
        pipe = subprocess.PIPE if (job, i) == ("worker", 0) else subprocess.DEVNULL
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.backup_workers", "--work", *args],
            stdin=subprocess.PIPE,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    processes = [start("ps", 0), *(start("worker", i) for i in range(WORKERS))]
    chief = processes[1].stdout
    assert chief is not None
    try:
        said = chief.readline()
        if not said:
            raise SystemExit("the chief ended")
    finally:
        for p in processes:
            p.kill()
            p.wait()
    # The chief itself may be the late one, and see two steps at once: the time between is then of both.
    seen = json.loads(said)
    seen = seen[len(seen) // 4 :]
    took = [(t2 - t1) / (n2 - n1) for (n1, t1), (n2, t2) in zip(seen, seen[1:], strict=False) for _ in range(n2 - n1)]
    return statistics.median(took)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.backup_workers", description=__doc__)
    parser.add_argument("--work", nargs=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--delay", type=float, default=0.2, help="seconds that the late worker sleeps")
    args = parser.parse_args()
    if args.work:
        cluster, job, me, needed, steps, delay = args.work
        work(json.loads(cluster), job, int(me), int(needed), int(steps), float(delay))
    found: dict[int, list[float]] = {WORKERS: [], WORKERS - 1: []}
    for k in range(args.rounds):
        for needed in list(found)[:: 1 if k % 2 == 0 else -1]:
            found[needed].append(measure(needed, args.steps, args.delay))
    print(f"one worker of {WORKERS}, drawn every {CHANGE} steps, is {1e3 * args.delay:.0f} ms late at each step")
    for needed, took in found.items():
        rounds = ", ".join(f"{1e3 * t:.1f}" for t in took)
        print(f"{needed} + {WORKERS - needed}: median step {1e3 * statistics.median(took):.1f} ms (rounds: {rounds})")
    ratio = statistics.median(a / b for a, b in zip(found[WORKERS], found[WORKERS - 1], strict=True))
    print(f"a backup worker makes the median step {ratio:.1f} times as fast")


if __name__ == "__main__":
    main()

"""`python -m benchmarks.null_training`: OSDI'16, Figure 7: steps that fetch a model from parameter servers and compute
almost nothing.

4 parameter servers and 1 to 4 workers, one process each, on loopback; ours and TensorFlow's gRPC runtime take turns.
"scalar" fetches one number from each server, "dense" a matrix, "sparse" 32 rows of a large table. Each worker adds
up what it got, multiplied by a fed number, so that the transfer cannot be folded away.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

N_PS = 4
MODELS = ("scalar", "dense 1 MB", "dense 100 MB", "sparse 32 rows of 1 GB", "sparse 32 rows of 64 MB")
SYSTEMS = ("tfnb", "tensorflow")


def system(name: str) -> Any:
    """The module that a program of 2016 would import."""
    if name == "tfnb":
        return importlib.import_module("tfnb")
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    tf = importlib.import_module("tensorflow.compat.v1")
    tf.disable_eager_execution()
    return tf


def _megabytes(model: str) -> float:
    size, unit = model.split()[-2:]
    return float(size) * (1024 if unit == "GB" else 1)


def build(tf: Any, model: str, me: int) -> tuple[Any, Any, Any]:
    """(the fetch, the number to feed, the initialiser) of a null step of worker `me`."""
    rng = np.random.RandomState(me)
    parts, variables = [], []
    for i in range(N_PS):
        with tf.device(f"/job:ps/task:{i}"):
            if model == "scalar":
                shape = [1]
            elif model.startswith("dense"):
                shape = [int(_megabytes(model) * 2**20) // 4 // N_PS]
            else:
                shape = [int(_megabytes(model) * 2**20) // 4 // N_PS // 1024, 1024]
            name = f"{model.replace(' ', '_')}_{i}"
            v = tf.get_variable(name, shape, initializer=tf.zeros_initializer(), use_resource=False)
            variables.append(v)
            read = tf.gather(v, tf.constant(rng.randint(0, shape[0], 32 // N_PS))) if "sparse" in model else v
        parts.append(read)
    with tf.device(f"/job:worker/task:{me}"):
        x = tf.placeholder(tf.float32, [])
        # one element of each: the arithmetic is not what is measured
        found = tf.add_n([x * tf.reshape(p, [-1])[0] for p in [tf.identity(p) for p in parts]])
    return found, x, tf.group(*[v.initializer for v in variables])


def serve(name: str, cluster: dict[str, list[str]], job: str, task: int, model: str, seconds: float) -> None:
    """What each process does; workers print the seconds that their steps took."""
    tf = system(name)
    config = tf.ConfigProto()
    if name == "tensorflow":
        from tensorflow.core.protobuf import rewriter_config_pb2 as rewriter

        config.graph_options.rewrite_options.disable_meta_optimizer = True
        config.graph_options.rewrite_options.constant_folding = rewriter.RewriterConfig.OFF
    server = tf.train.Server(cluster, job_name=job, task_index=task, config=config)
    if job == "ps":
        server.join()
    fetch, x, init = build(tf, model, task)
    with tf.Session(server.target, config=config) as sess:
        if task == 0:
            sess.run(init)
        print("ready", flush=True)
        sys.stdin.readline()
        took = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(took) < 5:
            start = time.perf_counter()
            sess.run(fetch, {x: 1.5})
            took.append(time.perf_counter() - start)
        print(json.dumps(took[len(took) // 5 :]), flush=True)
        sys.stdin.readline()
    os._exit(0)


def free_addresses(n: int) -> list[str]:
    """ "host:port" of ports of loopback that nobody has now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    found = [f"127.0.0.1:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    return found


def measure(name: str, model: str, n_workers: int, seconds: float) -> tuple[float, float]:
    """(median seconds of a step, steps a second of all workers together)."""
    ports = free_addresses(N_PS + n_workers)
    cluster = {"ps": ports[:N_PS], "worker": ports[N_PS:]}

    def start(job: str, i: int) -> subprocess.Popen[str]:
        args = [name, json.dumps(cluster), job, str(i), model, str(seconds)]
        pipe = subprocess.PIPE if job == "worker" else subprocess.DEVNULL
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.null_training", "--serve", *args],
            stdin=subprocess.PIPE,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    servers = [start("ps", i) for i in range(N_PS)]
    workers = [start("worker", i) for i in range(n_workers)]
    try:
        for w in workers:
            assert w.stdout is not None and w.stdin is not None
            if w.stdout.readline() != "ready\n":
                raise SystemExit(f"a worker of {name} ended")
        for w in workers:
            print("go", file=w.stdin, flush=True)
        took = [json.loads(w.stdout.readline()) for w in workers if w.stdout is not None]
    finally:
        for p in (*workers, *servers):
            p.kill()
            p.wait()
    return statistics.median(t for ts in took for t in ts), sum(1 / statistics.mean(ts) for ts in took)


def raw_socket(nbytes: int, senders: int = N_PS, rounds: int = 7) -> float:
    """Seconds for so many bytes from processes that send a part each, over plain loopback sockets, into one buffer:
    the limit. Who receives takes the parts in turn."""
    code = (
        "import socket, sys\ns = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
        "data = bytes(int(sys.argv[2]))\nwhile s.recv(1): s.sendall(data)"
    )
    part = nbytes // senders
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [sys.executable, "-c", code, str(server.getsockname()[1]), str(part)]
        children = [subprocess.Popen(command) for _ in range(senders)]
        peers = [server.accept()[0] for _ in range(senders)]
        view, took = memoryview(bytearray(part * senders)), []
        for _ in range(rounds):
            start = time.perf_counter()
            for peer in peers:
                peer.sendall(b"x")
            for k, peer in enumerate(peers):
                got = 0
                while got < part:
                    got += peer.recv_into(view[k * part + got : (k + 1) * part])
            took.append(time.perf_counter() - start)
        for peer in peers:
            peer.close()
        for child in children:
            child.wait()
    return statistics.median(took)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.null_training", description=__doc__)
    parser.add_argument("--serve", nargs=6)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--only", default="", help="part of a model's name")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    if args.serve:
        name, cluster, job, task, model, seconds = args.serve
        serve(name, json.loads(cluster), job, int(task), model, float(seconds))
    titles = f"{'tfnb ms':>9} {'TF ms':>9} {'ratio':>7} {'tfnb steps/s':>13} {'TF steps/s':>11}"
    titles += f" {'limit ms':>9} {'of limit':>9}"
    print(f"{'model':26} {'workers':>7} {titles}")
    for model in (m for m in MODELS if args.only in m):
        limit = raw_socket(int(_megabytes(model) * 2**20)) if model.startswith("dense") else 0.0
        for n in args.workers:
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in SYSTEMS}
            for k in range(args.rounds):
                for name in SYSTEMS if k % 2 == 0 else SYSTEMS[::-1]:
                    found[name].append(measure(name, model, n, args.seconds))
            ours, peer = (statistics.median(t for t, _ in found[s]) for s in SYSTEMS)
            rates = [statistics.median(r for _, r in found[s]) for s in SYSTEMS]
            ratio = statistics.median(p / o for (o, _), (p, _) in zip(found["tfnb"], found["tensorflow"], strict=True))
            text = f"{1e3 * limit:9.2f} {limit * n / ours:8.2f}x" if limit else ""
            figures = f"{1e3 * ours:9.2f} {1e3 * peer:9.2f} {ratio:6.2f}x {rates[0]:13.0f} {rates[1]:11.0f}"
            print(f"{model:26} {n:7} {figures} {text}", flush=True)


if __name__ == "__main__":
    main()

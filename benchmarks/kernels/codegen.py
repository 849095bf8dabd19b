"""Times generated kernels through a session, beside TensorFlow, in alternation.

python benchmarks/kernels/codegen.py [--tensorflow PYTHON] [--rounds 9] [--only chain,softmax]

Each workload is one program that both sides run: state lies in variables, results are assigned or reduced, so neither
side feeds or fetches more than a scalar. Reported are medians of the rounds in ms, the ratio (above 1: we are
faster), and what moving the data once at copy speed would take. `--compile` instead times a cold step of 30
different kernels.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def workloads(tf: Any) -> dict[str, tuple[Any, int]]:
    """name -> (what to run, bytes that must move)."""
    rng = np.random.default_rng(0)

    def var(*shape: int) -> Any:
        return tf.Variable(rng.standard_normal(shape).astype(np.float32))

    def chain() -> tuple[Any, int]:
        y = var(1 << 22)
        for _ in range(5):
            y = tf.tanh(y * 1.1 + 0.1)
        return tf.reduce_sum(y), 4 << 22

    def into(make: Any, *shapes: tuple[int, ...]) -> tuple[Any, int]:
        xs = [var(*s) for s in shapes]
        y = make(*xs)
        out = tf.Variable(np.zeros(y.shape.as_list(), np.float32))
        return tf.assign(out, y).op, 4 * sum(int(np.prod(s)) for s in (*shapes, y.shape.as_list()))

    def adam() -> tuple[Any, int]:
        w, g = var(784, 4096), var(784, 4096)
        step = tf.train.AdamOptimizer(1e-3).apply_gradients([(tf.identity(g), w)])
        return step, 7 * 4 * 784 * 4096

    return {
        "chain": chain(),
        "sum": (tf.reduce_sum(var(1 << 22)), 4 << 22),
        "softmax 4096x1000": into(tf.nn.softmax, (4096, 1000)),
        "softmax 100x10": into(tf.nn.softmax, (100, 10)),
        "log_softmax 4096x1000": into(tf.nn.log_softmax, (4096, 1000)),
        "column sums 65536x64": into(lambda x: tf.reduce_sum(x, 0), (65536, 64)),
        "column sums 1000x4096": into(lambda x: tf.reduce_sum(x, 0), (1000, 4096)),
        "row sums 4096x1000": into(lambda x: tf.reduce_sum(x, 1), (4096, 1000)),
        "row max 4096x1000": into(lambda x: tf.reduce_max(x, 1), (4096, 1000)),
        "argmax 4096x1000": into(lambda x: tf.cast(tf.argmax(x, 1), tf.float32), (4096, 1000)),
        "variance 50176x32": into(lambda x: tf.nn.moments(x, [0])[1], (50176, 32)),
        "bias relu 50176x32": into(lambda x, b: tf.nn.relu(x + b), (50176, 32), (32,)),
        "transpose 2048x2048": into(tf.transpose, (2048, 2048)),
        "nhwc to nchw": into(lambda x: tf.transpose(x, [0, 3, 1, 2]), (32, 28, 28, 64)),
        "concat columns": into(lambda a, b: tf.concat([a, b], 1), (4096, 100), (4096, 60)),
        "pad": into(lambda x: tf.pad(x, [[0, 0], [2, 2], [2, 2], [0, 0]]), (32, 28, 28, 64)),
        "gather rows": into(lambda x: tf.gather(x, np.arange(0, 20000, 2, np.int32)), (20000, 128)),
        "exp log sigmoid": into(lambda x: tf.log(tf.exp(x) + 1.0) + tf.sigmoid(x), (1 << 21,)),
        "uniform 2M": into(lambda: tf.random_uniform([1 << 21], seed=1)),
        "normal 2M": into(lambda: tf.random_normal([1 << 21], seed=1)),
        "softmax 65536x10": into(tf.nn.softmax, (65536, 10)),
        "bias 200000x3": into(lambda x, b: x + b, (200000, 3), (3,)),
        "row sums 200000x3": into(lambda x: tf.reduce_sum(x, 1), (200000, 3)),
        "column sums 200000x3": into(lambda x: tf.reduce_sum(x, 0), (200000, 3)),
        "pool mean 64x49x512": into(lambda x: tf.reduce_mean(x, 1), (64, 49, 512)),
        "norm of rows 8192x64": into(lambda x: x * tf.rsqrt(tf.reduce_sum(x * x, 1, True)), (8192, 64)),
        "every second column": into(lambda x: x[:, ::2], (4096, 512)),
        "tile": into(lambda x: tf.tile(x, [1, 4]), (4096, 100)),
        "one hot 65536x10": into(lambda x: tf.one_hot(tf.cast(x[:, 0], tf.int32), 10), (65536, 1)),
        "dropout": into(lambda x: tf.nn.dropout(x, 0.5), (1 << 20,)),
        "adam 3.2M": adam(),
    }


def worker(which: str) -> None:
    """Answers lines `name|repeats` with seconds per run."""
    if which == "tfnb":
        sys.path.insert(0, str(ROOT))
        import tfnb as tf
    else:
        import tensorflow.compat.v1 as tf

        tf.disable_eager_execution()
        tf.logging.set_verbosity(tf.logging.ERROR)
    table = workloads(tf)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    print("\n".join([*(f"{k}|{n}" for k, (_, n) in table.items()), ""]), flush=True)
    for line in sys.stdin:
        name, repeats = line.strip().split("|")
        op = table[name][0]
        session.run(op)
        start = time.perf_counter()
        for _ in range(int(repeats)):
            session.run(op)
        print((time.perf_counter() - start) / int(repeats), flush=True)


def start(python: str, which: str) -> tuple[Any, dict[str, int]]:
    """A worker process and its workloads."""
    process = subprocess.Popen(
        [python, __file__, "--worker", which], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    table = {}
    for line in iter(process.stdout.readline, "\n"):  # type: ignore[union-attr]
        if not line:
            raise SystemExit(f"the {which} worker ended")
        if "|" in line:
            name, _, n = line.strip().rpartition("|")
            table[name] = int(n)
    return process, table


def ask(process: Any, name: str, repeats: int) -> float:
    process.stdin.write(f"{name}|{repeats}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def copy_rate() -> float:
    """Bytes per second that a copy reads and writes."""
    a, b = np.ones(1 << 24, np.float32), np.empty(1 << 24, np.float32)
    best = 1e9
    for _ in range(7):
        t = time.perf_counter()
        np.copyto(b, a)
        best = min(best, time.perf_counter() - t)
    return 2 * a.nbytes / best


def compile_time() -> None:
    """A cold step of 30 different small kernels."""
    code = (
        "import os, sys, time; sys.path.insert(0, sys.argv[1]); import numpy as np, tfnb as tf\n"
        "xs = [tf.Variable(np.ones((7 + i, 33), np.float32)) for i in range(30)]\n"
        "fs = [tf.tanh, tf.exp, tf.sigmoid, tf.sqrt, tf.square, tf.log]\n"
        "ys = [tf.reduce_sum(fs[i % 6](x) * float(i), i % 3 % 2) if i % 3 else fs[i % 6](x) + float(i)"
        " for i, x in enumerate(xs)]\n"
        "s = tf.Session(); s.run(tf.global_variables_initializer())\n"
        "t, c = time.perf_counter(), sum(os.times()[:4]); s.run(ys)\n"
        "print(time.perf_counter() - t, sum(os.times()[:4]) - c)\n"
    )
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "TFNB_CACHE_DIR": cache, "TFNB_QUIET": "1"}
        for label in ("cold", "warm"):
            out = subprocess.run(
                [sys.executable, "-c", code, str(ROOT)], env=env, capture_output=True, text=True, check=True
            )
            wall, cpu = map(float, out.stdout.split())
            print(f"30 kernels, {label}: {wall:.2f} s, of which {cpu:.2f} s of processor time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", default="")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="")
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    if args.worker:
        return worker(args.worker)
    if args.compile:
        return compile_time()
    ours, table = start(sys.executable, "tfnb")
    theirs = start(args.tensorflow, "tensorflow")[0] if args.tensorflow else None
    rate = copy_rate()
    print(f"{'':24}{'tfnb':>9}{'TF':>9}{'ratio':>7}{'floor':>8}")
    for name, nbytes in table.items():
        if args.only and not any(part in name for part in args.only.split(",")):
            continue
        mine, other = [], []
        repeats = max(1, int(0.03 / max(ask(ours, name, 2), 1e-5)))
        for _ in range(args.rounds):
            mine.append(ask(ours, name, repeats))
            if theirs is not None:
                other.append(ask(theirs, name, repeats))
        a, b = statistics.median(mine), statistics.median(other) if other else float("nan")
        print(f"{name:24}{a * 1e3:9.3f}{b * 1e3:9.3f}{b / a:7.2f}{nbytes / rate * 1e3:8.3f}", flush=True)
    return None


if __name__ == "__main__":
    main()

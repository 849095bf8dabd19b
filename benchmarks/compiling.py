"""How long a user waits before the first result: import, library kernels, first steps.

Every figure is taken in fresh processes; "cold" uses an empty cache folder, "seen" the one left by the run before.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

__all__ = ["report"]

_IMPORT = "import time; t = time.perf_counter(); import tfnb; print(time.perf_counter() - t)"
_LIBRARY = """
import time, tfnb as tf
from benchmarks.programs import lenet_train
t = time.perf_counter()
lenet_train(tf)()
print(time.perf_counter() - t)
"""
_FRESH = """
import time, numpy as np, tfnb as tf
x = tf.placeholder(tf.float32, [32, 20, 20, 3])
net = x
for n in (8, 16):
    net = tf.layers.conv2d(net, n, 3, padding="same", activation=tf.nn.elu)
    net = tf.layers.max_pooling2d(net, 2, 2)
net = tf.layers.dense(tf.layers.flatten(net), 33, activation=tf.tanh)
loss = tf.reduce_mean(tf.square(tf.layers.dense(net, 5))) + {salt}
train = tf.train.RMSPropOptimizer(0.01, momentum={salt}).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
data = np.random.rand(32, 20, 20, 3)
t = time.perf_counter()
sess.run([loss, train], {{x: data}})
print(time.perf_counter() - t)
"""


def _seconds(code: str, cache: str, folder: str = ".") -> float:
    env = {**os.environ, "TFNB_CACHE_DIR": cache, "TFNB_QUIET": "1"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an import that is not the first finds its bytecode
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def report(other: str | None = None) -> list[str]:
    """Prints the waits beside their limits and returns those that are too long.

    With `other`, another checkout of tfnb, the medians of three rounds are printed beside that checkout's, which is
    measured in turns.
    """
    folders = [".", *([other] if other else [])]
    steps = ((salt, seen) for salt in ("0.25", "0.5") for seen in ("never seen", "seen"))
    waits: list[tuple[str, str, float]] = [
        ("import tfnb", _IMPORT, 0.5),
        ("LeNet's step on a new machine, all compiled", _LIBRARY, 20),
        *(
            (f"first step of a model {seen} before", _FRESH.format(salt=salt), 1 if seen == "seen" else 4)
            for salt, seen in steps
        ),
    ]
    rounds = [_round([code for _, code, _ in waits], folders) for _ in range(3 if other else 1)]
    missed = []
    for (what, _, limit), times in zip(waits, zip(*rounds, strict=True), strict=True):
        ours, *theirs = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"  {what:44} {ours:6.2f} s   limit {limit:4g}" + "".join(f"   there {t:6.2f} s" for t in theirs))
        if ours > limit:
            missed.append(what)
    return missed


def _round(codes: list[str], folders: list[str]) -> list[list[float]]:
    """Returns the seconds of each code in each folder. Each folder starts with an empty cache and compiled bytecode."""
    with tempfile.TemporaryDirectory() as cache:
        caches = [os.path.join(cache, str(k)) for k, _ in enumerate(folders)]
        pairs = list(zip(caches, folders, strict=True))
        for _ in range(2):
            for place, folder in pairs:
                _seconds(_IMPORT, place, folder)
        return [[_seconds(code, place, folder) for place, folder in pairs] for code in codes]

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

# What is waited for, its code, its limit in seconds, and how many times it is measured.
_WAITS = (
    ("import tfnb", _IMPORT, 0.5, 8),
    ("LeNet's step on a new machine, all compiled", _LIBRARY, 20, 1),
    ("first step of a model never seen before", _FRESH.format(salt="0.25"), 4, 1),
    ("first step of a model seen before", _FRESH.format(salt="0.25"), 1, 1),
    ("first step of a model never seen before", _FRESH.format(salt="0.5"), 4, 1),
    ("first step of a model seen before", _FRESH.format(salt="0.5"), 1, 1),
)


def _seconds(code: str, cache: str, folder: str = ".") -> float:
    env = {**os.environ, "TFNB_CACHE_DIR": cache, "TFNB_QUIET": "1", "TFNB_INTERPRET": "1"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an import that is not the first finds its bytecode
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def report(other: str | None = None) -> list[str]:
    """Prints the waits beside their limits and returns those that are too long.

    With `other`, another checkout of tfnb, the medians of three rounds are printed beside that checkout's, which is
    measured in turns.
    """
    folders = [".", *([other] if other else [])]
    rounds = [_round(folders) for _ in range(3 if other else 1)]
    missed = []
    for (what, _, limit, _), times in zip(_WAITS, zip(*rounds, strict=True), strict=True):
        ours, *theirs = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"  {what:44} {ours:6.2f} s   limit {limit:4g}" + "".join(f"   there {t:6.2f} s" for t in theirs))
        if ours > limit:
            missed.append(what)
    return missed


def _round(folders: list[str]) -> list[list[float]]:
    """Returns the seconds of each wait in each folder. Each folder starts with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        places = [(os.path.join(cache, str(k)), folder) for k, folder in enumerate(folders)]
        return [
            [statistics.median_low(_seconds(code, *place) for _ in range(times)) for place in places]
            for _, code, _, times in _WAITS
        ]

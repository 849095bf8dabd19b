"""How long a user waits before the first result: import, library kernels, first steps.

Every figure is taken in fresh processes; "cold" uses an empty cache folder, "seen" the one left by the run before.
"""

from __future__ import annotations

import os
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


def _seconds(code: str, cache: str) -> float:
    env = {**os.environ, "TFNB_CACHE_DIR": cache, "TFNB_QUIET": "1"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an import that is not the first finds its bytecode
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def report() -> list[str]:
    """Prints the waits beside their limits; the ones that are too long."""
    missed = []

    def show(what: str, seconds: float, limit: float) -> None:
        print(f"  {what:44} {seconds:6.2f} s   limit {limit:4g}")
        if seconds > limit:
            missed.append(what)

    with tempfile.TemporaryDirectory() as cache:
        show("import tfnb", sorted(_seconds(_IMPORT, cache) for _ in range(8))[3], 0.5)
        show("LeNet's step on a new machine, all compiled", _seconds(_LIBRARY, cache), 20)
        for salt in ("0.25", "0.5"):
            show("first step of a model never seen before", _seconds(_FRESH.format(salt=salt), cache), 4)
            show("first step of a model seen before", _seconds(_FRESH.format(salt=salt), cache), 1)
    return missed

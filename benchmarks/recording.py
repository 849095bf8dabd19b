"""`python -m benchmarks.recording`: what recording a step costs, as processor time, recorded and not in turns.

The limit is 5 % of the step and 2 microseconds a kernel.
"""

from __future__ import annotations

import time

import numpy as np

import tfnb as tf
from tfnb.session.recording import Recording

__all__ = ["report"]


def report(pairs: int = 200) -> list[str]:
    """Prints the medians of a multilayer perceptron's training step, and returns its name if it misses the limit."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 784])
        y = tf.placeholder(tf.int64, [None])
        hidden = tf.layers.dense(tf.layers.dense(x, 256, activation=tf.nn.relu), 100, activation=tf.nn.relu)
        logits = tf.layers.dense(hidden, 10)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=y))
        fetches = [tf.train.AdagradOptimizer(0.01).minimize(loss), loss]
        rng = np.random.default_rng(0)
        feed = {x: rng.normal(size=(300, 784)).astype(np.float32), y: rng.integers(0, 10, 300)}
        session.run(tf.global_variables_initializer())
        for _ in range(10):
            session.run(fetches, feed)
        off, on = [], []
        for _ in range(pairs):
            begin = time.process_time()
            session.run(fetches, feed)
            middle = time.process_time()
            recording = Recording()
            with session.recorded(recording):
                session.run(fetches, feed)
            on.append((time.process_time() - middle) * 1e6)
            off.append((middle - begin) * 1e6)
    kernels = sum(t.kind == "kernel" for t in recording.steps[0].times)
    plain, recorded = float(np.median(off)), float(np.median(on))
    limit = 0.05 * plain + 2 * kernels
    held = recorded - plain <= limit
    print(
        f"a step of {kernels} kernels: {plain:.0f} us of processor time, {recorded - plain:+.0f} us when recorded "
        f"(<= {limit:.0f}) {'held' if held else 'MISSED'}"
    )
    return [] if held else ["recording a step"]


if __name__ == "__main__":
    raise SystemExit(1 if report() else 0)

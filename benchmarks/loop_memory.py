"""Peak memory of a loop's gradient, ours beside TensorFlow's: `python -m benchmarks.loop_memory`.

An LSTM by dynamic_rnn, forward and backward, each system in a process of its own; the figure is by how much the
process grew at its highest, from after a first short sequence (libraries loaded, kernels compiled) to after the long
one.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import Any

import numpy as np

__all__ = ["growth"]

STEPS, BATCH, UNITS = 400, 64, 256


def growth(system: str) -> float:
    """MB by which this process's peak grows when the loop's gradient runs over the long sequence."""
    if system == "tfnb":
        import tfnb

        tf: Any = tfnb
    else:
        import tensorflow.compat.v1 as tf

        tf.disable_v2_behavior()
    x = tf.placeholder(tf.float32, [None, BATCH, UNITS])
    cell = tf.nn.rnn_cell.BasicLSTMCell(UNITS)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, time_major=True)
    loss = tf.reduce_mean(tf.square(outputs))
    grads = tf.gradients(loss, tf.trainable_variables())
    data = np.random.RandomState(0).rand(STEPS, BATCH, UNITS).astype(np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([loss, *grads], {x: data[:2]})
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        session.run([loss, *grads], {x: data})
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def main() -> None:
    if len(sys.argv) > 1:
        print(growth(sys.argv[1]))
        return
    found = {}
    for system in ("tfnb", "tensorflow"):
        run = subprocess.run(
            [sys.executable, "-m", "benchmarks.loop_memory", system], capture_output=True, text=True, check=True
        )
        found[system] = float(run.stdout.split()[-1])
    state = STEPS * BATCH * UNITS * 4 / 2**20
    print(f"LSTM of {UNITS} units, {STEPS} steps of {BATCH}: one tensor of all steps is {state:.0f} MB")
    print(
        f"tfnb {found['tfnb']:.0f} MB, TensorFlow {found['tensorflow']:.0f} MB: "
        f"{found['tfnb'] / found['tensorflow']:.2f} of TensorFlow's (at most 1.10 wanted)"
    )


if __name__ == "__main__":
    main()

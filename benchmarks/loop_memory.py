"""Peak memory of a loop's gradient, ours beside TensorFlow's: `python -m benchmarks.loop_memory [BATCH STEPS UNITS]`.

An LSTM by dynamic_rnn, forward and backward, each system in a process of its own. What is counted is by how much the
process grew at its highest: what it holds after the warm-up is taken off, for both alike. The warm-up is a sequence of
a fifth of the steps through everything, and then the loss and its gradient by the outputs, fed, of the whole length:
libraries are loaded then and kernels compiled, those too that are chosen by the number of elements and are none of the
loop's. What they used and left free is the process's, and may serve the loop.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks.worker import _system

__all__ = ["growth"]

#: batch, steps, units: few rows and many, the LSTM of the papers, long sequences
SIZES = ((64, 400, 256), (20, 400, 256), (8, 1000, 200), (1, 1000, 200), (20, 20, 200), (20, 100, 200), (20, 1000, 200))
ROUNDS = 3


def growth(system: str, batch: int, steps: int, units: int) -> float:
    """MB by which this process's peak grows when the loop's gradient runs over the long sequence."""
    tf = _system(system)
    x = tf.placeholder(tf.float32, [None, batch, units])
    cell = tf.nn.rnn_cell.BasicLSTMCell(units)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, time_major=True)
    loss = tf.reduce_mean(tf.square(outputs))
    grads = tf.gradients(loss, tf.trainable_variables())
    by_outputs = tf.gradients(loss, outputs)
    data = np.random.RandomState(0).rand(steps, batch, units).astype(np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([loss, *grads], {x: data[: max(2, steps // 5)]})
        session.run([loss, *by_outputs], {outputs: data})
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        session.run([loss, *grads], {x: data})
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def compare(size: tuple[int, int, int]) -> None:
    """Prints the growth of both systems, in processes that take turns; the medians."""
    batch, steps, units = size
    found: dict[str, list[float]] = {"tfnb": [], "tensorflow": []}
    for _ in range(ROUNDS):
        for system, sizes in found.items():
            command = [sys.executable, "-m", "benchmarks.loop_memory", *map(str, size), system]
            run = subprocess.run(command, capture_output=True, text=True, check=True)
            sizes.append(float(run.stdout.split()[-1]))
    ours, theirs = (statistics.median(f) for f in found.values())
    state = steps * batch * units * 4 / 2**20
    print(
        f"LSTM of {units} units, {steps} steps of {batch} (a tensor of all steps: {state:.1f} MB): "
        f"tfnb {ours:.1f} MB, TensorFlow {theirs:.1f} MB, ratio {ours / max(theirs, 0.1):.2f} "
        f"(at most 1.10 wanted)",
        flush=True,
    )


def main() -> None:
    size: Any = tuple(map(int, sys.argv[1:4]))
    if len(sys.argv) > 4:
        print(growth(sys.argv[4], *size))
        return
    for one in [size] if len(size) == 3 else SIZES:
        compare(one)


if __name__ == "__main__":
    main()

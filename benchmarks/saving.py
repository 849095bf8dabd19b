"""`python -m benchmarks.saving [--megabytes 64] [--rounds 4]`: how long steps take while a checkpoint is written.

Prints, of the best of some rounds, the time of a save by itself and of the longest step beside one, with and without
the MetaGraph. That no step waits for a save at all is a test: `tests/train/saving/test_saver.py`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tfnb as tf


def seconds(function: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def longest_step(saver: Any, session: Any, step: Any, path: str, meta: bool) -> tuple[float, int]:
    """(seconds of the longest step while a checkpoint is written, how many there were)."""
    future = saver.save_async(session, path, 1, write_meta_graph=meta)
    steps = []
    while not future.done():
        steps.append(seconds(lambda: session.run(step)))
    saver.wait()
    return max(steps, default=0.0), len(steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=4)
    args = parser.parse_args()
    for k in range(4):
        tf.Variable(np.zeros((args.megabytes << 20) // 16, np.float32), name=f"v{k}")
    small = tf.Variable(np.zeros(1000, np.float32))
    step = small.assign_add(np.ones(1000, np.float32))
    saver = tf.train.Saver(max_to_keep=1)
    with tf.Session() as session, tempfile.TemporaryDirectory() as folder:
        session.run(tf.global_variables_initializer())
        session.run(step)
        path = str(Path(folder) / "m")
        alone = min(seconds(lambda: saver.save(session, path, 0, write_meta_graph=False)) for _ in range(args.rounds))
        print(f"{args.megabytes} MB: a save takes {alone * 1e3:.0f} ms")
        for meta in (False, True):
            longest, count = min(longest_step(saver, session, step, path, meta) for _ in range(args.rounds))
            what = "with" if meta else "without"
            print(f"the longest of {count} steps beside one, {what} the MetaGraph: {longest * 1e3:.1f} ms")
        saver.close()


if __name__ == "__main__":
    main()

"""`python -m benchmarks.many_shapes`: 10,000 steps of 10,000 different shapes, and what memory and caches they leave.

Prints the memory of the process, the entries of its caches and the size of its cache folder after each tenth of the
steps. In the second half memory may grow by at most GROWTH megabytes, and no cache may hold more than its bound.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.library_kernels import cold_cache

__all__ = ["report"]

GROWTH = 20.0  # megabytes
_MOST = 100  # sizes of each of the two dimensions


def _resident() -> float:
    """Megabytes of this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _on_disk(folder: Path) -> float:
    """Megabytes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20


def _shapes(many: int) -> list[tuple[int, int]]:
    """Different shapes, in an order in which sizes do not grow."""
    numbers = np.random.RandomState(0).permutation(_MOST * _MOST)[:many]
    return [(int(n) // _MOST + 1, int(n) % _MOST + 1) for n in numbers]


def _step(tf: Any) -> Any:
    """A function of an array: products with itself, softmax and a reduction, with gradients."""
    x = tf.placeholder(tf.float32, [None, None])
    scores = tf.nn.softmax(tf.matmul(x, x, transpose_b=True))
    loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(scores, x)) + 1.0))
    gradient = tf.gradients(loss, x)[0]
    session = tf.Session()
    return lambda array: session.run([loss, gradient], {x: array})


def report(many: int = _MOST * _MOST) -> list[str]:
    """Prints the growth and returns what is not bounded."""
    with cold_cache() as cache:
        os.environ.update(cache.environment)  # before tfnb reads its settings
        import tfnb as tf

        step = _step(tf)
        ones = np.ones(_MOST * _MOST, np.float32)
        print(f"{'steps':>7} {'ms a step':>10} {'MB':>8} {'entries':>8} {'MB on disk':>11} {'programs':>9}")
        memory = []
        start = time.perf_counter()
        tenth = max(1, many // 10)
        for number, (n, m) in enumerate(_shapes(many), 1):
            step(ones[: n * m].reshape(n, m))
            if number % tenth == 0:
                took = 1e3 * (time.perf_counter() - start) / tenth
                memory.append(_resident())
                entries = sum(info.entries for info in tf.list_caches())
                print(
                    f"{number:7} {took:10.2f} {memory[-1]:8.1f} {entries:8} {_on_disk(cache.folder):11.1f} "
                    f"{cache.generated_programs():9}",
                    flush=True,
                )
                start = time.perf_counter()
        cache.collect()
        full = [info.name for info in tf.list_caches() if info.entries > info.limit]
    grown = memory[-1] - memory[len(memory) // 2]
    print(f"in the second half memory grew by {grown:+.1f} MB (limit {GROWTH:g}); caches over their bound: {full or 0}")
    return [*(["memory"] if grown > GROWTH else []), *full]


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.many_shapes", description=__doc__)
    parser.add_argument("--steps", type=int, default=_MOST * _MOST)
    missed = report(min(parser.parse_args().steps, _MOST * _MOST))
    print(f"\ntargets missed: {', '.join(missed) or 'none'}")


if __name__ == "__main__":
    main()

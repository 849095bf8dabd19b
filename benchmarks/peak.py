"""The machine's limits as NumPy reaches them: what the floors are computed from."""

from __future__ import annotations

import time

import numpy as np

__all__ = ["bandwidth", "flops"]


def _best(work: object, repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()  # type: ignore[operator]
        times.append(time.perf_counter() - begin)
    return min(times)


def flops() -> float:
    """Flop/s of a float32 matrix product of 1536 x 1536 by the BLAS behind NumPy, all cores."""
    n = 1536
    a = np.ones((n, n), np.float32)
    return 2 * n**3 / _best(lambda: a @ a)


def bandwidth() -> float:
    """Bytes/s of copying 256 MB, read and write counted."""
    a = np.ones(1 << 25, np.float64)
    b = np.empty_like(a)
    return 2 * a.nbytes / _best(lambda: np.copyto(b, a))

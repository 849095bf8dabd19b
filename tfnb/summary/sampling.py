"""Thinning out long series so that a plot of what is left looks the same.

Each stretch of a series keeps its first, lowest, highest and last point (M4), so peaks stay whatever is left out.
Invariant: what is kept is a subset, in order, with the first and the last point and both extremes of the whole.
"""

from __future__ import annotations

import numpy as np

__all__ = ["thinned"]


def thinned(values: np.ndarray, count: int) -> np.ndarray:
    """The rising indices of at most `count` (at least 4) points that stand for all of `values`.

    NaN is never an extreme; a stretch of nothing else keeps its ends.
    """
    size = len(values)
    if size <= count:
        return np.arange(size)
    stretches = max(count // 4, 1)
    starts = np.linspace(0, size, stretches + 1).astype(np.int64)
    width = int(np.diff(starts).max())
    index = np.minimum(starts[:-1, None] + np.arange(width), starts[1:, None] - 1)
    block = values[index]
    finite = ~np.isnan(block)
    rows = np.arange(stretches)
    low = index[rows, np.where(finite, block, np.inf).argmin(axis=1)]
    high = index[rows, np.where(finite, block, -np.inf).argmax(axis=1)]
    # Within a stretch the four are put in order; the stretches are.
    ends = np.stack([starts[:-1], np.minimum(low, high), np.maximum(low, high), starts[1:] - 1], 1)
    flat = ends.reshape(-1)
    return flat[np.append(True, flat[1:] != flat[:-1])]

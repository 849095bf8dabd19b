"""Downsampling of long series so that a plot of the remaining points looks the same.

Of each section of a series the first, lowest, highest and last point is kept (M4), so peaks remain visible; of the
whole series the first NaN too, since that is what a reader looks for. Invariant: the points that are kept are a subset,
in order, with the first and the last point and both extremes of the series.
"""

from __future__ import annotations

import numpy as np

__all__ = ["thinned"]


def thinned(values: np.ndarray, count: int) -> np.ndarray:
    """Returns the increasing indices of at most `count` points (at least 4) that represent all of `values`.

    NaN is never an extreme; of a section with nothing but NaN the two ends are kept. The first NaN is kept if `count`
    is at least 5.
    """
    size = len(values)
    if size <= count:
        return np.arange(size)
    missing = np.flatnonzero(np.isnan(values))
    if len(missing) and count >= 5:
        return np.union1d(_extremes(values, count - 1), missing[:1])
    return _extremes(values, count)


def _extremes(values: np.ndarray, count: int) -> np.ndarray:
    size = len(values)
    n_intervals = max(count // 4, 1)
    starts = np.linspace(0, size, n_intervals + 1).astype(np.int64)
    width = int(np.diff(starts).max())
    index = np.minimum(starts[:-1, None] + np.arange(width), starts[1:, None] - 1)
    block = values[index]
    finite = ~np.isnan(block)
    rows = np.arange(n_intervals)
    low = index[rows, np.where(finite, block, np.inf).argmin(axis=1)]
    high = index[rows, np.where(finite, block, -np.inf).argmax(axis=1)]
    # The four points of an interval are sorted here; the intervals are in order already.
    ends = np.stack([starts[:-1], np.minimum(low, high), np.maximum(low, high), starts[1:] - 1], 1)
    flat = ends.reshape(-1)
    return flat[np.append(True, flat[1:] != flat[:-1])]

"""The pixels that the taps of a window cover, for ops that select one of them (max-pooling, dilation).

`host_choice` and `lower_choice` visit the taps in row-major order and select the first largest value. Invariant: taps
outside the image are never selected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.ir import scalar as s
from tfnb.ir.scalar import Expr
from tfnb.ops.conv_pool.conv_reference import Axis

__all__ = ["host_choice", "lower_choice"]


def host_choice(
    x: np.ndarray, axes: tuple[Axis, Axis], weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the largest element of each window of x plus `weights`, and its row and column in x.

    x: (n, h, w, c). weights: (kh, kw, c). Where a window has no element inside the image, the row is -1.
    """
    ay, ax = axes
    out_shape = (x.shape[0], ay.count, ax.count, x.shape[3])
    best, row, column = np.zeros(out_shape, x.dtype), np.full(out_shape, -1), np.zeros(out_shape, np.int64)
    for ky in range(ay.size):
        for kx in range(ax.size):
            r = np.arange(ay.count) * ay.stride + ky * ay.dilation - ay.before
            k = np.arange(ax.count) * ax.stride + kx * ax.dilation - ax.before
            inside = ((r >= 0) & (r < ay.limit))[:, None] & ((k >= 0) & (k < ax.limit))
            if not inside.any():
                continue
            r, k = np.clip(r, 0, ay.limit - 1), np.clip(k, 0, ax.limit - 1)
            value = x[:, r][:, :, k] + (0 if weights is None else weights[ky, kx])
            better = inside[:, :, None] & ((row < 0) | (value > best))
            best = np.where(better, value, best)
            row = np.where(better, r[:, None, None], row)
            column = np.where(better, k[:, None], column)
    return best.astype(x.dtype), row, column


def lower_choice(
    place: tuple[Expr, Expr], axes: tuple[Axis, Axis], value: Callable[[Expr, Expr, int, int], Expr]
) -> tuple[Expr, Expr, Expr]:
    """Returns the largest `value(row, column, ky, kx)` over the taps of the window at `place`, and its row and column.

    `value` is evaluated only for positions inside the image.
    """
    ay, ax = axes
    best: Any = None
    row: Any = None
    column: Any = None
    has_best: Any = None
    for ky in range(ay.size):
        for kx in range(ax.size):
            r = place[0] * ay.stride + (ky * ay.dilation - ay.before)
            k = place[1] * ax.stride + (kx * ax.dilation - ax.before)
            inside = s.and_(s.and_(r >= 0, r < ay.limit), s.and_(k >= 0, k < ax.limit))
            r = s.minimum(s.maximum(r, 0), max(ay.limit - 1, 0))
            k = s.minimum(s.maximum(k, 0), max(ax.limit - 1, 0))
            v = value(r, k, ky, kx)
            if best is None:
                best, row, column, has_best = v, r, k, inside
                continue
            better = s.and_(inside, s.or_(v > best, s.not_(has_best)))
            best = s.where(better, v, best)
            row, column = s.where(better, r, row), s.where(better, k, column)
            has_best = s.or_(has_best, inside)
    return best, row, column

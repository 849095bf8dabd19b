"""The centres that are nearest to points, as clustering asks for them.

Invariant: of equally distant centres the one with the lower number comes first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor
from tfnb.types import Shape

__all__ = ["NEAREST_NEIGHBORS", "OPS"]


def _nearest(call: HostCall, points: np.ndarray, centers: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if points.shape[1] != centers.shape[1] or not points.size or not centers.size or int(k) < 0:
        raise InvalidArgumentError(
            f"NearestNeighbors: needed points and centers with equally many columns, at least one of each, and k of 0 "
            f"or more; got points {points.shape}, centers {centers.shape} and k = {int(k)}",
            call.op,
        )
    count = min(int(k), len(centers))
    wide, others = points.astype(np.float64), centers.astype(np.float64)
    squares = (wide**2).sum(1)[:, None] + (others**2).sum(1) - 2 * wide @ others.T
    order = np.argsort(squares, axis=1, kind="stable")[:, :count]
    distances = np.maximum(np.take_along_axis(squares, order, 1), 0)
    return order.astype(np.int64), distances.astype(np.float32)


def _shapes(c: Infer) -> tuple[Shape, Shape]:
    points = with_rank(c, 0, 2, "points").sizes
    with_rank(c, 1, 2, "centers")
    with_rank(c, 2, 0, "k")
    found = Shape((None if points is None else points[0], None))
    return found, found


NEAREST_NEIGHBORS: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "NearestNeighbors",
    "points: float32, centers: float32, k: int64",
    "nearest_center_indices: int64, nearest_center_distances: float32",
    """The k centres that are nearest to each point, the nearest first, with the squares of their distances.

    points: (points, columns). centers: (centers, columns). k: a scalar; all centres if it is more than there are. Both
    outputs: (points, k). Errors: other columns, no point or no centre, a negative k. Runs on the host.""",
    infer=_shapes,
    host=_nearest,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)

OPS: tuple[OpDef, ...] = (NEAREST_NEIGHBORS,)
API: dict[str, Any] = {}

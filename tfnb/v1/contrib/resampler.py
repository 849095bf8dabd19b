"""`tf.contrib.resampler`: images sampled at points between their pixels.

Jaderberg et al., Spatial Transformer Networks, 2015. Invariant: outside of the image pixels are zero.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.graph.default_graph import name_scope
from tfnb.errors import ShapeError
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.batch_functions import gather_nd
from tfnb.ops.array.concat import stack
from tfnb.ops.array.constants import convert_to_tensor, ones_like
from tfnb.ops.array.constants import range_ as range_op
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.math.cast import cast
from tfnb.ops.math.clip import clip_by_value
from tfnb.ops.math.unary import FLOOR
from tfnb.types import int32

__all__ = ["resampler"]


def resampler(data: Any, warp: Any, name: str = "resampler") -> Tensor:
    """Returns images [batch, height, width, channels] at points, [batch, ..., channels], by bilinear interpolation.

    data: floats. warp: [batch, ..., 2], the points as (x, y) in pixels. Raises `ShapeError` for other ranks.
    """
    with name_scope(name):
        data, warp = convert_to_tensor(data, name="data"), convert_to_tensor(warp, name="warp")
        if data.shape.ndims != 4 or warp.shape.ndims is None or warp.shape.ndims < 2 or warp.shape.as_list()[-1] != 2:
            raise ShapeError(f"resampler: needed images and points (x, y), got shapes {data.shape} and {warp.shape}")
        sizes, outer = shape_op(data), shape_op(warp)
        points = RESHAPE(warp, [outer[0], -1, 2])
        x, y = points[:, :, 0], points[:, :, 1]
        left, top = FLOOR(x), FLOOR(y)
        rows = ones_like(left, int32) * EXPAND_DIMS(range_op(sizes[0]), 1)
        total: Any = 0.0
        for down in (0, 1):
            for right in (0, 1):
                column, row = left + right, top + down
                share = (1 - right + (2 * right - 1) * (x - left)) * (1 - down + (2 * down - 1) * (y - top))
                i, j = cast(row, int32), cast(column, int32)
                inside = (i >= 0) & (i < sizes[1]) & (j >= 0) & (j < sizes[2])
                i, j = clip_by_value(i, 0, sizes[1] - 1), clip_by_value(j, 0, sizes[2] - 1)
                pixels = gather_nd(data, stack([rows, i, j], 2))
                total = total + pixels * EXPAND_DIMS(share * cast(inside, share.dtype), 2)
        result = RESHAPE(total, [*(outer[k] for k in range(warp.shape.ndims - 1)), sizes[3]])
        result.set_shape([*warp.shape.as_list()[:-1], data.shape.as_list()[3]])
        return result

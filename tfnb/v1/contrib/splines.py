"""`tf.contrib.image`: polyharmonic splines through points, and images that are warped by a few of their points.

A spline is a sum of functions of the distance to each point, and a linear function; both are found by one system of
linear equations. Invariant: without regularisation a spline has the given values at the given points.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.client.graph.default_graph import name_scope
from tfnb.errors import ShapeError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat, stack
from tfnb.ops.array.constants import constant, convert_to_tensor, ones_like, zeros, zeros_like
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.tile_reverse_mirror import TILE
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.linalg.band_part import MATRIX_SET_DIAG
from tfnb.ops.linalg.inverse_solve import MATRIX_SOLVE
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.binary import MAXIMUM, POW
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.math.unary import LOG, SQUARE
from tfnb.types import int32
from tfnb.v1.contrib.image import dense_image_warp

__all__ = ["interpolate_spline", "sparse_image_warp"]

_LEAST_SQUARE = 1e-10  # distances below its root count as that, because a logarithm of 0 has no value


def _of_distance(squares: Tensor, order: int) -> Tensor:
    """The function of squared distances that belongs to an order: r^order, times log r for even orders."""
    squares = MAXIMUM(squares, _LEAST_SQUARE)
    power = POW(squares, constant(0.5 * order, squares.dtype))
    return power if order % 2 else 0.5 * power * LOG(squares)


def _square_distances(a: Tensor, b: Tensor) -> Tensor:
    return reduce_sum(SQUARE(EXPAND_DIMS(a, 2) - EXPAND_DIMS(b, 1)), -1)


def _with_ones(points: Tensor) -> Tensor:
    return concat([points, ones_like(points[..., :1])], 2)


def interpolate_spline(
    train_points: TensorLike,
    train_values: TensorLike,
    query_points: TensorLike,
    order: int,
    regularization_weight: float = 0.0,
    name: str = "interpolate_spline",
) -> Tensor:
    """Returns the values at `query_points` of the polyharmonic spline through `train_points`.

    train_points: floats, [batch, n, d]. train_values: [batch, n, k]. query_points: [batch, m, d]. order: 1 is
    linear, 2 a thin plate, 3 cubic. regularization_weight: above 0 the spline is smoother and misses the values. The
    result has shape [batch, m, k]. Raises `ShapeError` when d is unknown.
    """
    with name_scope(name):
        points, values = convert_to_tensor(train_points), convert_to_tensor(train_values)
        queries = convert_to_tensor(query_points)
        dims = points.shape.as_list()[-1] if points.shape.ndims is not None else None
        if dims is None:
            raise ShapeError(f"interpolate_spline: the dimension of train_points must be known, got {points.shape}")
        size = shape_op(points)
        near = _of_distance(_square_distances(points, points), order)
        if regularization_weight > 0:
            near = near + regularization_weight * MATRIX_SET_DIAG(zeros_like(near), ones_like(near[..., 0]))
        linear = _with_ones(points)
        corner = zeros(stack([size[0], dims + 1, dims + 1]), points.dtype)
        left = concat([near, transpose(linear, [0, 2, 1])], 1)
        rest = zeros(stack([size[0], dims + 1, shape_op(values)[2]]), values.dtype)
        system = concat([left, concat([linear, corner], 1)], 2)
        weights = MATRIX_SOLVE(system, concat([values, rest], 1))
        curved = matmul(_of_distance(_square_distances(queries, points), order), weights[:, : size[1]])
        return curved + matmul(_with_ones(queries), weights[:, size[1] :])


def _border(height: int, width: int, between: int) -> np.ndarray:
    """The corners of an image, and `between` places on each of its edges: rows of (y, x)."""
    y, x = (np.linspace(0, n - 1, between + 2) for n in (height, width))
    places = np.stack(np.meshgrid(y, x, indexing="ij"), -1).reshape(-1, 2)
    on_edge = np.isin(places[:, 0], (0, height - 1)) | np.isin(places[:, 1], (0, width - 1))
    return places[on_edge]


def sparse_image_warp(
    image: TensorLike,
    source_control_point_locations: TensorLike,
    dest_control_point_locations: TensorLike,
    interpolation_order: int = 2,
    regularization_weight: float = 0.0,
    num_boundary_points: int = 0,
    name: str = "sparse_image_warp",
) -> tuple[Any, Any]:
    """Moves points of images to other places, and what is between them along; returns (the images, the flow).

    image: [batch, height, width, channels], of known height and width. The locations: [batch, points, 2], rows and
    columns. interpolation_order, regularization_weight: of the spline through the moves. num_boundary_points: of each
    edge that stay where they are; 0: none, 1: the corners. flow: [batch, height, width, 2], see `dense_image_warp`.
    Raises `ShapeError` when the height or width is unknown.
    """
    with name_scope(name):
        images = convert_to_tensor(image)
        source, target = (convert_to_tensor(p) for p in (source_control_point_locations, dest_control_point_locations))
        height, width = images.shape.as_list()[1:3] if images.shape.ndims == 4 else (None, None)
        if height is None or width is None:
            raise ShapeError(f"sparse_image_warp: height and width must be known, got {images.shape}")
        moves = target - source
        batch = shape_op(images)[0]

        def in_each(places: np.ndarray) -> Tensor:
            rows = constant(places[None].astype(target.dtype.np))
            return TILE(rows, stack([batch, constant(1, int32), constant(1, int32)]))

        if num_boundary_points > 0:
            border = in_each(_border(height, width, num_boundary_points - 1))
            target, moves = concat([target, border], 1), concat([moves, border * 0.0], 1)
        grid = in_each(np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), -1).reshape(-1, 2))
        flat = interpolate_spline(target, moves, grid, interpolation_order, regularization_weight)
        flow = RESHAPE(flat, stack([batch, *(constant(n, int32) for n in (height, width, 2))]))
        flow.set_shape([images.shape.sizes[0], height, width, 2] if images.shape.sizes else None)
        return dense_image_warp(images, flow), flow

"""Weights of losses and metrics: a scalar, or a tensor of the same rank as the values.

Each dimension of such a tensor is 1 or equals the dimension of the values.

Invariant: values have the same shape before and after weighting.
"""

from __future__ import annotations

from typing import Any

from tfnb.errors import ShapeError
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import IDENTITY, RANK, SHAPE, SIZE, expand_dims, squeeze
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.compare import EQUAL, LOGICAL_AND, LOGICAL_OR
from tfnb.types import int32

__all__ = ["of_rank", "weighted"]


def of_rank(t: Tensor, rank: int | None) -> Tensor:
    """Returns `t` without, or with, a last dimension of 1, if it then has the rank."""
    if rank is None or t.shape.ndims in (None, 0, rank):
        return t
    if t.shape.ndims == rank + 1 and t.shape.as_list()[-1] in (1, None):
        return squeeze(t, [-1])
    return expand_dims(t, -1) if t.shape.ndims == rank - 1 else t


def weighted(values: Tensor, weights: Tensor) -> Any:
    """Returns `values * weights`. Raises `ShapeError` for weights that do not fit.

    Where the ranks are known only during a run, the step raises `InvalidArgumentError`.
    """
    dims, value_dims = weights.shape.dims, values.shape.dims
    if dims == ():
        return values * weights
    if dims is not None and value_dims is not None:
        pairs = zip(dims, value_dims, strict=False)
        if len(dims) != len(value_dims) or not all(a == 1 or a is None or b is None or a == b for a, b in pairs):
            raise ShapeError(
                f"weights can not be broadcast to values: weights of shape {weights.shape}, values of {values.shape}"
            )
        return values * weights
    product = values * weights
    rank = RANK(weights)
    same_shape = LOGICAL_AND(
        EQUAL(rank, RANK(values)), EQUAL(SIZE(product, out_type=int32), SIZE(values, out_type=int32))
    )
    check = assert_that(
        LOGICAL_OR(EQUAL(rank, 0), same_shape),
        ["weights can not be broadcast to values", SHAPE(weights, out_type=int32), SHAPE(values, out_type=int32)],
    )
    with values.graph.control_dependencies([check]):
        return IDENTITY(product)

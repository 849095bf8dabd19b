"""Weights of losses and metrics: a scalar, or a tensor of the same rank as the values.

Each dimension of such a tensor is 1 or equals the dimension of the values.

Invariant: values have the same shape before and after weighting.
"""

from __future__ import annotations

import numpy as np

from tfnb.errors import ShapeError
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import ONES_LIKE
from tfnb.ops.array.shape_ops import RANK, RESHAPE, SHAPE, expand_dims, squeeze
from tfnb.ops.array.where_partition import where
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.compare import EQUAL, LOGICAL_AND, LOGICAL_OR, NOT_EQUAL
from tfnb.ops.math.reduce_functions import reduce_all
from tfnb.types import int32

__all__ = ["fits", "of_rank", "weighted"]


def of_rank(t: Tensor, rank: int | None, values: Tensor | None = None) -> Tensor:
    """Returns `t` without, or with, a last dimension of 1, if it then has the rank; a scalar as it is.

    Where a rank is not known, a step does so with the rank of `values`, if they are given.
    """
    own = t.shape.ndims
    if own == 0 or (own is not None and own == rank):
        return t
    if own is None or rank is None:
        return t if values is None else _of_rank_in_step(t, RANK(values))
    if own == rank + 1 and t.shape.as_list()[-1] in (1, None):
        return squeeze(t, [-1])
    return expand_dims(t, -1) if own == rank - 1 else t


def _of_rank_in_step(t: Tensor, rank: Tensor) -> Tensor:
    shape, own = SHAPE(t, out_type=int32), RANK(t)
    longer = concat([shape, np.ones(1, np.int32)], 0)  # also of a scalar it has an element
    drops = LOGICAL_AND(EQUAL(own, rank + 1), EQUAL(longer[own - 1], 1))
    gains = LOGICAL_AND(EQUAL(own, rank - 1), NOT_EQUAL(own, 0))
    return RESHAPE(t, longer[: where(LOGICAL_OR(drops, gains), rank, own)])


def weighted(values: Tensor, weights: Tensor) -> Tensor:
    """Returns `values * weights`. Raises `ShapeError` for weights that do not fit.

    Where the ranks are known only during a run, the step raises `InvalidArgumentError`.
    """
    with values.graph.control_dependencies(fits(values, weights)):
        return values * weights


def fits(values: Tensor, weights: Tensor) -> list[Operation]:
    """Returns the checks that a step makes whether the weights fit. Raises `ShapeError` if it is known they do not."""
    dims, value_dims = weights.shape.sizes, values.shape.sizes
    if dims == ():
        return []
    if dims is not None and value_dims is not None:
        pairs = zip(dims, value_dims, strict=False)
        if len(dims) != len(value_dims) or not all(a == 1 or a is None or b is None or a == b for a, b in pairs):
            raise ShapeError(
                f"weights can not be broadcast to values: weights of shape {weights.shape}, values of {values.shape}"
            )
        return []
    rank, shape, wanted = RANK(weights), SHAPE(weights, out_type=int32), SHAPE(values, out_type=int32)
    longer = concat([shape, ONES_LIKE(wanted)], 0)[: RANK(values)]  # as long as `wanted`, so that they compare
    each = reduce_all(LOGICAL_OR(EQUAL(longer, wanted), EQUAL(longer, 1)))
    right = LOGICAL_OR(EQUAL(rank, 0), LOGICAL_AND(EQUAL(rank, RANK(values)), each))
    return [assert_that(right, ["weights can not be broadcast to values", shape, wanted])]

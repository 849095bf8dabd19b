"""Sparse gradients without repeated rows, for optimizers.

Invariant: the result of `deduplicated` has no index twice, so a sparse update may read and write each row once.
"""

from __future__ import annotations

from tfnb.ir.indexed import IndexedSlices
from tfnb.ops.array.gather import UNSORTED_SEGMENT_SUM
from tfnb.ops.array.shape_ops import shape
from tfnb.ops.array.where_partition import unique

__all__ = ["deduplicated"]


def deduplicated(grad: IndexedSlices) -> IndexedSlices:
    """Returns an equal sparse gradient without repeated indices: the values of equal indices are summed."""
    rows, positions = unique(grad.indices)
    values = UNSORTED_SEGMENT_SUM(grad.values, positions, shape(rows)[0])
    return IndexedSlices(values, rows, grad.dense_shape)

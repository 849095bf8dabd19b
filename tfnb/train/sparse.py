"""Sparse gradients for optimizers: rows of a variable, each named once.

Invariant: after `deduplicated` no index occurs twice, so a sparse update may read and write each row once.
"""

from __future__ import annotations

from tfnb.ir.indexed import IndexedSlices
from tfnb.ops import CATALOG
from tfnb.ops.shaping import shape

__all__ = ["deduplicated"]


def deduplicated(grad: IndexedSlices) -> IndexedSlices:
    """The same sparse gradient with the values of equal indices summed."""
    unique, positions = CATALOG["Unique"](grad.indices)
    rows = shape(unique)[0]
    values = CATALOG["UnsortedSegmentSum"](grad.values, positions, rows)
    return IndexedSlices(values, unique, grad.dense_shape)

"""IndexedSlices: a tensor that is zero except for some rows (OSDI'16, section 4.2: sparse gradients of embeddings).

The gradient of a gather is one; optimizers apply it row by row. Invariant: it stands for the sum, over i, of
`values[i]` at row `indices[i]`, and can be used wherever a tensor can (rows are then summed into a dense one).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import DTypeError
from tfnb.ir.tensor import Tensor
from tfnb.types import DType, Shape
from tfnb.upcalls import upcall

__all__ = ["IndexedSlices"]


class IndexedSlices:
    """A tensor of shape `dense_shape` whose rows `indices` are `values`; all other rows are zero.

    `values` has the shape (n, ...), `indices` the shape (n,). `dense_shape` is an integer vector, or None if the shape
    is not known.
    """

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | np.ndarray | None = None) -> None:
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    @property
    def graph(self) -> Any:
        """The graph of the values."""
        return self.values.graph

    @property
    def op(self) -> Any:
        """The operation that makes the values."""
        return self.values.op

    @property
    def name(self) -> str:
        """The name of the values."""
        return self.values.name

    @property
    def device(self) -> str:
        """The device of the values."""
        return self.values.device

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def shape(self) -> Shape:
        """The static shape of the dense tensor."""
        return upcall("indexed_shape", self)

    def get_shape(self) -> Shape:
        """Returns the static shape of the dense tensor."""
        return self.shape

    def __tensor__(self, dtype: DType | None = None, as_ref: bool = False) -> Tensor:
        """Returns the dense tensor; rows that occur several times are summed. Raises `DTypeError` for another dtype."""
        if dtype is not None and dtype is not self.dtype:
            raise DTypeError(f"indexed slices of {self.dtype.name} cannot be a tensor of {dtype.name}")
        return upcall("densify", self)

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(upcall("neg", self.values), self.indices, self.dense_shape)

    def __repr__(self) -> str:
        return f"<tf.IndexedSlices values={self.values!r} indices={self.indices!r} dense_shape={self.dense_shape!r}>"

"""The reference to a variable's state: its properties, and the operations that update the state in place.

Invariant: each update is a node that takes the reference of the variable's `VariableV2` node, never a value of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.state.scatter import SCATTER_SUB
from tfnb.ops.state.variables import ASSIGN, ASSIGN_ADD, ASSIGN_SUB, COUNT_UP_TO
from tfnb.types import DType, Shape

__all__ = ["VariableReference"]


class VariableReference:
    """The part of a variable that concerns its reference: name, dtype, shape, and updates in place."""

    _cell: Tensor

    if not TYPE_CHECKING:  # which knows the attributes, and says of others that they are missing

        def __getattr__(self, name: str) -> object:
            missing = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name == "numpy":
                raise AttributeError(
                    f"{missing}: a session holds the value of {self.name}; use value = session.run(variable)"
                )
            raise AttributeError(missing)

    def _ref(self) -> Tensor:
        """Returns the reference, which programs of the time ask for by this name."""
        return self._cell

    @property
    def name(self) -> str:
        """The name of the variable's tensor, such as "weights:0"."""
        return self._cell.name

    @property
    def op(self) -> Operation:
        """The `VariableV2` operation that owns the buffer."""
        return self._cell.op

    @property
    def device(self) -> str:
        """The device that the program asked for; "" where it asked for none."""
        return self._cell.device

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._cell.dtype

    @property
    def shape(self) -> Shape:
        """The static shape."""
        return self._cell.shape

    def get_shape(self) -> Shape:
        """Returns the static shape."""
        return self._cell.shape

    def assign(self, value: TensorLike, use_locking: bool = False) -> Tensor:
        """Returns a tensor whose computation sets the variable to `value`, of the same shape and dtype."""
        return ASSIGN(self._cell, value, use_locking=use_locking)

    def assign_add(self, delta: TensorLike, use_locking: bool = False) -> Tensor:
        """Returns a tensor whose computation adds `delta`, of the same shape and dtype, to the variable."""
        return ASSIGN_ADD(self._cell, delta, use_locking=use_locking)

    def assign_sub(self, delta: TensorLike, use_locking: bool = False) -> Tensor:
        """Returns a tensor whose computation subtracts `delta`, of the same shape and dtype, from the variable."""
        return ASSIGN_SUB(self._cell, delta, use_locking=use_locking)

    def count_up_to(self, limit: int) -> Tensor:
        """Returns a tensor that adds 1 to the integer scalar, and is the value before; it fails from `limit` on.

        The step raises `OutOfRangeError` when the variable has reached `limit`.
        """
        return COUNT_UP_TO(self._cell, limit=limit)

    def scatter_sub(self, sparse_delta: IndexedSlices, use_locking: bool = False) -> Tensor:
        """Returns a tensor whose computation subtracts the rows of `sparse_delta`, an `IndexedSlices`, from rows."""
        return SCATTER_SUB(self._cell, sparse_delta.indices, sparse_delta.values, use_locking=use_locking)

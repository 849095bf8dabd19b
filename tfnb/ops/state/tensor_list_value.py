"""The value of a variant tensor that is a list of tensors or an optional (TensorFlow 1.x's control flow v2).

Lists are immutable values: an op that changes a list returns a new one. Appending shares the common elements, so a loop
that appends does not copy. Invariant: the elements of a list up to its length never change.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.types import DType, Shape

__all__ = ["Optional", "TensorList"]


class TensorList:
    """Elements of one dtype with shapes compatible with `shape`; None marks an element that was not set.

    The list has at most `limit` elements if that is not negative.
    """

    __slots__ = ("_items", "_lock", "dtype", "length", "limit", "shape")

    def __init__(self, dtype: DType, shape: Shape, items: Sequence[Any] = (), limit: int = -1) -> None:
        self.dtype = dtype
        self.shape = shape
        self.limit = limit
        self._items = list(items)
        self._lock = threading.Lock()
        self.length = len(self._items)

    def __len__(self) -> int:
        return self.length

    @property
    def items(self) -> list[Any]:
        return self._items[: self.length]

    def with_items(self, items: Sequence[Any]) -> TensorList:
        """Returns a list with the same dtype, shape and limit but other elements."""
        return TensorList(self.dtype, self.shape, items, self.limit)

    def check(self, shape: tuple[int, ...], what: str) -> None:
        """Raises `ShapeError` when an element of this shape is not compatible with the list."""
        if not self.shape.is_compatible_with(Shape(shape)):
            raise ShapeError(f"{what}: the list's elements have shape {self.shape}, got one of shape {Shape(shape)}")

    def place(self, index: int, what: str) -> int:
        """Returns the index, checked. Raises `InvalidArgumentError` for an index that is not in the list."""
        if not 0 <= index < self.length:
            raise InvalidArgumentError(f"{what}: the index {index} is not in the list of {self.length} elements")
        return index

    def pushed(self, item: object) -> TensorList:
        """Returns the list with one more element."""
        if 0 <= self.limit <= self.length:
            raise InvalidArgumentError(f"TensorListPushBack: the list holds {self.length} elements, its maximum")
        with self._lock:
            if len(self._items) == self.length:  # no other list has appended to the shared elements
                self._items.append(item)
                return self._sharing(self.length + 1)
        return self.with_items([*self.items, item])

    def popped(self) -> tuple[TensorList, Any]:
        """Returns (the list without its last element, the last element)."""
        if not self.length:
            raise InvalidArgumentError("TensorListPopBack: the list is empty")
        return self._sharing(self.length - 1), self._items[self.length - 1]

    def replaced(self, index: int, item: object) -> TensorList:
        """Returns the list with another element at `index`."""
        items = self.items
        items[index] = item
        return self.with_items(items)

    def _sharing(self, length: int) -> TensorList:
        copy = TensorList(self.dtype, self.shape, (), self.limit)
        copy._items, copy._lock, copy.length = self._items, self._lock, length
        return copy

    def merged(self, other: TensorList) -> TensorList:
        """Checks that `other` has the same length and dtype. Raises `InvalidArgumentError` or `DTypeError`."""
        if len(self) != len(other):
            raise InvalidArgumentError(f"cannot add lists of {len(self)} and {len(other)} elements")
        if self.dtype is not other.dtype:
            raise DTypeError(f"cannot add lists of {self.dtype.name} and {other.dtype.name}")
        return TensorList(self.dtype, self.shape.merge_with(other.shape), self.items, self.limit)


class Optional:
    """Tensors or nothing (`components` is None), which is the value from a branch that was not taken."""

    __slots__ = ("components",)

    def __init__(self, components: tuple[Any, ...] | None = None) -> None:
        self.components = components

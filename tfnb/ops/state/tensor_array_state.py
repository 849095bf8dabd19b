"""TensorArrayState: the contents of a tensor array while a step runs (white paper, section 4.4).

Elements are runtime values, so those that were computed on a device stay there. Invariant: an element is written once
and never changed; only in a gradient array are several writes to one element added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tfnb.errors import FailedPreconditionError, InvalidArgumentError
from tfnb.types import DType, Shape, bracketed

__all__ = ["TensorArrayState"]


class _Read:
    """Marks an element that was read and freed."""


_READ = _Read()


class ValueTools(Protocol):
    """What an array needs of `runtime.value_tools.ValueTools`, on values that may be on a device."""

    def shape(self, value: Any, /) -> tuple[int, ...]: ...

    def add(self, values: Sequence[Any], /) -> Any: ...


class TensorArrayState:
    """`forward` is the array whose gradient this array collects, or None.

    A gradient array refers only to the shapes of its forward array: a reference cycle would keep the elements of both
    alive until the garbage collector runs.
    """

    def __init__(
        self,
        dtype: DType,
        size: int,
        shape: Shape,
        dynamic: bool = False,
        clear: bool = True,
        same_shapes: bool = False,
        name: str = "",
        forward: TensorArrayState | None = None,
    ) -> None:
        if size < 0:
            raise InvalidArgumentError(f"TensorArray {name!r}: the size must not be negative, got {size}")
        self.dtype = dtype
        self.shape = shape
        self.dynamic = dynamic
        self.clear = clear
        self.same_shapes = same_shapes
        self.name = name
        self._forward_shapes = None if forward is None else forward.shapes
        self.gradients: dict[str, TensorArrayState] = {}
        self.elements: list[Any] = [None] * size
        self.shapes: list[tuple[int, ...] | None] = [None] * size  # kept after the element is freed
        self.closed = False

    def __len__(self) -> int:
        self._check_open()
        return len(self.elements)

    def gradient(self, source: str) -> TensorArrayState:
        """Returns the array that collects the gradients of this array's elements, one per `source`.

        The gradient of a gradient array keeps its elements, since all contributions to one element read the same one.
        """
        self._check_open()
        clear = self.clear and self._forward_shapes is None
        state = self.gradients.get(source)
        if state is None:
            state = self.gradients[source] = TensorArrayState(
                self.dtype,
                len(self.elements),
                self.shape,
                False,
                clear,
                self.same_shapes,
                f"{self.name}_grad",
                self,
            )
        return state

    def write(self, index: int, value: object, tools: ValueTools, learn: bool = True) -> None:
        """Sets an element. With `learn`, all elements of an array of identical shapes must have its shape then on."""
        self._check_open()
        if self.dynamic and index >= len(self.elements):
            missing = index + 1 - len(self.elements)
            self.elements += [None] * missing
            self.shapes += [None] * missing
        self._check_index(index, "write to")
        shape = tuple(tools.shape(value))
        self._check_shape(index, shape, learn)
        old = self.elements[index]
        if old is _READ:
            raise InvalidArgumentError(
                f"TensorArray {self.name}: Could not write to TensorArray index {index} because it has already been "
                "read."
            )
        if old is not None and self._forward_shapes is None:
            raise InvalidArgumentError(
                f"TensorArray {self.name}: Could not write to TensorArray index {index} because it has already been "
                "written to."
            )
        if old is not None and self.shapes[index] != shape:
            raise InvalidArgumentError(
                f"TensorArray {self.name}: Could not aggregate to TensorArray index {index} because the existing shape "
                f"is {bracketed(self.shapes[index])} but the new input shape is {bracketed(shape)}."
            )
        self.elements[index] = value if old is None else tools.add([old, value])
        self.shapes[index] = shape

    def read(self, index: int, tools: ValueTools) -> Any:
        self._check_open()
        self._check_index(index, "read from")
        value = self.elements[index]
        if value is _READ:
            raise InvalidArgumentError(
                f"TensorArray {self.name}: Could not read index {index} twice because it was cleared after a previous "
                "read (perhaps try setting clear_after_read = false?)."
            )
        if value is None:
            value = np.zeros(self._zero_shape(index), self.dtype.np)
        if self.clear:
            self.elements[index] = _READ
        return value

    def read_many(self, indices: Sequence[int], tools: ValueTools) -> list[Any]:
        return [self.read(i, tools) for i in indices]

    def close(self) -> None:
        self.closed = True
        self.elements.clear()
        self.gradients.clear()

    def _zero_shape(self, index: int) -> tuple[int, ...]:
        """The shape of the zeros that stand for an element that was never written."""
        shape = None if self._forward_shapes is None else self._forward_shapes[index]
        if shape is not None:
            return shape
        if not self.shape.is_fully_defined():
            raise InvalidArgumentError(
                f"TensorArray {self.name!r}: could not read index {index}, nothing was written there, and zeros "
                f"need an element_shape that is fully known, not {self.shape}"
            )
        return self.shape.known()

    def _check_open(self) -> None:
        if self.closed:
            raise FailedPreconditionError(f"TensorArray {self.name!r} has been closed")

    def _check_index(self, index: int, what: str) -> None:
        if not 0 <= index < len(self.elements):
            fixed = "" if self.dynamic and what == "write to" else "array is not resizeable and "
            raise InvalidArgumentError(
                f"TensorArray {self.name}: Tried to {what} index {index} but {fixed}size is: {len(self.elements)}"
            )

    def _check_shape(self, index: int, shape: tuple[int, ...], learn: bool) -> None:
        if shape == self.shape.sizes:  # as for all elements but the first of most arrays
            return
        if not self.shape.is_compatible_with(Shape(shape)):
            raise InvalidArgumentError(
                f"TensorArray {self.name!r}: could not write to index {index}, the value has shape {list(shape)}, "
                f"the elements {self.shape}"
            )
        if self.same_shapes and learn:
            self.shape = Shape(shape)

"""One dimension of a static shape, as programs of TensorFlow 1 read it: `tensor.get_shape()[0].value`.

Invariant: a size is an integer >= 0, a formula, or None, which is unknown; what is computed with an unknown size is
unknown too, and a comparison with one is None.
"""

from __future__ import annotations

from collections.abc import Callable

from tfnb.errors import DTypeError, ShapeError
from tfnb.sizes import Size

__all__ = ["Dimension", "size_of"]


class Dimension:
    """One dimension of a static shape, as in TensorFlow 1: `value` is an int, or None if the size is unknown."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = size_of(value)

    def __int__(self) -> int:
        if self.value is None:
            raise ShapeError("an unknown Dimension has no value until the graph runs; use tf.shape(tensor) for it")
        return self.value

    __index__ = __int__

    def __eq__(self, other: object) -> bool | None:  # type: ignore[override]
        """Whether the sizes are equal; None, which counts as False, if one is unknown."""
        try:
            size = size_of(other)
        except (TypeError, ValueError):
            return NotImplemented
        return None if self.value is None or size is None else bool(self.value == size)

    def __ne__(self, other: object) -> bool | None:  # type: ignore[override]
        """Whether the sizes differ; None if one is unknown."""
        equal = self.__eq__(other)
        return equal if equal is None or equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return hash(self.value)

    def is_compatible_with(self, other: object) -> bool:
        """Returns whether a dimension can have both this size and `other`: they are equal, or one is unknown."""
        size = size_of(other)
        return self.value is None or size is None or self.value == size

    def assert_is_compatible_with(self, other: object) -> None:
        """Raises `ShapeError` unless a dimension can have both this size and `other`."""
        if not self.is_compatible_with(other):
            raise ShapeError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: object) -> Dimension:
        """Returns the size of a dimension that has this size and `other`. Raises `ShapeError` if they are known and
        differ.
        """
        self.assert_is_compatible_with(other)
        return Dimension(size_of(other) if self.value is None else self.value)

    def _with(self, other: object, f: Callable[[int, int], int]) -> Dimension:
        size = size_of(other)
        return Dimension(None if self.value is None or size is None else f(self.value, size))

    def __add__(self, other: object) -> Dimension:
        return self._with(other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: object) -> Dimension:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: object) -> Dimension:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: object) -> Dimension:
        return self._with(other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __floordiv__(self, other: object) -> Dimension:
        return self._with(other, lambda a, b: a // b)

    def __mod__(self, other: object) -> Dimension:
        return self._with(other, lambda a, b: a % b)

    def _compared(self, other: object, f: Callable[[int, int], bool]) -> bool | None:
        """Returns the outcome of a comparison; None, which counts as False, if one size is unknown."""
        size = size_of(other)
        return None if self.value is None or size is None else f(self.value, size)

    def __lt__(self, other: object) -> bool | None:
        return self._compared(other, lambda a, b: a < b)

    def __gt__(self, other: object) -> bool | None:
        return self._compared(other, lambda a, b: a > b)

    def __le__(self, other: object) -> bool | None:
        return self._compared(other, lambda a, b: a <= b)

    def __ge__(self, other: object) -> bool | None:
        return self._compared(other, lambda a, b: a >= b)

    def __repr__(self) -> str:
        return f"Dimension({self.value})"

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)


def size_of(value: object) -> int | None:
    """Returns a dimension as an integer or None: of a number without a fraction, or of a text that is an integer."""
    if isinstance(value, Dimension):
        return value.value
    if value is None or isinstance(value, Size):
        return value
    try:
        n = value.__index__()  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        n = _integer_of(value)
    if n < 0:
        raise ShapeError(f"Dimension {n} must be >= 0; a dimension is an integer, or None if it is unknown")
    return int(n)


def _integer_of(value: object) -> int:
    try:
        n = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        raise DTypeError(f"a dimension must be an integer or None, not {value!r}") from None
    if not isinstance(value, (str, bytes)) and n != value:
        raise ShapeError(f"Ambiguous dimension: {value!r}; a dimension must be an integer or None")
    return n

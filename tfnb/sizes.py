"""Sizes: integers that stand for all values of the same class, so that one compilation serves many shapes.

A `Size` is a formula over symbols, which are dimensions of tensors that are known only when a step runs. It also has a
value, which it takes for the shapes that caused the compilation, called the example. Arithmetic of sizes gives sizes.
Where a computation branches on a size, or needs it as a plain number, its trace (`size_trace.py`) notes the outcome as
a condition. Another example for which all conditions hold would take the same branches, so the formulas give its
results too, without the computation. Invariant: no operation but `value_of` and `repr` gives out the value of a size
without a note.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, SupportsInt, cast

import numpy as np

from tfnb.size_terms import Terms, atom_text, terms_text

__all__ = [
    "AnySize",
    "Size",
    "derived",
    "integer",
    "largest",
    "plain",
    "same",
    "same_dims",
    "smallest",
    "typical",
    "value_of",
]


class Trace(Protocol):
    """What sizes ask of their trace; `tfnb/size_trace.py` has the one class that implements it."""

    def sum(self, a: AnySize, b: AnySize, sign: int) -> AnySize: ...

    def product(self, a: AnySize, b: AnySize) -> AnySize: ...

    def quotient(self, a: AnySize, b: AnySize) -> AnySize: ...

    def atom(self, kind: str, operands: tuple[AnySize, ...]) -> AnySize: ...

    def call(self, function: Callable[..., int], arguments: tuple[Any, ...], lower: int | None) -> AnySize: ...

    def known_sign(self, n: AnySize) -> int | None: ...

    def is_zero(self, n: AnySize) -> bool: ...

    def is_positive(self, n: Size) -> bool: ...

    def typical(self, n: Size) -> int: ...

    def fixed(self, n: Size) -> int: ...


if TYPE_CHECKING:
    Number = int  # type checkers take a size for a number, with whose operations it stands for one
else:
    Number = object


class Size(Number):
    """An integer as a formula over symbols; `trace` holds the conditions under which it is used.

    Equal formulas of a trace are the same object. Sizes are hashed by their formula, so a dictionary distinguishes
    formulas that only happen to have equal values; `==` compares the values, and notes the outcome.
    """

    __slots__ = ("__weakref__", "_hash", "terms", "trace", "value")

    def __init__(self, trace: Trace, terms: Terms, value: int, number: int) -> None:
        self.trace, self.terms, self.value = trace, terms, value
        self._hash = hash(("Size", id(trace), number))

    # arithmetic

    def __add__(self, other: AnySize) -> AnySize:
        return self.trace.sum(self, other, 1) if isinstance(other, (int, Size)) else _other(other, self.__add__)

    __radd__ = __add__

    def __sub__(self, other: AnySize) -> AnySize:
        return self.trace.sum(self, other, -1) if isinstance(other, (int, Size)) else _other(other, self.__sub__)

    def __rsub__(self, other: AnySize) -> AnySize:
        return (-self) + other

    def __neg__(self) -> AnySize:
        return self.trace.product(self, -1)

    def __pos__(self) -> Size:
        return self

    def __mul__(self, other: AnySize) -> AnySize:
        return self.trace.product(self, other) if isinstance(other, (int, Size)) else _other(other, self.__mul__)

    __rmul__ = __mul__

    def __floordiv__(self, other: AnySize) -> AnySize:
        return self.trace.quotient(self, other) if isinstance(other, (int, Size)) else _other(other, self.__floordiv__)

    def __rfloordiv__(self, other: AnySize) -> AnySize:
        return self.trace.quotient(other, self) if isinstance(other, int) else _other(other, self.__rfloordiv__)

    def __mod__(self, other: AnySize) -> AnySize:
        return self - (self // other) * other if isinstance(other, (int, Size)) else _other(other, self.__mod__)

    def __rmod__(self, other: AnySize) -> AnySize:
        return other - (other // self) * self if isinstance(other, int) else _other(other, self.__rmod__)

    def __divmod__(self, other: AnySize) -> tuple[AnySize, AnySize]:
        return self // other, self % other

    def __rdivmod__(self, other: AnySize) -> tuple[AnySize, AnySize]:
        return other // self, other % self

    def __pow__(self, exponent: int) -> AnySize:  # type: ignore[override]  # there is no third argument
        power: AnySize = 1
        for _ in range(exponent):
            power = power * self
        return power

    def __abs__(self) -> AnySize:
        return self if self >= 0 else -self

    # outcomes, which the trace notes

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Size) and other.trace is not self.trace:
            return False
        if isinstance(other, (Size, int)) or hasattr(other, "__index__"):
            return self.trace.is_zero(self - cast("AnySize", other))
        return float(self) == other if isinstance(other, float) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: AnySize) -> bool:
        return _is_positive(other - self) if isinstance(other, (int, Size)) else float(self) < other

    def __le__(self, other: AnySize) -> bool:
        return not _is_positive(self - other) if isinstance(other, (int, Size)) else float(self) <= other

    def __gt__(self, other: AnySize) -> bool:
        return _is_positive(self - other) if isinstance(other, (int, Size)) else float(self) > other

    def __ge__(self, other: AnySize) -> bool:
        return not _is_positive(other - self) if isinstance(other, (int, Size)) else float(self) >= other

    def __bool__(self) -> bool:
        return not self.trace.is_zero(self)

    def __index__(self) -> int:
        return self.trace.fixed(self)

    def __int__(self) -> int:
        return self.trace.fixed(self)

    def __float__(self) -> float:
        return float(self.trace.fixed(self))

    def __truediv__(self, other: float) -> float:
        return int(self) / other

    def __rtruediv__(self, other: float) -> float:
        return other / int(self)

    def __str__(self) -> str:
        return str(self.trace.fixed(self))

    def __format__(self, spec: str) -> str:
        return format(self.trace.fixed(self), spec)

    def __repr__(self) -> str:
        """Returns the value as text, for messages: unlike other operations, this notes nothing."""
        return str(self.value)

    def __deepcopy__(self, memo: object) -> Size:
        return self

    @property
    def formula(self) -> str:
        """The formula as text in Python, for messages and tests."""
        return terms_text(self.terms, lambda a: atom_text(a, lambda n: n.formula if isinstance(n, Size) else str(n)))


AnySize = int
"""A number, or a `Size` that stands for one and has the operations of a number, which type checkers take it for."""


def _other(other: object, operation: Callable[[AnySize], AnySize]) -> Any:
    """Returns the result of an operation with an operand of another type: a NumPy integer is a plain one."""
    if isinstance(other, SupportsIndex) and getattr(other, "ndim", 0) == 0:
        return operation(other.__index__())
    return NotImplemented


def value_of(n: AnySize) -> int:
    """Returns the value of a size in the example. Only what does not change results may depend on it."""
    return n.value if isinstance(n, Size) else n


def plain(n: AnySize) -> bool:
    """Returns whether `n` is a number, and no formula."""
    return not isinstance(n, Size)


def same(a: AnySize, b: AnySize) -> bool:
    """Returns whether two sizes are equal in all examples; others may be equal in some. Notes nothing."""
    return a is b or not (isinstance(a, Size) or isinstance(b, Size)) and a == b


def same_dims(a: Sequence[AnySize], b: Sequence[AnySize]) -> bool:
    """Returns whether two shapes are equal in all examples, and notes nothing."""
    return len(a) == len(b) and all(map(same, a, b))


def typical(n: AnySize) -> int:
    """Returns the value that a size has when each symbol is 64.

    For decisions that must be equal for all shapes of a class and for which a rough size is enough. Notes nothing.
    """
    return n.trace.typical(n) if isinstance(n, Size) else n


def integer(n: SupportsInt | np.ndarray) -> AnySize:
    """Returns `int(n)`, or a size as it is."""
    while isinstance(n, np.ndarray) and n.dtype == object:
        n = n.item()
    return n if isinstance(n, Size) else int(n)


def smallest(first: AnySize, *others: AnySize) -> AnySize:
    """Returns the smallest of sizes as a formula, where `min` would note which one it is."""
    return functools.reduce(lambda a, b: _extreme("min", a, b), others, first)


def largest(first: AnySize, *others: AnySize) -> AnySize:
    """Returns the largest of sizes as a formula, where `max` would note which one it is."""
    return functools.reduce(lambda a, b: _extreme("max", a, b), others, first)


def derived(function: Callable[..., Any], *arguments: object, lower: int | None = None) -> AnySize:
    """Returns `function(*arguments)` as a formula if sizes are among the arguments.

    The function must be pure, and `lower` a number below which its result never is. It is called again for each
    example, so that no condition on the arguments is noted. A float as its result may only become a kernel's argument.
    """
    trace = next((n.trace for n in arguments if isinstance(n, Size)), None)
    return cast(AnySize, function(*arguments)) if trace is None else trace.call(function, arguments, lower)


def _extreme(kind: str, a: AnySize, b: AnySize) -> AnySize:
    trace = a.trace if isinstance(a, Size) else b.trace if isinstance(b, Size) else None
    if trace is None:
        return min(a, b) if kind == "min" else max(a, b)
    is_larger = trace.known_sign(a - b)
    if is_larger is not None:
        return a if (is_larger >= 0) == (kind == "max") else b
    return trace.atom(kind, (a, b))


def _is_positive(difference: AnySize) -> bool:
    return difference > 0 if isinstance(difference, int) else difference.trace.is_positive(difference)

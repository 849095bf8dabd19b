"""Sizes: integers that stand for all values of the same class, so that one compilation serves many shapes.

A `Size` is a formula over symbols, which are dimensions of tensors that are known only when a step runs. It also has a
value, which it takes for the shapes that caused the compilation, called the example. Arithmetic of sizes gives sizes.
Where a computation branches on a size, or needs it as a plain number, the `SizeTrace` notes the outcome as a condition.
Another example for which all conditions hold would take the same branches, so the formulas give its results too,
without the computation. Invariant: no operation but `value_of` and `repr` gives out the value of a size without a note.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex, cast

import numpy as np

from tfnb.size_terms import LEAST, Atom, Terms, atom_text, evaluator, lower_bound, number_of, terms_of, terms_text

__all__ = [
    "AnySize",
    "Size",
    "SizeTrace",
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

TYPICAL = 64  # the value of each symbol where one decision is made for all examples

_COMPUTE: dict[str, Callable[..., int]] = {"//": operator.floordiv, "min": min, "max": max}


class Size:
    """An integer as a formula over symbols; `trace` holds the conditions under which it is used.

    Equal formulas of a trace are the same object. Sizes are hashed by their formula, so a dictionary distinguishes
    formulas that only happen to have equal values; `==` compares the values, and notes the outcome.
    """

    __slots__ = ("__weakref__", "_hash", "terms", "trace", "value")

    def __init__(self, trace: SizeTrace, terms: Terms, value: int, number: int) -> None:
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

    def __pow__(self, exponent: int) -> AnySize:
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


def _other(other: Any, operation: Callable[[AnySize], AnySize]) -> Any:
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


def integer(n: Any) -> AnySize:
    """Returns `int(n)`, or a size as it is."""
    while isinstance(n, np.ndarray) and n.dtype == object:
        n = n.item()
    return n if isinstance(n, Size) else int(n)  # type: ignore[return-value]


def smallest(first: AnySize, *others: AnySize) -> AnySize:
    """Returns the smallest of sizes as a formula, where `min` would note which one it is."""
    return functools.reduce(lambda a, b: _extreme("min", a, b), others, first)


def largest(first: AnySize, *others: AnySize) -> AnySize:
    """Returns the largest of sizes as a formula, where `max` would note which one it is."""
    return functools.reduce(lambda a, b: _extreme("max", a, b), others, first)


def derived(function: Callable[..., int], *arguments: Any, lower: int | None = None) -> AnySize:
    """Returns `function(*arguments)` as a formula if sizes are among the arguments.

    The function must be pure, and `lower` a number below which its result never is. It is called again for each
    example, so that no condition on the arguments is noted.
    """
    trace = next((n.trace for n in arguments if isinstance(n, Size)), None)
    return function(*arguments) if trace is None else trace.call(function, arguments, lower)


def _extreme(kind: str, a: AnySize, b: AnySize) -> AnySize:
    trace = a.trace if isinstance(a, Size) else b.trace if isinstance(b, Size) else None
    if trace is None:
        return min(a, b) if kind == "min" else max(a, b)  # type: ignore[type-var]
    is_larger = trace.known_sign(a - b)
    if is_larger is not None:
        return a if (is_larger >= 0) == (kind == "max") else b
    return trace.atom(kind, (a, b))


def _is_positive(difference: AnySize) -> bool:
    return difference > 0 if isinstance(difference, int) else difference.trace.is_positive(difference)


class SizeTrace:
    """The symbols of one computation, and the conditions on them that it has noted.

    Not for use by several threads at once.
    """

    def __init__(self) -> None:
        self.symbols: list[Size] = []
        self.conditions: dict[tuple[str, Size], None] = {}
        self._sizes: dict[frozenset[tuple[tuple[Atom, ...], int]], Size] = {}
        self._atoms: dict[tuple[object, ...], Atom] = {}
        self._results: dict[tuple[object, ...], AnySize] = {}
        self._typical: dict[Atom, int] = {}
        self.bounds: dict[Size, int | None] = {}

    def symbol(self, value: int) -> Size:
        """Returns a new symbol.

        Its value in the example is `value`, which is at least 2 and not that of another symbol: dimensions that are
        equal in the example are one symbol, and the formulas hold only where those and no others are equal.
        """
        atom = Atom(len(self._atoms), "symbol", (), value, LEAST)
        self._atoms["symbol", len(self.symbols)] = atom
        size = cast(Size, self._size({(atom,): 1}))
        self.symbols.append(size)
        return size

    # arithmetic

    def _size(self, terms: Terms) -> AnySize:
        if not terms:
            return 0
        if len(terms) == 1 and () in terms:
            return terms[()]
        key = frozenset(terms.items())
        size = self._sizes.get(key)
        if size is None:
            value = 0
            for atoms, factor in terms.items():
                for atom in atoms:
                    factor *= atom.value
                value += factor
            size = self._sizes[key] = Size(self, terms, value, len(self._sizes))
        return size

    def sum(self, a: AnySize, b: AnySize, sign: int) -> AnySize:
        """Returns `a + sign * b`."""
        key = ("+", a, b, sign)
        result = self._results.get(key)
        if result is None:
            terms = dict(terms_of(a))
            for atoms, factor in terms_of(b).items():
                total = terms.get(atoms, 0) + sign * factor
                if total:
                    terms[atoms] = total
                else:
                    terms.pop(atoms, None)
            result = self._results[key] = self._size(terms)
        return result

    def product(self, a: AnySize, b: AnySize) -> AnySize:
        """Returns `a * b`."""
        key = ("*", a, b)
        result = self._results.get(key)
        if result is None:
            terms: Terms = {}
            for atoms, factor in terms_of(a).items():
                for more, other_factor in terms_of(b).items():
                    both = tuple(sorted((*atoms, *more), key=number_of))
                    total = terms.get(both, 0) + factor * other_factor
                    if total:
                        terms[both] = total
                    else:
                        terms.pop(both, None)
            result = self._results[key] = self._size(terms)
        return result

    def quotient(self, a: AnySize, b: AnySize) -> AnySize:
        """Returns `a // b`. Raises ZeroDivisionError if b is 0 in the example."""
        key = ("//", a, b)
        result = self._results.get(key)
        if result is None:
            if b == 0:
                raise ZeroDivisionError("integer division by zero")
            result = self._results[key] = self._quotient(a, b)
        return result

    def _quotient(self, a: AnySize, b: AnySize) -> AnySize:
        if isinstance(a, Size) and a is b:
            return 1
        exact, rest = self._divided(a, b)
        if isinstance(rest, int) and isinstance(b, int):
            return exact + rest // b
        lower = self.known_sign(rest)
        if lower is not None and lower >= 0 and self.known_sign(b - rest) == 1:
            return exact  # 0 <= rest < b
        if lower == -1 and self.known_sign(b + rest) in (0, 1):
            return exact - 1  # -b <= rest < 0
        return exact + self.atom("//", (rest, b))

    def _divided(self, a: AnySize, b: AnySize) -> tuple[AnySize, AnySize]:
        """Returns two sizes with a = first * b + second, by dividing each term of `a` if `b` is a single term."""
        divisor = terms_of(b)
        if len(divisor) != 1:
            return 0, a
        ((atoms, factor),) = divisor.items()
        exact: Terms = {}
        rest: Terms = {}
        for product, coefficient in terms_of(a).items():
            remaining = list(product)
            for atom in atoms:
                if atom not in remaining:
                    break
                remaining.remove(atom)
            else:
                whole = coefficient // factor
                if atoms and whole * factor != coefficient:  # only numbers may be divided with a remainder
                    rest[product] = coefficient
                    continue
                if whole:
                    exact[tuple(remaining)] = whole
                if coefficient - whole * factor:
                    rest[product] = coefficient - whole * factor
                continue
            rest[product] = coefficient
        return self._size(exact), self._size(rest)

    def atom(self, kind: str, operands: tuple[AnySize, ...]) -> AnySize:
        """Returns the size that is the quotient ("//"), "min" or "max" of the operands."""
        atom = self._atoms.get((kind, *operands))
        if atom is None:
            value = _COMPUTE[kind](*(value_of(n) for n in operands))
            atom = Atom(len(self._atoms), kind, operands, value, _lower_of(kind, operands))
            self._atoms[(kind, *operands)] = atom
        return self._size({(atom,): 1})

    def call(self, function: Callable[..., int], arguments: tuple[Any, ...], lower: int | None) -> AnySize:
        """Returns the size that is the result of a function."""
        key = ("call", function, *arguments)
        atom = self._atoms.get(key)
        if atom is None:
            value = function(*(value_of(n) for n in arguments))
            atom = self._atoms[key] = Atom(len(self._atoms), "call", (function, *arguments), value, lower)
        return self._size({(atom,): 1})

    # outcomes

    def known_sign(self, n: AnySize) -> int | None:
        """Returns 1 if `n` is positive for all values of the symbols, 0 if it is never negative, -1 if it is negative.

        Returns None if the bounds of the symbols do not decide it.
        """
        if isinstance(n, int):
            return (n > 0) - (n < 0)
        low = _lower(n)
        if low is not None and low >= 0:
            return 1 if low > 0 else 0
        high = _lower(self.product(n, -1))
        return -1 if high is not None and high > 0 else None

    def is_zero(self, n: AnySize) -> bool:
        """Returns whether `n` is 0, and notes it."""
        if isinstance(n, int):
            return n == 0
        if self.known_sign(n) in (1, -1) or _is_difference_of_symbols(n):
            return False
        self.conditions["==" if n.value == 0 else "!=", n] = None
        return n.value == 0

    def is_positive(self, n: Size) -> bool:
        """Returns whether `n` is positive, and notes it."""
        low = _lower(n)
        if low is not None and low > 0:
            return True
        high = _lower(self.product(n, -1))
        if high is not None and high >= 0:
            return False
        self.conditions[">" if n.value > 0 else "<=", n] = None
        return n.value > 0

    def typical(self, n: Size) -> int:
        """Returns the value of `n` when each symbol is 64."""
        total = 0
        for atoms, factor in n.terms.items():
            for atom in atoms:
                factor *= self._typical_atom(atom)
            total += factor
        return total

    def _typical_atom(self, atom: Atom) -> int:
        if atom not in self._typical:
            operands = [typical(n) if isinstance(n, Size) else n for n in atom.operands]
            if atom.kind == "symbol":
                value = TYPICAL
            elif atom.kind == "call":
                value = operands[0](*operands[1:])
            elif atom.kind == "//" and operands[1] == 0:
                value = 0  # the divisor is not 0 in the examples, so that any number will do
            else:
                value = _COMPUTE[atom.kind](*operands)
            self._typical[atom] = value
        return self._typical[atom]

    def fixed(self, n: Size) -> int:
        """Returns the value of `n`, and notes that it must be this one."""
        self.conditions["==", cast(Size, n - n.value)] = None
        if n.trace.on_fixed is not None:
            n.trace.on_fixed(n)
        return n.value

    on_fixed: Callable[[Size], None] | None = None
    """Called with each size that must be a plain number, to learn where formulas are lost."""

    def forget_results(self) -> None:
        """Frees the memory of intermediate results, when no more formulas will be made."""
        for results in (self._sizes, self._results, self._typical, self.bounds):
            results.clear()

    # the formulas as a function

    def function(self, sizes: Sequence[AnySize | Size]) -> Callable[[Sequence[int]], tuple[int, ...] | None]:
        """Returns a function from values of the symbols to the values of `sizes`.

        For values for which a condition of this trace does not hold, the function returns None.
        """
        return evaluator(self.symbols, list(self.conditions), sizes)


def _is_difference_of_symbols(n: Size) -> bool:
    """Returns whether `n` is one symbol minus another: two symbols never have the same value."""
    return (
        len(n.terms) == 2
        and sorted(n.terms.values()) == [-1, 1]
        and all(len(atoms) == 1 and atoms[0].kind == "symbol" for atoms in n.terms)
    )


def _lower(n: AnySize) -> int | None:
    """Returns a number below which `n` never is, or None if none is known."""
    if isinstance(n, int):
        return n
    if n not in n.trace.bounds:
        n.trace.bounds[n] = lower_bound(n.terms)
    return n.trace.bounds[n]


def _lower_of(kind: str, operands: Sequence[AnySize]) -> int | None:
    """Returns the lower bound of an atom of sizes."""
    bounds = [_lower(n) for n in operands]
    if kind == "max":
        known_bounds = [b for b in bounds if b is not None]
        return max(known_bounds, default=None)
    a, b = bounds
    if a is None or b is None:
        return None
    if kind == "min":
        return min(a, b)
    if a < 0 or b <= 0:
        return None
    divisor = operands[1]
    return a // divisor if isinstance(divisor, int) else 0

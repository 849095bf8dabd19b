"""The trace of a computation with sizes: its symbols, its formulas, and the conditions that it has noted.

A `SizeTrace` makes all sizes of one compilation (`sizes.py`). Invariant: equal formulas of a trace are the same object,
and every outcome that does not follow from the lower bounds of the symbols is among the conditions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from tfnb.size_terms import LEAST, Atom, Terms, evaluator, lower_bound, number_of, terms_of
from tfnb.sizes import AnySize, Size, largest, smallest, typical, value_of

__all__ = ["SizeTrace", "SizesAreEqual"]

T = TypeVar("T")

TYPICAL = 64  # the value of each symbol where one decision is made for all examples

_COMPUTE: dict[str, Callable[..., int]] = {"//": operator.floordiv, "min": min, "max": max}


class SizesAreEqual(Exception):
    """Ends a computation that has to be repeated with one symbol for equal ones; see `SizeTrace.equal`."""


class _ConditionNeeded(Exception):
    """Ends a computation that must not note conditions; see `SizeTrace.without_conditions`."""


class SizeTrace:
    """The symbols of one computation, and the conditions on them that it has noted.

    `equal` has the pairs of symbols, by their numbers, of which the computation has asked whether they are equal, and
    that are equal in the example. It went on as if they were one symbol, but its formulas have both, so it should be
    repeated with one symbol for the two. Not for use by several threads at once.
    """

    def __init__(self) -> None:
        self.symbols: list[Size] = []
        self.conditions: dict[tuple[str, Size], None] = {}
        self.equal: list[tuple[int, int]] = []
        self._sizes: dict[frozenset[tuple[tuple[Atom, ...], int]], Size] = {}
        self._atoms: dict[tuple[object, ...], Atom] = {}
        self._results: dict[tuple[object, ...], AnySize] = {}
        self._typical: dict[Atom, int] = {}
        self.bounds: dict[Size, int | None] = {}
        self._may_note = True

    def symbol(self, value: int) -> Size:
        """Returns a new symbol, whose value in the example is `value`, which is at least 2."""
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
        key = (kind, *operands)
        atom = self._atoms.get(key)
        if atom is None:
            value = _COMPUTE[kind](*(value_of(n) for n in operands))
            atom = Atom(len(self._atoms), kind, operands, value, _lower_of(kind, operands))
            self._atoms[key] = atom
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
        if self.known_sign(n) in (1, -1):
            return False
        if n.value == 0 and self._may_note and self._is_zero_for_equal_symbols(n):
            return True
        self._note("==" if n.value == 0 else "!=", n)
        return n.value == 0

    def _is_zero_for_equal_symbols(self, n: Size) -> bool:
        """Returns whether `n` is 0 wherever its symbols are equal that are equal in the example, and notes these."""
        names = {atom: k for k, s in enumerate(self.symbols) for (atom,) in s.terms}
        firsts: dict[int, Atom] = {}
        merged = {}
        for atom in sorted(_symbols_of(n), key=number_of):
            first = firsts.setdefault(atom.value, atom)
            if first is not atom:
                merged[atom] = first
        rest = self._merged(n, merged) if merged else n
        if isinstance(rest, Size) or rest != 0:
            return False
        self.equal += [(names[first], names[atom]) for atom, first in merged.items()]
        return True

    def _merged(self, n: object, symbols: Mapping[Atom, Atom]) -> AnySize:
        """Returns `n` with other symbols in place of those in `symbols`."""
        if not isinstance(n, Size):
            return cast(AnySize, n)
        total: AnySize = 0
        for atoms, factor in n.terms.items():
            product: AnySize = factor
            for atom in atoms:
                product = product * self._merged_atom(atom, symbols)
            total = total + product
        return total

    def _merged_atom(self, atom: Atom, symbols: Mapping[Atom, Atom]) -> AnySize:
        if atom.kind == "symbol":
            return self._size({(symbols.get(atom, atom),): 1})
        operands = tuple(self._merged(n, symbols) for n in atom.operands)
        if atom.kind == "call":
            return self.call(operands[0], operands[1:], atom.lower)  # type: ignore[arg-type]
        if atom.kind == "//":
            return self.quotient(*operands)
        return smallest(*operands) if atom.kind == "min" else largest(*operands)

    def is_positive(self, n: Size) -> bool:
        """Returns whether `n` is positive, and notes it."""
        low = _lower(n)
        if low is not None and low > 0:
            return True
        high = _lower(self.product(n, -1))
        if high is not None and high >= 0:
            return False
        self._note(">" if n.value > 0 else "<=", n)
        return n.value > 0

    def _note(self, comparison: str, n: Size) -> None:
        if not self._may_note and (comparison, n) not in self.conditions:
            raise _ConditionNeeded
        self.conditions[comparison, n] = None

    def without_conditions(self, compute: Callable[[], T]) -> T | None:
        """Returns `compute()`, or None if that would note a condition, which is not noted then."""
        self._may_note = False
        try:
            return compute()
        except _ConditionNeeded:
            return None
        finally:
            self._may_note = True

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
            operands: list[Any] = [typical(n) if isinstance(n, Size) else n for n in atom.operands]
            if atom.kind == "symbol":
                value = TYPICAL
            elif atom.kind == "call":
                value = _called(*operands)
            elif atom.kind == "//" and operands[1] == 0:
                value = 0  # the divisor is not 0 in the examples, so that any number will do
            else:
                value = _COMPUTE[atom.kind](*operands)
            self._typical[atom] = value
        return self._typical[atom]

    def fixed(self, n: Size) -> int:
        """Returns the value of `n`, and notes that it must be this one."""
        self._note("==", cast(Size, n - n.value))
        if self.on_fixed is not None:
            self.on_fixed(n)
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


def _called(function: Callable[..., int], *arguments: int) -> int:
    """Returns the function's value, or any number where it divides by a zero that no example has."""
    try:
        return function(*arguments)
    except ZeroDivisionError:
        return 0


def _symbols_of(n: object) -> set[Atom]:
    """Returns the symbols in a formula."""
    symbols: set[Atom] = set()
    for atom in {a for atoms in n.terms for a in atoms} if isinstance(n, Size) else ():
        symbols |= {atom} if atom.kind == "symbol" else set().union(*map(_symbols_of, atom.operands))
    return symbols


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

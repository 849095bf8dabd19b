"""Polynomials: what the formulas of `tfnb/sizes.py` consist of, their lower bounds, and their text in Python.

A polynomial is a sum of products of atoms with integer coefficients. Invariant: the functions of this module only read,
so that they note no condition.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import ceil
from typing import Any, Protocol, cast

__all__ = [
    "LEAST",
    "Atom",
    "HasTerms",
    "Terms",
    "atom_text",
    "evaluator",
    "lower_bound",
    "number_of",
    "terms_of",
    "terms_text",
]

LEAST = 2  # the smallest value of a symbol: 0 and 1 are so often special that they are numbers and never symbols

Terms = dict[tuple["Atom", ...], int]
"""A polynomial: the coefficient of each product of atoms; the product of no atoms is 1."""


class Atom:
    """A factor of the products in a polynomial: a symbol, or a quotient, minimum, maximum or function of sizes.

    `number` is different for each atom of a trace. `kind` is "symbol", "//", "min", "max" or "call". `operands` are
    sizes or integers; those of a call are the function and its arguments. `value` is the atom's value in the example,
    and `lower` a number that the atom is never below, or None if none is known.
    """

    __slots__ = ("kind", "lower", "number", "operands", "value")

    def __init__(self, number: int, kind: str, operands: tuple[Any, ...], value: int, lower: int | None) -> None:
        self.number, self.kind, self.operands, self.value, self.lower = number, kind, operands, value, lower


class HasTerms(Protocol):
    """A size, as this module sees it."""

    @property
    def terms(self) -> Terms: ...


def number_of(atom: Atom) -> int:
    """Returns the number of an atom, by which the atoms of a product are ordered."""
    return atom.number


def terms_of(n: int | HasTerms) -> Terms:
    """Returns the polynomial of a size or of an integer."""
    terms = getattr(n, "terms", None)
    if terms is not None:
        return cast(Terms, terms)
    return {(): int(cast(int, n))} if n else {}


def lower_bound(terms: Terms) -> int | None:
    """Returns a number below which a polynomial never is, or None if none is known.

    Each atom is its lower bound plus a number that is not negative. If the polynomial of these numbers has no negative
    coefficient, its constant is the bound.
    """
    bounded = _without_quotients(terms)
    shifted: dict[tuple[Atom, ...], Any] = {}
    for atoms, factor in bounded.items():
        products: dict[tuple[Atom, ...], Any] = {(): factor}
        for atom in atoms:
            if atom.lower is None:
                return None
            raised: dict[tuple[Atom, ...], Any] = {}
            for product, coefficient in products.items():
                more = (*product, atom)
                raised[more] = raised.get(more, 0) + coefficient
                if atom.lower:
                    raised[product] = raised.get(product, 0) + coefficient * atom.lower
            products = raised
        for product, coefficient in products.items():
            shifted[product] = shifted.get(product, 0) + coefficient
    constant = shifted.pop((), 0)
    return ceil(constant) if all(c >= 0 for c in shifted.values()) else None


def _without_quotients(terms: Terms) -> dict[tuple[Atom, ...], Fraction | int]:
    """Returns a polynomial that is nowhere larger: a quotient that is subtracted is replaced by x / c, which is larger.

    The other atoms of its product must not be negative.
    """
    bounded: dict[tuple[Atom, ...], Fraction | int] = {}
    pending: dict[tuple[Atom, ...], Fraction | int] = dict(terms)
    # A numerator consists of older atoms than its quotient. With the youngest quotient first, equal products come
    # together before they are replaced, of which there are few; one by one there may be billions.
    count = itertools.count()
    waiting = [(_by_quotients(atoms), next(count), atoms) for atoms in pending]
    heapify(waiting)
    while waiting:
        _, _, atoms = heappop(waiting)
        factor = pending.pop(atoms)
        quotient = next((a for a in reversed(atoms) if _is_quotient(a)), None)
        if factor >= 0 or quotient is None or any(a.lower is None or a.lower < 0 for a in atoms):
            bounded[atoms] = bounded.get(atoms, 0) + factor
            continue
        rest = list(atoms)
        rest.remove(quotient)
        numerator, divisor = quotient.operands
        for more, k in terms_of(numerator).items():
            product = tuple(sorted((*rest, *more), key=number_of))
            if product not in pending:
                pending[product] = 0
                heappush(waiting, (_by_quotients(product), next(count), product))
            pending[product] += Fraction(factor) * k / divisor
    return bounded


def _is_quotient(atom: Atom) -> bool:
    return atom.kind == "//" and isinstance(atom.operands[1], int)


def _by_quotients(atoms: tuple[Atom, ...]) -> tuple[int, ...]:
    """Returns what products are ordered by, so that none is made of those that come after it: the youngest first."""
    return (*sorted(-a.number for a in atoms if _is_quotient(a)), 1)


def terms_text(terms: Terms, name: Callable[[Atom], str]) -> str:
    """Returns a polynomial as an expression of Python, in which `name` gives the text of an atom."""
    parts = []
    for atoms, factor in terms.items():
        names = [name(a) for a in atoms]
        parts.append("*".join(names if factor == 1 and names else [str(factor), *names]))
    return " + ".join(parts)


def atom_text(atom: Atom, number: Callable[[Any], str]) -> str:
    """Returns an atom as an expression of Python, in which `number` gives the text of an operand."""
    if atom.kind == "symbol":
        return f"n{atom.number}"
    if atom.kind == "call":
        return f"{atom.operands[0].__name__}({', '.join(number(n) for n in atom.operands[1:])})"
    a, b = (number(n) for n in atom.operands)
    return f"({a}) // ({b})" if atom.kind == "//" else f"{atom.kind}({a}, {b})"


def evaluator(
    symbols: Sequence[HasTerms], conditions: Iterable[tuple[str, HasTerms]], sizes: Sequence[int | HasTerms]
) -> Callable[[Sequence[int]], tuple[int, ...] | None]:
    """Returns a function from values of the symbols to the values of `sizes`.

    A condition is a comparison, such as ">", of a size with 0. For values for which a condition does not hold, the
    function returns None. So it does for values that are below `LEAST`, which belong to another class.
    """
    # Text that Python compiles evaluates a formula many times faster than a walk over its terms does.
    lines = ["def evaluate(values):"]
    names: dict[Atom, str] = {}
    for k, symbol in enumerate(symbols):
        ((atom,),) = symbol.terms
        names[atom] = f"s{k}"
    if symbols:
        lines.append(f"    {', '.join(names.values())}, = values")

    scope: dict[str, Any] = {}

    def name(atom: Atom) -> str:
        if atom not in names and atom.kind == "call":
            scope[f"f{atom.number}"] = atom.operands[0]
            texts = [number(n) if isinstance(n, int) or hasattr(n, "terms") else repr(n) for n in atom.operands[1:]]
            names[atom] = f"a{atom.number}"
            lines.append(f"    {names[atom]} = f{atom.number}({', '.join(texts)})")
        if atom not in names and atom.kind in ("min", "max"):  # a call of these takes several times as long
            a, b = map(number, atom.operands)
            it, is_beyond = f"a{atom.number}", ">" if atom.kind == "min" else "<"
            lines.append(f"    {it} = {a}")
            lines.append(f"    if {it} {is_beyond} (other := {b}): {it} = other")
            names[atom] = it
        if atom not in names:
            text = atom_text(atom, number)
            names[atom] = f"a{atom.number}"
            lines.append(f"    {names[atom]} = {text}")
        return names[atom]

    def number(n: int | HasTerms) -> str:
        return str(n) if isinstance(n, int) else f"({terms_text(n.terms, name)})"

    ranges, others = _ranges([symbol.terms for symbol in symbols], conditions)
    if symbols:
        texts = [f"{low} <= s{k}" + (f" <= {high}" if high is not None else "") for k, (low, high) in enumerate(ranges)]
        lines.append(f"    if not ({' and '.join(texts)}): return None")
    for comparison, n in others:
        text = number(n)
        lines.append(f"    if not {text} {comparison} 0: return None")
    texts = [number(n) for n in sizes]
    lines.append(f"    return ({', '.join(texts)}{',' if texts else ''})")
    exec(compile("\n".join(lines), "<sizes>", "exec"), scope)
    return cast("Callable[[Sequence[int]], tuple[int, ...] | None]", scope["evaluate"])


def _ranges(
    symbols: Sequence[Terms], conditions: Iterable[tuple[str, HasTerms]]
) -> tuple[list[tuple[int, int | None]], list[tuple[str, HasTerms]]]:
    """Returns the least and the largest value of each symbol for which the conditions hold, and the other conditions.

    The largest value is None where no condition limits it.
    """
    places = {product: k for k, terms in enumerate(symbols) for product in terms}
    lows, highs = [LEAST] * len(places), list[int | None]([None] * len(places))
    others = []
    for comparison, n in conditions:
        terms = dict(n.terms)
        constant = terms.pop((), 0)
        (product, factor), *more = terms.items() if terms else [((), 0)]
        k = places.get(product)
        if more or k is None or comparison not in (">", "<="):
            others.append((comparison, n))
        elif (factor > 0) is (comparison == ">"):
            # factor * symbol + constant > 0, or -factor * symbol >= constant
            least = -constant // factor + 1 if factor > 0 else -(-constant // -factor)
            lows[k] = max(lows[k], least)
        else:
            # -factor * symbol < constant, or factor * symbol + constant <= 0
            largest = (constant - 1) // -factor if factor < 0 else -constant // factor
            high = highs[k]
            highs[k] = largest if high is None else min(high, largest)
    return list(zip(lows, highs, strict=True)), others

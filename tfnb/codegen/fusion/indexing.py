"""Index arithmetic: affine normal forms and bounds of integer expressions over loop variables.

Inlining a reshape or a slice into its consumer composes index maps. This module simplifies the composition, so that
loads stay contiguous. Invariant: a simplified expression has the same value for every point of the
domain given by `extents`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import copysign

import numpy as np

from tfnb.ir import scalar as s
from tfnb.ir.scalar import Expr, const, rebuild, walk
from tfnb.types import DType, bool_, int32, int64

__all__ = ["Affine", "Index", "Indexing", "index_vars", "row_major"]

INTS = (int32, int64)
_COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
Bounds = tuple[int, int] | None
Index = Expr | int  # an element of an index tuple


class Affine:
    """The form `const + sum(coefficient * atom)`; atoms are loop variables or expressions that are not affine."""

    __slots__ = ("const", "terms")

    def __init__(self, terms: dict[Expr, int] | None = None, const: int = 0) -> None:
        self.terms = terms or {}
        self.const = const

    def plus(self, other: Affine, factor: int = 1) -> Affine:
        """Returns the sum of this form and `factor` times the other."""
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            terms[atom] = terms.get(atom, 0) + factor * c
        return Affine({a: c for a, c in terms.items() if c}, self.const + factor * other.const)

    def times(self, factor: int) -> Affine:
        """This form times an integer."""
        return Affine().plus(self, factor) if factor else Affine()

    def single(self) -> Expr | None:
        """Returns the atom, if the form is exactly one atom."""
        if self.const == 0 and len(self.terms) == 1:
            ((atom, c),) = self.terms.items()
            return atom if c == 1 else None
        return None


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements of a dense array."""
    strides = [1] * len(shape)
    for d in reversed(range(len(shape) - 1)):
        strides[d] = strides[d + 1] * shape[d + 1]
    return tuple(strides)


def index_vars(rank: int, dtype: DType = int32) -> tuple[Expr, ...]:
    """Returns the loop variables i0, i1, ... of a domain."""
    return tuple(s.index(f"i{d}", dtype) for d in range(rank))


class Indexing:
    """Simplifies expressions over loop variables.

    The range of a variable is 0 .. extents[name] - 1, unless `ranges` gives another one."""

    def __init__(
        self,
        extents: Mapping[str, int],
        dtype: DType = int32,
        ranges: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:
        self.extents = extents
        self.ranges = ranges or {}
        self.dtype = dtype
        self._bounds: dict[Expr, Bounds] = {}
        self._affine: dict[Expr, Affine] = {}
        self._pure: dict[Expr, bool] = {}
        self._simplified: dict[Expr, Expr] = {}

    def linear(self, idx: Sequence[Expr], shape: Sequence[int]) -> Expr:
        """Returns the row-major position of the element `idx` of an array of `shape`."""
        total = Affine()
        for i, stride in zip(idx, row_major(shape), strict=True):
            total = total.plus(self.affine(i), stride)
        return self.build(self._paired(total))

    def unravel(self, linear: Expr, shape: Sequence[int]) -> tuple[Expr, ...]:
        """Returns the index tuple of the element at a row-major position; any where the array has no elements."""
        if 0 in shape:
            return tuple(s.const(0, self.dtype) for _ in shape)
        idx = []
        for d, stride in enumerate(row_major(shape)):
            i = self._divide(self.affine(linear), stride)[0]
            idx.append(self.build(i if d == 0 else self._divide(i, shape[d])[1]))
        return tuple(idx)

    def simplify(self, root: Expr) -> Expr:
        """Returns `root` with its index arithmetic in normal form.

        A comparison, maximum or minimum that the bounds of its operands decide is replaced by its outcome.
        """
        simplified = self._simplified
        for e in walk(root, known=simplified.__contains__):
            if e in simplified:
                continue
            args = tuple(simplified[a] for a in e.args)
            if e.op == "load":
                args = tuple(self.build(self.affine(a), a.dtype) for a in args)
                simplified[e] = rebuild(e, args)
            elif e.dtype in INTS and self.pure(e) and e.op not in ("const", "index"):
                simplified[e] = self._in_type(self.build(self.affine(rebuild_any(e, args)), e.dtype), e.dtype)
            else:
                simplified[e] = self._decided(rebuild_any(e, args))
        return simplified[root]

    def _in_type(self, e: Expr, dtype: DType) -> Expr:
        return s.cast(e, dtype)

    def pure(self, e: Expr) -> bool:
        """Returns whether the expression is made of loop variables and constants only."""
        is_pure = self._pure.get(e)
        if is_pure is None:
            if e.op in ("const", "index"):
                is_pure = True
            else:
                is_pure = bool(e.args) and e.op != "load" and all(self.pure(a) for a in e.args)
            self._pure[e] = is_pure
        return is_pure

    # normal form

    def affine(self, e: Expr) -> Affine:
        """Returns the affine form of an int32 or int64 expression."""
        form = self._affine.get(e)
        if form is None:
            form = self._affine[e] = self._paired(self._find_affine(e))
        return form

    def _find_affine(self, e: Expr) -> Affine:
        if e.dtype not in INTS:
            return Affine({e: 1})
        if e.op == "const":
            return Affine(const=e.value)
        if e.op == "index":
            return Affine() if self.extents.get(e.value) == 1 else Affine({e: 1})
        if e.op in ("add", "sub"):
            return self.affine(e.args[0]).plus(self.affine(e.args[1]), 1 if e.op == "add" else -1)
        if e.op == "neg":
            return self.affine(e.args[0]).times(-1)
        if e.op == "cast" and e.args[0].dtype in INTS and self.bounds(e.args[0]) is not None:
            inner = self.affine(e.args[0])
            if e.dtype is int64 or all(t.dtype is not int64 for t in inner.terms):
                return inner  # else it stays: an int32 vector takes no int64 scalar
        if e.op in ("mul", "floordiv", "floormod"):
            a, b = (self.affine(x) for x in e.args)
            if e.op == "mul" and not b.terms:
                return a.times(b.const)
            if e.op == "mul" and not a.terms:
                return b.times(a.const)
            if e.op != "mul" and not b.terms and b.const > 0 and self._stays_within(a, e.dtype):
                return self._divide(a, b.const)[e.op == "floormod"]
        return self._opaque(e)

    def _stays_within(self, a: Affine, dtype: DType) -> bool:
        """Returns whether the form never exceeds its type.

        A sum that wraps may be rearranged, but it must not be divided afterwards.
        """
        is_single_term = len(a.terms) == 1 and not a.const and 1 in a.terms.values()
        return is_single_term or _within(self._range(a), dtype) is not None

    def _opaque(self, e: Expr) -> Affine:
        args = tuple(self.build(self.affine(a), a.dtype) if a.dtype in INTS else self.simplify(a) for a in e.args)
        if e.op in ("load", "cast"):
            return Affine({rebuild(e, args): 1})
        decided = self._decided(rebuild_any(e, args))
        if decided.op in ("const", "index", "add", "sub", "mul", "floordiv", "floormod") and decided is not e:
            return self.affine(decided)
        return Affine({decided: 1})

    def _divide(self, a: Affine, c: int) -> tuple[Affine, Affine]:
        """Returns the quotient, rounded down, and the remainder of a division by the positive constant `c`."""
        if c == 1:
            return a, Affine()
        quotients = Affine({t: k // c for t, k in a.terms.items() if k % c == 0}, a.const // c)
        remainders = Affine({t: k for t, k in a.terms.items() if k % c}, a.const % c)
        bounds = self._range(remainders)
        if bounds is not None and bounds[0] // c == bounds[1] // c:
            k = bounds[0] // c
            return quotients.plus(Affine(const=k)), remainders.plus(Affine(const=-k * c))
        e = self.build(remainders)
        inner, inner_divisor = e, c
        if e.op == "floordiv" and e.args[1].op == "const":
            divisor = c * e.args[1].value
            if c <= divisor <= np.iinfo(e.dtype.np).max:  # a quotient by -1 may wrap
                inner, inner_divisor = e.args[0], divisor
        quotient = s.floordiv(inner, s.const(inner_divisor, inner.dtype))
        remainder = s.floormod(e, s.const(c, e.dtype))
        return quotients.plus(Affine({quotient: 1})), Affine({remainder: 1})

    def _paired(self, a: Affine) -> Affine:
        """Replaces (x // c) * (c * k) + (x % c) * k by x * k."""
        changed = True
        while changed:
            changed = False
            for atom, k in a.terms.items():
                if atom.op != "floormod" or atom.args[1].op != "const" or atom.args[1].value <= 0:
                    continue
                x, c = atom.args[0], atom.args[1].value
                quotient = self._divide(self.affine(x), c)[0].single()
                if quotient is not None and a.terms.get(quotient) == c * k:
                    a = a.plus(Affine({atom: k, quotient: c * k}), -1).plus(self.affine(x), k)
                    changed = True
                    break
        return a

    def build(self, a: Affine, dtype: DType | None = None) -> Expr:
        """Returns the expression of an affine form; loop variables come first.

        `dtype` is the dtype of the expression if the form is a constant. An int32 wraps at the ends of its type; a
        position in an array does not: where it has a number that no int32 holds, it is an int64.
        """
        atoms = sorted((t for t in a.terms if t.op == "index"), key=lambda t: str(t.value))
        atoms += [t for t in a.terms if t.op != "index"]
        is_long = dtype is not int32 and not all(int32.min <= n <= int32.max for n in (*a.terms.values(), a.const))
        total: Expr | None = None
        for t in atoms:
            atom = s.cast(t, int64) if is_long else t
            term = s.mul(atom, s.wrapped(a.terms[t], atom.dtype))
            total = term if total is None else s.add(total, term)
        if total is None:
            return s.wrapped(a.const, dtype or self.dtype)
        return s.add(total, s.wrapped(a.const, total.dtype))

    # bounds

    def bounds(self, e: Expr) -> Bounds:
        """Returns the least and the greatest value over the domain; None if the value depends on data, or may wrap."""
        if e not in self._bounds:
            self._bounds[e] = _within(self._find_bounds(e), e.dtype)
        return self._bounds[e]

    def _range(self, a: Affine) -> Bounds:
        lo = hi = a.const
        for atom, k in a.terms.items():
            b = self.bounds(atom)
            if b is None:
                return None
            lo += min(k * b[0], k * b[1])
            hi += max(k * b[0], k * b[1])
        return lo, hi

    def _find_bounds(self, e: Expr) -> Bounds:
        if e.op == "const":
            return (e.value, e.value) if e.dtype in INTS else None
        if e.op == "index":
            n = self.extents.get(e.value)
            bounds_of_extent = None if n is None else (0, max(n - 1, 0))
            return self.ranges.get(e.value, bounds_of_extent)
        if e.dtype not in INTS:
            return None
        if e.op in ("max", "min"):
            return self._clamped(e)
        args = [self.bounds(a) for a in e.args]
        if e.op == "where":
            a, b = args[1], args[2]
            return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))
        if e.op == "floormod" and e.args[1].op == "const" and e.args[1].value > 0:
            return 0, e.args[1].value - 1
        if not args or any(b is None for b in args):
            return None
        if e.op == "cast" and e.args[0].dtype in INTS:
            return args[0]
        return _combined(e.op, args)  # type: ignore[arg-type]

    def _clamped(self, e: Expr) -> Bounds:
        """Returns the bounds of a max or min; max(min(x, n), 0) has bounds even if no bounds of x are known."""
        a, b = (self.bounds(x) for x in e.args)
        if a is not None and b is not None:
            pick = max if e.op == "max" else min
            return pick(a[0], b[0]), pick(a[1], b[1])
        inner, limit = e.args
        if limit.op == "const" and inner.op == ("min" if e.op == "max" else "max"):
            other = inner.args[1]
            if other.op == "const":
                lo, hi = sorted((other.value, limit.value))
                return lo, hi
        return None

    def _decided(self, e: Expr) -> Expr:
        """Returns `e`, or a simpler expression of the same value if the bounds of the operands decide the value."""
        if e.op == "add" and _is_zero(e.args[1]) and _is_unchanged_by_zero(e.args[0]):
            return e.args[0] if e.args[0].op == "add" else e.args[1]
        if e.op == "where" and e.args[0].op == "const":
            return e.args[1] if e.args[0].value else e.args[2]
        if e.op == "where" and e.args[1] is e.args[2]:
            return e.args[1]
        if e.op in ("and", "or") and any(a.op == "const" for a in e.args):
            return _logic(e)
        if e.op == "not" and e.args[0].op == "const":
            return const(not e.args[0].value, bool_)
        if e.op in _COMPARISONS or e.op in ("max", "min"):
            a, b = (self.bounds(x) for x in e.args)
            if a is not None and b is not None:
                return _compared(e, a, b)
        return e


def _is_zero(e: Expr) -> bool:
    """Returns whether the expression is the number 0.0, not -0.0."""
    return e.op == "const" and e.dtype.is_floating and e.value == 0 and copysign(1, e.value) > 0


def _is_unchanged_by_zero(e: Expr) -> bool:
    """Returns whether 0.0 was added already, which makes 0.0 of -0.0.

    A product may be added to 0.0 without being rounded before, so its sum may be -0.0."""
    return e.op == "add" and _is_zero(e.args[1]) and e.args[0].op != "mul" or e.op == "const" and e.value == 0


def _within(bounds: Bounds, dtype: DType) -> Bounds:
    """Returns `bounds`, or None if they exceed the range of the type."""
    return bounds if bounds is not None and dtype.min <= bounds[0] and bounds[1] <= dtype.max else None


def rebuild_any(e: Expr, args: tuple[Expr, ...]) -> Expr:
    """Rebuilds an expression as `rebuild` does; if one value of a `where` is int64, the int32 one becomes int64."""
    if args == e.args:
        return e
    if e.op == "where" and args[1].dtype is not args[2].dtype:
        args = (args[0], s.cast(args[1], int64), s.cast(args[2], int64))
    return rebuild(e, args)


def _combined(op: str, args: list[tuple[int, int]]) -> Bounds:
    a = args[0]
    if op == "neg":
        return -a[1], -a[0]
    if len(args) != 2:
        return None
    b = args[1]
    if op == "add":
        return a[0] + b[0], a[1] + b[1]
    if op == "sub":
        return a[0] - b[1], a[1] - b[0]
    if op == "mul":
        products = [x * y for x in a for y in b]
        return min(products), max(products)
    if op == "floordiv" and b[0] == b[1] and b[0] > 0:
        return a[0] // b[0], a[1] // b[0]
    return None


def _logic(e: Expr) -> Expr:
    a, b = e.args if e.args[1].op == "const" else (e.args[1], e.args[0])
    if e.op == "and":
        return a if b.value else b
    return b if b.value else a


def _compared(e: Expr, a: tuple[int, int], b: tuple[int, int]) -> Expr:
    x, y = e.args
    if e.op in ("max", "min"):
        if a[0] >= b[1]:
            return x if e.op == "max" else y
        if b[0] >= a[1]:
            return y if e.op == "max" else x
        return e
    is_always = {
        "lt": a[1] < b[0],
        "le": a[1] <= b[0],
        "gt": a[0] > b[1],
        "ge": a[0] >= b[1],
        "eq": a == b and a[0] == a[1],
        "ne": a[1] < b[0] or b[1] < a[0],
    }
    is_never = {
        "lt": a[0] >= b[1],
        "le": a[0] > b[1],
        "gt": a[1] <= b[0],
        "ge": a[1] < b[0],
        "eq": is_always["ne"],
        "ne": is_always["eq"],
    }
    if is_always[e.op]:
        return const(True, bool_)
    return const(False, bool_) if is_never[e.op] else e

"""Segments: the innermost loop cut where a condition on its variable changes.

The pieces of a concatenation and the margins of a padding become loops of their own, in which the conditions are
decided and indices need no clamping. Invariant: the segments cover the dimension, each element once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tfnb.codegen.fusion.indexing import Indexing
from tfnb.codegen.fusion.nest import Loop, Nest
from tfnb.codegen.fusion.values import Value
from tfnb.ir.scalar import Expr, walk
from tfnb.sizes import plain

__all__ = ["MAX_SEGMENTS", "Segment", "cuts_along", "split_segments"]

MAX_SEGMENTS = 5  # more segments would make the kernel long
# How far past -k the outcome of `variable + k OP 0` changes, and how far past k that of `-variable + k OP 0`.
_SWITCH = {"lt": (0, 1), "ge": (0, 1), "le": (1, 0), "gt": (1, 0)}


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the innermost loop: `stores`, simplified for the values begin .. end - 1 of its variable."""

    begin: int
    end: int
    stores: list[tuple[Value, Expr]]
    indexing: Indexing


def split_segments(nest: Nest, inner: Loop, stores: list[tuple[Value, Expr]]) -> list[Segment]:
    """Returns the segments that make the expressions simpler, or one for the whole dimension."""
    ix = nest.indexing
    cuts = sorted(cuts_along([e for _, e in stores], inner, ix))
    if not cuts or len(cuts) >= MAX_SEGMENTS:
        return [Segment(0, inner.extent, stores, ix)]
    bounds = [0, *cuts, inner.extent]
    segments = []
    for begin, end in zip(bounds, bounds[1:], strict=False):
        part = Indexing(ix.extents, nest.dtype, {inner.name: (begin, end - 1)})
        segments.append(Segment(begin, end, [(v, part.simplify(e)) for v, e in stores], part))
    return segments


def cuts_along(exprs: Sequence[Expr], inner: Loop, ix: Indexing) -> set[int]:
    """Returns the values of the variable of `inner` at which conditions on it change."""
    cuts: set[int] = set()
    extremes: list[int] = []  # max and min may change on either side of the value at which their operands are equal
    for e in walk(*exprs):
        if e.op in ("floordiv", "floormod"):
            cuts |= _multiples(e, inner, ix)
            continue
        is_equality, is_extreme = e.op in ("eq", "ne"), e.op in ("max", "min")
        if not (is_equality or is_extreme or e.op in _SWITCH) or not all(ix.pure(a) for a in e.args):
            continue
        form = ix.affine(e.args[0]).plus(ix.affine(e.args[1]), -1)
        if len(form.terms) != 1:
            continue
        ((atom, c),) = form.terms.items()
        if atom.op != "index" or atom.value != inner.name or abs(c) != 1:
            continue
        zero = -form.const if c == 1 else form.const
        if is_extreme:
            extremes.append(zero)
        elif is_equality:
            cuts |= {zero, zero + 1}
        else:
            cuts.add(zero + _SWITCH[e.op][c != 1])
    cuts.update(zero for zero in extremes if 0 < zero < inner.extent - 1 and not {zero, zero + 1} & cuts)
    return {c for c in cuts if 0 < c < inner.extent}


def _multiples(e: Expr, inner: Loop, ix: Indexing) -> set[int]:
    """Returns the values at which the quotient of the variable by a constant changes, if there are few."""
    if not ix.pure(e) or e.args[1].op != "const":
        return set()
    form, divisor = ix.affine(e.args[0]), e.args[1].value
    if not (plain(divisor) and plain(inner.extent)):
        return set()
    step = form.terms.get(inner.var(ix.dtype), 0)
    is_multiple = all(c % divisor == 0 for t, c in form.terms.items() if t is not inner.var(ix.dtype))
    if step != 1 or not is_multiple or inner.extent > (MAX_SEGMENTS - 1) * divisor:
        return set()
    return set(range(-form.const % divisor, inner.extent, divisor))

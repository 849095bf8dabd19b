"""Loops and domains cut where a condition on an index changes, so that each part reads only what it needs.

An innermost loop is cut into segments: the pieces of a concatenation and the margins of a padding become loops of their
own, in which the conditions are decided and indices need no clamping. A whole domain is cut into regions, each a launch
of its own: in a concatenation of twenty tensors, or a sum of twenty padded ones, every element would test twenty
operands. Invariant: the parts cover the whole, each element once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tfnb.codegen.fusion.indexing import Indexing, index_vars
from tfnb.codegen.fusion.nest import Loop, Nest
from tfnb.codegen.fusion.values import Value, loads_of
from tfnb.ir.scalar import Expr, substitute, walk
from tfnb.sizes import plain, typical

__all__ = ["MAX_SEGMENTS", "Region", "Segment", "regions_of", "split_segments"]

MAX_SEGMENTS = 5  # more segments would make the kernel long
# How far past -k the outcome of `variable + k OP 0` changes, and how far past k that of `-variable + k OP 0`.
_SWITCH = {"lt": (0, 1), "ge": (0, 1), "le": (1, 0), "gt": (1, 0)}
MAX_PIECES = 512
BIG = 32 * 1024  # elements from which on another launch costs less than testing a second operand for each element


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
    cuts = sorted(_cuts_along([e for _, e in stores], inner, ix))
    if not cuts or len(cuts) >= MAX_SEGMENTS:
        return [Segment(0, inner.extent, stores, ix)]
    bounds = [0, *cuts, inner.extent]
    segments = []
    for begin, end in zip(bounds, bounds[1:], strict=False):
        part = Indexing(ix.extents, nest.dtype, {inner.name: (begin, end - 1)})
        segments.append(Segment(begin, end, [(v, part.simplify(e)) for v, e in stores], part))
    return segments


def _cuts_along(exprs: Sequence[Expr], inner: Loop, ix: Indexing) -> set[int]:
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


@dataclass(frozen=True, slots=True)
class Region:
    """Stores over the loop variables of `domain`. An element goes to position `at`; None stands for row-major order."""

    domain: tuple[int, ...]
    stores: list[tuple[Value, Expr]]
    limit: int
    at: Expr | None = None


def regions_of(domain: tuple[int, ...], stores: Sequence[tuple[Value, Expr]], limit: int) -> list[Region]:
    """Returns the pieces of the domain if they are cheaper, else the whole domain as one region."""
    uncut = [Region(domain, list(stores), limit)]
    size = 1
    for n in domain:
        size *= n
    loads = sum(len(loads_of(e)) for _, e in stores)
    if loads < (2 if typical(size) > BIG else 3):
        return uncut
    dim, cuts = _best(domain, [e for _, e in stores])
    if not cuts or len(cuts) >= MAX_PIECES or (dim == len(domain) - 1 and len(cuts) < MAX_SEGMENTS):
        return uncut
    regions, work = [], 0
    for begin, end, piece_stores in _restricted(domain, stores, dim, [0, *cuts, domain[dim]]):
        region = _piece(domain, piece_stores, limit, dim, begin, end)
        work += sum(len(loads_of(e)) for _, e in region.stores) * (size // domain[dim]) * (end - begin)
        regions.append(region)
    return regions if typical(work) <= 0.6 * loads * typical(size) else uncut


def _best(domain: tuple[int, ...], exprs: list[Expr]) -> tuple[int, list[int]]:
    """Returns the dimension with the most cuts, and the positions of these cuts."""
    ix = Indexing({f"i{d}": n for d, n in enumerate(domain)})
    best: tuple[int, list[int]] = (0, [])
    for d, n in enumerate(domain):
        cuts = sorted(_cuts_along(exprs, Loop(f"i{d}", n, False), ix))
        if len(cuts) > len(best[1]):
            best = d, cuts
    return best


def _restricted(
    domain: tuple[int, ...], stores: Sequence[tuple[Value, Expr]], dim: int, bounds: Sequence[int]
) -> Iterator[tuple[int, int, Sequence[tuple[Value, Expr]]]]:
    """Yields each piece between two neighbouring bounds: its begin, its end, and the stores simplified for it.

    The stores are simplified for one half of the bounds, then for one half of that, so that a piece is not made of the
    operands of all pieces: with n pieces that would take n * n steps.
    """
    if len(bounds) == 2:
        yield bounds[0], bounds[1], stores
        return
    middle = len(bounds) // 2
    for half in (bounds[: middle + 1], bounds[middle:]):
        ranges = {f"i{dim}": (half[0], half[-1] - 1)}
        ix = Indexing({f"i{d}": n for d, n in enumerate(domain)}, ranges=ranges)
        yield from _restricted(domain, [(v, ix.simplify(e)) for v, e in stores], dim, half)


def _piece(
    domain: tuple[int, ...], stores: Sequence[tuple[Value, Expr]], limit: int, dim: int, begin: int, end: int
) -> Region:
    part = (*domain[:dim], end - begin, *domain[dim + 1 :])
    idx = index_vars(len(domain))
    shifted_idx = (*idx[:dim], idx[dim] + begin, *idx[dim + 1 :])
    ix = Indexing({f"i{d}": n for d, n in enumerate(part)})
    table = {idx[dim]: shifted_idx[dim]}
    piece_stores = [(v, ix.simplify(substitute(e, table))) for v, e in stores]
    return Region(part, piece_stores, limit, ix.linear(shifted_idx, domain))

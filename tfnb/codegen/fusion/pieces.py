"""Pieces: a domain cut along one dimension into parts that read different operands.

In a concatenation of twenty tensors, or a sum of twenty padded ones, every element would test twenty operands. If
the domain is cut where the conditions change, each part reads only its own operand. Invariant: the regions cover the
domain, each element once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tfnb.codegen.fusion.indexing import Indexing, index_vars
from tfnb.codegen.fusion.nest import Loop
from tfnb.codegen.fusion.segments import MAX_SEGMENTS, cuts_along
from tfnb.codegen.fusion.values import Value, loads_of
from tfnb.ir.scalar import Expr, substitute
from tfnb.sizes import typical

__all__ = ["Region", "regions_of"]

MAX_PIECES = 512
BIG = 32 * 1024  # elements from which on another launch costs less than testing a second operand for each element


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
        cuts = sorted(cuts_along(exprs, Loop(f"i{d}", n, False), ix))
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

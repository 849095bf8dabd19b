"""The memory plan: the place of every computed value while a program runs.

Outputs of the cluster lie in output slots; everything else shares one arena by its lifetime, best fit first.
The size of a place is rounded up, by at most a sixteenth or 511 bytes, so that many shapes have the same plan.
Invariant: two values whose lifetimes meet do not overlap, every block begins at a multiple of 512 bytes and can be
read 256 bytes past its end.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from operator import itemgetter
from typing import NamedTuple

__all__ = ["NO_BLOCK", "Block", "places_of", "plan_arena"]

NO_BLOCK = -1  # the number of a slot that nothing uses
ALIGN = 512
PADDING = 256
_LEAST_ROUNDED = 1 << 14  # bytes, with the padding; up to here, a place is rounded up to a multiple of ALIGN


class Block(NamedTuple):
    """A piece of memory used from step `first` to step `last`, both included.

    `reuse` are the keys of blocks of the same size that are last used at step `first`; this block may take the place of
    one of them.
    """

    key: Hashable
    nbytes: int
    first: int
    last: int
    reuse: tuple[Hashable, ...] = ()


@dataclass(slots=True)
class _Placed:
    offset: int
    size: int
    first: int  # the first and the last step of the block that occupies the place now
    last: int


class _Arena:
    """Places in memory: `places` of live blocks, and `gaps` between them as (size, offset), sorted.

    The memory behind the last place, from `end` on, is no gap. `begins` and `ends` have the gaps by their two borders.
    """

    def __init__(self) -> None:
        self.gaps: list[tuple[int, int]] = []
        self.begins: dict[int, int] = {}
        self.ends: dict[int, int] = {}
        self.end = 0

    def take(self, size: int) -> int:
        """Returns the start of the smallest gap of at least `size` bytes; else the end of the last live block."""
        k = bisect_left(self.gaps, (size, 0))
        if k == len(self.gaps):
            offset, self.end = self.end, self.end + size
            return offset
        gap, offset = self.gaps[k]
        self._remove(gap, offset)
        self._add(gap - size, offset + size)
        return offset

    def free(self, size: int, offset: int) -> None:
        """Makes a place a gap, together with the gaps beside it."""
        before, after = self.ends.get(offset), self.begins.get(offset + size)
        if before is not None:
            self._remove(offset - before, before)
            size, offset = size + offset - before, before
        if after is not None:
            self._remove(after - offset - size, offset + size)
            size = after - offset
        if offset + size == self.end:
            self.end = offset
        else:
            self._add(size, offset)

    def _add(self, size: int, offset: int) -> None:
        if size:
            insort(self.gaps, (size, offset))
            self.begins[offset], self.ends[offset + size] = offset + size, offset

    def _remove(self, size: int, offset: int) -> None:
        del self.gaps[bisect_left(self.gaps, (size, offset))], self.begins[offset], self.ends[offset + size]


def _place_bytes(nbytes: int) -> int:
    n = nbytes + PADDING
    step = ALIGN if n < _LEAST_ROUNDED else 1 << (n.bit_length() - 5)
    return -(-n // step) * step


def places_of(sizes: Sequence[int]) -> tuple[int, ...]:
    """Returns numbers that are equal for two blocks whose places have the same size. A plan depends on these alone."""
    most = _LEAST_ROUNDED - PADDING
    return tuple([(n + PADDING - 1) // ALIGN if n < most else _place_bytes(n) for n in sizes])


def plan_arena(blocks: Sequence[Block]) -> tuple[Mapping[Hashable, int], int]:
    """Returns the offset of each block by its key, and the size of the arena, both in bytes."""
    offsets: dict[Hashable, int] = {}
    placed: dict[Hashable, _Placed] = {}
    arena, total = _Arena(), 0
    live: list[tuple[int, int]] = []  # the last step and the number of each live place
    places: list[_Placed] = []
    for block in sorted(blocks, key=itemgetter(2)):
        key, nbytes, first, last, reuse = block
        size = _place_bytes(nbytes)
        while live and live[0][0] < first:
            end, number = heappop(live)
            place = places[number]
            if place.last != end:  # another block has taken the place
                heappush(live, (place.last, number))
            else:
                arena.free(place.size, place.offset)
        reused = (
            next((placed[k] for k in reuse if k in placed and _fits(placed[k], block, size)), None) if reuse else None
        )
        if reused is not None:
            reused.first, reused.last = first, last
            placed[key] = reused
            offsets[key] = reused.offset
            continue
        offset = offsets[key] = arena.take(size)
        place = placed[key] = _Placed(offset, size, first, last)
        heappush(live, (last, len(places)))
        places.append(place)
        total = max(total, offset + size)
    return offsets, total


def _fits(old: _Placed, block: Block, size: int) -> bool:
    # An output that no step reads is still in use in the step that writes it.
    return old.first < block.first == old.last and old.size == size

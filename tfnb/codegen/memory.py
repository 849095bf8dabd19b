"""The memory plan: the place of every computed value while a program runs.

Outputs of the cluster lie in output slots; everything else shares one arena by its lifetime, best fit first.
Invariant: two values whose lifetimes meet do not overlap, every block begins at a multiple of 128 bytes and can be
read 256 bytes past its end.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["NO_BLOCK", "Block", "plan_arena"]

NO_BLOCK = -1  # the number of a slot that nothing uses
ALIGN = 128
PADDING = 256


@dataclass(frozen=True, slots=True)
class Block:
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


def plan_arena(blocks: Sequence[Block]) -> tuple[Mapping[Hashable, int], int]:
    """Returns the offset of each block by its key, and the size of the arena, both in bytes."""
    offsets: dict[Hashable, int] = {}
    placed: dict[Hashable, _Placed] = {}
    total = 0
    for block in sorted(blocks, key=lambda b: b.first):
        size = -(-(block.nbytes + PADDING) // ALIGN) * ALIGN
        reused = next((placed[k] for k in block.reuse if k in placed and _fits(placed[k], block, size)), None)
        if reused is not None:
            reused.first, reused.last = block.first, block.last
            placed[block.key] = reused
            offsets[block.key] = reused.offset
            continue
        offset = _hole([p for p in placed.values() if p.last >= block.first], size)
        placed[block.key] = _Placed(offset, size, block.first, block.last)
        offsets[block.key] = offset
        total = max(total, offset + size)
    return offsets, total


def _fits(old: _Placed, block: Block, size: int) -> bool:
    # An output that no step reads is still in use in the step that writes it.
    return old.first < block.first == old.last and old.size == size


def _hole(live: list[_Placed], size: int) -> int:
    """Returns the start of the smallest gap of at least `size` bytes; else the end of the last live block."""
    best: tuple[int, int] | None = None
    end = 0
    for p in sorted(live, key=lambda p: p.offset):
        gap = p.offset - end
        if gap >= size and (best is None or gap < best[0]):
            best = (gap, end)
        end = max(end, p.offset + p.size)
    return end if best is None else best[1]

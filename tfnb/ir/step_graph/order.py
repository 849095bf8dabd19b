"""Orders of nodes, and results that follow from an order: the frame of each node, and the last reader of each value.

A graph, a plan and the body of a loop are ordered by these functions, whatever their nodes look like. Invariant: an
edge that closes a loop (NextIteration -> Merge) is not among the sources that are given here.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

__all__ = ["Path", "find_cycle", "find_paths", "last_uses", "topological"]

Name = TypeVar("Name", bound=Hashable)

Path = tuple[str, ...]
"""Names of the frames around a value, outermost first; () is the root."""


def topological(sources: Mapping[int, Collection[int]]) -> tuple[list[int], set[int]]:
    """Returns the keys in an order in which each follows its sources, and the keys that are on a cycle or behind one.

    The order is stable: of the keys that are ready the smallest comes first.
    """
    pending: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    ready: list[int] = []
    for i, predecessors in sources.items():
        pending[i] = len(predecessors)
        for b in predecessors:
            readers.setdefault(b, []).append(i)
        if not predecessors:
            ready.append(i)
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for j in readers.get(i, ()):
            pending[j] -= 1
            if not pending[j]:
                heapq.heappush(ready, j)
    unordered = {i for i, n in pending.items() if n} if len(order) < len(pending) else set()
    return order, unordered


def find_cycle(sources: Mapping[int, Collection[int]], stuck: set[int]) -> list[int]:
    """Returns one cycle, each node before its reader, among nodes that all have a source in `stuck`."""
    path: dict[int, None] = {}
    i = min(stuck)
    while i not in path:  # every stuck node waits for a stuck one, so walking backwards must meet a node again
        path[i] = None
        i = next(b for b in sources[i] if b in stuck)
    reverse_path = list(path)
    return reverse_path[reverse_path.index(i) :][::-1]


def find_paths(
    order: Iterable[int], sources: Mapping[int, Collection[int]], enters: Mapping[int, str], exits: Collection[int]
) -> tuple[dict[int, Path], dict[int, Path]]:
    """Returns the frame path in which each node fires, and that of its outputs; the two differ for Enters and Exits.

    `enters` are the Enter nodes with the names of their frames. A node that reads values of several frames is in the
    innermost; one that waits for nothing is in the root.
    """
    inside: dict[int, Path] = {}
    outside: dict[int, Path] = {}
    for i in order:
        path = max((outside[b] for b in sources[i]), key=len, default=())
        inside[i] = outside[i] = path
        if i in enters:
            outside[i] = (*path, enters[i])
        elif i in exits:
            outside[i] = path[:-1]
    return inside, outside


def last_uses(steps: Sequence[tuple[Iterable[Name], Iterable[Name]]], live: Collection[Name]) -> list[tuple[Name, ...]]:
    """Returns for each step, given as (names it reads, names it writes), the names whose values nobody needs after it.

    `live` are the names whose values are needed after the last step.
    """
    needed = set(live)
    last_names: list[tuple[Name, ...]] = []
    for reads, writes in reversed(steps):
        reads, writes = tuple(reads), tuple(writes)
        last_names.append(tuple(n for n in dict.fromkeys((*reads, *writes)) if n not in needed))
        needed.difference_update(writes)
        needed.update(reads)
    return last_names[::-1]

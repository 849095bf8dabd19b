"""When each launch and host kernel of a traced step ran (white paper, section 9.2).

A step without a recorder pays nothing for it. Invariant: all times are microseconds of one clock whose zero is the
step's begin.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["NodeTime", "StepStats"]

HOST = "host"


@dataclass(frozen=True, slots=True)
class NodeTime:
    """One launch or host kernel: `nodes` are the ids of the graph nodes it computed, `nbytes` what it touched."""

    device: str
    label: str
    nodes: tuple[int, ...]
    start_us: float
    end_us: float
    nbytes: int = 0


class StepStats:
    """Collects the times of one step; filled from many threads (appending is atomic)."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self.times: list[NodeTime] = []

    def now_us(self) -> float:
        """Microseconds since the step began."""
        return (time.perf_counter() - self._begin) * 1e6

    def launch(
        self,
        device: str,
        label: str,
        nodes: tuple[int, ...],
        start_us: float,
        end_us: float,
        nbytes: int,
    ) -> None:
        """A device kernel ran."""
        self.times.append(NodeTime(device, label, nodes, start_us, end_us, nbytes))

    def host(self, node: Any, start_us: float, nbytes: int = 0) -> None:
        """A host kernel of `node` ran until now."""
        self.times.append(NodeTime(HOST, node.name, (node.id,), start_us, self.now_us(), nbytes))

    def in_order(self) -> Sequence[NodeTime]:
        """By start."""
        return sorted(self.times, key=lambda t: (t.start_us, t.end_us))

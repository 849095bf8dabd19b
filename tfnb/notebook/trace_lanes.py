"""Lays the events of a trace in lanes and rows (white paper, section 9.2, the EEG).

A lane is a queue of a device, a thread of the host, or the transfers between them; of events that overlap in a lane
each goes to the first row that is free. Invariant: within a row no two overlap, and there are never more than
MOST_LANES lanes of MOST_ROWS rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.session.config import NodeStats

__all__ = ["MOST_LANES", "MOST_ROWS", "Lane", "lay_out"]

MOST_LANES, MOST_ROWS = 400, 60
TRANSFERS = "transfers"
_RANK = {"queue": 0, "inline": 1}


@dataclass(frozen=True)
class Lane:
    """`rows` rows from `row` on; `device` and `name` say of what."""

    device: str
    name: str
    row: int
    rows: int


def lay_out(
    events: Sequence[NodeStats], start: np.ndarray, end: np.ndarray
) -> tuple[list[Lane], np.ndarray, int]:
    """The lanes, the row of each event, given by start, and how many found no place (their row is -1)."""
    members: dict[tuple[str, str], list[int]] = {}
    for i, t in enumerate(events):
        lane = TRANSFERS if t.kind == "transfer" and t.device == "host" else t.lane
        members.setdefault((t.device, lane), []).append(i)

    def place(key: tuple[str, str]) -> tuple[Any, ...]:
        device, lane = key
        return device == "host", device, _RANK.get(lane, 2), lane != TRANSFERS, lane != "MainThread", lane

    row = np.full(len(events), -1, np.int32)
    lanes = []
    top = 0
    for key in sorted(members, key=place)[:MOST_LANES]:
        mine = np.array(members[key])
        rows = _stack(start[mine], end[mine])
        row[mine] = np.where(rows < 0, -1, rows + top)
        lanes.append(Lane(*key, top, int(rows.max()) + 1))
        top += lanes[-1].rows
    return lanes, row, int((row < 0).sum())


def _stack(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The row of each interval, given by start: the first in which it overlaps nothing, -1 for none."""
    if (start[1:] >= end[:-1]).all():
        return np.zeros(len(start), np.int32)
    free: list[float] = []
    rows = np.zeros(len(start), np.int32)
    for i, (a, b) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        k = next((k for k, until in enumerate(free) if until <= a), len(free))
        if k < len(free):
            free[k] = b
        elif k < MOST_ROWS:
            free.append(b)
        else:
            k = -1
        rows[i] = k
    return rows

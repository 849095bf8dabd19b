"""Lays the events of a trace in lanes and rows (white paper, section 9.2, the EEG).

A lane is a queue of a device, a thread of the host, or the transfers between them; of events that overlap in a lane
each goes to the first row that is free. Where a step ran on many tasks, the lanes of a task stand together. Invariant:
within a row no two overlap, and there are never more than MOST_LANES lanes of MOST_ROWS rows.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.session.config import NodeStats

__all__ = [
    "MOST_LANES",
    "MOST_ROWS",
    "Lane",
    "host_beside",
    "is_host",
    "is_sent",
    "lane_to",
    "lay_out",
    "short_name",
    "task_of",
]

MOST_LANES, MOST_ROWS = 400, 60
HOST, TRANSFERS = "host", "transfers"
_TASK = re.compile(r"/job:([^/]+)/.*task:(\d+)")
_TO = "to "  # which `tfnb.session.dask.tracing` writes
_RANK = {"queue": 0, "inline": 1}


@dataclass(frozen=True)
class Lane:
    """`rows` rows from `row` on; `device` and `name` say of what. `group`: its task, "" where there is but one."""

    device: str
    name: str
    row: int
    rows: int
    group: str = ""


def is_host(device: str) -> bool:
    """Do the host's threads belong to this device: "host", or that of a task of a cluster?"""
    return device == HOST or device.endswith(f"/{HOST}")


def task_of(device: str) -> str:
    """The task of a device's full name, or of a task's host; "" for what belongs to no task."""
    if is_host(device):
        return device[: -len(HOST)].rstrip("/")
    return device.rpartition("/device:")[0]


def short_name(task: str) -> str:
    """ "worker 0" of "/job:worker/replica:0/task:0"; other names as they are."""
    found = _TASK.fullmatch(task)
    return f"{found[1]} {found[2]}" if found else task


def is_sent(t: NodeStats) -> bool:
    """Is it a tensor on its way to another task?"""
    return t.kind == "transfer" and t.lane.startswith(_TO) and bool(task_of(t.device))


def lane_to(task: str) -> str:
    """The lane of tensors that are sent to a task, among those of the sender."""
    return f"{_TO}{short_name(task)}"


def host_beside(device: str, hosts: Container[str]) -> str:
    """The host whose threads a device works for: that of its task where there is one, else this process's."""
    own = f"{task_of(device)}/{HOST}"
    return own if own in hosts else HOST


def lay_out(events: Sequence[NodeStats], start: np.ndarray, end: np.ndarray) -> tuple[list[Lane], np.ndarray, int]:
    """The lanes, the row of each event, given by start, and how many found no place (their row is -1)."""
    members: dict[tuple[str, str], list[int]] = {}
    for i, t in enumerate(events):
        local = t.kind == "transfer" and is_host(t.device) and not is_sent(t)
        members.setdefault((t.device, TRANSFERS if local else t.lane), []).append(i)
    groups = _groups(device for device, _ in members)

    def place(key: tuple[str, str]) -> tuple[Any, ...]:
        device, lane = key
        inside = is_host(device), device, _RANK.get(lane, 2), lane != TRANSFERS, lane != "MainThread", lane
        return (_in_order(groups[device]), *inside)

    row = np.full(len(events), -1, np.int32)
    lanes = []
    top = 0
    for key in sorted(members, key=place)[:MOST_LANES]:
        mine = np.array(members[key])
        rows = _stack(start[mine], end[mine])
        row[mine] = np.where(rows < 0, -1, rows + top)
        lanes.append(Lane(*key, top, int(rows.max()) + 1, groups[key[0]]))
        top += lanes[-1].rows
    return lanes, row, int((row < 0).sum())


def _groups(devices: Iterable[str]) -> dict[str, str]:
    """Device -> the title of its group: its task where there are several, "" where there is one."""
    tasks = {device: task_of(device) for device in devices}
    if len(set(filter(None, tasks.values()))) < 2 and not any(t and is_host(d) for d, t in tasks.items()):
        return dict.fromkeys(tasks, "")
    return {device: task or "this process" for device, task in tasks.items()}


def _in_order(group: str) -> tuple[Any, ...]:
    """This process and clients first, then by job and number."""
    found = _TASK.fullmatch(group)
    return (found[1] != "client", found[1], int(found[2])) if found else (False, "", 0)


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

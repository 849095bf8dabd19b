"""Assigns the events of a trace to lanes and rows (white paper, section 9.2, the EEG).

A lane is a queue of a device, a thread of the host, or the transfers between them; of events that overlap in a lane
each goes to the first free row. If a step ran on several tasks, the lanes of a task are adjacent. Invariant: no two
events of a row overlap, and there are never more than MOST_LANES lanes of MOST_ROWS rows.
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
_TO = "to "  # the prefix that `tfnb.session.dask.tracing` writes
_RANK = {"queue": 0, "inline": 1}


@dataclass(frozen=True)
class Lane:
    """`rows` rows from `row` on, for the lane `name` of `device`. `group`: its task, or "" if there is only one."""

    device: str
    name: str
    row: int
    rows: int
    group: str = ""


def is_host(device: str) -> bool:
    """Returns whether a device is a host, whose lanes are threads: "host", or the host of a task of a cluster."""
    return device == HOST or device.endswith(f"/{HOST}")


def task_of(device: str) -> str:
    """Returns the task in the full name of a device or of a host of a task; "" if there is none."""
    if is_host(device):
        return device[: -len(HOST)].rstrip("/")
    return device.rpartition("/device:")[0]


def short_name(task: str) -> str:
    """Returns "worker 0" for "/job:worker/replica:0/task:0", and other names unchanged."""
    match = _TASK.fullmatch(task)
    return f"{match[1]} {match[2]}" if match else task


def is_sent(t: NodeStats) -> bool:
    """Returns whether an event is the transfer of a tensor to another task."""
    return t.kind == "transfer" and t.lane.startswith(_TO) and bool(task_of(t.device))


def lane_to(task: str) -> str:
    """Returns the name of the sender's lane for tensors that are sent to a task."""
    return f"{_TO}{short_name(task)}"


def host_beside(device: str, hosts: Container[str]) -> str:
    """Returns the host whose threads launch the kernels of a device: the host of its task if there is one, else this
    process.
    """
    task_host = f"{task_of(device)}/{HOST}"
    return task_host if task_host in hosts else HOST


def lay_out(events: Sequence[NodeStats], start: np.ndarray, end: np.ndarray) -> tuple[list[Lane], np.ndarray, int]:
    """Returns the lanes, the row of each event (events ordered by start; -1 without a row), and the number of events
    without a row.
    """
    members: dict[tuple[str, str], list[int]] = {}
    for i, t in enumerate(events):
        local = t.kind == "transfer" and is_host(t.device) and not is_sent(t)
        members.setdefault((t.device, TRANSFERS if local else t.lane), []).append(i)
    groups = _groups(device for device, _ in members)

    def place(key: tuple[str, str]) -> tuple[Any, ...]:
        device, lane = key
        sort_key = is_host(device), device, _RANK.get(lane, 2), lane != TRANSFERS, lane != "MainThread", lane
        return (_in_order(groups[device]), *sort_key)

    row = np.full(len(events), -1, np.int32)
    lanes = []
    top = 0
    for key in sorted(members, key=place)[:MOST_LANES]:
        lane_events = np.array(members[key])
        rows = _stack(start[lane_events], end[lane_events])
        row[lane_events] = np.where(rows < 0, -1, rows + top)
        lanes.append(Lane(*key, top, int(rows.max()) + 1, groups[key[0]]))
        top += lanes[-1].rows
    return lanes, row, int((row < 0).sum())


def _groups(devices: Iterable[str]) -> dict[str, str]:
    """Returns a dict from each device to the title of its group: its task where there are several tasks, "" where there
    is one.
    """
    tasks = {device: task_of(device) for device in devices}
    if len(set(filter(None, tasks.values()))) < 2 and not any(t and is_host(d) for d, t in tasks.items()):
        return dict.fromkeys(tasks, "")
    return {device: task or "this process" for device, task in tasks.items()}


def _in_order(group: str) -> tuple[Any, ...]:
    """Returns the sort key of groups: this process and clients first, then by job and number."""
    match = _TASK.fullmatch(group)
    return (match[1] != "client", match[1], int(match[2])) if match else (False, "", 0)


def _stack(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Returns the row of each interval, in the order of their start: the first row in which the interval overlaps no
    other, or -1.
    """
    if (start[1:] >= end[:-1]).all():
        return np.zeros(len(start), np.int32)
    free: list[float] = []
    rows = np.zeros(len(start), np.int32)
    for i, (a, b) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        k = next((k for k, free_at in enumerate(free) if free_at <= a), len(free))
        if k < len(free):
            free[k] = b
        elif k < MOST_ROWS:
            free.append(b)
        else:
            k = -1
        rows[i] = k
    return rows

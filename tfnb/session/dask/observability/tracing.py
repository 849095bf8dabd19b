"""The times of a step on many tasks: each task records its own, and the master merges them (white paper, section 9.2).

A task records the same times as a single machine, and also the times at which tensors were sent and arrived. It sends
the times before its reply if the master has requested them. Invariant: received times are parsed, never unpickled. In
the master's recorder all times are by the master's clock, and the host threads of a task have the task's name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.runtime.stats import HOST, TRANSFER, NodeTime, StepStats
from tfnb.session.dask.observability.clocks import agreed
from tfnb.session.dask.task_names import short_task_name, task_of

__all__ = [
    "TaskTimes",
    "decode_times",
    "encode_times",
    "host_of",
    "join_transfers",
    "merge",
    "note_arrivals",
    "note_sent",
]

_ARRIVED = "arrived"  # the lane of arrivals, until each is joined with what the sender recorded


class TaskTimes(NamedTuple):
    """The times of a step that a task has recorded.

    `begin` is its begin in seconds of the task's `time.perf_counter`.
    """

    task: str
    begin: float
    wall_us: float
    times: tuple[NodeTime, ...]


def host_of(task: str) -> str:
    """The device that stands for the host threads of another task, in the times of a step."""
    return f"{task}/{HOST}"


def encode_times(stats: StepStats, task: str) -> np.ndarray:
    """The times of a step that has ended at `task`, as a message's value: JSON in an array of uint8."""
    stats.close()
    times = [_fields(NodeTime(*t)) for t in stats.times]
    fields = {"task": task, "begin": stats.begin, "wall_us": stats.wall_us, "times": times}
    return np.frombuffer(json.dumps(fields).encode(), np.uint8)


def _fields(t: NodeTime) -> list[object]:
    """The fields of a time as types that JSON supports. Numbers may be NumPy's before."""
    return [
        t.device,
        t.label,
        [int(i) for i in t.nodes],
        float(t.start_us),
        float(t.end_us),
        int(t.nbytes),
        t.kind,
        t.lane,
        t.detail,
        t.woken_by,
    ]


def decode_times(value: np.ndarray) -> TaskTimes:
    """Decodes the result of `encode_times`. Raises `InvalidArgumentError` for any other array."""
    try:
        fields = json.loads(value.tobytes())
        times = tuple(_time(t) for t in fields["times"])
        return TaskTimes(str(fields["task"]), float(fields["begin"]), float(fields["wall_us"]), times)
    except (ValueError, TypeError, KeyError, OverflowError) as e:
        raise InvalidArgumentError(f"the times that a task has sent are malformed: {e!r}") from e


def _time(fields: Sequence[object]) -> NodeTime:
    """The reverse of `_fields`. Raises `ValueError` or `TypeError` for fields of other numbers or types."""
    device, label, nodes, start, end, nbytes, kind, lane, detail, woken_by = fields
    if not isinstance(nodes, list):
        raise TypeError(f"the nodes of a time are a {type(nodes).__name__}")
    ids = tuple(int(i) for i in nodes)
    return NodeTime(
        str(device),
        str(label),
        ids,
        _number(start),
        _number(end),
        int(_number(nbytes)),
        str(kind),
        str(lane),
        str(detail),
        str(woken_by),
    )


def _number(value: object) -> float:
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return value


def merge(into: StepStats, local_task: str, others: Sequence[TaskTimes], ahead: Sequence[tuple[float, float]]) -> None:
    """Adds the times of other tasks to `into`, the recorder of the master, whose task is `local_task`.

    `ahead` has for each of the others two bounds, in seconds, of how far its clock is ahead of the master's. Within
    these bounds the clocks are adjusted so that no tensor arrives before it was sent.
    """
    local = TaskTimes(local_task, into.begin, 0.0, tuple(NodeTime(*t) for t in into.times))
    clocks = {local_task: (0.0, 0.0), **{t.task: b for t, b in zip(others, ahead, strict=True)}}
    offsets = agreed(clocks, _least_delays([local, *others]))
    for task in others:
        shift = (task.begin - offsets[task.task] - into.begin) * 1e6
        for t in task.times:
            device = host_of(task.task) if t.device == HOST else t.device
            into.times.append(t._replace(device=device, start_us=t.start_us + shift, end_us=t.end_us + shift))
    join_transfers(into, local_task)


# ---- tensors from task to task ---------------------------------------------------------------


def note_sent(stats: StepStats, target: str, sent: Iterable[tuple[str, int]], start_us: float) -> None:
    """Records that tensors were sent to the task `target`, beginning at `start_us`: (rendezvous key, bytes) of each."""
    for key, nbytes in sent:
        stats.span(TRANSFER, key, start_us, nbytes, lane=f"to {short_task_name(target)}")


def note_arrivals(stats: StepStats, arrivals: Iterable[tuple[str, float]]) -> None:
    """Records when tensors arrived: (rendezvous key, seconds by this process's `perf_counter`) of each."""
    for key, at in arrivals:
        at_us = (at - stats.begin) * 1e6
        stats.times.append((HOST, key, (), at_us, at_us, 0, TRANSFER, _ARRIVED))


def _key_parts(t: NodeTime) -> list[str] | None:
    """The four parts of the key of a tensor that was sent or arrived; None for any other time."""
    parts = t.label.split("\n")
    return parts if t.kind == TRANSFER and len(parts) == 4 else None


def _least_delays(tasks: Sequence[TaskTimes]) -> dict[tuple[str, str], float]:
    """For each (sender, receiver) the shortest time that a tensor took, in seconds, by the clocks of the two.

    It may be negative, since the clocks differ.
    """
    arrivals = {
        (task.task, t.label): task.begin + t.start_us / 1e6 for task in tasks for t in task.times if t.lane == _ARRIVED
    }
    least: dict[tuple[str, str], float] = {}
    for task in tasks:
        for t in task.times:
            parts = _key_parts(t)
            if parts is None or t.lane == _ARRIVED:
                continue
            receiver = task_of(parts[1])
            arrived = arrivals.get((receiver, t.label))
            if arrived is not None and receiver != task.task:
                delay = arrived - (task.begin + t.start_us / 1e6)
                least[task.task, receiver] = min(delay, least.get((task.task, receiver), delay))
    return least


def join_transfers(stats: StepStats, local_task: str) -> None:
    """Merges the two times of each tensor, those of its sender and its receiver, into one.

    The merged time lasts from the begin of sending until the whole tensor has arrived. Its lane belongs to the sender
    and names the receiver. The times of this process's host threads are assigned to `local_task`.
    """
    times = [NodeTime(*t) for t in stats.times]
    times = [t._replace(device=host_of(local_task)) if t.device == HOST else t for t in times]
    arrivals = {(t.device, t.label): t.start_us for t in times if t.lane == _ARRIVED and t.kind == TRANSFER}
    joined = []
    for t in times:
        parts = _key_parts(t)
        if t.kind == TRANSFER and t.lane == _ARRIVED:
            continue
        if parts is not None:
            source, target, tensor, tag = parts
            end = arrivals.get((host_of(task_of(target)), t.label), t.end_us)
            detail = f"from {source} to {target}{f', iteration {tag}' if tag else ''}"
            t = t._replace(label=tensor, end_us=max(end, t.start_us), detail=detail)
        joined.append(t)
    stats.times[:] = joined

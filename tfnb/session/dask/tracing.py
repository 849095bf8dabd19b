"""The times of a step on many tasks: what each noted, on its way to the master (white paper, section 9.2).

A task notes as one machine does, and when tensors left it and came, and sends it with its reply when it was asked to.
Invariant: what arrives is parsed, never unpickled, and stands in the master's recorder by the master's clock, a task's
host threads under the task's name.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.runtime.stats import HOST, TRANSFER, NodeTime, StepStats

__all__ = [
    "Noted", "decode_times", "encode_times", "host_of", "join_transfers", "merge", "note_arrivals", "note_sent",
]  # fmt: skip

_ARRIVED = "arrived"  # the lane of what came, until it is joined with what was sent


class Noted(NamedTuple):
    """What a task noted of a step that began there at `begin`, seconds by the task's `time.time`."""

    task: str
    begin: float
    wall_us: float
    times: tuple[NodeTime, ...]


def host_of(task: str) -> str:
    """The device that the host threads of another task belong to, in the times of a step."""
    return f"{task}/{HOST}"


def _begin(stats: StepStats) -> float:
    """When the step began, by the wall clock: `perf_counter` means nothing to other machines."""
    return time.time() - (time.perf_counter() - stats.begin)


def encode_times(stats: StepStats, task: str) -> np.ndarray:
    """JSON as a message's value; the step is over."""
    stats.close()
    times = [_plain(NodeTime(*t)) for t in stats.times]
    told = {"task": task, "begin": _begin(stats), "wall_us": stats.wall_us, "times": times}
    return np.frombuffer(json.dumps(told).encode(), np.uint8)


def _plain(t: NodeTime) -> list[Any]:
    return [
        t.device, t.label, [int(i) for i in t.nodes], float(t.start_us), float(t.end_us), int(t.nbytes), t.kind,
        t.lane, t.detail, t.woken_by,
    ]  # fmt: skip


def decode_times(value: np.ndarray) -> Noted:
    """What `encode_times` made. Raises `InvalidArgumentError` for anything else."""
    try:
        told = json.loads(value.tobytes())
        times = tuple(_time(*t) for t in told["times"])
        return Noted(str(told["task"]), float(told["begin"]), float(told["wall_us"]), times)
    except (ValueError, TypeError, KeyError) as e:
        raise InvalidArgumentError(f"a task told of its times in a malformed way: {e!r}") from e


def _time(
    device: Any, label: Any, nodes: Any, start: Any, end: Any, nbytes: Any, kind: Any, lane: Any, detail: Any,
    woken_by: Any,
) -> NodeTime:  # fmt: skip
    ids = tuple(int(i) for i in nodes)
    texts = (str(kind), str(lane), str(detail), str(woken_by))
    return NodeTime(str(device), str(label), ids, float(start), float(end), int(nbytes), *texts)


def merge(into: StepStats, noted: Noted, ahead: float = 0.0) -> None:
    """Adds what a task noted to what the master did; the task's clock is `ahead` seconds ahead of the master's."""
    shift = (noted.begin - ahead - _begin(into)) * 1e6
    for t in noted.times:
        device = host_of(noted.task) if t.device == HOST else t.device
        into.times.append(t._replace(device=device, start_us=t.start_us + shift, end_us=t.end_us + shift))


# ---- tensors from task to task ---------------------------------------------------------------


def note_sent(stats: StepStats, target: str, sent: Iterable[tuple[str, int]], start_us: float) -> None:
    """Tensors, as rendezvous keys and their bytes, are on their way to the task `target` since `start_us`."""
    for key, nbytes in sent:
        stats.span(TRANSFER, key, start_us, nbytes, lane=f"to {_short(target)}")


def note_arrivals(stats: StepStats, came: Iterable[tuple[str, float]]) -> None:
    """When tensors came, as rendezvous keys, by this process's `perf_counter`."""
    for key, at in came:
        at_us = (at - stats.begin) * 1e6
        stats.times.append((HOST, key, (), at_us, at_us, 0, TRANSFER, _ARRIVED))


def join_transfers(stats: StepStats, home: str) -> None:
    """Makes one entry of what its sender and its receiver have noted of a tensor; `home` is this process's task.

    It is on its way from the begin of sending until it has come, whole. Its lane, of the sender, names the receiver.
    """
    times = [NodeTime(*t) for t in stats.times]
    times = [t._replace(device=host_of(home)) if t.device == HOST else t for t in times]
    came = {(t.device, t.label): t.start_us for t in times if t.lane == _ARRIVED and t.kind == TRANSFER}
    joined = []
    for t in times:
        parts = t.label.split("\n")
        if t.kind == TRANSFER and t.lane == _ARRIVED:
            continue
        if t.kind == TRANSFER and len(parts) == 4:
            source, target, tensor, tag = parts
            there = host_of(target.rpartition("/device:")[0])
            end = came.get((there, t.label), t.end_us)
            detail = f"from {source} to {target}{f', iteration {tag}' if tag else ''}"
            t = t._replace(label=tensor, end_us=max(end, t.start_us), detail=detail)
        joined.append(t)
    stats.times[:] = joined


def _short(task: str) -> str:
    """ "worker 0" of "/job:worker/replica:0/task:0"."""
    found = re.fullmatch(r"/job:([^/]+)/.*task:(\d+)", task)
    return f"{found[1]} {found[2]}" if found else task

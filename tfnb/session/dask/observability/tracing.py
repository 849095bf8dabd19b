"""The times of a step on many tasks: what each noted, on its way to the master (white paper, section 9.2).

A task notes as one machine does, and when tensors left it and came, and sends it with its reply when it was asked to.
Invariant: what arrives is parsed, never unpickled, and stands in the master's recorder by the master's clock, a task's
host threads under the task's name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.runtime.stats import HOST, TRANSFER, NodeTime, StepStats
from tfnb.session.dask.observability.clocks import agreed
from tfnb.session.dask.task_names import short_task_name, task_of

__all__ = ["Noted", "decode_times", "encode_times", "host_of", "join_transfers", "merge", "note_arrivals", "note_sent"]

_ARRIVED = "arrived"  # the lane of what came, until it is joined with what was sent


class Noted(NamedTuple):
    """What a task noted of a step that began there at `begin`, seconds by the task's `time.perf_counter`."""

    task: str
    begin: float
    wall_us: float
    times: tuple[NodeTime, ...]


def host_of(task: str) -> str:
    """The device that the host threads of another task belong to, in the times of a step."""
    return f"{task}/{HOST}"


def encode_times(stats: StepStats, task: str) -> np.ndarray:
    """JSON as a message's value; the step is over."""
    stats.close()
    times = [_plain(NodeTime(*t)) for t in stats.times]
    told = {"task": task, "begin": stats.begin, "wall_us": stats.wall_us, "times": times}
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
    device: str, label: str, nodes: Any, start: Any, end: Any, nbytes: Any, kind: Any, lane: Any, detail: Any,
    woken_by: Any,
) -> NodeTime:  # fmt: skip
    ids = tuple(int(i) for i in nodes)
    texts = (str(kind), str(lane), str(detail), str(woken_by))
    return NodeTime(str(device), str(label), ids, float(start), float(end), int(nbytes), *texts)


def merge(into: StepStats, home: str, told: Sequence[Noted], ahead: Sequence[tuple[float, float]]) -> None:
    """Adds what tasks noted to what the master did, whose task is `home`; `ahead`: bounds, in seconds, of how far each
    one's clock is ahead of the master's.

    Where they leave a choice, no tensor comes before it was sent.
    """
    here = Noted(home, into.begin, 0.0, tuple(NodeTime(*t) for t in into.times))
    clocks = {home: (0.0, 0.0), **{n.task: b for n, b in zip(told, ahead, strict=True)}}
    found = agreed(clocks, _late([here, *told]))
    for noted in told:
        shift = (noted.begin - found[noted.task] - into.begin) * 1e6
        for t in noted.times:
            device = host_of(noted.task) if t.device == HOST else t.device
            into.times.append(t._replace(device=device, start_us=t.start_us + shift, end_us=t.end_us + shift))
    join_transfers(into, home)


# ---- tensors from task to task ---------------------------------------------------------------


def note_sent(stats: StepStats, target: str, sent: Iterable[tuple[str, int]], start_us: float) -> None:
    """Tensors, as rendezvous keys and their bytes, are on their way to the task `target` since `start_us`."""
    for key, nbytes in sent:
        stats.span(TRANSFER, key, start_us, nbytes, lane=f"to {short_task_name(target)}")


def note_arrivals(stats: StepStats, came: Iterable[tuple[str, float]]) -> None:
    """When tensors came, as rendezvous keys, by this process's `perf_counter`."""
    for key, at in came:
        at_us = (at - stats.begin) * 1e6
        stats.times.append((HOST, key, (), at_us, at_us, 0, TRANSFER, _ARRIVED))


def _tensor(t: NodeTime) -> list[str] | None:
    """The four parts of its key, where a tensor was sent or came."""
    parts = t.label.split("\n")
    return parts if t.kind == TRANSFER and len(parts) == 4 else None


def _late(told: Sequence[Noted]) -> dict[tuple[str, str], float]:
    """(sender, receiver) -> the least of what their clocks say of the seconds that a tensor took."""
    came = {(n.task, t.label): n.begin + t.start_us / 1e6 for n in told for t in n.times if t.lane == _ARRIVED}
    found: dict[tuple[str, str], float] = {}
    for noted in told:
        for t in noted.times:
            parts = _tensor(t)
            if parts is None or t.lane == _ARRIVED:
                continue
            there = task_of(parts[1])
            at = came.get((there, t.label))
            if at is not None and there != noted.task:
                took = at - (noted.begin + t.start_us / 1e6)
                found[noted.task, there] = min(took, found.get((noted.task, there), took))
    return found


def join_transfers(stats: StepStats, home: str) -> None:
    """Makes one entry of what its sender and its receiver have noted of a tensor; `home` is this process's task.

    It is on its way from the begin of sending until it has come, whole. Its lane, of the sender, names the receiver.
    """
    times = [NodeTime(*t) for t in stats.times]
    times = [t._replace(device=host_of(home)) if t.device == HOST else t for t in times]
    came = {(t.device, t.label): t.start_us for t in times if t.lane == _ARRIVED and t.kind == TRANSFER}
    joined = []
    for t in times:
        parts = _tensor(t)
        if t.kind == TRANSFER and t.lane == _ARRIVED:
            continue
        if parts is not None:
            source, target, tensor, tag = parts
            end = came.get((host_of(task_of(target)), t.label), t.end_us)
            detail = f"from {source} to {target}{f', iteration {tag}' if tag else ''}"
            t = t._replace(label=tensor, end_us=max(end, t.start_us), detail=detail)
        joined.append(t)
    stats.times[:] = joined

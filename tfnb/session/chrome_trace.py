"""Step times as a Chrome trace, for chrome://tracing and Perfetto, and the class `Timeline` of TensorFlow's
`client.timeline`.

The trace of a step on several tasks has one process for each task. Invariant: every lane is a named thread of the
process of its device or task, and an arrow leads to a waiting operation from the event that ended its wait.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from tfnb.errors import InvalidArgumentError, refuse_given
from tfnb.session.config import NodeStats, RunMetadata
from tfnb.session.step_messages import fields_of

__all__ = ["Timeline", "chrome_events", "chrome_trace"]


class Timeline:
    """TensorFlow's `timeline.Timeline(run_metadata.step_stats)`; `step_stats` is a list of NodeStats or a StepStats
    message.

    `graph` has no effect, as in TensorFlow, because the statistics name the operations. Raises `InvalidArgumentError`
    for other statistics.
    """

    def __init__(self, step_stats: object, graph: object = None) -> None:
        self._times = times_of(step_stats)

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """The trace as JSON text; `show_dataflow` adds arrows along edges.

        Raises `InvalidArgumentError` for `show_memory`, and for an `op_time` other than "schedule".
        """
        refuse_given("generate_chrome_trace_format", "the trace holds times only", show_memory=show_memory)
        if op_time != "schedule":
            raise InvalidArgumentError(f"generate_chrome_trace_format: op_time={op_time!r}; needed 'schedule'")
        events = chrome_events([(0.0, self._times)], show_dataflow)
        return json.dumps({"displayTimeUnit": "ms", "traceEvents": events}, ensure_ascii=False)


def times_of(statistics: object) -> list[NodeStats]:
    """The NodeStats of a RunMetadata, of its `step_stats`, or of a message of either type. Raises
    `InvalidArgumentError` for other values."""
    if isinstance(statistics, RunMetadata):
        return list(statistics.step_stats)
    if isinstance(statistics, list) and all(isinstance(t, NodeStats) for t in statistics):
        return list(statistics)
    message = getattr(statistics, "step_stats", statistics)
    if hasattr(message, "dev_stats"):
        return [NodeStats(**fields) for fields in fields_of(message)]
    raise InvalidArgumentError(f"needed step statistics (RunMetadata.step_stats), got {type(statistics).__name__}")


class TracedStep(Protocol):
    """A step of a recording, or of a trace that was read from a file."""

    @property
    def begin_us(self) -> float: ...
    @property
    def wall_us(self) -> float: ...
    @property
    def times(self) -> Sequence[NodeStats]: ...


def chrome_trace(steps: Sequence[TracedStep], arrows: bool = True) -> str:
    """The trace of several steps as JSON text; `otherData` holds the duration of each."""
    events = chrome_events(((s.begin_us, s.times) for s in steps), arrows)
    walls = [[s.begin_us, s.wall_us] for s in steps]
    trace = {"displayTimeUnit": "ms", "traceEvents": events, "otherData": {"tfnb_steps": walls}}
    return json.dumps(trace, ensure_ascii=False)


def chrome_events(steps: Iterable[tuple[float, Sequence[NodeStats]]], arrows: bool = True) -> list[dict[str, Any]]:
    """The trace events of steps. Each step is given by its begin, in microseconds, and its times."""
    steps = list(steps)
    places = _Places(any(t.device.endswith("/host") for _, times in steps for t in times))
    events = places.events
    flows = 0
    for step, (begin, times) in enumerate(steps):
        for t in times:
            pid, tid = places.of(t.device, t.lane)
            args = {
                "name": t.name,
                "op": t.op,
                "step": step,
                "bytes": t.nbytes,
                "nodes": list(t.nodes)[:50],
                "detail": t.detail,
                "woken_by": t.woken_by,
            }
            if places.by_task:
                args |= {"device": t.device, "lane": t.lane}
            event = {
                "ph": "X",
                "cat": t.kind,
                "name": t.op or t.name,
                "pid": pid,
                "tid": tid,
                "ts": round(begin + t.start_us, 3),
                "dur": round(max(t.took_us, 0.0), 3),
            }
            events.append(event | {"args": {k: v for k, v in args.items() if v or k == "step"}})
            waker = places.threads.get((places.host_of(t.device), t.woken_by))
            if arrows and waker is not None:
                flows += 1
                ts = round(begin + t.end_us, 3)
                flow = {"cat": "wakes", "name": "wakes", "id": flows, "ts": ts}
                events.append(flow | {"ph": "s", "pid": waker[0], "tid": waker[1]})
                events.append(flow | {"ph": "f", "bp": "e", "pid": pid, "tid": tid})
    return events


class _Places:
    """The processes and threads of a trace, which are numbered and named when they first occur."""

    def __init__(self, by_task: bool) -> None:
        self.by_task = by_task
        self.events: list[dict[str, Any]] = []
        self.threads: dict[tuple[str, str], tuple[int, int]] = {}
        self._processes: dict[str, int] = {}

    def of(self, device: str, lane: str) -> tuple[int, int]:
        """The numbers of the process and the thread of a lane."""
        place = self.threads.get((device, lane))
        if place is not None:
            return place
        process, thread = device, lane
        if self.by_task and "/" in device:
            process, _, unit = device.rpartition("/")
            thread = lane if unit == "host" else f"{unit.removeprefix('device:')} {lane}"
        pid = self._processes.get(process)
        if pid is None:
            pid = self._processes[process] = len(self._processes)
            self._name("process_name", process, pid=pid)
        place = self.threads[device, lane] = pid, len(self.threads)
        self._name("thread_name", thread, pid=pid, tid=place[1])
        return place

    def host_of(self, device: str) -> str:
        """The process whose threads wake the operations that wait on a device."""
        return f"{device.rpartition('/')[0]}/host" if self.by_task and "/" in device else "host"

    def _name(self, what: str, name: str, **where: int) -> None:
        self.events.append({"ph": "M", "name": what, **where, "args": {"name": name}})

"""Times as a Chrome trace, for chrome://tracing and Perfetto; `Timeline` is TensorFlow's `client.timeline`.

Invariant: every lane is a thread of its device's process, with a name; a waiting operation has an arrow from what
ended its wait.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from tfnb.errors import InvalidArgumentError
from tfnb.session.config import NodeStats, RunMetadata
from tfnb.session.step_messages import fields_of

__all__ = ["Timeline", "chrome_events", "chrome_trace"]


class Timeline:
    """TensorFlow's `timeline.Timeline(run_metadata.step_stats)`: a list of NodeStats, or a StepStats message.

    `graph` is accepted, as there. Raises `InvalidArgumentError` for anything else.
    """

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        self._times = times_of(step_stats)

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """The trace as JSON text. `show_dataflow`: arrows; the other options are accepted."""
        events = chrome_events([(0.0, self._times)], show_dataflow)
        return json.dumps({"displayTimeUnit": "ms", "traceEvents": events}, ensure_ascii=False)


def times_of(found: Any) -> list[NodeStats]:
    """NodeStats of a RunMetadata, its `step_stats`, or a message of either. Raises `InvalidArgumentError`."""
    if isinstance(found, RunMetadata):
        return list(found.step_stats)
    if isinstance(found, list) and all(isinstance(t, NodeStats) for t in found):
        return list(found)
    message = getattr(found, "step_stats", found)
    if hasattr(message, "dev_stats"):
        return [NodeStats(**fields) for fields in fields_of(message)]
    raise InvalidArgumentError(f"needed step statistics (RunMetadata.step_stats), got {type(found).__name__}")


class TracedStep(Protocol):
    """A step of a recording, or of a trace that was read."""

    @property
    def begin_us(self) -> float: ...
    @property
    def wall_us(self) -> float: ...
    @property
    def times(self) -> Sequence[NodeStats]: ...


def chrome_trace(steps: Sequence[TracedStep], arrows: bool = True) -> str:
    """Steps as JSON text; how long each took stands in `otherData`."""
    events = chrome_events(((s.begin_us, s.times) for s in steps), arrows)
    walls = [[s.begin_us, s.wall_us] for s in steps]
    trace = {"displayTimeUnit": "ms", "traceEvents": events, "otherData": {"tfnb_steps": walls}}
    return json.dumps(trace, ensure_ascii=False)


def chrome_events(
    steps: Iterable[tuple[float, Sequence[NodeStats]]], arrows: bool = True
) -> list[dict[str, Any]]:
    """The list of trace events of steps: when each began, in microseconds, and its times."""
    processes: dict[str, int] = {}
    threads: dict[tuple[str, str], int] = {}
    events: list[dict[str, Any]] = []
    flows = 0
    for step, (begin, times) in enumerate(steps):
        for t in times:
            pid, tid = _place(t, processes, threads, events)
            args = {"name": t.name, "op": t.op, "step": step, "bytes": t.nbytes, "nodes": list(t.nodes)[:50],
                    "detail": t.detail, "woken_by": t.woken_by}  # fmt: skip
            event = {"ph": "X", "cat": t.kind, "name": t.op or t.name, "pid": pid, "tid": tid,
                     "ts": round(begin + t.start_us, 3), "dur": round(max(t.took_us, 0.0), 3)}  # fmt: skip
            events.append(event | {"args": {k: v for k, v in args.items() if v or k == "step"}})
            waker = threads.get(("host", t.woken_by))
            if arrows and waker is not None:
                flows += 1
                ts = round(begin + t.end_us, 3)
                flow = {"cat": "wakes", "name": "wakes", "id": flows, "ts": ts}
                events.append(flow | {"ph": "s", "pid": processes["host"], "tid": waker})
                events.append(flow | {"ph": "f", "bp": "e", "pid": pid, "tid": tid})
    return events


def _place(
    t: NodeStats, processes: dict[str, int], threads: dict[tuple[str, str], int], events: list[dict[str, Any]]
) -> tuple[int, int]:
    """The process and thread of an event, named when they come up for the first time."""
    pid = processes.get(t.device)
    if pid is None:
        pid = processes[t.device] = len(processes)
        events.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": t.device}})
    tid = threads.get((t.device, t.lane))
    if tid is None:
        tid = threads[t.device, t.lane] = len(threads)
        events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": t.lane}})
    return pid, tid

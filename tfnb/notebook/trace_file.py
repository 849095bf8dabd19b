"""Chrome traces as steps for the timeline: ours, and other programs' (the Trace Event Format's JSON).

Read are complete events ("X"), pairs ("B", "E"), names of processes and threads ("M") and our arrows of what ended a
wait. Invariant: whatever a file holds, this ends in steps or in an `OpError`, in memory in proportion to the file.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tfnb.errors import DataLossError, ResourceExhaustedError
from tfnb.ir.files import os_errors
from tfnb.session.config import NodeStats

__all__ = ["MOST_BYTES", "TraceFile", "TraceStep", "read_trace", "trace_of"]

MOST_BYTES, MOST_EVENTS = 64 << 20, 500_000
LONGEST = 400  # of a name or detail


@dataclass
class TraceStep:
    """The times of one step, which began `begin_us` after the first; `graph` is not in files."""

    begin_us: float
    times: list[NodeStats] = field(default_factory=list)
    graph: Any = None

    @property
    def wall_us(self) -> float:
        return max((t.end_us for t in self.times), default=0.0)


@dataclass
class TraceFile:
    """The steps of a file, as `tf.timeline` takes them. dropped: events that were too many or made no sense."""

    steps: list[TraceStep]
    skipped: int = 0
    dropped: int = 0  # steps, as in a Recording: none here


@dataclass
class _Event:
    place: tuple[Any, Any]
    name: str
    category: str
    begin: float
    end: float
    args: dict[str, Any]
    woken_by: str = ""


def read_trace(path: str) -> TraceFile:
    """Reads a file. Raises `NotFoundError`, `ResourceExhaustedError` (too large), `DataLossError` (no Chrome trace)."""
    with os_errors(path):
        size = os.path.getsize(path)
        if size > MOST_BYTES:
            raise ResourceExhaustedError(f"a trace of {size:,} bytes: at most {MOST_BYTES:,} are read")
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as fault:
        raise DataLossError(f"no JSON: {str(fault)[:200]}") from None
    return trace_of(found)


def trace_of(found: Any) -> TraceFile:
    """The steps in what JSON gave: a list of events, or an object with `traceEvents`. Raises `DataLossError`."""
    events = found.get("traceEvents") if isinstance(found, dict) else found
    if not isinstance(events, list):
        raise DataLossError("no Chrome trace: needed a list of events, or an object with traceEvents")
    reading = _Reading()
    for event in events[:MOST_EVENTS]:
        reading.take(event)
    skipped = reading.skipped + len(reading.open_events()) + max(len(events) - MOST_EVENTS, 0)
    if not reading.events:
        raise DataLossError(f"no Chrome trace: none of its {len(events):,} events says what ran when")
    return TraceFile(_steps(reading), skipped)


class _Reading:
    """Events seen so far, and what names and arrows say of them."""

    def __init__(self) -> None:
        self.events: list[_Event] = []
        self.processes: dict[Any, str] = {}
        self.threads: dict[tuple[Any, Any], str] = {}
        self.wakers: dict[Any, tuple[Any, Any]] = {}
        self.woken: list[tuple[tuple[Any, Any], float, Any]] = []
        self.skipped = 0
        self._begun: dict[tuple[Any, Any], list[_Event]] = {}

    def open_events(self) -> list[_Event]:
        """Those that began and never ended."""
        return [event for stack in self._begun.values() for event in stack]

    def take(self, event: Any) -> None:
        """One event; what makes no sense is counted."""
        try:
            known = self._take(event)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            known = False
        self.skipped += not known

    def _take(self, event: Any) -> bool:
        what, place = event["ph"], (_key(event.get("pid")), _key(event.get("tid")))
        if what == "M":
            name = _text(event.get("args", {}).get("name"))
            if event["name"] == "process_name":
                self.processes[place[0]] = name
            elif event["name"] == "thread_name":
                self.threads[place] = name
            return True
        if what == "X":
            begin = _number(event["ts"])
            self.events.append(_event(event, place, begin, begin + max(_number(event.get("dur", 0)), 0.0)))
        elif what == "B":
            begin = _number(event["ts"])
            self._begun.setdefault(place, []).append(_event(event, place, begin, begin))
        elif what == "E":
            stack = self._begun.get(place)
            if not stack:
                return False
            begun = stack.pop()
            begun.end = max(_number(event["ts"]), begun.begin)
            self.events.append(begun)
        elif what == "s":
            self.wakers[_key(event["id"])] = place
        elif what == "f":
            self.woken.append((place, _number(event["ts"]), _key(event["id"])))
        return True


def _event(event: dict[str, Any], place: tuple[Any, Any], begin: float, end: float) -> _Event:
    args = event.get("args")
    return _Event(
        place, _text(event.get("name")), _text(event.get("cat")), begin, end, args if isinstance(args, dict) else {}
    )


def _steps(reading: _Reading) -> list[TraceStep]:
    ends = {(e.place, round(e.end, 3)): e for e in reading.events}
    for place, at, number in reading.woken:
        event, waker = ends.get((place, round(at, 3))), reading.wakers.get(number)
        if event is not None and waker is not None:
            event.woken_by = reading.threads.get(waker, "")
    first = min(e.begin for e in reading.events)
    by_step: dict[int, list[_Event]] = {}
    for event in sorted(reading.events, key=lambda e: (e.begin, -e.end)):
        step = event.args.get("step")
        by_step.setdefault(step if isinstance(step, int) and not isinstance(step, bool) else 0, []).append(event)
    steps = []
    for _, events in sorted(by_step.items(), key=lambda item: item[1][0].begin):
        begin = events[0].begin
        steps.append(TraceStep(begin - first, [_stats(reading, e, begin) for e in events]))
    return steps


def _stats(reading: _Reading, event: _Event, begin: float) -> NodeStats:
    args, (pid, _) = event.args, event.place
    nodes = args.get("nodes")
    size = args.get("bytes", 0)
    return NodeStats(
        name=_text(args.get("name")) or event.name,
        op=_text(args.get("op")) or event.name,
        device=reading.processes.get(pid) or f"process {_text(pid)}",
        start_us=event.begin - begin,
        end_us=event.end - begin,
        nbytes=size if isinstance(size, int) and 0 <= size < 1 << 62 else 0,
        nodes=_names(nodes) if isinstance(nodes, list) else (),
        kind=_kind(event.category),
        lane=reading.threads.get(event.place) or f"thread {_text(event.place[1])}",
        detail=_text(args.get("detail")),
        woken_by=event.woken_by,
    )


def _kind(category: str) -> str:
    """Ours, by the words that TensorFlow's and PyTorch's profilers use; all else ran on the host."""
    if category in ("kernel", "host", "launch", "compile", "transfer", "schedule", "wait"):
        return category
    words = category.lower()
    if "memcpy" in words or "transfer" in words:
        return "transfer"
    if "kernel" in words or words == "op":
        return "kernel"
    return "host"


def _names(found: Iterable[Any]) -> tuple[str, ...]:
    return tuple(_text(n) for n in found)[:50]


def _text(found: Any) -> str:
    return "" if found is None else str(found)[:LONGEST]


def _key(found: Any) -> Any:
    return found if isinstance(found, (int, str)) else _text(found)


def _number(found: Any) -> float:
    number = float(found)
    if not math.isfinite(number) or abs(number) > 1e18:
        raise ValueError("no time")
    return number

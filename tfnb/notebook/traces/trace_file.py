"""Chrome traces as steps for the timeline: ours, and other programs' (the Trace Event Format's JSON).

Read are complete events ("X"), pairs ("B", "E"), names of processes and threads ("M") and our arrows of what ended a
wait. A file may be gzipped, and its list may lack its end. Invariant: whatever a file holds, it ends in steps or in an
`OpError`, in memory in proportion to the file.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tfnb.errors import DataLossError, ResourceExhaustedError
from tfnb.session.config import NodeStats
from tfnb.system.files import os_errors

__all__ = ["MOST_BYTES", "TraceFile", "TraceStep", "read_trace", "trace_of"]

MOST_BYTES, MOST_EVENTS = 64 << 20, 200_000
MOST_VALUES = 4_000_000  # of all in the JSON; an empty one takes two bytes in a file and 72 in memory
MOST_STEPS = 1_000  # events of later steps are counted as too many
LONGEST = 400  # of a name or detail


@dataclass
class TraceStep:
    """The times of one step, which began `begin_us` after the first; `graph` is not in files."""

    begin_us: float
    times: list[NodeStats]
    wall_us: float
    graph: Any = None

    @property
    def n_events(self) -> int:
        return len(self.times)


@dataclass
class TraceFile:
    """The steps of a file, as `tf.timeline` takes them. skipped: events that were too many or made no sense."""

    steps: list[TraceStep]
    skipped: int = 0

    @property
    def notes(self) -> list[str]:
        """What is not in it."""
        return [f"{self.skipped:,} entries of the file were too many or made no sense"] if self.skipped else []


@dataclass
class _Event:
    place: tuple[Any, Any]
    name: str
    category: str
    begin: float
    end: float
    args: dict[str, Any]
    woken_by: str = ""


def read_trace(path: str, most_bytes: int = MOST_BYTES, most_events: int = MOST_EVENTS) -> TraceFile:
    """Reads a file. Raises `NotFoundError`, `ResourceExhaustedError` (too large), `DataLossError` (no Chrome trace)."""
    with os_errors(path):
        with open(path, "rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"
        try:
            with gzip.open(path, "rb") if zipped else open(path, "rb") as source:
                content = source.read(most_bytes + 1)
        except (EOFError, gzip.BadGzipFile, zlib.error) as fault:
            raise DataLossError(f"a damaged gzip file: {fault}") from None
    if len(content) > most_bytes:
        raise ResourceExhaustedError(f"a trace of more than {most_bytes:,} bytes, and no more are read")
    return trace_of(_json(content), most_events)


def _json(content: bytes) -> Any:
    values = sum(content.count(mark) for mark in (b",", b"{", b"["))
    if values > MOST_VALUES:
        raise ResourceExhaustedError(f"a trace of some {values:,} values in JSON: at most {MOST_VALUES:,} are read")
    text = content.decode("utf-8", "replace").strip()
    try:
        try:
            return json.loads(text)
        except ValueError:
            if not text.startswith("["):
                raise
            return json.loads(text.rstrip(",") + "]")  # a program that died while it wrote
    except (ValueError, RecursionError) as fault:
        raise DataLossError(f"no JSON: {str(fault)[:200]}") from None


def trace_of(found: Any, most_events: int = MOST_EVENTS) -> TraceFile:
    """The steps in what JSON gave: a list of events, or an object with `traceEvents`. Raises `DataLossError`."""
    events = found.get("traceEvents") if isinstance(found, dict) else found
    if not isinstance(events, list):
        raise DataLossError("no Chrome trace: needed a list of events, or an object with traceEvents")
    reading = _Reading()
    for event in events[:most_events]:
        reading.take(event)
    skipped = reading.skipped + len(reading.open_events()) + max(len(events) - most_events, 0)
    skipped += reading.drop_later_steps()
    if not reading.events:
        raise DataLossError(f"no Chrome trace: none of its {len(events):,} events says what ran when")
    other = found.get("otherData") if isinstance(found, dict) else None
    return TraceFile(_steps(reading, _told_steps(other)), skipped)


def _told_steps(other: Any) -> list[tuple[float, float]]:
    """When our steps began and how long they took, where the file is ours."""
    told = other.get("tfnb_steps") if isinstance(other, dict) else None
    try:
        return [(_number(begin), max(_number(wall), 0.0)) for begin, wall in told or ()]
    except (TypeError, ValueError, OverflowError):
        return []


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

    def drop_later_steps(self) -> int:
        """Leaves the events of the first `MOST_STEPS` steps; says how many went."""
        steps = sorted({_step(event) for event in self.events})[:MOST_STEPS]
        kept, before = set(steps), len(self.events)
        self.events = [event for event in self.events if _step(event) in kept]
        return before - len(self.events)

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


def _steps(reading: _Reading, told: list[tuple[float, float]]) -> list[TraceStep]:
    ends = {(e.place, round(e.end, 3)): e for e in reading.events}
    for place, at, number in reading.woken:
        event, waker = ends.get((place, round(at, 3))), reading.wakers.get(number)
        if event is not None and waker is not None:
            event.woken_by = reading.threads.get(waker, "")
    first = 0.0 if told else min(e.begin for e in reading.events)
    by_step: dict[int, list[_Event]] = {}
    for event in sorted(reading.events, key=lambda e: (e.begin, -e.end)):
        by_step.setdefault(_step(event), []).append(event)
    steps = []
    for n, events in sorted(by_step.items(), key=lambda item: item[1][0].begin):
        begin, wall = events[0].begin, 0.0
        if 0 <= n < len(told):
            begin, wall = told[n]
        wall = wall or max(e.end for e in events) - begin
        steps.append(TraceStep(begin - first, [_stats(reading, e, begin) for e in events], wall))
    return steps


def _step(event: _Event) -> int:
    """The number of the step that an event belongs to, 0 where it says none."""
    step = event.args.get("step")
    return step if isinstance(step, int) and not isinstance(step, bool) else 0


def _stats(reading: _Reading, event: _Event, begin: float) -> NodeStats:
    args, (pid, _) = event.args, event.place
    nodes = args.get("nodes")
    size = args.get("bytes", 0)
    ours = _text(args.get("device"))  # of a step of many tasks: there a process of the trace is a task
    ours = ours if ours.startswith("/job:") else ""
    lane = _text(args.get("lane")) if ours else reading.threads.get(event.place, "")
    return NodeStats(
        name=_text(args.get("name")) or event.name,
        op=_text(args.get("op")) or event.name,
        device=ours or reading.processes.get(pid) or f"process {_text(pid)}",
        start_us=event.begin - begin,
        end_us=event.end - begin,
        nbytes=size if isinstance(size, int) and 0 <= size < 1 << 62 else 0,
        nodes=_names(nodes) if isinstance(nodes, list) else (),
        kind=_kind(event.category),
        lane=lane or f"thread {_text(event.place[1])}",
        detail=_text(args.get("detail")),
        woken_by=event.woken_by or _text(args.get("woken_by")),
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
    if "runtime" in words or "driver" in words:
        return "launch"
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

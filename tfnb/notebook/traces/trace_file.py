"""Chrome traces as steps for the timeline: those of tfnb and of other programs (the Trace Event Format's JSON).

Complete events ("X"), pairs ("B", "E"), names of processes and threads ("M") and tfnb's arrows, which say what ended a
wait, are read. A file may be gzipped, and the end of its list may be missing. Invariant: reading a file results in
steps or in an `OpError`, and takes memory in proportion to the file.
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
from tfnb.ir.step_graph.graph import Graph
from tfnb.session.config import NodeStats
from tfnb.system.files import os_errors

__all__ = ["MOST_BYTES", "TraceFile", "TraceStep", "read_trace", "trace_of"]

MOST_BYTES, MOST_EVENTS = 64 << 20, 200_000
MOST_VALUES = 4_000_000  # values in the JSON; an empty one takes two bytes in a file and 72 bytes in memory
MOST_STEPS = 1_000  # events of later steps are skipped
LONGEST = 400  # characters of a name or detail
Key = int | str
Place = tuple[Key, Key]  # a process and a thread


@dataclass
class TraceStep:
    """The times of one step, which began `begin_us` after the first. A file contains no `graph`."""

    begin_us: float
    times: list[NodeStats]
    wall_us: float
    graph: Graph | None = None

    @property
    def n_events(self) -> int:
        return len(self.times)


@dataclass
class TraceFile:
    """The steps of a file, for `tf.timeline`. skipped: the number of events that were too many or invalid."""

    steps: list[TraceStep]
    skipped: int = 0

    @property
    def notes(self) -> list[str]:
        """A sentence about the events that were skipped, if there are any."""
        return [f"{self.skipped:,} entries of the file were too many or invalid"] if self.skipped else []


@dataclass
class _Event:
    place: Place
    name: str
    category: str
    begin: float
    end: float
    args: dict[str, Any]
    woken_by: str = ""


def read_trace(path: str, most_bytes: int = MOST_BYTES, most_events: int = MOST_EVENTS) -> TraceFile:
    """Returns the steps in a file. Raises `NotFoundError`, `ResourceExhaustedError` (too large) or `DataLossError` (no
    Chrome trace).
    """
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
            return json.loads(text.rstrip(",") + "]")  # the program ended while it was writing
    except (ValueError, RecursionError) as fault:
        raise DataLossError(f"no JSON: {str(fault)[:200]}") from None


def trace_of(parsed: object, most_events: int = MOST_EVENTS) -> TraceFile:
    """Returns the steps in parsed JSON: a list of events, or an object with `traceEvents`. Raises `DataLossError`."""
    events = parsed.get("traceEvents") if isinstance(parsed, dict) else parsed
    if not isinstance(events, list):
        raise DataLossError("no Chrome trace: needed a list of events, or an object with traceEvents")
    reading = _Reading()
    for event in events[:most_events]:
        reading.take(event)
    skipped = reading.skipped + len(reading.open_events()) + max(len(events) - most_events, 0)
    skipped += reading.drop_later_steps()
    if not reading.events:
        raise DataLossError(f"no Chrome trace: none of its {len(events):,} events says what ran when")
    other_data = parsed.get("otherData") if isinstance(parsed, dict) else None
    return TraceFile(_steps(reading, _recorded_steps(other_data)), skipped)


def _recorded_steps(other: object) -> list[tuple[float, float]]:
    """Returns the begin and the duration of each step, which only files of tfnb contain."""
    steps = other.get("tfnb_steps") if isinstance(other, dict) else None
    try:
        return [(_number(begin), max(_number(wall), 0.0)) for begin, wall in steps or ()]
    except (TypeError, ValueError, OverflowError):
        return []


class _Reading:
    """The events read so far, and the names and arrows that belong to them."""

    def __init__(self) -> None:
        self.events: list[_Event] = []
        self.processes: dict[Key, str] = {}
        self.threads: dict[Place, str] = {}
        self.wakers: dict[Key, Place] = {}
        self.woken: list[tuple[Place, float, Key]] = []
        self.skipped = 0
        self._begun: dict[Place, list[_Event]] = {}

    def open_events(self) -> list[_Event]:
        """Returns the events that began and have not ended."""
        return [event for stack in self._begun.values() for event in stack]

    def drop_later_steps(self) -> int:
        """Removes the events after the first `MOST_STEPS` steps, and returns how many were removed."""
        steps = sorted({_step(event) for event in self.events})[:MOST_STEPS]
        first_steps, old_count = set(steps), len(self.events)
        self.events = [event for event in self.events if _step(event) in first_steps]
        return old_count - len(self.events)

    def take(self, event: object) -> None:
        """Reads one event, and counts it in `skipped` if it is invalid."""
        try:
            is_valid = isinstance(event, dict) and self._take(event)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            is_valid = False
        self.skipped += not is_valid

    def _take(self, event: dict[str, Any]) -> bool:
        phase, thread_key = event["ph"], (_key(event.get("pid")), _key(event.get("tid")))
        if phase == "M":
            name = _text(event.get("args", {}).get("name"))
            if event["name"] == "process_name":
                self.processes[thread_key[0]] = name
            elif event["name"] == "thread_name":
                self.threads[thread_key] = name
            return True
        if phase == "X":
            begin = _number(event["ts"])
            self.events.append(_event(event, thread_key, begin, begin + max(_number(event.get("dur", 0)), 0.0)))
        elif phase == "B":
            begin = _number(event["ts"])
            self._begun.setdefault(thread_key, []).append(_event(event, thread_key, begin, begin))
        elif phase == "E":
            stack = self._begun.get(thread_key)
            if not stack:
                return False
            begin_event = stack.pop()
            begin_event.end = max(_number(event["ts"]), begin_event.begin)
            self.events.append(begin_event)
        elif phase == "s":
            self.wakers[_key(event["id"])] = thread_key
        elif phase == "f":
            self.woken.append((thread_key, _number(event["ts"]), _key(event["id"])))
        return True


def _event(event: dict[str, Any], place: Place, begin: float, end: float) -> _Event:
    args = event.get("args")
    return _Event(
        place, _text(event.get("name")), _text(event.get("cat")), begin, end, args if isinstance(args, dict) else {}
    )


def _steps(reading: _Reading, recorded: list[tuple[float, float]]) -> list[TraceStep]:
    event_at_end = {(e.place, round(e.end, 3)): e for e in reading.events}
    for thread_key, at, number in reading.woken:
        event, waker = event_at_end.get((thread_key, round(at, 3))), reading.wakers.get(number)
        if event is not None and waker is not None:
            event.woken_by = reading.threads.get(waker, "")
    first = 0.0 if recorded else min(e.begin for e in reading.events)
    by_step: dict[int, list[_Event]] = {}
    for event in sorted(reading.events, key=lambda e: (e.begin, -e.end)):
        by_step.setdefault(_step(event), []).append(event)
    steps = []
    for n, events in sorted(by_step.items(), key=lambda item: item[1][0].begin):
        begin, wall = events[0].begin, 0.0
        if 0 <= n < len(recorded):
            begin, wall = recorded[n]
        wall = wall or max(e.end for e in events) - begin
        steps.append(TraceStep(begin - first, [_stats(reading, e, begin) for e in events], wall))
    return steps


def _step(event: _Event) -> int:
    """Returns the number of the step of an event; 0 if the event has none."""
    step = event.args.get("step")
    return step if isinstance(step, int) and not isinstance(step, bool) else 0


def _stats(reading: _Reading, event: _Event, begin: float) -> NodeStats:
    args, (pid, _) = event.args, event.place
    nodes = args.get("nodes")
    size = args.get("bytes", 0)
    device_name = _text(args.get("device"))  # a trace of several tasks, each of which is a process, has this field
    device_name = device_name if device_name.startswith("/job:") else ""
    lane = _text(args.get("lane")) if device_name else reading.threads.get(event.place, "")
    return NodeStats(
        name=_text(args.get("name")) or event.name,
        op=_text(args.get("op")) or event.name,
        device=device_name or reading.processes.get(pid) or f"process {_text(pid)}",
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
    """Returns tfnb's kind for the categories that the profilers of TensorFlow and PyTorch write; any other category is
    "host".
    """
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


def _names(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(_text(value) for value in values)[:50]


def _text(value: object) -> str:
    return "" if value is None else str(value)[:LONGEST]


def _key(value: object) -> Key:
    return value if isinstance(value, (int, str)) else _text(value)


def _number(value: float | str) -> float:
    """Returns a time in microseconds. Raises `TypeError`, `ValueError` or `OverflowError` for anything else."""
    number = float(value)
    if not math.isfinite(number) or abs(number) > 1e18:
        raise ValueError("no time")
    return number

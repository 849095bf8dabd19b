"""What a task sends to whom: messages, bytes and the time that sending took, by receiver and tensor (white paper, 3.3).

Who sends leaves a note, which costs a fraction of a microsecond; notes are added up when somebody asks, or when there
are many. Invariant: memory does not grow with steps; what is named apart is bounded, the rest is counted together.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.caches import remembered
from tfnb.session.dask.channel import Channel
from tfnb.session.dask.stream import Idle, Stream
from tfnb.session.dask.wire import Kind, Message

__all__ = ["OTHERS", "CountingChannel", "Traffic"]

OTHERS = "others"
_MOST_NOTES = 64  # until they are added up: as many as Python's collector does not look at
_MOST_NAMES = 200  # of tensors that are counted apart, for each receiver
_STEPS_APART = 64  # steps that overlap, at most, to be counted once
_WORDS = {"feed": "feeds", "fetch": "fetches", "times": "times of steps"}


class _Flow:
    """What went to one receiver. `names`: by tensor, [messages, bytes]."""

    def __init__(self) -> None:
        self.messages = self.steps = self.bytes = 0
        self.seconds = 0.0
        self.names: dict[str, list[int]] = {}
        self._recent: OrderedDict[int, None] = OrderedDict()

    def take(self, told: Sequence[tuple[Kind, int, str, int]], sent: int, seconds: float) -> None:
        """Adds messages that went together, `sent` bytes."""
        self.messages += len(told)
        self.bytes += sent
        self.seconds += seconds
        recent = self._recent
        for kind, step, key, size in told:
            if step not in recent:  # counted once, though its messages come mixed with those of others
                self.steps += 1
                recent[step] = None
                if len(recent) > _STEPS_APART:
                    recent.popitem(last=False)
            self.add(_name(kind, key), size)

    def add(self, name: str, size: int, messages: int = 1) -> None:
        counted = self.names.get(name)
        if counted is None:
            counted = self.names.setdefault(name if len(self.names) < _MOST_NAMES else OTHERS, [0, 0])
        counted[0] += messages
        counted[1] += size

    def merge(self, other: _Flow) -> None:
        self.messages += other.messages
        self.steps += other.steps
        self.bytes += other.bytes
        self.seconds += other.seconds
        for name, (messages, size) in other.names.items():
            self.add(name, size, messages)


class Traffic:
    """All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._notes: deque[tuple[str, Sequence[tuple[Kind, int, str, int]], int, float]] = deque()
        self._flows: dict[str, _Flow] = {}
        self._known: dict[str, str] = {}  # endpoint -> task

    def note(self, endpoint: str, messages: Sequence[Message], sent: int, seconds: float) -> None:
        """`sent` bytes went to `endpoint` in these messages."""
        if len(messages) == 1:
            kind, step, key, *_ = messages[0]
            told = [(kind, step, key, sent)]  # which is right for strings too
        else:
            told = [(m.kind, m.step, m.key, m.value.nbytes) for m in messages]
        self._notes.append((endpoint, told, sent, seconds))
        if len(self._notes) > _MOST_NOTES:
            self._add_up()

    def _add_up(self) -> None:
        with self._lock:
            for _ in range(len(self._notes)):
                endpoint, told, sent, seconds = self._notes.popleft()
                flow = self._flows.get(endpoint)
                if flow is None:
                    flow = self._flows[endpoint] = _Flow()
                flow.take(told, sent, seconds)

    def report(self, names: Mapping[str, str], most: int) -> list[dict[str, Any]]:
        """For each receiver the totals, and `most` tensors: those with the most bytes. `names`: endpoint -> task.

        What was sent to a process that has had the task's role before counts too.
        """
        self._add_up()
        with self._lock:
            self._known.update(names)
            merged: dict[str, _Flow] = {}
            for endpoint, flow in self._flows.items():
                merged.setdefault(self._known.get(endpoint, endpoint), _Flow()).merge(flow)
        return [
            {"to": target, "messages": f.messages, "bytes": f.bytes, "seconds": f.seconds, "steps": f.steps,
             "tensors": [[n, *c] for n, c in sorted(f.names.items(), key=lambda named: -named[1][1])[:most]]}
            for target, f in merged.items()
        ]  # fmt: skip


class CountingChannel(Channel):
    """A channel that counts what it sends."""

    def __init__(self, *args: Any, **more: Any) -> None:
        self.traffic = Traffic()
        super().__init__(*args, **more)

    def post(self, line: Stream, endpoint: str, messages: Sequence[Message], idle: Idle | None = None) -> int:
        """As `Channel.post`."""
        start = time.perf_counter()
        sent = line.send(messages, idle)
        self.traffic.note(endpoint, messages, sent, time.perf_counter() - start)
        return sent


@remembered("names of messages", 4096)
def _name(kind: Kind, key: str) -> str:
    """What a message carries: a tensor's name, without the iteration of a loop that it is from."""
    if kind is not Kind.TENSOR:
        return f"control: {kind.name.lower()}"
    parts = key.split("\n")
    return parts[2] if len(parts) == 4 else _WORDS.get(key.partition(" ")[0], OTHERS)

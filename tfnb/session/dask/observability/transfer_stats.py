"""The transfers of a task: messages, bytes and seconds, by receiver and tensor (white paper, section 3.3).

Sending appends a record, which takes a fraction of a microsecond. The records are added up when there are many, or when
a report is requested. Invariant: memory does not grow with the number of steps; a limited number of tensors is
counted by name, the rest together.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypedDict

from tfnb.caches import remembered
from tfnb.session.dask.transport.channel import MAX_UNFINISHED, Channel, Receive, Refuse, Tls
from tfnb.session.dask.transport.stream import OnBlocked, Stream
from tfnb.session.dask.transport.wire import Kind, Message

__all__ = ["OTHERS", "CountingChannel", "ReceiverTotals", "TransferStats"]

OTHERS = "others"
_MOST_RECORDS = 64  # records before they are added up; few enough not to trigger Python's cycle collector
_MOST_NAMES = 200  # tensors that are counted by name, for each receiver
_MOST_OVERLAPPING = 64  # steps whose messages may be mixed and are still counted correctly
_KEY_NAMES = {"feed": "feeds", "fetch": "fetches", "times": "times of steps"}


_Described: TypeAlias = Sequence[tuple[Kind, int, str, int]]
"""Messages that went together: (kind, step, key, bytes) of each."""


class ReceiverTotals(TypedDict):
    """The totals of one receiver, the task or endpoint `to`. `tensors` has [name, messages, bytes] for each tensor."""

    to: str
    messages: int
    bytes: int
    seconds: float
    steps: int
    tensors: list[list[str | int]]


class _Totals:
    """The totals of one receiver. `names` has [messages, bytes] for each tensor."""

    def __init__(self) -> None:
        self.messages = self.steps = self.bytes = 0
        self.seconds = 0.0
        self.names: dict[str, list[int]] = {}
        self._recent: OrderedDict[int, None] = OrderedDict()

    def add_messages(self, described: _Described, sent: int, seconds: float) -> None:
        """Adds messages that were sent together: `sent` bytes in `seconds` seconds."""
        self.messages += len(described)
        self.bytes += sent
        self.seconds += seconds
        recent = self._recent
        for kind, step, key, size in described:
            if step not in recent:  # a step is counted once, though its messages are mixed with those of other steps
                self.steps += 1
                recent[step] = None
                if len(recent) > _MOST_OVERLAPPING:
                    recent.popitem(last=False)
            self.add(_name(kind, key), size)

    def add(self, name: str, size: int, messages: int = 1) -> None:
        """Adds `messages` messages of `size` bytes in all for the tensor `name`."""
        counted = self.names.get(name)
        if counted is None:
            counted = self.names.setdefault(name if len(self.names) < _MOST_NAMES else OTHERS, [0, 0])
        counted[0] += messages
        counted[1] += size

    def merge(self, other: _Totals) -> None:
        """Adds everything that `other` has counted."""
        self.messages += other.messages
        self.steps += other.steps
        self.bytes += other.bytes
        self.seconds += other.seconds
        for name, (messages, size) in other.names.items():
            self.add(name, size, messages)


class TransferStats:
    """Counts the messages that one process sends. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Plain tuples: making one costs a tenth of making a named one, and each message pays for it.
        self._records: deque[tuple[str, _Described, int, float]] = deque()
        self._totals: dict[str, _Totals] = {}  # by endpoint
        self._tasks: dict[str, str] = {}  # the task at each endpoint, also of those that are gone

    def record(self, endpoint: str, messages: Sequence[Message], sent: int, seconds: float) -> None:
        """Records that these messages were sent to `endpoint`: `sent` bytes of values in `seconds` seconds."""
        if len(messages) == 1:
            kind, step, key, *_ = messages[0]
            described = [
                (kind, step, key, sent)
            ]  # `sent` is also right for strings, whose bytes an array does not count
        else:
            described = [(m.kind, m.step, m.key, m.value.nbytes) for m in messages]
        self._records.append((endpoint, described, sent, seconds))
        if len(self._records) > _MOST_RECORDS:
            self._add_up()

    def _add_up(self) -> None:
        with self._lock:
            for _ in range(len(self._records)):
                endpoint, described, n_bytes, seconds = self._records.popleft()
                totals = self._totals.get(endpoint)
                if totals is None:
                    totals = self._totals[endpoint] = _Totals()
                totals.add_messages(described, n_bytes, seconds)

    def report(self, names: Mapping[str, str], most: int) -> list[ReceiverTotals]:
        """The totals for each receiver, with the `most` tensors that have the most bytes.

        `names` has the tasks at all endpoints that are known now. Messages to an earlier process of a task count for
        the task, too.
        """
        self._add_up()
        with self._lock:
            self._tasks.update(names)
            merged: dict[str, _Totals] = {}
            for endpoint, totals in self._totals.items():
                merged.setdefault(self._tasks.get(endpoint, endpoint), _Totals()).merge(totals)
        return [
            {
                "to": target,
                "messages": t.messages,
                "bytes": t.bytes,
                "seconds": t.seconds,
                "steps": t.steps,
                "tensors": [[n, *c] for n, c in sorted(t.names.items(), key=lambda named: -named[1][1])[:most]],
            }
            for target, t in merged.items()
        ]


class CountingChannel(Channel):
    """A channel that counts its outgoing messages in `transfers`."""

    def __init__(
        self, host: str, receive: Receive, refuse: Refuse, tls: Tls | None = None, limit: int = MAX_UNFINISHED
    ) -> None:
        self.transfers = TransferStats()
        super().__init__(host, receive, refuse, tls, limit)

    def post(self, stream: Stream, endpoint: str, messages: Sequence[Message], on_blocked: OnBlocked = None) -> int:
        """As `Channel.post`. Records the messages if they were sent without an error."""
        start = time.perf_counter()
        n_bytes = stream.send(messages, on_blocked)
        self.transfers.record(endpoint, messages, n_bytes, time.perf_counter() - start)
        return n_bytes


@remembered("names of messages", 4096)
def _name(kind: Kind, key: str) -> str:
    """The name under which a message is counted: the name of its tensor, without the iteration, or its kind."""
    if kind is not Kind.TENSOR:
        return f"control: {kind.name.lower()}"
    parts = key.split("\n")
    return parts[2] if len(parts) == 4 else _KEY_NAMES.get(key.partition(" ")[0], OTHERS)

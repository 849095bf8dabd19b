"""A step while it runs at one task: where its values meet, and what it waits with (OSDI'16, section 3.3).

What is for another task is sent there: small values together, when the step waits or is over. Invariant: what a step
sends is sent by its own thread, save large values in the middle of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from tfnb.caches import remembered
from tfnb.errors import OpError
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.rendezvous import Rendezvous
from tfnb.runtime.stats import StepStats
from tfnb.runtime.transfer import Key
from tfnb.runtime.values import Value, nbytes_of, to_host
from tfnb.session.dask.channel import Peer
from tfnb.session.dask.pump import Inbox, Pump
from tfnb.session.dask.stream import Stream
from tfnb.session.dask.tracing import note_sent
from tfnb.session.dask.wire import Kind, Message

__all__ = ["Call", "Meeting", "Reply", "Run", "key_text", "task_of"]

_DEAD = np.zeros((), np.int32)
_SOON = 1 << 14  # bytes: larger values are sent by the pool while the step goes on


class Sender(Protocol):
    """The task that a step runs at."""

    name: str

    def send(self, run: Run, target: str, messages: Sequence[Message]) -> None: ...

    def push(self, target: str, message: Message, value: Value, traced: Meeting | None = None) -> None: ...


class Reply(NamedTuple):
    """How a step ended at `task`: with an error, or with its fetches already sent. `is_lost`: the task is gone."""

    task: str
    error: OpError | None
    is_lost: bool = False


class Call(NamedTuple):
    """A task that runs its share of a step, at its master."""

    line: Stream
    peer: Peer
    reply: Callable[[Reply], None]


@remembered("tasks of devices", 4096)
def task_of(device: str) -> str:
    """The task of a device's full name."""
    return device.rpartition("/device:")[0]


@remembered("keys in messages", 4096)
def key_text(key: Key) -> str:
    """A rendezvous key in a message."""
    return "\n".join(key)


class Meeting(Rendezvous):
    """A step's rendezvous at one task: what is for another is sent there.

    Values wait for each other until the step waits for something (`flush`) or is over (`rest`); small ones then go in
    one piece, by the step's own connection where it has one to that task.
    """

    def __init__(self, task: Sender, run: Run) -> None:
        super().__init__()
        self._task, self._step = task, run.step
        self._run: Run | None = run  # until the step is over
        self._outgoing: dict[str, list[Message]] = {}  # task -> what goes there; of the step's own thread
        self._large: list[tuple[str, Message, Value]] = []
        self.came: list[tuple[str, float]] = []  # key and time of each tensor from another task
        self.recorder: StepStats | None = None
        self.sending: list[threading.Event] = []  # of a traced step: set when a value has left the pool

    def inbox(self) -> Any:
        pump = None if self._run is None else self._run.pump
        return super().inbox() if pump is None else Inbox(pump)

    def send(self, key: Any, value: Any, is_dead: bool = False) -> None:
        target = task_of(key.target) if isinstance(key, Key) else self._task.name
        if target == self._task.name:
            super().send(key_text(key) if isinstance(key, Key) else key, value, is_dead)
            return
        if type(value) is np.ndarray and value.nbytes < _SOON:
            message = Message(Kind.TENSOR, self._step, key_text(key), value, is_dead)
            self._outgoing.setdefault(target, []).append(message)
            return
        ticket = None if is_dead else getattr(value, "ticket", None)
        if is_dead or (nbytes_of(value) < _SOON and (ticket is None or ticket.done)):
            array = _DEAD if is_dead else np.asarray(to_host(value))
            message = Message(Kind.TENSOR, self._step, key_text(key), array, is_dead)
            self._outgoing.setdefault(target, []).append(message)
        else:
            self._large.append((target, Message(Kind.TENSOR, self._step, key_text(key), _DEAD), value))

    def arrived(self, key: str, value: np.ndarray, is_dead: bool) -> None:
        """A value came from another task. Raises as `Rendezvous.send`."""
        self.came.append((key, time.perf_counter()))
        super().send(key, value, is_dead)

    def flush(self) -> None:
        if self._outgoing:
            outgoing, self._outgoing = self._outgoing, {}
            self._send_all(outgoing)
        if self._large:
            large, self._large = self._large, []
            for target, message, value in large:
                self._task.push(target, message, value, None if self.recorder is None else self)

    def rest(self, master: str) -> list[Message]:
        """Sends what is left to all tasks but the master, waiting for values; what is for the master."""
        outgoing, self._outgoing = self._outgoing, {}
        large, self._large = self._large, []
        for target, message, value in large:
            outgoing.setdefault(target, []).append(message._replace(value=np.asarray(to_host(value))))
        found = outgoing.pop(master, [])
        if outgoing:
            self._send_all(outgoing)
        return found

    def _send_all(self, outgoing: Mapping[str, Sequence[Message]]) -> None:
        run = self._run
        if run is None:
            return
        for target, messages in outgoing.items():
            start = 0.0 if self.recorder is None else self.recorder.now_us()
            self._task.send(run, target, messages)
            if self.recorder is not None:
                note_sent(self.recorder, target, [(m.key, m.value.nbytes) for m in messages], start)

    def end(self, error: BaseException) -> None:
        """The step is over here. What the two hold of each other would stay until Python looks for rings."""
        self.abort(error)
        self._run = None

    def recv_async(self, key: Any, callback: Any) -> None:
        super().recv_async(key_text(key) if isinstance(key, Key) else key, callback)


class Run:
    """A step while it runs here, or while messages for it wait until it does."""

    def __init__(self, task: Sender, step: int) -> None:
        self.step = step
        self.pump: Pump | None = None  # reads the step's connections, in the thread that runs it
        self.calls: dict[str, Call] = {}  # at its master: the tasks that have not replied
        self.lines: dict[Stream, str] = {}  # that it leases, and to which task
        self.called = False  # by its master: only the first call counts
        self.rendezvous = Meeting(task, self)
        self.cancellation = Cancellation()

    def stop(self, error: BaseException) -> None:
        self.rendezvous.abort(error)
        self.cancellation.cancel(error)

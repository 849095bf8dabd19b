"""A step while it runs at one task: the rendezvous of its values and the connections that it uses (OSDI'16, 3.3).

Values for other tasks are sent there, small ones together when the step has to wait or ends. Invariant:
the thread that runs the step sends all its values, except large ones in the middle of the step, which the pool sends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from tfnb.caches import remembered
from tfnb.errors import OpError
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.executor import Executor
from tfnb.runtime.rendezvous import Callback, Rendezvous, StepQueue
from tfnb.runtime.stats import StepStats
from tfnb.runtime.transfer import Key
from tfnb.runtime.values import Value, nbytes_of, to_host
from tfnb.session.dask.observability.tracing import note_arrivals, note_sent
from tfnb.session.dask.task_names import task_of
from tfnb.session.dask.transport.channel import Peer
from tfnb.session.dask.transport.poller import Inbox, Poller
from tfnb.session.dask.transport.stream import Stream
from tfnb.session.dask.transport.wire import Kind, Message

__all__ = ["Call", "Reply", "RunningStep", "Sender", "TaskRendezvous", "key_text"]

_DEAD = np.zeros((), np.int32)
_SMALL = 1 << 14  # bytes: larger values are sent by the pool while the step goes on
_RECORDED = 1.0  # seconds for which a traced step waits for each value that is still being sent


class Sender(Protocol):
    """The interface through which a step sends values to other tasks."""

    def send(self, run: RunningStep, target: str, messages: Sequence[Message]) -> None:
        """Sends messages to the task `target` in this thread. Raises `UnavailableError`."""

    def push(self, target: str, message: Message, value: Value, traced: TaskRendezvous | None = None) -> None:
        """Lets the pool send `message` with `value` when the value is computed. A failure stops the step."""


class Reply(NamedTuple):
    """The result of a step at `task`: an error, or None if all its fetches have been received.

    `is_lost`: the task could not be reached, or its connection broke.
    """

    task: str
    error: OpError | None
    is_lost: bool = False


class Call(NamedTuple):
    """At the master: a call to a task that has not replied. The call leases `stream` until the reply."""

    stream: Stream
    peer: Peer
    reply: Callable[[Reply], None]


@remembered("keys in messages", 4096)
def key_text(key: Key) -> str:
    """The text of a rendezvous key in messages."""
    return "\n".join(key)


class TaskRendezvous(Rendezvous):
    """The rendezvous of one step at the task named `task`; values for other tasks go out through `sender`.

    Outgoing values are collected until the step has to wait (`flush`) or ends (`send_remaining`). Small ones for one
    task then go in one piece, on the step's own connection to that task if it has one.
    """

    def __init__(self, task: str, sender: Sender, run: RunningStep) -> None:
        super().__init__()
        self._task, self._sender, self._step = task, sender, run.step
        self._run: RunningStep | None = run  # None once the step has ended
        self._outgoing: dict[str, list[Message]] = {}  # by target task; only the step's own thread uses it
        self._large: list[tuple[str, Message, Value]] = []
        self.arrivals: list[tuple[str, float]] = []  # key and time of each tensor from another task
        self.recorder: StepStats | None = None
        self.pending_sends: list[threading.Event] = []  # of a traced step: each is set when a pushed value has left

    def inbox(self) -> StepQueue[Any]:
        """The queue for the step's thread. With a poller, that thread reads its connections while it waits."""
        poller = None if self._run is None else self._run.poller
        return super().inbox() if poller is None else Inbox(poller)

    def send(self, key: Hashable, value: Value, is_dead: bool = False) -> None:  # type: ignore[override]  # tensors only
        """Hands a value to its Recv at this task, or collects it for another task. Raises as `Rendezvous.send`."""
        target = task_of(key.target) if isinstance(key, Key) else self._task
        if target == self._task:
            super().send(key_text(key) if isinstance(key, Key) else key, value, is_dead)
            return
        assert isinstance(key, Key)
        if type(value) is np.ndarray and value.nbytes < _SMALL:  # the most frequent case, which is tested first
            message = Message(Kind.TENSOR, self._step, key_text(key), value, is_dead)
            self._outgoing.setdefault(target, []).append(message)
            return
        ticket = None if is_dead else getattr(value, "ticket", None)
        if is_dead or (nbytes_of(value) < _SMALL and (ticket is None or ticket.done)):
            array = _DEAD if is_dead else np.asarray(to_host(value))
            message = Message(Kind.TENSOR, self._step, key_text(key), array, is_dead)
            self._outgoing.setdefault(target, []).append(message)
        else:
            # Large, or not computed yet: `to_host` would block the step here.
            self._large.append((target, Message(Kind.TENSOR, self._step, key_text(key), _DEAD), value))

    def receive(self, key: str, value: np.ndarray, is_dead: bool) -> None:
        """Takes a value that came from another task. Raises as `Rendezvous.send`."""
        self.arrivals.append((key, time.perf_counter()))
        super().send(key, value, is_dead)

    def flush(self) -> None:
        """Sends the collected values, because the step is about to wait and other tasks may wait for these values."""
        if self._outgoing:
            outgoing, self._outgoing = self._outgoing, {}
            self._send_all(outgoing)
        if self._large:
            large, self._large = self._large, []
            for target, message, value in large:
                self._sender.push(target, message, value, None if self.recorder is None else self)

    def send_remaining(self, master: str) -> list[Message]:
        """Sends the collected values at the end of the step. Waits for values that are still being computed.

        Returns the messages for the task `master` without sending them; they are sent together with the step's reply.
        """
        outgoing, self._outgoing = self._outgoing, {}
        large, self._large = self._large, []
        for target, message, value in large:
            outgoing.setdefault(target, []).append(message._replace(value=np.asarray(to_host(value))))
        for_master = outgoing.pop(master, [])
        if outgoing:
            self._send_all(outgoing)
        return for_master

    def _send_all(self, outgoing: Mapping[str, Sequence[Message]]) -> None:
        run = self._run
        if run is None:
            return
        for target, messages in outgoing.items():
            start = 0.0 if self.recorder is None else self.recorder.now_us()
            self._sender.send(run, target, messages)
            if self.recorder is not None:
                note_sent(self.recorder, target, [(m.key, m.value.nbytes) for m in messages], start)

    def end(self, error: BaseException) -> None:
        """Ends the step. A late Send or Recv fails with `error`.

        The rendezvous and its `RunningStep` refer to each other. The reference is cut here, so that both are freed at
        once and not only when Python's cycle collector runs.
        """
        self.abort(error)
        self._run = None

    def recv_async(self, key: Hashable, callback: Callback) -> None:
        """As `Rendezvous.recv_async`.

        Keys are converted to texts, because values from other tasks have texts as keys.
        """
        super().recv_async(key_text(key) if isinstance(key, Key) else key, callback)


class RunningStep:
    """A step at the task named `task`, from the first message for it until it has ended here."""

    def __init__(self, task: str, sender: Sender, step: int) -> None:
        self.step = step
        self.poller: Poller | None = None  # reads the step's connections, in the thread that runs the step
        self.calls: dict[str, Call] = {}  # at the master: by task, the calls without a reply so far
        self.streams: dict[Stream, str] = {}  # connections that the step leases, and the task at the other end of each
        self.was_called = False  # whether its master has called it; later calls of the same step are dropped
        self.rendezvous = TaskRendezvous(task, sender, self)
        self.cancellation = Cancellation()

    def execute(
        self, executor: Executor, feeds: Sequence[Value], timeout: float | None, recorder: StepStats | None
    ) -> list[np.ndarray]:
        """Runs the parts of the step in this thread; returns their fetches, in order.

        `timeout` is in seconds; None means no limit. `recorder` takes the times, including those of values that were
        received and sent. Raises the errors of the kernels, and the error that was passed to `stop`.
        """
        self.rendezvous.recorder = recorder
        fetches = executor.run(
            feeds, timeout=timeout, recorder=recorder, rendezvous=self.rendezvous, cancellation=self.cancellation
        )
        if recorder is not None:  # the times are encoded next, so all of them must be recorded now
            self.rendezvous.send_remaining("")
            for has_left in self.rendezvous.pending_sends:
                has_left.wait(_RECORDED)
            note_arrivals(recorder, self.rendezvous.arrivals)
        return fetches

    def stop(self, error: BaseException) -> None:
        """Aborts the rendezvous and cancels the kernels that wait. The step's thread then raises `error`."""
        self.rendezvous.abort(error)
        self.cancellation.cancel(error)

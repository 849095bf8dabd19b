"""Messages that reach a task: values, calls, replies and stops (OSDI'16, section 3.3).

The thread that reads a call from its connection runs the step and answers there. Invariant: a call is answered once,
with the step's fetches or with an error, however the step ends.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import numpy as np

from tfnb.errors import CancelledError, InvalidArgumentError, OpError, UnavailableError
from tfnb.runtime.stats import StepStats
from tfnb.runtime.values import Value
from tfnb.session.dask.observability.tracing import encode_times
from tfnb.session.dask.task.assignment import FEED, FETCH, TIMES, Assignment
from tfnb.session.dask.task.outbound_calls import OutboundCalls
from tfnb.session.dask.task.registered_steps import RegisteredStep, RegisteredSteps
from tfnb.session.dask.task.step_table import StepTable
from tfnb.session.dask.task.task_rendezvous import RunningStep
from tfnb.session.dask.transport.channel import Channel
from tfnb.session.dask.transport.error_codec import decode_error, encode_error
from tfnb.session.dask.transport.poller import Poller
from tfnb.session.dask.transport.stream import Stream
from tfnb.session.dask.transport.wire import Head, Kind, Message

__all__ = ["InboundCalls"]

_EMPTY = np.zeros(0, np.uint8)
_RECENT = 0.5  # seconds after a step in which the connection of its master need not be checked


class InboundCalls:
    """Receives the messages of the task named `task`. `refuse` is called with the errors of invalid ones."""

    def __init__(
        self,
        task: str,
        channel: Channel,
        steps: StepTable,
        registered: RegisteredSteps,
        outbound: OutboundCalls,
        refuse: Callable[[OpError], None],
    ) -> None:
        self._task, self._channel, self._refuse = task, channel, refuse
        self._steps, self._registered, self._outbound = steps, registered, outbound
        self._busy: dict[
            Stream, Poller
        ] = {}  # by the connection of a step's master: the poller with which the step waits

    def receive(self, head: Head, value: np.ndarray, stream: Stream) -> None:
        """Takes a message, in the thread that has read it from `stream`. A call returns when the step has ended."""
        try:
            kind = head.kind
            if kind is Kind.TENSOR:
                self._on_tensor(head, value, stream)
            elif kind is Kind.CALL:
                self._on_call(head, value, stream)
            elif kind is Kind.REPLY:
                self._on_reply(head, value)
            else:
                self._on_stop(head, value)
        except OpError as e:
            self._refuse(e)

    def _on_tensor(self, head: Head, value: np.ndarray, stream: Stream) -> None:
        """Handles a value of a step. It may be the last value that its task sends."""
        run = self._steps.find_or_create(head.step)
        if run is None:
            return
        try:
            if run.rendezvous.error is None:
                run.rendezvous.receive(head.subject.key, value, head.is_dead)
        finally:
            if head.ends:
                self._outbound.finish_call(run, run.streams.get(stream, ""), None)

    def _on_call(self, head: Head, value: np.ndarray, stream: Stream) -> None:
        """Handles a master's call of a step.

        `value` is empty, or has a timeout in seconds (0: none) and whether to trace.
        """
        timeout, trace = value if value.shape == (2,) and value.dtype == np.float64 else (0.0, 0.0)
        # A task that was paused may receive old calls of a master that has continued without it. That master has closed
        # the connection. The check for this costs a system call, so it is left out right after another step.
        if time.monotonic() - stream.used >= _RECENT and stream.has_ended():
            return
        if not (timeout or trace) and self._answer_read_only(stream, head.step, head.key):
            return
        is_first, run = self._steps.claim(head.step)
        if is_first:
            self._answer(stream, run, head.step, head.key, float(timeout) or None, bool(trace))

    def _on_reply(self, head: Head, value: np.ndarray) -> None:
        """Handles a task's message that its parts of a step have ended, which is sent if no value reports it."""
        error = decode_error(value)
        run = self._steps.find(head.step)
        if run is not None:
            self._outbound.finish_call(run, head.key, error)

    def _on_stop(self, head: Head, value: np.ndarray) -> None:
        """Handles the master's order to stop a step. `value` describes the reason."""
        self._steps.stop(head.step, decode_error(value) or CancelledError("the step was stopped"))

    # ---- answers ---------------------------------------------------------------------------

    def _answer_read_only(self, stream: Stream, step: int, handle: str) -> bool:
        """Answers a call at once if the step only reads variables here; returns whether it has done so.

        `_answer` handles all other cases, including errors, because the step can be run again without harm.
        """
        registered = self._registered.find(handle)
        if registered is None or registered.read_only is None or stream in self._busy:
            return False
        try:
            messages = registered.read_only.messages(step)
        except Exception:
            return False
        master = self._steps.complete_at_once(step)
        if master is None:
            return False
        stream.used = time.monotonic()
        with contextlib.suppress(OSError):  # the master is gone, so nobody waits for the answer
            self._channel.post(stream, master.peer.endpoint, messages)
        return True

    def _answer(
        self, stream: Stream, run: RunningStep | None, step: int, handle: str, timeout: float | None, trace: bool
    ) -> None:
        """Runs a step for its master in this thread, and sends its fetches, its times, and how it ended.

        `run` is None for a step that was stopped before this call, which is answered with an error.
        """
        if stream in self._busy:
            raise InvalidArgumentError(f"step {step} was called on the connection of a step that runs")
        master = self._steps.master_of(step)
        messages: list[Message] = []
        outcome = _EMPTY
        try:
            registered = self._registered.get(handle)
            run = run or self._steps.get(step)
            recorder = StepStats() if trace else None
            messages = self._run(stream, run, registered, timeout, recorder, "" if master is None else master.name)
        except BaseException as e:
            outcome = encode_error(e, self._task)
        # The step is ended before the answer leaves: the master's next step may arrive at once.
        self._outbound.end_step(step)
        if messages and outcome is _EMPTY:
            messages[-1] = Message(*messages[-1][:-1], ends=True)
        else:
            messages.append(Message(Kind.REPLY, step, self._task, outcome))
        stream.used = time.monotonic()
        with contextlib.suppress(OSError):  # the master is gone, so nobody waits for the answer
            self._channel.post(stream, "" if master is None else master.peer.endpoint, messages)

    def _run(
        self,
        stream: Stream,
        run: RunningStep,
        registered: RegisteredStep,
        timeout: float | None,
        recorder: StepStats | None,
        master: str,
    ) -> list[Message]:
        """Runs a step; returns the messages for its master: values that its parts read, fetches, times."""
        feeds = self._feeds(run, registered.assignment)
        waits = recorder is not None or timeout is not None or registered.executor.may_last
        if waits:  # then this thread reads its master's connection meanwhile: the master may stop the step
            self._busy[stream] = poller = self._outbound.poller_of(run)
            poller.add(stream)
        try:
            fetches = run.execute(registered.executor, feeds, timeout, recorder)
            messages = run.rendezvous.send_remaining(master)
        finally:
            if waits:
                poller.discard(stream)
                del self._busy[stream]
        for k, v in zip(registered.assignment.fetches, fetches, strict=True):
            messages.append(Message(Kind.TENSOR, run.step, f"{FETCH}{k}", v))
        if recorder is not None:
            times = encode_times(recorder, self._task)
            messages.append(Message(Kind.TENSOR, run.step, f"{TIMES}{self._task}", times))
        return messages

    def _feeds(self, run: RunningStep, assignment: Assignment) -> list[Value]:
        """The feeds of the step by number. Feeds that no part here reads were not sent; placeholders stand for them."""
        feeds: list[Value] = [_EMPTY] * assignment.n_feeds
        for k in assignment.feeds:  # a connection keeps the order of messages, so they have come before the call
            feeds[k] = run.rendezvous.recv(f"{FEED}{k}", 0.0).value
        return feeds

    # ---- lost masters ----------------------------------------------------------------------

    def connection_broke(self, stream: Stream, error: Exception) -> None:
        """Stops the step that was called on this connection, because its master is gone."""
        poller = self._busy.get(stream)
        if poller is not None:
            for run in self._steps.running():
                if run.poller is poller:
                    self._steps.stop(run.step, UnavailableError(f"the master of the step is gone: {error}"))

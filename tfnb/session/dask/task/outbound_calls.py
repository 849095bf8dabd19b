"""The messages that a task sends for its steps: values for other tasks, and the calls of a master (OSDI'16, 3.3).

A master's call leases a connection until the reply. Invariant: each call gets exactly one reply, which is an error if
the connection breaks.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence

import numpy as np

from tfnb.errors import CancelledError, OpError, UnavailableError
from tfnb.runtime.host_threads import HostThreads
from tfnb.runtime.values import Value, to_host
from tfnb.session.dask.observability.tracing import note_sent
from tfnb.session.dask.task.assignment import FEED, Assignment
from tfnb.session.dask.task.peer_table import PeerTable
from tfnb.session.dask.task.step_table import StepTable
from tfnb.session.dask.task.task_rendezvous import Call, Reply, RunningStep, TaskRendezvous
from tfnb.session.dask.transport.channel import Channel, Peer
from tfnb.session.dask.transport.connection_pool import ConnectionPool
from tfnb.session.dask.transport.error_codec import encode_error
from tfnb.session.dask.transport.poller import Poller
from tfnb.session.dask.transport.stream import Stream
from tfnb.session.dask.transport.wire import Kind, Message

__all__ = ["OutboundCalls"]

_NO_OPTIONS = np.zeros(0)


class OutboundCalls:
    """Sends messages for the task named `task`.

    Methods with a `RunningStep` parameter may be called only by the thread that runs the step, all others by any
    thread. `threads` compute and send large values. `make_poller` creates the poller with which a step's thread waits.
    """

    def __init__(
        self,
        task: str,
        channel: Channel,
        peers: PeerTable,
        steps: StepTable,
        threads: HostThreads,
        make_poller: Callable[[], Poller],
    ) -> None:
        self._task, self._channel, self._threads = task, channel, threads
        self._peers, self._steps = peers, steps
        self._pool = ConnectionPool(channel, make_poller)
        self._lock = threading.Lock()  # of `RunningStep.calls`: the thread that removes a call answers it

    def _peer(self, name: str, step: int) -> Peer:
        """The peer of a task, which may also be the master of the step. The master is not a member of the cluster."""
        master = self._steps.master_of(step)
        return master.peer if master is not None and master.name == name else self._peers.get(name)

    # ---- values ----------------------------------------------------------------------------

    def send(self, run: RunningStep, target: str, messages: Sequence[Message]) -> None:
        """Sends messages of a step to another task, on the connection of the step's call to it if there is one.

        Raises `UnavailableError` when the task cannot be reached.
        """
        call = run.calls.get(target)
        if call is None or run.poller is None:
            self._channel.send(self._peer(target, run.step), *messages)
            return
        try:
            wait = run.poller.wait_until_writable(call.stream)
            self._channel.post(call.stream, call.peer.endpoint, messages, wait)
        except OSError as e:
            raise UnavailableError(f"the task {target} cannot be reached: {e}") from e

    def push(self, target: str, message: Message, value: Value, traced: TaskRendezvous | None = None) -> None:
        """Lets the pool send `message` with `value` when the value is computed. A failure stops the step.

        `traced` is the rendezvous of a traced step, which records the time and can wait until the value was sent.
        """
        recorder, has_left = None if traced is None else traced.recorder, threading.Event()
        if traced is not None:
            traced.pending_sends.append(has_left)

        def send() -> None:
            try:
                full_message = message._replace(value=np.asarray(to_host(value)))
                start = 0.0 if recorder is None else recorder.now_us()
                self._channel.send(self._peer(target, message.step), full_message)
                if recorder is not None:
                    note_sent(recorder, target, [(message.key, full_message.value.nbytes)], start)
            except BaseException as e:
                text = f"cannot send {message.key!r}: {e}"
                self._steps.stop(message.step, e if isinstance(e, OpError) else UnavailableError(text))
            finally:
                has_left.set()

        self._threads.submit(send)

    # ---- calls of a master -----------------------------------------------------------------

    def call(
        self,
        run: RunningStep,
        assignment: Assignment,
        handle: str,
        feeds: Sequence[np.ndarray],
        timeout: float | None,
        reply: Callable[[Reply], None],
        trace: bool = False,
    ) -> None:
        """Makes another task run its parts of a step, which it has registered under `handle`.

        `feeds` are all feeds of the step; the task gets the feeds of its `assignment`. `timeout` is in seconds; None
        means no limit. `reply` is called once, when the task has answered or is lost, always in the thread that runs
        the step here, while this thread waits. With `trace`, the task's times arrive before a reply without an error
        (see `TIMES`).
        """
        target, step = assignment.task, run.step
        messages = [Message(Kind.TENSOR, step, f"{FEED}{k}", feeds[k]) for k in assignment.feeds]
        options = _NO_OPTIONS if timeout is None and not trace else np.array([timeout or 0.0, trace])
        messages.append(Message(Kind.CALL, step, handle, options))
        try:
            peer = self._peers.get(target)
            stream = self._pool.take_stream(peer)
        except OpError as e:
            reply(Reply(target, e, isinstance(e, UnavailableError)))
            return
        poller = self.poller_of(run)
        run.calls[target] = Call(stream, peer, reply)
        run.streams[stream] = target
        poller.add(stream)
        try:
            self._channel.post(stream, stream.endpoint, messages, poller.wait_until_writable(stream))
        except OSError as e:
            self.connection_broke(stream, e)

    def poller_of(self, run: RunningStep) -> Poller:
        """The poller with which the thread that runs this step waits. It is leased until `end_step`."""
        if run.poller is None:
            run.poller = self._pool.take_poller()
        return run.poller

    def finish_call(self, run: RunningStep, task: str, error: OpError | None) -> None:
        """Answers the call to `task`, whose parts have ended with `error` (None: without one).

        Does nothing if done before.
        """
        with self._lock:
            call = run.calls.pop(task, None)
        if call is None or run.poller is None:
            return
        run.poller.discard(call.stream)
        run.streams.pop(call.stream, None)
        self._pool.return_stream(call.peer, call.stream)
        call.reply(Reply(task, error))

    def connection_broke(self, stream: Stream, error: Exception) -> None:
        """Answers the calls that were made on a connection with an error, and closes it."""
        runs = [r for r in self._steps.running() if stream in r.streams]
        with self._lock:
            calls = [(n, r.calls.pop(n)) for r in runs for n, c in list(r.calls.items()) if c.stream is stream]
        for run in runs:
            run.streams.pop(stream, None)
            self._channel.close_stream(stream)
        for name, call in calls:
            text = f"the task {name} was lost during the step: {error}"
            call.reply(Reply(name, UnavailableError(text), True))

    def tell_to_stop(self, target: str, step: int, error: OpError) -> None:
        """Orders another task to stop a step. Does nothing if that task cannot be reached."""
        with contextlib.suppress(OpError):
            message = Message(Kind.STOP, step, self._task, encode_error(error, self._task))
            self._channel.send(self._peers.get(target), message)

    # ---- the end ---------------------------------------------------------------------------

    def end_step(self, step: int) -> None:
        """Ends a step here, with or without an error, and its leases. Later messages for the step are dropped."""
        run = self._steps.end(step)
        if run is None:
            return
        run.rendezvous.end(CancelledError(f"step {step} is over"))
        if run.poller is None:
            return
        for stream in run.streams:  # their calls have no reply: messages that still arrive must not reach another step
            run.poller.discard(stream)
            self._channel.close_stream(stream)
        self._pool.return_poller(run.poller)

    def drop(self, peer: Peer) -> None:
        """Closes the idle connections to a peer that is gone."""
        self._pool.drop(peer)

    def close(self) -> None:
        """Closes the idle connections and pollers."""
        self._pool.close()

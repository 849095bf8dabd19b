"""A task: the devices, state and channel of one process of a cluster (white paper, section 3.3; OSDI'16, section 3.3).

A master registers its subgraphs once; each of its steps is then one message on a connection of its own, and the thread
that reads it runs the step, and answers there. Values for other tasks are pushed to them. Invariant: a step that ends,
here or elsewhere, leaves nothing: what comes late for it is dropped, what waits for it is woken.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfnb.devices import opencl
from tfnb.devices.interface import Device
from tfnb.errors import (
    AbortedError,
    CancelledError,
    ClosedSessionError,
    InvalidArgumentError,
    OpError,
    UnavailableError,
)
from tfnb.runtime.executor import Executor, PlanPart
from tfnb.runtime.host_threads import HostThreads
from tfnb.runtime.resources import ResourceManager, reset_shared
from tfnb.runtime.stats import StepStats
from tfnb.runtime.values import Value, to_host
from tfnb.session.compile import Context
from tfnb.session.config import ConfigProto
from tfnb.session.dask.observability.tracing import encode_times, note_arrivals, note_sent
from tfnb.session.dask.observability.traffic import CountingChannel
from tfnb.session.dask.task.assignment import FEED, FETCH, TIMES, Assignment
from tfnb.session.dask.task.read_only_part import ReadOnlyPart
from tfnb.session.dask.task.registered_steps import RegisteredStep, RegisteredSteps
from tfnb.session.dask.task.task_rendezvous import Call, Reply, RunningStep, TaskRendezvous
from tfnb.session.dask.transport.channel import Peer, Tls
from tfnb.session.dask.transport.connection_pool import ConnectionPool
from tfnb.session.dask.transport.failures import Refusals, heard, told
from tfnb.session.dask.transport.poller import Poller
from tfnb.session.dask.transport.stream import Stream
from tfnb.session.dask.transport.wire import Head, Kind, Message
from tfnb.session.functions import Functions
from tfnb.session.placing import Placing
from tfnb.settings import load_settings

__all__ = ["Task"]

_REMEMBERED = 4096  # ended steps whose late messages are known for what they are
_PREFIX = 40  # bits below the part of a step's number that is its master's
_NOTHING = np.zeros(0, np.uint8)
_NO_LIMIT = np.zeros(0)
_PATIENCE = 5.0  # seconds that closing waits for Python functions that do not return
_FRESH = 0.5  # seconds since its last step in which a connection's master cannot have given the task up
_NOTED = 1.0  # seconds that a traced step waits for each value that still leaves


class MasterRecord(NamedTuple):
    """A master that watches this task: the name of its own task, and how that is reached.

    Of its steps up to number `done_up_to`, only those that run now are not over.
    """

    name: str
    peer: Peer
    done_up_to: int = 0


class Task:
    """`name`: "/job:ps/replica:0/task:0". `host`: the address that its channel listens at. Close it."""

    def __init__(self, name: str, host: str, config: ConfigProto | None = None, tls: Tls | None = None) -> None:
        config = config or ConfigProto()
        self.name = name
        self.settings = load_settings()
        made = opencl.make_devices(
            self.settings, config.device_count, config.memory_limit, prefix=name,
            gpu_memory_fraction=config.gpu_options.per_process_gpu_memory_fraction,
            visible_gpus=config.gpu_options.visible_gpus(),
        )  # fmt: skip
        self.devices: dict[str, Device] = {d.name: d for d in made}
        self.resources = ResourceManager()
        self.threads = HostThreads()
        own = Placing(dict.fromkeys(self.devices, 0))
        self.context = Context(self.devices, self.resources, self.settings, own, self.settings.optimize)
        self.resources.compile_function = Functions(self.context, self.threads)
        self._lock = threading.Lock()
        self._peers: dict[str, Peer] = {}
        self.registered = RegisteredSteps(name)
        self._running: dict[int, RunningStep] = {}
        self._masters: dict[int, MasterRecord] = {}  # what their steps' numbers begin with -> who they are
        self._ended: OrderedDict[int, bool] = OrderedDict()  # step -> was it called
        self._busy: dict[Stream, Poller] = {}  # the connections on which a step runs now, for its master
        self._closed = False
        self.refusals = Refusals(name)
        self.steps = 0  # that ended here
        try:
            self.channel = CountingChannel(host, self._receive, self.refusals.add, tls)
        except BaseException:
            for device in made:
                device.close()
            raise
        self._connections = ConnectionPool(self.channel, lambda: Poller(self._receive, self._broke))

    # ---- who is there ----------------------------------------------------------------------

    def meet(self, peers: Mapping[str, Peer]) -> None:
        """Learns, or learns anew, how other tasks are reached."""
        with self._lock:
            gone = [p for name, p in self._peers.items() if name in peers and peers[name] != p]
            self._peers.update({name: p for name, p in peers.items() if name != self.name})
        for peer in gone:
            self.lose(peer)

    def lose(self, peer: Peer) -> None:
        """Another task is gone, or seems so: whoever waits to send to it fails. It may be reached anew."""
        self.channel.drop(peer)
        self._connections.drop(peer)

    def peer(self, name: str, step: int = 0) -> Peer:
        """How a task is reached, which may be the step's master. Raises `UnavailableError` for one that is unknown."""
        master = self._masters.get(step >> _PREFIX)
        peer = master.peer if master is not None and master.name == name else self._peers.get(name)
        if peer is None:
            raise UnavailableError(f"the task {name} cannot be reached from {self.name}")
        return peer

    def names(self) -> dict[str, str]:
        """Endpoint -> task, of all that this task can send to."""
        with self._lock:
            masters = {m.peer.endpoint: m.name for m in self._masters.values()}
            return {**masters, **{peer.endpoint: name for name, peer in self._peers.items()}}

    def admit(self, prefix: int, name: str, peer: Peer) -> None:
        """From now on hears of the steps of a master, whose numbers begin with `prefix` (see `Master`)."""
        with self._lock:
            self._masters[prefix] = MasterRecord(name, peer)

    def dismiss(self, prefix: int, error: OpError) -> None:
        """A master is gone: its steps are stopped and forgotten, and what still comes for them is dropped."""
        self.deregister(f"{prefix} ")
        with self._lock:
            self._masters.pop(prefix, None)
            mine = [s for s in self._running if s >> _PREFIX == prefix]
        for step in mine:
            self.stop(step, error)

    def counts(self) -> dict[str, Any]:
        """For tables: how much of what this task keeps of masters, and what it refused."""
        with self._lock:
            return {
                "masters": len(self._masters), "registered": len(self.registered), "running": len(self._running),
                "refused": self.refusals.count, "refused_last": self.refusals.last,
            }  # fmt: skip

    # ---- subgraphs and steps ---------------------------------------------------------------

    def register(self, handle: str, parts: Sequence[PlanPart], assignment: Assignment) -> None:
        """Keeps the task's parts of a step under a handle of its master."""
        executor = Executor.of_parts(parts, self.threads, self.settings.fast_loops)
        prefix = handle.partition(" ")[0]
        master = self._masters.get(int(prefix)) if prefix.isdigit() else None
        fetches = [f"{FETCH}{k}" for k in assignment.fetches]
        is_remote = master is not None and master.name != self.name
        read_only = ReadOnlyPart.of(parts, fetches, master.name) if master is not None and is_remote else None
        self.registered.add(handle, RegisteredStep(executor, assignment, read_only))

    def deregister(self, prefix: str) -> None:
        """Forgets the registered steps whose handles begin with `prefix`: one step, or all of a master."""
        self.registered.remove(prefix)

    def run(
        self, step: int, handle: str, feeds: Sequence[Value], timeout: float | None = None,
        recorder: StepStats | None = None,
    ) -> list[np.ndarray]:
        """Runs a registered step in this thread; the fetches of the task's parts, in order. Then call `end`."""
        return self._run(self.begun(step), self.registered.get(handle).executor, feeds, timeout, recorder)

    def _run(
        self, run: RunningStep, executor: Executor, feeds: Sequence[Value], timeout: float | None,
        recorder: StepStats | None,
    ) -> list[np.ndarray]:
        run.rendezvous.recorder = recorder
        found = executor.run(
            feeds, timeout=timeout, recorder=recorder, rendezvous=run.rendezvous, cancellation=run.cancellation
        )
        if recorder is not None:  # what is told of its times has all of them
            run.rendezvous.send_remaining("")
            for gone in run.rendezvous.pending_sends:
                gone.wait(_NOTED)
            note_arrivals(recorder, run.rendezvous.arrivals)
        return found

    def begun(self, step: int) -> RunningStep:
        """A step that has not ended. Raises `AbortedError` when it has."""
        with self._lock:
            run = self._of(step)
        if run is None:
            raise AbortedError(f"step {step} has ended already")
        return run

    def begin(self, step: int) -> RunningStep:
        """A step of a master that runs in this process, in this thread; who begins it ends it."""
        run = self.begun(step)
        run.was_called = True
        self.poller_of(run)
        return run

    def stop(self, step: int, error: OpError) -> None:
        """Stops a step here, or whatever comes of it later."""
        with self._lock:
            run = self._running.get(step)
            if run is not None and not run.was_called:  # nobody here will end it
                del self._running[step]
            self._over(step, run is not None and run.was_called)
        if run is not None:
            run.stop(error)

    def _of(self, step: int) -> RunningStep | None:
        """With the lock: the step, from its first message on; None when it has ended, or its master is not known."""
        if self._closed:
            raise ClosedSessionError(f"the task {self.name} is closed")
        if step in self._ended:
            return None
        run = self._running.get(step)
        if run is None:
            master = self._masters.get(step >> _PREFIX)
            if master is not None and step > master.done_up_to:
                run = self._running[step] = RunningStep(self.name, self, step)
        return run

    def _first_call(self, step: int) -> tuple[bool, RunningStep | None]:
        """Is this the first time that its master calls the step? One that was stopped before must answer too.

        And the step, if it has not ended."""
        with self._lock:
            run = self._of(step)
            if run is not None:
                before, run.was_called = run.was_called, True
            else:
                before = self._ended.get(step, True)
                if not before:
                    self._ended[step] = True
        return not before, run

    def _over(self, step: int, called: bool) -> None:
        """With the lock: late messages for the step are known for what they are. Of the oldest only the number stays,
        below which a master's steps are over."""
        self._ended[step] = called or self._ended.get(step, False)
        while len(self._ended) > _REMEMBERED:
            old, _ = self._ended.popitem(last=False)
            master = self._masters.get(old >> _PREFIX)
            if master is not None:
                self._masters[old >> _PREFIX] = master._replace(done_up_to=max(master.done_up_to, old))

    def end(self, step: int) -> None:
        """The step is over here: what still comes for it is dropped."""
        with self._lock:
            run = self._running.pop(step, None)
            self.steps += run is not None
            self._over(step, run is not None and run.was_called)
        if run is None:
            return
        run.rendezvous.end(CancelledError(f"step {step} is over"))
        if run.poller is not None:
            for stream in run.streams:  # what still comes on these is of no use to another step
                run.poller.discard(stream)
                self.channel.close_stream(stream)
            self._connections.return_poller(run.poller)

    # ---- messages --------------------------------------------------------------------------

    def send(self, run: RunningStep, target: str, messages: Sequence[Message]) -> None:
        """Sends a step's messages to another task, by the step's own connection to it if there is one."""
        call = run.calls.get(target)
        if call is None or run.poller is None:
            self.channel.send(self.peer(target, run.step), *messages)
            return
        try:
            self.channel.post(call.stream, call.peer.endpoint, messages, run.poller.wait_until_writable(call.stream))
        except OSError as e:
            raise UnavailableError(f"the task {target} cannot be reached: {e}") from e

    def push(self, target: str, message: Message, value: Value, traced: TaskRendezvous | None = None) -> None:
        """Sends a value to another task once it is computed, from the pool."""
        recorder, gone = None if traced is None else traced.recorder, threading.Event()
        if traced is not None:
            traced.pending_sends.append(gone)

        def send() -> None:
            try:
                whole = message._replace(value=np.asarray(to_host(value)))
                start = 0.0 if recorder is None else recorder.now_us()
                self.channel.send(self.peer(target, message.step), whole)
                if recorder is not None:
                    note_sent(recorder, target, [(message.key, whole.value.nbytes)], start)
            except BaseException as e:
                text = f"cannot send {message.key!r}: {e}"
                self.stop(message.step, e if isinstance(e, OpError) else UnavailableError(text))
            finally:
                gone.set()

        self.threads.submit(send)

    def call(
        self, run: RunningStep, assignment: Assignment, handle: str, feeds: Sequence[np.ndarray], timeout: float | None,
        reply: Callable[[Reply], None], trace: bool = False,
    ) -> None:  # fmt: skip
        """Has another task run its share of a step; `reply` is called once, when it says how that ended.

        It says so to the thread that runs the step here, while that waits. With `trace`, a reply without an error comes
        after the task's times (see `TIMES`).
        """
        target, step = assignment.task, run.step
        messages = [Message(Kind.TENSOR, step, f"{FEED}{k}", feeds[k]) for k in assignment.feeds]
        asked = _NO_LIMIT if timeout is None and not trace else np.array([timeout or 0.0, trace])
        messages.append(Message(Kind.CALL, step, handle, asked))
        try:
            peer = self.peer(target)
            stream = self._connections.take_stream(peer)
        except OpError as e:
            reply(Reply(target, e, isinstance(e, UnavailableError)))
            return
        poller = self.poller_of(run)
        run.calls[target] = Call(stream, peer, reply)
        run.streams[stream] = target
        poller.add(stream)
        try:
            self.channel.post(stream, stream.endpoint, messages, poller.wait_until_writable(stream))
        except OSError as e:
            self._broke(stream, e)

    def poller_of(self, run: RunningStep) -> Poller:
        """What the thread that runs this step waits with."""
        if run.poller is None:
            run.poller = self._connections.take_poller()
        return run.poller

    def _broke(self, stream: Stream, error: Exception) -> None:
        """A connection of a step has ended before the step."""
        with self._lock:
            runs = [r for r in self._running.values() if stream in r.streams]
            calls = [(n, r.calls.pop(n)) for r in runs for n, c in list(r.calls.items()) if c.stream is stream]
            mine = self._busy.get(stream)
            stopped = [r.step for r in self._running.values() if r.poller is not None and r.poller is mine]
        for step in stopped:
            self.stop(step, UnavailableError(f"the master of the step is gone: {error}"))
        for run in runs:
            run.streams.pop(stream, None)
            self.channel.close_stream(stream)
        for name, call in calls:
            text = f"the task {name} was lost during the step: {error}"
            call.reply(Reply(name, UnavailableError(text), True))

    def tell_to_stop(self, target: str, step: int, error: OpError) -> None:
        """Has another task stop a step, if it is there."""
        with contextlib.suppress(OpError):
            self.channel.send(self.peer(target), Message(Kind.STOP, step, self.name, told(error, self.name)))

    def _receive(self, head: Head, value: np.ndarray, stream: Stream) -> None:
        try:
            if head.kind is Kind.TENSOR:
                run = self._running.get(head.step)
                if run is None:
                    with self._lock:
                        run = self._of(head.step)
                try:
                    if run is not None and run.rendezvous.error is None:
                        run.rendezvous.receive(head.subject.key, value, head.is_dead)
                finally:
                    if head.ends and run is not None:
                        self._replied(run, run.streams.get(stream, ""), None)
            elif head.kind is Kind.CALL:
                timeout, trace = value if value.shape == (2,) and value.dtype == np.float64 else (0.0, 0.0)
                # a master that has gone on without this task, which was paused, does not want the step any more
                if time.monotonic() - stream.used < _FRESH or not stream.has_ended():
                    if not (timeout or trace) and self._answer_read_only(stream, head.step, head.key):
                        return
                    first, run = self._first_call(head.step)
                    if first:
                        self._answer(stream, run, head.step, head.key, float(timeout) or None, bool(trace))
            elif head.kind is Kind.REPLY:
                self._replied(self._running.get(head.step), head.key, heard(value))
            else:
                self.stop(head.step, heard(value) or CancelledError("the step was stopped"))
        except OpError as e:
            self.refusals.add(e)

    def _answer_read_only(self, stream: Stream, step: int, handle: str) -> bool:
        """Answers at once where all that the step does here is to read; did it? Whatever is not as always is left to
        `_answer`, errors too."""
        known = self.registered.find(handle)
        if known is None or known.read_only is None or stream in self._busy:
            return False
        try:
            messages = known.read_only.messages(step)
        except Exception:
            return False
        with self._lock:
            master = self._masters.get(step >> _PREFIX)
            if master is None or step <= master.done_up_to or self._closed:
                return False
            if step in self._ended or step in self._running:
                return False
            self.steps += 1
            self._over(step, True)
        stream.used = time.monotonic()
        with contextlib.suppress(OSError):  # the master is gone; nobody is left to tell
            self.channel.post(stream, master.peer.endpoint, messages)
        return True

    def _answer(
        self, stream: Stream, run: RunningStep | None, step: int, handle: str, timeout: float | None, trace: bool
    ) -> None:
        """Runs a step for its master in this thread, and sends it the fetches, its times, and how it ended."""
        if stream in self._busy:
            raise InvalidArgumentError(f"step {step} was called on the connection of a step that runs")
        messages: list[Message] = []
        master = self._masters.get(step >> _PREFIX)
        try:
            known = self.registered.get(handle)
            run, assignment = run or self.begun(step), known.assignment
            recorder = StepStats() if trace else None
            waits = trace or timeout is not None or known.executor.waits
            if waits:  # and reads its master's connection meanwhile
                self._busy[stream] = poller = self.poller_of(run)
                poller.add(stream)
            try:
                found = self._run(run, known.executor, self._feeds(run, assignment), timeout, recorder)
                messages = run.rendezvous.send_remaining("" if master is None else master.name)
            finally:
                if waits:
                    poller.discard(stream)
                    del self._busy[stream]
            for k, v in zip(assignment.fetches, found, strict=True):
                messages.append(Message(Kind.TENSOR, step, f"{FETCH}{k}", v))
            if recorder is not None:
                messages.append(Message(Kind.TENSOR, step, f"{TIMES}{self.name}", encode_times(recorder, self.name)))
            said = _NOTHING
        except BaseException as e:
            said = told(e, self.name)
        self.end(step)
        if messages and said is _NOTHING:
            messages[-1] = Message(*messages[-1][:-1], ends=True)
        else:
            messages.append(Message(Kind.REPLY, step, self.name, said))
        stream.used = time.monotonic()
        try:
            self.channel.post(stream, "" if master is None else master.peer.endpoint, messages)
        except OSError:
            return  # the master is gone; nobody is left to tell

    def _feeds(self, run: RunningStep, assignment: Assignment) -> list[Value]:
        """The values of a step's feeds; those that no part here reads were not sent and are not looked at."""
        found: list[Value] = [_NOTHING] * assignment.n_feeds
        for k in assignment.feeds:  # they came before the call
            found[k] = run.rendezvous.recv(f"{FEED}{k}", 0.0).value
        return found

    def _replied(self, run: RunningStep | None, task: str, error: OpError | None) -> None:
        """A task says how its share of a step ended."""
        if run is None:
            return
        with self._lock:
            call = run.calls.pop(task, None)
        if call is None or run.poller is None:
            return
        run.poller.discard(call.stream)
        run.streams.pop(call.stream, None)
        self._connections.return_stream(call.peer, call.stream)
        call.reply(Reply(task, error))

    # ---- the end ---------------------------------------------------------------------------

    def reset(self, containers: Sequence[str] | None) -> None:
        """Drops the state in these containers (None: in all)."""
        self.resources.reset(containers)
        reset_shared(containers)

    def close(self) -> None:
        """Stops what runs, then gives threads, sockets, state and memory back."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            running = list(self._running.values())
        for run in running:
            run.stop(CancelledError(f"the task {self.name} was closed"))
        self._connections.close()
        self.channel.close()
        self.threads.close(_PATIENCE)
        self.resources.reset()
        for device in self.devices.values():
            device.close()

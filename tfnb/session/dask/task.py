"""A task: the devices, state and channel of one process of a cluster (white paper, section 3.3; OSDI'16, section 3.3).

A master registers its subgraphs once; each of its steps is then one message, which a thread of the task runs. Values
for other tasks are pushed to them. Invariant: a step that ends, here or elsewhere, leaves nothing: what comes late for
it is dropped, what waits for it is woken.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
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
from tfnb.runtime.cancel import Cancellation
from tfnb.runtime.executor import Executor, PlanPart
from tfnb.runtime.host_threads import HostThreads
from tfnb.runtime.rendezvous import Rendezvous
from tfnb.runtime.resources import ResourceManager, reset_shared
from tfnb.runtime.stats import StepStats
from tfnb.runtime.transfer import Key
from tfnb.runtime.values import Value, nbytes_of, to_host
from tfnb.session.compile import Context
from tfnb.session.config import ConfigProto
from tfnb.session.dask.channel import Peer
from tfnb.session.dask.failures import Refusals, decode_error, encode_error
from tfnb.session.dask.tracing import encode_times, note_arrivals, note_sent
from tfnb.session.dask.traffic import CountingChannel
from tfnb.session.dask.wire import Head, Kind, Message
from tfnb.session.functions import Functions
from tfnb.session.placing import Placing
from tfnb.settings import load_settings

__all__ = ["FETCH", "TIMES", "Reply", "Share", "Task", "key_text", "task_of"]

FEED, FETCH, TIMES = "feed ", "fetch ", "times "
_REMEMBERED = 4096  # ended steps whose late messages are known for what they are
_MOST_STEPS = 256  # that run at once
_PREFIX = 40  # bits below the part of a step's number that is its master's
_NOTHING = np.zeros(0, np.uint8)
_NOTED = 1.0  # seconds that a traced step waits for each value that still leaves
_SOON = 1 << 14  # bytes: larger values are sent by the pool


class Share(NamedTuple):
    """What one task has of a step: the numbers of the feeds that it reads, and of the fetches that it makes."""

    task: str
    feeds: tuple[int, ...]
    fetches: tuple[int, ...]
    n_feeds: int  # of the whole step


class _MasterHere(NamedTuple):
    """A master that watches this task: its own task, and how that is reached.

    `floor`: of its steps up to this number only those that run are not over.
    """

    name: str
    peer: Peer
    floor: int = 0


class _Registered(NamedTuple):
    """A task's parts of a step."""

    executor: Executor
    share: Share


class Reply(NamedTuple):
    """How a step ended at `task`: with an error, or with its fetches (number -> value) already sent."""

    task: str
    error: OpError | None


def task_of(device: str) -> str:
    """The task of a device's full name."""
    return device.rpartition("/device:")[0]


def key_text(key: Key) -> str:
    """A rendezvous key in a message."""
    return "\n".join(key)


class _Meeting(Rendezvous):
    """A step's rendezvous at one task: what is for another is pushed there.

    Small values wait for each other until the step waits for something (`flush`), and then go in one piece.
    """

    def __init__(self, task: Task, step: int) -> None:
        super().__init__()
        self._task, self._step = task, step
        self._outgoing: dict[str, list[Message]] = {}  # task -> what goes there; of the step's own thread
        self.came: list[tuple[str, float]] = []  # key and time of each tensor from another task
        self.recorder: StepStats | None = None
        self.sending: list[threading.Event] = []  # of a traced step: set when a value has left the pool

    def send(self, key: Any, value: Any, is_dead: bool = False) -> None:
        target = task_of(key.target) if isinstance(key, Key) else self._task.name
        if target == self._task.name:
            super().send(key_text(key) if isinstance(key, Key) else key, value, is_dead)
            return
        ticket = None if is_dead else getattr(value, "ticket", None)
        if is_dead or (nbytes_of(value) < _SOON and (ticket is None or ticket.done)):
            array = np.zeros((), np.int32) if is_dead else np.asarray(to_host(value))
            self.add(target, Message(Kind.TENSOR, self._step, key_text(key), array, is_dead))
        else:
            message = Message(Kind.TENSOR, self._step, key_text(key), np.zeros(()))
            self._task.push(target, message, value, None if self.recorder is None else self)

    def add(self, target: str, message: Message) -> None:
        """Goes to another task at the next `flush`."""
        self._outgoing.setdefault(target, []).append(message)

    def flush(self) -> None:
        outgoing, self._outgoing = self._outgoing, {}
        for target, messages in outgoing.items():
            start = 0.0 if self.recorder is None else self.recorder.now_us()
            self._task.channel.send(self._task.peer(target, self._step), *messages)
            if self.recorder is not None:
                note_sent(self.recorder, target, [(m.key, m.value.nbytes) for m in messages], start)

    def recv_async(self, key: Any, callback: Any) -> None:
        super().recv_async(key_text(key) if isinstance(key, Key) else key, callback)


class _Run:
    """A step while it runs here, or while messages for it wait until it does."""

    def __init__(self, task: Task, step: int) -> None:
        self.rendezvous = _Meeting(task, step)
        self.cancellation = Cancellation()
        self.called = False  # by its master: only the first call counts

    def stop(self, error: BaseException) -> None:
        self.rendezvous.abort(error)
        self.cancellation.cancel(error)


class Task:
    """`name`: "/job:ps/replica:0/task:0". `host`: the address that its channel listens at. Close it."""

    def __init__(self, name: str, host: str, config: ConfigProto | None = None) -> None:
        config = config or ConfigProto()
        self.name = name
        self.settings = load_settings()
        made = opencl.make_devices(
            self.settings, config.device_count, config.memory_limit, prefix=name,
            gpu_memory_fraction=config.gpu_options.per_process_gpu_memory_fraction,
        )  # fmt: skip
        self.devices: dict[str, Device] = {d.name: d for d in made}
        self.resources = ResourceManager()
        self.threads = HostThreads()
        own = Placing(dict.fromkeys(self.devices, 0))
        self.context = Context(self.devices, self.resources, self.settings, own, self.settings.optimize)
        self.resources.compile_function = Functions(self.context, self.threads)
        self._loops = ThreadPoolExecutor(_MOST_STEPS, thread_name_prefix="tfnb-step")
        self._lock = threading.Lock()
        self._peers: dict[str, Peer] = {}
        self._registered: dict[str, _Registered] = {}
        self._running: dict[int, _Run] = {}
        self._masters: dict[int, _MasterHere] = {}  # what their steps' numbers begin with -> who they are
        self._ended: OrderedDict[int, bool] = OrderedDict()  # step -> was it called
        self._waiting: dict[int, dict[str, Callable[[Reply], None]]] = {}  # a master's, for its tasks' replies
        self._closed = False
        self.refusals = Refusals(name)
        self.steps = 0  # that ended here
        self.channel = CountingChannel(host, self._receive, self.refusals.add)

    # ---- who is there ----------------------------------------------------------------------

    def meet(self, peers: Mapping[str, Peer]) -> None:
        """Learns, or learns anew, how other tasks are reached."""
        with self._lock:
            gone = [p for name, p in self._peers.items() if name in peers and peers[name] != p]
            self._peers.update({name: p for name, p in peers.items() if name != self.name})
        for peer in gone:
            self.channel.drop(peer)
        for peer in peers.values():
            self.channel.allow(peer)

    def lose(self, peer: Peer) -> None:
        """Another task is gone, or seems so: whoever waits to send to it fails. It may be reached anew."""
        self.channel.drop(peer)

    def peer(self, name: str, step: int = 0) -> Peer:
        """How a task is reached, which may be the step's master. Raises `UnavailableError` for one that is unknown."""
        with self._lock:
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
            self._masters[prefix] = _MasterHere(name, peer)

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
                "masters": len(self._masters), "registered": len(self._registered), "running": len(self._running),
                "refused": self.refusals.count, "refused_last": self.refusals.last,
            }  # fmt: skip

    # ---- subgraphs and steps ---------------------------------------------------------------

    def register(self, handle: str, parts: Sequence[PlanPart], share: Share) -> None:
        """Keeps the task's parts of a step under a handle of its master."""
        executor = Executor.of_parts(parts, self.threads, self.settings.fast_loops)
        with self._lock:
            self._registered[handle] = _Registered(executor, share)

    def deregister(self, prefix: str) -> None:
        """Forgets the steps of a master, whose handles begin so."""
        with self._lock:
            for handle in [h for h in self._registered if h.startswith(prefix)]:
                del self._registered[handle]

    def run(
        self, step: int, handle: str, feeds: Sequence[Value], timeout: float | None = None,
        recorder: StepStats | None = None,
    ) -> list[np.ndarray]:
        """Runs a registered step in this thread; the fetches of the task's parts, in order. Then call `end`."""
        executor, run = self._known(handle).executor, self.begun(step)
        run.rendezvous.recorder = recorder
        found = executor.run(
            feeds, timeout=timeout, recorder=recorder, rendezvous=run.rendezvous, cancellation=run.cancellation
        )
        run.rendezvous.flush()
        if recorder is not None:
            for gone in run.rendezvous.sending:
                gone.wait(_NOTED)
            note_arrivals(recorder, run.rendezvous.came)
        return found

    def _known(self, handle: str) -> _Registered:
        with self._lock:
            found = self._registered.get(handle)
        if found is None:
            raise AbortedError(f"{self.name} knows no step {handle!r}: it was restarted, or lost its master")
        return found

    def begun(self, step: int) -> _Run:
        """A step that has not ended. Raises `AbortedError` when it has."""
        run = self._of(step)
        if run is None:
            raise AbortedError(f"step {step} has ended already")
        return run

    def stop(self, step: int, error: OpError) -> None:
        """Stops a step here, or whatever comes of it later."""
        with self._lock:
            run = self._running.get(step)
            if run is not None and not run.called:  # nobody here will end it
                del self._running[step]
            self._over(step, run)
        if run is not None:
            run.stop(error)
        self.channel.forget(step)

    def _of(self, step: int) -> _Run | None:
        """The step, from its first message on; None when it has ended, or its master is not known."""
        with self._lock:
            if self._closed:
                raise ClosedSessionError(f"the task {self.name} is closed")
            if step in self._ended:
                return None
            run = self._running.get(step)
            if run is None:
                master = self._masters.get(step >> _PREFIX)
                if master is None or step <= master.floor:
                    return None
                run = self._running[step] = _Run(self, step)
            return run

    def _first_call(self, step: int) -> bool:
        """Is this the first time that its master calls the step? One that was stopped before must answer too."""
        run = self._of(step)
        with self._lock:
            before = self._ended.get(step, True) if run is None else run.called
            if run is not None:
                run.called = True
            elif step in self._ended:
                self._ended[step] = True
        return not before

    def _over(self, step: int, run: _Run | None) -> None:
        """With the lock: late messages for the step are known for what they are. Of the oldest only the number stays,
        below which a master's steps are over."""
        self._ended[step] = self._ended.get(step, False) or (run is not None and run.called)
        while len(self._ended) > _REMEMBERED:
            old, _ = self._ended.popitem(last=False)
            master = self._masters.get(old >> _PREFIX)
            if master is not None:
                self._masters[old >> _PREFIX] = master._replace(floor=max(master.floor, old))

    def end(self, step: int) -> None:
        """The step is over here: what still comes for it is dropped."""
        with self._lock:
            run = self._running.pop(step, None)
            self.steps += run is not None
            self._waiting.pop(step, None)
            self._over(step, run)
        if run is not None:
            run.rendezvous.abort(CancelledError(f"step {step} is over"))

    # ---- messages --------------------------------------------------------------------------

    def push(self, target: str, message: Message, value: Value, traced: _Meeting | None = None) -> None:
        """Sends a value to another task once it is computed, from the pool."""
        recorder, gone = None if traced is None else traced.recorder, threading.Event()
        if traced is not None:
            traced.sending.append(gone)

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
        self, share: Share, step: int, handle: str, feeds: Sequence[np.ndarray], timeout: float | None,
        reply: Callable[[Reply], None], trace: bool = False,
    ) -> None:  # fmt: skip
        """Has another task run its share of a step; `reply` is called once, when it says how that ended.

        With `trace`, a reply without an error comes after the task's times (see `TIMES`).
        """
        target = share.task
        values = [Message(Kind.TENSOR, step, f"{FEED}{k}", feeds[k]) for k in share.feeds]
        asked = _NOTHING if timeout is None and not trace else np.array([timeout or 0.0, trace])
        with self._lock:
            self._waiting.setdefault(step, {})[target] = reply
        try:
            self.channel.send(self.peer(target), *values, Message(Kind.CALL, step, handle, asked))
        except OpError as e:
            with self._lock:
                waiting = self._waiting.get(step, {}).pop(target, None)
            if waiting is not None:
                waiting(Reply(target, e))

    def tell_to_stop(self, target: str, step: int, error: OpError) -> None:
        """Has another task stop a step, if it is there."""
        with contextlib.suppress(OpError):
            self.channel.send(self.peer(target), Message(Kind.STOP, step, self.name, _told(error, self.name)))

    def _receive(self, head: Head, value: np.ndarray) -> None:
        try:
            if head.kind is Kind.TENSOR:
                run = self._of(head.step)
                if run is not None:
                    run.rendezvous.came.append((head.key, time.perf_counter()))
                    Rendezvous.send(run.rendezvous, head.key, value, head.is_dead)
            elif head.kind is Kind.CALL:
                timeout, trace = value if value.shape == (2,) and value.dtype == np.float64 else (0.0, 0.0)
                if self._first_call(head.step):
                    self._loops.submit(self._answer, head.step, head.key, float(timeout) or None, bool(trace))
            elif head.kind is Kind.REPLY:
                self._replied(head, value)
            else:
                self.stop(head.step, _heard(value) or CancelledError("the step was stopped"))
        except OpError as e:
            self.refusals.add(e)

    def _answer(self, step: int, handle: str, timeout: float | None, trace: bool) -> None:
        """Runs a step for its master, and sends it the fetches, its times if asked to, and how it ended."""
        messages, said = [], _NOTHING
        with self._lock:
            master = self._masters.get(step >> _PREFIX)
        try:
            share = self._known(handle).share
            recorder = StepStats() if trace else None
            found = self.run(step, handle, self._feeds(step, share), timeout, recorder)
            messages = [Message(Kind.TENSOR, step, f"{FETCH}{k}", v) for k, v in zip(share.fetches, found, strict=True)]
            if recorder is not None:
                value = encode_times(recorder, self.name)
                messages.append(Message(Kind.TENSOR, step, f"{TIMES}{self.name}", value))
        except BaseException as e:
            said = _told(e, self.name)
        self.end(step)
        if master is not None:
            with contextlib.suppress(OpError):  # it is gone, and nobody is left to tell
                self.channel.send(master.peer, *messages, Message(Kind.REPLY, step, self.name, said))

    def _feeds(self, step: int, share: Share) -> list[Value]:
        """The values of a step's feeds; those that no part here reads were not sent and are not looked at."""
        run = self.begun(step)
        found: list[Value] = [_NOTHING] * share.n_feeds
        for k in share.feeds:
            found[k] = run.rendezvous.recv(f"{FEED}{k}").value
        return found

    def _replied(self, head: Head, value: np.ndarray) -> None:
        with self._lock:
            tell = self._waiting.get(head.step, {}).pop(head.key, None)
        if tell is not None:
            tell(Reply(head.key, _heard(value)))

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
        self._loops.shutdown(wait=True)
        self.channel.close()
        self.threads.close()
        self.resources.reset()
        for device in self.devices.values():
            device.close()


def _told(error: BaseException, task: str) -> np.ndarray:
    """An error as a message's value."""
    return np.frombuffer(json.dumps(encode_error(error, task)).encode(), np.uint8)


def _heard(value: np.ndarray) -> OpError | None:
    """The error that a message's value tells of, if any."""
    if not value.size:
        return None
    try:
        return decode_error(dict(json.loads(value.tobytes())))
    except ValueError as e:
        raise InvalidArgumentError(f"a message tells of an error in no JSON: {e}") from e

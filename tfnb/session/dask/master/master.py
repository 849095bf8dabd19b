"""The master of a session on many tasks (white paper, section 3.3; OSDI'16, section 3.3).

It compiles and partitions a step, registers each task's parts once, and starts a step with one message per task; its
own process is the task `home`, which runs its parts in place and takes the fetches. The first error stops the step
everywhere. Invariant: when `execute` returns or raises, every task that lives has ended the step, or was told to.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tfnb.errors import (
    AbortedError,
    CancelledError,
    ClosedSessionError,
    DeadlineExceededError,
    OpError,
    UnavailableError,
)
from tfnb.ir.interrupts import HeldInterrupts
from tfnb.runtime.deadline import Deadline, within
from tfnb.runtime.deadline import current as current_deadline
from tfnb.runtime.stats import StepStats
from tfnb.session.compile import CompiledStep, Context
from tfnb.session.config import ConfigProto, RunMetadata, RunOptions
from tfnb.session.dask.membership.health_monitor import HealthMonitor
from tfnb.session.dask.membership.membership import Member, Membership
from tfnb.session.dask.observability.clocks import Clock
from tfnb.session.dask.observability.tracing import Noted, decode_times, merge
from tfnb.session.dask.task.assignment import FETCH, TIMES, Assignment
from tfnb.session.dask.task.partition_codec import encode_partition
from tfnb.session.dask.task.step_table import step_number
from tfnb.session.dask.task.task import Task
from tfnb.session.dask.task.task_rendezvous import Reply, RunningStep
from tfnb.session.dask.task_names import task_of
from tfnb.session.dask.transport.poller import Poller
from tfnb.session.local import DeviceDescription
from tfnb.session.placing import Placing
from tfnb.session.recording import Recording, Trace, traced

__all__ = ["Master"]

_LATE = 1.0  # seconds that tasks have, after a step's time, to say what waits there
_GRACE = 5.0  # seconds that tasks which were told to stop have to say that they did
_NOTHING = np.zeros(())
_FIND = 60.0  # seconds for all tasks to come up


@dataclass
class _RegisteredAtTasks:
    """A step whose parts the tasks hold under `handle`; `epochs` says which tasks those were, which was so after
    `seen` changes of the directory."""

    handle: str
    home: Assignment | None
    assignments: tuple[Assignment, ...]
    epochs: dict[str, int]
    tasks: tuple[str, ...]
    seen: int


class _Gathering:
    """The replies of a step's tasks: the thread that runs the step waits, others may report.

    When the step's time is over, each task says what waits there; else only the first error counts.
    """

    def __init__(
        self, tasks: Sequence[str], failed: Callable[[OpError], None], poller: Poller | None, deadline: Deadline | None
    ) -> None:
        self.tasks, self.deadline = tasks, deadline
        self.end = None if deadline is None else deadline.end
        self._open = set(tasks)
        self.heard: dict[str, float] = {}  # task -> when its reply came, by `time.perf_counter`
        self._lock = threading.Lock()
        self._failed = failed
        self._poller = poller
        self.held = HeldInterrupts()
        self.error: OpError | None = None
        self.late: list[DeadlineExceededError] = []

    def reply(self, reply: Reply) -> None:
        self._open.discard(reply.task)
        self.heard[reply.task] = time.perf_counter()
        if reply.error is not None:
            self.fail(reply.error)

    def lose(self, task: str) -> None:
        """A task is gone. Even if it has replied: what it sent to others may not have left it."""
        self.reply(Reply(task, UnavailableError(f"the task {task} was lost during the step")))

    def fail(self, error: OpError) -> None:
        """The step has failed."""
        over = self.end is not None and time.monotonic() >= self.end
        with self._lock:
            first = self.error is None
            self.error = self.error or error
            if over and isinstance(error, DeadlineExceededError) and error not in self.late:
                self.late.append(error)
            alone = first and not self.late
        if alone:
            self._failed(error)
        if self._poller is not None:
            self._poller.wake()

    def wait(self, end: float | None, until_error: bool) -> bool:
        """Waits for all replies, or for the first error; False when `end` came first."""

        def is_over() -> bool:
            return not self._open or (until_error and (self.error is not None or self.held.error is not None))

        while not is_over():
            left = None if end is None else end - time.monotonic()
            if self._poller is None or (left is not None and left <= 0):
                return False
            self._poller.poll(is_over, left)
        if until_error:
            self.held.check()
        return True

    def told(self) -> OpError:
        """What to raise."""
        assert self.error is not None
        return self.deadline.of_others(self.late) if self.deadline and self.error in self.late else self.error

    @property
    def open(self) -> list[str]:
        return sorted(self._open)


class Master:
    """Runs the steps of a session on a cluster. `home`: this process's task; `closing` is called at the end."""

    def __init__(
        self, config: ConfigProto, home: Task, membership: Membership, tasks: Sequence[str],
        default: str, closing: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        self.config = config
        self.home = home
        self.membership = membership
        self.recording: Recording | None = None  # takes the times of all steps, while there is one
        self.prefix = secrets.randbits(22)
        self._closing = closing
        self._next = 0
        self._lock = threading.Lock()
        self._ended = threading.Condition(self._lock)
        self._closed = False
        self._registered: weakref.WeakKeyDictionary[CompiledStep, _RegisteredAtTasks] = weakref.WeakKeyDictionary()
        self._unused: deque[_RegisteredAtTasks] = deque()  # of steps that the session keeps no longer
        self._others = [t for t in tasks if t != home.name]
        self._running: dict[int, _Gathering] = {}
        self._connecting = threading.Lock()
        self._epochs: dict[str, int] = {}  # of the tasks; a lost one's goes when a step has failed for it
        home.admit(self.prefix, home.name, home.channel.peer)
        membership.on_lost(self._on_lost)
        try:
            within(lambda: self._connect(self._others), lambda: membership.describe_wait(), may_last=True)
            limits = {d: m for t in sorted(tasks, key=lambda t: t != default) for d, m in self._limits_of(t)}
        except BaseException:
            home.dismiss(self.prefix, CancelledError("the session was not made"))
            raise
        policy = config.graph_options.placement or home.settings.placement
        placing = Placing(limits, config.allow_soft_placement, policy, list(home.devices))
        self.context = Context(
            home.devices, home.resources, home.settings, placing,
            home.settings.optimize and config.graph_options.optimize, config.graph_options.enable_bfloat16_sendrecv,
            config.graph_options.enable_recv_scheduling,
        )  # fmt: skip

    # ---- the cluster -----------------------------------------------------------------------

    def _connect(self, tasks: Sequence[str]) -> None:
        """Finds those of the tasks that are not known, and lets all know each other."""
        with self._connecting:
            missing = [t for t in tasks if t not in self._epochs]
            if not missing:
                return
            there = self.membership.epochs(missing)
            deadline = current_deadline()
            patience = _FIND if deadline is None else min(_FIND, deadline.left())
            self.membership.wait_for([t for t in missing if t not in there], self.prefix, patience)
            peers = {name: e.peer for name, e in dict(self.membership.members).items()}
            self.home.meet(peers)
            for name in peers:
                self.membership.call(name, "meet", peers={n: list(p) for n, p in peers.items()})
            with self._lock:
                self._epochs.update(self.membership.epochs(missing))

    def _lost(self, epochs: Mapping[str, int]) -> list[str]:
        """Those of these tasks that are gone, or others by now. Who asks tells of it, so the next step finds them."""
        there = self.membership.epochs(epochs)
        gone = sorted(t for t, link in epochs.items() if there.get(t) != link)
        with self._lock:
            for task in gone:
                if self._epochs.get(task) == epochs[task]:
                    del self._epochs[task]
        return gone

    def _on_lost(self, member: Member) -> None:
        """Often on Dask's event loop: the steps that the task has part in fail. Where there is none, the next will."""
        with self._lock:
            hit = [g for g in self._running.values() if member.name in g.tasks]
        self.home.lose(member.peer)
        for gathering in hit:
            gathering.lose(member.name)

    def _limits_of(self, task: str) -> list[tuple[str, int]]:
        """The devices of a task, and their memory in bytes."""
        if task == self.home.name:
            return [(d.name, d.memory_stats().limit) for d in self.home.devices.values()]
        member = self.membership.members.get(task)
        if member is None:
            raise UnavailableError(f"the task {task} was lost while the session was made")
        return [(d, m) for d, _, m in member.devices]

    def describe_devices(self) -> list[DeviceDescription]:
        """The devices of all tasks."""
        found = [
            DeviceDescription(d, kind.upper(), limit, {"task": e.name, "address": e.address})
            for e in dict(self.membership.members).values()
            for d, kind, limit in e.devices
        ]
        own = [
            DeviceDescription(d.name, d.facts.kind.upper(), d.memory_stats().limit, d.describe())
            for d in self.home.devices.values()
        ]
        return [*own, *found]

    def cluster_status(self) -> HealthMonitor:
        """A monitor of the tasks: `poll()` returns how they are. Close it; `tf.show_cluster` displays it."""

        def locations() -> dict[str, str | None] | None:
            members = dict(self.membership.members)
            return None if self._closed else {t: members[t].address if t in members else None for t in self._others}

        return HealthMonitor(locations, self.home, self.membership.security, self.membership.answer_timeout)

    # ---- steps -----------------------------------------------------------------------------

    def execute(
        self, step: CompiledStep, feeds: Sequence[np.ndarray], options: RunOptions | None, metadata: RunMetadata | None
    ) -> list[np.ndarray]:
        """Runs a step on all tasks that have parts of it; the values of its fetches.

        Raises the first error of any of them; `UnavailableError` for a task that is lost meanwhile. What a failed
        step leaves to look at is this process's part of it.
        """
        trace = traced(options, metadata, self.recording)
        deadline = current_deadline()
        self._refuse_if_closed()
        try:
            registered = self._known(step)
            if registered is None:
                sought = self.membership.describe_wait
                registered = within(lambda: self._register(step), sought, may_last=True)
        except OpError as e:
            self._refuse_if_closed(e)
            raise
        with HeldInterrupts() as held:
            return self._execute(step, registered, feeds, deadline, trace, held)

    def _execute(
        self, step: CompiledStep, registered: _RegisteredAtTasks, feeds: Sequence[np.ndarray],
        deadline: Deadline | None, trace: Trace | None, held: HeldInterrupts,
    ) -> list[np.ndarray]:  # fmt: skip
        with self._lock:
            self._refuse_if_closed()
            self._next += 1
            number = step_number(self.prefix, self._next)
            run = self.home.begin(number)
            gathering = _Gathering(registered.tasks, lambda e: self.home.stop(number, e), run.poller, deadline)
            gathering.held = held
            if run.poller is not None:
                held.wake = run.poller.wake
            self._running[number] = gathering
        try:
            recorder = None if trace is None else trace.recorder
            return self._run(run, registered, gathering, feeds, deadline, len(step.graph.fetches), recorder)
        finally:
            if trace is not None:
                trace.keep(step.graph, self.context.placing.costs)
            held.wake = None
            self.home.end(number)
            with self._ended:
                del self._running[number]
                if self._closed:  # and who closes waits for it
                    self._ended.notify_all()

    def _refuse_if_closed(self, why: OpError | None = None) -> None:
        """`close` may come at any moment from another thread."""
        if self._closed:
            raise ClosedSessionError("the session is closed") from why

    def _run(
        self, run: RunningStep, registered: _RegisteredAtTasks, gathering: _Gathering, feeds: Sequence[np.ndarray],
        deadline: Deadline | None, count: int, recorder: StepStats | None,
    ) -> list[np.ndarray]:  # fmt: skip
        home, found, number = registered.home, [_NOTHING] * count, run.step
        timeout = None if deadline is None else deadline.left()
        end = gathering.end
        try:
            rendezvous, tell = run.rendezvous, partial(self._replied, gathering)
            lost = self._lost(registered.epochs) if self.membership.version != registered.seen else ()
            if lost:
                raise UnavailableError(f"the tasks {lost} were lost before the step began")
            asked = {}
            for assignment in registered.assignments:
                asked[assignment.task] = time.perf_counter()
                self.home.call(run, assignment, registered.handle, feeds, timeout, tell, recorder is not None)
            if home is not None:
                made = self.home.run(number, registered.handle, feeds, timeout, recorder)
                for k, v in zip(home.fetches, made, strict=True):
                    found[k] = v
                rendezvous.send_remaining(self.home.name)
            if not gathering.wait(end if end is None else end + _GRACE, until_error=True):
                assert deadline is not None
                raise deadline.exceeded(f"{gathering.open} did not answer")
            if gathering.error is not None:
                raise gathering.error
            for assignment in registered.assignments:
                for k in assignment.fetches:
                    found[k] = rendezvous.recv(f"{FETCH}{k}", 0.0).value
            if recorder is not None:
                told = [decode_times(rendezvous.recv(f"{TIMES}{s.task}", 0.0).value) for s in registered.assignments]
                bounds = [self._ahead(n, asked[n.task], gathering.heard[n.task]) for n in told]
                merge(recorder, self.home.name, told, bounds)
            return found
        except BaseException as e:
            if isinstance(e, OpError):
                gathering.fail(e)
            if gathering.late:
                gathering.wait(time.monotonic() + _LATE, until_error=False)
            self._stop(number, gathering, e)
            if gathering.error is None or not isinstance(e, OpError):
                raise
            why = gathering.told()
            if isinstance(why, UnavailableError):
                self._lost(registered.epochs)  # told now, by this thread: the next step may begin at once
            raise why from None

    def _ahead(self, noted: Noted, asked: float, heard: float) -> tuple[float, float]:
        """Bounds of how far a task's clock is ahead; the step that it has noted is one more measurement of that."""
        member = self.membership.members.get(noted.task)
        clock = Clock() if member is None else member.clock
        clock.measure(asked, noted.begin, noted.begin + noted.wall_us / 1e6, heard)
        return clock.bounds

    def _replied(self, gathering: _Gathering, reply: Reply) -> None:
        if reply.is_lost:
            self.membership.mark_lost(reply.task)
        gathering.reply(reply)

    def _stop(self, number: int, gathering: _Gathering, error: BaseException) -> None:
        """Tells the tasks that still run, and waits a while for them."""
        reason = CancelledError(f"the step was stopped: {error}")
        self.home.stop(number, reason)
        for task in gathering.open:
            self.home.tell_to_stop(task, number, reason)
        gathering.wait(time.monotonic() + _GRACE, until_error=False)

    # ---- registering -----------------------------------------------------------------------

    def _known(self, step: CompiledStep) -> _RegisteredAtTasks | None:
        """The step where it is registered and no task has come or gone since."""
        with self._lock:
            known = self._registered.get(step)
        return known if known is not None and known.seen == self.membership.version else None

    def _register(self, step: CompiledStep) -> _RegisteredAtTasks:
        version = self.membership.version  # before looking
        with self._lock:
            known = self._registered.get(step)
        needed = {task_of(p.device) for p in step.elsewhere}
        with self._lock:
            known_links = {t: self._epochs[t] for t in needed if t in self._epochs}
        lost = self._lost(known_links)
        if lost:
            raise AbortedError(f"the tasks {lost} were lost since the last step, and their state with them")
        self._connect(sorted(needed))
        now = self.membership.epochs(needed)
        if needed - now.keys():
            raise AbortedError(f"the tasks {sorted(needed - now.keys())} are lost")
        if known is not None and known.epochs == now:
            known.seen = version
            return known
        if known is not None:
            self._forget(known)
        while self._unused:
            self._forget(self._unused.popleft())
        handle = f"{self.prefix} {secrets.token_hex(6)}"
        home = None
        if step.parts:
            home = _assignment_of(self.home.name, step.parts, len(step.graph.feeds))
            local = [p._replace(fetches=tuple(f)) for p, f in _local(step.parts)]
            self.home.register(handle, local, home)
        try:
            assignments = [self._send(task, handle, step) for task in sorted(needed)]
        except UnavailableError:
            self._lost(now)
            raise
        found = _RegisteredAtTasks(handle, home, tuple(assignments), now, tuple(s.task for s in assignments), version)
        with self._lock:
            self._registered[step] = found
        weakref.finalize(step, self._unused.append, found).atexit = False
        return found

    def _forget(self, known: _RegisteredAtTasks) -> None:
        """Parts whose step has lost another part are of no use any more."""
        if known.home is not None:
            self.home.deregister(known.handle)
        for assignment in known.assignments:
            with contextlib.suppress(OpError):
                self.membership.call(assignment.task, "forget", prefix=known.handle)

    def _send(self, task: str, handle: str, step: CompiledStep) -> Assignment:
        parts = [p for p in step.elsewhere if task_of(p.device) == task]
        assert step.grouping is not None
        encoded = [encode_partition(replace(p, fetches=tuple(f)), step.grouping) for p, f in _local(parts)]
        assignment = _assignment_of(task, parts, len(step.graph.feeds))
        sent = [list(e) for e in encoded]
        self.membership.call(task, "register", handle=handle, parts=sent, share=list(assignment))
        return assignment

    # ---- the rest of what a session asks its worker for --------------------------------------

    def reset(self, containers: Sequence[str] | None) -> None:
        """Drops the state in these containers (None: in all) of every task."""
        self.home.reset(containers)
        for task in self._others:
            self.membership.call(task, "reset", containers=containers)

    def close(self) -> None:
        """Stops running steps and leaves the cluster; the tasks' variables stay."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            running = list(self._running.values())
        with HeldInterrupts():
            for gathering in running:
                gathering.fail(CancelledError("the session was closed while the step ran"))
            with self._ended:
                self._ended.wait_for(lambda: not self._running)
            try:
                self.membership.close()
            finally:
                self.home.dismiss(self.prefix, CancelledError("the session was closed"))
                if self._closing is not None:
                    self._closing()


def _local(parts: Sequence[Any]) -> list[tuple[Any, list[int]]]:
    """Parts of one task, with their fetches numbered within the task's own."""
    order = sorted(k for p in parts for k in _fetches(p))
    place = {k: i for i, k in enumerate(order)}
    return [(p, [place[k] for k in _fetches(p)]) for p in parts]


def _fetches(part: Any) -> tuple[int, ...]:
    return tuple(part.fetches if part.fetches is not None else range(len(part.plan.fetches)))


def _assignment_of(task: str, parts: Sequence[Any], n_feeds: int) -> Assignment:
    feeds = {k for p in parts for k in (range(n_feeds) if p.feeds is None else p.feeds)}
    return Assignment(task, tuple(sorted(feeds)), tuple(sorted(k for p in parts for k in _fetches(p))), n_feeds)

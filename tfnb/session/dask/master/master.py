"""`Master`: runs the steps of a session on many tasks (white paper, section 3.3; OSDI'16, section 3.3).

A step is compiled and partitioned here, and each task's parts are registered at the task once. A run of the step is one
message to each task. The task of the master's own process, `local_task`, runs its parts in place and receives the
fetches. The first error stops the step everywhere. Invariant: when `execute` returns or raises, every task that lives
has ended the step or has received the message to stop it.
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

import numpy as np

from tfnb.errors import (
    AbortedError,
    CancelledError,
    ClosedSessionError,
    OpError,
    UnavailableError,
)
from tfnb.placement.partition import Partition
from tfnb.runtime.deadline import Deadline, within
from tfnb.runtime.deadline import current as current_deadline
from tfnb.runtime.executor import PlanPart
from tfnb.runtime.stats import StepStats
from tfnb.session.compile import CompiledStep, Context
from tfnb.session.config import ConfigProto, RunMetadata, RunOptions
from tfnb.session.dask.master.step_replies import StepReplies
from tfnb.session.dask.membership.health_monitor import HealthMonitor
from tfnb.session.dask.membership.membership import Member, Membership
from tfnb.session.dask.observability.clocks import Clock
from tfnb.session.dask.observability.tracing import TaskTimes, decode_times, merge
from tfnb.session.dask.task.assignment import FETCH, TIMES, Assignment
from tfnb.session.dask.task.partition_codec import encode_partition
from tfnb.session.dask.task.step_table import step_number
from tfnb.session.dask.task.task import Task
from tfnb.session.dask.task.task_rendezvous import Reply, RunningStep
from tfnb.session.dask.task_names import task_of
from tfnb.session.local import DeviceDescription
from tfnb.session.placing import Placing
from tfnb.session.recording import Recording, Trace, traced
from tfnb.system.interrupts import HeldInterrupts, holding_interrupts

__all__ = ["Master", "RegisteredParts"]

_LATE_REPLIES = 1.0  # seconds after a step's deadline in which tasks can say what waits there
_STOP_TIMEOUT = 5.0  # seconds for which a task that must stop a step may take to confirm it
_UNSET = np.zeros(())
_CONNECT_TIMEOUT = 60.0  # seconds for all tasks to come up


@dataclass
class RegisteredParts:
    """The parts of one step, which its tasks store under `handle`.

    `local` is the assignment of the master's own task, or None; `assignments` are those of the other tasks. `epochs`
    has for each task the epoch in which it got its parts. `checked` is the version of the membership at the last check
    of these epochs.
    """

    handle: str
    local: Assignment | None
    assignments: tuple[Assignment, ...]
    epochs: dict[str, int]
    tasks: tuple[str, ...]
    checked: int


class Master:
    """The worker of a session on a cluster. The owner must close it.

    `local_task` is the task of this process. `tasks` are the names of all tasks. `default` is the task for operations
    without a requested device. `closing` is called at the end. Raises `UnavailableError` when tasks cannot be reached.
    """

    def __init__(
        self,
        config: ConfigProto,
        local_task: Task,
        membership: Membership,
        tasks: Sequence[str],
        default: str,
        closing: Callable[[], None] | None = None,
    ) -> None:
        self.config = config
        self.local_task = local_task
        self.membership = membership
        self.recording: Recording | None = None  # collects the times of all steps while it is set
        self.number = secrets.randbits(22)  # the high bits of the numbers of its steps
        self._closing = closing
        self._last_step = 0
        self._lock = threading.Lock()
        self._step_ended = threading.Condition(self._lock)
        self._closed = False
        self._registered: weakref.WeakKeyDictionary[CompiledStep, RegisteredParts] = weakref.WeakKeyDictionary()
        self._unused: deque[RegisteredParts] = deque()  # of steps that the session has dropped
        self._others = [t for t in tasks if t != local_task.name]
        self._running: dict[int, StepReplies] = {}
        self._connecting = threading.Lock()
        self._epochs: dict[
            str, int
        ] = {}  # by task; the epoch of a lost task is removed when a step has failed because of it
        local_task.admit(self.number, local_task.name, local_task.channel.peer)
        membership.on_lost(self._on_lost)
        try:
            within(lambda: self._connect(self._others), membership.describe_wait, may_last=True)
            limits = {d: m for t in sorted(tasks, key=lambda t: t != default) for d, m in self._limits_of(t)}
        except BaseException:
            local_task.dismiss(self.number, CancelledError("the session was not made"))
            raise
        policy = config.graph_options.placement or local_task.settings.placement
        placing = Placing(limits, config.allow_soft_placement, policy, list(local_task.devices))
        self.context = Context(
            local_task.devices,
            local_task.resources,
            local_task.settings,
            placing,
            local_task.settings.optimize and config.graph_options.optimize,
            config.graph_options.enable_bfloat16_sendrecv,
            config.graph_options.enable_recv_scheduling,
        )

    # ---- the cluster -----------------------------------------------------------------------

    def _connect(self, tasks: Sequence[str]) -> None:
        """Connects to the tasks that are not members yet, and sends the addresses of all members to each member."""
        with self._connecting:
            missing = [t for t in tasks if t not in self._epochs]
            if not missing:
                return
            reached = self.membership.epochs(missing)
            deadline = current_deadline()
            timeout = _CONNECT_TIMEOUT if deadline is None else min(_CONNECT_TIMEOUT, deadline.left())
            self.membership.wait_for([t for t in missing if t not in reached], self.number, timeout)
            peers = {name: m.peer for name, m in dict(self.membership.members).items()}
            self.local_task.meet(peers)
            for name in peers:
                self.membership.call(name, "meet", peers={n: list(p) for n, p in peers.items()})
            with self._lock:
                self._epochs.update(self.membership.epochs(missing))

    def _take_lost(self, epochs: Mapping[str, int]) -> list[str]:
        """The tasks among `epochs` that were lost since these epochs. The next step will search for them again.

        The caller must report the loss.
        """
        current = self.membership.epochs(epochs)
        lost = sorted(t for t, epoch in epochs.items() if current.get(t) != epoch)
        with self._lock:
            for task in lost:
                # `_connect` may have stored the task's next epoch already, which must stay.
                if self._epochs.get(task) == epochs[task]:
                    del self._epochs[task]
        return lost

    def _on_lost(self, member: Member) -> None:
        """Fails the running steps that have a part at a lost task. Often called on Dask's event loop."""
        with self._lock:
            affected = [r for r in self._running.values() if member.name in r.tasks]
        self.local_task.lose(member.peer)
        for replies in affected:
            replies.lose(member.name)

    def _limits_of(self, task: str) -> list[tuple[str, int]]:
        """The devices of a task, and the memory limit in bytes of each."""
        if task == self.local_task.name:
            return [(d.name, d.memory_stats().limit) for d in self.local_task.devices.values()]
        member = self.membership.members.get(task)
        if member is None:
            raise UnavailableError(f"the task {task} was lost while the session was made")
        return [(d, m) for d, _, m in member.devices]

    def describe_devices(self) -> list[DeviceDescription]:
        """The descriptions of the devices of all tasks. The devices of this process come first."""
        local = [
            DeviceDescription(d.name, d.facts.kind.upper(), d.memory_stats().limit, d.describe())
            for d in self.local_task.devices.values()
        ]
        others = [
            DeviceDescription(d, kind.upper(), limit, {"task": m.name, "address": m.address})
            for m in dict(self.membership.members).values()
            for d, kind, limit in m.devices
        ]
        return [*local, *others]

    def cluster_status(self) -> HealthMonitor:
        """A monitor of the tasks, which the caller must close.

        `poll()` returns their state; `tf.show_cluster` displays it.
        """

        def locations() -> dict[str, str | None] | None:
            members = dict(self.membership.members)
            return None if self._closed else {t: members[t].address if t in members else None for t in self._others}

        return HealthMonitor(locations, self.local_task, self.membership.security, self.membership.answer_timeout)

    # ---- steps -----------------------------------------------------------------------------

    def execute(
        self, step: CompiledStep, feeds: Sequence[np.ndarray], options: RunOptions | None, metadata: RunMetadata | None
    ) -> list[np.ndarray]:
        """Runs a step on all tasks that have parts of it; returns the values of its fetches.

        Raises the first error of any task; `UnavailableError` for a task that is lost during the step; `AbortedError`
        for a task that was lost after the last step. After a failed step, `metadata` has the graph and the times of
        this process only.
        """
        trace = traced(options, metadata, self.recording)
        deadline = current_deadline()
        self._refuse_if_closed()
        try:
            registered = self._find_registered(step)
            if registered is None:
                registered = within(lambda: self._register(step), self.membership.describe_wait, may_last=True)
        except OpError as e:
            self._refuse_if_closed(e)
            raise
        with HeldInterrupts() as interrupts:
            return self._execute(step, registered, feeds, deadline, trace, interrupts)

    def _execute(
        self,
        step: CompiledStep,
        registered: RegisteredParts,
        feeds: Sequence[np.ndarray],
        deadline: Deadline | None,
        trace: Trace | None,
        interrupts: HeldInterrupts,
    ) -> list[np.ndarray]:
        with self._lock:
            self._refuse_if_closed()  # again, under the lock: `close` waits for the steps that it finds in `_running`
            self._last_step += 1
            number = step_number(self.number, self._last_step)
            run = self.local_task.begin(number)
            replies = StepReplies(registered.tasks, lambda e: self.local_task.stop(number, e), run.poller, deadline)
            if run.poller is not None:
                interrupts.wake = run.poller.wake
            self._running[number] = replies
        try:
            recorder = None if trace is None else trace.recorder
            return self._run(run, registered, replies, feeds, deadline, len(step.graph.fetches), recorder)
        finally:
            if trace is not None:
                trace.keep(step.graph, self.context.placing.costs)
            interrupts.wake = None
            self.local_task.end(number)
            with self._step_ended:
                del self._running[number]
                if self._closed:
                    self._step_ended.notify_all()

    def _refuse_if_closed(self, cause: OpError | None = None) -> None:
        """Raises `ClosedSessionError` if another thread has called `close`.

        `cause` is an error that this may explain.
        """
        if self._closed:
            raise ClosedSessionError("the session is closed") from cause

    def _run(
        self,
        run: RunningStep,
        registered: RegisteredParts,
        replies: StepReplies,
        feeds: Sequence[np.ndarray],
        deadline: Deadline | None,
        n_fetches: int,
        recorder: StepStats | None,
    ) -> list[np.ndarray]:
        """Calls the tasks, runs the local parts, waits for the replies and collects the fetches.

        If any of this fails, all tasks are stopped before the error is raised.
        """
        try:
            return self._call_tasks(run, registered, replies, feeds, deadline, n_fetches, recorder)
        except BaseException as e:
            if isinstance(e, OpError):
                replies.fail(e)
            if replies.late_errors:
                replies.wait(time.monotonic() + _LATE_REPLIES, until_error=False)
            self._stop(run.step, replies, e)
            if replies.error is None or not isinstance(e, OpError):
                raise
            error = replies.final_error()
            if isinstance(error, UnavailableError):
                # This error reports the loss, so the next step may search for the task.
                self._take_lost(registered.epochs)
            raise error from None

    def _call_tasks(
        self,
        run: RunningStep,
        registered: RegisteredParts,
        replies: StepReplies,
        feeds: Sequence[np.ndarray],
        deadline: Deadline | None,
        n_fetches: int,
        recorder: StepStats | None,
    ) -> list[np.ndarray]:
        timeout = None if deadline is None else deadline.left()
        fetches, rendezvous = [_UNSET] * n_fetches, run.rendezvous
        lost = self._take_lost(registered.epochs) if self.membership.version != registered.checked else ()
        if lost:
            raise UnavailableError(f"the tasks {lost} were lost before the step began")
        reply, call_times = partial(self._on_reply, replies), {}
        for assignment in registered.assignments:
            call_times[assignment.task] = time.perf_counter()
            self.local_task.call(run, assignment, registered.handle, feeds, timeout, reply, recorder is not None)
        if registered.local is not None:
            values = self.local_task.run(run.step, registered.handle, feeds, timeout, recorder)
            for k, v in zip(registered.local.fetches, values, strict=True):
                fetches[k] = v
            rendezvous.send_remaining(self.local_task.name)
        end = None if replies.end is None else replies.end + _STOP_TIMEOUT
        if not replies.wait(end, until_error=True):
            assert deadline is not None
            raise deadline.exceeded(f"{replies.missing} did not answer")
        if replies.error is not None:
            raise replies.error
        for assignment in registered.assignments:
            for k in assignment.fetches:  # they have come before the replies
                fetches[k] = rendezvous.recv(f"{FETCH}{k}", 0.0).value
        if recorder is not None:
            times = [decode_times(rendezvous.recv(f"{TIMES}{a.task}", 0.0).value) for a in registered.assignments]
            bounds = [self._clock_bounds(t, call_times[t.task], replies.times[t.task]) for t in times]
            merge(recorder, self.local_task.name, times, bounds)
        return fetches

    def _clock_bounds(self, times: TaskTimes, asked: float, answered: float) -> tuple[float, float]:
        """Bounds, in seconds, of how far a task's clock is ahead. The times of the step are one more measurement."""
        member = self.membership.members.get(times.task)
        clock = Clock() if member is None else member.clock
        clock.measure(asked, times.begin, times.begin + times.wall_us / 1e6, answered)
        return clock.bounds

    def _on_reply(self, replies: StepReplies, reply: Reply) -> None:
        if reply.is_lost:
            self.membership.mark_lost(reply.task)
        replies.add(reply)

    def _stop(self, number: int, replies: StepReplies, error: BaseException) -> None:
        """Tells the tasks that have not replied to stop, and waits some seconds for their replies."""
        reason = CancelledError(f"the step was stopped: {error}")
        self.local_task.stop(number, reason)
        for task in replies.missing:
            self.local_task.tell_to_stop(task, number, reason)
        replies.wait(time.monotonic() + _STOP_TIMEOUT, until_error=False)

    # ---- registering -----------------------------------------------------------------------

    def _find_registered(self, step: CompiledStep) -> RegisteredParts | None:
        """The registered parts of the step.

        None if there are none, or if the membership has changed since the check.
        """
        with self._lock:
            registered = self._registered.get(step)
        return registered if registered is not None and registered.checked == self.membership.version else None

    def _register(self, step: CompiledStep) -> RegisteredParts:
        """Registers the parts of a step at its tasks, unless all these tasks have them already."""
        version = self.membership.version  # read first: a task that is lost from here on must be noticed
        with self._lock:
            registered = self._registered.get(step)
        needed = {task_of(p.device) for p in step.elsewhere}
        with self._lock:
            known_epochs = {t: self._epochs[t] for t in needed if t in self._epochs}
        lost = self._take_lost(known_epochs)
        if lost:
            raise AbortedError(f"the tasks {lost} were lost since the last step, and their state with them")
        self._connect(sorted(needed))
        epochs = self.membership.epochs(needed)
        if needed - epochs.keys():
            raise AbortedError(f"the tasks {sorted(needed - epochs.keys())} are lost")
        if registered is not None and registered.epochs == epochs:
            registered.checked = version
            return registered
        if registered is not None:
            self._forget(registered)
        while self._unused:
            self._forget(self._unused.popleft())
        handle = f"{self.number} {secrets.token_hex(6)}"
        local = None
        if step.parts:
            local = _assignment_of(self.local_task.name, step.parts, len(step.graph.feeds))
            numbers = _local_fetches(step.parts)
            parts = [p._replace(fetches=f) for p, f in zip(step.parts, numbers, strict=True)]
            self.local_task.register(handle, parts, local)
        try:
            assignments = tuple(self._send_parts(task, handle, step) for task in sorted(needed))
        except UnavailableError:
            self._take_lost(epochs)
            raise
        registered = RegisteredParts(handle, local, assignments, epochs, tuple(a.task for a in assignments), version)
        with self._lock:
            self._registered[step] = registered
        # The tasks drop the parts at the next registration: a finalizer may run in any thread and must not wait.
        weakref.finalize(step, self._unused.append, registered).atexit = False
        return registered

    def _forget(self, registered: RegisteredParts) -> None:
        """Makes the tasks drop the registered parts of a step."""
        if registered.local is not None:
            self.local_task.deregister(registered.handle)
        for assignment in registered.assignments:
            with contextlib.suppress(OpError):
                self.membership.call(assignment.task, "forget", prefix=registered.handle)

    def _send_parts(self, task: str, handle: str, step: CompiledStep) -> Assignment:
        """Sends the parts of a step that belong to one task, and registers them there under `handle`."""
        parts = [p for p in step.elsewhere if task_of(p.device) == task]
        grouping = step.grouping
        assert grouping is not None
        numbers = _local_fetches(parts)
        encoded = [encode_partition(replace(p, fetches=f), grouping) for p, f in zip(parts, numbers, strict=True)]
        assignment = _assignment_of(task, parts, len(step.graph.feeds))
        fields = [list(e) for e in encoded]
        self.membership.call(task, "register", handle=handle, parts=fields, share=list(assignment))
        return assignment

    # ---- other requests of the session -----------------------------------------------------

    def reset(self, containers: Sequence[str] | None) -> None:
        """Drops the state in these containers (None: in all) of every task."""
        self.local_task.reset(containers)
        for task in self._others:
            self.membership.call(task, "reset", containers=containers)

    def close(self) -> None:
        """Stops running steps and leaves the cluster; the tasks' variables stay."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            running = list(self._running.values())
        with holding_interrupts():
            for replies in running:
                replies.fail(CancelledError("the session was closed while the step ran"))
            own = threading.get_ident()  # its steps end later: a function of theirs, or a signal handler, closes
            with self._step_ended:
                self._step_ended.wait_for(lambda: all(replies.thread == own for replies in self._running.values()))
            try:
                self.membership.close()
            finally:
                self.local_task.dismiss(self.number, CancelledError("the session was closed"))
                if self._closing is not None:
                    self._closing()


Part = PlanPart | Partition


def _fetches_of(part: Part) -> tuple[int, ...]:
    """The numbers of a part's fetches among the fetches of the step. A plan without numbers computes all fetches."""
    if part.fetches is not None:
        return tuple(part.fetches)
    assert isinstance(part, PlanPart)
    return tuple(range(len(part.plan.fetches)))


def _local_fetches(parts: Sequence[Part]) -> list[tuple[int, ...]]:
    """For each part of one task the numbers of its fetches among the fetches of this task only."""
    order = sorted(k for p in parts for k in _fetches_of(p))
    position = {k: i for i, k in enumerate(order)}
    return [tuple(position[k] for k in _fetches_of(p)) for p in parts]


def _assignment_of(task: str, parts: Sequence[Part], n_feeds: int) -> Assignment:
    feeds = {k for p in parts for k in (range(n_feeds) if p.feeds is None else p.feeds)}
    fetches = sorted(k for p in parts for k in _fetches_of(p))
    return Assignment(task, tuple(sorted(feeds)), tuple(fetches), n_feeds)

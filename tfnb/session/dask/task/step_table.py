"""The running and ended steps of a task, and the masters to which they belong (OSDI'16, section 3.3).

A step's number consists of its master's random number and, in the low 40 bits, a counter. Invariant: a step that has
ended, here or elsewhere, is never created again: what arrives late for it is dropped.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from tfnb.errors import AbortedError, ClosedSessionError, OpError
from tfnb.session.dask.task.task_rendezvous import RunningStep
from tfnb.session.dask.transport.channel import Peer

__all__ = ["MasterRecord", "StepTable", "step_number"]

_COUNTER_BITS = 40
_MOST_ENDED = 4096  # ended steps that are remembered one by one


def step_number(master: int, count: int) -> int:
    """The number of the `count`-th step of the master with the number `master`."""
    return master << _COUNTER_BITS | count


class MasterRecord(NamedTuple):
    """A master that watches this task: the name of its own task, and the address of that task.

    All its steps with numbers up to `done_up_to` have ended, except those that are running now.
    """

    name: str
    peer: Peer
    done_up_to: int = 0


class StepTable:
    """The steps of the task named `task`. All methods may be called from any thread.

    `make` creates the record of a step from its number.
    """

    def __init__(self, task: str, make: Callable[[int], RunningStep]) -> None:
        self._task, self._make = task, make
        self._lock = threading.Lock()
        self._running: dict[int, RunningStep] = {}
        self._masters: dict[int, MasterRecord] = {}
        self._ended: OrderedDict[int, bool] = OrderedDict()  # by step: whether its master had called it here
        self._closed = False
        self.completed = 0  # steps that ended here

    # ---- masters ---------------------------------------------------------------------------

    def admit(self, master: int, name: str, peer: Peer) -> None:
        """Accepts messages for the steps of a master from now on. `name` and `peer` belong to its own task."""
        with self._lock:
            self._masters[master] = MasterRecord(name, peer)

    def dismiss(self, master: int, error: OpError) -> None:
        """Removes a master that is gone, and stops its steps with `error`."""
        with self._lock:
            self._masters.pop(master, None)
            steps = [s for s in self._running if s >> _COUNTER_BITS == master]
        for step in steps:
            self.stop(step, error)

    def master(self, number: int) -> MasterRecord | None:
        """The master with this number, or None."""
        return self._masters.get(number)

    def master_of(self, step: int) -> MasterRecord | None:
        """The master of a step, or None if it is not known or gone."""
        return self._masters.get(step >> _COUNTER_BITS)

    def masters(self) -> list[MasterRecord]:
        """All masters that watch this task."""
        with self._lock:
            return list(self._masters.values())

    # ---- steps -----------------------------------------------------------------------------

    def running(self) -> list[RunningStep]:
        """All steps that have not ended."""
        with self._lock:
            return list(self._running.values())

    def find(self, step: int) -> RunningStep | None:
        """The running step with this number, or None. Takes no lock."""
        return self._running.get(step)

    def find_or_create(self, step: int) -> RunningStep | None:
        """The running step, which is created if it is new. None if it has ended or its master is not known.

        Raises `ClosedSessionError` when the task is closed.
        """
        run = self._running.get(step)  # the step usually exists, and reading a dict needs no lock
        if run is not None:
            return run
        with self._lock:
            return self._find_or_create(step)

    def _find_or_create(self, step: int) -> RunningStep | None:
        """As `find_or_create`, for callers that hold the lock."""
        if self._closed:
            raise ClosedSessionError(f"the task {self._task} is closed")
        if step in self._ended:
            return None
        run = self._running.get(step)
        if run is None:
            master = self._masters.get(step >> _COUNTER_BITS)
            if master is not None and step > master.done_up_to:
                run = self._running[step] = self._make(step)
        return run

    def get(self, step: int) -> RunningStep:
        """As `find_or_create`. Raises `AbortedError` for a step that has ended."""
        with self._lock:
            run = self._find_or_create(step)
        if run is None:
            raise AbortedError(f"step {step} has ended already")
        return run

    def claim(self, step: int) -> tuple[bool, RunningStep | None]:
        """Returns whether this is the first call of a step by its master, and the step, or None if it has ended.

        Calls may arrive twice. The first call is answered even if the step was stopped before it arrived, because
        the master waits for an answer.
        """
        with self._lock:
            run = self._find_or_create(step)
            if run is not None:
                was_called, run.was_called = run.was_called, True
            else:
                was_called = self._ended.get(step, True)
                if not was_called:
                    self._ended[step] = True
        return not was_called, run

    def complete_at_once(self, step: int) -> MasterRecord | None:
        """Marks a new step as ended, without creating it, and returns its master.

        Returns None if the step is running or has ended, or if its master is not known. This counts a step that needs
        no rendezvous, and makes sure that it is answered only once.
        """
        with self._lock:
            master = self._masters.get(step >> _COUNTER_BITS)
            if master is None or step <= master.done_up_to or self._closed:
                return None
            if step in self._ended or step in self._running:
                return None
            self.completed += 1
            self._mark_ended(step, True)
        return master

    def stop(self, step: int, error: OpError) -> None:
        """Stops a step with `error`. If it has not begun, all messages for it that arrive later are dropped."""
        with self._lock:
            run = self._running.get(step)
            # The thread that runs a step removes it at its end. A step that nobody called has no such thread.
            if run is not None and not run.was_called:
                del self._running[step]
            self._mark_ended(step, run is not None and run.was_called)
        if run is not None:
            run.stop(error)

    def end(self, step: int) -> RunningStep | None:
        """Removes a step that has run to its end, with or without an error, and returns it."""
        with self._lock:
            run = self._running.pop(step, None)
            self.completed += run is not None
            self._mark_ended(step, run is not None and run.was_called)
        return run

    def _mark_ended(self, step: int, was_called: bool) -> None:
        """Notes that a step has ended. The caller holds the lock.

        Only the latest steps are stored one by one. For the older steps of a master only the highest number is stored:
        all steps up to this number that are not running have ended.
        """
        self._ended[step] = was_called or self._ended.get(step, False)
        while len(self._ended) > _MOST_ENDED:
            old, _ = self._ended.popitem(last=False)
            master = self._masters.get(old >> _COUNTER_BITS)
            if master is not None:
                up_to = max(master.done_up_to, old)
                self._masters[old >> _COUNTER_BITS] = master._replace(done_up_to=up_to)

    def close(self) -> list[RunningStep] | None:
        """Stops the creation of steps; returns the running ones, or None if the table was closed before."""
        with self._lock:
            if self._closed:
                return None
            self._closed = True
            return list(self._running.values())

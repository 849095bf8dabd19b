"""Which steps run at a task, which have ended, and the masters that they belong to (OSDI'16, section 3.3).

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
    """The number of a master's step: its `count`-th."""
    return master << _COUNTER_BITS | count


class MasterRecord(NamedTuple):
    """A master that watches this task: the name of its own task, and how that is reached.

    Of its steps up to number `done_up_to`, all have ended that are not running now.
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
        """Accepts messages for the steps of a master from now on. `name` and `peer` are those of its own task."""
        with self._lock:
            self._masters[master] = MasterRecord(name, peer)

    def dismiss(self, master: int, error: OpError) -> None:
        """Forgets a master that is gone, and stops its steps with `error`."""
        with self._lock:
            self._masters.pop(master, None)
            steps = [s for s in self._running if s >> _COUNTER_BITS == master]
        for step in steps:
            self.stop(step, error)

    def master(self, number: int) -> MasterRecord | None:
        """The master with this number, or None."""
        return self._masters.get(number)

    def master_of(self, step: int) -> MasterRecord | None:
        """The master of a step, or None where it is not known or gone."""
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
        """A step for which something has arrived already, without a lock; else None."""
        return self._running.get(step)

    def find_or_create(self, step: int) -> RunningStep | None:
        """The step, which is created by the first message for it; None when it has ended or its master is not known.

        Raises `ClosedSessionError` when the task is closed.
        """
        run = self._running.get(step)  # most often it is there, and reading a dict needs no lock
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
        """Whether this is the first call of a step by its master, and the step if it has not ended.

        Calls may arrive twice. The first call is answered even where the step was stopped before it arrived, because
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
        """Marks a step that nothing has arrived for as ended, and returns its master; None where that cannot be done.

        So a step that needs no rendezvous is counted, and is answered once only.
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
        """Stops a step with `error`. If nothing has arrived for it so far, whatever arrives later is dropped."""
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
        """Remembers, under the lock, that a step has ended.

        Only the latest steps are remembered one by one. Of the older ones of a master just the highest number stays:
        all steps up to it that are not running have ended.
        """
        self._ended[step] = was_called or self._ended.get(step, False)
        while len(self._ended) > _MOST_ENDED:
            old, _ = self._ended.popitem(last=False)
            master = self._masters.get(old >> _COUNTER_BITS)
            if master is not None:
                up_to = max(master.done_up_to, old)
                self._masters[old >> _COUNTER_BITS] = master._replace(done_up_to=up_to)

    def close(self) -> list[RunningStep] | None:
        """Creates no steps any more; returns those that run, or None where it was closed before."""
        with self._lock:
            if self._closed:
                return None
            self._closed = True
            return list(self._running.values())

"""The parts of steps that masters have registered at a task (OSDI'16, section 3.3).

A handle is a master's number, a space and a random text. Invariant: a handle never gets other parts later.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

from tfnb.errors import AbortedError
from tfnb.runtime.executor import Executor
from tfnb.session.dask.task.assignment import Assignment
from tfnb.session.dask.task.read_only_part import ReadOnlyPart

__all__ = ["RegisteredStep", "RegisteredSteps"]


class RegisteredStep(NamedTuple):
    """The parts of one step at this task. `read_only` runs them if they only read variables; it is None otherwise."""

    executor: Executor
    assignment: Assignment
    read_only: ReadOnlyPart | None


class RegisteredSteps:
    """Registered steps by handle, at the task named `task`. All methods may be called from any thread."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._lock = threading.Lock()
        self._steps: dict[str, RegisteredStep] = {}

    def add(self, handle: str, step: RegisteredStep) -> None:
        """Keeps a step under a handle of its master."""
        with self._lock:
            self._steps[handle] = step

    def find(self, handle: str) -> RegisteredStep | None:
        """The step with this handle, or None."""
        return self._steps.get(handle)

    def get(self, handle: str) -> RegisteredStep:
        """The step with this handle. Raises `AbortedError` when there is none."""
        step = self._steps.get(handle)
        if step is None:
            raise AbortedError(f"{self._task} knows no step {handle!r}: it was restarted, or lost its master")
        return step

    def remove(self, prefix: str) -> None:
        """Removes all steps whose handles begin with `prefix`: one step, or all steps of a master."""
        with self._lock:
            for handle in [h for h in self._steps if h.startswith(prefix)]:
                del self._steps[handle]

    def __len__(self) -> int:
        return len(self._steps)

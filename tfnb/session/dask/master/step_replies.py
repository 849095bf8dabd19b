"""`StepReplies`: the replies by which the tasks of a step report that their parts have ended (OSDI'16, section 3.3).

Invariant: the first error of a step is the one that is raised. Only after the step's deadline are the errors of all
tasks collected, because each of them says which nodes of that task were waiting.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from tfnb.errors import DeadlineExceededError, OpError, UnavailableError
from tfnb.runtime.deadline import Deadline
from tfnb.session.dask.task.task_rendezvous import Reply
from tfnb.session.dask.transport.poller import Poller
from tfnb.system.interrupts import LONGEST_WAIT, check_signals, noted, seconds_until_due

__all__ = ["StepReplies"]


class StepReplies:
    """The replies of `tasks` to the calls of one step.

    The thread that runs the step calls `wait`, which reads its connections through `poller`; other threads may call
    `fail` and `lose`. `failed` is called with the first error. `deadline` is the deadline of the step, or None.
    """

    def __init__(
        self, tasks: Sequence[str], failed: Callable[[OpError], None], poller: Poller | None, deadline: Deadline | None
    ) -> None:
        self.tasks, self.deadline = tasks, deadline
        self.end = None if deadline is None else deadline.end
        self._missing = set(tasks)
        self.times: dict[str, float] = {}  # by task: when its reply came, by `time.perf_counter`
        self._lock = threading.Lock()
        self._failed = failed
        self._poller = poller
        self.thread = threading.get_ident()  # which runs the step
        self.error: OpError | None = None
        self.late_errors: list[DeadlineExceededError] = []  # errors that came after the deadline

    def add(self, reply: Reply) -> None:
        """Takes the reply of a task."""
        self._missing.discard(reply.task)
        self.times[reply.task] = time.perf_counter()
        if reply.error is not None:
            self.fail(reply.error)

    def lose(self, task: str) -> None:
        """Fails the step because a task is lost, even one that has replied: its values for other tasks may be lost."""
        self.add(Reply(task, UnavailableError(f"the task {task} was lost during the step")))

    def fail(self, error: OpError) -> None:
        """Fails the step with this error, unless it has failed before."""
        is_late = self.end is not None and time.monotonic() >= self.end
        with self._lock:
            is_first = self.error is None
            self.error = self.error or error
            if is_late and isinstance(error, DeadlineExceededError) and error not in self.late_errors:
                self.late_errors.append(error)
            # After the deadline no task is stopped. Each task ends the step by itself and reports the nodes that wait.
            is_stopped = is_first and not self.late_errors
        if is_stopped:
            self._failed(error)
        if self._poller is not None:
            self._poller.wake()

    def wait(self, end: float | None, until_error: bool) -> bool:
        """Waits for all replies, or with `until_error` for the first error; returns False if `end` comes first.

        `end` is a time by `time.monotonic`; None means no limit. With `until_error`, handlers of signals are called
        meanwhile.
        """

        def is_over() -> bool:
            return not self._missing or (until_error and self.error is not None)

        while not is_over():
            if until_error and noted:
                check_signals()
            due = seconds_until_due() if until_error else None
            seconds_left = None if end is None else end - time.monotonic()
            if self._poller is None or (seconds_left is not None and seconds_left <= 0):
                return False
            is_new = until_error and due is None  # a signal that comes from here on
            limits = [seconds for seconds in (seconds_left, due) if seconds is not None]
            self._poller.poll(partial(_is_woken, is_over, is_new), min([LONGEST_WAIT, *limits]))
        return True

    def final_error(self) -> OpError:
        """The error to raise for a step that has failed. After the deadline it combines the errors of all tasks."""
        assert self.error is not None
        if self.deadline and self.error in self.late_errors:
            return self.deadline.of_others(self.late_errors)
        return self.error

    @property
    def missing(self) -> list[str]:
        """The tasks that have not replied."""
        return sorted(self._missing)


def _is_woken(is_over: Callable[[], bool], is_new: bool) -> bool:
    """Returns whether the poller need not wait: the step is over, or a signal came that must be looked at."""
    return is_over() or (is_new and seconds_until_due() is not None)

"""The deadline of a step (`RunOptions.timeout_in_ms`), which limits everything that the step waits for.

`Session.run` sets the deadline with `bounded`. Work that may take long before or within a step, such as the compilation
of a step or the search for a task, is done by `within`. Invariant: work that the deadline interrupts continues to its
end in a thread of its own, so the next step can use its result and no lock stays locked.

There is one deadline for all that a step waits for, counted from the call of `run`: compiling the step and its kernels,
the search for tasks, registration, queues, Python functions, values of other devices. The error says what the step was
waiting for.
"""

from __future__ import annotations

import contextvars
import re
import threading
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from tfnb.errors import DeadlineExceededError
from tfnb.system import threads
from tfnb.system.interrupts import check_signals

__all__ = ["Deadline", "bounded", "current", "within"]

T = TypeVar("T")
_POLL = 0.2  # seconds between two checks whether a signal is held back
_HEAD = re.compile(r"^Timed out waiting for notification: the step was not done within \S+ s: ")


class Deadline:
    """The moment at which a step must be done: `seconds` after the deadline was made."""

    __slots__ = ("end", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.end = time.monotonic() + seconds  # by the clock `time.monotonic`

    def left(self) -> float:
        """The seconds until the deadline, at least 0."""
        return max(self.end - time.monotonic(), 0.0)

    def exceeded(self, waited_for: str) -> DeadlineExceededError:
        """The error for a step that was not done in time. `waited_for` describes what it was waiting for."""
        return DeadlineExceededError(
            f"Timed out waiting for notification: the step was not done within {self.seconds:g} s: {waited_for}"
        )

    def of_others(self, errors: Iterable[DeadlineExceededError]) -> DeadlineExceededError:
        """One error that combines those of several tasks, each of which began with the rest of this step's time."""
        messages = {_HEAD.sub("", e.message) for e in errors}
        return self.exceeded("\n".join(sorted(messages)))


_CURRENT: contextvars.ContextVar[Deadline | None] = contextvars.ContextVar("deadline", default=None)
current = _CURRENT.get


def bounded(deadline: Deadline | None, work: Callable[[], T]) -> T:
    """Returns `work()`, for which this is the deadline of all steps that it runs; None means no deadline.

    With a deadline the work runs in a context of its own, so that no interrupt, at whatever place, leaves the deadline
    set. Without one it runs in the caller's context, in which other libraries, such as Dask, keep what they set.
    """
    if deadline is None and _CURRENT.get() is None:
        return work()
    context = contextvars.copy_context()
    context.run(_CURRENT.set, deadline)
    return context.run(work)


def within(work: Callable[[], T], waits_for: str | Callable[[], str], may_last: bool = False) -> T:
    """Returns `work()`. Raises `DeadlineExceededError` at the current deadline, and the errors of `work`.

    Without a deadline, or while Python is ending, the work is done in this thread.
    Otherwise it is done in a thread of its own, which continues
    after the deadline or an interrupt. `waits_for` describes the work in the message of the error; it is a text or a
    function that returns one. With `may_last`, the end of the process does not wait for unfinished work. Without it,
    the process does wait, for example for a compiler, which might crash otherwise.
    """
    deadline = _CURRENT.get()
    if deadline is None or threads.are_over():
        return work()
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as e:
            errors.append(e)
        done.set()

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="tfnb-within-deadline", daemon=may_last).start()
    while not done.wait(min(deadline.left(), _POLL)) and deadline.left():
        check_signals()  # a wait for a lock does not end by a signal that is held back
    if not done.is_set():
        raise deadline.exceeded(f"it waited for {waits_for if isinstance(waits_for, str) else waits_for()}")
    if errors:
        raise errors[0]
    return results[0]

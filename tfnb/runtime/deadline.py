"""The deadline of a step (`RunOptions.timeout_in_ms`), which bounds everything that the step waits for.

`Session.run` enters it with `bounded`; what may take long before or within a step (a step or a cluster that is
compiled, a task that is looked for) goes through `within`. Invariant: work that is left behind goes on to its end in a
thread of its own, so its result is there for the next step and no lock stays held.
"""

from __future__ import annotations

import contextvars
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tfnb.errors import DeadlineExceededError

__all__ = ["Deadline", "bounded", "current", "within"]

T = TypeVar("T")
_HEAD = re.compile(r"^the step was not done within \S+ s: ")


class Deadline:
    """The moment at which a step must be done: `seconds` after the deadline was made."""

    __slots__ = ("end", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.end = time.monotonic() + seconds  # by `time.monotonic`

    def left(self) -> float:
        """The seconds that are left, at least 0."""
        return max(self.end - time.monotonic(), 0.0)

    def exceeded(self, waited_for: str) -> DeadlineExceededError:
        """The error for a step that was not done in time."""
        return DeadlineExceededError(f"the step was not done within {self.seconds:g} s: {waited_for}")

    def of_others(self, errors: Iterable[DeadlineExceededError]) -> DeadlineExceededError:
        """The error for a step of several tasks, each of which had what was left of the time when it began."""
        told = {_HEAD.sub("", e.message) for e in errors}
        return self.exceeded("\n".join(sorted(told)))


_CURRENT: contextvars.ContextVar[Deadline | None] = contextvars.ContextVar("deadline", default=None)
current = _CURRENT.get


@contextmanager
def bounded(deadline: Deadline | None) -> Iterator[None]:
    """Makes `deadline` that of the steps that this thread runs inside the block; None for no deadline."""
    token = _CURRENT.set(deadline)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def within(work: Callable[[], T], waits_for: str | Callable[[], str], may_last: bool = False) -> T:
    """`work()`, or `DeadlineExceededError` at the current deadline, which says what the step waited for.

    Without a deadline the work is done in this thread. Otherwise it is done in a thread of its own, which goes on after
    the deadline; an interrupt leaves it behind too. `waits_for`: the words for the message, or a function that gives
    them. `may_last`: the end of the process does not wait for work that was left behind. It does wait for a compiler,
    which might crash otherwise.
    """
    deadline = _CURRENT.get()
    if deadline is None:
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
    if not done.wait(deadline.left()):
        raise deadline.exceeded(f"it waited for {waits_for if isinstance(waits_for, str) else waits_for()}")
    if errors:
        raise errors[0]
    return results[0]

"""Starting threads, which Python no longer does while it is ending (white paper, section 3.1: the client's process).

After the exit handlers, objects are still destroyed, and their `__del__` may close or run a session. A thread that is
started then never begins, so that `threading.Thread.start` waits for ever, and those that exist have stopped where they
were. Invariant: nothing waits for a thread then.
"""

from __future__ import annotations

import sys
import threading
from contextlib import AbstractContextManager, nullcontext

from tfnb.errors import FailedPreconditionError

__all__ = ["are_over", "held", "start"]

are_over = sys.is_finalizing
"""Returns whether no thread but the calling one runs any more, because Python is ending."""


def start(thread: threading.Thread) -> None:
    """Starts a thread. Raises `FailedPreconditionError` while Python is ending."""
    if are_over():
        raise FailedPreconditionError(f"Python is ending, so the thread {thread.name!r} cannot begin")
    thread.start()


def held(lock: AbstractContextManager[object]) -> AbstractContextManager[object]:
    """Returns a context in which a lock is held, which while Python is ending a thread may have that has stopped."""
    return nullcontext() if are_over() else lock

"""Keeping the signals of a process group from the processes that a driver starts.

Ctrl-C in a terminal and an interrupt in a notebook send SIGINT to the whole process group, schedulers of clusters send
SIGTERM so. PoCL runs the linker of the system for each kernel and aborts this process when the linker fails. A process
inherits the signals that its parent's thread blocks. Invariant: nothing is lost; a blocked signal goes to another
thread of this process, or waits until the end of the block, and Python calls its handler in the main thread as always.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["kept_from_children"]

# What people and other processes send; not what a fault of the process itself raises.
_NAMES = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGALRM")
_SENT = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))


@contextmanager
def kept_from_children() -> Iterator[None]:
    """A context in which processes and threads that this thread starts get no signal that ends a process group."""
    if not hasattr(signal, "pthread_sigmask"):  # not a POSIX system, which has no process groups of this kind
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:  # each call may raise what a handler raises, after it has changed the mask
        signal.pthread_sigmask(signal.SIG_BLOCK, _SENT)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

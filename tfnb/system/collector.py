"""Pauses of Python's collector of cyclic garbage while a graph is compiled.

A compilation makes hundreds of thousands of objects that stay, so the collector would look at all objects of the
process again and again and find nothing: with 5,000 layers that took a third of the time of the first step. Invariant:
outside of all pauses the collector is enabled if it was so before the first of them.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_paused"]

_lock = threading.Lock()
_n_pauses = 0  # in all threads
_was_enabled = False


@contextmanager
def collector_paused() -> Iterator[None]:
    """A context in which the collector does not run by itself. It may be entered again, and by several threads."""
    global _n_pauses, _was_enabled
    with _lock:
        _n_pauses += 1
        if _n_pauses == 1:
            _was_enabled = gc.isenabled()
            gc.disable()
    try:
        yield
    finally:
        with _lock:
            _n_pauses -= 1
            if not _n_pauses and _was_enabled:
                gc.enable()


def _after_fork() -> None:
    """Ends the pauses of threads that the forked process does not have."""
    global _lock, _n_pauses
    _lock = threading.Lock()
    if _n_pauses and _was_enabled:
        gc.enable()
    _n_pauses = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

"""Pauses of Python's collector of cyclic garbage: while a graph is compiled, and while somebody waits for an answer.

A compilation makes hundreds of thousands of objects that stay, so the collector would look at all objects of the
process again and again and find nothing: with 5,000 layers that took a third of the time of the first step. In a kernel
one such search takes 0.1 s. After the first compilation of a process, all that the imports, the graph and the
compilation have made is in the oldest generation at once, or else one of the next steps would wait for a search.
Invariant: outside of all pauses the collector is enabled if it was so before the first.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tfnb.system import threads

__all__ = ["SECONDS_AFTER", "collector_paused", "put_off"]

SECONDS_AFTER = 0.05  # after an answer was made, another thread still has to send it

_lock = threading.RLock()
_n_pauses = 0  # in all threads, with those that last a moment longer than their block
_was_enabled = False
_has_aged = False  # whether objects have been moved to the oldest generation


@contextmanager
def collector_paused() -> Iterator[None]:
    """A context in which the collector does not run by itself. It may be entered again, and by several threads."""
    _begin()
    try:
        yield
    finally:
        _end(compiles=True)


@contextmanager
def put_off() -> Iterator[None]:
    """A context in which, and for `SECONDS_AFTER` after which, the collector does not run by itself."""
    _begin()
    try:
        yield
    finally:
        timer = threading.Timer(SECONDS_AFTER, _end)
        timer.daemon = True
        timer.start()


def _begin() -> None:
    global _n_pauses, _was_enabled
    with threads.held(_lock):
        _n_pauses += 1
        if _n_pauses == 1:
            _was_enabled = gc.isenabled()
            gc.disable()


def _end(compiles: bool = False) -> None:
    global _n_pauses, _has_aged
    with threads.held(_lock):
        _n_pauses = max(0, _n_pauses - 1)  # a fork has ended the pause in which it was made
        if not _n_pauses and _was_enabled:
            if compiles and not _has_aged:
                _has_aged = True
                _age()
            gc.enable()


def _age() -> None:
    """Moves all objects to the oldest generation, without looking at them."""
    if not gc.get_freeze_count():  # else the user has frozen objects, which `gc.unfreeze` would thaw
        gc.freeze()
        gc.unfreeze()


def _after_fork() -> None:
    """Ends the pauses of threads that the forked process does not have."""
    global _lock, _n_pauses
    _lock = threading.RLock()
    if _n_pauses and _was_enabled:
        gc.enable()
    _n_pauses = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

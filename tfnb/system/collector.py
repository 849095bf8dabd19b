"""Pauses of Python's collector of cyclic garbage: while a graph is compiled, and while somebody waits for an answer.

A compilation makes hundreds of thousands of objects that stay, so the collector would look at all objects of the
process again and again and find nothing: with 5,000 layers that took a third of the time of the first step. In a kernel
one such search takes 0.1 s. So after a compilation all objects are at once in the oldest generation, and the collector
does not search through all of them in one of the next steps. To find the garbage among them, a full collection comes
before a later compilation, when they have become many.
Invariant: outside of all pauses the collector is enabled if it was so before the first.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["SECONDS_AFTER", "collector_paused", "put_off"]

SECONDS_AFTER = 0.05  # after an answer was made, another thread still has to send it

_MAX_AGED = 200_000  # objects
_YOUNG = 700  # the objects after which Python looks at the youngest generation; `gc.get_count` counts such searches

_lock = threading.Lock()
_n_pauses = 0  # in all threads, with those that last a moment longer than their block
_was_enabled = False
_n_aged = 0  # objects that were moved to the oldest generation
_n_collections = 0  # full collections when the first of them was


@contextmanager
def collector_paused() -> Iterator[None]:
    """A context in which the collector does not run by itself. It may be entered again, and by several threads.

    What is made inside counts as old afterwards.
    """
    _begin(compiles=True)
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


def _begin(compiles: bool = False) -> None:
    global _n_pauses, _was_enabled
    with _lock:
        _n_pauses += 1
        is_first = _n_pauses == 1
        if is_first:
            _was_enabled = gc.isenabled()
            gc.disable()
    if is_first and compiles and _was_enabled and _n_aged > _MAX_AGED:
        _collect()


def _end(compiles: bool = False) -> None:
    global _n_pauses
    with _lock:
        _n_pauses = max(0, _n_pauses - 1)  # a fork has ended the pause in which it was made
        if not _n_pauses and _was_enabled:
            if compiles:
                _age()
            gc.enable()


def _age() -> None:
    """Moves all objects to the oldest generation, without looking at them."""
    global _n_aged, _n_collections
    if gc.get_freeze_count():
        return  # the user has frozen objects, which `gc.unfreeze` would thaw
    collections = gc.get_stats()[-1]["collections"]
    if collections != _n_collections:
        _n_aged, _n_collections = 0, collections
    objects, searches, _ = gc.get_count()
    _n_aged += objects + _YOUNG * searches
    gc.freeze()
    gc.unfreeze()


def _collect() -> None:
    """Looks for garbage among the objects that were moved, if Python has not done so meanwhile."""
    global _n_aged
    _n_aged = 0
    if gc.get_stats()[-1]["collections"] == _n_collections:
        gc.collect()


def _after_fork() -> None:
    """Ends the pauses of threads that the forked process does not have."""
    global _lock, _n_pauses
    _lock = threading.Lock()
    if _n_pauses and _was_enabled:
        gc.enable()
    _n_pauses = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

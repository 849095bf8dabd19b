"""Puts Python's search for garbage off while somebody waits for an answer.

A full search looks at every object of the process, which takes 0.1 s and more in a kernel, and what has just made many
objects is what sets it off. Invariant: the search is on again a moment after the last answer, unless the program had
turned it off itself.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["put_off"]

SECONDS_AFTER = 0.05  # another thread still has to send the answer

_lock = threading.Lock()
_waiting = 0  # blocks that are open, and moments that have not passed


@contextmanager
def put_off() -> Iterator[None]:
    """A context in which, and for a moment after which, no search for garbage begins by itself."""
    global _waiting
    with _lock:
        is_ours = _waiting > 0 or gc.isenabled()
        if is_ours:
            _waiting += 1
            gc.disable()
    try:
        yield
    finally:
        if is_ours:
            timer = threading.Timer(SECONDS_AFTER, _go_on)
            timer.daemon = True
            timer.start()


def _go_on() -> None:
    global _waiting
    with _lock:
        _waiting -= 1
        if not _waiting:
            gc.enable()

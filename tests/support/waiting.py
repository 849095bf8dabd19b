"""Waiting in tests for what another thread does: until it is so, never for a time that a busy machine exceeds."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["until", "until_in_line"]

_LIMIT = 60  # seconds, for what takes milliseconds


def until(true: Callable[[], Any], what: str = "it did not happen") -> None:
    """Returns when `true()` is."""
    end = time.monotonic() + _LIMIT
    while not true():
        if time.monotonic() > end:
            pytest.fail(f"{what}; what other threads do:\n{_stacks()}")
        time.sleep(0.002)


def _stacks() -> str:
    own = threading.get_ident()
    frames = {thread: frame for thread, frame in sys._current_frames().items() if thread != own}
    return "\n".join(f"thread {thread}:\n" + "".join(traceback.format_stack(frame)) for thread, frame in frames.items())


def until_in_line(session: Any, line: str, count: int = 1) -> None:
    """Returns when `count` operations wait in a line ("Enqueue", "Dequeue") of the session's queues and the like."""
    resources = getattr(session._worker, "resources", None)
    if resources is None:  # with --target=tasks:N they are elsewhere
        time.sleep(1)
        return

    def waiting() -> int:
        lines = [r._lines for r in resources.others() if hasattr(r, "_lines")]
        return sum(len(found._lines.get(line, ())) for found in lines)

    until(lambda: waiting() >= count, f"{waiting()} wait in {line!r}, needed {count}")

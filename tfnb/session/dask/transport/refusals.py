"""Counts the invalid messages that a task has refused, and writes some of them to the log."""

from __future__ import annotations

import logging
import threading
import time

from tfnb.errors import OpError

__all__ = ["Refusals"]

_LOG_INTERVAL = 10.0  # seconds between two lines in the log
_log = logging.getLogger("tfnb")


class Refusals:
    """Counts the messages that the task named `task` has refused. All methods may be called from any thread.

    `count` is their number, and `last` is the reason for the refusal of the latest one.
    """

    def __init__(self, task: str) -> None:
        self._task = task
        self._lock = threading.Lock()
        self._logged = -_LOG_INTERVAL  # when the latest line was written
        self.count = 0
        self.last = ""

    def add(self, error: OpError) -> None:
        """Counts a message that was refused with `error`, and logs at most one such message in ten seconds."""
        now = time.monotonic()
        with self._lock:
            self.count += 1
            self.last = error.message
            is_logged = now - self._logged >= _LOG_INTERVAL
            if is_logged:
                self._logged = now
        if is_logged:
            _log.warning("%s refused a message, %d in all: %s", self._task, self.count, error.message)

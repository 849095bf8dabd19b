"""Threads for host kernels that may take long: Python functions, files (white paper, section 3.1).

Threads start when they are first needed and are reused. Invariant: a kernel that never returns occupies its own thread
and nothing else. Neither `close` with a limit nor the end of the process waits for such a kernel for ever.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from tfnb.errors import CancelledError
from tfnb.system import threads

__all__ = ["HostThreads"]


class HostThreads:
    """The pool for expensive host kernels, of at most `n` threads."""

    def __init__(self, n: int = 64) -> None:
        self._n = n
        self._change = threading.Condition()
        self._work: deque[Callable[[], None]] = deque()
        self._threads: list[threading.Thread] = []
        self._busy = 0
        self._closed = False

    def submit(self, work: Callable[[], None]) -> None:
        """Runs `work` in a thread; `work` must not raise. Raises `CancelledError` if the pool is closed.

        While Python is ending, when no thread begins, it runs `work` in the calling one."""
        if threads.are_over():
            work()
            return
        with self._change:
            if self._closed:
                raise CancelledError("the session is closed")
            self._work.append(work)
            n_threads = len(self._threads)
            if self._busy + len(self._work) > n_threads < self._n:
                thread = threading.Thread(target=self._serve, daemon=True, name=f"tfnb-host_{n_threads}")
                thread.start()
                self._threads.append(thread)
            else:
                self._change.notify()

    def _serve(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._work or self._closed)
                if not self._work:
                    return
                work = self._work.popleft()
                self._busy += 1
            try:
                work()
            finally:
                del work  # it refers to the step and to its values
                with self._change:
                    self._busy -= 1

    def has(self, thread: threading.Thread) -> bool:
        """Returns whether a thread belongs to the pool."""
        return thread in self._threads

    def close(self, patience: float | None = None) -> bool:
        """Drops work that has not begun, and waits for running work, at most `patience` seconds (None: without a
        limit).

        Returns whether all threads have ended.
        """
        end = None if patience is None else time.monotonic() + patience
        with self._change:
            self._closed = True
            self._work.clear()
            self._change.notify_all()
            own_threads, self._threads = self._threads, []
        current = threading.current_thread()  # may belong to the pool: Python may collect a session in any thread
        own_threads = [thread for thread in own_threads if thread is not current]
        for thread in own_threads:
            if threads.are_over():
                return False
            thread.join(None if end is None else max(end - time.monotonic(), 0.0))
        return not any(thread.is_alive() for thread in own_threads)

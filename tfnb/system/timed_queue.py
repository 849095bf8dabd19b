"""`TimedQueue`: a queue for one reader that may stop waiting after some time.

CPython's `queue.SimpleQueue.get(timeout=...)` waits for ever when the time runs out while the method computes how much
of it is left (seen in Python 3.11; the probability rises with short times and on a busy machine). Here, waiting with a
timeout is done on a lock, whose `acquire` has no such defect. `put` may be called from a signal handler and from any
thread, as that of `SimpleQueue`; `queue.Queue.put` may not, because it waits for a lock that is not reentrant.
Invariant: whoever adds an item opens the lock after the item is there, and the reader closes it before it looks.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

__all__ = ["TimedQueue"]

Item = TypeVar("Item")


class TimedQueue(Generic[Item]):
    """A first-in, first-out queue without a limit, which one thread reads."""

    __slots__ = ("_closed_while_empty", "_items", "empty")

    def __init__(self) -> None:
        self._items: SimpleQueue[Item] = SimpleQueue()
        self._closed_while_empty = threading.Lock()
        self._closed_while_empty.acquire()
        self.empty = self._items.empty

    def put(self, item: Item) -> None:
        """Adds an item; from any thread, or from a signal handler."""
        self._items.put(item)
        if self._closed_while_empty.locked():
            with suppress(RuntimeError):  # another thread has opened the lock meanwhile
                self._closed_while_empty.release()

    def get(self, *, timeout: float | None = None) -> Item:
        """Waits for the oldest item and removes it. Raises `queue.Empty` after `timeout` seconds."""
        if timeout is None:
            return self._items.get()
        end = time.monotonic() + timeout
        while True:
            with suppress(Empty):
                return self._items.get_nowait()
            if not self._closed_while_empty.acquire(timeout=max(end - time.monotonic(), 0.0)):
                return self._items.get_nowait()

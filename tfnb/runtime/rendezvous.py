"""The rendezvous of a step: it passes the value of each Send to the Recv with the same key, within one process.

White paper 3.2.2 and OSDI'16 3.3: a Send never blocks, a Recv waits for its key, and the first error wakes every
waiter. For each key there is either a queue of values that no Recv has taken yet, or a queue of callbacks that wait,
never both. Both are first in, first out. Invariant: a callback is called exactly once and never under the lock.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, NoReturn, Protocol, TypeVar

from tfnb.errors import CancelledError, DeadlineExceededError
from tfnb.system.timed_queue import TimedQueue

Item = TypeVar("Item")


class StepQueue(Protocol[Item]):
    """A queue whose items the thread that runs a step waits for."""

    def put(self, item: Item) -> None:
        """Adds an item. May be called from any thread."""

    def empty(self) -> bool:
        """Returns whether `get` would have to wait."""

    def get(self, *, timeout: float | None = None) -> Item:
        """Waits for the oldest item and removes it. Raises `queue.Empty` after `timeout` seconds."""


class Received(NamedTuple):
    """The item that a Send passes to its Recv. If `is_dead`, the value is meaningless."""

    value: Any
    is_dead: bool


Callback = Callable[[Received | None, BaseException | None], None]
"""Called with what was received and None, or with None and the error of the abort."""


class Rendezvous:
    """The rendezvous of one step. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[Hashable, deque[Received]] = {}
        self._waiters: dict[Hashable, deque[Callback]] = {}
        self._error: BaseException | None = None

    @property
    def error(self) -> BaseException | None:
        """The error that aborted the rendezvous, or None."""
        return self._error

    def send(self, key: Hashable, value: object, is_dead: bool = False) -> None:
        """Passes a value (or a dead token) to the oldest waiter of `key`, or stores it for a later Recv.

        The waiter's callback runs in this thread. Raises `CancelledError` after an abort.
        """
        item = Received(value, is_dead)
        with self._lock:
            if self._error is not None:
                self._refuse(f"send of {key!r}")
            waiter = _take(self._waiters, key)
            if waiter is None:
                self._values.setdefault(key, deque()).append(item)
        if waiter is not None:
            waiter(item, None)

    def inbox(self) -> StepQueue[Any]:
        """Creates a queue for the thread that runs the step, which waits for items that other threads add."""
        return TimedQueue()

    def flush(self) -> None:
        """A step calls this before it waits. Subclasses send the values that they have collected so far."""

    def recv_async(self, key: Hashable, callback: Callback) -> None:
        """Calls `callback` exactly once: now if a value or an error is there, or else when one arrives."""
        with self._lock:
            error = self._error
            item = None if error is not None else _take(self._values, key)
            if error is None and item is None:
                self._waiters.setdefault(key, deque()).append(callback)
                return
        callback(item, error)

    def recv(self, key: Hashable, timeout: float | None = None) -> Received:
        """Waits for a value and returns it. `timeout` is in seconds; None means no limit.

        Raises `CancelledError` after an abort, and `DeadlineExceededError` if no value arrives in time. A value that is
        sent later stays for another Recv.
        """
        with self._lock:
            item = None if self._error is not None else _take(self._values, key)
        if item is not None:
            return item
        arrived = threading.Event()
        received: list[Received] = []

        def wake(item: Received | None, error: BaseException | None) -> None:
            if item is not None:
                received.append(item)
            arrived.set()

        self.recv_async(key, wake)
        if not arrived.wait(timeout) and self._forget(key, wake):
            raise DeadlineExceededError(f"recv of {key!r}: nothing came within {timeout} s")
        arrived.wait()  # a sender that has taken the callback already is about to call it
        if received:
            return received[0]
        raise CancelledError(f"recv of {key!r}: the step was aborted") from self._error

    def abort(self, error: BaseException) -> bool:
        """Passes `error` to all waiters and to all later calls, and drops the values that no Recv has taken.

        Returns False, and does nothing, if the rendezvous was aborted before.
        """
        with self._lock:
            if self._error is not None:
                return False
            self._error = error
            if not self._waiters and not self._values:
                return True
            waiters = [callback for queue in self._waiters.values() for callback in queue]
            self._waiters.clear()
            self._values.clear()
        failure: BaseException | None = None
        for callback in waiters:
            try:
                callback(None, error)
            except Exception as raised:  # the other waiters must wake in any case
                failure = failure or raised
        if failure is not None:
            raise failure
        return True

    def waiting(self) -> list[Hashable]:
        """The keys for which a Recv waits and no Send has come, for deadlock reports."""
        with self._lock:
            return list(self._waiters)

    def untaken(self) -> list[Hashable]:
        """The keys with values that no Recv has taken."""
        with self._lock:
            return list(self._values)

    def _refuse(self, what: str) -> NoReturn:
        raise CancelledError(f"{what}: the step was aborted") from self._error

    def _forget(self, key: Hashable, callback: Callback) -> bool:
        """Removes a waiter. Returns False if a Send has taken it in the meantime."""
        with self._lock:
            queue = self._waiters.get(key)
            if queue is None or callback not in queue:
                return False
            queue.remove(callback)
            if not queue:
                del self._waiters[key]
            return True


def _take(queues: dict[Hashable, deque[Any]], key: Hashable) -> Any:
    """Removes and returns the first item of the key's queue, or None. Empty queues are deleted to bound the memory."""
    queue = queues.get(key)
    if queue is None:
        return None
    first = queue.popleft()
    if not queue:
        del queues[key]
    return first

"""Where a step's Sends and Recvs meet, by key; local to one process.

White paper 3.2.2 and OSDI'16 3.3: a Send never blocks, a Recv waits for its key, the first error
wakes every waiter. A key holds either values nobody has taken yet or callbacks that wait, never
both, first in, first out. Invariant: a callback is called exactly once and never under the lock.
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
    """A queue at which the thread that runs a step waits."""

    def put(self, item: Item) -> None:
        """Adds an item; from any thread."""

    def empty(self) -> bool:
        """Whether `get` would have to wait."""

    def get(self, *, timeout: float | None = None) -> Item:
        """Waits for the oldest item and removes it. Raises `queue.Empty` after `timeout` seconds."""


class Received(NamedTuple):
    """What a Send left for its Recv; `value` of a dead token means nothing."""

    value: Any
    is_dead: bool


Callback = Callable[[Received | None, BaseException | None], None]
"""Called with what was received and None, or with None and the error of the abort."""


class Rendezvous:
    """Made for one step, dropped after it. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[Hashable, deque[Received]] = {}
        self._waiters: dict[Hashable, deque[Callback]] = {}
        self._error: BaseException | None = None

    @property
    def error(self) -> BaseException | None:
        """What aborted the rendezvous, or None."""
        return self._error

    def send(self, key: Hashable, value: object, is_dead: bool = False) -> None:
        """Hand a value (or a dead token) to the oldest waiter of `key`, or keep it for the next.

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
        """A queue for the thread that runs the step: it waits there, others put what wakes it."""
        return TimedQueue()

    def flush(self) -> None:
        """Called by a step before it waits: what was held back to go together goes now."""

    def recv_async(self, key: Hashable, callback: Callback) -> None:
        """Call `callback` once: at once if a value or an error is there, else when one comes."""
        with self._lock:
            error = self._error
            item = None if error is not None else _take(self._values, key)
            if error is None and item is None:
                self._waiters.setdefault(key, deque()).append(callback)
                return
        callback(item, error)

    def recv(self, key: Hashable, timeout: float | None = None) -> Received:
        """Wait for a value; `timeout` in seconds.

        Raises `CancelledError` when aborted, `DeadlineExceededError` when nothing came in time;
        what is sent later then stays for another Recv.
        """
        with self._lock:
            item = None if self._error is not None else _take(self._values, key)
        if item is not None:
            return item
        came = threading.Event()
        box: list[Received] = []

        def wake(item: Received | None, error: BaseException | None) -> None:
            if item is not None:
                box.append(item)
            came.set()

        self.recv_async(key, wake)
        if not came.wait(timeout) and self._forget(key, wake):
            raise DeadlineExceededError(f"recv of {key!r}: nothing came within {timeout} s")
        came.wait()  # a sender that has taken the callback already is about to call it
        if box:
            return box[0]
        raise CancelledError(f"recv of {key!r}: the step was aborted") from self._error

    def abort(self, error: BaseException) -> bool:
        """Give `error` to every waiter and to all who come later; drop values nobody took.

        The first error stays: returns False, and does nothing, if there was one before.
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
            except Exception as raised:  # the others must wake all the same
                failure = failure or raised
        if failure is not None:
            raise failure
        return True

    def waiting(self) -> list[Hashable]:
        """Keys with a Recv and no Send yet, for deadlock reports."""
        with self._lock:
            return list(self._waiters)

    def untaken(self) -> list[Hashable]:
        """Keys with a Send and no Recv yet."""
        with self._lock:
            return list(self._values)

    def _refuse(self, what: str) -> NoReturn:
        raise CancelledError(f"{what}: the step was aborted") from self._error

    def _forget(self, key: Hashable, callback: Callback) -> bool:
        """Withdraw a waiter; False if it was taken in the meantime."""
        with self._lock:
            queue = self._waiters.get(key)
            if queue is None or callback not in queue:
                return False
            queue.remove(callback)
            if not queue:
                del self._waiters[key]
            return True


def _take(queues: dict[Hashable, deque[Any]], key: Hashable) -> Any:
    """First of the key's queue or None; an emptied queue goes, so keys do not pile up in a step."""
    queue = queues.get(key)
    if queue is None:
        return None
    first = queue.popleft()
    if not queue:
        del queues[key]
    return first
